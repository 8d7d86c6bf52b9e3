"""Two workers scrape a board, are killed in the middle, and others go on: the same rows as without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.jobs import scale
from tests.jobs.world.process import world_process


def saved(openings: int, folder: Path) -> None:
    with world_process("--lever", f"{scale.TOKEN}:{openings}") as leading:
        environment = {**os.environ, **leading}
        whole = scale.measure(openings, folder, environment, profile=None, kill=False)
        killed = scale.measure(openings, folder, environment, profile=None, kill=True)
    assert whole["report"]["saved"] == openings
    assert killed["rows"] == whole["rows"]


@pytest.mark.nightly
def test_after_kill_9_in_the_middle_the_same_rows_are_saved(tmp_path: Path) -> None:
    saved(120, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
def test_after_kill_9_in_the_middle_of_ten_thousand(tmp_path: Path) -> None:
    saved(10_000, tmp_path)
