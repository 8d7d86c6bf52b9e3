"""The end of a process at any statement, and proof that a program survives it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from ramet.engine.app.app import App
from ramet.engine.client.client import Client
from ramet.store.sqlite.store import SqliteStore
from ramet.testing.drain_loop import drain
from ramet.testing.fixtures import FakeClock, fresh_client


class SimulatedCrash(BaseException):
    """The process ends here. It must not be caught: it is not an ``Exception``."""


class _Crash:
    """Counts statements, and dies before one of them."""

    def __init__(self, statement: int | None) -> None:
        self.count = 0
        self.happened = False
        self.armed = False
        self.store: SqliteStore | None = None
        self._statement = statement

    def __call__(self, when: str, sql: str) -> None:
        if self.happened:
            raise SimulatedCrash("nothing runs in a dead process")
        if when != "before" or not self.armed:
            return
        self.count += 1
        if self.count == self._statement:
            self.happened = True
            assert self.store is not None
            # As the operating system does at the end of a process; all that is not committed is gone.
            self.store.close_now()
            raise SimulatedCrash(f"before statement {self.count}: {sql}")


@asynccontextmanager
async def crash_at(app: App, statement: int, *, folder: Path, clock: FakeClock | None = None) -> AsyncIterator[Client]:
    """Yield a client whose process dies before the n-th statement (from 1) of the block; the block ends there, quietly.

    Open the same folder again with :func:`ramet.testing.fresh_client` to see what is left.
    """
    async with _dying(app, _Crash(statement), folder, clock or FakeClock()) as client:
        yield client


@asynccontextmanager
async def _dying(app: App, crash: _Crash, folder: Path, clock: FakeClock) -> AsyncIterator[Client]:
    try:
        async with fresh_client(app, clock=clock, folder=folder, hook=crash) as client:
            assert isinstance(client.store, SqliteStore)
            crash.store = client.store
            crash.armed = True
            try:
                yield client
            finally:
                crash.armed = False
    except SimulatedCrash:
        if not crash.happened:
            raise


async def crash_everywhere(
    app: App,
    season: Callable[[Client], Awaitable[object]],
    check: Callable[[Client], Awaitable[object]],
    *,
    every: int = 1,
    seed: int = 0,
) -> int:
    """Run a season once whole, then once for each statement with a crash before it, and check every end.

    After each crash the database is opened again, the season runs again, and all is drained.

    Args:
        app: whose handlers to run.
        season: submits the work; it runs twice on one database, so it names its lineages (``tracking_id=...``).
        check: raises (asserts) unless the end is right; every effect exactly once, say.
        every: crash before every n-th statement only.
        seed: of :func:`drain`.

    Returns:
        Number of crashes that were survived.

    Raises:
        AssertionError: and whatever else ``check`` raises, with a note of the statement.
    """
    with tempfile.TemporaryDirectory(prefix="ramet-crash-") as root:
        whole = _Crash(None)
        await _season(app, season, whole, folder=_made(Path(root) / "whole"), clock=FakeClock(), seed=seed)
        async with fresh_client(app, folder=Path(root) / "whole") as client:
            await check(client)
        points = range(1, whole.count + 1, every)
        for number in points:
            folder, clock = _made(Path(root) / str(number)), FakeClock()
            crash = _Crash(number)
            await _season(app, season, crash, folder=folder, clock=clock, seed=seed)
            assert crash.happened, f"the season never came to statement {number}: it does not repeat itself"
            try:
                async with fresh_client(app, folder=folder, clock=clock) as client:
                    await season(client)
                    await drain(app, client, seed=seed, outlive_leases=True)
                    await check(client)
            except Exception as error:
                error.add_note(f"after a crash before statement {number} of {whole.count}")
                raise
        return len(points)


async def _season(
    app: App, season: Callable[[Client], Awaitable[object]], crash: _Crash, *, folder: Path, clock: FakeClock, seed: int
) -> None:
    async with _dying(app, crash, folder, clock) as client:
        await season(client)
        await drain(app, client, seed=seed)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
