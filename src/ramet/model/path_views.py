"""What people see of paths: who holds one, who waits in line, and what the line ends in (DESIGN §7)."""

from __future__ import annotations

from typing import NamedTuple

from ramet.model.paths import PathElements

BEHIND_MAX = 1_000
"""So many tasks before or behind another are counted; more are said to be at least as many."""


class PathTask(NamedTuple):
    """A task on a path: it holds the path, or waits in line."""

    task_id: str
    tracking_id: str
    kind: str
    key: str
    state: str
    """An ended task is listed as long as a worker may still run it: until then it holds its path."""
    wait: str | None
    """Why it is not taken while it is pending (:class:`ramet.model.task.task.Wait`)."""
    path: PathElements
    queue: str
    scope: str
    """``queue``, or ``lineage``: it conflicts with tasks of its own lineage only."""
    ticket: int | None
    """Its place: smaller ones go first. None while it has none: it is delayed, or gave its ticket up."""
    gave_up: bool
    """It had a ticket and gave it up, or comes after one that did: it takes a new one in time."""
    holds: bool
    """Nobody before it conflicts: it runs, or it is the next that may."""
    waits_for: str | None
    """Id of the latest task before it that conflicts; when that one ends, it is looked at again."""
    since: float
    """Unix seconds: when it was claimed, else when it took its place."""
    behind: int | None
    """Tasks behind it in line that cannot begin before it ends, counted up to :data:`BEHIND_MAX`; None where they were
    not counted: between the ends of a chain."""

    @property
    def place(self) -> str:
        """Where it stands, in a word: ``runs``, ``next``, ``waits``, ``after``, ``gave up`` or ``ended``."""
        if self.state == "processing":
            return "runs"
        if self.state != "pending":
            return "ended"  # The worker that ran it has not said yet that it stopped.
        if self.holds:
            return "next"
        if self.ticket is not None:
            return "waits"
        return "gave up" if self.waits_for is None else "after"


class PathPage(NamedTuple):
    """Some of the tasks on paths."""

    tasks: tuple[PathTask, ...]
    more: bool
    """There are more than these."""


class PathChain(NamedTuple):
    """Where a task stands in line, what it waits for, and what that waits for, up to the one that runs."""

    task: PathTask
    """The one that was asked about."""
    before: int
    """Tasks before it in line that conflict with it; counted up to :data:`BEHIND_MAX`."""
    steps: tuple[PathTask, ...]
    """The task that it waits for, then the one that that one waits for, and so on."""
    more: int
    """At least so many tasks are before the last of the steps, when there are too many to tell; else 0."""
    end: PathTask | None
    """What the chain ends in: a task that waits for no path. None for one that waits for none itself, and when what it
    waited for has just ended."""


class HeldBack(NamedTuple):
    """How much waits for a lineage."""

    tasks: int
    """Tasks of other lineages that cannot begin before one of this lineage ends, directly or in turn."""
    more: bool
    """There may be more: counting stopped at its limit."""
