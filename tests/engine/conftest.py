"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, Limits, Retry
from tests.engine.runner_harness import Bench
from tests.invariants.check import violations
from tests.support.backends import BACKENDS


@pytest.fixture
def app() -> App:
    return App(retry=Retry.SEED)


@pytest.fixture(params=sorted(BACKENDS))
async def client(request: pytest.FixtureRequest, app: App, tmp_path: Path) -> AsyncIterator[Client]:
    backend = BACKENDS[request.param](tmp_path)
    async with app.client(backend.address) as client:
        yield client
        assert await violations(client.store) == []
    backend.close()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(Limits(invocation_seconds=60.0))
    yield bench
    if bench.runner is not None:
        await bench.runner.stop()
