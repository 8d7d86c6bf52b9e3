"""SQLite: a copy of a file in use by its backup interface, and a database made from one."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ramet.store.answers import BackupResult
from ramet.store.errors import StoreError, StoreMissing
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.requests import Progress
from ramet.store.rows.own_table_rows import quoted
from ramet.store.rows.own_tables import OwnTableChoice, declared
from ramet.store.schema.versions import check_newer
from ramet.store.session import COPIED
from ramet.store.sqlite.session import BUSY_SECONDS, SqliteSession, closed_to_all, store_error
from ramet.store.sqlite.store import SqliteStore, versions_of

NOTHING_SAID = OwnTableChoice()
PAGES = 2_048
"""Copied at a time."""


def backup_file(
    path: Path, target: Path, force: bool, progress: Progress | None, wanted: OwnTableChoice = NOTHING_SAID
) -> BackupResult:
    """See :func:`ramet.store.backup.copies.backup`."""
    check_target(path, target, force)
    with new_file(target, _mode(path)) as part:
        with closing(open_copy(path)) as source:
            check_schema(source, path)
            counted = _copy(source, part, progress)
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            left = _checked(copy, part, counted, wanted)
            readable_errors(part, lambda: finish(copy))
            made = copy_summary(copy, target, part)._replace(left_out=left)
        publish(part, target, force)
    return made


def restore_file(
    backup: Path,
    path: Path,
    *,
    force: bool,
    progress: Progress | None,
    clock: Callable[[], float],
    wanted: OwnTableChoice = NOTHING_SAID,
) -> BackupResult:
    """See :func:`ramet.store.backup.copies.restore`."""
    if not backup.is_file():
        raise StoreMissing(f"no backup at {backup}: give the path of a file that `ramet backup` made")
    check_target(backup, path, force)
    alive = ProcessRegistry(path).alive()
    if alive:
        raise StoreError(f"{len(alive)} workers run on {path} ({alive[0]}): stop them first, or restore beside it")
    with closed_to_all(path), new_file(path, _mode(backup)) as part:
        with closing(open_copy(backup)) as source:
            check_schema(source, backup)
            counted = _copy(source, part, progress)
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            left = _checked(copy, part, counted, wanted)
            readable_errors(part, lambda: check_typed(copy))
            readable_errors(part, lambda: finish(copy))
        SqliteStore(part, create=False, clock=clock, inline=True).close_now()  # begins the epoch
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            # Closed, it is one file, and still one with a write-ahead log: the doctor has nothing to say about it.
            readable_errors(part, lambda: copy.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            made = copy_summary(copy, path, part)._replace(left_out=left)
        replaced = _set_aside(path) if path.exists() else None
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)  # of a database that is not there any more
        publish(part, path, force=False)
    return made._replace(replaced=replaced)


def check_target(source: Path | None, target: Path, force: bool) -> None:
    """Refuse a place where a file cannot be put.

    Raises:
        StoreError: and why.
    """
    if target.is_dir():
        raise StoreError(f"{target} is a folder: give the path of a file in it")
    if not target.parent.is_dir():
        raise StoreError(f"the folder {target.parent} does not exist: create it or give another path")
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise StoreError(f"{target} is the database itself: give another path")
    if target.exists() and not force:
        raise StoreError(f"{target} exists: give another path, or --force to put the new one in its place")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError as error:
        raise StoreMissing(f"no database at {path}: give the right path with --db") from error


@contextmanager
def new_file(target: Path, mode: int) -> Iterator[Path]:
    """Yield a file beside the target that is gone at the end, unless it was given the target's name."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        raise StoreError(f"cannot write in {target.parent}: {error.strerror}") from error
    try:
        yield part
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(f"{part}{ending}").unlink(missing_ok=True)
        with suppress(OSError):
            part.with_name(f"{part.name}-ramet").rmdir()


def open_copy(path: Path) -> sqlite3.Connection:
    """For reading only."""
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    return connection


def readable_errors(path: Path, act: Callable[[], object]) -> None:
    """Convert errors of the file's database to one readable line."""
    try:
        act()
    except sqlite3.Error as error:
        raise store_error(error, path) from error


def check_schema(source: sqlite3.Connection, path: Path, *, whole: bool = False) -> int:
    """Return the schema version of a file; refuse one that is not ours, or newer (`whole` as for `check_newer`).

    Raises:
        StoreError: and what to do.
    """
    try:
        found = versions_of(SqliteSession(source, time.time))
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    if not found.schema:
        raise StoreMissing(f"{path} is not a ramet database: give the right path")
    check_newer(found, str(path), whole=whole)
    return found.schema


