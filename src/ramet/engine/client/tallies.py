"""The part of the client for tallies."""

from __future__ import annotations

from ramet.model.tallies import Tallies
from ramet.store.store import Store


class TalliesClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def tallies(self, since: float | None = None, *, kinds: bool = True) -> Tallies:
        """How many tasks were created, tried and ended, and why: counted in the transactions that did it, so exact
        at every moment, and cheap however many tasks there are. Pruning takes nothing away.

        Args:
            since: None for all time, one tally per kind; else the spans that end after this moment (Unix seconds):
                minutes of the last 3 hours, hours of the 8 days before.
            kinds: False sums over all kinds.
        """
        return await self.store.tallies(since, kinds=kinds)
