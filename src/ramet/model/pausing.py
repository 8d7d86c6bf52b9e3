"""Queues as people see them: how many of their tasks may run at once, and whether they are paused."""

from __future__ import annotations

from typing import NamedTuple


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
