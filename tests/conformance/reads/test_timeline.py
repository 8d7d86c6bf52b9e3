"""The tree of a lineage over time: what its tasks' time went into, and true counts of what is below each."""

from __future__ import annotations

import pytest

from ramet.model.money import Charge
from ramet.model.task import events as ev
from ramet.model.task.task import After
from ramet.model.timeline import TIMELINE_CHILDREN, TIMELINE_ROWS, SpanKind, Timeline, TimelineLink, TimelineRow
from ramet.model.views import BoundedCount, TreeTask
from tests.support.world import LEASE_SECONDS, World, failing

W, R, F, B, J = SpanKind.WAITING, SpanKind.RUNNING, SpanKind.FAILED, SpanKind.BACKING_OFF, SpanKind.JOINED


def shape(row: TimelineRow) -> list[tuple[SpanKind, float]]:
    """What its time went into, with seconds."""
    return [(span.what, round(span.end - span.begin, 3)) for span in row.spans]


def keys(found: Timeline) -> list[str]:
    return [row.key for row in found.rows]


async def fail(world: World, key: str) -> None:
    """End the task with this key as failed."""
    [task] = await world.store.tasks_with_key(key)
    claimed = await world.claim_task(task.id)
    await world.settle(claimed, failing(claimed))
    assert await world.state(task.id) == "failed"


async def test_there_is_no_such_filter_and_no_such_lineage(world: World) -> None:
    with pytest.raises(ValueError, match="'late' is not a filter of timelines: give one of failed, slow"):
        await world.store.timeline("line", only="late")
    empty = await world.store.timeline("nothing")
    assert (empty.rows, empty.top, empty.links, empty.total, empty.next_after) == ((), None, (), BoundedCount(0), None)


async def test_the_time_of_a_task_is_divided_without_a_gap(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    world.clock.advance(2)
    claimed = await world.claim_one()
    world.clock.advance(3)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 10.0))
    world.clock.advance(12)
    claimed = await world.claim_one()
    world.clock.advance(1)
    [row] = (await world.store.timeline("line")).rows
    assert shape(row) == [(W, 2), (R, 3), (B, 12), (R, 1)]
    assert (row.spans[0].begin, row.spans[-1].end) == (row.created_at, world.clock.now)
    assert all(one.end == two.begin for one, two in zip(row.spans, row.spans[1:], strict=False))
    await world.settle(claimed, failing(claimed))
    world.clock.advance(50)  # An ended task's time has ended.
    [row] = (await world.store.timeline("line")).rows
    assert (row.id, row.state, shape(row)) == (root, "failed", [(W, 2), (R, 3), (B, 12), (F, 1)])


async def test_a_joined_wait_is_one_and_says_whom_it_waits_for(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    claimed = await world.claim_one()
    world.clock.advance(1)
    await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[world.task("a"), world.task("b")])
    world.clock.advance(4)
    found = await world.store.timeline("line")
    assert shape(found.rows[0]) == [(R, 1), (J, 4)]
    assert found.rows[0].waits_for == 2
    assert keys(found) == ["root", "a", "b"]
    assert found.links == tuple(TimelineLink(root, row.id) for row in found.rows[1:])
    await world.run_all()
    found = await world.store.timeline("line")
    assert shape(found.rows[0])[:2] == [(R, 1), (J, 4)]
    assert found.rows[0].waits_for is None


