"""SQLite: the file and the clock of its machine, connections, and a transaction on one of them.

Deadlines, leases and schedules are stored as Unix seconds, so a clock that is set wrong for a moment would end every
open lineage at once. A jump is believed when it has lasted; small corrections are followed as they come.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from ramet.store.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreMoved, StoreUnsafe
from ramet.store.rows import tallies
from ramet.store.scan_floor import ScanFloors
from ramet.store.session import (
    LOOKS_MAX,
    EndedGroup,
    Insert,
    Row,
    RowWriter,
    StatementFailed,
    StatementTimedOut,
    TallyNotes,
    TransactionConflict,
    TransactionRolledBack,
    Write,
)
from ramet.store.sqlite.bulk import statements
from ramet.store.state.lanes import SETTLING, stepwise_ends

PROCESSES = Path("/proc")
LOOK_SECONDS = 1.0
"""A program that has just ended may leave its file to the system for a moment."""
Identity = tuple[int, int]


class OpenedFile:
    """A database's file and its log, as they were when they were opened."""

    def __init__(self, path: Path, before: Identity | None) -> None:
        """Take down which file is meant, once it is open and whatever folder the program goes to later.

        Args:
            path: of the file.
            before: what was there before it was opened.

        Raises:
            StoreMoved: another file took its place while it was opened.
        """
        self._path = path.absolute()
        self._files: dict[str, Identity | None] = {str(self._path): before or identity(self._path)}
        self.check()

    def check(self) -> None:
        """Do nothing while they are where they were; called where the log is open, too.

        Raises:
            StoreMoved: they are not.
        """
        for name, known in list(self._files.items()):  # The reader's thread may add to it.
            if identity(name) != known:
                raise StoreMoved(
                    f"{self._path} was moved, deleted or replaced while it was open: nothing of this step was written; "
                    "start this program again"
                )
        if len(self._files) == 1:
            log = f"{self._path}-wal"
            if (found := identity(log)) is not None:
                self._files[log] = found


def identity(path: str | Path) -> Identity | None:
    """Return the identity of the file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def closed_to_all(path: Path) -> Iterator[None]:
    """Yield a file that no program has open, and that none can use until the end; a file that cannot be read is left
    alone.

    Raises:
        StoreError: which processes have it open.
    """
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=LOOK_SECONDS, isolation_level=None)) as connection:
        try:
            # Only who is alone with a file may take its log away: every connection holds a lock as long as it is open.
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StoreError(
                    f"programs have {path} open{_processes(path)}: stop them first, or restore beside it"
                ) from error
        yield


def _processes(path: Path) -> str:
    """Return the processes, where the system names them."""
    wanted, found = identity(path), []
    for handles in PROCESSES.glob("[0-9]*/fd"):
        with suppress(OSError):
            if any(identity(handle) == wanted for handle in handles.iterdir()):
                found.append(handles.parent.name)
    return f" (processes {', '.join(sorted(found, key=int))})" if found else ""


BUSY_SECONDS = 30.0
BUSY_PAUSE_SECONDS = 0.005
SQLITE_VERSION_MIN = (3, 37, 0)
FREE_BYTES_MIN = 65_536
"""Free bytes below which a disk counts as full: the index of the write-ahead log alone takes half of it."""

OWN_SECONDS_MAX = 5.0
"""Most seconds that the statements of one handler may take: meanwhile no other can write."""
OWN_STEPS = 100_000
"""Steps of SQLite's machine between two looks at the clock."""

Hook = Callable[[str, str], None]
"""Called with ``before`` or ``after`` and the SQL of every statement; crash tests raise in it."""


NULLS_WORTH_WRITING_OUT = 2
ROWS_WORTH_LOOKING_AT = 8


