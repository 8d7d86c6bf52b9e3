"""Requests of handlers to the database beside their settlements: small verbs by name, with JSON values.

A handler in a child process has its supervisor run the errand, which writes in the supervisor's own batches. An errand
is not refused for a lost claim here: the store's fence decides, and settling money is never refused at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from ramet.engine.base.claims import WorkerClaims
from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import AWAY, DatabaseReachability
from ramet.engine.context.data import keep_blob, transact
from ramet.engine.context.joined import page_out, totals_out
from ramet.engine.context.rates import adapt, take
from ramet.model.money import ActualCost, ReserveRequest
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from ramet.store.store import Store


async def run_supervisor_call(store: Store, name: str, arguments: Sequence[Any]) -> Any:
    """Run one errand; its answer consists of JSON values.

    Raises:
        ValueError: there is no such errand.
        StoreError: the database failed.
    """
    errand = _ERRANDS.get(name)
    if errand is None:
        raise ValueError(f"no errand {name!r} (known: {', '.join(sorted(_ERRANDS))})")
    return await errand(store, *arguments)


async def _reserve(store: Store, *request: Any) -> list[Any]:
    [answer] = await store.reserve([ReserveRequest(*request)])
    return list(answer)


async def _settle_reserved(store: Store, reservation_id: str, amount: int) -> list[Any]:
    [answer] = await store.settle_reserved([ActualCost(reservation_id, amount)])
    return list(answer)


async def _bind(store: Store, seq: int, fence: int, task_ids: Sequence[str]) -> list[Any]:
    return list(await store.bind(seq, fence, task_ids))


async def _bound(store: Store, settler_id: str, limit: int, after: str | None) -> list[Any]:
    return list(await store.bound(settler_id, limit=limit, after=after))


RUN_ERRANDS = frozenset({"run_terms", "run_claim", "run_settled"})
"""About the run of the worker, which answers them itself. ``run_terms`` says whether a handler that pulls tasks waits
for what comes due, whether it has to ask how many it may claim and to tell how they ended (the other two), and which
kinds it leaves to the worker."""


async def _run_terms(store: Store) -> list[Any]:
    """Return the terms of a run without bounds."""
    return [True, False, []]


_ERRANDS: dict[str, Callable[..., Awaitable[Any]]] = {
    "adapt": adapt,
    "bind": _bind,
    "bound": _bound,
    "join_page": page_out,
    "join_totals": totals_out,
    "reserve": _reserve,
    "settle_reserved": _settle_reserved,
    "put_blob": keep_blob,
    "run_terms": _run_terms,
    "take": take,
    "transact": transact,
}


class SupervisorCalls:
    """Answers calls and errands under the held claims.

    A handler does not learn that the database cannot be reached: it waits, for as long as its claim's lease runs.
    """

    def __init__(self, store: Store, claims: WorkerClaims, clock: Clock, reach: DatabaseReachability) -> None:
        self._store = store
        self._claims = claims
        self._clock = clock
        self._reach = reach

    async def call(self, settlement: Settlement) -> SettleResult:
        """Settle something of a running task now.

        Where the claim lapses first, or it is unknown whether the call took effect, the answer is ``stale``: the
        handler stops, and the task's next claim goes on from what the database has.

        Raises:
            StoreError: the database answered with one.
        """

        def trusted() -> bool:
            return self._claims.current(settlement.seq, settlement.fence, self._clock.monotonic())

        settled = SettleResult(settlement.seq, None, "stale")
        with suppress(*AWAY):
            [settled] = await self._reach.insist(lambda: self._store.settle([settlement]), trusted)
        return settled

    async def ask(self, lease_seconds: float, errand: str, *arguments: Any) -> Any:
        """Run an errand of :mod:`ramet.engine.context.supervisor_calls`, trying for so long as any claim can last.

        Raises:
            StoreError: the database answered with one, could not be reached for so long, or its effect is unknown.
        """
        until = self._clock.monotonic() + lease_seconds
        return await self._reach.insist(
            lambda: run_supervisor_call(self._store, errand, arguments), lambda: self._clock.monotonic() < until
        )
