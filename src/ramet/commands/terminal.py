"""Output of all commands: text made harmless, durations and counts for people, tables, JSON for machines.

Keys, titles and errors come from outside. Every character that could steer a terminal, reorder a line or hide in it is
shown as an escape, and nothing is read as markup.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table
    from rich.theme import Theme

    from ramet import TaskHistory

PIPE_WIDTH = 100
"""Columns where there is no terminal: people read logs, machines take --json."""
_JOINING = re.compile(r"(?<=[^\x00-\x7f\u200c\u200d])[\u200c\u200d](?=[^\x00-\x7f\u200c\u200d])")
LINE_SECONDS = 2.0
"""Shortest time between two progress lines where there is no terminal."""


def plain(text: object) -> str:
    """Return the text on one line, with every character that is not visible written as an escape.

    Joiners (U+200C, U+200D) stay between two characters that are not ASCII: they belong to the ordinary writing of
    several scripts and to emoji. Anywhere else they only hide.
    """
    string = str(text)
    if string.isprintable():
        return string
    joining = {found.start() for found in _JOINING.finditer(string)}
    return "".join(
        character
        if at in joining or character.isprintable() or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode("ascii")
        for at, character in enumerate(string)
    )


COLORS: Mapping[str, int] = {
    "red": 161, "green": 28, "yellow": 130, "blue": 27, "magenta": 133, "cyan": 30, "dim": 243,
}  # fmt: skip
"""Numbers of the colours in all output, by their words, in the palette of 256 colours.

Each is legible on black and on white, with a contrast of 4 to 1 or more; 4.58 is the most that one colour can have on
both. The terminal's own yellow and dim are not, on a light one.
"""
_PROGRESS = {
    "progress.elapsed": "dim", "progress.download": "green", "progress.spinner": "green", "bar.complete": "blue",
    "bar.finished": "green", "bar.pulse": "blue", "bar.back": "dim",
}  # fmt: skip


def theme() -> Theme:
    """Return the styles of all output, by the words that commands use: ``yellow``, ``bold yellow``, ``dim``."""
    from rich.style import Style
    from rich.theme import Theme

    plain_styles = {word: Style(color=f"color({number})") for word, number in COLORS.items()}
    bold_styles = {f"bold {word}": Style(color=f"color({number})", bold=True) for word, number in COLORS.items()}
    progress = {name: plain_styles[word] for name, word in _PROGRESS.items()}
    return Theme({**plain_styles, **bold_styles, **progress})


def console(*, err: bool = False, pipe_width: int = PIPE_WIDTH) -> Console:
    """Return a console that takes every string literally.

    Args:
        err: on standard error instead of standard output.
        pipe_width: columns where there is no terminal and COLUMNS is not set.
    """
    from rich.console import Console  # late: a command that fails or writes JSON needs none of it

    made = Console(stderr=err, markup=False, emoji=False, highlight=False, theme=theme())
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = pipe_width
    return made


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def jsonable(value: Any) -> Any:
    """Return dataclasses and named tuples as objects, everything else as it is."""
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
    """Write one JSON document on one line of standard output, in ASCII: safe on any terminal."""
    click.echo(json.dumps(jsonable(value)))


def span(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least two: from 48 hours on in days."""
    for size, unit, under in ((1, "s", 120), (60, "min", 7_200), (3_600, "h", 172_800)):
        if seconds < under:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:,.0f} d"


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 article`, `2 articles`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)(?:\s+ago)?")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})")


def read_moment(text: str, now: float) -> float:
    """Return the Unix seconds of a typed text: a span back from now, a time of this day, a date with or without a time.

    Raises:
        ValueError: it is none of these; says what to give.
    """
    if span := _SPAN.fullmatch(text.strip()):
        return now - float(span[1]) * _SECONDS[span[2]]
    here = datetime.fromtimestamp(now).astimezone()
    try:
        if time := _TIME_OF_DAY.fullmatch(text.strip()):
            at = here.replace(hour=int(time[1]), minute=int(time[2]), second=0, microsecond=0)
            return (at if at <= here else at - timedelta(days=1)).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        words = (
            f"{text!r} is not a valid moment: give 10:00, 2026-11-25T10:00, or a span back from now, as 90m, 2h or 3d"
        )
        raise ValueError(words) from None


def short_usd(nano_dollars: int) -> str:
    """Return an amount of money for a glance: cents, or as many digits as a small one needs."""
    from ramet import NANO_DOLLARS  # Not at the start of every command.

    if abs(nano_dollars) >= NANO_DOLLARS // 10 or not nano_dollars:
        return f"${nano_dollars / NANO_DOLLARS:,.2f}"
    return f"${nano_dollars / NANO_DOLLARS:.2g}" if abs(nano_dollars) >= 100_000 else "<$0.0001"


def stopping_words(in_hand: int, one: str) -> str:
    """Answer to the first signal; `one` names a unit of work."""
    return f"stopping after the {counted(in_hand, one)} in progress; Ctrl-C again stops now"


STOPPING_NOW = "stopping now; unfinished work is done again next time"
"""Answer to the second signal, where no work is lost."""


def table(*names: str, header: str | None = "bold") -> Table:
    """Return a table without a box, two blanks between its columns.

    Args:
        names: of columns; ``>`` before a name aligns it to the right, only columns with ``*`` give way and wrap.
        header: style of the names; None hides them.
    """
    from rich.table import Table

    made = Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=header is not None, header_style=header or ""
    )
    for name in names:
        justify: JustifyMethod = "right" if name.startswith(">") else "left"
        made.add_column(name.lstrip(">*"), justify=justify, no_wrap=not name.startswith("*"), overflow="fold")
    return made


columns = table
"""The former name."""


class ProgressLines:
    """A line of progress now and then, for a log: only when something is new, and no oftener than a log can bear."""

    def __init__(self, *, seconds: float = LINE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` is the shortest time between two lines; `clock` is monotonic."""
        self._seconds = seconds
        self._clock = clock
        self._shown: object = None
        self._next_at = 0.0

    def is_due(self, content: object) -> bool:
        """Return whether a line with this content is to be printed now; then it counts as printed."""
        if content == self._shown or self._clock() < self._next_at:
            return False
        self._shown, self._next_at = content, self._clock() + self._seconds
        return True


class Progress(Protocol):
    """Progress of a run."""

    @property
    def states(self) -> Mapping[Any, Any]:
        """Content of a progress line: a new line is printed when it changes."""

    def as_json(self) -> dict[str, Any]:
        """For machines."""


class ProgressEvents:
    """Progress for machines: a line of JSON when work begins, and one per look that found something new."""

    def __init__(self) -> None:
        self._lines = ProgressLines(seconds=0.0)

    def begin(self, status: Progress, *, resumed: bool) -> None:
        """Work begins."""
        emit({"event": "begin", "resumed": resumed, **status.as_json()})

    def look(self, status: Progress) -> None:
        """Look a moment later."""
        if self._lines.is_due(dict(status.states)):
            emit({"event": "progress", **status.as_json()})


class StoryLine(NamedTuple):
    """One line of a task's story."""

    at: float
    """Unix seconds."""
    what: str
    """A word: ``claimed``, an outcome, the name of a transition, at last the state in which it ended."""
    detail: str
    error: str | None = None
    is_end: bool = False
    traceback: str | None = None


