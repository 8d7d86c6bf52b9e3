"""Kinds with ``unique="global"``: one task per key over all lineages, for as long as its end says."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import SpawnResult, SubmitResult
from ramet.store.errors import UniqueHeld
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import Backend
from tests.support.world import World, failing, in_threads, settlement

WINDOW = 3_600.0
DAY = 86_400.0


def unique(world: World, key: str = "a", **fields: Any) -> NewTask:
    return world.task(key, unique_seconds=WINDOW, **fields)


async def wanted_by(world: World, tracking_id: str, new: NewTask) -> SpawnResult:
    """The guard's answer to one more lineage that wants a task."""
    await world.submit(world.task(f"root of {tracking_id}", kind="image"), tracking_id=tracking_id)
    claimed = await world.claim_one(kinds=("image",))
    [told] = (await world.settle(claimed, spawns=[new])).spawns
    return told


async def holder_of(world: World) -> tuple[str | None, float | None]:
    """How the holder of the one unique key ended, and until when it holds."""
    rows = await world.store.read("SELECT state, held_until FROM ramet_uniques")
    assert len(rows) <= 1
    return (rows[0][0], rows[0][1]) if rows else ("free", None)


async def test_a_key_is_wanted_by_two_lineages_and_created_once(world: World) -> None:
    first = await wanted_by(world, "one", unique(world))
    second = await wanted_by(world, "two", unique(world))
    assert (second.reason, second.winner) == ("elsewhere", first.id)
    assert second.detail == f"task {first.id} of lineage one holds this unique key and is live"
    [block] = await world.store.blocks("two")
    assert (block.reason, block.winner) == ("elsewhere", first.id)


async def test_another_kind_and_another_key_are_free(world: World) -> None:
    await wanted_by(world, "one", unique(world))
    assert (await wanted_by(world, "two", unique(world, "b"))).id
    assert (await wanted_by(world, "three", unique(world, kind="loose"))).id
    assert (await wanted_by(world, "four", world.task("a"))).id, "a kind whose keys are a lineage's own matter"


async def test_a_duplicate_elsewhere_spends_nothing(world: World) -> None:
    await wanted_by(world, "one", unique(world))
    await wanted_by(world, "two", unique(world))
    lineage = await world.store.lineage("two")
    assert lineage is not None
    assert (lineage.tasks, lineage.state) == (1, "finished")


async def test_a_duplicate_in_the_lineage_is_told_before_one_elsewhere(world: World) -> None:
    await world.submit(world.task("root", kind="image"))
    claimed = await world.claim_one(kinds=("image",))
    assert await world.spawn(claimed, unique(world), unique(world)) == [None, "in_flight"]


async def test_of_two_parents_in_one_batch_one_gets_the_key(world: World) -> None:
    await world.submit(world.task(kind="image"), tracking_id="one")
    await world.submit(world.task(kind="image"), tracking_id="two")
    batch = [settlement(claimed, spawns=[unique(world)]) for claimed in await world.claim(2)]
    answers = await world.store.settle(batch)
    assert [told.reason for answer in answers for told in answer.spawns] == [None, "elsewhere"]


ENDS: dict[str, tuple[str, float | None]] = {
    "success": ("success", WINDOW),
    "filtered": ("filtered", WINDOW),
    "skipped": ("skipped", WINDOW),
    "failed": ("failed", DAY),
    "cancelled": ("free", None),
    "cancelled with its lineage": ("free", None),
    "deadline": ("free", None),
    "lineage deadline": ("free", None),
}


@pytest.mark.parametrize("end", ENDS)
async def test_the_end_of_the_holder_says_how_long_it_holds(world: World, end: str) -> None:
    [task_id] = await world.submit(unique(world, task_seconds=50.0), lineage_seconds=5_000.0)
    claimed = await world.claim_one()
    events: dict[str, ev.Event] = {
        "success": ev.Complete(1),
        "filtered": ev.Filter(1, "no"),
        "skipped": ev.Skip(1, "no"),
        "failed": failing(claimed),
        "deadline": ev.Snooze(1, 60.0),
    }
    if end in events:
        await world.settle(claimed, events[end])
    elif end == "cancelled":
        await world.store.cancel(task_id, tree=False, by="test")
    elif end == "cancelled with its lineage":
        await world.store.cancel_lineage("line", by="test")
    if end == "deadline":
        world.clock.advance(60.0)
    elif end == "lineage deadline":
        world.clock.advance(5_000.0)
    await world.sweep()
    state, seconds = ENDS[end]
    assert await holder_of(world) == (state, None if seconds is None else world.clock.now + seconds)


async def test_the_window_runs_from_the_end_and_then_the_key_is_free(world: World) -> None:
    await world.submit(unique(world))
    claimed = await world.claim_one()
    world.clock.advance(100.0)
    await world.settle(claimed)
    world.clock.advance(WINDOW - 0.001)
    assert (await wanted_by(world, "two", unique(world))).reason == "elsewhere"
    world.clock.advance(0.001)
    assert (await wanted_by(world, "three", unique(world))).id
    assert (await wanted_by(world, "four", unique(world))).reason == "elsewhere"


async def test_a_window_of_nothing_holds_only_while_the_task_lives(world: World) -> None:
    await world.submit(world.task("a", unique_seconds=0.0))
    assert (await wanted_by(world, "two", unique(world))).reason == "elsewhere"
    await world.run_all()
    assert (await wanted_by(world, "three", unique(world))).id


# --- revive


