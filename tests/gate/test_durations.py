"""What a run tells of its time, and what of it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gate import durations
from tests.gate.durations import folder_of, record, recorded
from tests.gate.running import run_pytest
from tests.gate.targets import TARGETS

PROJECT = Path(__file__).parents[2]
ORDINARY_SECONDS_MAX = 750.0
"""Of all cases of ``make test`` together, as recorded: three processes for less than five minutes."""


def test_the_committed_file_names_files_that_exist_and_targets_that_run_them() -> None:
    known = recorded()
    assert known.keys() <= set(TARGETS)
    assert [name for files in known.values() for name in files if not (PROJECT / name).is_file()] == []


def test_what_is_recorded_of_make_test_fits_into_five_minutes() -> None:
    assert 0 < sum(recorded()["test"].values()) <= ORDINARY_SECONDS_MAX, "move or shorten tests: make durations"


def test_one_target_is_renewed_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "FILE", tmp_path / "durations.json")
    record("test", {"tests/b.py": 1.26, "tests/a.py": 0.04})
    record("web", {"tests/c.py": 2.0})
    record("test", {"tests/a.py": 3.0})
    assert recorded() == {"test": {"tests/a.py": 3.0}, "web": {"tests/c.py": 2.0}}


def test_a_folder_is_counted_with_what_is_below_it() -> None:
    assert folder_of("tests/model/test_a.py::test_b[tests/web]") == "model"
    assert folder_of("tests/wiki/sources/test_a.py::test_b") == "wiki"
    assert folder_of("tests/test_a.py::test_b") == "tests"


@pytest.mark.process
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_ends_with_the_slowest_cases_and_the_sum_by_folder(tmp_path: Path, processes: str) -> None:
    case = "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_it(n): pass\n"
    code, told = run_pytest(tmp_path, {"one/test_a.py": case, "two/test_b.py": case}, "-n", processes)
    assert code == 0, told
    rows = [line.split(" s  ")[1] for line in told.splitlines() if " s  " in line]
    assert len([row for row in rows if "::test_it[" in row]) == durations.SLOWEST, told
    assert sorted(rows[durations.SLOWEST :]) == ["one", "two"], told


def test_the_file_is_readable_in_a_diff() -> None:
    text = durations.FILE.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"
