"""Time that passes only when the test says so."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from ramet.engine.app.app import App
from ramet.engine.client.client import Client
from ramet.store.opening import check_driver
from ramet.store.sqlite.session import Hook
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store


class FakeClock:
    """Both of the engine's clocks, and the store's: give it to :func:`ramet.testing.fresh_client`.

    Args:
        now: Unix seconds to begin with.
    """

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 1_000.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Return when the test has let this number of seconds pass; at once for 0."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (self._monotonic + seconds, next(self._numbers), waiting))
        await waiting

    def advance(self, seconds: float) -> None:
        """Let time pass. Code that slept until then goes on with the next turn of the loop.

        Raises:
            ValueError: a negative number; :meth:`set_back` moves the wall clock alone.
        """
        if seconds < 0:
            raise ValueError("time does not run backwards: use set_back for a wall clock that was changed")
        self._now += seconds
        self._monotonic += seconds
        while self._sleeping and self._sleeping[0][0] <= self._monotonic:
            _, _, waiting = heapq.heappop(self._sleeping)
            if not waiting.done():
                waiting.set_result(None)

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back, as a time server would; a negative number sets it ahead. Nothing wakes."""
        self._now -= seconds


DATABASE = "ramet.db"


@asynccontextmanager
async def fresh_client(
    app: App,
    *,
    clock: FakeClock | None = None,
    folder: Path | None = None,
    hook: Hook | None = None,
    database: str | None = None,
) -> AsyncIterator[Client]:
    """Yield a client of the app on a database whose time is the test's; every verb runs at once, in the test's thread.

    Args:
        app: its tables are created.
        clock: another one is made when none is given; it is ``client.clock``.
        folder: where the file is, or stays when it is there; a temporary folder when none is given.
        hook: called with ``before`` or ``after`` and the SQL of every statement.
        database: the address of a PostgreSQL database to take instead of a file; it should be empty, and is not dropped
            (:class:`ramet.testing.postgres.Cluster` makes them).
    """
    clock = clock or FakeClock()
    with ExitStack() as stack:
        store: Store
        if database is not None:
            store = _on_a_server(database, clock, hook)
        else:
            place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ramet-")))
            store = SqliteStore(place / DATABASE, clock=clock.now, inline=True, hook=hook)
        client = Client(app.registry, store, app.limits, tables=app.tables, clock=clock)
        try:
            await client.ensure_tables()
            yield client
        finally:
            await client.close()


def _on_a_server(url: str, clock: FakeClock, hook: Hook | None) -> Store:
    check_driver()
    from ramet.store.postgres.store import PostgresStore

    return PostgresStore(url, clock=clock.now, inline=True, hook=hook)
