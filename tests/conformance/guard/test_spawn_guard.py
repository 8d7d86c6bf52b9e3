"""The guard as the database keeps it: no cycle, no duplicate, nothing past a limit (promises I3 to I5)."""

from __future__ import annotations

import pytest

from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.support.world import LEASE_SECONDS, World, failing, settlement


async def descend(world: World, *kinds_and_keys: tuple[str, str]) -> ClaimedTask:
    """A chain of tasks, each the child of the one before; returns the claim of the last."""
    (kind, key), *rest = kinds_and_keys
    await world.submit(world.task(key, kind))
    claimed = await world.claim_one()
    for kind, key in rest:
        await world.grow(claimed, world.task(key, kind))
        claimed = await world.claim_one()
    return claimed


CYCLES = [
    ("page", "a", "page", "cycle"),
    ("page", "a", "image", "cycle"),
    ("image", "a", "loose", None),
    ("loose", "a", "loose", "cycle"),
    ("loose", "a", "page", "cycle"),
    ("page", "b", "page", None),
]


@pytest.mark.parametrize(("kind", "key", "wanted", "reason"), CYCLES)
@pytest.mark.parametrize("distance", [1, 2, 4])
async def test_no_ancestor_has_the_key_of_a_task(
    *, world: World, kind: str, key: str, wanted: str, reason: str | None, distance: int
) -> None:
    last = await descend(world, (kind, key), *(("page", f"between {n}") for n in range(1, distance)))
    assert await world.spawn(last, world.task("a", wanted)) == [reason]


async def test_a_cycle_names_the_ancestor_and_comes_before_a_duplicate(world: World) -> None:
    last = await descend(world, ("page", "a"), ("page", "b"))
    answer = await world.settle(last, spawns=[world.task("a"), world.task("b")])
    assert [(told.reason, told.winner) for told in answer.spawns] == [("cycle", "t1"), ("cycle", last.id)]


HOLDERS = {
    "pending": "in_flight",
    "processing": "in_flight",
    "success": "done",
    "filtered": "done",
    "skipped": "done",
    "failed": "done",
    "cancelled": "done",
}


@pytest.mark.parametrize("state", HOLDERS)
async def test_one_task_per_kind_and_key_over_all_states(world: World, state: str) -> None:
    await world.submit(world.task("holder", kind="image"), world.task("asker"))
    holder = await world.claim_one(kinds=("image",))
    event: dict[str, ev.Event] = {
        "pending": ev.HandBack(1),
        "processing": ev.Progress(1, LEASE_SECONDS),
        "success": ev.Complete(1),
        "filtered": ev.Filter(1, "no"),
        "skipped": ev.Skip(1, "no"),
        "failed": failing(holder),
        "cancelled": ev.Progress(1, LEASE_SECONDS),
    }
    await world.settle(holder, event[state])
    if state == "cancelled":
        await world.store.cancel(holder.id, tree=False, by="test")
    assert await world.state(holder.id) == state
    asker = await world.claim_one(kinds=("page",))
    answer = await world.settle(asker, spawns=[world.task("holder", "image"), world.task("holder", "page")])
    assert [(told.reason, told.winner) for told in answer.spawns] == [(HOLDERS[state], holder.id), (None, None)]


async def test_an_identity_belongs_to_its_lineage_alone(world: World) -> None:
    await world.submit(world.task("a"), tracking_id="one")
    await world.submit(world.task("b"), tracking_id="two")
    first, second = await world.claim(2)
    assert await world.spawn(first, world.task("b")) == [None]
    assert await world.spawn(second, world.task("a")) == [None]


async def test_the_same_key_twice_in_one_settlement_is_one_task(world: World) -> None:
    await world.submit()
    assert await world.spawn(await world.claim_one(), world.task("a"), world.task("a")) == [None, "in_flight"]


async def test_two_parents_of_one_batch_get_one_child_between_them(world: World) -> None:
    await world.submit(world.task(), world.task())
    batch = [settlement(claimed, spawns=[world.task("a"), world.task(f"own {n}")])
             for n, claimed in enumerate(await world.claim(2))]  # fmt: skip
    answers = await world.store.settle(batch)
    assert [[told.reason for told in answer.spawns] for answer in answers] == [[None, None], ["in_flight", None]]
    assert answers[1].spawns[0].winner == answers[0].spawns[0].id


async def test_depth_is_never_exceeded(world: World) -> None:
    await world.submit(max_spawn_depth=3)
    for depth in range(3):
        claimed = await world.claim_one()
        assert claimed.standing.spawn_depth == depth
        await world.grow(claimed, world.task())
    assert await world.spawn(await world.claim_one(), world.task()) == ["depth"]


async def test_a_lineage_of_depth_nought_spawns_nothing(world: World) -> None:
    await world.submit(max_spawn_depth=0)
    assert await world.spawn(await world.claim_one(), world.task(), world.task()) == ["depth", "depth"]


