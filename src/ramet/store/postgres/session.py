"""PostgreSQL: connections, and a transaction on one of them (docs/decisions/0031)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal

import psycopg
from psycopg import generators, pq
from psycopg.rows import tuple_row
from psycopg.types.numeric import Int8Dumper, NumericBinaryLoader

from ramet.store.errors import StoreError
from ramet.store.postgres.bulk import (
    as_rows,
    inserted_together,
    is_too_long,
    joined,
    looked_up,
    meet,
    numbered,
    translated,
)
from ramet.store.postgres.errors import CommitUnknown, PartitionMissing, is_gone, is_race
from ramet.store.postgres.partitions import Partitions
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
    Write,
)
from ramet.store.state.lanes import ends_at_once

VERSION_MIN = 150_000
WORLD = 0x72616D65
"""Key of the advisory lock that every writing transaction holds: shared beside others, exclusive alone."""
PATHS = 0x70617468
"""First half of the keys of the advisory locks of paths; the second is the number of a slot."""
IDLE_SECONDS_MAX = 60
"""A transaction of ours never waits for its client that long: then the client is gone, and its locks go with it."""
LOCK_MILLISECONDS, LOCK_MILLISECONDS_AGAIN = 2_000, 100
"""Milliseconds for which a handler's own statement waits for a row or table that another transaction holds; and those
after one of the same transaction waited in vain: all that settle with it wait too.
"""
OWN_MILLISECONDS = 10_000
"""Most time of one of them."""

Hook = Callable[[str, str], None]
"""Called with ``before`` or ``after`` and the SQL of every statement; crash tests raise in it."""
Mode = Literal["look", "read", "beside", "alone"]
"""Looking and reading change nothing: a look goes by indexes as what writes does, reading may want whole tables."""

_PLANS = (
    "enable_seqscan = off; enable_hashjoin = off; enable_mergejoin = off; plan_cache_mode = force_generic_plan; "
    "jit = off; extra_float_digits = 1"
)
"""Every statement of a verb goes by an index, row by row from a short list. A planner whose statistics are old, or of a
table that was empty when they were made, would find reading all of it cheaper. The last one is about answers: a number
sent as text is sent whole.
"""
_ON = "; ".join(f"SET LOCAL enable_{name} = on" for name in ("seqscan", "hashjoin", "mergejoin"))
_OFF = _ON.replace("= on", "= off")

_CLOCK = "extract(epoch FROM clock_timestamp())"
_KNOWN = (
    "(SELECT json_object_agg(name, paused_seconds) FROM ramet_queues WHERE paused_seconds > 0), "
    "(SELECT value FROM ramet_counters WHERE name = 'stop_list')"
)
"""Values that nearly every verb needs: :attr:`PostgresSession.offsets` and :attr:`PostgresSession.denied`."""

_NO_VALUE = object()
"""Placeholder for the parameter of a list without members, which has none."""


class _WholeNumeric(NumericBinaryLoader):
    """Sums of whole numbers are whole numbers, as in every other database."""

    def load(self, data: Any) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


def connect(url: str, *, timeout_seconds: int = 10) -> psycopg.Connection[Row]:
    """Open a connection as ramet needs it: each transaction is begun explicitly.

    Raises:
        psycopg.Error: as it is; the caller knows whether to try again.
    """
    connection = psycopg.connect(
        url, autocommit=True, connect_timeout=timeout_seconds, application_name="ramet", client_encoding="UTF8",
        keepalives_idle=10, keepalives_interval=5, keepalives_count=3, tcp_user_timeout=30_000,
    )  # fmt: skip
    connection.prepared_max = 400
    if _pooled(connection):
        connection.prepare_threshold = None
    else:
        connection.execute(f"SET {_PLANS.replace('; ', '; SET ')}".encode())
    encoding, name = connection.info.parameter_status("server_encoding"), connection.info.dbname
    if encoding not in (None, "UTF8"):  # Some poolers do not tell.
        connection.close()
        raise StoreError(
            f"the database {name} is in {encoding}, which has not every character: make one in UTF-8 (CREATE DATABASE "
            "... ENCODING 'UTF8' TEMPLATE template0) and give its address"
        )
    version = connection.info.server_version  # A closed connection tells nothing.
    if version < VERSION_MIN:
        connection.close()
        raise StoreError(f"PostgreSQL {version // 10_000} is too old: ramet needs 15 or newer")
    return connection


def _pooled(connection: psycopg.Connection[Row]) -> bool:
    """Return True behind a pooler, which tells a process of its own: what is prepared there may be gone a statement
    later.
    """
    [(process,)] = connection.execute("SELECT pg_backend_pid()").fetchall()
    return bool(process != connection.info.backend_pid)


class PostgresSession(RowWriter):
    """A transaction on a PostgreSQL connection; see :class:`ramet.store.session.Session`."""

    for_update = " FOR UPDATE"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    compares_rows = True

    def __init__(
        self, connection: psycopg.Connection[Row], clock: Callable[[], float] | None, hook: Hook | None = None
    ) -> None:
        """``clock`` replaces the database's own, for tests."""
        self.connection = connection
        self.now = 0.0
        self.fence_base = 0
        self.floors: ScanFloors | None = None
        self.room: Partitions | None = None
        """Known where tasks are created; without it the database itself says what has no room."""
        self.woken = False
        self.borrowed = False
        self.last_try = False
        """True when the verb will not be run again: what looked like a race is then refused like any bad statement."""
        self.taken: set[str] = set()
        """Unique rows that the verb met when it was run before; to meet one again is not a race."""
        self._clock = clock
        self._hook = hook
        self._depth = 0
        self._waited = False
        """A handler's statement waited in vain in this transaction: the next ones wait less."""
        self._cursor = psycopg.RawCursor(connection, row_factory=tuple_row)
        # One type for whole numbers, or every mixture of small and large ones would be another prepared statement.
        self._cursor.adapters.register_dumper(int, Int8Dumper)
        self._cursor.adapters.register_loader("numeric", _WholeNumeric)
        self._plain = psycopg.Cursor(connection, row_factory=tuple_row)
        self._knows = False
        # Behind a pooler nothing of a session stays: what others set once is set in every transaction.
        pooled = connection.prepare_threshold is None
        self._plans = f"SET LOCAL {_PLANS.replace('; ', '; SET LOCAL ')}; " if pooled else ""
        self._types: dict[Write, tuple[int, ...]] = {}
        self._slots: set[int] = set()
        self.looks_left = LOOKS_MAX
        self.offsets: dict[str, float] | None = None
        self.denied: int | None = None
        self.found_nothing = self.rows_left = self.unchanged = False
        self.noted, self.written = list[TallyNotes](), list[TallyNotes]()
        self.words: dict[str, set[str]] = {}

    # --- the transaction ------------------------------------------------------------------------------------------

    def begin(self, mode: Mode, writer: int | None = None) -> None:
        """Open the transaction, take the lock of its mode, and only then read the clock that judges leases.

        With ``writer`` its lock is taken first, so that :meth:`Link._look` waits until this transaction has ended.
        """
        self.woken, self.looks_left = False, LOOKS_MAX
        self.offsets, self.denied, self.unchanged = None, None, False
        self._depth, self._waited = 0, False
        self._slots, self.noted, self.written = set(), [], []
        asked = f"SELECT {_CLOCK}"
        if mode in ("look", "read"):
            planned = f"{_ON}; " if mode == "read" else self._plans
            text = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {planned}".removesuffix("; ")
        else:
            shared = "_shared" if mode == "beside" else ""
            own = "" if writer is None else f"SELECT pg_advisory_xact_lock({writer}); "
            if writer is not None and not self._plans:
                asked = self._prepared_known()
            text = (
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
                f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS_MAX}s'; {self._plans}"
                f"{own}SELECT pg_advisory_xact_lock{shared}({WORLD})"
            )
        try:
            now, *known = self._last(f"{text}; {asked}")
        except psycopg.errors.InvalidSqlStatementName:
            # After a rollback the driver has everything forgotten that was prepared.
            self.rollback()
            self._knows = False
            now, *known = self._last(f"{text}; {self._prepared_known()}")
        if known:
            self.offsets, self.denied = known[0] or {}, known[1]
        self.now = float(now) if self._clock is None else self._clock()

    def _prepared_known(self) -> str:
        """Return the statement, prepared: planning it would take as long as the rest of what begins a transaction."""
        if not self._knows:
            self._plain.execute(f"PREPARE ramet_known AS SELECT {_CLOCK}, {_KNOWN}".encode(), prepare=False)
            self._knows = True
        return "EXECUTE ramet_known"

    def begin_within(self) -> None:
        """Begin within the caller's own transaction: its lock is not ours to hold for as long as they like."""
        self.noted, self.offsets, self.denied = [], None, None
        [now] = self._last(f"SELECT {_CLOCK}")
        self.now = float(now) if self._clock is None else self._clock()

    def _last(self, text: str) -> Row:
        """Run several statements in one round trip; the row that the last one gives."""
        self._logged_error("before", text)
        self._plain.execute(text.encode(), prepare=False)
        while self._plain.nextset():
            pass
        [row] = self._plain.fetchall()
        self._logged_error("after", text)
        return row

    def commit(self, mark: str | None = None) -> None:
        """Make everything durable, in one round trip with the statement that marks it.

        Raises:
            Unknown: the connection went in this round trip.
        """
        tallies.write(self)
        text = "COMMIT" if mark is None else f"{mark}; COMMIT"
        self._logged_error("before", text)
        try:
            self.connection.execute(text.encode(), prepare=False)
        except psycopg.Error as error:
            if is_gone(error, self.connection):
                raise CommitUnknown from error
            raise
        self._logged_error("after", text)

    @property
    def in_transaction(self) -> bool:
        """False before the transaction and after it."""
        return self.connection.info.transaction_status not in (pq.TransactionStatus.IDLE, pq.TransactionStatus.UNKNOWN)

    def end(self) -> None:
        """End a transaction that has written nothing. Never raises.

        With a rollback the driver would forget its prepared statements, and everything be planned again.
        """
        with suppress(psycopg.Error):
            self.connection.execute(b"COMMIT", prepare=False)

    def rollback(self) -> None:
        """Undo everything. Never raises: the connection may already be gone."""
        with suppress(psycopg.Error):
            if self.in_transaction:
                self.connection.execute(b"ROLLBACK", prepare=False)

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self.connection.close()

    def _logged_error(self, when: str, sql: str) -> None:
        if self._hook is not None:
            self._hook(when, sql)

    def stripe(self) -> int:
        # The caller's connection may or may not have a pooler behind it.
        if not self.borrowed and not self._plans:
            return self.connection.info.backend_pid
        [(process,)] = self.rows("SELECT pg_backend_pid()")
        return int(process)

    # --- statements -------------------------------------------------------------------------------------------------

    def _execute(self, sql: str, parameters: Sequence[Any]) -> psycopg.RawCursor[Row]:
        if _NO_VALUE in parameters:
            parameters = [value for value in parameters if value is not _NO_VALUE]
        return self._cursor.execute(translated(sql), parameters or None, binary=True)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        self._logged_error("before", sql)
        found = self._execute(sql, parameters).fetchall()
        self._logged_error("after", sql)
        return found

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        self._logged_error("before", sql)
        count = self._execute(sql, parameters).rowcount
        self._logged_error("after", sql)
        return count

    def _write(self, write: Write, rows: Sequence[Sequence[Any]]) -> int:
        self._logged_error("before", write.one_row)
        count = self._write_together(write, [*zip(*rows, strict=True)])
        self._logged_error("after", write.one_row)
        return count

    def _insert_columns(self, writes: tuple[Insert, ...], values: Mapping[str, Sequence[Any]]) -> None:
        for write in writes:
            self._logged_error("before", write.one_row)
        # Of a name that several tables have, their types differ at most in width.
        types = {
            name: kind for write in writes for name, kind in zip(write.columns, self._value_types(write), strict=True)
        }
        self._insert_together(writes, {name: values[name] for name in types}, [*types.values()])
        for write in writes:
            self._logged_error("after", write.one_row)

    def _insert_together(
        self, writes: tuple[Insert, ...], values: Mapping[str, Sequence[Any]], types: Sequence[int]
    ) -> None:
        sql, parameters = inserted_together(writes, values, types)
        half = len(next(iter(values.values()))) // 2
        if half and is_too_long(parameters):
            for part in slice(None, half), slice(half, None):
                self._insert_together(writes, {name: column[part] for name, column in values.items()}, types)
        else:
            self._cursor.execute(sql, parameters, binary=True)

    def _write_together(self, write: Write, columns: Sequence[Sequence[Any]]) -> int:
        many = len(columns[0])
        if many == 1:
            return self._cursor.execute(numbered(write), [column[0] for column in columns], binary=True).rowcount
        if meet(write, columns, many):
            return self._one_by_one(numbered(write), [*zip(*columns, strict=True)])
        bulk = joined(write, columns, self._value_types(write))
        if bulk is None:
            return self._one_by_one(numbered(write), [*zip(*columns, strict=True)])
        if isinstance(write, Insert) and is_too_long(bulk[1]):
            half = many // 2
            parts = [column[:half] for column in columns], [column[half:] for column in columns]
            return sum(self._write_together(write, part) for part in parts)
        return self._cursor.execute(bulk[0], bulk[1], binary=True).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        if not rows:
            return 0
        self._logged_error("before", sql)
        count = self._one_by_one(translated(sql), rows) if len(rows) > 1 else self._execute(sql, rows[0]).rowcount
        self._logged_error("after", sql)
        return count

    def _one_by_one(self, text: str, rows: Sequence[Sequence[Any]]) -> int:
        self._cursor.executemany(text, rows)
        return self._cursor.rowcount

    def _value_types(self, write: Write) -> tuple[int, ...]:
        """Return the types as which the server takes the values, by its numbers of types."""
        known = self._types.get(write)
        if known is None:
            server = self.connection.pgconn
            self._asked(partial(server.send_prepare, b"", numbered(write).encode()))
            values = self._asked(partial(server.send_describe_prepared, b""))
            known = self._types[write] = tuple(values.param_type(at) for at in range(values.nparams))
        return known

    def _asked(self, send: Callable[[], None]) -> pq.abc.PGresult:
        """One request below the driver's own verbs. Its plain calls would wait with the interpreter's lock held: every
        thread of the process would wait for the server, too."""
        send()
        # More than one where the server says why it ends the session, and the connection then ends: the first tells.
        return [_checked(result) for result in self.connection.wait(generators.execute(self.connection.pgconn))][-1]

    def end_successes(
        self, items: Sequence[tuple[int, int, str | None]], settler_id: str | None = None
    ) -> list[EndedGroup]:
        parts = self.parts("ramet_tasks", items, 0)
        return [group for table, part in parts for group in self._end_part(table, part, settler_id)]

    def _end_part(
        self, table: str, items: Sequence[tuple[int, int, str | None]], settler_id: str | None
    ) -> list[EndedGroup]:
        text, parameters = as_rows("i", ("seq", "fence", "result"), (20, 20, 25), [*zip(*items, strict=True)])
        half = len(items) // 2
        if half and is_too_long(parameters):
            return self._end_part(table, items[:half], settler_id) + self._end_part(table, items[half:], settler_id)
        now, settler = (f"${len(parameters) + more}" for more in (1, 2))
        if settler_id is None:
            statement, values = ends_at_once(table, now), (*parameters, self.now)
        else:
            statement, values = ends_at_once(table, now, settler), (*parameters, self.now, settler_id)
        found = self.rows(f"WITH {text}, {statement}", values)
        ended, closed = sum(len(row[-2]) for row in found), found[0][-1] if found else 0
        assert closed == ended, f"{closed} rows written of {ended} tasks that succeeded"
        return [EndedGroup(*row[:-1]) for row in found]

    def look_up(self, sql: str, rows: Sequence[Sequence[int]]) -> list[list[Row]]:
        found: list[list[Row]] = [[] for _ in rows]
        if rows:
            self._logged_error("before", sql)
            arrays = [[*column] for column in zip(*rows, strict=True)]
            for row in self._cursor.execute(looked_up(sql), arrays, binary=True).fetchall():
                found[row[0] - 1].append(row[1:])
            self._logged_error("after", sql)
        return found

    def members(self, values: Iterable[Any]) -> tuple[str, Any]:
        listed = list(values)
        if not listed:
            return "IN (NULL)", _NO_VALUE
        # One scan of the index that the column has, where a subquery could be joined in any order.
        if isinstance(listed[0], int):
            return "= ANY (?::bigint[])", "{" + ",".join(map(int.__repr__, listed)) + "}"
        return "= ANY (?::text[])", listed

    def pairs(self, values: Sequence[tuple[str, str]]) -> tuple[str, Sequence[Any]]:
        return "unnest(?::text[], ?::text[]) AS v (a, b)", [[*column] for column in zip(*values, strict=True)]

    def take_numbers(self, count: int) -> int:
        [(first,)] = self.rows("SELECT ramet_take_numbers(?)", (count,))
        if self.room is not None and not self.room.taken(first, count):
            raise PartitionMissing
        return int(first)

    def parts(self, table: str, rows: Sequence[Sequence[Any]], at: int) -> Iterable[tuple[str, Sequence[Any]]]:
        return [(table, rows)] if self.room is None or not rows else self.room.parts_of(table, rows, at)

    def lock(self, name: str) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", (WORLD << 31 | zlib.crc32(name.encode()) >> 1,))

    def lock_stripes(self, slots: Collection[int]) -> bool:
        wanted = sorted({*slots} - self._slots)
        if wanted:
            self.rows("SELECT pg_advisory_xact_lock(?::int, slot) FROM unnest(?::int[]) AS slot", (PATHS, wanted))
            self._slots.update(wanted)
        return bool(wanted)

    @contextmanager
    def theirs(self) -> Iterator[None]:
        with self.savepoint():
            patience = LOCK_MILLISECONDS_AGAIN if self._waited else LOCK_MILLISECONDS
            self._last(f"{_ON}; SET LOCAL lock_timeout = {patience}; "
                       f"SET LOCAL statement_timeout = {OWN_MILLISECONDS}; SELECT 1")  # fmt: skip
            try:
                yield
                # Waits for the end are checked now, while the culprit is known; later statements may wait again.
                self._last("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; SET LOCAL lock_timeout = "
                           f"DEFAULT; SET LOCAL statement_timeout = DEFAULT; {_OFF}; SELECT 1")  # fmt: skip
            except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
                self._waited = True
                text = "it took too long, or waited too long for a row that another transaction holds"
                raise StatementTimedOut(f"{text}: {_line(error)}") from error

    def plan_freely(self) -> None:
        self._last(f"{_ON}; SELECT 1")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._depth += 1
        name, slots, noted = f"part_{self._depth}", {*self._slots}, len(self.noted)
        self.run(f"SAVEPOINT {name}")
        try:
            yield
        except Exception as error:
            gone = isinstance(error, psycopg.Error) and is_gone(error, self.connection)
            if gone or self.connection.closed or (is_race(error, self.taken) and not self.last_try):
                raise  # Of the whole transaction nothing is kept.
            self.connection.execute(f"ROLLBACK TO {name}; RELEASE {name}".encode(), prepare=False)
            self._slots = slots
            del self.noted[noted:]
            if isinstance(error, psycopg.Error | UnicodeError | OverflowError | TransactionConflict):
                raise StatementFailed(_line(error)) from error
            raise
        else:
            self.run(f"RELEASE {name}")
        finally:
            self._depth -= 1

    def wake(self) -> None:
        self.woken = True


def _checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)
    return result


def _line(error: Exception) -> str:
    """Return the first line of what the server said: the rest quotes statement and values."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return str(error).splitlines()[0] if str(error) else type(error).__name__
