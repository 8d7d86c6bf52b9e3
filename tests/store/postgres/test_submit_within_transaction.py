"""submit(connection=) on PostgreSQL: the task exists if and only if the caller's own transaction commits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from ramet import App, LineageExists, PayloadTooLarge, StoreError, SyncClient
from ramet.model.flow.resources import ResourcePolicy
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.errors import StoreBusy
from ramet.store.postgres.partitions import Partitions
from ramet.store.postgres.processes import identity_of
from ramet.store.postgres.session import PostgresSession
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.within_transaction import Database, run_within
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from tests.invariants.check import violations
from tests.postgres.servers import databases
from tests.support.waiting import HANG_SECONDS

Connection = psycopg.Connection[Any]
REQUEST = ClaimRequest("w", ("default",), ("page",), 10, 300.0)


@pytest.fixture
def client(postgres_url: str) -> Iterator[SyncClient]:
    app = App(tables=["CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"])
    with app.sync_client(postgres_url) as client:
        yield client
        assert client.wait_for(violations(client.asynchronous.store)) == []


@pytest.fixture
def connection(client: SyncClient, postgres_url: str) -> Iterator[Connection]:
    with psycopg.connect(postgres_url) as connection:
        yield connection
        if not connection.closed:
            connection.rollback()


def orders(client: SyncClient) -> list[tuple[Any, ...]]:
    return client.read("SELECT id FROM orders ORDER BY id")


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("autocommit", [True, False])
def test_the_task_is_there_exactly_when_the_callers_rows_are(
    client: SyncClient, connection: Connection, commits: bool, autocommit: bool
) -> None:
    connection.autocommit = autocommit
    with connection.transaction(force_rollback=not commits):
        connection.execute("INSERT INTO orders (id) VALUES (7)")
        submitted = client.submit("ship", {"order": 7}, connection=connection)
        many = client.submit_many([("bill", 1), ("bill", 2)], one_lineage=True, connection=connection)
        assert client.get(submitted.id) is None, "nothing shows before the commit"
    assert orders(client) == ([(7,)] if commits else [])
    assert [client.get(item.id) is not None for item in [submitted, *many]] == [commits] * 3
    assert client.queue_size() == (3 if commits else 0)


def test_a_connection_that_begins_by_itself_may_begin_with_the_submit(
    client: SyncClient, connection: Connection
) -> None:
    client.submit("ship", connection=connection)
    assert client.queue_size() == 0
    connection.commit()
    assert client.queue_size() == 1


def test_the_callers_rows_keep_their_shape(client: SyncClient, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, row_factory=dict_row) as connection:
        client.submit("ship", connection=connection)
        assert connection.execute("SELECT 1 AS one, 2.5::numeric AS half").fetchone() == {"one": 1, "half": 2.5}
    assert client.queue_size() == 1


def test_a_refused_submit_leaves_the_callers_transaction_as_it_was(client: SyncClient, connection: Connection) -> None:
    client.submit("ship", 1, tracking_id="taken")
    connection.execute("INSERT INTO orders (id) VALUES (7)")
    with pytest.raises(LineageExists):
        client.submit("ship", 2, tracking_id="taken", connection=connection)
    with pytest.raises(PayloadTooLarge):
        client.submit("ship", "x" * 300_000, connection=connection)
    with pytest.raises(StoreError):
        client.asynchronous.store.submit_within(connection, [unique("with\0zero", "t1")])
    connection.commit()
    assert orders(client) == [(7,)]
    assert client.queue_size() == 1


def test_what_cannot_be_right_is_refused_with_what_to_do(client: SyncClient, connection: Connection) -> None:
    connection.autocommit = True
    with pytest.raises(StoreError, match=r"connection\.transaction\(\)"):
        client.submit("ship", connection=connection)
    with pytest.raises(StoreError, match=r"give a psycopg\.Connection"):
        client.submit("ship", connection="postgresql:///")
    connection.close()
    with pytest.raises(StoreError, match="closed"):
        client.submit("ship", connection=connection)
    assert client.queue_size() == 0


def test_a_connection_to_another_database_is_refused_even_with_the_same_tables(client: SyncClient) -> None:
    other = databases().create(migrated=True)
    try:
        with psycopg.connect(other) as connection:
            with pytest.raises(StoreError, match="another database"):
                client.submit("ship", connection=connection)
            assert connection.execute("SELECT COUNT(*) FROM ramet_tasks").fetchone() == (0,)
    finally:
        databases().drop(other)


def test_who_may_not_ask_which_server_it_is_may_submit_all_the_same(client: SyncClient, postgres_url: str) -> None:
    name = f"asks_not_{postgres_url.rpartition('/')[2]}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name}".encode())
        admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}".encode())
        admin.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}".encode())
        admin.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        try:
            with psycopg.connect(postgres_url) as connection:
                connection.execute(f"SET ROLE {name}".encode())
                client.submit("ship", connection=connection)
            # Nor does it matter who opened the store.
            admin.execute(f"SET ROLE {name}".encode())
            here = Database("here", identity_of(admin))
            with psycopg.connect(postgres_url) as connection:
                room = Partitions(PostgresSession(connection, None))
                assert run_within(connection, here, None, 0, lambda session: 7, room=room, opened=lambda: admin) == 7
        finally:
            admin.execute("RESET ROLE")
            admin.execute(f"DROP OWNED BY {name}".encode())
            admin.execute(f"DROP ROLE {name}".encode())
    assert client.queue_size() == 1


def test_a_transaction_that_failed_is_told_so(client: SyncClient, connection: Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM nowhere")
    with pytest.raises(StoreError, match="aborted"):
        client.submit("ship", connection=connection)


def unique(name: str, task_id: str) -> NewLineage:
    return NewLineage(name, [NewTask(task_id, "page", "k", "null", unique_seconds=60.0)])


def test_of_two_who_want_one_unique_key_at_once_the_second_learns_who_has_it(
    client: SyncClient, postgres_url: str, connection: Connection
) -> None:
    """The second waits for the first one's commit, and is then answered with its holder, not with an error."""
    store = client.asynchronous.store
    [first] = store.submit_within(connection, [unique("first", "t1")])
    told: list[Any] = []

    def second() -> None:
        with psycopg.connect(postgres_url) as other:
            told.extend(store.submit_within(other, [unique("second", "t2")]))

    thread = threading.Thread(target=second)
    thread.start()
    with psycopg.connect(postgres_url, autocommit=True) as watching:
        while watching.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
            pass
    connection.commit()
    thread.join()
    assert first.created
    assert [(answer.id, answer.tracking_id, answer.created) for answer in told] == [("t1", "first", False)]
    assert client.read("SELECT tracking_id FROM ramet_lineages") == [("first",)]


