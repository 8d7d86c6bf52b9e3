"""The part of the Store protocol for tallies; see :mod:`ramet.store.base`."""

from __future__ import annotations

from typing import Protocol

from ramet.model.tallies import Tallies


class TallyStore(Protocol):
    """What was counted where it happened."""

    async def tallies(self, since: float | None = None, *, kinds: bool = True) -> Tallies:
        """What happened to tasks, exactly, as of the last commit; the database reads a few rows, however many tasks.

        Args:
            since: None for all time, a tally per kind; else spans that end after this moment (Unix seconds): minutes
                of the last 3 hours, hours of the 8 days before.
            kinds: False sums over all kinds.
        """
        ...
