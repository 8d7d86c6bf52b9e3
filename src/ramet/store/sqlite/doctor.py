"""SQLite: what is wrong with a database file and the place where it lies. Opens it for reading only."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

from ramet.store.answers import Finding
from ramet.store.errors import StoreMissing
from ramet.store.processes.registry import network_file_system
from ramet.store.reads.path_doctor import recount_paths
from ramet.store.schema import versions as known
from ramet.store.schema.versions import check_newer
from ramet.store.session import Session
from ramet.store.sqlite.session import BUSY_SECONDS, SQLITE_VERSION_MIN, SqliteSession, store_error
from ramet.store.sqlite.store import versions_of

FREE_BYTES_MIN = 200_000_000
LOG_BYTES_MAX = 256_000_000
FAULTS_MAX = 10
"""Most faults of the file that are reported one by one."""

EACH_NODE = "json_each(p.nodes) n"

Look = Callable[[Session], Iterator[Finding]]


def examine_file(path: Path, clock: Callable[[], float], looks: Sequence[Look]) -> list[Finding]:
    """See :func:`ramet.store.doctor.examine`."""
    if not path.is_file():
        raise StoreMissing(f"no database at {path}: give the right path with --db")
    found = [*_place(path), *_room(path)]
    try:
        with closing(_open(path)) as connection:
            session = SqliteSession(connection, clock)
            of = versions_of(session)
            if not of.schema:
                raise StoreMissing(f"{path} is not a ramet database: give the right path with --db")
            check_newer(of, str(path))
            found += _file(connection, path)
            if of.schema < known.PLAN.version:
                what = f"the schema is {of.schema}, this ramet writes {known.PLAN.version}"
                return [*found, Finding("schema", "warning", what, "run `ramet migrate`")]
            session.begin(write=False)
            session.start_verb()
            every: list[Look] = [*looks, partial(recount_paths, each=EACH_NODE)]
            for look in every:
                found += look(session)
            session.rollback()
    except sqlite3.DatabaseError as error:
        readable = store_error(error, path)
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise readable from error
        found.append(Finding("file", "error", str(readable), "restore a backup: ramet restore BACKUP"))
    return found


def _open(path: Path) -> sqlite3.Connection:
    """Open for reading only; where not even the log's index may be made, as a file that does not change."""
    try:
        return _opened(path, "mode=ro")
    except sqlite3.OperationalError:
        try:
            return _opened(path, "immutable=1")
        except sqlite3.OperationalError as error:
            raise store_error(error, path) from error


def _opened(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _place(path: Path) -> Iterator[Finding]:
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        least = ".".join(map(str, SQLITE_VERSION_MIN))
        yield Finding("sqlite", "error", f"SQLite {sqlite3.sqlite_version} is older than {least}", "upgrade Python")
    kind = network_file_system(path.parent)
    if kind is not None:
        yield Finding("place", "error", f"{path} is on a network file system ({kind}): its locks cannot be trusted",
                      "move it to a local disk")  # fmt: skip
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            yield Finding("permissions", "error", f"{place} cannot be written by this user",
                          "make the file and its folder writable for the user that runs workers")  # fmt: skip


def _room(path: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(path.parent).free
    if free < FREE_BYTES_MIN:
        yield Finding("room", "warning", f"{free:,} bytes are left on the disk of {path}",
                      "free some space, or let `ramet prune` make room in the file")  # fmt: skip
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        yield Finding("room", "warning", f"the write-ahead log has {log.stat().st_size:,} bytes",
                      "look for a program that holds a reading transaction open")  # fmt: skip


def _file(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    with path.open("rb") as file:  # A connection that takes the file for immutable never says WAL.
        logged = file.read(20)[18:] == b"\2\2"
    if not logged:
        yield Finding("journal", "warning", "the journal mode is not WAL", "any worker or command sets it to WAL")
    for (line,) in connection.execute(f"PRAGMA integrity_check({FAULTS_MAX})"):
        if line != "ok":
            yield Finding("integrity", "error", line, "stop the workers and restore a backup: ramet restore BACKUP")
