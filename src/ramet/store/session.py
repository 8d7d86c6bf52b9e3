"""One transaction on one connection, as the verbs see it.

The verbs (submit, claim, settle, ...) are written once against this small surface; a dialect supplies it. SQL uses
``?`` for parameters everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ramet.model.task.transitions import Change
from ramet.store.scan_floor import Floors

Row = tuple[Any, ...]

LOOKS_MAX = 500
"""How many tasks that wait for others one transaction looks at because of what it ended (DESIGN §7)."""


class StatementFailed(Exception):
    """The database refused one statement (a constraint, a missing table, a wrong type); the transaction goes on."""


class StatementTimedOut(StatementFailed):
    """A statement of a program's own took longer than it may while others wait for the same transaction."""


class TransactionUndone(Exception):
    """A statement made the database undo the whole transaction: nothing of it is kept, and its neighbours run again."""


class Overtaken(Exception):
    """Another transaction took what this one was about to take. Run again from its beginning, the verb sees that."""


NO_COUNTS: Mapping[Any, int] = {}
"""The default of the counts of :class:`Noted`."""

Moment = tuple[int, int]
"""Length of a span in seconds, and when it begins."""


class Noted(NamedTuple):
    """Counts of one step of a verb, which :mod:`ramet.store.rows.tallies` adds to the tallies."""

    moment: Moment
    created: Mapping[tuple[str, int], int] = NO_COUNTS
    """By kind and depth."""
    changed: Mapping[tuple[tuple[Any, ...], str, str | None], int] = NO_COUNTS
    """By what :mod:`ramet.store.rows.tallies` reads of the standing before, state after, and outcome."""
    reasons: Mapping[tuple[str, str, str], int] = NO_COUNTS
    """By what, kind and first word."""
    now: float = 0.0
    changes: Sequence[Change] = ()
    """What ``changed`` was counted from."""


class Session(Protocol):
    """A transaction in progress. Not thread-safe; it belongs to the verb that runs."""

    now: float
    """The store's clock, read once when the verb began: Unix seconds."""
    fence_base: int
    """Where fences of new tasks begin (:mod:`ramet.store.epoch`)."""
    for_update: str
    """Ends a SELECT of rows that the verb decides about and then writes: nobody else may change them meanwhile.
    Empty where only one transaction writes at a time."""
    skip_locked: str
    """Ends a SELECT of rows to take: those that somebody else is about to take are left out."""
    compares_rows: bool
    """True where an index is walked in its order only when whole rows are compared. Told that its first columns are
    equal and ordered by the last, the planner may take another index that has the last, and read past all the rest."""

    floors: Floors | None
    """Where scans begin (:mod:`ramet.store.scan_floor`); None where what was taken is out of the way at once."""

    looks_left: int
    """How many of :data:`LOOKS_MAX` are left to this transaction; the rest is written down for others."""

    noted: list[Noted]
    """What verbs of this transaction did that is counted, not written yet (:mod:`ramet.store.rows.tallies`)."""
    written: list[Noted]
    """What was noted and is written, until the next transaction begins."""
    words: dict[str, set[str]]
    """Reasons that are told apart, by what they are reasons of; kept from one transaction to the next."""

    borrowed: bool
    """True in a transaction of the caller's, which may stay open for long: nothing that workers want may be held."""

    def stripe(self) -> int:
        """A number that no other transaction has that is under way now: whose rows of tallies it writes."""
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

    def take_numbers(self, count: int) -> int:
        """Reserve ``count`` consecutive task numbers; returns the first. Never handed out twice."""
        ...

    def parts(self, table: str, rows: Sequence[Sequence[Any]], at: int) -> Iterable[tuple[str, Sequence[Any]]]:
        """Rows of parameters by the part of a history table that they are about, with the part's name.

        ``at`` is the place of the task number in each row. Tables without parts are their only one.
        """
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """A part that is undone alone when it raises. Database errors inside come out as StatementFailed."""
        ...

    def lock(self, name: str) -> None:
        """Hold a lock of that name until the transaction ends: one transaction at a time decides about such things.

        For what no row stands for yet, or too many do. Taken before any row that it guards, so that two who want both
        want them in one order.
        """
        ...

    def hold_slots(self, slots: Collection[int]) -> bool:
        """:meth:`lock` for parts of all paths, by number (:func:`ramet.model.paths.slot_of`), the smallest first.

        True when any of them was not held yet: what was read before may be out of date.
        """
        ...

    def theirs(self) -> AbstractContextManager[None]:
        """A :meth:`savepoint` for statements that a handler wrote: the database plans them as it finds best."""
        ...

    def plan_freely(self) -> None:
        """What follows in this transaction reads whole tables, or is not ours: the database plans it as it finds best.

        Everything else goes by indexes, whatever statistics say.
        """
        ...

    def wake(self) -> None:
        """Tell every worker, once this transaction is durable, that there may be something to claim."""
        ...