def _copy(source: sqlite3.Connection, part: Path, progress: Progress | None) -> dict[str, int]:
    """Copy what is committed now; rows by table. The reading transaction keeps that view, whatever is written then."""

    def tell(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        try:
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM sqlite_schema").fetchone()
            source.backup(copy, pages=PAGES, progress=tell)
            counted = rows_by_table(source)
            source.execute("ROLLBACK")
            return counted
        except sqlite3.Error as error:
            raise store_error(error, part) from error


def rows_by_table(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each table, ours and those of apps."""
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
    ).fetchall()
    return {name: connection.execute(f"SELECT COUNT(*) FROM {quoted(name)}").fetchone()[0] for (name,) in names}


def check_counts(there: Mapping[str, int], here: Mapping[str, int]) -> None:
    """Refuse a copy in which a table has not as many rows as it had.

    Raises:
        StoreError: which one.
    """
    for name, rows in there.items():
        if here.get(name) != rows:
            raise StoreError(
                f"{name} has {rows} rows and its copy {here.get(name)}: nothing was put in place; try again"
            )


def _checked(
    copy: sqlite3.Connection, part: Path, counted: Mapping[str, int], wanted: OwnTableChoice
) -> tuple[str, ...]:
    """Compare the rows of every table, then take out what is to be left; the names of those tables.

    Raises:
        StoreError: the rows differ, or a table of a server cannot be made in a file.
    """
    left = list[str]()

    def check() -> None:
        here = rows_by_table(copy)
        check_counts(counted, here)
        known = wanted.known(declared(SqliteSession(copy, time.time)))
        for name in own_tables_of(here):
            if wanted.leaves(name, known):
                copy.execute("PRAGMA secure_delete = ON")  # It may be left out for what it tells.
                copy.execute(f"DROP TABLE {quoted(name)}")
                copy.execute("UPDATE ramet_own_tables SET untyped = 0 WHERE name = ?", (name,))
                left.append(name)

    readable_errors(part, check)
    return tuple(left)


def check_typed(copy: sqlite3.Connection) -> None:
    """Refuse to use a backup of a server as a file where that cannot keep the types of a table.

    Raises:
        StoreError: which tables, and what to do.
    """
    names = [name for (name,) in copy.execute("SELECT name FROM ramet_own_tables WHERE untyped = 1 ORDER BY name")]
    if names:
        raise StoreError(
            f"a file cannot be made of {', '.join(names)} as the server has them (a definition, or a type in it, "
            "is the server's alone): restore to PostgreSQL, or leave them out with --leave NAME"
        )


def own_tables_of(counted: Iterable[str]) -> list[str]:
    """Those of all tables that are not ours."""
    return [name for name in counted if not name.startswith("ramet_")]


def finish(copy: sqlite3.Connection) -> None:
    """One file without a log beside it, marked as a copy, and sound."""
    copy.execute("PRAGMA journal_mode = DELETE")
    copy.execute("INSERT OR REPLACE INTO ramet_counters (name, value) VALUES (?, 1)", (COPIED,))
    [found] = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"the copy is not sound ({found}): `ramet doctor` tells more; nothing was put in place")


def copy_summary(copy: sqlite3.Connection, path: Path, part: Path) -> BackupResult:
    """Return a summary of the copy for people."""
    [lineages] = copy.execute("SELECT COUNT(*) FROM ramet_lineages").fetchone()
    [epoch] = copy.execute("SELECT value FROM ramet_counters WHERE name = 'epoch'").fetchone()
    counted = rows_by_table(copy)
    carried = tuple((name, counted[name]) for name in own_tables_of(counted))
    return BackupResult(str(path), part.stat().st_size, lineages, epoch, carried=carried)


def _set_aside(path: Path) -> str:
    """Rename the database that is there; with its log, where it could not be read."""
    kept, number = path.with_name(f"{path.name}.replaced"), 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.replaced{number}")
    path.rename(kept)
    for ending in ("-wal", "-shm"):
        beside = Path(f"{path}{ending}")
        if beside.exists():
            beside.rename(f"{kept}{ending}")
    return str(kept)


def publish(part: Path, target: Path, force: bool) -> None:
    """Give it its name, durably. Without ``force`` a file that came meanwhile is left alone."""
    handle = os.open(part, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        if force:
            part.replace(target)
        else:
            os.link(part, target)
    except FileExistsError as error:
        raise StoreError(f"{target} exists: give another path, or --force to put the new one in its place") from error
    except OSError:
        if target.exists():
            raise
        part.replace(target)  # a file system without hard links
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
