"""Server-sent events: what changed on a page, while a visitor looks at it.

Any number of visitors of one address share one feed. A feed pauses twenty times as long as a look took of the
processor, so that watching costs at most a twentieth of one core, however large the database.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from ramet.engine.base.logs import own_logger

log = own_logger("ramet.dashboard")

PAUSE_SECONDS = 2.0
"""Shortest time between two looks."""
COST_FACTOR = 20
KEEP_ALIVE_SECONDS = 15.0
"""Longest pause between two messages, so that a dead connection is noticed."""
STILL_HERE = ": still here\n\n"
"""Keep-alive message, which clients ignore."""

Produce = Callable[[], Awaitable[str]]


class Feeds:
    """Open feeds by address."""

    def __init__(self) -> None:
        self._feeds: dict[str, _Feed] = {}
        self.closed = asyncio.Event()
        """Set when the server stops."""

    def close(self) -> None:
        """End every stream at once, and let none begin: the server stops."""
        self.closed.set()
        for feed in [*self._feeds.values()]:
            feed.end()

    async def follow(self, address: str, produce: Produce) -> AsyncIterator[str]:
        """Yield the output of ``produce`` whenever it changes, as server-sent events of a page."""
        async for made in self.messages(address, produce):
            yield STILL_HERE if made is None else f"event: page\ndata: {json.dumps(made)}\n\n"

    async def messages(self, address: str, produce: Produce) -> AsyncIterator[str | None]:
        """Yield the output of ``produce`` whenever it changes, and None when nothing has for a while.

        It is called only while there is a subscriber, of whom all of one address share it.
        """
        if self.closed.is_set():
            return
        feed = self._feeds.get(address)
        if feed is None or feed.ended:
            feed = self._feeds[address] = _Feed(produce)
        mine: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1)
        feed.join(mine)
        try:
            while True:
                try:
                    async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                        made = await mine.get()
                except TimeoutError:
                    yield None
                else:
                    if made is None:
                        return
                    yield made
        finally:
            if feed.leave(mine) and self._feeds.get(address) is feed:
                self._feeds.pop(address, None)


class _Feed:
    """One address that is looked at."""

    def __init__(self, produce: Produce) -> None:
        self._produce = produce
        self._followers: set[asyncio.Queue[str | None]] = set()
        self._last: str | None = None
        self.ended = False
        self._task = asyncio.create_task(self._run())

    def join(self, follower: asyncio.Queue[str | None]) -> None:
        self._followers.add(follower)
        if self._last is not None:
            follower.put_nowait(self._last)

    def leave(self, follower: asyncio.Queue[str | None]) -> bool:
        """Remove a subscriber; return whether none is left, and the feed has ended."""
        self._followers.discard(follower)
        if not self._followers:
            self._task.cancel()
        return not self._followers

    def end(self) -> None:
        """Send the end to all subscribers."""
        self.ended = True
        self._task.cancel()
        self._tell(None)

    async def _run(self) -> None:
        try:
            while True:
                began = time.process_time()
                made = await self._produce()
                cost = time.process_time() - began
                if made != self._last:
                    self._last = made
                    self._tell(made)
                await asyncio.sleep(max(PAUSE_SECONDS, cost * COST_FACTOR))
        except Exception:
            # The reader's browser asks again after a while, and is answered as a page would be.
            log.warning("a page that is followed could not be made", exc_info=True)
            self.end()

    def _tell(self, made: str | None) -> None:
        for follower in self._followers:
            while not follower.empty():
                follower.get_nowait()  # Only the newest counts.
            follower.put_nowait(made)
