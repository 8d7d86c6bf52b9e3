"""Revive: a person gives ended tasks new attempts under the same identity; fences go on growing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.errors import StoreError
from ramet.store.rows.tasks import ended_standing
from ramet.store.session import Session
from ramet.store.verbs import operate
from tests.support.world import World, checkpoint, failing

ENDS: dict[str, Callable[[ClaimedTask], ev.Event]] = {
    "failed": failing,
    "filtered": lambda claimed: ev.Filter(claimed.standing.fence, "no"),
    "skipped": lambda claimed: ev.Skip(claimed.standing.fence, "no"),
}


async def end_as(world: World, claimed: ClaimedTask, state: str) -> None:
    if state == "cancelled":
        await world.store.cancel(claimed.id, tree=False, by="ann")
    else:
        await world.settle(claimed, ENDS[state](claimed))


@pytest.mark.parametrize("state", ["failed", "filtered", "skipped", "cancelled"])
async def test_an_ended_task_gets_new_attempts_under_its_identity(world: World, state: str) -> None:
    [task_id] = await world.submit(world.task("a", max_attempts=2))
    await end_as(world, await world.claim_one(), state)
    assert await world.store.revive([task_id], by="ann", reason="fixed") == [task_id]
    task = await world.get(task_id)
    assert (task.state, task.attempts, task.reason, task.error, task.finished_at) == ("pending", 0, None, None, None)
    again = await world.claim_one()
    assert (again.id, again.key, again.standing.fence, again.standing.attempts) == (task_id, "a", 2, 1)
    await world.settle(again, failing(again, "busy", "transient"))
    world.clock.advance(5.0)
    assert (await world.settle(await world.claim_one(), result="1")).state == "success"
    history = await world.store.history(task_id)
    assert history is not None
    assert [attempt.fence for attempt in history.attempts] == [1, 2, 3]
    revived = history.transitions[-1]
    assert (revived.name, revived.from_state, revived.to_state) == ("revive", state, "pending")
    assert (revived.by, revived.reason) == ("ann", "fixed")


async def test_a_success_a_live_and_an_unknown_task_are_not_revived(world: World) -> None:
    [done, live] = await world.submit(world.task(), world.task(delay_seconds=9.0))
    await world.settle(await world.claim_one())
    assert await world.store.revive([done, live], by="ann") == []
    with pytest.raises(StoreError, match="no task nobody: look it up"):
        await world.store.revive([done, "nobody"], by="ann")
    assert await world.states(done, live) == ["success", "pending"]


async def test_revive_is_all_or_nothing(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    with pytest.raises(StoreError):
        await world.store.revive([task_id, "nobody"], by="ann")
    assert await world.state(task_id) == "failed"


async def test_reviving_opens_a_finished_lineage_which_finishes_again(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    states = []
    for step in (world.store.revive([task_id], by="ann"), world.run_all()):
        await step
        lineage = await world.store.lineage("line")
        assert lineage is not None
        states.append((lineage.state, lineage.live, lineage.failed, lineage.success, lineage.ended_at is None))
    assert states == [("running", 1, 0, 0, True), ("finished", 0, 0, 1, False)]


async def test_past_the_deadline_only_with_an_extension(world: World) -> None:
    [task_id] = await world.submit(lineage_seconds=100.0)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    world.clock.advance(100.0)
    with pytest.raises(StoreError, match="deadline of lineage line has passed: give --extend"):
        await world.store.revive([task_id], by="ann")
    assert await world.store.revive([task_id], by="ann", extend_seconds=50.0) == [task_id]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.deadline_at == world.clock.now + 50.0
    again = await world.claim_one()
    assert again.standing.deadline_at == world.clock.now + 50.0
    assert await world.spawn(again, world.task()) == [None]
    await world.run_all()


async def test_an_extension_never_shortens(world: World) -> None:
    [task_id] = await world.submit(lineage_seconds=1_000.0)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    before = await world.store.lineage("line")
    await world.store.revive([task_id], by="ann", extend_seconds=5.0)
    after = await world.store.lineage("line")
    assert before is not None
    assert after is not None
    assert after.deadline_at == before.deadline_at


async def test_a_lineage_that_missed_its_deadline_works_again_after_an_extension(world: World) -> None:
    ids = await world.submit(world.task(), world.task(), lineage_seconds=100.0)
    world.clock.advance(100.0)
    await world.sweep()
    assert await world.store.revive(ids, by="ann", extend_seconds=100.0) == ids
    await world.run_all()
    assert await world.states(*ids) == ["success", "success"]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.reason) == ("finished", None)


async def test_a_tombstone_is_lifted_for_the_revived_subtree_alone(world: World) -> None:
    [root, _] = await world.submit(world.task("root"), world.task("beside", delay_seconds=900.0))
    [left, right] = await world.grow(await world.claim_task(root), world.task("left"), world.task("right"))
    [leaf] = await world.grow(await world.claim_task(left), world.task("leaf"))
    held = await world.claim_task(right)
    await world.store.cancel(root, tree=True, by="ann")
    await world.sweep()
    assert await world.states(right, leaf) == ["cancelled", "cancelled"]
    assert await world.store.revive([leaf], by="ann") == [leaf]
    late = await world.settle(held, spawns=[world.task("late")])
    assert [told.reason for told in late.spawns] == ["cancelled"]
    claimed = await world.claim_one()
    assert claimed.id == leaf
    [child] = await world.grow(claimed, world.task("below the leaf"))
    await world.run_all()
    assert await world.states(child, leaf, right) == ["success", "success", "cancelled"]


async def test_a_tombstone_that_was_lifted_can_be_set_again(world: World) -> None:
    [root, _] = await world.submit(world.task("root"), world.task("beside", delay_seconds=900.0))
    [leaf] = await world.grow(await world.claim_task(root), world.task("leaf"))
    for grave in (root, leaf, leaf):
        assert await world.store.cancel(grave, tree=True, by="ann")
        await world.sweep()
        assert await world.claim(10) == []
        assert await world.store.revive([leaf], by="ann") == [leaf]
    await world.run_all()
    assert await world.state(leaf) == "success"


async def test_cancelling_a_tree_again_covers_what_was_revived_in_it(world: World) -> None:
    [root, _] = await world.submit(world.task("root"), world.task("beside", delay_seconds=900.0))
    [left, right] = await world.grow(await world.claim_task(root), world.task("left"), world.task("right"))
    assert await world.store.cancel(root, tree=True, by="ann")
    assert await world.store.revive([left, right], by="ann") == [left, right]
    assert await world.store.cancel(root, tree=True, by="ann")
    assert not await world.store.cancel(root, tree=True, by="ann")
    assert await world.claim(10) == []
    await world.sweep()
    assert await world.states(left, right) == ["cancelled", "cancelled"]


async def test_what_a_cancel_has_not_reached_yet_can_be_revived_at_once(world: World) -> None:
    ids = await world.submit(world.task(), world.task())
    await world.store.cancel_lineage("line", by="ann")
    assert await world.store.revive(ids[:1], by="ann") == ids[:1]
    assert await world.states(*ids) == ["pending", "cancelled"]
    await world.run_all()


async def test_reviving_before_the_sweep_came_leaves_nobody_waiting_for_ever(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(6)))
    await world.store.cancel_lineage("line", by="ann")
    assert await world.claim(10) == []
    await world.store.sweep(limit=2)
    assert (await world.states(*ids)).count("cancelled") == 2
    assert await world.store.revive(ids[:1], by="ann") == ids[:1]
    await world.sweep()
    await world.check()
    await world.run_all()
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.live) == ("finished", 0)


async def test_reviving_before_the_sweep_came_frees_nobody_but_the_revived(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(6)))
    await world.store.cancel_lineage("line", by="ann")
    await world.store.sweep(limit=2)
    assert await world.store.revive(ids[:1], by="ann") == ids[:1]
    assert await world.states(*ids) == ["pending", *["cancelled"] * 5]


async def test_fan_out_state_and_stage_survive_a_revive(world: World) -> None:
    [root] = await world.submit(world.task("root"), max_fan_out=2)
    claimed = await world.claim_one()
    await world.settle(claimed, checkpoint(claimed, "two"), spawns=[world.task("a")], pipeline_state='{"n": 1}')
    await world.settle(claimed, failing(claimed))
    await world.store.revive([root], by="ann")
    again = await world.claim_task(root)
    assert (again.standing.stage, again.pipeline_state, again.standing.fan_out) == ("two", '{"n": 1}', 1)
    assert await world.spawn(again, world.task("a"), world.task("b"), world.task("c")) == [
        "in_flight",
        None,
        "fan_out",
    ]


async def test_the_error_that_ended_it_before_is_not_tried_again(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed, "odd"))
    world.clock.advance(1.0)
    await world.store.revive([task_id], by="ann")
    again = await world.claim_one()
    answer = await world.settle(again, failing(again, "odd", "unclassified"))
    assert (answer.state, answer.reason) == ("failed", f"repeated_error: as task {task_id}")


async def test_of_two_who_revive_a_task_at_once_one_does(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one had read it before."""
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    seen: list[tuple[Any, Any]] = []

    def early(session: Session, seq: int) -> tuple[Any, Any]:
        seen.append(ended_standing(session, seq) if not seen else seen[0])
        return seen[-1]

    monkeypatch.setattr(operate, "ended_standing", early)
    assert [await world.store.revive([task_id], by="ann") for _ in range(2)] == [[task_id], []]
    assert len(await world.claim(5)) == 1
