"""A full disk under a PostgreSQL server: what was acknowledged is there, what was refused is not, and work goes on."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from ramet.store.errors import StoreFull
from ramet.store.postgres.store import PostgresStore
from ramet.testing.postgres_server.server import connect
from tests.invariants.check import violations
from tests.postgres.full_disk import small_log, small_tables
from tests.store.sqlite.test_full_disk import lineage, submit_until_full
from tests.support.waiting import until

FILL = "INSERT INTO ballast SELECT repeat(md5(random()::text), 2) FROM generate_series(1, 1000)"


def fill(connection: psycopg.Connection) -> int:
    """Insert until it is refused; how many statements were acknowledged."""
    connection.execute("CREATE TABLE IF NOT EXISTS ballast (text text)")
    for number in range(100_000):
        try:
            connection.execute(FILL)
        except psycopg.errors.DiskFull:
            return number
    raise AssertionError("the disk never filled up")


def test_full_tables_refuse_a_statement_and_the_server_goes_on() -> None:
    with small_tables() as (disk, cluster, url), connect(url) as connection:
        connection.execute("CREATE TABLE ballast (text text)")
        disk.fill()
        fill(connection)
        assert cluster.running
        disk.free()
        connection.execute(FILL)


def test_a_full_log_ends_the_server_which_starts_again_when_there_is_room() -> None:
    with small_log() as (disk, cluster, url):
        with connect(url) as connection:
            disk.fill()
            acknowledged = fill(connection)
        asyncio.run(until(lambda: not cluster.running, "the server gives up"))
        disk.free()
        cluster.start()
        with connect(url) as connection:
            [(rows,)] = connection.execute("SELECT COUNT(*) FROM ballast").fetchall()
        assert rows // 1_000 in (acknowledged, acknowledged + 1), "the last may have reached the log whole"


@pytest.mark.parametrize("inline", [False, True])
async def test_what_full_tables_refuse_is_told_and_nothing_of_it_is_kept(inline: bool) -> None:
    with small_tables() as (disk, _, url):
        store = PostgresStore(url, inline=inline)
        disk.fill()
        acknowledged, error = await submit_until_full(store, 100)
        assert isinstance(error, StoreFull)
        assert "is full: free some space; nothing of this step was written" in str(error)
        assert len(await store.lineages(limit=10_000)) == acknowledged
        disk.free()
        await store.submit([lineage(acknowledged, 100)])
        assert await violations(store) == []
        await store.close()


class Panic(psycopg.errors.DiskFull):
    """What a server says that finds no room for its log, just before it goes down."""

    @property
    def diag(self) -> Any:
        return SimpleNamespace(severity_nonlocalized="PANIC", message_primary="no room", table_name=None)


@pytest.mark.parametrize("reached", [True, False])
async def test_the_last_words_of_a_server_are_no_answer_to_a_commit(
    ramet_postgres_url: str, monkeypatch: pytest.MonkeyPatch, reached: bool
) -> None:
    store = PostgresStore(ramet_postgres_url, inline=True)
    really = psycopg.Connection.execute
    panics = [Panic("no room")]

    def execute(self: psycopg.Connection, query: Any, *more: Any, **named: Any) -> Any:
        if not panics or not str(query).endswith("COMMIT'"):
            return really(self, query, *more, **named)
        if reached:
            really(self, query, *more, **named)
        else:
            really(self, b"ROLLBACK")
        raise panics.pop()

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    await store.submit([lineage(0)])
    assert panics == []
    assert [row.tracking_id for row in await store.lineages()] == ["line0"]
    assert await violations(store) == []
    await store.close()


async def test_a_verb_whose_server_went_with_a_full_log_is_carried_out_once_when_it_is_back() -> None:
    with small_log() as (disk, cluster, url):
        store = PostgresStore(url)
        disk.fill()
        submitted = 0
        last = sys.maxsize

        async def submit() -> None:
            nonlocal submitted
            while submitted < last:
                await store.submit([lineage(submitted, 100)])
                submitted += 1

        submitting = asyncio.create_task(submit())
        await until(lambda: not cluster.running or submitting.done(), "the server gives up")
        asked = asyncio.create_task(store.lineages(limit=10_000))
        last = submitted + 3
        disk.free()
        await asyncio.to_thread(cluster.start)
        await submitting
        assert {row.tracking_id for row in await asked} >= {f"line{number}" for number in range(last - 3)}
        assert {row.tracking_id for row in await store.lineages(limit=10_000)} == {f"line{n}" for n in range(last)}
        assert await violations(store) == []
        await store.close()
