"""Opening a database on a server: what is in the way is one line, and no connection is left behind."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import psycopg
import pytest

from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.errors import StoreError, StoreUnreachable
from ramet.store.opening import migrate
from ramet.store.postgres import session
from ramet.store.postgres.connect import connect_error, open_connection
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import NewLineage
from ramet.testing.postgres_server.server import connect, quoted_name, terminate_backends, value
from tests.cli.database.test_postgres_unreachable import changed
from tests.postgres.servers import databases
from tests.support.waiting import until_now

OTHERS = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def test_a_server_that_ends_the_session_meanwhile_is_one_line(ramet_postgres_url: str) -> None:
    def end(when: str, sql: str) -> None:
        terminate_backends(ramet_postgres_url)

    with pytest.raises(StoreError, match="terminating connection due to administrator command") as told:
        PostgresStore(ramet_postgres_url, inline=True, hook=end)
    assert "\n" not in str(told.value)


def test_a_server_that_is_too_old_is_refused_and_let_go(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "VERSION_MIN", 990_000)
    with pytest.raises(StoreError, match=r"^PostgreSQL \d\d is too old: ramet needs 15 or newer$"):
        open_connection(postgres_url)
    until_now(lambda: value(postgres_url, OTHERS) == 0, "the connection is closed")


def test_a_server_that_does_not_answer_is_told_apart_from_what_nobody_knows() -> None:
    url = "postgresql://u:S3cret@h/d"
    silent = connect_error(psycopg.errors.ConnectionTimeout("connection timeout expired"), url)
    assert isinstance(silent, StoreUnreachable)
    assert str(silent) == ("cannot connect to postgresql://u@h/d: no answer: is a firewall between, is it the address?")
    other = connect_error(psycopg.OperationalError("the moon\nis down"), url)
    assert isinstance(other, StoreUnreachable)
    assert str(other) == "cannot connect to postgresql://u@h/d: the moon is down"


@pytest.fixture
def worker_url(ramet_postgres_url: str) -> Iterator[str]:
    """The address for a role that may change rows and make nothing."""
    name = f"ramet_test_{secrets.token_hex(6)}"
    with connect(ramet_postgres_url) as connection:
        connection.execute(f"CREATE ROLE {quoted_name(name)} LOGIN PASSWORD 'x'".encode())
    migrate(ramet_postgres_url, grant_to=name)
    yield changed(ramet_postgres_url, user=name, password="x")
    with connect(ramet_postgres_url) as connection:
        connection.execute(f"DROP OWNED BY {quoted_name(name)}".encode())
        connection.execute(f"DROP ROLE {quoted_name(name)}".encode())


def test_who_may_make_no_table_is_told_who_may_for_those_of_an_app_too(
    ramet_postgres_url: str, worker_url: str
) -> None:
    statement = "CREATE TABLE IF NOT EXISTS orders (id INTEGER)"
    with pytest.raises(StoreError, match=r"may not make or change the tables \(.*\): run `ramet migrate` once as one"):
        migrate(worker_url, tables=[statement])
    migrate(ramet_postgres_url, tables=[statement])
    assert not migrate(worker_url, tables=[statement]).needed


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_without_utf_8_is_refused_in_one_line(postgres_url: str, encoding: str) -> None:
    name = f"odd_{encoding.lower()}"
    with connect(postgres_url) as server:
        server.autocommit = True
        server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode())
    url = f"{postgres_url.rpartition('/')[0]}/{name}"
    try:
        with pytest.raises(StoreError, match=rf"{name} is in {encoding}, .*: make one in UTF-8"):
            open_store(url)
    finally:
        databases().drop(url)


async def test_settings_of_a_database_change_neither_letters_nor_the_clock(postgres_url: str) -> None:
    with connect(postgres_url) as server:
        [name] = server.execute("SELECT current_database()").fetchone() or [""]
        for setting in ("client_encoding = 'LATIN1'", "extra_float_digits = -15"):
            server.execute(f"ALTER DATABASE {quoted_name(str(name))} SET {setting}".encode())
    store = open_store(f"{postgres_url}?client_encoding=LATIN1")
    before = time.time()
    await store.submit([NewLineage("line", [NewTask("a", "page", "漢字", '"漢字"')])])
    found = await store.get("a")
    await store.close()
    assert found is not None
    assert found.key == "漢字"
    assert abs(found.created_at - before) < 3_600  # It is the server's clock; told in 15 digits less it would be 1970.
