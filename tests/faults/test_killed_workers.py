"""kill -9 of workers, of which there are four on one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.faults.load import Load


@asynccontextmanager
async def under_load(load: Load) -> AsyncIterator[Load]:
    try:
        await load.begin()
        yield load
        await load.finish()
    finally:
        load.end()


@pytest.mark.crash
@pytest.mark.parametrize(
    "kills", [pytest.param(4, id="4 kills"), pytest.param(30, id="30 kills", marks=[pytest.mark.full])]
)
async def test_killed_workers_lose_nothing(kills: int, tmp_path: Path) -> None:
    async with under_load(Load(str(tmp_path / "ramet.db"), tmp_path, seed=1)) as load:
        await load.faults(kills, load.kill_a_worker)
