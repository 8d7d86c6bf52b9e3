"""Databases on a PostgreSQL server: made empty or after a template, dropped, their connections ended."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ramet.store.address import shown
from ramet.testing.postgres_server.programs import ServerError

if TYPE_CHECKING:
    from psycopg import Connection

CONNECT_SECONDS_MAX = 20
ENDED_SECONDS_MAX = 30.0


def need_driver() -> None:
    """Before anything is made that cannot be used without it.

    Raises:
        ServerError: the driver is missing.
    """
    if find_spec("psycopg") is None:
        raise ServerError("the driver of PostgreSQL is not installed: pip install 'ramet[postgres]'")


def connect(url: str) -> Connection:
    """A connection whose every statement is a transaction of its own.

    Raises:
        ServerError: the driver is missing, or nobody answers at the address.
    """
    need_driver()
    import psycopg

    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS_MAX)
    except psycopg.Error as error:
        raise ServerError(f"{shown(url)} does not answer: {' '.join(str(error).split())}") from error


def value(url: str, sql: str) -> object:
    """The one value that a query answers, by a connection of its own."""
    with connect(url) as connection:
        row = connection.execute(sql.encode()).fetchone()
    assert row is not None, f"{sql} answers nothing"
    return row[0]


def either(first: str, second: str) -> str:
    """One address for two servers of the same password: a connection goes to the one that takes writes.

    For a server and its standby, before and after a promotion.
    """
    parts, other = urlsplit(first), urlsplit(second)
    where = f"{parts.netloc},{other.netloc.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=where, query="target_session_attrs=read-write"))


def with_database(url: str, name: str) -> str:
    """The address of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(name, safe="")))


def database_of(url: str) -> str:
    """The name of the database in an address."""
    return unquote(urlsplit(url).path.removeprefix("/"))


def create_database(
    url: str,
    *,
    template: str | None = None,
    tablespace: str | None = None,
    by_files: bool = False,
    prefix: str = "ramet",
) -> str:
    """Make a database with a name of its own on the server of ``url``; its address.

    Args:
        url: any database of the server, but not the template.
        template: the database to copy, to which nobody may be connected; empty without.
        tablespace: where its files are; with the server's others without.
        by_files: copy files instead of logging every page. Faster where a checkpoint costs nothing (``fsync`` off).
        prefix: what the name begins with.
    """
    name = f"{prefix}_{secrets.token_hex(6)}"
    like = f" TEMPLATE {quoted_name(template)}" if template else ""
    where = f" TABLESPACE {quoted_name(tablespace)}" if tablespace else ""
    how = " STRATEGY file_copy" if by_files else ""
    with connect(url) as connection:
        connection.execute(f"CREATE DATABASE {quoted_name(name)}{like}{how}{where}".encode())
    return with_database(url, name)


def ensure_database(url: str, name: str) -> str:
    """Make a database of this name on the server of ``url`` unless it is there; its address."""
    with connect(url) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if found is None:
            connection.execute(f"CREATE DATABASE {quoted_name(name)}".encode())
    return with_database(url, name)


def drop_database(url: str, name: str) -> None:
    """Drop a database of the server of ``url``, cutting its connections; nothing when it is gone."""
    with connect(url) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {quoted_name(name)} WITH (FORCE)".encode())


def terminate_backends(url: str) -> int:
    """``pg_terminate_backend`` for every other connection to the database of ``url``, and wait until they have ended.

    Returns:
        How many have; their clients learn of it when they next speak to the server.

    Raises:
        ServerError: one did not end in time.
    """
    with connect(url) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
            (int(ENDED_SECONDS_MAX * 1_000),),
        ).fetchall()
    if (False,) in ended:
        raise ServerError(f"a connection did not end within {ENDED_SECONDS_MAX:g} seconds")
    return len(ended)


def quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
