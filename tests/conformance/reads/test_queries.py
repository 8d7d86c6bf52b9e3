"""Queries answer what a brute-force filter over all rows would."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.task import Task, TaskState
from ramet.store.reads import tasks as querying
from ramet.store.requests import TaskQuery
from tests.support.world import World, failing, hand_back, settlement

ALL_STATES = frozenset(TaskState)
STATE_SETS = (
    frozenset[TaskState](),
    frozenset({TaskState.PENDING}),
    frozenset({TaskState.PROCESSING, TaskState.SUCCESS}),
    frozenset({TaskState.FAILED, TaskState.CANCELLED, TaskState.SKIPPED, TaskState.FILTERED}),
    ALL_STATES,
)


async def populate(world: World) -> list[str]:
    """Three lineages with tasks of every state, kind and several depths; returns all ids in order of number."""
    ids: list[str] = []
    for name in ("one", "two", "three"):
        ids += await world.submit(
            *(world.task(f"k{n}", kind) for n in range(4) for kind in ("page", "image")), tracking_id=name
        )
    for depth in range(3):
        batch = []
        for at, claimed in enumerate(await world.claim(9)):
            keys = [f"d{depth}-{at % 3}", f"d{depth}-only-{at}"]
            spawns = [world.task(key, ("page", "image")[at % 2]) for key in keys]
            fence = claimed.standing.fence
            ends: list[ev.Event] = [
                ev.Complete(fence), ev.Filter(fence, "x"), failing(claimed), ev.Skip(fence, "x"), ev.Snooze(fence, 99.0)
            ]  # fmt: skip
            batch.append(settlement(claimed, ends[at % 5], spawns=spawns))
        for answer in await world.store.settle(batch):
            ids += [told.id for told in answer.spawns if told.id is not None]
    for task_id in ids[-3:-1]:
        await world.store.cancel(task_id, tree=False, by="test")
    await world.claim(5)
    return ids


async def all_tasks(world: World, ids: list[str]) -> list[Task]:
    tasks = [await world.get(task_id) for task_id in ids]
    assert {task.state for task in tasks} == ALL_STATES
    assert {task.spawn_depth for task in tasks} >= {0, 1}
    return tasks


def matches(task: Task, query: TaskQuery) -> bool:
    return (
        (query.tracking_id is None or task.tracking_id == query.tracking_id)
        and (not query.states or task.state in query.states)
        and (query.kind is None or task.kind == query.kind)
        and (query.key is None or task.key == query.key)
        and (query.min_depth is None or task.spawn_depth >= query.min_depth)
        and (query.parent_id is None or task.parent_id == query.parent_id)
    )


async def test_tasks_by_every_combination_of_filters(world: World) -> None:
    everything = await all_tasks(world, await populate(world))
    parent = Counter(task.parent_id for task in everything if task.parent_id).most_common(1)[0][0]
    key = Counter(task.key for task in everything).most_common(1)[0][0]
    sizes = Counter[int]()
    for tracking_id, states, kind, wanted_key, depth, parent_id in itertools.product(
        (None, "two", "nowhere"), STATE_SETS, (None, "page"), (None, key, "d0-1"), (None, 0, 1, 2), (None, parent)
    ):
        query = TaskQuery(tracking_id, states, kind, wanted_key, depth, parent_id, limit=1_000)
        page = await world.store.tasks(query)
        expected = [task for task in everything if matches(task, query)]
        assert list(page.tasks) == expected, query
        assert page.next_after is None
        assert list((await world.store.tasks(query._replace(newest=True))).tasks) == expected[::-1], query
        sizes[min(len(expected), 3)] += 1
    assert all(sizes[size] > 10 for size in range(4)), f"the population is too plain: {sizes}"


@pytest.mark.parametrize(
    "query",
    [TaskQuery(), TaskQuery(tracking_id="one"), TaskQuery(states=frozenset({TaskState.PENDING})), TaskQuery(key="k1"),
     TaskQuery(min_depth=1), TaskQuery(kind="image", states=ALL_STATES)],
    ids=["all", "lineage", "state", "key", "depth", "kind"],
)  # fmt: skip
@pytest.mark.parametrize("limit", [1, 2, 7])
@pytest.mark.parametrize("newest", [False, True], ids=["oldest", "newest"])
async def test_pages_follow_one_another_without_gap_or_overlap(
    world: World, query: TaskQuery, limit: int, newest: bool
) -> None:
    everything = await all_tasks(world, await populate(world))
    found: list[Task] = []
    after: int | None = 0
    while after is not None:
        page = await world.store.tasks(query._replace(limit=limit, after=after, newest=newest))
        assert 1 <= len(page.tasks) <= limit
        found += page.tasks
        after = page.next_after
    expected = [task for task in everything if matches(task, query)]
    assert found == (expected[::-1] if newest else expected)


async def test_a_page_is_bounded_however_much_is_asked_for(world: World) -> None:
    await world.submit(*(world.task() for _ in range(1_005)))
    page = await world.store.tasks(TaskQuery(limit=1_000_000))
    assert len(page.tasks) == 1_000
    assert page.next_after is not None
    assert len((await world.store.tasks(TaskQuery(limit=10, after=page.next_after))).tasks) == 5
    assert len(await world.store.roots("line")) == 1_000


async def test_an_unknown_task_is_none(world: World) -> None:
    assert await world.store.get("nobody") is None
    assert await world.store.history("nobody") is None
    assert await world.store.lineage("nothing") is None


async def test_has_live_in_one_lineage_or_anywhere(world: World) -> None:
    everything = await all_tasks(world, await populate(world))
    live = {(t.kind, t.key, t.tracking_id) for t in everything if not t.state.terminal}
    for kind, key in {(t.kind, t.key) for t in everything} | {("page", "never")}:
        places = {tracking_id for k, y, tracking_id in live if (k, y) == (kind, key)}
        assert await world.store.has_live(kind, key) == bool(places)
        for tracking_id in ("one", "two", "three", "nowhere"):
            assert await world.store.has_live(kind, key, tracking_id) == (tracking_id in places)


@pytest.mark.parametrize("tracking_id", [None, "two"])
async def test_counts_by_kind_state_and_wait_with_mean_depth(world: World, tracking_id: str | None) -> None:
    everything = await all_tasks(world, await populate(world))
    depths: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
    for task in everything:
        if tracking_id in (None, task.tracking_id):
            depths[(task.kind, task.state, task.wait)].append(task.spawn_depth)
    counted = {(c.kind, c.state, c.wait): (c.tasks, c.mean_depth) for c in await world.store.counts(tracking_id)}
    assert counted == {name: (len(found), sum(found) / len(found)) for name, found in depths.items()}


async def test_stale_claims_are_counted_as_such(world: World) -> None:
    await world.submit(world.task(), world.task())
    await world.claim_one()
    world.clock.advance(200.0)
    await world.claim_one()
    world.clock.advance(100.0)
    assert [(c.state, c.wait, c.tasks) for c in await world.store.counts()] == [
        ("processing", None, 1),
        ("processing", "stale", 1),
    ]


async def test_stale_claims_are_listed_until_they_are_reclaimed(world: World) -> None:
    for name in ("one", "two"):
        await world.submit(world.task(), world.task(), tracking_id=name)
    old = await world.claim(3)
    world.clock.advance(200.0)
    await world.claim_one()
    world.clock.advance(99.0)
    assert await world.store.stale() == []
    world.clock.advance(1.0)
    # Lineages take turns at the claim; the list is in the order of the tasks.
    listed = sorted(old, key=lambda claimed: claimed.standing.seq)
    assert [task.id for task in await world.store.stale()] == [claimed.id for claimed in listed]
    ones = [claimed.id for claimed in listed if claimed.standing.tracking_id == "one"]
    assert [task.id for task in await world.store.stale("one")] == ones
    assert [task.id for task in await world.store.stale(limit=2)] == [listed[0].id, listed[1].id]
    await world.sweep()
    assert await world.store.stale() == []


async def test_roots_and_child_counts(world: World) -> None:
    everything = await all_tasks(world, await populate(world))
    for name in ("one", "two", "three"):
        expected = [t for t in everything if t.tracking_id == name and t.parent_id is None]
        assert await world.store.roots(name) == expected
    children = Counter(task.parent_id for task in everything if task.parent_id)
    assert await world.store.child_counts([task.id for task in everything]) == dict(children)
    assert await world.store.roots("nowhere") == []


async def test_history_tells_attempts_transitions_and_refused_spawns(world: World) -> None:
    [task_id, other] = await world.submit(world.task("a"), world.task("b"), max_tasks=2)
    claimed = await world.claim_task(task_id)
    await world.settle(claimed, failing(claimed, "busy", "transient"))
    world.clock.advance(5.0)
    claimed = await world.claim_task(task_id)
    await world.spawn(claimed, world.task("a"), world.task("x"))
    await world.store.cancel(task_id, tree=False, by="ann", reason="enough")
    await world.store.revive([task_id], by="bob")
    history = await world.store.history(task_id)
    assert history is not None
    assert history.task == await world.get(task_id)
    assert [(a.outcome, a.error) for a in history.attempts if a.outcome != "returned"] == [
        ("error", "busy"),
        ("ended", None),
    ]
    assert [(t.name, t.by) for t in history.transitions] == [("cancel", "ann"), ("revive", "bob")]
    assert {(b.key, b.reason) for b in history.blocks} == {("x", "budget"), ("a", "cycle")}
    beside = await world.store.history(other)
    assert beside is not None
    assert (beside.transitions, beside.blocks) == ((), ())


async def test_lineages_newest_first_by_state(world: World) -> None:
    for name in ("a", "b", "c", "d"):
        await world.submit(tracking_id=name)
        world.clock.advance(1.0)
    await world.store.cancel_lineage("b", by="test")
    await world.sweep()
    claimed = await world.claim_one()
    assert claimed.standing.tracking_id == "a"
    await world.settle(claimed)

    async def names(**asked: Any) -> list[str]:
        return [lineage.tracking_id for lineage in await world.store.lineages(**asked)]

    assert await names() == ["d", "c", "b", "a"]
    assert await names(limit=2) == ["d", "c"]
    assert await names(states=["running"]) == ["d", "c"]
    assert await names(states=["finished", "cancelled"]) == ["b", "a"]
    assert await names(states=["paused"]) == []


async def test_a_task_handed_back_reads_as_before_its_claim(world: World) -> None:
    [task_id] = await world.submit()
    before = await world.get(task_id)
    claimed = await world.claim_one()
    await world.settle(claimed, hand_back(claimed))
    after = await world.get(task_id)
    assert (after.state, after.attempts, after.worker) == (before.state, before.attempts, before.worker)
    assert (before.fence, after.fence) == (0, 1)


async def test_very_deep_lineages_are_listed_as_others_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look for each depth would be too many."""
    await populate(world)
    queries = [
        TaskQuery(tracking_id="one", states=states, min_depth=depth, newest=newest)
        for states in STATE_SETS
        for depth in (0, 1)
        for newest in (False, True)
    ]
    expected = [(await world.store.tasks(query)).tasks for query in queries]
    monkeypatch.setattr(querying, "WALKS_MAX", 0)
    assert [(await world.store.tasks(query)).tasks for query in queries] == expected
    assert any(expected)
