"""Output of the engine's own commands, on top of :mod:`ramet.commands.terminal`: states, times, numbers and tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ramet import Lineage, LineageOutcome, Queue, UnservedKind
from ramet.commands import terminal
from ramet.commands.terminal import plain, span
from ramet.engine.base.clock import SystemClock

PIPE_WIDTH = 10_000
"""Columns of output that is not a terminal: nothing is cut there."""
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


def styled_state(state: str, *, clean: bool = True) -> Text:
    """Render a state in its colour; a good one of a lineage that is not clean has none."""
    style = STATE_STYLES.get(state, "")
    return Text(plain(state), style=style if clean or style != "green" else "")


def outcome_words(outcome: LineageOutcome) -> Text:
    """Render the outcome of a lineage in its colour."""
    return Text(str(outcome), style="green" if outcome.clean else "red" if outcome.failures else "yellow")


def crop(text: object, cells: int) -> str:
    """Shorten a text to a number of terminal cells; an ellipsis replaces its middle: paths differ at their ends."""
    string = plain(text)
    if cell_len(string) <= cells:
        return string
    head = set_cell_size(string, max(0, cells - 1) // 3).rstrip()
    room = cells - 1 - cell_len(head)
    tail = string[-room:] if room > 0 else ""
    while cell_len(tail) > room:
        tail = tail[1:]
    return f"{head}…{tail}"


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHORT_CELLS_MIN = 8


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Return the ends by which these ids differ, all of one length: the beginnings are the time, and nearly equal.

    Names that people gave are left out: they stay whole.
    """
    made = {one for one in ids if _UUID.fullmatch(one)}
    length = SHORT_CELLS_MIN
    while len({one[-length:] for one in made}) < len(made):
        length += 1
    return {one: one[-length:] for one in made}


def at(moment: float) -> str:
    """Format a moment in local time, without fractions of seconds."""
    try:
        return datetime.fromtimestamp(moment, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return f"{moment:g}"


database_clock = SystemClock()
"""Clock of the database that was asked last, by which all times are stored; this machine's may be wrong."""


def relative(moment: float, now: float | None = None) -> str:
    """Return the distance of a moment: ``in 12 s``, ``3 min ago``."""
    seconds = moment - (database_clock.now() if now is None else now)
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def moment(when: float, now: float | None = None) -> str:
    """Format a moment in local time, with its distance from now."""
    return f"{at(when)} ({relative(when, now)})"


def number(count: float) -> str:
    """Format a count with separators of thousands."""
    return f"{count:,.0f}"


def short(count: int) -> str:
    """Format a limit in few characters: ``100k``; one that is not round stays as it is."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return number(count)


console = partial(terminal.console, pipe_width=PIPE_WIDTH)
"""A console that takes every string literally and, where there is no terminal, cuts nothing."""


def prose(screen: Console, line: str | Text, indent: int = 0) -> None:
    """Print text that wraps between words; strings are made harmless first."""
    text = line if isinstance(line, Text) else Text(plain(line))
    screen.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)


def unicode_out() -> bool:
    """Return whether standard output can show tree guides."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def subject(queue: str | None, tracking_id: str | None) -> str:
    return f"queue {plain(queue)}" if queue is not None else f"lineage {plain(tracking_id or '')}"


def pause_lines(queues: Sequence[Queue], lineages: Sequence[Lineage], now: float) -> Iterator[str]:
    """Yield a line for every pause: what, since when, by whom and why."""
    for queue in queues:
        if queue.paused_at is not None:
            by, why = queue.paused_by, queue.paused_reason
            yield _paused_line(subject(queue.name, None), moment(queue.paused_at, now), by, why)
        if queue.blocked_at is not None:
            yield _blocked_line(queue, now)
    for lineage in lineages:
        if lineage.paused_at is not None:
            by, why = lineage.paused_by, lineage.paused_reason
            yield _paused_line(subject(None, lineage.tracking_id), moment(lineage.paused_at, now), by, why)


def _blocked_line(queue: Queue, now: float) -> str:
    why = f": {plain(queue.blocked_reason)}" if queue.blocked_reason else ""
    then = f"; {plain(queue.on_drained)} is submitted once it has drained" if queue.on_drained else ""
    if queue.drained_at is not None:
        then = f"; drained {moment(queue.drained_at, now)}"
    since, by = moment(queue.blocked_at or now, now), plain(queue.blocked_by or "")
    return f"{subject(queue.name, None)} blocked for submits {since} by {by}{why}{then}"


def _paused_line(what: str, since: str, by: str | None, why: str | None) -> str:
    return f"{what} paused {since} by {plain(by or '')}" + (f": {plain(why)}" if why else "")


def not_served(missing: Sequence[UnservedKind]) -> list[str]:
    """Return a line for every live kind that no worker serves."""
    return [
        f"no worker serves kind {plain(item.kind)} on queue {plain(item.queue)}: "
        f"{'at least ' if item.more else ''}{item.tasks} live"
        for item in missing
    ]