async def test_revive_takes_a_free_key_again(world: World) -> None:
    [task_id] = await world.submit(unique(world))
    await world.store.cancel(task_id, tree=False, by="test")
    assert await holder_of(world) == ("free", None)
    assert await world.store.revive([task_id], by="test") == [task_id]
    assert await holder_of(world) == (None, None)
    assert (await wanted_by(world, "two", unique(world))).winner == task_id


async def test_revive_of_a_holder_makes_it_live_again(world: World) -> None:
    [task_id] = await world.submit(unique(world))
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.store.revive([task_id], by="test")
    assert await holder_of(world) == (None, None)
    await world.run_all()
    assert (await holder_of(world))[0] == "success"


async def test_revive_is_refused_with_the_holders_id_and_changes_nothing(world: World) -> None:
    [first, other] = await world.submit(unique(world), world.task("b"))
    await world.store.cancel(first, tree=False, by="test")
    await world.store.cancel(other, tree=False, by="test")
    holder = await wanted_by(world, "two", unique(world))
    with pytest.raises(UniqueHeld, match=f"task {holder.id} of lineage two") as told:
        await world.store.revive([other, first], by="test")
    assert told.value.task_id == first
    assert await world.states(first, other) == ["cancelled", "cancelled"]


# --- submit


async def submit(world: World, *roots: NewTask, tracking_id: str) -> list[SubmitResult]:
    return await world.store.submit([NewLineage(tracking_id, roots)])


async def test_a_submit_of_a_held_key_answers_with_the_holder_and_starts_nothing(world: World) -> None:
    [holder] = await submit(world, unique(world), tracking_id="one")
    for _ in range(2):
        assert await submit(world, unique(world), tracking_id="two") == [SubmitResult(holder.id, "one", False)]
    assert await world.store.lineage("two") is None


async def test_a_lineage_starts_with_the_roots_that_are_left(world: World) -> None:
    [holder] = await submit(world, unique(world), tracking_id="one")
    roots = [world.task("x"), unique(world), unique(world, "b"), unique(world, "b")]
    expected = [
        SubmitResult(roots[0].id, "two", True),
        SubmitResult(holder.id, "one", False),
        SubmitResult(roots[2].id, "two", True),
        SubmitResult(roots[2].id, "two", False),
    ]
    assert await submit(world, *roots, tracking_id="two") == expected
    again = [answer._replace(created=False) for answer in expected]
    assert await submit(world, *roots, tracking_id="two") == again, "repeated after a lost answer"
    lineage = await world.store.lineage("two")
    assert lineage is not None
    assert (lineage.tasks, lineage.live) == (2, 2)


async def test_of_two_lineages_in_one_submit_the_first_gets_the_key(world: World) -> None:
    roots = [unique(world), unique(world)]
    answers = await world.store.submit([NewLineage(name, [new]) for name, new in zip("ab", roots, strict=True)])
    assert answers == [SubmitResult(roots[0].id, "a", True), SubmitResult(roots[0].id, "a", False)]


# --- what outlives the holder


async def test_pruning_the_holders_lineage_leaves_the_key_held_for_its_window(world: World) -> None:
    [task_id] = await world.submit(unique(world))
    await world.run_all()
    world.clock.advance(10.0)
    assert await world.store.prune(world.clock.now) == 1
    assert await world.store.get(task_id) is None
    assert (await wanted_by(world, "two", unique(world))).winner == task_id
    world.clock.advance(WINDOW)
    await world.store.prune(0.0)
    assert await holder_of(world) == ("free", None), "a row that nobody asks for any more goes"


# --- concurrency

KEYS = 60


async def test_of_two_connections_exactly_one_gets_each_key(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    answers: list[list[SubmitResult]] = [[], []]

    async def submit_all(at: int) -> None:
        for key in range(KEYS):
            new = NewTask(f"{at}-{key}", "page", f"key{key}", "null", unique_seconds=WINDOW)
            answers[at] += await stores[at].submit([NewLineage(f"{at}-{key}", [new])])

    await in_threads(partial(submit_all, 0), partial(submit_all, 1))
    for ours, theirs in zip(*answers, strict=True):
        assert ours.created is not theirs.created
        assert ours.id == theirs.id
    await close(stores)


async def close(stores: list[Store]) -> None:
    assert await violations(stores[0]) == []
    for store in stores:
        await store.close()


async def test_two_connections_spawn_each_key_once_over_both_lineages(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    granted: list[list[str]] = [[], []]
    for at, store in enumerate(stores):
        await store.submit([NewLineage(f"line{at}", [NewTask(f"root{at}", f"root{at}", f"root{at}", "null")])])

    async def spawn_all(at: int) -> None:
        [claimed] = await stores[at].claim(ClaimRequest(f"w{at}", ("default",), (f"root{at}",), 1, 300.0))
        fence = claimed.standing.fence
        for start in range(0, KEYS, 5):
            news = [
                NewTask(f"{at}-{key}", "page", f"key{key}", "null", unique_seconds=WINDOW)
                for key in range(start, start + 5)
            ]
            told = await stores[at].settle([settlement(claimed, ev.Checkpoint(fence, 300.0), spawns=news)])
            granted[at] += [answer.key for answer in told[0].spawns if answer.id is not None]
        await stores[at].settle([settlement(claimed)])

    await in_threads(partial(spawn_all, 0), partial(spawn_all, 1))
    assert sorted(granted[0] + granted[1]) == sorted(f"key{key}" for key in range(KEYS))
    await close(stores)
