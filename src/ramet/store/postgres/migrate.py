"""PostgreSQL: the schema, and how a database gets its tables and comes to its version (docs/decisions/0037)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Event

import psycopg
from psycopg import errors

from ramet.store.address import shown
from ramet.store.errors import StoreBusy, StoreError, StoreMissing, StoreOlder
from ramet.store.postgres import partitions
from ramet.store.postgres.connect import open_connection
from ramet.store.postgres.partitions import PARTED, STATEMENTS, first_parts
from ramet.store.postgres.session import PostgresSession
from ramet.store.rows import own_tables
from ramet.store.schema import versions as known
from ramet.store.schema.versions import MigrationResult, SchemaPlan, Versions, check_newer, store_versions, versions
from ramet.store.session import Session, begin_epoch, fence_base

_TYPES = (
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    # Names compare byte by byte, as on SQLite, whatever language the database was made for.
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) WITHOUT ROWID\b"), ")"),
)
_CREATED = re.compile(r"\s*CREATE TABLE (\w+)")

# Rows that are rewritten all the time find room on their own page, so that no index has to learn of it, and dead ones
# go soon: a vacuum after thousands of changes instead of a fifth of the table.
_BUSY = (
    "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, "
    "autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05, "
    "autovacuum_vacuum_cost_delay = 0"
)
_SETTINGS = {
    "ramet_live": _BUSY,
    "ramet_lineages": _BUSY,
    "ramet_turns": _BUSY,
    "ramet_counters": _BUSY,
    "ramet_resources": _BUSY,
    "ramet_holds": _BUSY,
    "ramet_spend": _BUSY,
    "ramet_writers": _BUSY,
    "ramet_checkpoints": _BUSY,
    "ramet_paths": _BUSY,
    "ramet_path_holders": _BUSY,
    "ramet_path_waves": _BUSY,
    "ramet_tallies": _BUSY.replace("70", "20"),  # A few wide rows, each written again by every commit.
    "ramet_tally_reasons": _BUSY,
}

_OWN = (
    "CREATE TABLE ramet_writers (id BIGINT PRIMARY KEY, commits BIGINT NOT NULL, seen_at TIMESTAMPTZ NOT NULL, "
    "schema BIGINT NOT NULL)",
    "CREATE SEQUENCE ramet_task_numbers",
    # A block of numbers in a row. The lock is held for the call only, so no commit of another is waited for.
    """
    CREATE FUNCTION ramet_take_numbers(wanted BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
    DECLARE
        first BIGINT;
    BEGIN
        PERFORM pg_advisory_lock(1919774573, 1);
        first := nextval('ramet_task_numbers');
        PERFORM setval('ramet_task_numbers', first + wanted - 1);
        PERFORM pg_advisory_unlock(1919774573, 1);
        RETURN first;
    END
    $$
    """,
)
_NEXT_NUMBER = (
    "CREATE VIEW ramet_next_number AS SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END AS number "
    "FROM ramet_task_numbers"
)


def translated_steps(plan: SchemaPlan) -> Sequence[Sequence[str]]:
    """Statements that lead from version n to n + 1, at index n."""
    first = [*_OWN, *(_translated(statement) for statement in plan.steps[0])]
    first += [f"ALTER TABLE {table} SET ({settings})" for table, settings in _SETTINGS.items()]
    first += [*STATEMENTS, *first_parts(partitions.TASKS_PER_PART)]
    return [first, *([_translated(statement) for statement in step] for step in plan.steps[1:])]


def _translated(statement: str) -> str:
    if statement.startswith("CREATE VIEW ramet_next_number"):
        return _NEXT_NUMBER
    for pattern, name in _TYPES:
        statement = pattern.sub(name, statement)
    created = _CREATED.match(statement)
    if created is not None and created[1] in PARTED:
        # An id is unique in each part, by an index of the part's own (docs/decisions/0035).
        statement = f"{statement.rstrip().replace(' UNIQUE', '')} PARTITION BY RANGE (seq)"
    return statement


WRITING_SECONDS = 60
"""A program that wrote so lately is taken to be running."""
LOCK_SECONDS = 3
"""Seconds for which a step waits for a table before it lets all others pass and tries again."""
TRIES = 20
PAUSE_SECONDS = 1.0

_NEVER = Event()

_CREATES = re.compile(r"\s*CREATE\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW)\s+IF\s+NOT\s+EXISTS\s+([\w.\"]+)", re.IGNORECASE)


def migrate_database(
    url: str, *, check: bool = False, tables: Sequence[str] = (), grant_to: str | None = None
) -> MigrationResult:
    """See :func:`ramet.store.opening.migrate`."""
    place, session = shown(url), PostgresSession(open_connection(url), None)
    try:
        if check:
            found = versions_of(session)
            check_newer(found, place)
            return MigrationResult(place, found.schema, max(found.schema, known.PLAN.version), check)
        before, after = advance(session, place)
        _own(session, place, tables, grant_to)
        return MigrationResult(place, before, after)
    except psycopg.Error as error:
        raise StoreError(f"{place}: {str(error).strip().splitlines()[0]}") from error
    finally:
        session.close()


def _own(session: PostgresSession, place: str, tables: Sequence[str], grant_to: str | None) -> None:
    """Return the app's additions to our tables, and the roles that may use all of them."""
    session.begin("alone")
    try:
        own_tables.create(session, tables, missing_tables(session, tables))
        if grant_to is not None:
            grant(session, grant_to, created_tables(tables))
        session.commit()
    except errors.InsufficientPrivilege as error:
        raise _missing_privileges(error, place) from error
    finally:
        session.rollback()


def prepare(session: PostgresSession, place: str, create: bool) -> None:
    """See that a program of this version can use the database; make the tables in an empty one. No step is taken by
    opening: when to change a database on which others work is for people to say.

    Raises:
        StoreMissing: there are no tables of ours and ``create`` is False.
        StoreOlder: it is to be migrated first.
        StoreNewer: only newer programs may write to it.
    """
    found = versions_of(session)
    if found.schema == known.PLAN.version:
        return
    if not found.schema:
        if not create:
            raise StoreMissing(f"{place} has no ramet tables: `ramet migrate` makes them, or give another --db")
        advance(session, place)
        return
    check_newer(found, place)
    if found.schema < known.PLAN.version:
        raise StoreOlder(
            f"{place} has schema {found.schema}, this ramet writes {known.PLAN.version}: run `ramet migrate` first; "
            "workers of the older version may run meanwhile, if it does not say otherwise"
        )


def advance(session: PostgresSession, place: str, *, pause: Callable[[float], object] = _NEVER.wait) -> tuple[int, int]:
    """Bring the schema to this program's version; return the versions before and after.

    All of it is one transaction, alone with the database: whatever stops it, the database is of one version or of the
    other. Writers wait for it. It never makes them wait behind a reader: it lets them pass and tries again.

    Raises:
        StoreNewer: a newer ramet made it.
        StoreBusy: older programs write that may not go on, or a transaction holds a table for too long.
        StoreError: this user may not change the tables.
    """
    for tried in range(TRIES):
        if tried:
            pause(PAUSE_SECONDS)
        try:
            return _advance_once(session, place, known.PLAN)
        except errors.LockNotAvailable:
            continue
        except errors.InsufficientPrivilege as error:
            raise _missing_privileges(error, place) from error
        finally:
            session.rollback()
    raise StoreBusy(f"{place}: a long transaction holds a table: `ramet doctor` names it; end it, then try again")


def _advance_once(session: PostgresSession, place: str, plan: SchemaPlan) -> tuple[int, int]:
    session.begin("alone")
    session.connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode())
    found = versions_of(session)
    check_newer(found, place)
    if found.schema >= plan.version:
        return found.schema, found.schema
    oldest = plan.compatible_from[-1]
    if found.schema:
        _need_no_older(session, place, oldest)
    for step in translated_steps(plan)[found.schema :]:
        for statement in step:
            session.connection.execute(statement.encode())
    store_versions(session, plan)
    if oldest > 1:
        _refuse_older_writers(session, oldest)
    session.commit()
    return found.schema, plan.version


