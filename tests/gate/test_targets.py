"""Each case belongs to exactly one target, and no target leaves out a file that has cases for it."""

from __future__ import annotations

import re
import tomllib
from itertools import chain, combinations
from pathlib import Path, PurePath

import pytest

from tests.gate.targets import AREAS, NIGHTLY, TARGETS, area_of, may_hold, target_of

PROJECT = Path(__file__).parents[2]
MARKS = ["browser", "network", "nightly", "process", "proof", "server"]
FOLDERS = sorted({path.parent.relative_to(PROJECT).as_posix() for path in (PROJECT / "tests").rglob("test_*.py")})


def test_every_folder_is_read_by_each_target_that_may_run_a_case_in_it() -> None:
    sets = list(chain.from_iterable(combinations(MARKS, size) for size in range(len(MARKS) + 1)))
    for folder in FOLDERS:
        targets = {target_of(f"{folder}/test_a.py", marks) for marks in sets}
        assert targets <= set(TARGETS)
        above = [f"{folder}/test_a.py", folder, *map(str, PurePath(folder).parents)][:-1]
        assert all(may_hold(name, target) for name in above for target in targets)


def test_the_targets_are_those_of_the_makefile_and_test_all_runs_all_but_the_nightly_one() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert tuple(re.findall(r"--target (\w+)$", makefile, re.MULTILINE)) == TARGETS
    [prerequisites] = re.findall(r"^test-all: ([^#]*)", makefile, re.MULTILINE)
    assert prerequisites.split() == [
        "test", *(f"test-{name}" for name in TARGETS if name not in ("test", NIGHTLY))
    ]  # fmt: skip


def test_the_marks_are_those_that_pytest_knows() -> None:
    known = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["markers"]
    assert [line.partition(":")[0] for line in known] == MARKS
    assert {mark for area in AREAS.values() for mark in area.special} <= set(MARKS)


@pytest.mark.parametrize(
    ("file", "marks", "target"),
    [
        ("tests/model/lineage/test_guard.py", (), "test"),
        ("tests/conformance/tasks/test_claim.py", ("server",), "postgres"),
        ("tests/engine/worker/test_pool.py", ("process",), "test"),
        ("tests/engine/worker/test_pool.py", ("process", "nightly"), "nightly"),
        ("tests/crash/test_kill.py", ("server",), "proofs"),
        ("tests/simulation/test_simulation.py", (), "test"),
        ("tests/simulation/test_simulation.py", ("proof",), "proofs"),
        ("tests/wiki/test_levels.py", (), "test"),
        ("tests/wiki/test_killed.py", ("process",), "wiki"),
        ("tests/web/test_guard.py", (), "web"),
        ("tests/packaging/test_release.py", ("process",), "proofs"),
    ],
)
def test_folder_and_marks_give_the_target(file: str, marks: tuple[str, ...], target: str) -> None:
    assert target_of(file, marks) == target


def test_an_area_is_a_folder_that_exists() -> None:
    assert all((PROJECT / name).is_dir() for name in AREAS)
    assert area_of("tests/wiki/sources/test_dump.py") is AREAS["tests/wiki"]
