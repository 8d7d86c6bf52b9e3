"""The wording that docs/glossary.md asks for: every package keeps it.

As in ``test_tidy``, the rules also run on samples in which they must find something.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.wording import (
    FRAGMENTS,
    OPENINGS,
    PROJECT,
    RETIRED,
    SAMPLE_SIZE,
    SENTENCES,
    docstring_count,
    findings,
    packages,
    page_findings,
    sample,
)

OPENINGS_SHARE_MAX = 0.02


@pytest.mark.parametrize("package", packages(PROJECT))
def test_package_keeps_the_wording(package: str) -> None:
    found = list(findings(PROJECT, package))
    assert [f"{place}: {kind}" for place, kind in found if kind != OPENINGS] == [], "see docs/glossary.md"
    openings = sum(kind == OPENINGS for _, kind in found)
    assert openings <= OPENINGS_SHARE_MAX * docstring_count(PROJECT, package)


def test_pages_keep_the_wording() -> None:
    assert list(page_findings(PROJECT)) == [], "see docs/glossary.md"


def test_words_of_pages_are_found_outside_code(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("Nobody is\ntold.\n\n```text\nnobody\n```\n<!-- whoever -->\n`anew`\n")
    assert list(page_findings(tmp_path)) == [("docs/one.md", "nobody"), ("docs/one.md", "told")]


SAMPLES = [
    ('"""Who is there."""\n', OPENINGS),
    ('class A:\n    """A thing."""\n\n    x: int\n    """Where it is."""\n', OPENINGS),
    ('class A:\n    x: int\n    """Of its function."""\n', FRAGMENTS),
    ('raise ValueError(f"{x} is no number")\n', "is no X"),
    ("x = 1  # whoever\n# reads this\n", "whoever"),
    ('"""Rows that nobody\nreads."""\n', "nobody"),
    ("# so\n# many words\n", "so many"),
    ('"""Read rows. What is gone is left out."""\n', SENTENCES),
    ("# Who comes second\n# waits.\n", SENTENCES),
    ("# begun anew\n\n# and again\n", "anew"),
]


@pytest.mark.parametrize(("source", "kind"), SAMPLES)
def test_sample_is_found(tmp_path: Path, source: str, kind: str) -> None:
    folder = tmp_path / "src" / "ramet" / "one"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source)
    assert [found for _, found in findings(tmp_path, "one")] == [kind]


@pytest.mark.parametrize(
    "source",
    [
        '"""Return the tasks of a lineage; there is no order."""\n',
        '"""Ends; what is no longer held is free."""\n',
        '"""The column ``told`` keeps its name."""\n',
        'X = "SELECT told FROM ramet_policies"\n',
        'X = {"told": 1}\n',
        "# Mending is not retired where a name has it: recommended, Stansted.\n".replace("Mending", "Amending"),
    ],
)
def test_good_wording_is_not_found(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "src" / "ramet" / "one"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source)
    assert list(findings(tmp_path, "one")) == []


def test_glossary_names_every_retired_word() -> None:
    page = (PROJECT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert [word for word in RETIRED if word not in page] == []


def test_sample_is_drawn_by_name() -> None:
    drawn = list(sample(PROJECT))
    assert len(drawn) == len({name for name, _ in drawn}) == SAMPLE_SIZE
    assert all(name.startswith("src/ramet/") and text for name, text in drawn)


@pytest.mark.process
def test_script_prints_a_row_for_each_package() -> None:
    command = [sys.executable, "-m", "tests.project.wording"]
    lines = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["package", *packages(PROJECT)]
