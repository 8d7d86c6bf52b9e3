"""What running handlers ask of the database through their worker, while it answers and while it is away."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ramet.engine.base.claims import ClaimsInHand
from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import AWAY, Reach
from ramet.engine.context.supervisor_calls import run_errand
from ramet.store.answers import Settled
from ramet.store.base import Store
from ramet.store.requests import Settlement


class Calls:
    """Answers calls and errands under the claims in hand.

    A handler is not told that the database is away: it waits, for as long as its claim's lease runs.
    """

    def __init__(self, store: Store, claims: ClaimsInHand, clock: Clock, reach: Reach) -> None:
        self._store = store
        self._claims = claims
        self._clock = clock
        self._reach = reach

    async def call(self, settlement: Settlement) -> Settled:
        """Settle something of a running task now.

        Where the claim lapses first, or nobody knows whether the call took effect, the answer is ``stale``: the
        handler stops, and the task's next claim goes on from what the database has.

        Raises:
            StoreError: the database answered with one.
        """

        def trusted() -> bool:
            return self._claims.current(settlement.seq, settlement.fence, self._clock.monotonic())

        settled = Settled(settlement.seq, None, "stale")
        with suppress(*AWAY):
            [settled] = await self._reach.insist(lambda: self._store.settle([settlement]), trusted)
        return settled

    async def ask(self, lease_seconds: float, errand: str, *arguments: Any) -> Any:
        """Run an errand of :mod:`ramet.engine.context.supervisor_calls`, trying for so long as any claim can last.

        Raises:
            StoreError: the database answered with one, was away for so long, or nobody knows what it did.
        """
        until = self._clock.monotonic() + lease_seconds
        return await self._reach.insist(
            lambda: run_errand(self._store, errand, arguments), lambda: self._clock.monotonic() < until
        )
