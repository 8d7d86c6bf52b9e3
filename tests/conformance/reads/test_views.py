"""Bounded reads say what a count of all rows would say, and where they stopped when there was more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy, UnservedKind, WorkerStatus
from ramet.model.lineage.lineage import LineageState
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import LIVE, Task, TaskState
from ramet.model.views import CLAIMABLE, BoundedCount
from ramet.store.reads import flow, history, live, tree
from ramet.store.reads import live as viewing
from ramet.store.requests import TaskQuery
from tests.conformance.reads.test_queries import populate
from tests.support.world import LEASE_SECONDS, World, checkpoint, failing, settlement

NAMES = ("one", "two", "three")


async def every_task(world: World) -> list[Task]:
    found: list[Task] = []
    for name in NAMES:
        found += (await world.store.tasks(TaskQuery(tracking_id=name, limit=1_000))).tasks
    return found


# --- what is live


async def test_every_wait_is_counted(world: World) -> None:
    store = world.store
    await world.submit(world.task(), world.task(), tracking_id="paused")
    await store.pause_lineage("paused", by="test")
    assert await world.claim(5) == []  # A claim sets aside what it meets of a lineage that does not run.
    await store.declare(DeclaredFlow({}, {}, [ResourcePolicy("slow", rate_per_second=0.001)]))
    in_line = [world.task(path=PathRule(("doc",))) for _ in range(3)]
    await world.submit(*in_line, tracking_id="line")
    await world.submit(world.task(delay_seconds=90.0), tracking_id="late")
    await world.submit(world.task(delay_seconds=80.0, path=PathRule(("doc",))), tracking_id="late in line")
    await world.submit(world.task(resource="slow"), world.task(resource="slow"), tracking_id="slow")
    await world.submit(*(world.task() for _ in range(4)), tracking_id="free")
    [asks] = await world.submit(world.task(), tracking_id="asks")
    asking = await world.claim_task(asks)
    await world.submit(world.task(kind="image", path=PathRule(("shut",))), tracking_id="shut")
    await store.pause_path(("shut",), by="test")
    assert await world.claim(5, kinds=("image",)) == []
    await world.settle(asking, ev.Join(1), spawns=[world.task(delay_seconds=90.0)])
    await world.sweep()
    present = await store.present()
    live = (await store.tasks(TaskQuery(states=LIVE, limit=1_000))).tasks
    assert present.waits == {
        "": BoundedCount(5),
        "due": BoundedCount(2),
        "ticket": BoundedCount(1),
        "path": BoundedCount(2),
        "resource": BoundedCount(2),
        "lineage": BoundedCount(2),
        "bound": BoundedCount(0),
        "paused": BoundedCount(1),
        "tasks": BoundedCount(1),
    }
    assert Counter(task.wait or "" for task in live) == {
        wait: count.number for wait, count in present.waits.items() if count.number
    }
    assert present.next_due_at == world.clock.now + 80.0
    assert present.lineages["running"] == BoundedCount(7)
    assert present.lineages["paused"] == BoundedCount(1)


async def test_claims_in_hand_are_counted_with_those_that_are_stale(world: World) -> None:
    await world.submit(*(world.task() for _ in range(5)))
    begun = world.clock.now
    await world.claim(2, lease_seconds=10.0)
    world.clock.advance(20.0)
    await world.claim(1, lease_seconds=500.0)
    present = await world.store.present()
    assert (present.processing, present.stale) == (3, 2)
    assert (present.oldest_claimed_at, present.oldest_lease_until) == (begun, begun + 10.0)


async def test_nothing_is_live_in_an_empty_database(world: World) -> None:
    present = await world.store.present()
    assert set(present.waits.values()) == {BoundedCount(0)}
    assert set(present.lineages.values()) == {BoundedCount(0)}
    assert (present.processing, present.stale, present.workers_alive) == (0, 0, 0)
    assert (present.alerts_firing, present.breakers_open) == (0, 0)
    assert (present.oldest_waiting, present.oldest_waiting_at, present.next_due_at) == (None, None, None)
    assert (present.oldest_claimed_at, present.oldest_lease_until) == (None, None)


async def test_the_oldest_waiting_task_is_found_behind_more_urgent_ones_and_among_resources(world: World) -> None:
    begun = world.clock.now
    [old] = await world.submit(world.task(resource="site", queue="other"), tracking_id="old")
    world.clock.advance(5.0)
    [later] = await world.submit(world.task(priority=-5), tracking_id="later")
    world.clock.advance(5.0)
    await world.submit(*(world.task(priority=5) for _ in range(3)), tracking_id="new")
    first = await world.store.present()
    assert (first.oldest_waiting, first.oldest_waiting_at) == (old, begun)
    await world.store.cancel(old, tree=False, by="test")
    second = await world.store.present()
    assert (second.oldest_waiting, second.oldest_waiting_at) == (later, begun + 5.0)


async def test_workers_alerts_and_breakers_are_counted(world: World) -> None:
    store = world.store
    for name in ("a", "b"):
        seen = WorkerStatus(name, "host", 1, ("page",), ("default",), 1, world.clock.now, world.clock.now, alive=True)
        await store.see_worker(seen)
    await store.open_breaker("site", by="test")
    await world.submit(world.task("hub"), tracking_id="line")
    hub = await world.claim_one()
    await world.settle(hub, spawns=[world.task(f"k{n}") for n in range(6)])
    for claimed in await world.claim(6):
        await world.settle(claimed, spawns=[world.task("wanted")])
    world.clock.advance(1.0)
    await store.look(MonitorLimits(), force=True)
    present = await store.present()
    assert (present.workers_alive, present.breakers_open) == (2, 1)
    assert present.alerts_firing == len(await store.alerts(limit=1_000))
    world.clock.advance(100.0)
    assert (await store.present()).workers_alive == 0


async def test_counting_stops_at_a_bound_and_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewing.counted, "__defaults__", ((), 3))
    for count in (3, 4):
        await world.submit(*(world.task() for _ in range(count - (count == 4) * 3)), tracking_id=f"of {count}")
        present = await world.store.present()
        assert present.waits[CLAIMABLE] == BoundedCount(3, count > 3)


# --- pages of lineages


async def pages(world: World, states: Iterable[str], limit: int) -> list[str]:
    names: list[str] = []
    before: str | None = None
    while True:
        page = await world.store.lineage_page(states=states, limit=limit, before=before)
        assert len(page.lineages) <= limit
        names += [lineage.tracking_id for lineage in page.lineages]
        before = page.next_before
        if before is None:
            return names


async def test_pages_of_lineages_list_each_once_newest_first(world: World) -> None:
    begun: list[tuple[float, str]] = []
    for at in range(4):
        for name in (f"{at} a", f"{at}b", f"{at} c d"):
            await world.submit(world.task(), tracking_id=name)
            begun.append((-world.clock.now, name))
        world.clock.advance(0.1)
    await world.store.cancel_lineage("1b", by="test")
    await world.store.pause_lineage("2 a", by="test")
    expected = [name for _, name in sorted(begun)]
    for limit in (1, 2, 5, 12, 50):
        assert await pages(world, (), limit) == expected
        assert await pages(world, ("cancelled", "paused"), limit) == ["2 a", "1b"]
        running = [name for name in expected if name not in ("1b", "2 a")]
        assert await pages(world, (LineageState.RUNNING,), limit) == running


async def test_a_page_of_lineages_begins_where_one_ended(world: World) -> None:
    for wrong in ("", "x", "tomorrow morning"):
        with pytest.raises(ValueError, match="page of lineages"):
            await world.store.lineage_page(before=wrong)
    with pytest.raises(ValueError, match="odd"):
        await world.store.lineage_page(states=["odd"])


# --- trees


async def test_branches_and_their_twigs_are_all_children_and_roots(world: World) -> None:
    await populate(world)
    everything = await every_task(world)
    parents = sorted({task.parent_id for task in everything if task.parent_id is not None})
    assert len(parents) > 3
    grown = Counter(task.parent_id for task in everything)
    for name, parent_id in [*((name, None) for name in NAMES), *((None, parent) for parent in parents)]:
        if parent_id is None:
            below = [task for task in everything if task.tracking_id == name and task.parent_id is None]
        else:
            below = [task for task in everything if task.parent_id == parent_id]
        branches = await world.store.branches(tracking_id=name, parent_id=parent_id)
        there = Counter((task.kind, task.state.value) for task in below)
        assert {(branch.kind, branch.state): branch.tasks for branch in branches} == {
            of: BoundedCount(number) for of, number in there.items()
        }
        for branch in branches:
            tasks = [task for task in below if (task.kind, task.state) == (branch.kind, branch.state)]
            assert branch.with_children == any(grown[task.id] for task in tasks)
            assert {branch.depth} == {task.spawn_depth for task in tasks}
            after: int | None = 0
            found: list[tuple[str, BoundedCount]] = []
            while after is not None:
                page = await world.store.twigs(
                    tracking_id=name, parent_id=parent_id, kind=branch.kind, state=branch.state, limit=2, after=after
                )
                assert len(page.twigs) <= 2
                found += [(twig.task.id, twig.children) for twig in page.twigs]
                after = page.next_after
            assert found == [(task.id, BoundedCount(grown[task.id])) for task in tasks]


async def test_looking_at_branches_stops_at_a_bound_and_their_pages_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "BRANCH_LOOKS_MAX", 4)
    await world.submit(*(world.task() for _ in range(4)))
    [branch] = await world.store.branches(tracking_id="line")
    assert branch.tasks == BoundedCount(4)
    ids = await world.submit(*(world.task() for _ in range(9)), tracking_id="more")
    await world.settle(await world.claim_task(ids[7]))
    [branch] = await world.store.branches(tracking_id="more")
    assert branch.tasks.more
    after: int | None = 0
    found: list[str] = []
    looks = 0
    while after is not None:
        page = await world.store.twigs(tracking_id="more", kind="page", state="success", after=after)
        found += [twig.task.id for twig in page.twigs]
        after, looks = page.next_after, looks + 1
    assert (found, looks) == ([ids[7]], 3)


async def test_children_of_a_twig_are_counted_up_to_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "CHILDREN_MAX", 2)
    for number in (2, 3):
        await world.submit(world.task(), tracking_id=f"of {number}")
        claimed = await world.claim_one()
        await world.grow(claimed, *(world.task(kind="image") for _ in range(number)))
        page = await world.store.twigs(tracking_id=f"of {number}", kind="page", state="success")
        assert [twig.children for twig in page.twigs] == [BoundedCount(2, number > 2)]
        while taken := await world.claim(10):
            await world.store.settle([settlement(claimed) for claimed in taken])


async def test_below_a_twig_is_everything_that_grew_from_it_up_to_a_bound(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.submit(world.task("root"))
    await world.grow(await world.claim_one(), *(world.task() for _ in range(3)))
    for child in await world.claim(3):
        await world.grow(child, *(world.task(kind="image") for _ in range(3)))

    async def root() -> tuple[BoundedCount, BoundedCount]:
        [twig] = (await world.store.twigs(tracking_id="line", kind="page", state="success")).twigs
        return twig.children, twig.below

    assert await root() == (BoundedCount(3), BoundedCount(12))
    monkeypatch.setattr(tree, "BELOW_LOOKS_MAX", 12)
    assert await root() == (BoundedCount(3), BoundedCount(12))
    monkeypatch.setattr(tree, "BELOW_LOOKS_MAX", 11)
    assert await root() == (BoundedCount(3), BoundedCount(11, True))
    monkeypatch.setattr(tree, "BELOW_LOOKS_MAX", 1)
    assert await root() == (BoundedCount(3), BoundedCount(3, True)), "never fewer than its children"


# --- counts of a lineage


async def test_counts_of_a_lineage_are_those_of_all_its_tasks(world: World) -> None:
    await populate(world)
    world.clock.advance(301.0)
    for name in NAMES:
        exact = {(row.kind, row.state, row.wait): (row.tasks, row.mean_depth) for row in await world.store.counts(name)}
        bounded = await world.store.lineage_counts(name)
        assert {(row.kind, row.state, row.wait): (row.tasks.number, row.mean_depth) for row in bounded} == exact
        assert not any(row.tasks.more for row in bounded)


async def test_counts_of_a_lineage_stop_at_bounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "LINEAGE_LOOKS_MAX", 3)
    monkeypatch.setattr(tree, "UNSUCCESSFUL_LOOKS_MAX", 1)
    await world.submit(*(world.task() for _ in range(9)))
    ends: list[ev.Event | None] = [None, None, None, None]
    for claimed, end in zip(await world.claim(4), ends, strict=True):
        await world.settle(claimed, end)
    for claimed in await world.claim(2):
        await world.settle(claimed, failing(claimed))
    found = {row.state: row.tasks.more for row in await world.store.lineage_counts("line")}
    assert found == {TaskState.PENDING: False, TaskState.FAILED: True, TaskState.SUCCESS: True}


# --- one task, one number


async def test_the_largest_depth_of_a_lineage_is_that_of_its_deepest_task(world: World) -> None:
    await populate(world)
    depths: dict[str, int] = {}
    for task in await every_task(world):
        depths[task.tracking_id] = max(task.spawn_depth, depths.get(task.tracking_id, 0))
    assert len(set(depths.values())) > 1, "lineages of different depths"
    assert await world.store.deepest([*NAMES, "nobody"]) == depths


async def test_a_checkpoint_is_there_after_the_end_and_only_where_something_was_kept(world: World) -> None:
    made = await world.submit(world.task(), world.task())
    [claimed, *_] = await world.claim(1)
    await world.settle(claimed, checkpoint(claimed), pipeline_state='{"a": [1]}')
    await world.settle(claimed)
    found = {task_id: await world.store.checkpoint(task_id) for task_id in made}
    kept = found.pop(claimed.id)
    assert kept is not None
    assert (kept.pipeline_state, kept.progress, kept.updated_at) == ({"a": [1]}, None, world.clock())
    assert [*found.values()] == [None]
    assert await world.store.checkpoint("nobody") is None


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test reaches."""
    monkeypatch.setattr(history, "LIMIT_MAX", 3)
    monkeypatch.setattr(history, "LOOKED_AT_MAX", 4)


