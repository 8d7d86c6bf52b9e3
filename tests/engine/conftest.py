"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ramet import Limits
from tests.engine.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(Limits(invocation_seconds=60.0))
    yield bench
    if bench.runner is not None:
        await bench.runner.stop()
