"""A store seen through a bad network: slow, failing, and sometimes losing the answer to what it did."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ramet.model import events as ev
from ramet.store.base import Settlement
from ramet.store.errors import StoreBusy
from ramet.store.sqlite import SqliteStore

FAULTY = frozenset({"claim", "settle", "heartbeat", "sweep"})


@dataclass
class Faults:
    """How often what goes wrong, as shares of the calls."""

    request_lost: float = 0.02
    answer_lost: float = 0.02
    answered_twice: float = 0.02
    stall: float = 0.01
    stall_seconds: float = 400.0
    """Longer than a lease."""


def _all_end(batch: Sequence[Settlement]) -> bool:
    """True when every settlement gives its claim up: then a second delivery must be refused whole."""
    return not any(isinstance(item.event, ev.Checkpoint | ev.Progress) for item in batch)


class FaultyStore:
    """One worker's view of the database. Everything but the faults is the real store."""

    def __init__(self, store: SqliteStore, rng: random.Random, faults: Faults) -> None:
        self._store = store
        self._rng = rng
        self._faults = faults
        self.gone = False
        """Set when the worker crashed: nothing that is left of it reaches the database any more."""

    def join(self, worker: str) -> None:
        """A simulated worker has no process of its own whose death could be proven: leases must do."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._broken(found) if name in FAULTY else found

    def _reach(self) -> None:
        if self.gone:
            raise StoreBusy("the worker is gone")

    def _broken(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*arguments: Any, **options: Any) -> Any:
            faults, rng = self._faults, self._rng
            self._reach()
            await asyncio.sleep(rng.random() * 0.05)
            if rng.random() < faults.stall:
                await asyncio.sleep(rng.random() * faults.stall_seconds)
            self._reach()
            if rng.random() < faults.request_lost:
                raise StoreBusy("the request was lost")
            answer = await verb(*arguments, **options)
            if verb.__name__ == "settle" and rng.random() < faults.answered_twice and _all_end(arguments[0]):
                again = await verb(*arguments, **options)
                assert all(settled.refused is not None for settled in again), again
            await asyncio.sleep(rng.random() * 0.05)
            if rng.random() < faults.stall:
                await asyncio.sleep(rng.random() * faults.stall_seconds)
            if rng.random() < faults.answer_lost:
                raise StoreBusy("the answer was lost")
            return answer

        return call
