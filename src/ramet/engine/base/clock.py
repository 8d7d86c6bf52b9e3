"""Time as the engine sees it, and identifiers that sort by it. Tests and the simulation give another clock."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Protocol

from ramet.store import wall_time


class Clock(Protocol):
    """Source of time for the engine, and its way to let time pass."""

    def now(self) -> float:
        """Wall clock, Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; leases are measured by these."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let other work run for so long."""
        ...


class SystemClock:
    """The machine's clocks; where the database has one of its own, by which all stored times are, that one's time."""

    def __init__(self, ahead_seconds: float = 0.0) -> None:
        self.ahead_seconds = ahead_seconds
        """Seconds by which the database's clock is ahead of this machine's
        (:attr:`ramet.store.Store.ahead_seconds`).
        """

    def now(self) -> float:
        return wall_time.now() + self.ahead_seconds

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def sleep_unless(clock: Clock, seconds: float, event: asyncio.Event) -> None:
    """Sleep, but no longer than until the event is set."""
    waiting = asyncio.create_task(event.wait())
    sleeping = asyncio.create_task(clock.sleep(seconds))
    try:
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        sleeping.cancel()


def new_id() -> str:
    """Return a new UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits."""
    head = f"{time.time_ns() // 1_000_000:012x}"
    chance = os.urandom(10)
    digits = chance.hex()  # Cut as text: it takes half as long as shifting numbers.
    return f"{head[:8]}-{head[8:12]}-7{digits[2:5]}-{'89ab'[chance[0] & 3]}{digits[5:8]}-{digits[8:]}"
