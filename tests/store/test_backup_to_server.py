"""From a file to a server and back: every row, one moment, and no worker that settles in the wrong copy."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.backup import postgres_server
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError, StoreMissing, StoreUncertain
from ramet.store.opening import migrate
from ramet.store.postgres.session import Mode, PostgresSession
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import NewLineage
from ramet.store.schema import versions
from ramet.store.session import FENCES_PER_EPOCH
from ramet.store.sqlite.store import SqliteStore
from ramet.testing.postgres_server.server import connect, terminate_backends
from tests.invariants.check import violations
from tests.support.waiting import until
from tests.support.world import SettableClock, World, settlement
from tests.upgrade.plans import NEXT, NOW
from tests.upgrade.recorded import make_postgres, make_sqlite, recorded, rows_of

COPIED = ("copied", "epoch")
"""Counters that tell copies from one another."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def held(path: Path) -> dict[str, list[Any]]:
    """All rows of a file's tables, with fences as their claims."""
    with closing(sqlite3.connect(path)) as connection:
        tables = rows_of(connection)
    found = {}
    for name, table in tables.items():
        columns, rows = table["columns"], [list(row) for row in table["rows"]]
        if name in ("ramet_live", "ramet_tasks"):
            at = columns.index("fence")
            for row in rows:
                row[at] = row[at] if row[at] is None else row[at] % FENCES_PER_EPOCH
        if name == "ramet_counters":
            rows = [row for row in rows if row[columns.index("name")] not in COPIED]
        found[name] = sorted(rows, key=repr)
    return found


