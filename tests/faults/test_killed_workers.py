"""kill -9 of workers, of which there are four on one database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.load import Load, under_load
from tests.support.backends import Backend


# What kills do to a file is seen in tests/crash in every run.
@pytest.mark.parametrize("backend", ["postgres", pytest.param("sqlite", marks=pytest.mark.nightly)], indirect=True)
@pytest.mark.parametrize(
    "kills", [pytest.param(3, id="3 kills"), pytest.param(30, id="30 kills", marks=pytest.mark.nightly)]
)
async def test_killed_workers_lose_nothing(kills: int, backend: Backend, tmp_path: Path) -> None:
    async with under_load(Load(backend.address, tmp_path, seed=1)) as load:
        await load.faults(kills, load.kill_a_worker)
