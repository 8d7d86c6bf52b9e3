"""The proxy of the fault tests does what it says, between a real client and a real server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.postgres.proxy import Proxy
from tests.postgres.wire import Commits, Message, Messages, committed
from tests.support.waiting import until_now

Connection = psycopg.Connection[TupleRow]
STATES = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    parts = urlsplit(postgres_url)
    with Proxy(parts.hostname or "127.0.0.1", parts.port or 5432) as proxy:
        yield proxy


@pytest.fixture
def direct(postgres_url: str) -> Iterator[Connection]:
    """Past the proxy: what is true in the database."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE seen (number integer)")
        yield connection


@pytest.fixture
def client(proxy: Proxy, postgres_url: str, direct: Connection) -> Iterator[Connection]:
    connection = psycopg.connect(proxy.url(postgres_url), autocommit=True)
    yield connection
    connection.close()


def seen(direct: Connection) -> list[int]:
    return [number for (number,) in direct.execute("SELECT number FROM seen ORDER BY number")]


def insert(client: Connection, how: str, number: int) -> None:
    """One row and its COMMIT, in each way in which a client can send them."""
    statement = f"INSERT INTO seen VALUES ({number})"
    if how == "one query":
        client.execute(f"BEGIN; {statement}; COMMIT")
    elif how == "queries":
        client.execute("BEGIN")
        client.execute(statement)
        client.execute("COMMIT")
    elif how == "prepared":
        for each in ("BEGIN", statement, "COMMIT"):
            client.execute(each, prepare=True)
    elif how == "pipeline":
        with client.pipeline():
            for each in ("BEGIN", statement, "COMMIT"):
                client.execute(each)


WAYS = ["one query", "queries", "prepared", "pipeline"]


@pytest.mark.parametrize("how", WAYS)
def test_a_proxy_without_a_fault_is_not_there(how: str, client: Connection, direct: Connection) -> None:
    for number in range(3):
        insert(client, how, number)
    assert seen(direct) == [0, 1, 2]
    with client.cursor().copy("COPY seen FROM STDIN") as copy:
        for number in range(3, 20_000):
            copy.write_row((number,))
    assert len(client.execute("SELECT repeat('x', 100) FROM seen").fetchall()) == 20_000


@pytest.mark.parametrize("how", WAYS)
def test_a_swallowed_answer_is_of_a_commit_that_the_server_did(
    how: str, proxy: Proxy, postgres_url: str, client: Connection, direct: Connection
) -> None:
    insert(client, how, 1)
    proxy.swallow_commit_answers()
    with pytest.raises(psycopg.OperationalError):
        insert(client, how, 2)
    assert proxy.swallowed == 1
    assert seen(direct) == [1, 2]
    with psycopg.connect(proxy.url(postgres_url), autocommit=True) as again:
        insert(again, how, 3)
    assert seen(direct) == [1, 2, 3]


@pytest.mark.parametrize("how", WAYS)
def test_a_prevented_commit_never_reached_the_server(
    how: str, proxy: Proxy, client: Connection, direct: Connection
) -> None:
    insert(client, how, 1)
    proxy.cut_before_commit()
    with pytest.raises(psycopg.OperationalError):
        insert(client, how, 2)
    assert proxy.prevented == 1
    until_now(lambda: not direct.execute(STATES).fetchall(), "the server learns that its client is gone")
    assert seen(direct) == [1]


def test_a_commit_that_ends_as_a_rollback_is_not_taken_for_one(
    proxy: Proxy, client: Connection, direct: Connection
) -> None:
    proxy.swallow_commit_answers()
    client.execute("BEGIN")
    with pytest.raises(psycopg.errors.UndefinedTable):
        client.execute("INSERT INTO nowhere VALUES (1)")
    client.execute("COMMIT")
    assert proxy.swallowed == 0
    with pytest.raises(psycopg.OperationalError):
        insert(client, "queries", 2)
    assert (proxy.swallowed, seen(direct)) == (1, [2])


