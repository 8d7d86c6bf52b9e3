"""The time of one task as a bar, and its history with repeated attempts folded into one line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ramet import SpanKind, TaskHistory, TaskState, TimelineSpan
from ramet.commands.terminal import StoryLine, span
from ramet.model.reasons import code_of
from ramet.model.timeline import Life, Ran, spans_of

WORDS = {
    SpanKind.WAITING: "waited",
    SpanKind.RUNNING: "ran",
    SpanKind.FAILED: "ran and failed",
    SpanKind.BACKING_OFF: "backed off",
    SpanKind.JOINED: "waited for tasks",
    SpanKind.EARLIER: "had earlier attempts for",
}
WIDTH = 1_000.0
"""Length of an axis, in units of the drawing."""
BAR_MIN = 2.0
"""Least width of a bar, so that it is visible."""
FOLD_MIN = 3
"""Fewest attempts in a row with the same outcome that are folded into one line."""


_NUMBER = re.compile(r"\d[\d.]*")
"""Number in a detail, such as the wait until the next attempt, which differs every time."""


class Bar(NamedTuple):
    """A span as it is drawn."""

    what: str
    x: float
    width: float
    title: str


class Axis(NamedTuple):
    """The moments that bars are drawn over; Unix seconds."""

    begin: float
    end: float

    def place(self, at: float) -> float:
        """Return the place of a moment on the axis."""
        return round(WIDTH * (at - self.begin) / max(self.end - self.begin, 0.001), 1)

    def ticks(self) -> list[str]:
        """Return the times since the beginning, at every quarter."""
        return [span((self.end - self.begin) * quarter / 4) for quarter in range(5)]

    def bar(self, one: TimelineSpan) -> Bar:
        """Return the bar of a span."""
        x = min(self.place(one.begin), WIDTH - BAR_MIN)
        width = max(self.place(one.end) - x, BAR_MIN)
        return Bar(_css(one.what), x, round(width, 1), _told(one.what, one.end - one.begin))


def totals(spans: Iterable[TimelineSpan]) -> dict[str, str]:
    """Return how long all spans of a sort took, in words, by the sort."""
    seconds: defaultdict[SpanKind, float] = defaultdict(float)
    for one in spans:
        seconds[one.what] += one.end - one.begin
    return {_css(what): _told(what, total) for what, total in seconds.items()}


def _told(what: SpanKind, seconds: float) -> str:
    return f"{WORDS[what]} {span(seconds)}"


class TimeBar(NamedTuple):
    """The time of a task, divided from its creation to its end, or until now."""

    seconds: float
    parts: tuple[Bar, ...]
    totals: tuple[tuple[str, str], ...]
    """The sort of each part, and how long all of the sort took in words."""


def time_bar(found: TaskHistory, now: float) -> TimeBar:
    """Divide the time of a task by its attempts."""
    task = found.task
    ran = [Ran(one.claimed_at, one.ended_at, one.outcome, one.reason and code_of(one.reason)) for one in found.attempts]
    life = Life(task.state, task.created_at, task.finished_at, task.claimed_at, task.wait)
    spans = spans_of(life, ran, cut=False, now=now)
    axis = Axis(task.created_at, max((one.end for one in spans), default=task.created_at))
    return TimeBar(axis.end - axis.begin, tuple(map(axis.bar, spans)), tuple(totals(spans).items()))


def _css(what: SpanKind) -> str:
    return what.value.replace("_", "-")


class StoryPart(NamedTuple):
    """Lines of a story: one event, or attempts in a row that went the same way."""

    lines: tuple[StoryLine, ...]
    times: int
    """Attempts that are folded; 1 for a single event."""

    @property
    def first(self) -> StoryLine:
        """The first line."""
        return self.lines[0]

    @property
    def last(self) -> StoryLine:
        """The last line: of folded attempts the last outcome."""
        return self.lines[-1]


def folded(lines: Sequence[StoryLine]) -> list[StoryPart]:
    """Fold three or more attempts in a row with the same outcome and reason into one part."""
    parts: list[StoryPart] = []
    at = 0
    while at < len(lines):
        end, times = at, 0
        while end + 1 < len(lines) and _is_attempt(lines, end) and _way(lines[end + 1]) == _way(lines[at + 1]):
            end, times = end + 2, times + 1
        if times < FOLD_MIN:
            end, times = at + 1, 1
        parts.append(StoryPart(tuple(lines[at:end]), times))
        at = end
    return parts


def _is_attempt(lines: Sequence[StoryLine], at: int) -> bool:
    return lines[at].what == "claimed" and lines[at + 1].what != "claimed" and not lines[at + 1].is_end


def _way(line: StoryLine) -> tuple[str, str, str | None]:
    return line.what, _NUMBER.sub("", line.detail), line.error


class Progress(NamedTuple):
    """Progress that a handler reported."""

    done: float
    total: float
    """0 where it did not say of how much."""
    message: str


def progress_of(value: Any) -> Progress | None:
    """Read what a handler reported; None where it said nothing, or something else."""
    if not isinstance(value, dict):
        return None
    done, total = value.get("done"), value.get("total") or 0.0
    if not isinstance(done, int | float) or not isinstance(total, int | float):
        return None
    return Progress(done, total, str(value.get("message") or ""))


def ended_badly(state: str) -> bool:
    """Return whether the error of a task comes first on its page."""
    return state in (TaskState.FAILED, TaskState.CANCELLED)