def test_a_snapshot_that_is_too_old_for_the_race_is_told_to_begin_anew(
    client: SyncClient, connection: Connection
) -> None:
    store = client.asynchronous.store
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.execute("SELECT 1")
    client.wait_for(store.submit([unique("first", "t1")]))
    with pytest.raises(StoreBusy, match="roll back"):
        store.submit_within(connection, [unique("second", "t2")])
    connection.rollback()


async def test_nobody_waits_for_the_callers_open_transaction(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.limit_resource(ResourcePolicy("host:a", concurrency=1), by="test")
    await store.submit([NewLineage("before", [NewTask("t0", "page", "k0", "null", resource="host:a")])])
    with psycopg.connect(postgres_url) as connection:
        roots = [NewTask("t1", "page", "k1", "null", resource="host:a"), NewTask("t2", "page", "k2", "null")]
        store.submit_within(connection, [NewLineage("within", roots)])
        store.submit_within(connection, [NewLineage("before", [NewTask("t0", "page", "k0", "null")])])
        async with asyncio.timeout(HANG_SECONDS):
            [claimed] = await store.claim(REQUEST)
            fence = claimed.standing.fence
            [settled] = await store.settle([Settlement(claimed.standing.seq, fence, ev.Complete(fence))])
            assert settled.state == "success"
            await store.submit([NewLineage("beside", [NewTask("t3", "page", "k3", "null", resource="host:a")])])
            await store.cancel_lineage("beside", by="test")
            await store.sweep()
            await store.prune(await store.now())
    found = await store.claim(REQUEST)
    assert sorted(claimed.id for claimed in found) == ["t1", "t2"]
    await store.close()