def _need_no_older(session: PostgresSession, place: str, oldest: int) -> None:
    """Refuse to go where programs that write just now could not follow."""
    [(count,)] = session.rows(
        f"SELECT COUNT(*) FROM ramet_writers WHERE schema < ? AND seen_at > now() - interval '{WRITING_SECONDS} s'",
        (oldest,),
    )
    if count:
        raise StoreBusy(
            f"{place}: programs of an older ramet wrote to it in the last {WRITING_SECONDS} s, and this migration is "
            "not for them: stop them, then run it again"
        )


def _refuse_older_writers(session: PostgresSession, oldest: int) -> None:
    """Make every commit write its version into this table, so that an older program that wakes up later cannot
    commit.
    """
    session.run("DELETE FROM ramet_writers WHERE schema < ?", (oldest,))
    session.connection.execute(
        "ALTER TABLE ramet_writers DROP CONSTRAINT IF EXISTS ramet_writers_schema, "
        f"ADD CONSTRAINT ramet_writers_schema CHECK (schema >= {oldest})".encode()
    )


def _missing_privileges(error: psycopg.Error, place: str) -> StoreError:
    said = str(error).strip().splitlines()[0]
    return StoreError(
        f"{place}: this user may not make or change the tables ({said}): run `ramet migrate` once as one who may "
        "(it takes --grant USER), or GRANT CREATE ON SCHEMA public TO the user"
    )


