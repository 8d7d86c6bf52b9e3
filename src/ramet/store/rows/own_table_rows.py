"""Rows of apps' own tables on their way between a server and a file: which are carried, and how each value is kept.

A file knows five kinds of values and a server many types. Numbers, texts, bytes and truths are kept as they are; every
other type as the text by which the server writes it, and reads it again. Where a column of the table's own definition
would change such a value (a file makes a rounded number of a NUMERIC), the backup keeps the table without types.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ramet.store.errors import StoreError
from ramet.store.rows.own_tables import Definition, OwnTableChoice, check_harmless

_WHOLE = ("smallint", "integer", "bigint")
_TEXT = ("text", "character varying")
NATIVE = frozenset((*_WHOLE, *_TEXT, "real", "double precision", "bytea", "boolean"))
"""Types whose values are kept as they are."""
_TAKES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(_WHOLE, (int,)), **dict.fromkeys(_TEXT, (str,)), "bytea": (bytes,), "boolean": (int,),
    "real": (int, float), "double precision": (int, float),
}  # fmt: skip
_NEVER_A_NUMBER = ("timestamp", "date", "time", "uuid", "json", "interval")
NOT_A_NUMBER = "NaN"
"""Form in which a file keeps it: as a number it would become NULL."""
NAMED_MAX = 8


def tables_to_carry(
    found: Iterable[str], known: Mapping[str, Definition], wanted: OwnTableChoice
) -> tuple[list[str], list[str]]:
    """Return the tables that are not ours and are to be carried, in the order of their definitions, and those that are
    left out.

    Raises:
        StoreError: some are declared by no app, and were not named to be left.
    """
    left = [name for name in found if wanted.leaves(name, known)]
    carried = [name for name in found if name not in left]
    lost = [name for name in carried if name.lower() not in known or not known[name.lower()].is_table]
    if lost:
        more = f" and {len(lost) - NAMED_MAX} more" if len(lost) > NAMED_MAX else ""
        raise StoreError(
            f"no app declares {', '.join(lost[:NAMED_MAX])}{more}, so a copy would lose the rows: declare them (--app "
            "MODULE:ATTRIBUTE, which has App(tables=...)), or leave them out with --leave NAME, or --leave '*' for all"
        )
    twice = [name for name in carried if sum(other.lower() == name.lower() for other in carried) > 1]
    if twice:
        raise StoreError(f"{' and '.join(twice)} differ in capitals only: rename one, or --leave it out")
    order = list(known)
    return sorted(carried, key=lambda name: order.index(name.lower())), left


def quoted(name: str) -> str:
    """As both databases take a name."""
    return '"' + name.replace('"', '""') + '"'


def columns_of_file(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """Columns that rows are inserted into, each with its declared type."""
    rows = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return {name: declared for _, name, declared, _, _, _, hidden in rows if not hidden}


def make_in_file(copy: sqlite3.Connection, table: str, columns: Mapping[str, str], item: Definition) -> bool:
    """Make a server's table in a backup: by its definition, where that keeps every value (True), else without types.

    Args:
        columns: of the server, with their types.
    """
    if _by_definition(copy, table, columns, item):
        return True
    make_untyped(copy, table, columns)
    return False


def make_untyped(copy: sqlite3.Connection, table: str, columns: Iterable[str]) -> None:
    """Make a table whose columns keep any value that is put into them."""
    copy.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
    copy.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")


def _by_definition(copy: sqlite3.Connection, table: str, columns: Mapping[str, str], item: Definition) -> bool:
    try:
        if not item.trusted:
            check_harmless(item)
        copy.execute(item.statement)
    except (StoreError, sqlite3.Error):
        return False
    made = {name.lower(): declared for name, declared in columns_of_file(copy, table).items()}
    return made.keys() == {name.lower() for name in columns} and all(
        _keeps(made[name.lower()], kind) for name, kind in columns.items()
    )


def _keeps(declared: str, kind: str) -> bool:
    """Return True when a column of a file so declared keeps every value of a server's type."""
    affinity = _affinity(declared)
    if affinity == "BLOB" or kind == "bytea":
        return True
    if affinity == "TEXT":
        return kind not in (*_WHOLE, "real", "double precision", "boolean")
    if kind in NATIVE:
        return kind not in _TEXT and not (affinity == "REAL" and kind in _WHOLE)
    return kind.startswith(_NEVER_A_NUMBER)


def _affinity(declared: str) -> str:
    """Return the affinity that SQLite gives a declared type."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


def file_values(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows of a server as a file keeps them."""
    for row in rows:
        yield tuple(NOT_A_NUMBER if value != value else value for value in row)  # noqa: PLR0124


def checker(table: str, columns: Mapping[str, str]) -> Callable[[tuple[Any, ...]], None]:
    """Return a function that refuses a row of a file that a server would keep as something else.

    Args:
        table: its name.
        columns: of the server, with their types, in the order of the rows.
    """
    takes = [(name, kind, _TAKES.get(kind, (str, int, float))) for name, kind in columns.items()]

    def check(row: tuple[Any, ...]) -> None:
        for value, (name, kind, types) in zip(row, takes, strict=True):
            if value is None or isinstance(value, types):
                continue
            if value == NOT_A_NUMBER and float in types:
                continue
            raise StoreError(
                f"a row of {table} cannot be kept there: its {name} holds {_CALLED[type(value)]}, the column there is "
                f"{kind}"
            )

    return check


_CALLED: Mapping[type, str] = {str: "text", int: "a whole number", float: "a number", bytes: "bytes"}
