"""How things look: text made harmless, times and numbers for people, tables, and JSON for machines.

Keys, errors and titles come from the outside world. Every character that could steer a terminal, reorder a line or
hide in it is shown as an escape, and nothing is read as rich's markup.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ramet import LineageOutcome
from ramet.engine.clock import SystemClock

PIPE_WIDTH = 10_000
"""Nothing is cut where no terminal has to fit."""
JOINERS = frozenset("\u200c\u200d")
"""Part of ordinary writing in several scripts and of emoji; they steer nothing."""
STATE_STYLES = {
    "pending": "cyan",
    "processing": "blue",
    "running": "blue",
    "success": "green",
    "finished": "green",
    "failed": "red",
    "cancelled": "yellow",
    "skipped": "yellow",
    "filtered": "magenta",
    "paused": "yellow",
}


def plain(text: object) -> str:
    """The text on one line, with everything that is no visible character written as an escape."""
    string = str(text)
    if string.isprintable():
        return string
    return "".join(map(_visible, string))


def _visible(character: str) -> str:
    if character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def styled_state(state: str, *, clean: bool = True) -> Text:
    """A state in its colour; a good one of a lineage that is not clean has none."""
    style = STATE_STYLES.get(state, "")
    return Text(plain(state), style=style if clean or style != "green" else "")


def outcome_words(outcome: LineageOutcome) -> Text:
    """Render the outcome of a lineage in its colour."""
    return Text(str(outcome), style="green" if outcome.clean else "red" if outcome.failures else "yellow")


def crop(text: object, cells: int) -> str:
    """The text in at most so many terminal cells; an ellipsis stands for its middle: paths differ at their ends."""
    string = plain(text)
    if cell_len(string) <= cells:
        return string
    head = set_cell_size(string, max(0, cells - 1) // 3).rstrip()
    room = cells - 1 - cell_len(head)
    tail = string[-room:] if room > 0 else ""
    while cell_len(tail) > room:
        tail = tail[1:]
    return f"{head}…{tail}"


def at(moment: float) -> str:
    """A moment in local time, without fractions; ``-`` for none."""
    try:
        return datetime.fromtimestamp(moment, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return f"{moment:g}"


database_clock = SystemClock()
"""By the clock of the database that was asked last: all stored times are; this machine's may be wrong."""


def relative(moment: float, now: float | None = None) -> str:
    """How far away a moment is: ``in 12 s``, ``3 min ago``."""
    seconds = moment - (database_clock.now() if now is None else now)
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def span(seconds: float) -> str:
    """A duration in its largest fitting unit."""
    for size, unit, under in ((1, "s", 120), (60, "min", 7_200), (3_600, "h", 259_200)):
        if seconds < under:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:,.0f} d"


def moment(when: float, now: float | None = None) -> str:
    """A moment in both forms."""
    return f"{at(when)} ({relative(when, now)})"


def number(count: float) -> str:
    """A count with thousands marked."""
    return f"{count:,.0f}"


def short(count: int) -> str:
    """A limit in few characters: ``100k``; one that is not round stays as it is."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return number(count)


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def console(*, err: bool = False) -> Console:
    """A console that takes every string literally."""
    made = Console(stderr=err, markup=False, emoji=False, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPE_WIDTH
    return made


def table(*columns: str) -> Table:
    """An unboxed table. ``>`` before a name sets it to the right; columns with ``*`` give way and wrap, no other."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        gives_way = name.startswith("*")
        made.add_column(
            name.lstrip(">*"),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not gives_way,
            overflow="fold",
        )
    return made


def prose(screen: Console, line: str | Text, indent: int = 0) -> None:
    """Print text that wraps between words; strings are made harmless first."""
    text = line if isinstance(line, Text) else Text(plain(line))
    screen.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)


def unicode_out() -> bool:
    """True when standard output can carry tree guides."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def jsonable(value: Any) -> Any:
    """Dataclasses and named tuples as objects; everything else as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: jsonable(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [jsonable(item) for item in value]
    return value


def emit(value: Any) -> None:
    """One JSON document on one line of standard output, in ASCII: safe on any terminal."""
    click.echo(json.dumps(jsonable(value)))
