"""One transaction on one connection, as the verbs see it.

The verbs (submit, claim, settle, ...) are written once against this small surface; a dialect supplies it. SQL uses
``?`` for parameters everywhere. Writes of many rows say table, columns and key, and each dialect writes its own SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

from ramet.model.task.transitions import Change
from ramet.store.scan_floor import ScanFloors

Row = tuple[Any, ...]

LOOKS_MAX = 500
"""Most waiting tasks that one transaction checks because of what it ended (DESIGN §7)."""


class StatementFailed(Exception):
    """The database refused one statement (a constraint, a missing table, a wrong type); the transaction goes on."""


class StatementTimedOut(StatementFailed):
    """A statement of a program's own took longer than it may while others wait for the same transaction."""


class TransactionRolledBack(Exception):
    """A statement made the database undo the whole transaction: nothing of it is kept, and its neighbours run again."""


class TransactionConflict(Exception):
    """Another transaction took what this one was about to take. Run again from its beginning, the verb sees that."""


NO_COUNTS: Mapping[Any, int] = {}
"""The default of the counts of :class:`TallyNotes`."""

Moment = tuple[int, int]
"""Length of a span in seconds, and when it begins."""


class TallyNotes(NamedTuple):
    """Counts of one step of a verb, which :mod:`ramet.store.rows.tallies` adds to the tallies."""

    moment: Moment
    created: Mapping[tuple[str, int], int] = NO_COUNTS
    """Number created, by kind and depth."""
    changed: Mapping[tuple[tuple[Any, ...], str, str | None], int] = NO_COUNTS
    """Number of changes, by what :mod:`ramet.store.rows.tallies` reads of the standing before, state after, and
    outcome.
    """
    reasons: Mapping[tuple[str, str, str], int] = NO_COUNTS
    """Number of reasons, by what, kind and first word."""
    now: float = 0.0
    changes: Sequence[Change] = ()
    """Values from which ``changed`` was counted."""
    ended: Sequence[int] = ()
    """Numbers of tasks that ended without a change of their own (:mod:`ramet.store.state.lanes`)."""


class EndedGroup(NamedTuple):
    """Tasks that succeeded together and agree in what is counted of them."""

    tracking_id: str
    kind: str
    available_at: float
    claimed_at: float
    attempts: int
    chain_depth: int
    resource: str | None
    seqs: Sequence[int]


