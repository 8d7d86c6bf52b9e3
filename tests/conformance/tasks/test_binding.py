"""Tasks that another task settles: fenced twice, refused one by one, and free again when their settler ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.binding import BindResult, ItemResult, ItemSettlement
from ramet.store.answers import ClaimedTask, SettleResult
from tests.support.world import LEASE_SECONDS, World, checkpoint, failing

WHY = {"failed": "the provider refused it", "cancelled": "the provider lost it"}


async def batch(world: World, count: int = 3, **fields: Any) -> tuple[ClaimedTask, list[str]]:
    """A claimed settler in its own lineage, and the ids of pending images in another."""
    ids = await world.submit(*(world.task(kind="image", **fields) for _ in range(count)), tracking_id="items")
    [settler] = await world.submit(world.task(), tracking_id="batch")
    [claimed] = await world.claim(1, kinds=("page",))
    assert claimed.id == settler
    return claimed, ids


async def bind(world: World, claimed: ClaimedTask, ids: Sequence[str]) -> list[BindResult]:
    return await world.store.bind(claimed.standing.seq, claimed.standing.fence, ids)


async def settle_items(world: World, claimed: ClaimedTask, *items: ItemSettlement) -> list[ItemResult]:
    answer = await world.settle(claimed, ev.Progress(claimed.standing.fence, LEASE_SECONDS), items=items)
    assert answer.refused is None
    return list(answer.items)


def told(item: BindResult, state: str, **more: Any) -> ItemSettlement:
    assert item.number is not None
    return ItemSettlement(item.task_id, item.number, state, reason=WHY.get(state), **more)


async def test_bound_tasks_are_told_page_by_page(world: World) -> None:
    claimed, ids = await batch(world, 5)
    await bind(world, claimed, ids)
    first = await world.store.bound(claimed.id, limit=2)
    second = await world.store.bound(claimed.id, limit=2, after=first[-1].task_id)
    last = await world.store.bound(claimed.id, limit=2, after=second[-1].task_id)
    assert [[told.task_id for told in page] for page in (first, second, last)] == [ids[:2], ids[2:4], ids[4:]]
    assert await world.store.bound(claimed.id, after=ids[-1]) == []


async def test_a_bound_task_is_claimed_by_nobody_and_ends_as_its_settler_says(world: World) -> None:
    claimed, ids = await batch(world)
    bound = await bind(world, claimed, ids)
    assert [(item.task_id, item.number, item.refused) for item in bound] == [(name, 1, None) for name in ids]
    assert await world.claim(10) == []
    [first, *_] = await world.store.bound(claimed.id)
    assert (first.task_id, first.number, first.tracking_id, first.kind) == (ids[0], 1, "items", "image")
    items = [told(item, state) for item, state in zip(bound, ("success", "failed", "cancelled"), strict=True)]
    items[0] = items[0]._replace(result='{"answer": 42}')
    answer = await world.settle(claimed, items=items)
    assert [item.state for item in answer.items] == ["success", "failed", "cancelled"]
    assert answer.state == "success"
    assert await world.states(*ids) == ["success", "failed", "cancelled"]
    assert (await world.get(ids[0])).result == {"answer": 42}
    assert (await world.get(ids[1])).reason == "the provider refused it"
    history = await world.store.history(ids[1])
    assert history is not None
    [attempt] = history.attempts
    assert (attempt.worker, attempt.outcome, attempt.error) == (claimed.id, "error", "the provider refused it")
    lineage = await world.store.lineage("items")
    assert lineage is not None
    assert (lineage.state, lineage.success, lineage.failed, lineage.cancelled) == ("finished", 1, 1, 1)


async def test_only_free_tasks_can_be_bound_and_each_refusal_has_its_reason(world: World) -> None:
    claimed, [free, ended, delayed, running] = await batch(world, 4)
    await world.settle(await world.claim_task(ended))
    later = await world.claim_task(delayed)
    await world.settle(later, ev.Snooze(later.standing.fence, 60.0))
    await world.claim_task(running)
    [gone] = await world.submit(world.task(kind="image"), tracking_id="gone")
    await world.store.cancel_lineage("gone", by="ann")
    answers = await bind(world, claimed, [free, ended, delayed, running, gone, "nobody", claimed.id, free])
    assert [answer.refused for answer in answers] == [
        None, "is_success", "waits", "is_processing", "cancelled", "unknown", "is_processing", "waits",
    ]  # fmt: skip
    [again] = await bind(world, claimed, [free])
    assert again.refused == "waits"
    await world.sweep()


async def test_a_stale_settler_binds_and_settles_nothing(world: World) -> None:
    claimed, ids = await batch(world)
    [first, *_] = await bind(world, claimed, ids)
    world.clock.advance(LEASE_SECONDS)
    assert {answer.refused for answer in await bind(world, claimed, ids)} == {"stale"}
    answer = await world.settle(claimed, items=[told(first, "success")])
    assert (answer.refused, answer.items) == ("stale", ())
    assert await world.states(*ids) == ["pending"] * 3
    await world.sweep()
    [newer] = await world.claim(1, kinds=("page",))
    assert [item.task_id for item in await world.store.bound(newer.id)] == ids
    assert (await settle_items(world, newer, told(first, "success")))[0].state == "success"


async def test_late_doubled_and_foreign_settlements_are_refused_one_by_one(world: World) -> None:
    claimed, [done, cancelled, foreign, good] = await batch(world, 4)
    bound = await bind(world, claimed, [done, cancelled, good])
    await world.store.cancel(cancelled, tree=False, by="ann")
    wanted = [
        told(bound[0], "success"), told(bound[0], "failed"), told(bound[1], "success"),
        ItemSettlement(foreign, 1, "success"), ItemSettlement("nobody", 1, "success"), told(bound[2], "success"),
    ]  # fmt: skip
    answers = await settle_items(world, claimed, *wanted)
    assert [(answer.state, answer.refused) for answer in answers] == [
        ("success", None), (None, "is_success"), (None, "is_cancelled"), (None, "not_bound"), (None, "unknown"),
        ("success", None),
    ]  # fmt: skip
    assert (await settle_items(world, claimed, wanted[0]))[0].refused == "is_success"
    assert await world.outcomes(cancelled) == ["ended"]


async def test_what_was_meant_for_an_earlier_binding_is_refused(world: World) -> None:
    claimed, [task_id] = await batch(world, 1)
    [first] = await bind(world, claimed, [task_id])
    assert (await settle_items(world, claimed, told(first, "pending")))[0].state == "pending"
    [second] = await bind(world, claimed, [task_id])
    assert (first.number, second.number) == (1, 2)
    assert (await settle_items(world, claimed, told(first, "failed")))[0].refused == "stale"
    assert (await settle_items(world, claimed, told(second, "success")))[0].state == "success"
    assert await world.outcomes(task_id) == ["returned", "success"]


async def test_a_binding_number_never_comes_twice_even_after_a_revive(world: World) -> None:
    claimed, [task_id] = await batch(world, 1)
    [first] = await bind(world, claimed, [task_id])
    await settle_items(world, claimed, told(first, "failed"))
    await world.store.revive([task_id], by="ann")
    [second] = await bind(world, claimed, [task_id])
    assert second.number == 2
    assert (await settle_items(world, claimed, told(first, "success")))[0].refused == "stale"


async def test_a_task_that_is_let_go_can_be_held_back_or_claimed_at_once(world: World) -> None:
    claimed, ids = await batch(world, 2)
    bound = await bind(world, claimed, ids)
    await settle_items(world, claimed, told(bound[0], "pending"), told(bound[1], "pending", delay_seconds=30.0))
    [free] = await world.claim(10, kinds=("image",))
    assert (free.id, free.standing.attempts, free.standing.fence) == (ids[0], 1, 2)
    assert (await world.get(ids[1])).wait == "due"


@pytest.mark.parametrize("event", ["snooze", "error", "checkpoint", "lost"])
async def test_a_settler_that_lives_on_keeps_what_is_bound_to_it(world: World, event: str) -> None:
    claimed, ids = await batch(world)
    await bind(world, claimed, ids)
    if event == "snooze":
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 5.0))
    elif event == "error":
        await world.settle(claimed, failing(claimed, error_class="transient"))
    elif event == "checkpoint":
        await world.settle(claimed, checkpoint(claimed))
    else:
        world.clock.advance(LEASE_SECONDS)
    await world.sweep()
    assert [item.task_id for item in await world.store.bound(claimed.id)] == ids


@pytest.mark.parametrize("end", ["success", "failed", "cancelled", "lineage", "poison", "deadline"])
async def test_when_its_settler_ends_in_whatever_way_a_task_is_free_again(world: World, end: str) -> None:
    claimed, ids = await batch(world, 7)
    await bind(world, claimed, ids)
    if end == "success":
        await world.settle(claimed)
    elif end == "failed":
        await world.settle(claimed, failing(claimed))
    elif end == "cancelled":
        await world.store.cancel(claimed.id, tree=False, by="ann")
    elif end == "lineage":
        await world.store.cancel_lineage("batch", by="ann")
    elif end == "deadline":
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 7_300.0))
        world.clock.advance(7_200.0)
    else:
        for _ in range(10):
            world.clock.advance(LEASE_SECONDS)
            await world.store.sweep(limit=1)
            await world.claim(1, kinds=("page",))
    await world.sweep()
    assert (await world.get(claimed.id)).state.terminal
    assert await world.store.bound(claimed.id) == []
    if end == "deadline":
        assert {(await world.get(name)).reason for name in ids} == {"task_deadline: settler_ended"}
        return
    assert sorted(item.id for item in await world.claim(10)) == sorted(ids)
    history = await world.store.history(ids[0])
    assert history is not None
    assert (history.attempts[0].outcome, history.attempts[0].reason) == ("returned", "settler_ended")


async def test_the_end_of_its_lineage_ends_a_bound_task(world: World) -> None:
    claimed, ids = await batch(world)
    [first, *_] = await bind(world, claimed, ids)
    await world.store.cancel_lineage("items", by="ann")
    assert (await settle_items(world, claimed, told(first, "success")))[0].refused == "cancelled"
    await world.sweep()
    assert await world.states(*ids) == ["cancelled"] * 3
    assert (await settle_items(world, claimed, told(first, "success")))[0].refused == "is_cancelled"


async def test_its_own_deadline_is_looked_at_after_its_settler_did(world: World) -> None:
    claimed, [late, silent, answered] = await batch(world, 3, task_seconds=100.0)
    bound = await bind(world, claimed, [late, silent, answered])
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 90.0))
    world.clock.advance(120.0)
    await world.sweep()
    assert await world.states(late, silent, answered) == ["pending"] * 3, "the provider may have answered in time"
    [again] = await world.claim(1, kinds=("page",))
    await settle_items(world, again, told(bound[0], "pending"), told(bound[2], "success"))
    assert (await world.get(late)).reason == "task_deadline"
    await world.sweep()
    assert await world.states(late, silent, answered) == ["failed", "pending", "success"]
    await world.settle(again, ev.Snooze(again.standing.fence, 90.0))
    await world.sweep()
    assert await world.states(late, silent, answered) == ["failed", "failed", "success"]
    assert (await world.get(silent)).reason == "task_deadline"


async def test_settling_items_is_progress_and_being_refused_is_none(world: World) -> None:
    claimed, [task_id] = await batch(world, 1)
    [item] = await bind(world, claimed, [task_id])

    async def go_on(under: ClaimedTask) -> SettleResult:
        return await world.settle(under, ev.Continue(under.standing.fence, False), items=[told(item, "success")])

    assert (await go_on(claimed)).state == "pending"
    [again] = await world.claim(1, kinds=("page",))
    answer = await go_on(again)
    assert (answer.state, answer.reason) == ("success", "no_progress")
    assert answer.items[0].refused == "is_success"


async def test_thousands_are_bound_and_settled_at_once(world: World) -> None:
    claimed, ids = await batch(world, 3_000)
    bound = await bind(world, claimed, ids)
    assert all(item.refused is None for item in bound)
    answers = await settle_items(world, claimed, *(told(item, "success") for item in bound))
    assert {answer.state for answer in answers} == {"success"}
    lineage = await world.store.lineage("items")
    assert lineage is not None
    assert (lineage.state, lineage.success) == ("finished", 3_000)


async def test_tasks_of_a_paused_lineage_and_of_a_cancelled_tree_are_not_bound(world: World) -> None:
    [root, other] = await world.submit(world.task("root"), world.task("other", "loose"), tracking_id="tree")
    [below] = await world.grow(await world.claim_task(root), world.task(kind="image"))
    claimed, [paused] = await batch(world, 1)
    await world.store.pause_lineage("items", by="ann")
    await world.store.cancel(root, tree=True, by="ann")
    answers = await bind(world, claimed, [paused, below])
    assert [answer.refused for answer in answers] == ["paused", "cancelled"]
    await world.store.resume_lineage("items", by="ann")
    await world.sweep()
    assert await world.states(other, below, paused) == ["pending", "cancelled", "pending"]
