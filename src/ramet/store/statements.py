"""Writes of many rows: what they say, of which each dialect writes its own SQL.

A *term* of a SET or WHERE is the name of a column, which takes the next value of a row as it is, or SQL with at most
one ``?`` in the place of that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple


class Insert(NamedTuple):
    """New rows. With ``key``, a row that has the same key is changed instead, or left alone without ``changes``."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Columns that take the new value, or SQL without values."""
    where: str = ""
    """When a row that is there is changed; always, if empty."""

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return len(self.columns)

    @property
    def meeting(self) -> tuple[int, ...]:
        """Places of the values in which rows must differ, so that no two of them meet the same row of the table."""
        return tuple(map(self.columns.index, self.key)) if self.changes else ()

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """SQL with these marks for the values, which are of the rows of ``source`` if there is one."""
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


class Update(NamedTuple):
    """Changes of rows that are there: the values of ``changes`` come first, then those of ``key``."""

    table: str
    changes: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return _width(self.changes) + _width(self.key)

    @property
    def meeting(self) -> tuple[int, ...]:
        """As of :class:`Insert`."""
        return _named(self.key, _width(self.changes))

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """As of :class:`Insert`."""
        each = iter(marks)
        changed = ", ".join(_filled(self.changes, each))
        rows = f" FROM {source}" if source else ""
        return f"UPDATE {self.table} SET {changed}{rows} WHERE {' AND '.join(_filled(self.key, each))}"


class Delete(NamedTuple):
    """Rows that are to be gone."""

    table: str
    key: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return _width(self.key)

    @property
    def meeting(self) -> tuple[int, ...]:
        """As of :class:`Insert`."""
        return _named(self.key, 0)

    def text(self, marks: Sequence[str], source: str = "") -> str:
        """As of :class:`Insert`."""
        rows = f" USING {source}" if source else ""
        return f"DELETE FROM {self.table}{rows} WHERE {' AND '.join(_filled(self.key, iter(marks)))}"


Write = Insert | Update | Delete


@cache
def text_of(write: Write) -> str:
    """The SQL of a write for one row, with ``?`` for each value: by it hooks and tests know the statement."""
    return write.text(("?",) * write.width)


class RowWriter:
    """The writes of a session: a dialect has :meth:`_write`."""

    def insert(
        self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], *,
        key: tuple[str, ...] = (), changes: tuple[str, ...] = (), where: str = "",
    ) -> int:  # fmt: skip
        return self._write(Insert(table, columns, key, changes, where), rows)

    def update(self, table: str, changes: tuple[str, ...], key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        return self._write(Update(table, changes, key), rows)

    def delete(self, table: str, key: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        return self._write(Delete(table, key), rows)

    def _write(self, write: Write, rows: Sequence[Sequence[Any]]) -> int:
        raise NotImplementedError


def _takes(term: str) -> bool:
    return "?" in term or term.isidentifier()


def _width(terms: Iterable[str]) -> int:
    return sum(map(_takes, terms))


def _named(terms: Iterable[str], before: int) -> tuple[int, ...]:
    """Places of the values that columns must equal, behind so many others."""
    taking = filter(_takes, terms)
    return tuple(at for at, term in enumerate(taking, before) if term.isidentifier())


def _filled(terms: Iterable[str], marks: Iterator[str]) -> Iterator[str]:
    for term in terms:
        if term.isidentifier():
            yield f"{term} = {next(marks)}"
        else:
            yield term.replace("?", next(marks)) if "?" in term else term