async def test_the_budget_is_exact_and_duplicates_spend_none_of_it(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=4)
    claimed = await world.claim_one()
    wanted = ["a", "a", "b", "a", "root", "c", "d", "a"]
    told = await world.spawn(claimed, *(world.task(key) for key in wanted))
    assert told == [None, "in_flight", None, "in_flight", "cycle", None, "budget", "in_flight"]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.live, lineage.max_tasks) == (4, 4, 4)


async def test_the_budget_is_shared_by_the_settlements_of_a_batch(world: World) -> None:
    await world.submit(*(world.task() for _ in range(5)), max_tasks=8)
    batch = [settlement(claimed, spawns=[world.task(), world.task()]) for claimed in await world.claim(5)]
    answers = await world.store.settle(batch)
    reasons = [told.reason for answer in answers for told in answer.spawns]
    assert reasons == [None] * 3 + ["budget"] * 7


async def test_ended_tasks_still_count_against_the_budget(world: World) -> None:
    await world.submit(max_tasks=2)
    claimed = await world.claim_one()
    await world.grow(claimed, world.task())
    assert await world.spawn(await world.claim_one(), world.task()) == ["budget"]


async def test_fan_out_counts_over_all_attempts(world: World) -> None:
    [root] = await world.submit(max_fan_out=5)
    told: list[str | None] = []
    for attempt in range(4):
        claimed = await world.claim_task(root)
        told += await world.spawn(claimed, world.task(f"{attempt}a"), world.task(f"{attempt}b"))
        match attempt:
            case 0:
                await world.settle(claimed, failing(claimed, "busy", "transient"))
            case 1:
                await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
            case 2:
                world.clock.advance(LEASE_SECONDS)
                await world.sweep()
        world.clock.advance(5.0)
    assert told == [None] * 5 + ["fan_out"] * 3


async def test_spawns_that_were_dropped_with_an_error_do_not_count(world: World) -> None:
    [root] = await world.submit(max_fan_out=2)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed, "busy", "transient"))
    world.clock.advance(5.0)
    again = await world.claim_task(root)
    assert again.standing.fan_out == 0
    assert await world.spawn(again, world.task(), world.task(), world.task()) == [None, None, "fan_out"]


async def test_nothing_is_spawned_after_the_deadline_of_the_lineage(world: World) -> None:
    await world.submit(lineage_seconds=100.0)
    claimed = await world.claim_one()
    world.clock.advance(99.9)
    assert await world.spawn(claimed, world.task("in time")) == [None]
    world.clock.advance(0.1)
    assert await world.spawn(claimed, world.task("too late")) == ["deadline"]
    await world.sweep()
    assert await world.spawn(claimed, world.task("over")) == ["ended"]


async def test_the_first_reason_in_the_order_of_the_guard_is_the_one_told(world: World) -> None:
    await world.submit(world.task("root"), max_spawn_depth=1, max_tasks=2, max_fan_out=1, lineage_seconds=100.0)
    root = await world.claim_one()
    assert await world.spawn(root, world.task("child")) == [None]
    world.clock.advance(100.0)
    told = await world.spawn(root, world.task("root"), world.task("child"), world.task("new"))
    assert told == ["cycle", "in_flight", "budget"]
    child = root._replace(standing=root.standing._replace(fence=7))
    assert await world.spawn(child, world.task("root")) == ["stale"]
    await world.sweep()


async def test_the_tracking_fields_of_a_child_come_from_its_parent(world: World) -> None:
    last = await descend(world, ("page", "a"), ("page", "b"), ("image", "c"))
    answer = await world.settle(last, spawns=[world.task("d", priority=3, queue="q", delay_seconds=60.0)])
    child = await world.get(str(answer.spawns[0].id))
    assert (child.tracking_id, child.parent_id, child.spawn_depth) == ("line", last.id, 3)
    assert child.ancestry_chain == ("t1", "t2", "t3")
    assert (child.priority, child.queue, child.available_at) == (3, "q", world.clock.now + 60.0)


def spoiled(store: Store, name: str) -> list[str]:
    """Statements that put what is no number into a column of the lineage, as far as the database lets them."""
    if isinstance(store, SqliteStore):
        return [f"UPDATE ramet_lineages SET {name} = 'lots'"]
    return [
        f"ALTER TABLE ramet_lineages ALTER COLUMN {name} DROP NOT NULL",
        f"UPDATE ramet_lineages SET {name} = NULL",
    ]


@pytest.mark.parametrize("name", ["max_tasks", "max_fan_out", "max_spawn_depth"])
async def test_a_limit_that_cannot_be_read_counts_as_spent(world: World, name: str) -> None:
    await world.submit(world.task("root"))
    claimed = await world.claim_one()
    await world.store.ensure_tables(spoiled(world.store, name))
    answer = await world.settle(claimed, spawns=[world.task("a")])
    assert (answer.state, [told.reason for told in answer.spawns]) == ("success", ["budget"])
    await world.store.ensure_tables([f"UPDATE ramet_lineages SET {name} = 10"])
