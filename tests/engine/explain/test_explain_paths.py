"""A task that waits for its path says for whom, and what that one does; one that was skipped says who failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet.engine.explain.explain import Explanation, explain
from ramet.model.causes import sentence_text
from ramet.model.flow.resources import ResourcePolicy, WorkerStatus
from ramet.model.paths import PathImpact, PathRule
from ramet.model.task import events as ev
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import LEASE_SECONDS, SettableClock, World, failing


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = SettableClock(1_000_000.0)
    world = World(SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True), clock)
    yield world
    await world.check()
    await world.store.close()


def on(*elements: str) -> PathRule:
    return PathRule(elements)


async def explained(world: World, task_id: str) -> Explanation:
    found = await explain(world.store, task_id)
    assert found is not None
    return found


async def why(world: World, task_id: str) -> str:
    return (await explained(world, task_id)).headline


async def pair(world: World) -> tuple[str, str]:
    """``doc`` and, below it, one that waits."""
    parent, child = await world.submit(world.task(path=on("doc")), world.task(path=on("doc", "a:b")))
    return parent, child


async def test_it_names_the_one_that_runs_with_its_worker_and_lease(world: World) -> None:
    parent, child = await pair(world)
    await world.claim_one()
    world.clock.advance(10.0)
    assert await why(world, child) == (
        f"it waits for task {parent} (page key1) on path doc, which runs since 1000000 (worker w, lease until 1000300)"
    )
    found = await explained(world, parent)
    assert found.headline == "worker w holds it (claim 1) under a lease until 1000300"
    assert found.path.chain is not None
    assert (found.path.chain.task.holds, found.path.chain.task.behind) == (True, 1)


async def test_it_says_that_the_lease_before_it_lapsed(world: World) -> None:
    _, child = await pair(world)
    await world.claim_one()
    world.clock.advance(LEASE_SECONDS)
    assert "is in the hands of worker w, whose lease lapsed 1000300: the next sweep takes it" in await why(world, child)


async def test_it_says_when_the_one_before_it_runs_again(world: World) -> None:
    parent, child = await pair(world)
    first = await world.claim_one()
    await world.settle(first, ev.Snooze(1, 60.0))
    assert await why(world, child) == f"it waits for task {parent} (page key1) on path doc, which runs again 1000060"


async def test_it_says_that_nobody_took_the_one_before_it(world: World) -> None:
    _, child = await pair(world)
    assert (await why(world, child)).endswith("on path doc, which is pending: it waits for a worker")
    await world.store.see_worker(WorkerStatus("w", "h", 1, ("image",), ("default",), 1, 0.0, 0.0))
    assert (await why(world, child)).endswith(
        "which is pending: it waits for a worker that serves kind 'page' on queue 'default': no living one does"
    )


async def test_it_says_that_the_lineage_before_it_is_paused_and_what_that_holds_back(world: World) -> None:
    [parent] = await world.submit(world.task(path=on("doc")), tracking_id="paused")
    _, other = await world.submit(world.task(), world.task(path=on("doc")), tracking_id="other")
    await world.store.pause_lineage("paused", by="me", reason="later")
    assert (await why(world, other)).endswith("which is pending: its lineage is paused since 1000000 by me: later")
    found = await explained(world, parent)
    assert found.headline == "its lineage is paused since 1000000 by me: later"
    assert found.path.held_back == PathImpact(1, False)


async def test_it_says_that_the_breaker_before_it_is_open(world: World) -> None:
    await world.store.limit_resource(ResourcePolicy("host", cooldown_seconds=600.0), by="me")
    _, child = await world.submit(world.task(path=on("doc"), resource="host"), world.task(path=on("doc", "a")))
    await world.store.open_breaker("host", by="me", reason="down")
    assert (await why(world, child)).endswith(
        "which is pending: breaker of host open since 1000000 by me: down, next try 1000600"
    )


async def test_a_longer_line_is_told_to_its_end(world: World) -> None:
    first, second, third = await world.submit(
        world.task(path=on("doc", "a")), world.task(path=on("doc")), world.task(path=on("doc", "b"))
    )
    await world.claim_one()
    found = await explained(world, third)
    assert found.headline == f"it waits for task {second} (page key2) on path doc, which waits for task {first}"
    assert found.path.chain is not None
    assert [step.task_id for step in found.path.chain.steps] == [second, first]
    assert found.path.last is not None
    assert sentence_text(found.path.last, "{:.0f}".format) == "runs since 1000000 (worker w, lease until 1000300)"


async def test_a_delayed_task_takes_its_place_when_it_is_due(world: World) -> None:
    [task] = await world.submit(world.task(path=on("doc"), delay_seconds=50.0))
    assert await why(world, task) == "it takes its place on path doc when it is due, 1000050"


async def test_one_that_gave_its_ticket_up_and_those_after_it_say_so(world: World) -> None:
    parent, child = await pair(world)
    await world.settle(await world.claim_one(), ev.Snooze(1, 5_000.0))
    assert await why(world, parent) == (
        "it gave its ticket on path doc up and takes a new one 1005000, behind those that came meanwhile"
    )
    assert await why(world, child) == (
        f"it comes after task {parent} (page key1) on path doc, which gave its ticket up, and takes a new one 1005000"
    )


async def test_one_that_ended_and_may_still_run_is_named(world: World) -> None:
    rule = PathRule(("doc", "a"), on_dependency_failure="run")
    parent, child = await world.submit(world.task(path=on("doc")), world.task(path=rule))
    await world.claim_one()
    await world.store.cancel(parent, tree=False, by="me")
    assert "which ended as cancelled, and its worker has not let go of it yet" in await why(world, child)


async def test_one_that_was_skipped_names_the_first_that_failed(world: World) -> None:
    parent, child = await pair(world)
    [below] = await world.submit(world.task(path=on("doc", "a:b", "c")), tracking_id="below")
    await world.settle(first := await world.claim_one(), failing(first))
    await world.sweep()
    for task_id in (child, below):
        found = await explained(world, task_id)
        assert found.headline == f"it ended as skipped: dependency_failed: {parent}"
        assert found.path.cause is not None
        assert (found.path.cause.id, found.path.cause.state) == (parent, "failed")


async def test_a_task_without_a_path_has_nothing_of_it(world: World) -> None:
    [task] = await world.submit()
    found = await explained(world, task)
    assert found.path == (None,) * 5