class Session(Protocol):
    """A transaction in progress. Not thread-safe; it belongs to the verb that runs."""

    now: float
    """The store's clock, read once when the verb began: Unix seconds."""
    fence_base: int
    """Number at which fences of new tasks begin (:func:`fence_base`)."""
    for_update: str
    """Suffix of a SELECT of rows that the verb decides about and then writes: it locks them against changes. Empty
    where only one transaction writes at a time.
    """
    skip_locked: str
    """Suffix of a SELECT of rows to take: those that another transaction is about to take are left out."""
    compares_rows: bool
    """True where an index is walked in its order only when whole rows are compared. With its first columns fixed and an
    order by the last, the planner may take another index that has the last, and read past all the rest.
    """

    floors: ScanFloors | None
    """Floors of scans (:mod:`ramet.store.scan_floor`); None where taken rows are out of the way at once."""

    looks_left: int
    """Part of :data:`LOOKS_MAX` that is left to this transaction; the rest is written down for others."""

    noted: list[TallyNotes]
    """Counted acts of this transaction's verbs, not written yet (:mod:`ramet.store.rows.tallies`)."""
    written: list[TallyNotes]
    """Noted acts that are written, until the next transaction begins."""
    words: dict[str, set[str]]
    """Reasons that are counted apart, by what they are reasons of; kept from one transaction to the next."""

    offsets: dict[str, float] | None
    """Result of :func:`ramet.store.rows.lineages.queue_offsets` in this verb; None before, and where it changed."""
    denied: int | None
    """Number of entries of the deny list and of blocked queues, where it was read in this verb already."""
    found_nothing: bool
    """True while the last claim on this connection found nothing: the next one asks first whether there is anything."""
    rows_left: bool
    """True while a lane of successes leaves rows to the usual way: the next batch holds its rows before the lane."""
    unchanged: bool
    """Set by a verb that wrote nothing: there is nothing to make durable."""

    borrowed: bool
    """True in a transaction of the caller's, which may stay open for long: nothing that workers want may be held."""

    def stripe(self) -> int:
        """Return a number that no other transaction has that is under way now: whose rows of tallies it writes."""
        ...

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and fetch everything it returns."""
        ...

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run a statement; returns how many rows it changed."""
        ...

    def insert(
        self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], *,
        key: tuple[str, ...] = (), changes: tuple[str, ...] = (), where: str = "",
    ) -> int:  # fmt: skip
        """Insert rows, with ``key`` unless it is taken; returns how many were written.

        Args:
            table: the name of a table.
            columns: names of columns, one for each value of a row.
            rows: of values.
            key: columns of a unique index: what has the same is changed, or left alone without ``changes``.
            changes: columns that take the value of the new row, or SQL (``count = t.count + excluded.count``).
            where: a condition on which the row that is there is changed.
        """
        ...

    def insert_columns(
        self, tables: tuple[tuple[str, tuple[str, ...]], ...], values: Mapping[str, Sequence[Any]]
    ) -> None:
        """Insert rows into several tables, of each row a part into each.

        Args:
            tables: names with those of their columns.
            values: columns by name, all of one length.
        """
        ...

    def update(self, table: str, changes: tuple[str, ...], key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        """Change rows by key; returns how many were changed.

        Args:
            table: the name of a table.
            changes: columns to write, or SQL with at most one ``?`` (``spent = spent + ?``).
            key: columns that must equal a value, or conditions with at most one ``?``; all must hold.
            rows: of values, those of ``changes`` first.
        """
        ...

    def delete(self, table: str, key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        """Delete rows by key, as :meth:`update` finds them; returns how many were there."""
        ...

    def end_successes(
        self, items: Sequence[tuple[int, int, str | None]], settler_id: str | None = None
    ) -> list[EndedGroup]:
        """End, as successes, those of the claims that are plain (:data:`ramet.store.state.lanes.PLAIN_ROW`).

        Writes the wide rows and the attempts, takes the hot rows away, and leaves the lineages to the caller.

        Args:
            items: number, fence and result (JSON text) of each, in order of number.
            settler_id: of tasks that are bound to this one (:data:`ramet.store.state.lanes.BOUND_ROW`).

        Returns:
            The tasks that it ended; the others are as they were.
        """
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run one statement for every row of parameters, one after the other; returns how many rows changed in all.

        For the few that :meth:`insert`, :meth:`update` and :meth:`delete` cannot say.
        """
        ...

    def look_up(self, sql: str, rows: Sequence[Sequence[int]]) -> list[list[Row]]:
        """Run a SELECT for every row of whole numbers; what each gives, in their order."""
        ...

    def members(self, values: Iterable[Any]) -> tuple[str, Any]:
        """Return SQL that says ``IN`` any of these ints or strings behind a column, and its one parameter.

        ``NOT column {listed}`` is true of the others, if there is at least one value.
        """
        ...

    def pairs(self, values: Sequence[tuple[str, str]]) -> tuple[str, Sequence[Any]]:
        """Return SQL of a table of these pairs of strings, to be joined as ``v (a, b)``, and its parameters."""
        ...

    def take_numbers(self, count: int) -> int:
        """Reserve ``count`` consecutive task numbers; returns the first. Never handed out twice."""
        ...

    def parts(self, table: str, rows: Sequence[Sequence[Any]], at: int) -> Iterable[tuple[str, Sequence[Any]]]:
        """Rows of parameters by the part of a history table that they are about, with the part's name.

        ``at`` is the place of the task number in each row. Tables without parts are their only one.
        """
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Return a part that is undone alone when it raises. Database errors inside come out as StatementFailed."""
        ...

    def lock(self, name: str) -> None:
        """Lock a name until the transaction ends: one transaction at a time decides about such things.

        For things that have no row yet, or too many. Taken before any row that it guards, so that all transactions take
        the two in one order.
        """
        ...

    def lock_stripes(self, slots: Collection[int]) -> bool:
        """:meth:`lock` for parts of all paths, by number (:func:`ramet.model.paths.stripe_of`), the smallest first.

        True when any of them was not held yet: what was read before may be out of date.
        """
        ...

    def theirs(self) -> AbstractContextManager[None]:
        """Return a :meth:`savepoint` for statements that a handler wrote: the database plans them as it finds best."""
        ...

    def plan_freely(self) -> None:
        """Let the database plan the rest of this transaction as it finds best: it reads whole tables, or is not ours.

        Everything else goes by indexes, whatever statistics say.
        """
        ...

    def wake(self) -> None:
        """Tell every worker, once this transaction is durable, that there may be something to claim."""
        ...


# --- writes of many rows: what they say, of which each dialect writes its own SQL -----------------------------------
# A *term* of a SET or WHERE is the name of a column, which takes the next value of a row as it is, or SQL with at most
# one ``?`` in the place of that value.


@dataclass(frozen=True, eq=False)
class Insert:
    """New rows. With ``key``, a row that has the same key is changed instead, or left alone without ``changes``."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Columns that take the new value, or SQL without values."""
    where: str = ""
    """Condition under which an existing row is changed; always, if empty."""

    @cached_property
    def width(self) -> int:
        """Number of values in a row."""
        return len(self.columns)

    @cached_property
    def meeting(self) -> tuple[int, ...]:
        """Places of the values in which rows must differ, so that no two of them meet the same row of the table."""
        return tuple(map(self.columns.index, self.key)) if self.changes else ()

    @cached_property
    def one_row(self) -> str:
        """SQL for one row, with ``?`` for each value: hooks and tests know the statement by it."""
        return self.text(("?",) * self.width)

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """Return SQL with these marks for the values, which are of the rows of ``source`` if there is one."""
        listed = ", ".join(marks)
        rows = f"SELECT {listed} FROM {source}" if source else f"VALUES ({listed})"
        text = f"INSERT INTO {self.table} ({', '.join(self.columns)}) {rows}"
        if not self.key:
            return text
        text += f" ON CONFLICT ({', '.join(self.key)}) DO "
        if not self.changes:
            return f"{text}NOTHING"
        text += f"UPDATE SET {', '.join(f'{x} = excluded.{x}' if x.isidentifier() else x for x in self.changes)}"
        return f"{text} WHERE {self.where}" if self.where else text


@dataclass(frozen=True, eq=False)
class Update:
    """Changes of rows that are there: the values of ``changes`` come first, then those of ``key``."""

    table: str
    changes: tuple[str, ...]
    key: tuple[str, ...]

    @cached_property
    def width(self) -> int:
        """Number of values in a row."""
        return _width(self.changes) + _width(self.key)

    @cached_property
    def meeting(self) -> tuple[int, ...]:
        """As of :class:`Insert`."""
        return _named(self.key, _width(self.changes))

    @cached_property
    def one_row(self) -> str:
        """As of :class:`Insert`."""
        return self.text(("?",) * self.width)

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """As of :class:`Insert`."""
        each = iter(marks)
        changed = ", ".join(_filled(self.changes, each))
        rows = f" FROM {source}" if source else ""
        return f"UPDATE {self.table} SET {changed}{rows} WHERE {' AND '.join(_filled(self.key, each))}"


@dataclass(frozen=True, eq=False)
class Delete:
    """Rows that are to be gone."""

    table: str
    key: tuple[str, ...]

    @cached_property
    def width(self) -> int:
        """Number of values in a row."""
        return _width(self.key)

    @cached_property
    def meeting(self) -> tuple[int, ...]:
        """As of :class:`Insert`."""
        return _named(self.key, 0)

    @cached_property
    def one_row(self) -> str:
        """As of :class:`Insert`."""
        return self.text(("?",) * self.width)

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """As of :class:`Insert`."""
        rows = f" USING {source}" if source else ""
        return f"DELETE FROM {self.table}{rows} WHERE {' AND '.join(_filled(self.key, iter(marks)))}"


Write = Insert | Update | Delete


# Of each there is one, so that what is made of it is found by its identity.
_insert, _update, _delete = cache(Insert), cache(Update), cache(Delete)


@cache
def _inserts(tables: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[Insert, ...]:
    return tuple(_insert(table, columns, (), (), "") for table, columns in tables)


class RowWriter:
    """The writes of a session: a dialect has :meth:`_write` and :meth:`_insert_columns`."""

    def insert(
        self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], *,
        key: tuple[str, ...] = (), changes: tuple[str, ...] = (), where: str = "",
    ) -> int:  # fmt: skip
        return self._write(_insert(table, columns, key, changes, where), rows) if rows else 0

    def insert_columns(
        self, tables: tuple[tuple[str, tuple[str, ...]], ...], values: Mapping[str, Sequence[Any]]
    ) -> None:
        self._insert_columns(_inserts(tables), values)

    def update(self, table: str, changes: tuple[str, ...], key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        return self._write(_update(table, changes, key), rows) if rows else 0

    def delete(self, table: str, key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        return self._write(_delete(table, key), rows) if rows else 0

    def _write(self, write: Write, rows: Sequence[Sequence[Any]]) -> int:
        raise NotImplementedError

    def _insert_columns(self, writes: tuple[Insert, ...], values: Mapping[str, Sequence[Any]]) -> None:
        raise NotImplementedError


def _takes(term: str) -> bool:
    return "?" in term or term.isidentifier()


def _width(terms: Iterable[str]) -> int:
    return sum(map(_takes, terms))


def _named(terms: Iterable[str], before: int) -> tuple[int, ...]:
    """Return the places of the values that columns must equal, behind this number of others."""
    taking = filter(_takes, terms)
    return tuple(at for at, term in enumerate(taking, before) if term.isidentifier())


def _filled(terms: Iterable[str], marks: Iterator[str]) -> Iterator[str]:
    for term in terms:
        if term.isidentifier():
            yield f"{term} = {next(marks)}"
        else:
            yield term.replace("?", next(marks)) if "?" in term else term


FENCES_PER_EPOCH = 2**21
"""Claims of one task in one epoch. With an epoch of Unix seconds a fence stays below 2**53, exact in any JSON."""
COPIED = "copied"
"""Counter that a backup carries: the first to open it begins an epoch."""


def fence_base(session: Session) -> int:
    """Return the number at which fences of new tasks begin; a copy that is opened for the first time begins its epoch
    here.
    """
    counters: dict[str, int] = dict(
        session.rows("SELECT name, value FROM ramet_counters WHERE name IN ('epoch', ?)", (COPIED,))
    )
    return -1 if COPIED in counters else counters["epoch"] * FENCES_PER_EPOCH


def begin_epoch(session: Session) -> int:
    """Lift every fence above all that any other copy hands out; returns where fences of new tasks begin.

    The epoch is the present second: two copies of one backup get two epochs, too.
    """
    [(old,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'epoch'")
    epoch = max(int(old) + 1, int(session.now))
    base = epoch * FENCES_PER_EPOCH
    session.run("UPDATE ramet_counters SET value = ? WHERE name = 'epoch'", (epoch,))
    session.run("UPDATE ramet_live SET fence = fence % ? + ?", (FENCES_PER_EPOCH, base))
    session.run("UPDATE ramet_tasks SET fence = fence % ? + ? WHERE fence IS NOT NULL", (FENCES_PER_EPOCH, base))
    session.run("DELETE FROM ramet_counters WHERE name = ?", (COPIED,))
    return base