def test_a_cut_ends_both_sides_at_once(proxy: Proxy, postgres_url: str, client: Connection, direct: Connection) -> None:
    client.execute("BEGIN")
    client.execute("LOCK TABLE seen")
    proxy.cut()
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    until_now(lambda: not direct.execute(STATES).fetchall(), "the server ends the transaction")
    with psycopg.connect(proxy.url(postgres_url)) as again:
        assert again.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_vanishes_leaves_its_transaction_behind(
    proxy: Proxy, postgres_url: str, client: Connection, direct: Connection
) -> None:
    client.execute("BEGIN")
    client.execute("LOCK TABLE seen")
    proxy.half_open("client")
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    with psycopg.connect(proxy.url(postgres_url)) as again:
        assert ("idle in transaction",) in direct.execute(STATES).fetchall()
        with pytest.raises(psycopg.errors.LockNotAvailable):
            again.execute("LOCK TABLE seen NOWAIT")
    proxy.heal()
    until_now(lambda: not direct.execute(STATES).fetchall(), "the server ends the transaction")


def test_a_server_that_vanishes_leaves_its_client_waiting(proxy: Proxy, client: Connection, direct: Connection) -> None:
    proxy.half_open("server")
    until_now(lambda: not direct.execute(STATES).fetchall(), "the server lost its client")
    told: list[BaseException] = []

    def ask() -> None:
        try:
            client.execute("SELECT 1")
        except psycopg.OperationalError as error:
            told.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.2)
    assert asking.is_alive(), "it was told"
    proxy.cut()
    asking.join()
    assert len(told) == 1


def test_what_stalls_is_passed_on_in_the_end(proxy: Proxy, client: Connection, direct: Connection) -> None:
    proxy.stall()
    writing = threading.Thread(target=insert, args=(client, "one query", 1))
    writing.start()
    writing.join(0.2)
    assert writing.is_alive()
    assert seen(direct) == []
    proxy.heal()
    writing.join()
    assert seen(direct) == [1]


def test_a_delay_is_in_both_directions(proxy: Proxy, client: Connection) -> None:
    proxy.delay(0.05)
    began = time.monotonic()
    client.execute("SELECT 1")
    assert time.monotonic() - began >= 0.1
    proxy.delay(0.0)


def test_nobody_gets_in_until_it_is_healed(proxy: Proxy, postgres_url: str, client: Connection) -> None:
    proxy.refuse()
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.url(postgres_url))
    proxy.heal()
    with psycopg.connect(proxy.url(postgres_url)) as again:
        assert again.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_is_not_there_is_a_refused_connection(proxy: Proxy, postgres_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy.lead_to("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.url(postgres_url))


def test_a_statement_under_way_can_be_cancelled_through_it(client: Connection, direct: Connection) -> None:
    def cancel() -> None:
        until_now(lambda: ("active",) in direct.execute(STATES).fetchall(), "the statement is under way")
        client.cancel_safe()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute("SELECT pg_sleep(60)")
    cancelling.join()


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


START = frame(b"", b"\0\3\0\0user\0me\0\0")


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_messages_are_the_same_however_their_bytes_arrive(size: int) -> None:
    ssl = frame(b"", (80877103).to_bytes(4, "big"))
    stream = ssl + START + frame(b"Q", b"SELECT 1\0") + frame(b"S", b"")
    messages = Messages(begins=True)
    found = [each for at in range(0, len(stream), size) for each in messages.feed(stream[at : at + size])]
    assert [each.type for each in found] == [b"", b"", b"Q", b"S"]
    assert b"".join(each.raw for each in found) == stream
    assert found[2].body == b"SELECT 1\0"


def said(kind: bytes, body: bytes) -> Message:
    [message] = Messages(begins=False).feed(frame(kind, body))
    return message


@pytest.mark.parametrize(
    ("statement", "commits"),
    [
        (b"COMMIT", True),
        (b" commit ", True),
        (b"UPDATE a SET b = 1; COMMIT", True),
        (b"END", True),
        (b"SET synchronous_commit = on", False),
        (b"CREATE TEMP TABLE a (b int) ON COMMIT DROP", False),
        (b"ENDLESS", False),
    ],
)
def test_a_commit_is_known_among_statements(statement: bytes, commits: bool) -> None:
    assert (Commits().said(said(b"Q", statement + b"\0")) is not None) is commits
    commit = Commits()
    assert not commit.said(said(b"P", b"name\0" + statement + b"\0\0\0"))
    assert not commit.said(said(b"B", b"\0name\0\0\0\0\0\0\0"))
    assert commit.said(said(b"E", b"\0\0\0\0\0")) == (statement if commits else None)


def test_only_the_commands_own_answer_says_that_it_committed() -> None:
    assert committed(said(b"C", b"COMMIT\0"))
    assert not committed(said(b"C", b"ROLLBACK\0"))
    assert not committed(said(b"D", b"COMMIT\0"))