@pytest.mark.usefixtures("few")
async def test_of_many_attempts_the_newest_are_told_in_order(world: World) -> None:
    [task] = await world.submit(world.task())
    for fence in range(1, 6):
        await world.settle(await world.claim_one(), ev.Snooze(fence, 1.0))
        world.clock.advance(1.0)
        await world.sweep()
    found = await world.store.history(task)
    assert found is not None
    assert ([attempt.fence for attempt in found.attempts], found.cut) == ([3, 4, 5], ("attempts",))


@pytest.mark.usefixtures("few")
async def test_what_a_task_was_the_first_to_ask_for_is_told_however_much_its_lineage_was_refused(world: World) -> None:
    [other, last] = await world.submit(world.task("a"), world.task("z"))
    claims = {claimed.id: claimed for claimed in await world.claim(2)}
    for claim, keys in ((other, "bcdefg"), (last, "xyb")):
        children = [world.task(key, kind="image") for key in keys]
        await world.settle(claims[claim], ev.Progress(1, LEASE_SECONDS), spawns=children)
        await world.settle(claims[claim], ev.Progress(1, LEASE_SECONDS), spawns=[*children, *children[:1]])
    found, before = await world.store.history(last), await world.store.history(other)
    assert found is not None
    assert before is not None
    # b: both asked for it, x and y only the last one.
    assert ([block.key for block in found.blocks], found.cut) == (["b", "x", "y"], ("blocks",))
    told = [block.key for block in before.blocks]
    assert (told, len(told), before.cut) == (sorted(set(told) & set("bcdefg")), 3, ("blocks",)), "any three, in order"