def story(found: TaskHistory, *, most: int | None = None) -> list[StoryLine]:
    """Creation, claims, outcomes, what people did and the end; of more than ``most`` attempts or changes the newest."""
    # Stable: what is stored under one moment stays in the order of its story.
    return sorted(_moments(found, most or 0), key=attrgetter("at"))


def _moments(found: TaskHistory, most: int) -> Iterator[StoryLine]:
    task = found.task
    yield StoryLine(
        task.created_at, *(("spawned", f"by task {task.parent_id}") if task.parent_id else ("submitted", ""))
    )
    for attempt in found.attempts[-most:]:
        yield StoryLine(attempt.claimed_at, "claimed", f"claim {attempt.fence} by {attempt.worker}")
        error_class = f"class {attempt.error_class}" if attempt.error_class else None
        detail = "; ".join(part for part in (attempt.reason, error_class) if part)
        error = attempt.error if attempt.error != attempt.reason else None
        yield StoryLine(attempt.ended_at, attempt.outcome, detail, error, traceback=attempt.traceback)
    if task.claimed_at is not None:
        yield StoryLine(task.claimed_at, "claimed", f"claim {task.fence} by {task.worker}, which still has it")
    for change in found.transitions[-most:]:
        parts = (f"{change.from_state} to {change.to_state}", f"by {change.by}" if change.by else "", change.reason)
        yield StoryLine(change.at, change.name, ", ".join(part for part in parts if part))
    if task.finished_at is not None:
        yield StoryLine(task.finished_at, str(task.state), task.reason or "", is_end=True)
