"""PostgreSQL: a backup as the same file that a SQLite database makes, and an empty database filled from such a file.

Our tables are the same in both, column by column; those that apps declared see
:mod:`ramet.store.backup.postgres_tables`.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import psycopg

from ramet.store.address import shown
from ramet.store.answers import BackupResult
from ramet.store.backup.postgres_tables import ROWS, OwnTablesOfFile, OwnTablesOfServer, copied_out
from ramet.store.backup.sqlite_file import (
    NOTHING_SAID,
    check_counts,
    check_schema,
    check_target,
    copy_summary,
    finish,
    new_file,
    open_copy,
    publish,
    readable_errors,
    rows_by_table,
)
from ramet.store.errors import StoreError, StoreMissing, StoreUncertain
from ramet.store.postgres.connect import open_connection
from ramet.store.postgres.errors import CommitUnknown, first_line, store_error
from ramet.store.postgres.migrate import advance, versions_of
from ramet.store.postgres.session import PostgresSession
from ramet.store.requests import Progress
from ramet.store.rows.own_table_rows import quoted
from ramet.store.rows.own_tables import OwnTableChoice
from ramet.store.schema import versions as known
from ramet.store.schema.versions import check_newer
from ramet.store.session import begin_epoch
from ramet.store.sqlite.session import store_error as sqlite_error
from ramet.store.sqlite.store import SqliteStore

_NEVER = Event()
LOOKS = 20
LOOK_AGAIN_SECONDS = 0.1


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.columns)


def backup_server(
    url: str, target: Path, force: bool, progress: Progress | None, wanted: OwnTableChoice = NOTHING_SAID
) -> BackupResult:
    """See :func:`ramet.store.backup.copies.backup`."""
    check_target(None, target, force)
    place = shown(url)
    with closing(PostgresSession(open_connection(url), None)) as session, _readable_errors(place):
        session.begin("read")  # One snapshot for all tables; it delays only vacuum.
        _check_version(session, place)
        own = OwnTablesOfServer(session, wanted)
        with new_file(target, 0o600) as part:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                readable_errors(part, lambda: _fill_file(copy, session, own, progress))
                readable_errors(part, lambda: finish(copy))
                made = copy_summary(copy, target, part)
            publish(part, target, force)
        return made._replace(left_out=own.left)


def _fill_file(
    copy: sqlite3.Connection, session: PostgresSession, own: OwnTablesOfServer, progress: Progress | None
) -> None:
    copy.execute("PRAGMA journal_mode = OFF")  # A half made one is thrown away, so nothing has to be undone,
    copy.execute("PRAGMA synchronous = OFF")  # and what is made is synchronised once, as a file.
    for step in known.PLAN.steps:
        for statement in step:
            copy.execute(statement)
    tables = _tables(copy)
    [(expected,)] = session.rows(
        "SELECT COALESCE(SUM(GREATEST(reltuples, 0)), 0)::bigint FROM pg_class WHERE oid = ANY "
        "(SELECT to_regclass(name)::oid FROM unnest(?::text[]) AS name)",
        ([*(table.name for table in tables), *map(quoted, own.carried)],),
    )
    done = 0

    def tell(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done, max(expected, done + 1))

    for table in tables:
        copy.execute("BEGIN")
        copy.execute(f"DELETE FROM {table.name}")
        marks = ", ".join("?" * len(table.columns))
        for rows in _rows_of(session, table):
            copy.executemany(f"INSERT INTO {table.name} ({table.listed}) VALUES ({marks})", rows)
            tell(len(rows))
        copy.execute("COMMIT")
    there = {table.name: session.rows(f"SELECT COUNT(*) FROM {table.name}")[0][0] for table in tables}
    check_counts(there, rows_by_table(copy))
    own.fill(copy, tell)
    check_counts(own.count(), rows_by_table(copy))
    # A sequence hands out the numbers there. It is past all that the snapshot shows.
    [(number,)] = session.rows("SELECT number FROM ramet_next_number")
    copy.execute("UPDATE ramet_counters SET value = ? WHERE name = 'task'", (number,))
    if progress is not None:
        progress(done, done)


def _rows_of(session: PostgresSession, table: _Table) -> Iterator[list[tuple[Any, ...]]]:
    kinds: dict[str, str] = dict(
        session.rows(
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = to_regclass(?) AND attnum > 0",
            (table.name,),
        )
    )
    sql = f"COPY (SELECT {table.listed} FROM {table.name}) TO STDOUT (FORMAT BINARY)"
    return copied_out(session, sql, [kinds[column] for column in table.columns])


def restore_server(
    backup: Path, url: str, progress: Progress | None, wanted: OwnTableChoice = NOTHING_SAID
) -> BackupResult:
    """See :func:`ramet.store.backup.copies.restore`."""
    place = shown(url)
    if not backup.is_file():
        raise StoreMissing(f"no backup at {backup}: give the path of a file that `ramet backup` made")
    with (
        _of_this_version(backup) as source,
        closing(PostgresSession(open_connection(url), None)) as session,
        _readable_errors(place, backup),
    ):
        own = OwnTablesOfFile(source, session, wanted, new=not versions_of(session).schema)
        advance(session, place)
        try:
            session.begin("alone")
            _need_empty(session, place)
            carried = _fill_server(session, source, own, progress)
            epoch = _begin_epoch(session)
            [(size,)] = session.rows("SELECT pg_database_size(current_database())")
            [(lineages,)] = session.rows("SELECT COUNT(*) FROM ramet_lineages")
            session.commit()
        except CommitUnknown as error:
            raise StoreUncertain(
                f"{place} went away at the end: look with `ramet status` whether it is there"
            ) from error
        finally:
            session.rollback()
        session.run("ANALYZE")
    return BackupResult(place, size, lineages, epoch, left_out=own.left, carried=carried)


def _begin_epoch(session: PostgresSession) -> int:
    """Begin an epoch in what was just copied; its number."""
    begin_epoch(session)
    [(epoch,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'epoch'")
    return int(epoch)


def _need_empty(session: PostgresSession, place: str) -> None:
    if session.rows("SELECT 1 FROM ramet_lineages LIMIT 1") or session.rows("SELECT 1 FROM ramet_tasks LIMIT 1"):
        raise StoreError(f"{place} has tasks, and they are not replaced: give the address of an empty database")
    programs = 0
    for _ in range(LOOKS):  # A program that has just ended may leave its connections to the server for a moment.
        session.rows("SELECT pg_stat_clear_snapshot()")
        [(programs,)] = session.rows(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'ramet' AND pid <> pg_backend_pid()"
        )
        if not programs:
            return
        _NEVER.wait(LOOK_AGAIN_SECONDS)
    # They remember where fences began.
    raise StoreError(f"{place} is in use by ramet programs ({programs} connections): stop them first")


def _fill_server(
    session: PostgresSession, source: sqlite3.Connection, own: OwnTablesOfFile, progress: Progress | None
) -> tuple[tuple[str, int], ...]:
    """Fill all tables; the rows of those that are not ours."""
    tables = _tables(source)
    count = {table: source.execute(f"SELECT COUNT(*) FROM {table.name}").fetchone()[0] for table in tables}
    owned = own.count()
    total, done = sum(count.values()) + sum(owned.values()), 0

    def tell(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done, total + 1)

    [last] = source.execute("SELECT value FROM ramet_counters WHERE name = 'task'").fetchone()
    session.rows("SELECT ramet_make_room(?)", (last,))
    for table in tables:
        session.run(f"DELETE FROM {table.name}")
        rows = source.execute(f"SELECT {table.listed} FROM {table.name}")
        try:
            with session.connection.cursor().copy(f"COPY {table.name} ({table.listed}) FROM STDIN".encode()) as copy:
                while found := rows.fetchmany(ROWS):
                    for row in found:
                        copy.write_row(row)
                    tell(len(found))
        except psycopg.Error as error:
            raise StoreError(f"a row of {table.name} cannot be kept there: {first_line(error)}") from error
        [(there,)] = session.rows(f"SELECT COUNT(*) FROM {table.name}")
        check_counts({table.name: count[table]}, {table.name: there})
    session.run("SELECT setval('ramet_task_numbers', value, false) FROM ramet_counters WHERE name = 'task'")
    carried = own.fill(owned, tell)
    if progress is not None:
        progress(total, total)
    return carried


@contextmanager
def _of_this_version(backup: Path) -> Iterator[sqlite3.Connection]:
    """Yield the backup, sound and of the schema that we write; an older one is brought to it in a copy."""
    with closing(open_copy(backup)) as source:
        version = check_schema(source, backup, whole=True)
        [sound] = source.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise StoreError(f"{backup} is not sound ({sound}): take another backup")
        if version == known.PLAN.version:
            source.execute("BEGIN")  # One view of it, in case the database is in use.
            yield source
            return
        with tempfile.TemporaryDirectory(prefix="ramet-") as folder:
            path = Path(folder) / "copy.db"
            with closing(sqlite3.connect(path)) as copy:
                source.backup(copy)
            SqliteStore(path, create=False, inline=True).close_now()
            with closing(open_copy(path)) as migrated:
                yield migrated


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """Our tables with their columns, as this version has them."""
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ramet@_%' ESCAPE '@' ORDER BY name"
    )
    return [_Table(name, _columns(connection, name)) for (name,) in names.fetchall()]


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))


def _check_version(session: PostgresSession, place: str) -> None:
    found = versions_of(session)
    if not found.schema:
        raise StoreMissing(f"{place} has no ramet tables: give another --db")
    if found.schema < known.PLAN.version:
        raise StoreError(f"{place} has schema {found.schema}: run `ramet migrate` first")
    check_newer(found, place, whole=True)


@contextmanager
def _readable_errors(place: str, backup: Path | None = None) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        assert backup is not None
        raise sqlite_error(error, backup) from error
    except psycopg.Error as error:
        raise store_error(error, place) from error