def test_every_row_of_every_table_comes_back_from_a_server(folder: Path, postgres_url: str) -> None:
    make_sqlite(folder / "first.db", recorded())
    backup(folder / "first.db", folder / "there.db")
    seen: list[tuple[int, int]] = []
    told = restore(folder / "there.db", postgres_url, progress=lambda at, of: seen.append((at, of)))
    assert told.epoch > 0
    assert (told.lineages, told.left_out) == (len(held(folder / "first.db")["ramet_lineages"]), ())
    assert seen[-1][0] == seen[-1][1] > 0
    made = backup(postgres_url, folder / "back.db", progress=lambda at, of: seen.append((at, of)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert made.lineages == told.lineages
    assert held(folder / "back.db") == held(folder / "first.db")
    restore(folder / "back.db", folder / "second.db")
    assert held(folder / "second.db") == held(folder / "first.db")


async def test_what_began_on_a_server_goes_on_in_a_file(folder: Path, postgres_url: str) -> None:
    make_postgres(postgres_url, recorded())
    backup(postgres_url, folder / "copy.db")
    restore(folder / "copy.db", folder / "file.db")
    store = SqliteStore(folder / "file.db", inline=True)
    world = World(store, SettableClock())
    assert set(await violations(store)) <= set(recorded()["violations"])
    await world.submit(world.task("new")._replace(id="new"), tracking_id="new")  # Numbers go on after the highest.
    assert (await store.get("new")) is not None
    store.close_now()


async def test_a_worker_of_the_original_cannot_settle_in_the_copy_nor_the_other_way(
    folder: Path, postgres_url: str
) -> None:
    clock = SettableClock()
    first = World(SqliteStore(folder / "first.db", clock=clock, inline=True), clock)
    await first.submit(first.task("a"))
    before = await first.claim_one()
    backup(folder / "first.db", folder / "copy.db")
    restore(folder / "copy.db", postgres_url)
    copy = World(PostgresStore(postgres_url, clock=clock, inline=True), clock)
    assert (await copy.store.settle([settlement(before)]))[0].state is None
    for world in (first, copy):
        clock.advance(301.0)
        await world.sweep()
    ours, theirs = await first.claim_one(), await copy.claim_one()
    assert ours.standing.seq == theirs.standing.seq
    assert (await copy.store.settle([settlement(ours)]))[0].state is None
    assert (await first.store.settle([settlement(theirs)]))[0].state is None
    assert (await copy.store.settle([settlement(theirs)]))[0].state == "success"
    await copy.submit(copy.task("b")._replace(id="b"), tracking_id="other")
    [[fence]] = await copy.store.read("SELECT MIN(fence) FROM ramet_live")
    assert fence >= FENCES_PER_EPOCH
    for world in (first, copy):
        assert await violations(world.store) == []
        await world.store.close()


async def test_a_backup_while_workers_write_is_one_moment(folder: Path, postgres_url: str) -> None:
    store = open_store(postgres_url)
    roots = [NewTask(f"r{n}", "page", f"r{n}", '"' + "x" * 500 + '"') for n in range(3_000)]
    await store.submit([NewLineage("filling", roots)])
    done, written = asyncio.Event(), 0

    async def write() -> None:
        nonlocal written
        while not done.is_set():
            await store.submit([NewLineage(f"line{written}", [NewTask(f"t{written}", "page", "k", "null")])])
            written += 1

    writing = asyncio.create_task(write())
    await until(lambda: written >= 3, "a few lineages")
    before = written
    await asyncio.to_thread(backup, postgres_url, folder / "copy.db")
    done.set()
    await writing
    await store.close()
    copy = SqliteStore(folder / "copy.db", inline=True)
    assert await violations(copy) == []
    [[lines]] = await copy.read("SELECT COUNT(*) FROM ramet_lineages WHERE tracking_id LIKE 'line%'")
    assert before <= lines <= written
    copy.close_now()


@pytest.fixture
def copy(folder: Path) -> Path:
    make_sqlite(folder / "first.db", recorded(1))
    backup(folder / "first.db", folder / "copy.db")
    return folder / "copy.db"


async def test_a_database_with_tasks_or_with_programs_is_left_alone(copy: Path, postgres_url: str) -> None:
    store = open_store(postgres_url)
    with pytest.raises(StoreError, match="in use by ramet programs"):
        restore(copy, postgres_url)
    world = World(store, SettableClock())
    await world.submit(world.task("a"))
    await store.close()
    with pytest.raises(StoreError, match="has tasks, and they are not replaced"):
        restore(copy, postgres_url)
    with pytest.raises(StoreError, match="never replaced"):
        restore(copy, postgres_url, force=True)
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT COUNT(*) FROM ramet_tasks").fetchone() == (1,)


def test_a_restore_that_fails_leaves_the_server_empty(copy: Path, postgres_url: str) -> None:
    with closing(sqlite3.connect(copy)) as connection:  # What PostgreSQL cannot keep.
        connection.execute("UPDATE ramet_tasks SET payload = '\"' || char(0) || '\"' WHERE seq = 3")
        connection.commit()
    with pytest.raises(StoreError, match="a row of ramet_tasks cannot be kept there"):
        restore(copy, postgres_url)
    with connect(postgres_url) as connection:
        for table in ("ramet_lineages", "ramet_tasks", "ramet_attempts", "ramet_acts"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}".encode()).fetchone() == (0,)
    store = PostgresStore(postgres_url, inline=True)
    store.close_now()


def test_tables_that_nobody_declares_are_left_out_by_a_persons_word_only(
    copy: Path, folder: Path, postgres_url: str
) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("CREATE TABLE notes (name TEXT)")
    with pytest.raises(StoreError, match="no app declares notes"):
        restore(copy, postgres_url)
    assert restore(copy, postgres_url, leave=["notes"]).left_out == ("notes",)
    with connect(postgres_url) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(StoreError, match="no app declares mine"):
        backup(postgres_url, folder / "back.db")
    assert backup(postgres_url, folder / "back.db", leave=["mine"]).left_out == ("mine",)


def test_what_is_no_backup_or_no_database_is_refused(folder: Path, postgres_url: str) -> None:
    with pytest.raises(StoreMissing, match="has no ramet tables"):
        backup(postgres_url, folder / "copy.db")
    assert list(folder.iterdir()) == []
    with pytest.raises(StoreMissing, match="no backup at"):
        restore(folder / "none.db", postgres_url)
    (folder / "diary.db").write_text("my diary\n" * 100, encoding="ascii")
    with pytest.raises(StoreError, match=r"diary\.db"):
        restore(folder / "diary.db", postgres_url)
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass('ramet_tasks')").fetchone() == (None,)


def test_no_table_has_to_fit_into_memory(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "ROWS", 2)
    make_postgres(postgres_url, recorded())
    backup(postgres_url, folder / "few.db")
    monkeypatch.undo()
    backup(postgres_url, folder / "many.db")
    assert held(folder / "few.db") == held(folder / "many.db")
    assert len(held(folder / "few.db")["ramet_tasks"]) > 2


def test_a_copy_that_another_program_made_begins_an_epoch_when_it_is_first_opened(postgres_url: str) -> None:
    make_postgres(postgres_url, recorded())
    bases = []
    for statement in ("SELECT 1", "INSERT INTO ramet_counters (name, value) VALUES ('copied', 1)", "SELECT 1"):
        with connect(postgres_url) as connection:
            connection.execute(statement.encode())
        store = PostgresStore(postgres_url, inline=True)
        bases.append(store._fence_base)
        store.close_now()
    assert bases[0] == 0
    assert bases[1] == bases[2] >= FENCES_PER_EPOCH
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT MIN(fence) >= %s FROM ramet_live", (bases[1],)).fetchone() == (True,)


def test_of_several_that_open_a_copy_at_once_one_begins_its_epoch(
    ramet_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(ramet_postgres_url) as connection:
        connection.execute("INSERT INTO ramet_counters (name, value) VALUES ('copied', 1)")
    begin, others = PostgresSession.begin, list[int]()

    def begin_after_another(session: PostgresSession, mode: Mode, writer: int | None = None) -> None:
        if mode == "alone" and not others:
            others.append(0)
            other = PostgresStore(ramet_postgres_url, inline=True)
            others[0] = other._fence_base
            other.close_now()
        begin(session, mode, writer)

    monkeypatch.setattr(PostgresSession, "begin", begin_after_another)
    store = PostgresStore(ramet_postgres_url, inline=True)
    store.close_now()
    assert [store._fence_base] == others
    assert others[0] >= FENCES_PER_EPOCH


def test_an_older_backup_is_brought_to_this_version_and_stays_as_it_is(
    copy: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copy.read_bytes()
    monkeypatch.setattr(versions, "PLAN", NEXT)
    assert restore(copy, postgres_url).epoch > 0
    assert copy.read_bytes() == before
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT DISTINCT later FROM ramet_live").fetchall() == [(7,)]


def test_a_server_of_another_version_is_not_copied(
    folder: Path, ramet_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(versions, "PLAN", NEXT)
        with pytest.raises(StoreError, match=rf"has schema {NOW}: run `ramet migrate` first"):
            backup(ramet_postgres_url, folder / "copy.db")
        migrate(ramet_postgres_url)
    with pytest.raises(StoreError, match=rf"has schema {NOW + 1}, this ramet knows {NOW}: upgrade ramet to open it"):
        backup(ramet_postgres_url, folder / "copy.db")
    assert list(folder.iterdir()) == []


def test_a_backup_that_is_not_sound_is_refused(copy: Path, postgres_url: str) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        [page] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'ramet_live_claimable'").fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    with copy.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises(StoreError, match="is not sound"):
        restore(copy, postgres_url)


def ended_at(monkeypatch: pytest.MonkeyPatch, url: str, words: str) -> None:
    """Every session of the database ends when a statement that begins so comes."""
    told = PostgresSession._logged_error

    def end(session: PostgresSession, when: str, sql: str) -> None:
        if when == "before" and sql.startswith(words):
            terminate_backends(url)
        told(session, when, sql)

    monkeypatch.setattr(PostgresSession, "_logged_error", end)


def test_a_server_that_goes_away_as_it_commits_may_have_what_was_restored(
    copy: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(postgres_url, inline=True).close_now()
    ended_at(monkeypatch, postgres_url, "COMMIT")
    with pytest.raises(StoreUncertain, match="went away at the end: look with `ramet status` whether it is there"):
        restore(copy, postgres_url)


def test_a_server_that_goes_away_during_a_backup_leaves_no_file(
    folder: Path, ramet_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended_at(monkeypatch, ramet_postgres_url, "SELECT number FROM ramet_next_number")
    with pytest.raises(StoreError, match="terminating connection due to administrator command"):
        backup(ramet_postgres_url, folder / "copy.db")
    assert list(folder.iterdir()) == []
