"""Databases that are used again: a test gets one with ramet's tables as they are when they are new.

Making a database takes longer than most tests do. So what a test leaves is taken away inside of the database: every
row and everything that it created. A database whose tables a test changed, or gave a trigger, is dropped; so is one
where there can be only one.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg

from ramet.store.postgres.store import PostgresStore
from ramet.testing.postgres import ServerError
from tests.gate.needs import uses
from tests.gate.targets import SERVER
from tests.postgres.servers import NamedDatabase, databases

NEW = """
CREATE SCHEMA unused;
CREATE VIEW unused.things AS
    SELECT c.oid, c.relname, c.relkind, (
               SELECT string_agg(format('%s %s %s', attname, atttypid, attnotnull), ',' ORDER BY attnum)
                 FROM pg_attribute WHERE attrelid = c.oid AND c.relkind IN ('r', 'p') AND attnum > 0
           ) AS columns FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'i', 'I');
CREATE TABLE unused.known AS TABLE unused.things;
CREATE TABLE unused.rest (number INT GENERATED ALWAYS AS IDENTITY, relation REGCLASS, statement TEXT);
DO $$
DECLARE name TEXT;
BEGIN
    FOR name IN SELECT relname FROM unused.known WHERE relkind IN ('r', 'p') ORDER BY oid LOOP
        EXECUTE format('CREATE TABLE unused.%I AS TABLE public.%I', name, name);
        INSERT INTO unused.rest (relation, statement)
             VALUES (format('public.%I', name)::regclass, format('DELETE FROM public.%I', name));
        EXECUTE format('INSERT INTO unused.rest (statement) SELECT %L FROM unused.%I LIMIT 1',
                       format('INSERT INTO public.%I TABLE unused.%I', name, name), name);
    END LOOP;
    FOR name IN SELECT relname FROM unused.known WHERE relkind = 'S' LOOP
        INSERT INTO unused.rest (statement) VALUES (format('ALTER SEQUENCE public.%I RESTART', name));
    END LOOP;
END $$;
CREATE FUNCTION unused.renew(anew BOOLEAN) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE line TEXT;
BEGIN
    FOR line IN SELECT format('DROP %s IF EXISTS %s CASCADE',
                              CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                                           WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass)
                  FROM unused.things WHERE relkind NOT IN ('i', 'I') AND oid NOT IN (SELECT oid FROM unused.known) LOOP
        EXECUTE line;
    END LOOP;
    IF EXISTS (TABLE unused.things EXCEPT TABLE unused.known) OR EXISTS (TABLE unused.known EXCEPT TABLE unused.things)
       OR EXISTS (SELECT FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM unused.known))
    THEN
        RETURN FALSE;
    END IF;
    SET LOCAL session_replication_role = replica;
    -- Many dead rows would slow the next test down; a new file for each table takes longer than most tests do.
    FOR line IN SELECT CASE WHEN relation IS NOT NULL AND (anew OR pg_relation_size(relation) > 65536)
                            THEN format('TRUNCATE %s', relation)
                            ELSE statement END
                  FROM unused.rest ORDER BY number LOOP
        EXECUTE line;
    END LOOP;
    RETURN TRUE;
END $$;
"""
"""What a new database remembers of itself."""

_unused: list[str] = []
_kept: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}
"""Each with the connection that renews it: what a new one learns about the tables takes longer than what it does."""


def take() -> str:
    """The address of a database with ramet's tables and nothing in them that a new one has not."""
    uses(SERVER, "tests.postgres.database_pool")
    if _unused:
        return _unused.pop()
    url = databases().create(migrated=True)
    if isinstance(databases(), NamedDatabase):
        return url
    PostgresStore(url, inline=True).close_now()  # Fences of a copy have a beginning of their own.
    connection = _connected(url)
    connection.execute(NEW.encode())
    if not _kept:
        atexit.register(_drop_all)
    _kept[url] = connection
    return url


def give_back(url: str, *, anew: bool = False) -> None:
    """The test is over: its connections are cut, and the next test finds nothing of it.

    With ``anew`` not even the places of its rows on the disk, by which the order of rows may differ.
    """
    if url in _kept and _renewed(url, anew):
        _unused.append(url)
    else:
        if url in _kept:
            _kept.pop(url).close()
        databases().drop(url)


def leave(url: str) -> None:
    """Nobody but the test is connected to it from now on, and the server counts nothing for anybody else."""
    if url in _kept:
        _kept[url].close()


@contextlib.contextmanager
def database(*, anew: bool = False) -> Iterator[str]:
    """A database for as long as one looks at it."""
    url = take()
    try:
        yield url
    finally:
        give_back(url, anew=anew)


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(url, autocommit=True)


def _renewed(url: str, anew: bool) -> bool:
    try:
        return _renew(_kept[url], anew)
    except psycopg.OperationalError:  # The test ended it, or wanted to be alone.
        _kept[url].close()
        _kept[url] = _connected(url)
        return _renew(_kept[url], anew)


def _renew(connection: psycopg.Connection[tuple[Any, ...]], anew: bool) -> bool:
    connection.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    try:
        return connection.execute("SELECT unused.renew(%s)", (anew,)).fetchone() == (True,)
    except psycopg.errors.InsufficientPrivilege:
        return False  # Only a superuser may leave foreign keys aside; others make a database for every test.


def _drop_all() -> None:
    """On a server of its own they would end with it; somebody's server must not keep them."""
    for url, connection in _kept.items():
        connection.close()
        with contextlib.suppress(ServerError, psycopg.Error):
            databases().drop(url)
