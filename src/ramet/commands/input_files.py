"""Files of other programs, read row by row: a table of a SQLite file, or a JSON document. They are only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ramet.commands.errors import UserError, one_line

SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
DOCUMENT_BYTES_MAX = 1_073_741_824
"""A JSON document is read whole."""


def is_sqlite(path: Path) -> bool:
    """Return whether a file's name is one of a SQLite database."""
    return path.suffix.lower() in SQLITE_SUFFIXES


def table_names(path: Path) -> list[str]:
    """Return the names of the tables of a SQLite file.

    Raises:
        StoreError: the file is not a database, or a writer holds it.
    """
    from ramet.store.imports.staging import sqlite_table_names  # The driver is needed by those alone who import.

    return sqlite_table_names(path)


def table_rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """Read every row of a table of a SQLite file, from one consistent view.

    Raises:
        StoreError: the file is not a database, has no such table, or a writer holds it.
    """
    from ramet.store.imports.staging import sqlite_rows

    for _, row in sqlite_rows(path, table):
        yield row


def json_document(path: Path) -> Any:
    """Read a file that is one JSON document.

    Returns:
        Its content; None where the file is not one document, as a file of rows on lines is not, or is too large.

    Raises:
        UserError: it cannot be read.
    """
    try:
        if path.stat().st_size > DOCUMENT_BYTES_MAX:
            return None
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    except (ValueError, RecursionError):
        return None
