"""One act on many tasks: all of them and its record in one transaction, or nothing."""

from __future__ import annotations

import pytest

from ramet.model.operations import BulkAction
from ramet.model.task.task import TaskState
from ramet.store.errors import StoreError
from tests.support.world import World, failing


async def failed(world: World, *keys: str) -> list[str]:
    """Ids of failed tasks, each in a lineage of its own."""
    ids = []
    for key in keys:
        [task_id] = await world.submit(world.task(key), tracking_id=f"of {key}")
        claimed = await world.claim_task(task_id)
        await world.settle(claimed, failing(claimed, error_class="permanent"))
        ids.append(task_id)
    return ids


async def states(world: World, *task_ids: str) -> list[str]:
    found = [await world.store.get(task_id) for task_id in task_ids]
    return [str(task.state) for task in found if task is not None]


@pytest.mark.parametrize(
    ("act", "expected"), [(BulkAction.RETRY, "pending"), (BulkAction.EXCLUDE, "skipped"), (BulkAction.CANCEL, "failed")]
)
async def test_many_tasks_of_many_lineages_are_acted_on_with_one_record(
    world: World, act: BulkAction, expected: str
) -> None:
    ids = await failed(world, "a", "b", "c")
    done = await world.store.act_on_tasks(act, ids, by="ada", reason="outage over", detail={"kind": "work"})
    assert await states(world, *ids) == [expected] * 3
    records = await world.store.acts()
    if act is BulkAction.CANCEL:
        assert done == []
        assert records == [], "what changes nothing is no act"
        return
    assert done == ids
    [record] = records
    assert (record.by, record.act, record.subject, record.reason) == ("ada", f"bulk_{act}", "3 tasks", "outage over")
    assert record.detail == {"tasks": 3, "kind": "work"}
    history = await world.store.history(ids[0])
    assert history is not None
    last = history.transitions[-1]
    assert last.by == "ada"
    assert "outage over" in str(last.reason)


async def test_live_tasks_are_cancelled_together(world: World) -> None:
    ids = await world.submit(world.task("a"), world.task("b"), tracking_id="one")
    assert await world.store.act_on_tasks(BulkAction.CANCEL, ids, by="ada", reason="why", detail={}) == ids
    assert await states(world, *ids) == [TaskState.CANCELLED, TaskState.CANCELLED]


async def test_one_task_that_cannot_be_acted_on_leaves_all_as_they_are(world: World) -> None:
    ids = await failed(world, "a", "b")
    for act in (BulkAction.RETRY, BulkAction.EXCLUDE):
        with pytest.raises(StoreError, match="no task nothing"):
            await world.store.act_on_tasks(act, [*ids, "nothing"], by="ada", detail={})
    assert await states(world, *ids) == ["failed", "failed"]
    assert await world.store.acts() == []
