"""Fixtures of the conformance suite. Every scenario ends with the checker, whatever it was about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import BACKENDS, Backend
from tests.support.world import EFFECTS, SettableClock, World


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A fresh database, once per backend."""
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def world(backend: Backend, clock: SettableClock) -> AsyncIterator[World]:
    """A store whose time is the test's, with a table of the handlers' own."""
    world = World(backend.open(clock=clock, inline=True), clock)
    await world.store.ensure_tables([EFFECTS])
    yield world
    await world.check()
    await world.store.close()


@pytest.fixture
def store(world: World) -> Store:
    return world.store


@pytest.fixture
async def shared(backend: Backend) -> AsyncIterator[Store]:
    """A store for many threads, on the machine's clock."""
    store = backend.open()
    yield store
    found = await violations(store)
    assert found == [], "\n".join(found)
    await store.close()
