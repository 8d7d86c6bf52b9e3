"""The list of vendors that are known, and what a mistake in the user's own rows does to a command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.jobs.boards.vendor_rows import FILE_VARIABLE
from tests.jobs.boards.test_own_vendors import NEWBOARD, forget
from tests.jobs.commands.conftest import Place, refusal


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's file."""
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "mine.yaml"))
    forget()
    yield tmp_path / "mine.yaml"
    monkeypatch.undo()
    forget()


def test_every_vendor_says_where_its_shape_is_from(place: Place) -> None:
    forget()
    result = place.run("vendors", "taleo", "greenhouse", "remotive", database=False)
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "descriptions by others, unchecked" in told
    assert "answers that were recorded" in told  # of Greenhouse
    assert "the vendor's documentation; its terms ask for a link back" in told
    assert "rows of your own: " in told


def test_rows_of_ones_own_are_listed(place: Place, file: Path) -> None:
    file.write_text(NEWBOARD)
    result = place.run("vendors", "newboard", "--json", database=False)
    [row] = json.loads(result.stdout)
    assert row == {
        "vendor": "newboard", "at": "newboard.example", "confidence": "high", "source": "own", "note": "",
    }  # fmt: skip


@pytest.mark.parametrize("words", [("vendors",), ("sources", "add", "https://newboard.example/acme")])
def test_a_mistake_in_rows_of_ones_own_is_one_line_and_nothing_is_saved(
    place: Place, file: Path, words: tuple[str, ...]
) -> None:
    file.write_text(NEWBOARD.replace("url: link", "link: link"))
    before = place.files()
    told = refusal(place.run(*words, database=words[0] != "vendors"))
    assert "newboard: give where the url is (fields)" in told
    assert place.files() == before
