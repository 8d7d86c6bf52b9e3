"""A database of the test's own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from ramet.engine.app.app import App
from ramet.engine.client.client import Client
from ramet.store.base import Store
from ramet.store.opening import check_driver
from ramet.store.sqlite.session import Hook
from ramet.store.sqlite.store import SqliteStore
from ramet.testing.clock import FakeClock

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
    """A client of the app on a database whose time is the test's; every verb runs at once, in the test's thread.

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
