"""Every page does what it says: its commands are typed, its programs run, its files parsed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.pages import PAGES, PROJECT, name_of, prose_of, text_of
from tests.docs.running import SHOWN_ONLY, Reading
from tests.docs.worlds import given, prepare, servers

SIGNATURES = "docs/reference/api/"
"""Blocks of Python on these pages are not programs; tests/docs/test_reference.py holds it against the source."""
READ = [page for page in PAGES if not name_of(page).startswith(SIGNATURES) and list(blocks(text_of(page)))]
WITHOUT_A_WORLD = re.compile(r'^```python title="', flags=re.MULTILINE)
"""A page with programs of its own begins in an empty folder; the others with a program and a database."""
NOT_RUN_MAX = 66
"""The last ones ask servers for openings, or need another program's file or matches (docs/guides/jobs.md)."""


def unrun(page: Path) -> list[tuple[str, int, str]]:
    """The blocks that a page says are not run: page, line, reason."""
    return [(name_of(page), block.line, block.not_run) for block in blocks(text_of(page)) if block.not_run]


@pytest.mark.process
@pytest.mark.parametrize("page", READ, ids=name_of)
def test_a_page_does_what_it_says(page: Path, programs: Path, tmp_path: Path) -> None:
    text = text_of(page)
    acts = [block for block in blocks(text) if not block.not_run and block.language not in SHOWN_ONLY]
    known = {}
    if any(block.language == "console" for block in acts) and not WITHOUT_A_WORLD.search(text):
        known = asyncio.run(prepare(tmp_path))
    reading = Reading(tmp_path, programs, given=given(), known=known)
    with servers(text) as there:
        reading.read(there)
    assert len(reading.done) >= len(acts)


def test_there_are_pages_to_read() -> None:
    assert len(READ) > 20
    done = [block for page in READ for block in blocks(text_of(page)) if block.language in ("console", "python")]
    assert len(done) > 70


def test_what_is_not_run_has_a_reason_and_is_little() -> None:
    found = [one for page in READ for one in unrun(page)]
    assert len(found) <= NOT_RUN_MAX, found
    assert [one for one in found if len(one[2].split()) < 3] == []


def test_tests_that_reasons_name_exist() -> None:
    named = [name for page in READ for _, _, reason in unrun(page) for name in re.findall(r"tests/[\w/.]*\w", reason)]
    assert len(named) > 20
    assert [name for name in named if not (PROJECT / name).exists()] == []


def test_nothing_to_type_is_hidden_in_an_indented_block() -> None:
    typed = re.compile(r"(?:^|\n\n) {4}(?:\$ )?(?:ramet|pip|python|make|export|curl) .*")
    assert typed.search("Text.\n\n    ramet status\n") is not None
    assert [(name_of(page), found[0]) for page in PAGES for found in typed.finditer(prose_of(text_of(page)))] == []
