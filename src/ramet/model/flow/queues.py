"""Queues, kinds and their limits as people see them and apps declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ramet.model.flow.resources import Policy


class Queue(NamedTuple):
    """A queue that somebody limited or paused; of any other there is nothing to know."""

    name: str
    concurrency: int | None
    """Claims at once over all workers; None for no limit."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None


class KindLimit(NamedTuple):
    """How many tasks of a kind may run at once."""

    name: str
    concurrency: int
    """Claims at once over all workers."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""


class Declared(NamedTuple):
    """What an app says about its queues, kinds and resources."""

    queues: Mapping[str, int | None]
    """Claims at once, by name; None takes a declared limit back."""
    kinds: Mapping[str, int | None]
    policies: Sequence[Policy]
    limits: Mapping[str, str | None] = MappingProxyType({})
    """What lineages may do whose root is of a kind, as JSON, by its name; None where the code says nothing."""


class Usage(NamedTuple):
    """Claims that are held now, by queue, kind and resource."""

    queues: Mapping[str, int]
    kinds: Mapping[str, int]
    resources: Mapping[str, int]


class WorkerSeen(NamedTuple):
    """A worker as it said itself."""

    name: str
    host: str
    pid: int
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    """Handlers at once."""
    started_at: float = 0.0
    seen_at: float = 0.0
    alive: bool = True
    """False when it has said nothing for a minute."""


class Unserved(NamedTuple):
    """Live tasks that no living worker serves."""

    queue: str
    kind: str
    tasks: int
    more: bool = False
    """True when counting stopped at a bound: there are at least ``tasks``."""


COMMIT_BUCKETS_SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip
"""Upper bounds of the buckets of :class:`CommitTimes`, inclusive; what took longer is in one more."""
COMMIT_VERBS = ("claim", "settle", "submit", "other")
"""What a transaction was for; ``other`` is none of the first three: a heartbeat, maintenance, an act of a person."""


class CommitTimes(NamedTuple):
    """How long transactions of one verb took, from the call until they were durable, over all workers there ever were.

    Counts only grow: what a worker measured stays when it has ended.
    """

    verb: str
    """One of :data:`COMMIT_VERBS`."""
    counts: tuple[int, ...]
    """Transactions by :data:`COMMIT_BUCKETS_SECONDS`, then those beyond the last; not cumulative."""
    seconds: float
    """Their sum."""

    @property
    def commits(self) -> int:
        """All of them."""
        return sum(self.counts)