async def test_a_short_history_is_whole(world: World) -> None:
    [task] = await world.submit(world.task("own"))
    claimed = await world.claim_one()
    await world.settle(claimed, spawns=[world.task("own", "image"), world.task("own")])
    found = await world.store.history(task)
    assert found is not None
    assert (len(found.attempts), len(found.blocks), found.cut) == (1, 2, ())


async def test_unserved_tasks_are_counted_whatever_they_wait_for(world: World) -> None:
    store = world.store
    await world.submit(world.task(), world.task(queue="aside"), tracking_id="paused")
    await store.pause_lineage("paused", by="test")
    assert await world.claim(5) == []
    for rule in (PathRule(("doc",)),) * 2:
        await world.submit(world.task(path=rule), tracking_id=f"in line {len(await store.lineages())}")
    await world.submit(world.task(delay_seconds=9.0), tracking_id="late")
    await world.submit(world.task(delay_seconds=9.0, path=PathRule(("doc",))), tracking_id="late in line")
    await world.submit(world.task(resource="site"), tracking_id="site")
    await world.submit(world.task(kind="image"), world.task(queue="other"), tracking_id="free")
    assert await store.unserved() == [
        UnservedKind("aside", "page", 1), UnservedKind("default", "image", 1), UnservedKind("default", "page", 6),
        UnservedKind("other", "page", 1),
    ]  # fmt: skip
    assert len(await world.claim(1, kinds=("image",))) == 1
    assert UnservedKind("default", "image", 1) in await store.unserved()
    seen = WorkerStatus("w", "host", 1, ("page",), ("default", "other"), 1, world.clock.now, world.clock.now)
    await store.see_worker(seen)
    assert await store.unserved() == [UnservedKind("aside", "page", 1), UnservedKind("default", "image", 1)]


