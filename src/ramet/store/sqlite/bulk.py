"""SQLite: one statement for many new rows.

Of a statement for each row, binding the values and starting and ending the statement take longer than writing it to the
tables. So one statement has many rows, and a value that is the same in all of them is bound once, or written out
where it is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from ramet.store.session import Insert

ROWS_AT_ONCE = (64, 8, 1)
"""Rows of one statement; with more it takes longer to compile and hardly less to run."""


def statements(write: Insert, columns: Sequence[Sequence[Any]]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield the statements that insert rows given as columns, each with its parameters for every time that it runs."""
    modes = ""
    same: list[Any] = []
    each: list[Sequence[Any]] = []
    for column in columns:
        first = column[0]
        # A row is as long as the columns that differ: there is always one.
        if column.count(first) < len(column) or (column is columns[-1] and not each):
            modes += "e"
            each.append(column)
        elif first is None:
            modes += "n"
        else:
            modes += "s"
            same.append(first)
    values, shared = [*chain.from_iterable(zip(*each, strict=True))], tuple(same)
    begin = 0
    for size in ROWS_AT_ONCE:
        step = size * len(each)
        end = len(values) - (len(values) - begin) % step
        if begin < end:
            yield _statement(write, modes, size), [(*shared, *values[at : at + step]) for at in range(begin, end, step)]
        begin = end


@cache
def _statement(write: Insert, modes: str, size: int) -> str:
    """Return the SQL for this number of rows: of each column ``n`` is NULL, ``s`` the same in all rows, ``e`` of each
    row its own.
    """
    rows, number = [], modes.count("s")
    for _ in range(size):
        marks, shared = [], 0
        for mode in modes:
            if mode == "n":
                marks.append("NULL")
            elif mode == "s":
                shared += 1
                marks.append(f"?{shared}")
            else:
                number += 1
                marks.append(f"?{number}")
        rows.append(", ".join(marks))
    return write.text(["), (".join(rows)])
