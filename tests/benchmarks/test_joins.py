"""The cost of joined children, at a small size: every child runs, and the parent reads what all of them returned."""

from __future__ import annotations

import pytest

from benchmarks.joins import ROWS, report, turn

pytestmark = pytest.mark.process


def test_each_row_runs_all_children_and_only_the_one_that_joins_reads_them() -> None:
    told = turn(1, 300, None)
    assert [name for name in ROWS if told[name].microseconds <= 0] == []
    assert [name for name in ROWS if told[name].held_bytes] == ["joins"]
    table = report([told, told]).splitlines()
    assert [line.split(" |")[0].strip("| ") for line in table[2:]] == [*ROWS]
