"""Reading a table of somebody else's SQLite file, read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ramet.store.errors import StoreError

BUSY_SECONDS = 10.0


def sqlite_rows(path: Path, table: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, row) for every row of a table, from one consistent view of the file.

    Raises:
        StoreError: the file is no database, has no such table, or is locked by a writer.
    """
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS)
    try:
        connection.execute("BEGIN")
        name = _table(connection, path, table)
        cursor = connection.execute(f'SELECT * FROM "{name}"')
        columns = [column[0] for column in cursor.description]
        for number, values in enumerate(cursor, start=1):
            yield f"row {number} of table {name}", dict(zip(columns, values, strict=True))
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreError(f"{path} is being written to: stop the writer or import a copy") from error
        raise StoreError(f"{path} cannot be read as a SQLite database ({error}): give another file") from error
    finally:
        connection.close()


def _table(connection: sqlite3.Connection, path: Path, wanted: str | None) -> str:
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        )
    ]
    shown = ", ".join(names[:20]) or "none"
    if wanted is None and len(names) == 1:
        wanted = names[0]
    if wanted is None:
        raise StoreError(f"{path} has several tables: name one with --table (it has: {shown})")
    if wanted not in names or '"' in wanted:
        raise StoreError(f"{path} has no table {wanted!r}: it has {shown}")
    return str(wanted)