async def test_a_failure_is_counted_in_every_task_above_it_and_found_by_the_filter(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    [a, _] = await world.grow(await world.claim_one(), world.task("a"), world.task("b"))
    await world.grow(await world.claim_task(a), world.task("a1"), world.task("a2"))
    await fail(world, "a2")
    found = await world.store.timeline("line")
    assert [(row.key, row.failed_below.number, row.state == "failed") for row in found.rows] == [
        ("root", 1, False), ("a", 1, False), ("a1", 0, False), ("a2", 0, True), ("b", 0, False),
    ]  # fmt: skip
    assert (found.failed, found.total) == (BoundedCount(1), BoundedCount(1))
    only = await world.store.timeline("line", only="failed")
    assert keys(only) == ["root", "a", "a2"]
    below = await world.store.timeline("line", parent_id=a, only="failed")
    assert (keys(below), below.top and below.top.key) == (["a2"], "a")
    assert keys(await world.store.timeline("line", parent_id=root, only="failed")) == ["a", "a2"]


async def test_the_slowest_are_shown_with_what_they_grew_from(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    [a, b] = await world.grow(await world.claim_one(), world.task("a"), world.task("b"))
    await world.grow(await world.claim_task(a))
    claimed = await world.claim_task(b)
    world.clock.advance(100)
    await world.grow(claimed, *(world.task(f"b{number}") for number in range(40)))
    await world.run_all()
    found = await world.store.timeline("line", only="slow")
    assert keys(found)[0] == "root"
    assert "b" in keys(found)
    assert len(found.rows) < 42
    assert keys(await world.store.timeline("line", only="slow", parent_id=b))[0].startswith("b")
    assert root == found.rows[0].id


async def test_of_very_many_children_the_first_are_shown_and_all_are_counted(world: World) -> None:
    many = TIMELINE_ROWS + 30
    [root] = await world.submit(world.task("root"), max_fan_out=1_000)
    await world.grow(await world.claim_one(), *(world.task(f"c{number}") for number in range(many)))
    top = await world.store.timeline("line")
    assert (keys(top), top.rows[0].hidden) == (["root", *(f"c{n}" for n in range(TIMELINE_CHILDREN))],
                                               BoundedCount(many - TIMELINE_CHILDREN))  # fmt: skip
    first = await world.store.timeline("line", parent_id=root)
    assert (keys(first), first.total) == ([f"c{n}" for n in range(TIMELINE_ROWS)], BoundedCount(many))
    second = await world.store.timeline("line", parent_id=root, after=first.next_after or 0)
    assert (keys(second), second.next_after) == ([f"c{n}" for n in range(TIMELINE_ROWS, many)], None)


async def test_attempts_beyond_the_newest_are_one_span(world: World) -> None:
    await world.submit(world.task("root"))
    for _ in range(30):
        world.clock.advance(1)
        claimed = await world.claim_one()
        world.clock.advance(1)
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
    [row] = (await world.store.timeline("line")).rows
    assert row.spans[0].what == SpanKind.EARLIER
    assert row.spans[0].begin == row.created_at
    assert [span.what for span in row.spans[1:]] == [R, B] * 19 + [R]


async def test_a_branch_says_what_is_below_it_until_when_it_ran_and_what_it_cost(world: World) -> None:
    [root] = await world.submit(world.task("root"), max_cost=1_000)
    [a, b] = await world.grow(await world.claim_one(), world.task("a"), world.task("b"))
    claimed = await world.claim_task(a)
    await world.settle(claimed, ev.Progress(claimed.standing.fence, LEASE_SECONDS), charge=Charge("call", 7))
    await world.grow(claimed, world.task("a1"), world.task("a2"))
    await fail(world, "a1")

    async def twig(key: str) -> TreeTask:
        task = (await world.store.tasks_with_key(key))[0]
        name = "line" if task.parent_id is None else None
        page = await world.store.twigs(tracking_id=name, parent_id=task.parent_id, kind="page", state=task.state.value)
        [found] = [one for one in page.twigs if one.task.id == task.id]
        return found

    top, branch = await twig("root"), await twig("a")
    assert (top.task.id, branch.task.id) == (root, a)
    assert (top.below, top.failed_below, top.until, top.spent) == (BoundedCount(4), BoundedCount(1), None, 7)
    assert (branch.below, branch.failed_below, branch.until, branch.spent) == (
        BoundedCount(2),
        BoundedCount(1),
        None,
        7,
    )
    world.clock.advance(9)
    ended = world.clock.now
    await world.run_all()
    world.clock.advance(9)
    assert [((await twig(key)).below.number, (await twig(key)).until) for key in ("root", "a", "b")] == [
        (4, ended), (2, ended), (0, ended),
    ]  # fmt: skip
    assert (await twig("b")).spent == 0
    assert b == (await twig("b")).task.id


async def test_a_task_that_comes_after_another_waits_for_it_from_the_start(world: World) -> None:
    first = world.task("first")
    _, second = await world.submit(first, world.task("second", after=After((("page", "first"),))))
    world.clock.advance(3)
    claimed = await world.claim_one()
    world.clock.advance(4)
    await world.settle(claimed)
    await world.sweep()
    world.clock.advance(1)
    claimed = await world.claim_one()
    world.clock.advance(2)
    await world.settle(claimed)
    found = await world.store.timeline("line")
    assert [(row.key, shape(row)) for row in found.rows] == [("first", [(W, 3), (R, 4)]), ("second", [(J, 8), (R, 2)])]
    assert found.links == (TimelineLink(second, first.id),)
