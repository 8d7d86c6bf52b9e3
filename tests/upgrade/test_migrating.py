"""From one version to the next: who migrates, who is refused, and that whoever is in the way is never made to wait."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ramet.store import open_store
from ramet.store.errors import StoreBusy, StoreError, StoreNewer, StoreOlder
from ramet.store.opening import migrate
from ramet.store.postgres.connect import open_connection
from ramet.store.postgres.migrate import advance
from ramet.store.postgres.session import PostgresSession
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.schema import versions
from ramet.store.schema.versions import MigrationResult, SchemaPlan
from ramet.testing.postgres_server.server import connect
from tests.support.backends import Backend
from tests.support.world import SettableClock, World
from tests.upgrade.plans import NEXT, NOW, WITHOUT_US


@pytest.fixture
async def address(backend: Backend) -> str:
    """Of a database of the present version."""
    await backend.open().close()
    return backend.address


async def submit(address: str, name: str) -> None:
    store = open_store(address)
    try:
        world = World(store, SettableClock())
        await world.submit(world.task(name)._replace(id=f"{name}-a"), tracking_id=name)
    finally:
        await store.close()


async def tasks(address: str) -> list[str]:
    store = open_store(address, create=False)
    try:
        return sorted(row[0] for row in await store.read("SELECT id FROM ramet_tasks"))
    finally:
        await store.close()


def later(monkeypatch: pytest.MonkeyPatch, plan: SchemaPlan) -> None:
    """From here on, the program is of a later version."""
    monkeypatch.setattr(versions, "PLAN", plan)


# --- on both


async def test_a_check_says_what_is_to_be_done_and_does_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not migrate(address, check=True).needed
    later(monkeypatch, NEXT)
    for _ in range(2):
        found = migrate(address, check=True)
        assert (found.before, found.after, found.needed) == (NOW, NOW + 1, True)
    assert (migrate(address).before, migrate(address).needed) == (NOW, False)
    assert not migrate(address, check=True).needed


async def test_programs_of_today_use_a_database_of_tomorrow_that_is_made_for_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submit(address, "before")
    with monkeypatch.context() as tomorrow:
        later(tomorrow, NEXT)
        migrate(address)
    await submit(address, "after")
    assert await tasks(address) == ["after-a", "before-a"]
    assert migrate(address) == MigrationResult(versions_place(address), NOW + 1, NOW + 1)


def versions_place(address: str) -> str:
    return migrate(address, check=True).database


async def test_programs_of_today_refuse_a_database_that_is_not(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as tomorrow:
        later(tomorrow, WITHOUT_US)
        migrate(address)
    with pytest.raises(StoreNewer, match="upgrade ramet"):
        open_store(address)
    with pytest.raises(StoreNewer, match="upgrade ramet"):
        migrate(address)


async def test_a_step_that_fails_leaves_the_database_as_it_was(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await submit(address, "before")
    with monkeypatch.context() as tomorrow:
        broken = ("CREATE TABLE ramet_half (a INTEGER)", "CREATE TABLE ramet_tasks (b INTEGER)")
        later(tomorrow, SchemaPlan((*NEXT.steps, broken), (*NEXT.compatible_from, 1)))
        with pytest.raises(StoreError, match="already exists"):
            migrate(address)
        assert migrate(address, check=True).before == NOW
    await submit(address, "after")
    store = open_store(address)
    with pytest.raises(StoreError):
        await store.read("SELECT * FROM ramet_half")
    with pytest.raises(StoreError):
        await store.read("SELECT later FROM ramet_live")
    await store.close()


def test_an_apps_own_tables_are_made_too_and_twice_is_as_once(address: str) -> None:
    for _ in range(2):
        migrate(address, tables=["CREATE TABLE IF NOT EXISTS orders (id INTEGER)"])
    assert asyncio.run(orders(address)) == []


async def orders(address: str) -> list[tuple[int]]:
    store = open_store(address)
    try:
        return await store.read("SELECT id FROM orders")
    finally:
        await store.close()


# --- on SQLite


def test_a_file_is_not_migrated_while_workers_of_today_run_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ramet.db"
    migrate(path)
    neighbours = ProcessRegistry(path)
    neighbours.join("busy")
    later(monkeypatch, WITHOUT_US)
    with pytest.raises(StoreError, match=r"1 workers of an older ramet run on .*ramet\.db \(busy\)"):
        migrate(path)
    assert migrate(path, check=True).before == NOW
    neighbours.leave()
    assert migrate(path).after == NOW + 1


def test_tables_of_others_with_our_names_are_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE ramet_counters (theirs TEXT)")
    with pytest.raises(StoreError, match=r"theirs\.db: no such column: name$"):
        migrate(path, check=True)


def test_an_address_that_is_no_database_is_refused() -> None:
    with pytest.raises(
        StoreError, match=r"cannot read the database address 'mysql://db/x': give a file or postgresql://"
    ):
        migrate("mysql://db/x")


# --- on PostgreSQL


@pytest.fixture
async def url(postgres_url: str) -> str:
    """A server's database of the present version, with a task."""
    await submit(postgres_url, "before")
    return postgres_url


