"""Every task that ends has one span, whoever ended it: no trace names a parent that is not there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from ramet.engine.base.events import Listeners
from ramet.engine.client.watched import watched
from ramet.model.tracing import task_span_id
from ramet.store.requests import TaskQuery
from ramet.store.store import Store
from ramet.telemetry.traces import MEMORY
from tests.conformance.explain.test_explained_ends import ENDS, Script
from tests.support.backends import BACKENDS, Backend
from tests.support.world import SettableClock, World, failing
from tests.telemetry.observers import install, observed


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
async def world(backend: Backend, tmp_path: Path) -> AsyncIterator[World]:
    """A world whose store is watched, in a process that traces into memory."""
    MEMORY.clear()
    clock = SettableClock()
    with observed(install(tmp_path / "packages")):
        store = watched(backend.open(clock=clock, inline=True), Listeners(), clock)
        yield World(store, clock)
        await store.close()


def spans() -> dict[int, ReadableSpan]:
    """Spans of tasks, by id; each was told once."""
    found = [span for span in MEMORY.get_finished_spans() if span.name.startswith("task ")]
    by_id = {span.context.span_id: span for span in found if span.context is not None}
    assert len(found) == len(by_id)
    return by_id


async def every_end_is_told(store: Store) -> None:
    ended = [task for task in (await store.tasks(TaskQuery(limit=1_000))).tasks if task.state.terminal]
    told = spans()
    assert {task_span_id(task.id) for task in ended} == set(told)
    for task in ended:
        span = told[task_span_id(task.id)]
        attributes = span.attributes or {}
        assert (attributes["ramet.state"], attributes.get("ramet.reason")) == (task.state.value, task.reason)
        if task.parent_id is not None and span.parent is not None:
            assert span.parent.span_id == task_span_id(task.parent_id)


@pytest.mark.parametrize("script", [script for script, _, _ in ENDS], ids=[row[0].__name__ for row in ENDS])
async def test_a_task_has_its_span_whatever_ended_it(world: World, script: Script) -> None:
    task = await script(world)
    assert task_span_id(task) in spans()
    await every_end_is_told(world.store)


async def test_a_tree_that_maintenance_ends_in_batches_is_whole(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    children = await world.grow(await world.claim_task(root), *(world.task() for _ in range(7)))
    for child in children[:3]:
        await world.grow(await world.claim_task(child), world.task(), world.task())
    world.clock.advance(200_000.0)
    await world.sweep()
    await every_end_is_told(world.store)
    told = spans()
    assert len(told) == 1 + 7 + 6
    assert {span.parent.span_id for span in told.values() if span.parent is not None} <= set(told)


async def test_the_span_of_an_end_that_no_worker_saw_lasts_as_long_as_the_database_says(world: World) -> None:
    [task] = await world.submit(world.task(), lineage_seconds=60.0)
    began = world.clock.now
    world.clock.advance(90.0)
    await world.sweep()
    span = spans()[task_span_id(task)]
    assert (span.start_time, span.end_time) == (int(began * 1e9), int((began + 90.0) * 1e9))


async def test_what_was_undone_is_not_told(world: World) -> None:
    first, second = await world.submit(world.task(), world.task())
    claimed = await world.claim_task(first)
    await world.settle(claimed, failing(claimed))
    refused = await world.settle(claimed, failing(claimed))  # Its claim is over: nothing is written.
    assert refused.refused == "stale"
    assert set(spans()) == {task_span_id(first)}
    assert await world.store.cancel(second, tree=False, by="ada")
    assert not await world.store.cancel(second, tree=False, by="ada")
    assert set(spans()) == {task_span_id(first), task_span_id(second)}


async def test_of_two_processes_the_one_that_wrote_an_end_tells_it(world: World, backend: Backend) -> None:
    other = watched(backend.open(clock=world.clock, inline=True), Listeners(), SettableClock())
    [task] = await world.submit(world.task(), lineage_seconds=60.0)
    world.clock.advance(90.0)
    while (await other.sweep()).changed or (await world.store.sweep()).changed:
        pass
    await other.close()
    assert set(spans()) == {task_span_id(task)}


async def test_an_end_is_told_by_the_numbers_of_its_transaction_once_it_is_durable(backend: Backend) -> None:
    """The store's own promise, in threads as workers have it."""
    store = backend.open()
    told: list[int] = []
    store.watch_ends(told.extend)
    world = World(store, SettableClock())
    first, second, third = await world.submit(*(world.task() for _ in range(3)))
    claimed = await world.claim_task(first)
    assert told == []
    await world.settle(claimed)
    assert [task.id for task in await store.tasks_of(told)] == [first]
    await store.cancel(second, tree=False, by="ada")
    await store.exclude([third], by="ada")
    assert [task.id for task in await store.tasks_of(told)] == [first, second, third]
    assert len(told) == 3
    await store.close()
