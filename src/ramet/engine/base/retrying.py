"""Retries of a worker while its database cannot be reached: with back-off, and one log line for each outage.

None of it decides about the ownership of a task. A claim is kept for its lease and no longer (DESIGN §10), and whatever
is sent again carries the fence of its claim, so what the database did the first time it does not do twice.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

from ramet.engine.base.clock import Clock
from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError, StoreLost, StoreUncertain, StoreUnreachable
from ramet.store.loggers import own_logger

log = own_logger("ramet.worker")

Answer = TypeVar("Answer")

AWAY = (StoreUnreachable, StoreUncertain)
"""Errors that say that the database cannot be reached; after the second the effect of the last request is unknown,
too.
"""
PAUSE_SECONDS_MAX = 5.0
"""Most seconds until a worker notices that its database is back."""


def outage_log_level(error: StoreError) -> int:
    """Return the level of a loop's message that it could not run: an outage of the database is logged once, by the
    worker.
    """
    return logging.DEBUG if isinstance(error, AWAY) else logging.WARNING


class DatabaseReachability:
    """Whether a worker's database can be reached, as its loops find out. Belongs to one event loop."""

    def __init__(self, clock: Clock, draw: Callable[[], float] = random.random) -> None:
        self._clock = clock
        self._draw = draw
        self._away_since: float | None = None

    def tries(self) -> RetryAttempts:
        """For one loop, or one call, that tries again."""
        return RetryAttempts(self, Backoff(seconds_max=PAUSE_SECONDS_MAX, draw=self._draw))

    def missed(self, error: StoreError) -> None:
        """Note that a verb could not reach the database."""
        if self._away_since is None:
            self._away_since = self._clock.monotonic()
            log.warning("the database is away, trying again until it is back: %s", error)

    def answered(self) -> None:
        """Note that a verb reached it."""
        if self._away_since is not None:
            log.info("the database is back after %.0f s", self._clock.monotonic() - self._away_since)
            self._away_since = None

    async def insist(self, ask: Callable[[], Awaitable[Answer]], worth: Callable[[], bool]) -> Answer:
        """Ask until the database answers, for as long as it is worth it.

        A request that may have taken effect is not repeated.

        Raises:
            StoreError: it answered with one; it is away and trying is not worth it any more; or, as
                :class:`~ramet.store.errors.StoreUncertain`, it is unknown whether this took effect.
        """
        tries = self.tries()
        while True:
            try:
                answer = await ask()
            except StoreUncertain:
                raise
            except StoreUnreachable as error:
                await self._clock.sleep(tries.failed(error, "", 0.0))
                if not worth():
                    raise
            else:
                tries.succeeded()
                return answer


class RetryAttempts:
    """The tries of one loop."""

    def __init__(self, reach: DatabaseReachability, backoff: Backoff) -> None:
        self._reach = reach
        self._backoff = backoff

    def failed(self, error: StoreError, what: str, seconds: float) -> float:
        """Note a failure and log it; return how long to pause. An error that waiting cannot repair is raised again.

        Args:
            error: a database that cannot be reached is logged once for all loops; a busy or full one here, every time.
            what: the work that could not be done.
            seconds: the pause after any other error than that the database is away.

        Raises:
            StoreLost: as it came; the worker ends with it.
        """
        if isinstance(error, StoreLost):
            raise error
        if isinstance(error, AWAY):
            self._reach.missed(error)
            return self._backoff.failed()
        log.warning("%s: %s", what, error)
        return seconds

    def succeeded(self) -> None:
        """Note that the database answered."""
        self._backoff.succeeded()
        self._reach.answered()


async def unless_ended(others: Collection[asyncio.Task[Any]], what: Coroutine[Any, Any, Answer]) -> Answer | None:
    """Wait for this, but no longer than until one of the others has ended: then the answer is None."""
    waiting = asyncio.create_task(what)
    try:
        await asyncio.wait({waiting, *others}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None
    finally:
        waiting.cancel()
