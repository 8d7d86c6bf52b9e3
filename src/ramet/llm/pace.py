"""Number of calls in flight of a process for one job and model: one until the first answer, then as many as allowed.

The first call is the canary: a wrong key, an unknown model or a server that ignores its token limit is found by it, and
not by as many calls as there are slots. After that a refusal for being busy halves the number, at most once for the
calls that were under way together, and every answer raises it a little, as congestion control does.

Of batches the first is the canary: what the provider refuses when it looks into one, it would refuse in all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ramet.llm.errors import NotAllowed, ProviderError, TooBusy

WAIT_HERE_SECONDS = 20.0
"""A call waits so long for its turn; longer would use up its handler's time."""
AGAIN_SECONDS = 5.0
"""Seconds until a task comes back whose turn did not come. Nothing begins for that time after the job was paused."""

CANARY_SECONDS = 120.0
"""The first batch is waited for so long at most: another process may be the one that asks about it."""


class Pace:
    """The calls of one process for one job and model. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._allowed = 1.0
        self._proved = False
        self._flying = self._begun = 0
        self._cut_at = 0
        """Calls that had begun at the last cut: the refusal of one of them is the same news."""
        self._held_until = self._looking_until = 0.0
        self._stops = 0
        self._changed = asyncio.Event()

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def turn(self, now: float) -> AsyncIterator[int]:
        """Wait for a turn and keep it while the block runs; gives its number, from 1, or 0 where none came in time.

        Args:
            now: of the task's clock, Unix seconds; so for the other methods.
        """
        if not await self._wait(now):
            yield 0
            return
        self._flying += 1
        self._begun += 1
        try:
            yield self._begun
        finally:
            self._flying -= 1
            self._changed.set()

    def answered(self, now: float) -> None:
        """Record that a call was answered."""
        if now < self._held_until:
            return
        if self._proved:
            self._allowed = min(float(self._most), self._allowed + 1.0 / self._allowed)
        else:
            self._proved, self._allowed = True, float(self._most)
            self._changed.set()

    def batch_sent(self, now: float) -> None:
        """Record that a batch went out: until the provider has looked into the first one, no other follows."""
        if not self._proved:
            self._looking_until = now + CANARY_SECONDS

    def batch_begun(self, now: float, *, good: bool) -> None:
        """Record that the provider has looked into a batch, and begun it (``good``) or refused it."""
        self._looking_until = 0.0
        if good:
            self.answered(now)

    def failed(self, turn: int, error: ProviderError, now: float) -> None:
        """Record that the call of a turn failed: a busy provider lowers the pace, a fault for a person stops it."""
        if isinstance(error, TooBusy) and turn > self._cut_at:
            self._allowed = max(1.0, min(self._allowed, self._flying) / 2.0)
            self._cut_at = self._begun
        elif isinstance(error, NotAllowed):
            self.stop(now)

    def stop(self, now: float) -> None:
        """Record that the job is paused: send back what waits, and begin with one call again."""
        self._proved, self._allowed = False, 1.0
        self._held_until, self._stops = now + AGAIN_SECONDS, self._stops + 1
        self._changed.set()

    async def _wait(self, now: float) -> bool:
        if now < max(self._held_until, self._looking_until):
            return False
        if self._flying < self.allowed:
            return True
        stops = self._stops
        try:
            async with asyncio.timeout(WAIT_HERE_SECONDS):
                while self._flying >= self.allowed and stops == self._stops:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return stops == self._stops
