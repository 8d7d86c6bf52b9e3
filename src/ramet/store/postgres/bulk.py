"""PostgreSQL: statements as it reads them, and one statement for many rows.

A round trip or a server-side step for each row would be most of the cost of a task, so rows are written together as
columns of values: an insert from ``unnest``, an update or a delete joined with ``unnest``. A value that is the same in
all rows is sent once; a COPY would write, and the server read, it again in every row, and takes a tenth longer. Rows
that would meet the same row of the table run one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from ramet.store.session import Insert, Write

CHARACTERS_MAX = 2**26
"""Most characters of one parameter: the server takes a gigabyte, and has it in memory several times."""

Columns = Sequence[Sequence[Any]]

_HINT = re.compile(r"\bINDEXED BY \w+")


@cache
def translated(sql: str) -> str:
    """Return the statement as PostgreSQL reads it. Hints to the planner of another database mean nothing here."""
    pieces = _HINT.sub("", sql).split("?")
    return "".join(f"{piece}${number}" for number, piece in enumerate(pieces[:-1], 1)) + pieces[-1]


@cache
def numbered(write: Write) -> str:
    """Return the statement of a write for one row."""
    return write.text([f"${number}" for number in range(1, write.width + 1)])


def meet(write: Write, columns: Columns, count: int) -> bool:
    """Return True when two of the rows would meet the same row of the table: then one must be done before the other."""
    if isinstance(write, Insert) and not write.changes:
        return False
    keys = [columns[at] for at in write.meeting]
    return len(set(keys[0] if len(keys) == 1 else zip(*keys, strict=True))) != count


@cache
def looked_up(sql: str) -> str:
    """Return a SELECT for one row of whole numbers as one for arrays of them; the place of the row comes first."""
    pieces = sql.split("?")
    count = len(pieces) - 1
    text = "".join(f"{piece}v.p{at}" for at, piece in enumerate(pieces[:-1])) + pieces[-1]
    arrays = ", ".join(f"${at}::bigint[]" for at in range(1, count + 1))
    names = ", ".join(f"p{at}" for at in range(count))
    return f"SELECT v.n, f.* FROM unnest({arrays}) WITH ORDINALITY AS v({names}, n) CROSS JOIN LATERAL ({text}) AS f"


# --- as columns ---------------------------------------------------------------------------------------------------

INT_TYPES = {20: "bigint", 23: "integer", 21: "smallint"}
TYPES = {**INT_TYPES, 701: "double precision", 25: "text"}
"""Types that a column of parameters may have, by the server's number."""

Bulk = tuple[str, list[Any]]


def joined(write: Write, columns: Columns, types: Sequence[int]) -> Bulk | None:
    """Return the statement over columns and its parameters, one per column; None where a type has no array form
    here.
    """
    if not TYPES.keys() >= {*types}:
        return None
    modes, parameters = _parameters(columns, types)
    return _joined(write, modes, tuple(types)), parameters


def inserted_together(writes: tuple[Insert, ...], columns: Mapping[str, Sequence[Any]], types: Sequence[int]) -> Bulk:
    """One statement that inserts rows into several tables, and its parameters; all types are of :data:`TYPES`."""
    modes, parameters = _parameters([*columns.values()], types)
    return _inserted_together(writes, tuple(columns), modes, tuple(types)), parameters


def _parameters(columns: Columns, types: Sequence[int]) -> tuple[tuple[str, ...], list[Any]]:
    """Return the mode in which each column is written, and the parameters of those that need one."""
    modes, parameters = [], list[Any]()
    for column, kind in zip(columns, types, strict=True):
        first = column[0]
        if column.count(first) == len(column):
            modes.append("null" if first is None else "same")
            if first is not None:
                parameters.append(first)
        else:
            modes.append("each")
            parameters.append(_array(column, kind))
    return tuple(modes), parameters


def is_too_long(parameters: Sequence[Any]) -> bool:
    """Return True when rows had better be written in parts."""
    return any(len(value) > CHARACTERS_MAX for value in parameters if isinstance(value, str))


@cache
def _joined(write: Write, modes: tuple[str, ...], types: tuple[int, ...]) -> str:
    marks, rows = _marks(modes, types)
    return write.text(marks, rows)


@cache
def _inserted_together(
    writes: tuple[Insert, ...], names: tuple[str, ...], modes: tuple[str, ...], types: tuple[int, ...]
) -> str:
    marks, rows = _marks(modes, types)
    mark_of = dict(zip(names, marks, strict=True))
    *others, last = (write.text([mark_of[name] for name in write.columns], "v") for write in writes)
    parts = [f"v AS (SELECT * FROM {rows})", *(f"t{at} AS ({text})" for at, text in enumerate(others))]
    return f"WITH {', '.join(parts)} {last}"


def _marks(modes: Iterable[str], types: Iterable[int]) -> tuple[list[str], str]:
    """Return the SQL for each value, and that of the table ``v`` of the arrays' rows."""
    marks, arrays, number = [], [], 0
    for mode, kind in zip(modes, types, strict=True):
        name = TYPES[kind]
        if mode == "null":
            marks.append(f"NULL::{name}")
            continue
        number += 1
        if mode == "same":
            marks.append(f"${number}::{name}")
            continue
        arrays.append(f"${number}::{name}[]")
        marks.append(f"v.p{len(arrays)}")
    names = ", ".join(f"p{at}" for at in range(1, len(arrays) + 1))
    return marks, f"unnest({', '.join(arrays)}) AS v ({names})" if arrays else "(SELECT 1) AS v"


def as_rows(name: str, names: Sequence[str], types: Sequence[int], columns: Columns) -> Bulk:
    """Rows as a list of WITH of that name, and its parameters, an array a column."""
    arrays = ", ".join(f"${at}::{TYPES[kind]}[]" for at, kind in enumerate(types, 1))
    listed = ", ".join(names)
    parameters = [_array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return f"{name} AS (SELECT * FROM unnest({arrays}) AS v({listed}))", parameters


def _array(column: Sequence[Any], kind: int) -> str:
    """Return an array literal, written a column at a time: the driver's own way takes as long as the statement
    itself.
    """
    if kind == 25:
        return _text_array(column)
    write: Callable[[Any], str] = float.__repr__ if kind == 701 else int.__repr__
    try:
        return f"{{{','.join(map(write, column))}}}"
    except TypeError:
        return f"{{{','.join('NULL' if value is None else repr(value) for value in column)}}}"


def _text_array(column: Sequence[Any]) -> str:
    if None not in column:
        together = _SEPARATOR.join(column)
        if together.count(_SEPARATOR) == len(column) - 1:
            return '{"' + _escaped(together).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join("NULL" if value is None else f'"{_escaped(value)}"' for value in column) + "}"


_SEPARATOR = "\x1f"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