async def test_counting_what_nobody_serves_stops_at_bounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "HELD_BACK_LOOKS_MAX", 2)
    monkeypatch.setattr(live.counted, "__defaults__", ((), 3))
    await world.submit(*(world.task() for _ in range(4)), tracking_id="many")
    await world.submit(*(world.task(kind="image", delay_seconds=9.0) for _ in range(2)), tracking_id="two")
    assert await world.store.unserved() == [
        UnservedKind("default", "image", 2),
        UnservedKind("default", "page", 3, more=True),
    ]
    await world.submit(world.task(kind="loose", delay_seconds=3.0), tracking_id="one")
    assert [(item.kind, item.more) for item in await world.store.unserved()] == [
        ("image", True), ("loose", True), ("page", True)
    ]  # fmt: skip


async def test_open_breakers_come_first_then_resources_for_which_tasks_wait(world: World) -> None:
    store = world.store
    for name in ("a", "b", "z"):
        await store.open_breaker(name, by="test")
    for name in ("a", "b"):
        await store.close_breaker(name, by="test")
    await world.submit(*(world.task(resource=name) for name in ("m", "y")))
    assert [one.name for one in await store.resources(limit=1)] == ["z"]
    assert (await store.resources(limit=3))[0].name == "z"
    assert {one.name for one in await store.resources(limit=9)} >= {"a", "b", "m", "y", "z"}
