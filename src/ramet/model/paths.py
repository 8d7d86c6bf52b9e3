"""Paths: which tasks may run at the same time, and in which order (DESIGN §7).

A path is a sequence of any strings, ``["doc1", "review", "A"]``. Two paths conflict when one of them is a prefix of the
other, or both are equal; tasks on conflicting paths run one after the other, in the order of their tickets. No path and
the empty path constrain nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

DEPTH_MAX = 32
"""Elements of a path: each is a row for as long as the task lives."""
ELEMENT_BYTES_MAX = 1_024
"""Most bytes of one element, as UTF-8."""
STRIPES = 1_024
"""Number of parts into which the paths are divided by their first element; tickets of one part are drawn one by one."""
SCOPES = ("queue", "lineage")
"""``queue``: conflicts with every task of its queue; ``lineage``: with those of its own lineage only."""
ON_DEPENDENCY_FAILURE = ("skip", "run")
ROOT = "root"
"""Text that shows the empty path."""

DEFAULT_QUEUE = "default"
"""Queue of a path that names none."""

PathElements = tuple[str, ...]


class InvalidPath(ValueError):
    """Raised by submits, spawns and ``path_key`` for an invalid path. The message names what is wrong and what to
    give.
    """


class PathRule(NamedTuple):
    """Path of a task, as its handler gives it."""

    elements: PathElements
    """Never empty."""
    scope: str = "queue"
    """One of :data:`SCOPES`."""
    on_dependency_failure: str = "skip"
    """``skip``: the task is skipped when one that it waits for, at a proper prefix, ends failed or cancelled; ``run``:
    it runs all the same."""
    reserved: bool = False
    """True to take the ticket at submission, although the task is delayed."""

    @classmethod
    def restored(cls, fields: Sequence[Any] | None) -> PathRule | None:
        """From what JSON made of one: a list of some or all of the fields; None for None."""
        return None if fields is None else cls(tuple(fields[0]), *fields[1:])


def path_of(elements: Sequence[str] | None) -> PathElements:
    """Return the path as it is stored; empty for None.

    Raises:
        InvalidPath: one line that says what is wrong with it.
    """
    if elements is None:
        return ()
    if isinstance(elements, str | bytes) or not isinstance(elements, Sequence):
        raise InvalidPath(f"a path is a list of strings, not {elements!r}: write path=[{elements!r}]")
    if len(elements) > DEPTH_MAX:
        raise InvalidPath(f"a path of {len(elements)} elements is too deep: use at most {DEPTH_MAX}")
    for element in elements:
        _check(element)
    return tuple(elements)


def some_path(elements: Sequence[str] | None) -> PathElements:
    """:func:`path_of`, for what is about one path.

    Raises:
        InvalidPath: the same, and for the empty path.
    """
    path = path_of(elements)
    if not path:
        raise InvalidPath("the path is empty: give at least one element")
    return path


def _check(element: object) -> None:
    if not isinstance(element, str):
        raise InvalidPath(f"path element {element!r} is not a string: give every element as text")
    if "\0" in element:
        raise InvalidPath(f"path element {element!r} contains a NUL character: leave it out")
    try:
        size = len(element.encode())
    except UnicodeEncodeError:
        raise InvalidPath(f"path element {element!r} contains a lone surrogate: leave it out") from None
    if size > ELEMENT_BYTES_MAX:
        raise InvalidPath(f"a path element of {size} bytes is too long: use at most {ELEMENT_BYTES_MAX}, or its hash")


def conflict(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return True when two tasks on these paths may not run at the same time."""
    shorter = min(len(a), len(b))
    return shorter > 0 and tuple(a[:shorter]) == tuple(b[:shorter])


def path_key(elements: Sequence[str]) -> str:
    """Return the path in one line for people: joined by ``:``, with ``:`` and ``%`` in elements escaped.

    >>> path_key(["doc1", "a:b"])
    'doc1:a%3Ab'
    """
    return ":".join(element.replace("%", "%25").replace(":", "%3A") for element in elements) or ROOT


def path_text(elements: PathElements) -> str | None:
    """JSON for the database; None for the empty path."""
    return json.dumps(elements, ensure_ascii=False, separators=(",", ":")) if elements else None


def path_from(text: str | None) -> PathElements:
    """Return the path that :func:`path_text` wrote."""
    return tuple(json.loads(text)) if text else ()


