"""submit(connection=): the task exists if and only if the caller's own transaction commits."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, LineageExists, PayloadTooLarge, StoreError, SyncClient
from ramet.model.lineage.limits import BALANCED
from ramet.store.errors import StoreBusy
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS, worked_off, working


@pytest.fixture
def client(tmp_path: Path) -> Iterator[SyncClient]:
    with App(tables=["CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"]).sync_client(
        tmp_path / "ramet.db"
    ) as client:
        yield client
        assert client.wait_for(violations(client.asynchronous.store)) == []


@pytest.fixture
def connection(client: SyncClient, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "ramet.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_the_task_is_there_exactly_when_the_callers_rows_are(
    client: SyncClient, connection: sqlite3.Connection, end: str
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO orders (id) VALUES (7)")
    submitted = client.submit("ship", {"order": 7}, connection=connection)
    many = client.submit_many([("bill", 1), ("bill", 2)], one_lineage=True, connection=connection)
    assert client.get(submitted.id) is None, "nothing shows before the commit"
    connection.execute(end)
    there = end == "COMMIT"
    assert client.read("SELECT id FROM orders") == ([(7,)] if there else [])
    assert [client.get(item.id) is not None for item in [submitted, *many]] == [there] * 3
    assert client.queue_size() == (3 if there else 0)


async def test_an_async_program_does_it_with_its_own_connection_too(tmp_path: Path) -> None:
    app = App()

    @app.task("ship")
    async def ship(ctx: Any, order: int) -> int:
        return order

    async with app.client(tmp_path / "ramet.db") as client:
        connection = sqlite3.connect(tmp_path / "ramet.db")
        with connection:
            connection.execute("CREATE TABLE orders (id INTEGER)")
            connection.execute("INSERT INTO orders (id) VALUES (7)")
            submitted = await client.submit(ship, 7, connection=connection)
        await worked_off(app, client)
        assert await client.result(submitted.id) == 7
        connection.close()


def test_the_callers_rows_keep_their_shape(client: SyncClient, connection: sqlite3.Connection) -> None:
    connection.row_factory = lambda cursor, row: {"id": row[0]}
    connection.text_factory = bytes
    connection.execute("BEGIN IMMEDIATE")
    client.submit("ship", connection=connection)
    connection.execute("COMMIT")
    assert connection.execute("SELECT 'x'").fetchone() == {"id": b"x"}


def test_a_refused_submit_leaves_the_callers_transaction_as_it_was(
    client: SyncClient, connection: sqlite3.Connection
) -> None:
    client.submit("ship", 1, tracking_id="taken")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO orders (id) VALUES (7)")
    with pytest.raises(LineageExists):
        client.submit("ship", 2, tracking_id="taken", connection=connection)
    with pytest.raises(PayloadTooLarge):
        client.submit("ship", "x" * 300_000, connection=connection)
    connection.execute("COMMIT")
    assert client.read("SELECT id FROM orders") == [(7,)]
    assert client.queue_size() == 1


def test_what_cannot_be_right_is_refused_with_what_to_do(
    client: SyncClient, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="BEGIN IMMEDIATE"):
        client.submit("ship", connection=connection)
    with pytest.raises(StoreError, match=r"give a sqlite3\.Connection"):
        client.submit("ship", connection="ramet.db")
    other = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="give one to"):
        client.submit("ship", connection=other)
    other.close()
    memory = sqlite3.connect(":memory:", isolation_level=None)
    memory.execute("BEGIN")
    with pytest.raises(StoreError, match="in memory"):
        client.submit("ship", connection=memory)
    memory.close()
    assert client.queue_size() == 0


def test_a_transaction_that_began_by_reading_and_is_outdated_is_told_to_begin_otherwise(
    client: SyncClient, connection: sqlite3.Connection
) -> None:
    connection.execute("BEGIN")
    connection.execute("SELECT * FROM orders").fetchall()
    client.submit("ship", 1)
    with pytest.raises(StoreBusy, match="BEGIN IMMEDIATE"):
        client.submit("ship", 2, connection=connection)
    connection.rollback()
    assert client.queue_size() == 1


async def test_a_worker_that_waits_picks_up_what_the_caller_commits(tmp_path: Path) -> None:
    app = App()

    @app.task("ship")
    async def ship(ctx: Any) -> str:
        return "shipped"

    def order(client: Client) -> str:
        connection = sqlite3.connect(tmp_path / "ramet.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        submitted = client.store.submit_within(connection, [client._lineage([client._new(ship, None)], None, BALANCED)])
        connection.execute("COMMIT")
        connection.close()
        return submitted[0].id

    async with app.client(tmp_path / "ramet.db") as client, working(app, client):
        task_id = await asyncio.to_thread(order, client)
        assert await client.result(task_id, timeout_seconds=HANG_SECONDS) == "shipped"


def test_a_statement_that_the_database_refuses_undoes_only_the_submit(
    client: SyncClient, connection: sqlite3.Connection
) -> None:
    """Somebody's trigger."""
    connection.execute(
        "CREATE TRIGGER no_more BEFORE INSERT ON ramet_lineages BEGIN SELECT RAISE(ABORT, 'no more today'); END"
    )
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO orders (id) VALUES (7)")
    with pytest.raises(StoreError, match=r"ramet\.db: no more today"):
        client.submit("ship", {"order": 7}, connection=connection)
    connection.execute("COMMIT")
    assert client.read("SELECT id FROM orders") == [(7,)]
    connection.execute("DROP TRIGGER no_more")


def test_a_connection_that_may_only_read_is_told_so(client: SyncClient, tmp_path: Path) -> None:
    connection = sqlite3.connect(f"file:{tmp_path / 'ramet.db'}?mode=ro", uri=True, isolation_level=None)
    connection.execute("BEGIN")
    with pytest.raises(StoreError, match=r"ramet\.db is read-only"):
        client.submit("ship", {"order": 7}, connection=connection)
    connection.close()
