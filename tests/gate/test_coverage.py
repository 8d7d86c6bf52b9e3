"""What no test runs says why, and is counted. How much the tests run: ``make coverage``."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.gate.coverage_report import Measured, by_package, package_of, report

SOURCE = Path(__file__).parents[2] / "src"
EXCLUDED = {"model": 0, "store": 0}
"""Lines of a package that are left out by a comment. Each needs a reason that holds for every test there could be."""

_COMMENT = re.compile(r"#\s*pragma:\s*no\s*(?:cover|branch)(?P<reason>.*)", re.IGNORECASE)


def test_what_is_left_out_says_why_and_is_counted() -> None:
    found: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        for comment in _COMMENT.finditer(path.read_text(encoding="utf-8")):
            found[package_of(path.as_posix())] += 1
            assert re.fullmatch(r" - \w+( \S+){2,}", comment["reason"]), f"{path} leaves something out without a reason"
    assert {name: found[name] for name in EXCLUDED} == EXCLUDED


def told(statements: int, missed: int, branches: int = 0, missed_branches: int = 0) -> dict[str, object]:
    """What coverage says of one file."""
    names = ("num_statements", "missing_lines", "num_branches", "missing_branches", "excluded_lines")
    summary = dict(zip(names, (statements, missed, branches, missed_branches, 1), strict=True))
    return {"summary": summary, "missing_lines": [3], "missing_branches": [[3, 5]]}


def test_a_package_is_the_sum_of_its_files() -> None:
    files = {
        "src/ramet/store/state/apply.py": told(10, 0, 4, 1),
        "src/ramet/store/deep/er.py": told(6, 0),
        "src/ramet/jobs/boards/a.py": told(10, 2),
        "/x/src/ramet/__init__.py": told(0, 0),
    }
    gap = "src/ramet/store/state/apply.py: lines [3], branches [[3, 5]]"
    packages = by_package(files)
    assert [each.name for each in packages] == ["jobs", "ramet", "store"]
    assert packages[2] == Measured("store", 16, 0, 4, 1, 2, (gap,))
    assert [each.share for each in packages] == [0.8, 1.0, 0.95]


def test_a_package_with_too_little_is_told_with_its_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    enough = [Measured("store", 10, 0, 0, 0, 0), Measured("web", 10, 1, 0, 0, 0)]
    assert report(enough) == 0
    assert "under" not in capsys.readouterr().out
    short = [Measured("model", 999, 0, 1, 1, 0, ("a gap",)), Measured("web", 89, 9, 1, 1, 0, ("another",))]
    assert report(short) == 2
    said = capsys.readouterr().out
    assert "99.90% of    999 statements and     1 branches,   0 excluded, under 100%\n    a gap\n" in said
    assert ", under 90%\n    another\n" in said
