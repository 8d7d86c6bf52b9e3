"""The programs in the guides run: the one about testing is a test module that passes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = GUIDES / "testing.md"


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def examples() -> dict[str, Any]:
    [source] = blocks(GUIDE)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(source, str(GUIDE), "exec"), names)
    return {name: value for name, value in names.items() if name.startswith("test_")}


@pytest.mark.parametrize("name", sorted(examples()))
def test_the_example_passes(name: str) -> None:
    asyncio.run(examples()[name]())


def test_there_are_examples() -> None:
    assert len(examples()) == 3


def test_the_program_that_pulls_ends_with_everything_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(GUIDES / "pull-api.md")[0], "pull-api.md", "exec"), {"__name__": "guide"})
    assert "tasks=3" in capsys.readouterr().out


def test_what_the_guide_submits_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "guide"}
    try:
        for block in blocks(GUIDES / "submitting.md"):
            if "psycopg" in block:
                # It needs a server of the reader's: tests/store/postgres/test_submit_within_transaction.py has one.
                continue
            exec(compile(block, "submitting.md", "exec"), names)
        assert capsys.readouterr().out == "pending 3\n"
        kinds = [task.kind for task in names["client"].all_tasks()]
        assert sorted(kinds) == ["page", "page", "page", "parse", "ship"]
    finally:
        names["client"].close()
        names["connection"].close()


def test_the_program_of_stages_says_how_far_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = GUIDES.parent / "concepts" / "stages.md"
    [source] = [block for block in blocks(page) if "asyncio.run" in block]
    exec(compile(source, page.name, "exec"), {"__name__": "guide"})
    assert capsys.readouterr().out == "count success 1\nfetch success 1\n"