def missing_tables(session: Session, statements: Sequence[str]) -> list[str]:
    """Those of an app's own ``CREATE ... IF NOT EXISTS`` that would do something; and all that are of another form."""
    names = [found[1] if (found := _CREATES.match(statement)) else None for statement in statements]
    asked = [name for name in names if name is not None]
    sql = "SELECT name FROM unnest(?::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
    there = {name for (name,) in session.rows(sql, (asked,))} if asked else set()
    return [statement for name, statement in zip(names, statements, strict=True) if name is None or name not in there]


def versions_of(session: Session) -> Versions:
    """Of any database."""
    if not session.rows("SELECT 1 WHERE to_regclass('ramet_counters') IS NOT NULL"):
        return Versions(0, 0)
    return versions(session)


def grant(session: PostgresSession, role: str, tables: Sequence[str]) -> None:
    """Give a role what workers and commands need, and no more: it changes rows, and makes and drops nothing.

    Args:
        tables: of the app's own, beside ours.

    Raises:
        StoreError: there is no such role, or this user may not give it rights.
    """
    [(name, schema)] = session.rows("SELECT quote_ident(?), quote_ident(current_schema())", (role,))
    ours = [
        table
        for (table,) in session.rows(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
            "AND c.relkind IN ('r', 'p', 'v') AND (c.relname LIKE 'ramet@_%' ESCAPE '@' "
            "OR c.oid = ANY (SELECT to_regclass(n)::oid FROM unnest(?::text[]) AS n)) ORDER BY 1",
            (list(tables),),
        )
    ]
    try:
        session.connection.execute(
            f"GRANT USAGE ON SCHEMA {schema} TO {name}; "
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {', '.join(ours)} TO {name}; "
            f"GRANT USAGE, SELECT, UPDATE ON SEQUENCE ramet_task_numbers TO {name}".encode()
        )
    except psycopg.Error as error:
        raise StoreError(f"cannot give rights to {role}: {str(error).strip().splitlines()[0]}") from error


def created_tables(statements: Sequence[str]) -> list[str]:
    """Names of the tables that an app's statements make."""
    made = re.compile(r"\s*CREATE\s+TABLE\s+IF\s+NOT\s+EXISTS\s+([\w.\"]+)", re.IGNORECASE)
    return [found[1] for statement in statements if (found := made.match(statement))]


def begun_fence_base(session: PostgresSession) -> int:
    """Return the number at which fences begin in this copy of the database; of several that open a copy, one begins its
    epoch.
    """
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
