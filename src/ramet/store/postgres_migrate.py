"""PostgreSQL: how a database gets its tables and comes to its version (decision 37)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import psycopg
from psycopg import errors

from ramet.store.epoch import begin_epoch, fence_base
from ramet.store.errors import StoreError, StoreMissing, StoreNewer
from ramet.store.postgres_schema import migrations
from ramet.store.postgres_session import PostgresSession
from ramet.store.schema import SCHEMA_VERSION
from ramet.store.session import Session

_CREATES = re.compile(r"\s*CREATE\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW)\s+IF\s+NOT\s+EXISTS\s+([\w.\"]+)", re.IGNORECASE)


def migrate(session: PostgresSession, place: str, create: bool) -> None:
    """Bring the schema to this version, in one transaction, under the lock that all writers share.

    Raises:
        StoreMissing: the database has no schema of ours and ``create`` is False.
        StoreNewer: a newer ramet wrote it.
    """
    if schema_version(session) == SCHEMA_VERSION:
        return
    session.begin("alone")
    try:
        version = schema_version(session)
        if not version and not create:
            raise StoreMissing(f"{place} has no ramet tables: `ramet migrate` makes them, or give another --db")
        if version > SCHEMA_VERSION:
            raise StoreNewer(
                f"{place} has schema {version}, this ramet knows {SCHEMA_VERSION}: upgrade ramet to open it"
            )
        for step in migrations()[version:]:
            for statement in step:
                session.connection.execute(statement.encode())
        if version < SCHEMA_VERSION:
            session.run("UPDATE ramet_counters SET value = ? WHERE name = 'schema'", (SCHEMA_VERSION,))
        session.commit()
    except errors.InsufficientPrivilege as error:
        raise may_not(error, place) from error
    finally:
        session.rollback()


def may_not(error: psycopg.Error, place: str) -> StoreError:
    """What a role is told that lacks a right."""
    said = str(error).strip().splitlines()[0]
    return StoreError(
        f"{place}: this user may not make the tables ({said}): run `ramet migrate` once as one who may, "
        "or GRANT CREATE ON SCHEMA public TO the user"
    )


def missing_tables(session: Session, statements: Sequence[str]) -> list[str]:
    """Those of an app's own ``CREATE ... IF NOT EXISTS`` that would do something; and all that are of another form."""
    names = [found[1] if (found := _CREATES.match(statement)) else None for statement in statements]
    asked = [name for name in names if name is not None]
    there = {
        name
        for (name,) in session.rows("SELECT n FROM unnest(?::text[]) AS n WHERE to_regclass(n) IS NOT NULL", (asked,))
    }
    return [statement for name, statement in zip(names, statements, strict=True) if name is None or name not in there]


def schema_version(session: PostgresSession) -> int:
    """0 for a database without our tables."""
    if not session.rows("SELECT 1 WHERE to_regclass('ramet_counters') IS NOT NULL"):
        return 0
    [(version,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'schema'")
    return int(version)


def begun(session: PostgresSession) -> int:
    """Where fences begin in this copy of the database; of several that open a copy, one begins its epoch."""
    base = fence_base(session)
    if base >= 0:
        return base
    session.begin("alone")
    try:
        base = fence_base(session)
        if base < 0:
            base = begin_epoch(session)
        session.commit()
    finally:
        session.rollback()
    return base
