"""A process that dies at any statement of what people and the guard do leaves all of it, or nothing."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

from ramet.model.task import events as ev
from ramet.store.errors import StoreError
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import InlineConnection
from ramet.store.requests import NewLineage, Settlement
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.postgres import database_pool
from tests.support.comparable_rows import comparable
from tests.support.world import SettableClock, World

MadeStore = SqliteStore | PostgresStore
Hook = Callable[[str, str], None]
Verb = Callable[[World], Awaitable[object]]
Build = Callable[[World], Awaitable[None]]


class SimulatedCrash(BaseException):
    """The end of the process. Nothing may catch it."""


async def build(world: World) -> None:
    """Lineages in which every verb has something to do."""
    await world.submit(world.task("asks", id="asks"), max_fan_out=2, max_shape=1)
    await world.submit(world.task("a", id="held", unique_seconds=500.0), tracking_id="held")
    await world.submit(world.task("c", id="gone", unique_seconds=500.0), tracking_id="gone")
    await world.store.cancel("gone", tree=False, by="test")
    await world.submit(world.task("full", id="full"), tracking_id="full", max_fan_out=1)
    full = await world.claim_task("full")
    await world.settle(full, spawns=[world.task(f"child {n}", id=f"child {n}") for n in range(3)])
    for claimed in await world.claim(10):
        if claimed.id != "asks":
            await world.settle(claimed)
    await world.store.stop("host", "old.example", by="test")


async def spawn(world: World) -> None:
    """A unique key that is free and one that is held, a shape once too often, an edge, a child too many."""
    [(seq, fence)] = await world.store.read("SELECT seq, fence FROM ramet_live WHERE state = 'processing'")
    wanted = [
        world.task("b1", "image", id="b", unique_seconds=5.0, shape="b#"),
        world.task("a", id="a2", unique_seconds=5.0),
        world.task("b2", "image", id="d", shape="b#"),
        world.task("asks", id="x", kind="page", keep_edge=1),
        world.task("https://old.example/", id="y"),
        world.task("e", id="e"),
        world.task("f", id="f"),
    ]
    await world.store.settle([Settlement(seq, fence, ev.Complete(fence), spawns=wanted)])


VERBS: dict[str, Verb] = {
    "submit": lambda world: world.store.submit(
        [NewLineage("new", [world.task("n", id="n", unique_seconds=9.0), world.task("a", id="m", unique_seconds=9.0)])]
    ),
    "spawn": spawn,
    "revive": lambda world: world.store.revive(["gone"], by="test"),
    "exclude": lambda world: world.store.exclude(["gone"], by="test", reason="no"),
    "raise": lambda world: world.store.raise_limits("full", {"max_fan_out": 3}, by="test", extend_seconds=1e6),
    "reoffer": lambda world: world.store.reoffer("full", by="test"),
    "stop": lambda world: world.store.stop("domain", "example.com", by="test"),
    "unstop": lambda world: world.store.unstop("host", "old.example", by="test"),
}


class Garden(Protocol):
    """A database with those lineages, again and again as it was before the verb."""

    def open(self, hook: Hook | None = None, clock: SettableClock | None = None) -> MadeStore:
        """Open it."""
        ...

    def cut(self, store: MadeStore) -> None:
        """What the operating system does with a store's connections at the end of a process."""
        ...

    def rows(self) -> list[str]:
        """Every row of every table."""
        ...

    async def renew(self) -> None:
        """Take back what a verb did."""
        ...


class FileGarden:
    """A copy of one file for every run."""

    def __init__(self, folder: Path, build: Build) -> None:
        self._path = folder / "ramet.db"
        self._folder = folder
        self._build = build
        self._numbers = itertools.count()
        self._copy = self._path

    async def renew(self) -> None:
        if not self._path.exists():
            await build_all(self.open, self._build)
        self._copy = self._folder / f"{next(self._numbers)}.db"
        shutil.copy(self._path, self._copy)

    def open(self, hook: Hook | None = None, clock: SettableClock | None = None) -> MadeStore:
        return SqliteStore(self._copy, clock=clock or SettableClock(), inline=True, hook=hook)

    def cut(self, store: MadeStore) -> None:
        assert isinstance(store, SqliteStore)
        store._connection.close()

    def rows(self) -> list[str]:
        connection = sqlite3.connect(self._copy)
        try:
            return [line for line in connection.iterdump() if line.startswith("INSERT INTO")]
        finally:
            connection.close()