def test_many_that_open_an_empty_database_at_once_make_one_schema(postgres_url: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: asyncio.run(submit(postgres_url, f"line{number}")), range(8)))
    assert asyncio.run(tasks(postgres_url)) == [f"line{number}-a" for number in range(8)]


def test_many_that_migrate_at_once_take_each_step_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch, NEXT)
    with ThreadPoolExecutor(6) as threads:
        done = list(threads.map(lambda _: migrate(url), range(6)))
    assert sorted(made.before for made in done) == [NOW, *[NOW + 1] * 5]


async def test_opening_never_migrates_a_database_that_others_may_be_using(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, NEXT)
    with pytest.raises(StoreOlder, match="run `ramet migrate` first"):
        open_store(url)
    assert migrate(url, check=True).before == NOW


async def test_a_migration_that_is_not_for_running_programs_waits_for_their_end(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(url)
    world = World(store, SettableClock())
    await world.submit(world.task("b"), tracking_id="b")
    with monkeypatch.context() as tomorrow:
        later(tomorrow, WITHOUT_US)
        with pytest.raises(StoreBusy, match="stop them"):
            migrate(url)
        assert migrate(url, check=True).before == NOW
        with connect(url) as connection:  # It wrote long ago and sleeps.
            connection.execute("UPDATE ramet_writers SET seen_at = now() - interval '5 min'")
        migrate(url)
    with pytest.raises(StoreNewer, match="upgrade ramet; nothing of this step was written"):
        await world.submit(world.task("c"), tracking_id="c")
    assert sorted(row[0] for row in await store.read("SELECT tracking_id FROM ramet_lineages")) == ["b", "before"]
    await store.close()


async def test_an_older_program_that_connects_only_after_the_migration_learns_why_it_may_not_write(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(url)  # It has not written yet.
    with connect(url) as connection:
        connection.execute("UPDATE ramet_writers SET seen_at = now() - interval '5 min'")
    with monkeypatch.context() as tomorrow:
        later(tomorrow, WITHOUT_US)
        migrate(url)
    world = World(store, SettableClock())
    with pytest.raises(StoreNewer, match="upgrade ramet"):
        await world.submit(world.task("c"), tracking_id="c")
    await store.close()


async def test_a_long_reader_makes_nobody_wait_behind_the_migration(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = psycopg.connect(url)
    reader.execute("SELECT * FROM ramet_live").fetchall()
    store = open_store(url)
    world = World(store, SettableClock())
    waited: list[float] = []

    def pause(seconds: float) -> None:
        # Between two tries the way is free: what is written here would else wait for ever.
        waited.append(seconds)
        asyncio.run(submit_beside(f"between{len(waited)}"))
        if len(waited) == 2:
            reader.close()

    async def submit_beside(name: str) -> None:
        await submit_raw(url, name)

    with monkeypatch.context() as tomorrow:
        later(tomorrow, NEXT)
        monkeypatch.setattr("ramet.store.postgres.migrate.LOCK_SECONDS", 0.2)
        session = PostgresSession(open_connection(url), None)
        done = await asyncio.to_thread(advance, session, "here", pause=pause)
        session.close()
    assert done == (NOW, NOW + 1)
    assert len(waited) == 2
    await world.submit(world.task("z"), tracking_id="z")
    assert len(await store.read("SELECT id FROM ramet_tasks")) == 4
    await store.close()


async def submit_raw(url: str, name: str) -> None:
    """By a program of today, whatever version this one pretends to be of."""
    plan, versions.PLAN = versions.PLAN, SchemaPlan(NEXT.steps[:NOW], NEXT.compatible_from[:NOW])
    try:
        await submit(url, name)
    finally:
        versions.PLAN = plan


async def test_who_holds_a_table_for_too_long_is_named_as_the_reason(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch, NEXT)
    monkeypatch.setattr("ramet.store.postgres.migrate.LOCK_SECONDS", 0.05)
    reader = psycopg.connect(url)
    reader.execute("SELECT * FROM ramet_live").fetchall()
    session = PostgresSession(open_connection(url), None)
    with pytest.raises(StoreBusy, match="long transaction"):
        advance(session, "here", pause=lambda seconds: None)
    session.close()
    reader.close()
    assert migrate(url, check=True).before == NOW
