"""A process that works on a job, dies at a statement of its store, and begins again on the same database."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from ramet import Client
from ramet.llm import pipeline
from ramet.llm.calls import calling
from ramet.llm.jobs import submit_job
from ramet.llm.providers.base import Mode, Provider
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM, JobSettings
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import InlineConnection
from ramet.store.sqlite.store import SqliteStore
from ramet.testing import FakeClock, drain
from tests.llm.crashes.billing_provider import WORDS, BillingProvider
from tests.llm.running.conftest import DEAR, MODEL, SLOT_SECONDS, asked
from tests.postgres import database_pool

MadeStore = SqliteStore | PostgresStore
SLOTS_MAX = 60
ROWS = [*WORDS, "owl"]
"""What the job asks."""
CHECK = "tests.llm.running.test_jobs:Bird"
DISCOUNT = {Mode.CHAT: 1.0, Mode.BACKGROUND: 1.0, Mode.BATCH: 0.5}
Season = Callable[["World", Client], Coroutine[Any, Any, None]]


class SimulatedCrash(BaseException):
    """The end of the process. Nothing may catch it."""


class Fuse:
    """Counts moments, before and after each statement, and burns through at one of them."""

    def __init__(self, moment: int | None) -> None:
        self.heard: list[tuple[str, str]] = []
        self.armed = False
        self.burnt = asyncio.Event()
        self.cut: Callable[[], None] = lambda: None
        self._moment = moment

    def __call__(self, when: str, sql: str) -> None:
        if self.burnt.is_set():
            raise SimulatedCrash("nothing runs in a dead process")
        if not self.armed:
            return
        self.heard.append((when, sql))
        if len(self.heard) == self._moment:
            self.burnt.set()
            self.cut()
            raise SimulatedCrash(f"{when} {sql}")


class World:
    """What outlives a process: a database, the provider and time."""

    def __init__(self, mode: Mode, folder: Path, address: str | None) -> None:
        self.clock = FakeClock()
        self.provider = BillingProvider(mode, self.clock.now)
        self._folder, self._address = folder, address
        self._slots = 0

    def open(self, fuse: Fuse | None = None) -> MadeStore:
        if self._address is not None:
            return PostgresStore(self._address, clock=self.clock.now, inline=True, hook=fuse)
        store = SqliteStore(self._folder / "ramet.db", clock=self.clock.now, inline=True, hook=fuse)
        # The process dies, not the machine.
        store._connection.execute("PRAGMA synchronous = OFF")
        return store

    async def client(self, store: MadeStore) -> Client:
        app = pipeline.app
        client = Client(app.registry, store, app.limits, tables=app.tables, clock=self.clock)
        await client.ensure_tables()
        return client

    async def slot(self, client: Client) -> None:
        """A slot of the poller's schedule, with all of its chain."""
        self._slots += 1
        await client.submit(pipeline.poll, {"wait": False}, tracking_id=f"slot-{self._slots}")
        await drain(pipeline.app, client, advance=False)

    async def run(self, client: Client) -> None:
        """Slots until every item and batch has ended. Claims of the dead lapse in the meantime."""
        for _ in range(SLOTS_MAX):
            await self.slot(client)
            if not await self._live(client):
                await drain(pipeline.app, client, outlive_leases=True)
                return
            self.clock.advance(SLOT_SECONDS)
        raise AssertionError(f"after {SLOTS_MAX} slots there is still more")

    async def _live(self, client: Client) -> int:
        counts = await client.counts()
        kinds, states = (ITEM, BATCH_ITEM, BATCH), ("pending", "processing", "stale")
        return sum(count.tasks for count in counts if count.kind in kinds and count.state in states)

    async def submit(self, client: Client, words: list[str], **settings: Any) -> None:
        """The job; again, it is found."""
        mode = self.provider.mode
        made = JobSettings(
            provider="fake", mode=mode, prices={MODEL: DEAR}, rows=0, items=0, check=CHECK, discount=DISCOUNT[mode],
            batch_items=4,
            **settings,
        )  # fmt: skip
        await submit_job(client, "job", asked(words), made, max_cost=10**12)


@contextmanager
def asking(world: World) -> Iterator[None]:
    """The pipeline asks the world's provider."""
    opener = calling.opener
    calling.opener = lambda settings: cast(Provider, world.provider)
    try:
        with patch("ramet.llm.calls.WAIT_HERE_SECONDS", 0.0):  # Time is the test's.
            yield
    finally:
        calling.opener = opener


@contextmanager
def world(on: str, mode: Mode, folder: Path) -> Iterator[World]:
    """One database, empty."""
    folder.mkdir()
    address = database_pool.take() if on == "postgres" else None
    made = World(mode, folder, address)
    try:
        with asking(made):
            yield made
    finally:
        if address is not None:
            database_pool.give_back(address)
        shutil.rmtree(folder)


async def season(world: World, client: Client) -> None:
    """A process that is started with the command that submits the job, and works on it."""
    await world.submit(client, ROWS)
    await world.run(client)


async def live(world: World, season: Season, moment: int | None = None) -> Fuse:
    """One life of a process: to the end of the season, or to its death at a moment (from 1)."""
    await calling.close()  # A new process has read nothing yet.
    others = asyncio.all_tasks()
    fuse = Fuse(moment)
    store = world.open(fuse)
    fuse.cut = lambda: cut(store)
    client = await world.client(store)
    fuse.armed = True
    work, death = asyncio.create_task(season(world, client)), asyncio.create_task(fuse.burnt.wait())
    await asyncio.wait({work, death}, return_when=asyncio.FIRST_COMPLETED)
    fuse.armed = False
    if not fuse.burnt.is_set():
        death.cancel()
        await work
        await client.close()
        return fuse
    rest = asyncio.all_tasks() - others
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    cut(store)  # It may have got another connection after its death.
    store._neighbours.leave()
    return fuse


def cut(store: MadeStore) -> None:
    """What the operating system does with connections at the end of a process."""
    if isinstance(store, SqliteStore):
        store._connection.close()
        store._reader.close()
        return
    assert isinstance(store._writer, InlineConnection)
    store._writer._link._drop()
    store._reader.close()
