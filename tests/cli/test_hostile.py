"""Text of the outside world never reaches a terminal as anything but visible characters."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata

import pytest
from rich.console import Console

from ramet.cli.output import at, crop, moment, relative, short
from ramet.commands.terminal import counted, plain, span, table
from ramet.engine.base.logs import JsonFormatter, TextFormatter
from tests.cli.conftest import Cli

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\x00\x08\r\n\t"
HIDDEN = "\u202egnp.exe\u2066\u200b\ufeff\u2028\u00ad\ud800"
MARKUP = "[bold red]markup[/bold red] [link=http://x]a[/link] [/] :smile: {0} %s"
ORDINARY = "Köln, Παρίσι, 東京, क्षि, می‌خواهم, 👩‍🚀, a\u00a0b, né"


def harmless(text: str) -> bool:
    """Only visible characters, spaces, joiners and line ends."""
    kinds = {unicodedata.category(character) for character in text if character not in "\n\u200c\u200d"}
    return not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_the_check_itself_sees_what_is_harmful() -> None:
    for character in "\x00\x07\x08\r\t\x1b\x7f\x9b" + HIDDEN.replace("gnp.exe", ""):
        assert not harmless(character), hex(ord(character))
    assert harmless(ORDINARY + MARKUP)


def test_what_steers_a_terminal_is_shown_as_an_escape() -> None:
    shown = plain(ESCAPES + HIDDEN)
    assert harmless(shown)
    assert "\n" not in shown
    assert r"\x1b[31mred\x9b31m\x00\x08\r\n\t" in shown
    assert r"\u202egnp.exe" in shown


def test_ordinary_writing_stays_as_it_is() -> None:
    assert plain(ORDINARY) == ORDINARY


def test_tables_take_markup_literally(capsys: pytest.CaptureFixture[str]) -> None:
    from ramet.cli.output import console

    made = table("*key")
    made.add_row(plain(MARKUP))
    console().print(made)
    assert MARKUP in capsys.readouterr().out


@pytest.mark.parametrize("text", [ESCAPES.replace("\x00", ""), HIDDEN.replace("\ud800", ""), MARKUP, ORDINARY])
def test_no_command_prints_it(cli: Cli, text: str) -> None:
    task, lineage = cli.submit("fails", {"text": text}, "--tracking-id", f"lineage {text}".strip())
    root, _ = cli.submit("node", {"name": text, "depth": 1, "width": 1})
    cli.work()
    [stored] = cli.documents("explain", task)
    key = stored["task"]["key"]
    outputs = [
        cli.good("status"),
        cli.good("status", lineage),
        cli.good("tree", lineage),
        cli.good("tree", root),
        cli.good("explain", task),
        cli.good("explain", "fails", key),
        cli.good("blocks"),
        cli.good("retry", "--failed", lineage, "--reason", text.strip()),
        cli.good("explain", task),
        cli.good("cancel", task),
        cli.bad("tree", text),
        cli.bad("explain", "node", text + "?"),
    ]
    for output in outputs:
        assert harmless(output), output
    assert sum(plain(key) in output for output in outputs) >= 7
    for words in (["status"], ["tree", root], ["explain", task], ["blocks"]):
        output = cli.good(*words, "--json")
        assert output.isascii()
        assert json.loads(output.splitlines()[0])


def test_the_key_in_a_terminal_gives_way_to_the_id() -> None:
    assert crop("https://example.com/a/b", 10) == "htt…om/a/b"
    assert crop("東京大阪札幌", 7) == "東…札幌"
    assert crop("short", 10) == "short"
    assert harmless(crop(ESCAPES * 9, 20))


def test_ids_and_states_stay_whole_at_80_columns() -> None:
    ids = "01a20015-5754-729c-af1b-f1746f57f3c3"
    made = table("*lineage", "state", ">tasks/most", ">live", ">end")
    made.add_row(ids, "cancelled", "12,345/100k", "12,345", "59 min ago")
    screen = Console(width=80, markup=False, emoji=False, highlight=False)
    with screen.capture() as captured:
        screen.print(made)
    assert [ids in line for line in captured.get().splitlines()] == [False, True]


def test_columns_that_do_not_give_way_are_never_cut() -> None:
    made = table("at", "what", "*detail")
    made.add_row("2026-11-21 21:48:48", "is cancelled", "word " * 40)
    screen = Console(width=60, markup=False)
    with screen.capture() as captured:
        screen.print(made)
    lines = captured.get().splitlines()
    assert lines[1].startswith("2026-11-21 21:48:48  is cancelled  word")
    assert sum(line.count("word") for line in lines) == 40


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("ramet.x", logging.WARNING, "x.py", 1, message, (), None)
    vars(made).update(extra)
    return made


def test_log_lines_cannot_be_forged() -> None:
    line = TextFormatter().format(record(f"said {ESCAPES}{HIDDEN}"))
    assert "\n" not in line
    assert "\x1b" not in line
    assert "\u202e" not in line
    document = JsonFormatter().format(record(ESCAPES, tracking_id="t\n{}", level="mine"))
    assert document.isascii()
    assert json.loads(document)["tracking_id"] == "t\n{}"
    assert json.loads(document)["level"] == "warning"


def test_a_traceback_follows_its_line() -> None:
    try:
        raise ValueError("bad \x1b[31m")
    except ValueError:
        made = record("failed")
        made.exc_info = sys.exc_info()
    first, *rest = TextFormatter().format(made).splitlines()
    assert first.endswith("ramet.x: failed")
    assert rest[-1] == r"ValueError: bad \x1b[31m"
    assert "ValueError" in json.loads(JsonFormatter().format(made))["exception"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "now"), (-0.4, "now"), (12, "in 12 s"), (-100, "100 s ago"), (600, "in 10 min"), (-9_000, "2 h ago"),
     (172_800, "in 2 d"), (864_000, "in 10 d")],
)  # fmt: skip
def test_times_are_relative_in_the_largest_fitting_unit(seconds: float, said: str) -> None:
    assert relative(1_000_000 + seconds, 1_000_000) == said


def test_times_are_local_without_fractions() -> None:
    assert len(at(1_763_735_022.75)) == len("2026-11-21 21:48:48")
    assert "." not in at(1_763_735_022.75)
    assert at(1e300) == "1e+300"
    assert moment(1_763_735_022.75, 1_763_735_022.75).endswith(" (now)")
    assert span(86_400 * 10_000) == "10,000 d"


def test_numbers_are_marked_and_counted() -> None:
    assert counted(1, "task") == "1 task"
    assert counted(1_234, "more child", "more children") == "1,234 more children"
    assert [short(n) for n in (999, 1_000, 1_500, 100_000, 2_000_000)] == ["999", "1k", "1,500", "100k", "2M"]