@lru_cache(maxsize=65_536)
def nodes_of(elements: PathElements, queue: str, owner: str = "") -> tuple[int, ...]:
    """Return a number for each prefix, the shortest first and the path itself last, as the database knows them.

    64 bits of a hash. Two prefixes that share a number by chance would only wait for each other without need.

    Args:
        elements: the path.
        queue: paths of different queues never conflict.
        owner: the lineage, for a path with the scope ``lineage``.
    """
    digest = blake2b(json.dumps([queue, owner]).encode(), digest_size=8)
    numbers = []
    for element in elements:
        part = element.encode()
        # The length first: ["a", "b"] is not ["ab"].
        digest.update(len(part).to_bytes(4, "big") + part)
        numbers.append(int.from_bytes(digest.digest(), "big", signed=True))
    return tuple(numbers)


def stripe_of(nodes: Sequence[int]) -> int:
    """Return the part of all paths that this one belongs to: conflicting paths always share it."""
    return nodes[0] % STRIPES


BEHIND_MAX = 1_000
"""Most tasks before or behind another that are counted; a larger number is given as at least this."""


class PathTask(NamedTuple):
    """A task on a path: it holds the path, or waits in line."""

    task_id: str
    tracking_id: str
    kind: str
    key: str
    state: str
    """An ended task is listed as long as a worker may still run it: until then it holds its path."""
    wait: str | None
    """Wait that keeps a pending task from being claimed (:class:`ramet.model.task.task.Wait`)."""
    path: PathElements
    queue: str
    scope: str
    """``queue``, or ``lineage``: it conflicts with tasks of its own lineage only."""
    ticket: int | None
    """Its place: smaller ones go first. None while it has none: it is delayed, or gave its ticket up."""
    gave_up: bool
    """It had a ticket and gave it up, or comes after one that did: it takes a new one in time."""
    holds: bool
    """True when no task before it conflicts: it runs, or it is the next that may."""
    waits_for: str | None
    """Id of the latest task before it that conflicts; when that one ends, it is looked at again."""
    since: float
    """Unix seconds: when it was claimed, else when it took its place."""
    behind: int | None
    """Tasks behind it in line that cannot begin before it ends, counted up to :data:`BEHIND_MAX`; None where they were
    not counted: between the ends of a chain."""

    @property
    def place(self) -> str:
        """Place of the task in one word: ``runs``, ``next``, ``waits``, ``after``, ``gave up`` or ``ended``."""
        if self.state == "processing":
            return "runs"
        if self.state != "pending":
            return "ended"  # The worker that ran it has not said yet that it stopped.
        if self.holds:
            return "next"
        if self.ticket is not None:
            return "waits"
        return "gave up" if self.waits_for is None else "after"


class PathPause(NamedTuple):
    """A path at and below which nothing is claimed."""

    path: PathElements
    queue: str
    tracking_id: str | None
    """Lineage of a path of scope ``lineage``."""
    paused_at: float
    """Unix seconds."""
    paused_by: str
    paused_reason: str | None

    def covers(self, path: Sequence[str], queue: str, tracking_id: str | None) -> bool:
        """Return whether a task on this path is paused; ``tracking_id`` is for a path of scope ``lineage``."""
        here = (self.queue, self.tracking_id) == (queue, tracking_id)
        return here and tuple(path[: len(self.path)]) == self.path


class PathPage(NamedTuple):
    """Some of the tasks on paths."""

    tasks: tuple[PathTask, ...]
    more: bool
    """There are more than these."""


class PathChain(NamedTuple):
    """Chain of tasks that wait by path: the place of a task, what it waits for, and what that waits for, up to the one
    that runs.
    """

    task: PathTask
    """The one that was asked about."""
    before: int
    """Tasks before it in line that conflict with it; counted up to :data:`BEHIND_MAX`."""
    steps: tuple[PathTask, ...]
    """The task that it waits for, then the one that that one waits for, and so on."""
    more: int
    """Least number of tasks before the last of the steps, when there are too many to list; else 0."""
    end: PathTask | None
    """Last task of the chain: one that waits for no path. None for a task that waits for none itself, and when what it
    waited for has just ended.
    """


class PathImpact(NamedTuple):
    """Number of tasks that wait for a lineage."""

    tasks: int
    """Tasks of other lineages that cannot begin before one of this lineage ends, directly or in turn."""
    more: bool
    """There may be more: counting stopped at its limit."""
