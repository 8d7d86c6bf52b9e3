"""How long transactions took, as workers measured them."""

from __future__ import annotations

from typing import NamedTuple

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