class ServerGarden:
    """One database, filled anew when a verb changed it."""

    def __init__(self, build: Build) -> None:
        self.url = ""
        self._build = build
        self._before: list[str] = []
        self._number = (0, False)

    async def renew(self) -> None:
        if self._before and self.rows() == self._before:
            with psycopg.connect(self.url) as connection:
                connection.execute("SELECT setval('ramet_task_numbers', %s, %s)", self._number)
            return
        if self.url:
            database_pool.give_back(self.url, anew=True)
        self.url = database_pool.take()
        await build_all(self.open, self._build)
        with psycopg.connect(self.url) as connection:
            [self._number] = connection.execute("SELECT last_value, is_called FROM ramet_task_numbers").fetchall()
        rows = self.rows()
        assert self._before in ([], rows), "the same acts leave the same rows"
        self._before = rows

    def open(self, hook: Hook | None = None, clock: SettableClock | None = None) -> MadeStore:
        return PostgresStore(self.url, clock=clock or SettableClock(), inline=True, hook=hook)

    def cut(self, store: MadeStore) -> None:
        assert isinstance(store, PostgresStore)
        assert isinstance(store._writer, InlineConnection)
        store._writer._link._drop()
        store._reader.close()

    def rows(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            tables = connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
                "AND relname <> 'ramet_writers' ORDER BY 1"
            ).fetchall()
            return [f"{name} {row}" for (name,) in tables for row in _rows(connection, name)]


def _rows(connection: psycopg.Connection, table: str) -> list[tuple[Any, ...]]:
    """A renewed garden is another connection's work."""
    found = connection.execute(f"TABLE {table}")
    return comparable(table, [column.name for column in found.description or ()], found).rows


@pytest.fixture(params=["postgres", "sqlite"])
def garden(request: pytest.FixtureRequest, name: str, tmp_path: Path) -> Iterator[Garden]:
    if request.param == "sqlite":
        yield FileGarden(tmp_path, built_for(name))
        return
    garden = ServerGarden(built_for(name))
    yield garden
    database_pool.give_back(garden.url, anew=True)


def built_for(verb: str) -> Build:
    async def everything(world: World) -> None:
        await build(world)
        if verb == "reoffer":
            await world.store.raise_limits("full", {"max_fan_out": 3}, by="test")

    return everything


async def build_all(opened: Callable[..., MadeStore], build: Build) -> None:
    clock = SettableClock()
    store = opened(clock=clock)
    await build(World(store, clock))
    await store.close()


async def run(garden: Garden, verb: Verb, crash_at: int | None = None, later: float = 0.0) -> int:
    """Run a verb as a process that dies at its n-th moment (before or after a statement); how many there were."""
    heard = 0
    watching = False

    def hook(when: str, sql: str) -> None:
        nonlocal heard
        if watching:
            heard += 1
            if heard == crash_at:
                garden.cut(store)
                raise SimulatedCrash(sql)

    clock = SettableClock()
    clock.advance(later)
    store = garden.open(hook, clock)
    watching = True
    try:
        await verb(World(store, clock))
    except (SimulatedCrash, StoreError):
        assert crash_at is not None
    finally:
        watching = False
        if crash_at is None:
            await store.close()
        else:
            store._neighbours.leave()
    return heard


@pytest.mark.parametrize("name", VERBS)
async def test_a_crash_at_a_statement_leaves_all_or_nothing(name: str, garden: Garden) -> None:
    """At some of them; on a server at fewer, for all that happens there costs more."""
    await leaves_all_or_nothing(name, garden, 3 if isinstance(garden, FileGarden) else 20)


@pytest.mark.nightly
@pytest.mark.parametrize("name", VERBS)
async def test_a_crash_at_every_statement_leaves_all_or_nothing(name: str, garden: Garden) -> None:
    await leaves_all_or_nothing(name, garden, 1)


async def leaves_all_or_nothing(name: str, garden: Garden, step: int) -> None:
    """Crash at every so-manieth moment, and at the last."""
    await garden.renew()
    before = garden.rows()
    moments = await run(garden, VERBS[name])
    after = garden.rows()
    assert before != after
    assert moments > 6
    left = []
    for moment in sorted({*range(1, moments + 1, step), moments}):
        await garden.renew()
        await run(garden, VERBS[name], moment)
        rows = garden.rows()
        assert rows in (before, after), f"half of {name} is left after moment {moment}"
        left.append(rows == after)
        store = garden.open()
        assert await violations(store) == []
        await store.close()
    assert left == sorted(left), "what was durable stays so"
    assert left[-1], "the last moment is after the commit"
