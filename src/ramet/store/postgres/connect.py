"""PostgreSQL: from an address to a connection, or to one line that says why there is none and what to do."""

from __future__ import annotations

import time

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from ramet.store.address import has_password, shown
from ramet.store.errors import StoreError, StoreMissing, StoreUnreachable
from ramet.store.postgres.session import connect
from ramet.store.session import Row

_SAID = (
    # What the server says while a connection is made has no code of its own in the driver.
    ("does not exist", "database", StoreMissing,
     "there is no such database: create it (CREATE DATABASE), or correct the address"),
    ("password authentication failed", "", StoreError, "user or password is wrong: correct the address"),
    ("no password supplied", "", StoreError,
     "the server wants a password: write it into the address (user:password@host) or into ~/.pgpass"),
    ("does not exist", "role", StoreError, "there is no such user: create it (CREATE ROLE), or correct the address"),
    ("no pg_hba.conf entry", "", StoreError,
     "the server does not let this user in from here: add a line to its pg_hba.conf"),
    ("too many connections", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("too many clients", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("remaining connection slots", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("permission denied for database", "", StoreError,
     "this user may not connect to it: GRANT CONNECT ON DATABASE ... TO ..."),
    ("failed to resolve host", "", StoreUnreachable, "there is no host of this name: correct the address"),
    ("Connection refused", "", StoreUnreachable,
     "nobody listens there: start the server (`ramet postgres start DIR` makes one), or correct host and port"),
    ("starting up", "", StoreUnreachable, "the server is starting: try again in a moment"),
    ("shutting down", "", StoreUnreachable, "the server is stopping: start it again"),
    ("read-write", "", StoreUnreachable, "none of the servers takes writes: promote one"),
)  # fmt: skip
"""What is said, what else, which error it is, and what to do."""


def open_connection(url: str) -> psycopg.Connection[Row]:
    """Connect as :func:`ramet.store.postgres.session.connect` does.

    Raises:
        StoreError: one line that says what to do, without the password.
    """
    check_address(url)
    try:
        return connect(url)
    except psycopg.Error as error:
        raise connect_error(error, url) from None  # Frames of the driver hold the password.


def check_address(url: str) -> None:
    """Refuse what cannot be read, before the driver says of it what it should not.

    Raises:
        StoreError: how an address is written.
    """
    right = "write postgresql://user:password@host:port/database"
    try:
        parsed = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError(f"cannot read the address {shown(url)}: {right}, other characters as %XX") from None
    if has_password(url) and "password" not in parsed:
        raise StoreError(f"cannot read the address {shown(url)}: write / : @ ? # of the password as %XX ({right})")


def connect_error(error: psycopg.Error, url: str) -> StoreError:
    """Why there is no connection, and what to do."""
    said = " ".join(str(error).split())
    for text, also, kind, do in _SAID:
        if text in said and also in said:
            return kind(f"cannot connect to {shown(url)}: {do}")
    if isinstance(error, errors.ConnectionTimeout):
        return StoreUnreachable(f"cannot connect to {shown(url)}: no answer: is a firewall between, is it the address?")
    return StoreUnreachable(f"cannot connect to {shown(url)}: {said}")


def ahead_seconds(connection: psycopg.Connection[Row]) -> float:
    """How far the server's clock is ahead of this machine's."""
    before = time.time()
    [(there,)] = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchall()
    return float(there) - (before + time.time()) / 2
