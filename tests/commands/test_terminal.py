"""What is written to a terminal or a log, whoever writes it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ramet.commands.terminal import ProgressLines, columns, console, counted, plain, span


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("Ångström 日本\u3000x", "Ångström 日本\u3000x"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\r\tand a tab", "two\\nlines\\r\\tand a tab"),
        ("right\u202eto left", "right\\u202eto left"),
        ("lone \ud800", "lone \\ud800"),
        ("می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"),
        ("ad\u200dmin, \u200c東\u200d\u200d京\u200c", "ad\\u200dmin, \\u200c東\\u200d\\u200d京\\u200c"),
        (None, "None"),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: object, shown: str) -> None:
    assert plain(text) == shown
    assert "\n" not in plain(text)


def test_a_console_takes_markup_literally(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[bold]not[/bold] :smile: 12")
    assert capsys.readouterr().out == "[bold]not[/bold] :smile: 12\n"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 d"), (9e7, "1,042 d")],
)
def test_a_duration_is_told_in_its_largest_unit(seconds: float, told: str) -> None:
    assert span(seconds) == told


def test_a_count_has_the_word_that_belongs_to_it() -> None:
    told = [counted(count, "company", "companies") for count in (0, 1, 1_200)]
    assert told == ["0 companies", "1 company", "1,200 companies"]
    assert counted(2, "task") == "2 tasks"


@pytest.mark.parametrize(("header", "lines"), [("bold", ["name  place", "a     b"]), (None, ["a  b"])])
def test_columns_stand_two_blanks_apart(header: str | None, lines: list[str]) -> None:
    table = columns(header=header)
    table.add_column("name")
    table.add_column("place")
    table.add_row("a", "b")
    out = io.StringIO()
    Console(file=out, width=60).print(table)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == lines


def test_a_line_is_due_when_it_is_new_and_time_has_passed() -> None:
    now = 100.0
    lines = ProgressLines(seconds=2.0, clock=lambda: now)
    assert lines.is_due(1)
    assert not lines.is_due(2)
    now += 2.0
    assert not lines.is_due(1)
    assert lines.is_due(2)
