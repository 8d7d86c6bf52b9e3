"""Time as the engine sees it. Tests and the simulation give another one."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Where the engine reads time and how it lets time pass."""

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
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