def _nulls_written_out(write: Write, rows: Sequence[Sequence[Any]]) -> tuple[str, Iterable[Sequence[Any]]]:
    """Return SQL with NULL in its text wherever every row has None, and the values of the other columns.

    The driver asks for an adapter for every None that it binds, which takes ten times as long as binding a number; most
    of the columns of a hot row are NULL.
    """
    if len(rows) < ROWS_WORTH_LOOKING_AT:
        return write.one_row, rows
    nulls = [at for at, value in enumerate(rows[0]) if value is None]
    if len(nulls) < NULLS_WORTH_WRITING_OUT:
        return write.one_row, rows
    blank = (None,) * len(nulls)
    if any(values != blank for values in map(itemgetter(*nulls), rows)):
        return write.one_row, rows
    written_out, kept = _written_out(write, tuple(nulls))
    return written_out, map(kept, rows)


@cache
def _written_out(write: Write, nulls: tuple[int, ...]) -> tuple[str, Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """Return the SQL with those values written out, and what takes the others from a row."""
    others = [at for at in range(write.width) if at not in nulls]
    if len(others) < 2:  # an itemgetter of one gives no tuple
        return write.one_row, tuple
    marks = ["NULL" if at in nulls else "?" for at in range(write.width)]
    return write.text(marks), itemgetter(*others)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection as ramet needs it: write-ahead log, full durability, no implicit transactions."""
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old: ramet needs {'.'.join(map(str, SQLITE_VERSION_MIN))}"
        )
    connection = None
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        _use_write_ahead_log(connection)
        # A submit that was answered must survive a power cut (promise I1); with batches, FULL costs next to nothing.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise store_error(error, path) from error
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Turn a new file to the write-ahead log.

    Of several that do it at once SQLite refuses all but one without the time-out that every other statement has:
    waiting might be a deadlock, so it says busy at once.
    """
    retry_while_busy(partial(connection.execute, "PRAGMA journal_mode = WAL"), BUSY_PAUSE_SECONDS)


def retry_while_busy(step: Callable[[], object], pause_seconds: float) -> None:
    """Do a step, as often as it takes until no other connection holds the lock that it needs.

    Raises:
        sqlite3.OperationalError: another connection has held it for too long, or the step failed otherwise.
    """
    give_up_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            step()
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= give_up_at:
                raise
        time.sleep(pause_seconds)


def is_busy(error: sqlite3.Error) -> bool:
    """Return True when another connection holds the lock that this one needs."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or "locked" in str(error)


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """One line that says what to do, for what the file system or another process did to us."""
    text = str(error)
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith("SQLITE_FULL") or "disk is full" in text or (code.startswith("SQLITE_IOERR") and _full(path)):
        return StoreFull(f"the disk with {path} is full: free some space; nothing of this step was written")
    if is_busy(error):
        return StoreBusy(f"another process has held {path} for {BUSY_SECONDS:.0f} s: stop it or try again")
    if code == "SQLITE_READONLY_DBMOVED":
        return StoreMoved(f"{path} was moved, deleted or replaced while it was open: start this program again")
    if code.startswith("SQLITE_READONLY") or "readonly" in text:
        return StoreUnsafe(f"{path} is read-only: make the file and its folder writable")
    if code.startswith("SQLITE_CANTOPEN") or "unable to open" in text:
        return StoreError(f"cannot open {path}: check that its folder exists and is writable")
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "not a database" in text:
        return StoreCorrupt(f"{path} is not a readable SQLite database ({text}): give another file or restore a backup")
    return StoreError(f"{path}: {text}")


def _full(path: Path) -> bool:
    """Return True when no space is left, which SQLite tells as an I/O error where it cannot make its log or index."""
    try:
        from shutil import disk_usage  # Late, as the archive formats that shutil loads are needed by no command.

        return disk_usage(path.parent).free < FREE_BYTES_MIN
    except OSError:
        return False


# Beside its own errors the driver raises these for values that SQLite cannot hold and for two statements in one.
_STATEMENT_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, TransactionConflict)
_UNUSABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_READONLY", "SQLITE_NOTADB", "SQLITE_BUSY")


def _unusable(error: Exception) -> bool:
    """Whether it is about the file, and not about what was asked for."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith(_UNUSABLE)


class SqliteSession(RowWriter):
    """A transaction on a SQLite connection; see :class:`ramet.store.session.Session`."""

    # One transaction writes at a time, from its first statement on.
    for_update = ""
    borrowed = False
    skip_locked = ""
    compares_rows = False

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float], hook: Hook | None = None) -> None:
        self._connection = connection
        self._clock = clock
        self._hook = hook
        self._depth = 0
        self.now = 0.0
        self.fence_base = 0
        self.floors: ScanFloors | None = None
        self.looks_left = LOOKS_MAX
        self.offsets: dict[str, float] | None = None
        self.denied: int | None = None
        self.found_nothing = self.rows_left = self.unchanged = False
        self.woken = False
        self.noted: list[TallyNotes] = []
        self.written: list[TallyNotes] = []
        self.words: dict[str, set[str]] = {}
        self.place: OpenedFile | None = None
        """Place of the file when it was opened; checked before any answer."""

    def begin(self, *, write: bool) -> None:
        """Open the transaction. A writer takes its lock at once, so that nothing it read can change under it."""
        self.woken, self.looks_left, self.noted, self.written = False, LOOKS_MAX, [], []
        self.run("BEGIN IMMEDIATE" if write else "BEGIN")

    @property
    def open(self) -> bool:
        """False before the transaction, after it, and when SQLite undid it by itself (a full disk)."""
        return self._connection.in_transaction

    def start_verb(self) -> None:
        """Read the clock for the verb that begins."""
        self.now, self.offsets, self.denied = self._clock(), None, None

    def commit(self) -> None:
        """Make everything durable.

        Raises:
            StoreMoved: it would be so in a file that no longer has its name.
        """
        tallies.write(self)
        if self.place is not None:
            self.place.check()  # Within the transaction: a restore, which takes the same lock, cannot come in between.
        self.run("COMMIT")

    def rollback(self) -> None:
        """Undo everything. Never raises: the connection may already be gone."""
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.rollback()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def stripe(self) -> int:
        return 0  # One transaction writes at a time.

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        if self._hook is None:
            return self._connection.execute(sql, parameters).fetchall()
        self._hook("before", sql)
        found = self._connection.execute(sql, parameters).fetchall()
        self._hook("after", sql)
        return found

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        if self._hook is None:
            return self._connection.execute(sql, parameters).rowcount
        self._hook("before", sql)
        count = self._connection.execute(sql, parameters).rowcount
        self._hook("after", sql)
        return count

    def _write(self, write: Write, rows: Sequence[Sequence[Any]]) -> int:
        if isinstance(write, Insert) and len(rows) > 1:
            return self._insert(write, [*zip(*rows, strict=True)])
        return self._many(write.one_row, *_nulls_written_out(write, rows))

    def _insert_columns(self, writes: tuple[Insert, ...], values: Mapping[str, Sequence[Any]]) -> None:
        for write in writes:
            self._insert(write, [values[name] for name in write.columns])

    def _insert(self, write: Insert, columns: Sequence[Sequence[Any]]) -> int:
        if len(columns[0]) == 1:
            return self._many(write.one_row, write.one_row, zip(*columns, strict=True))
        if self._hook is not None:
            self._hook("before", write.one_row)
        count = sum(self._connection.executemany(sql, rows).rowcount for sql, rows in statements(write, columns))
        if self._hook is not None:
            self._hook("after", write.one_row)
        return count

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        return self._many(sql, sql, rows) if rows else 0

    def _many(self, statement: str, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        if self._hook is None:
            return self._connection.executemany(sql, rows).rowcount
        self._hook("before", statement)
        count = self._connection.executemany(sql, rows).rowcount
        self._hook("after", statement)
        return count

    def end_successes(
        self, items: Sequence[tuple[int, int, str | None]], settler_id: str | None = None
    ) -> list[EndedGroup]:
        ends = stepwise_ends(bound=settler_id is not None)
        self.run(SETTLING)
        self.insert("ramet_settling", ("seq", "fence", "result"), items)
        found = self.rows(ends.look, (self.now if settler_id is None else settler_id,))
        groups = [EndedGroup._make((*row[:-1], [*map(int, row[-1].split(","))])) for row in found]
        seqs = [seq for group in groups for seq in group.seqs]
        if len(seqs) != len(items):
            listed, values = self.members(seqs)
            self.run(f"DELETE FROM ramet_settling WHERE NOT seq {listed}", (values,))
        for statement, timed in ends.statements if seqs else ():
            written = self.run(statement, (self.now,) if timed else ())
            assert written == len(seqs), f"{written} rows written of {len(seqs)} tasks that succeeded"
        self.run("DELETE FROM ramet_settling")
        return groups

    def look_up(self, sql: str, rows: Sequence[Sequence[int]]) -> list[list[Row]]:
        return [self.rows(sql, row) for row in rows]

    def members(self, values: Iterable[Any]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def pairs(self, values: Sequence[tuple[str, str]]) -> tuple[str, Sequence[Any]]:
        each = "SELECT json_extract(value, '$[0]') AS a, json_extract(value, '$[1]') AS b FROM json_each(?)"
        return f"({each}) AS v", (json.dumps(values),)

    def take_numbers(self, count: int) -> int:
        [(after,)] = self.rows(
            "UPDATE ramet_counters SET value = value + ? WHERE name = 'task' RETURNING value", (count,)
        )
        return int(after) - count

    def parts(self, table: str, rows: Sequence[Sequence[Any]], at: int) -> Iterable[tuple[str, Sequence[Any]]]:
        return [(table, rows)]

    @contextmanager
    def theirs(self) -> Iterator[None]:
        give_up_at = time.monotonic() + OWN_SECONDS_MAX
        late = False

        def is_late() -> bool:
            nonlocal late
            late = time.monotonic() > give_up_at
            return late

        self._connection.set_progress_handler(is_late, OWN_STEPS)
        try:
            with self.savepoint():
                yield
        except (StatementFailed, TransactionRolledBack) as error:
            if not late:
                raise
            text = f"the statement took over {OWN_SECONDS_MAX:g} s, in which no other process can write"
            raise (StatementTimedOut if self._connection.in_transaction else TransactionRolledBack)(text) from error
        finally:
            with suppress(sqlite3.ProgrammingError):  # The connection may be closed already, as by a crash.
                self._connection.set_progress_handler(None, OWN_STEPS)

    def plan_freely(self) -> None:
        """Do nothing: SQLite always plans freely."""

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._depth += 1
        name, noted = f"part_{self._depth}", len(self.noted)
        self.run(f"SAVEPOINT {name}")
        try:
            yield
        except Exception as error:
            if not self._connection.in_transaction:
                if isinstance(error, _STATEMENT_ERRORS) and not _unusable(error):
                    raise TransactionRolledBack(str(error)) from error
                raise  # A full disk makes SQLite undo the whole transaction by itself.
            self._connection.execute(f"ROLLBACK TO {name}")
            self._connection.execute(f"RELEASE {name}")
            del self.noted[noted:]
            if isinstance(error, _STATEMENT_ERRORS) and not _unusable(error):
                raise StatementFailed(str(error)) from error
            raise
        else:
            self.run(f"RELEASE {name}")
        finally:
            self._depth -= 1

    def lock(self, name: str) -> None:
        """Do nothing: the write lock of the whole file is held already."""

    def lock_stripes(self, slots: Collection[int]) -> bool:
        """As :meth:`lock`."""
        return False

    def wake(self) -> None:
        self.woken = True
