"""The frame of every page: its pages in groups by purpose, and counts beside those with problems."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ramet import ProblemCounts
from ramet.commands.terminal import counted


class Entry(NamedTuple):
    """A page that the frame leads to."""

    page: str
    """Name of the page."""
    label: str


class Group(NamedTuple):
    """Pages of one purpose."""

    label: str
    """Empty for pages without a heading."""
    entries: tuple[Entry, ...]


class Badge(NamedTuple):
    """A number beside an entry: something is wrong there."""

    page: str
    """The name of the page beside which it is shown."""
    number: int
    words: str
    """The number with its noun, for readers who do not see its place."""
    query: dict[str, str]
    """Query that narrows the page to the counted items."""


GROUPS: tuple[Group, ...] = (
    Group("", (Entry("overview", "Overview"),)),
    Group(
        "Work",
        (
            Entry("lineages", "Lineages"), Entry("tasks", "Tasks"), Entry("schedules", "Schedules"),
            Entry("queues", "Queues"),
        ),
    ),
    Group(
        "Limits",
        (
            Entry("resources", "Resources"), Entry("paths", "Paths"), Entry("costs", "Money"),
            Entry("stop-list", "Deny list"),
        ),
    ),
    Group("Watch", (Entry("alerts", "Alerts"), Entry("workers", "Workers"), Entry("acts", "Audit log"))),
    Group("", (Entry("settings", "Settings"),)),
)  # fmt: skip
"""Groups of entries in the order of the frame."""


def badges(problems: ProblemCounts | None) -> dict[str, Badge]:
    """Return the numbers beside entries, by page; none of what is well, nor where nothing could be read."""
    if problems is None:
        return {}
    found = (
        Badge("tasks", problems.failed, f"{counted(problems.failed, 'task')} failed in the last hour",
              {"state": "failed"}),
        Badge("alerts", problems.alerts_firing, f"{counted(problems.alerts_firing, 'alert')} firing",
              {"state": "firing"}),
        Badge("workers", problems.stale, counted(problems.stale, "stale claim"), {}),
        Badge("resources", problems.breakers_open, counted(problems.breakers_open, "open breaker"), {}),
    )  # fmt: skip
    return {one.page: one for one in found if one.number}


def shown(products: Iterable[Entry], pages: Collection[str]) -> list[Group]:
    """Return the groups with those entries whose pages are served, and the products before the settings.

    Groups without an entry are left out.
    """
    *work, settings = GROUPS
    served = [
        group._replace(entries=tuple(entry for entry in group.entries if entry.page in pages))
        for group in (*work, Group("Products", tuple(products)), settings)
    ]
    return [group for group in served if group.entries]
