"""Reading the rows of an import from a file, a row at a time, each with where it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ramet.model.importing import FORMATS
from ramet.store.errors import StoreError
from ramet.store.imports.staging import sqlite_rows

SUFFIXES = {".json": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".db": "sqlite",
            ".sqlite": "sqlite",
            ".sqlite3": "sqlite"}  # fmt: skip
LINE_BYTES_MAX = 16_777_216
"""Most bytes of a line: a longer one is not a row of a queue, and must not fill the memory."""


class ImportRefused(StoreError):
    """A file, or a row of it, that cannot be imported. Nothing was written."""


Row = tuple[str, "dict[str, Any] | ImportRefused"]
"""Place and columns of a row; or what is wrong with it."""


class BadRows(ImportRefused):
    """Rows that cannot be imported; nothing was written."""

    def __init__(self, rows: Sequence[str]) -> None:
        more = f" (and {len(rows) - 1} more; --skip-bad leaves them out)" if len(rows) > 1 else ""
        super().__init__(rows[0] + more)
        self.rows = tuple(rows)


def format_of(path: Path, given: str | None) -> str:
    """Return the format that was named, or the one that the file's name tells.

    Raises:
        ImportRefused: neither does.
    """
    found = given or SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise ImportRefused(f"{path} may be anything: say --format {'|'.join(FORMATS)}")
    return found


def rows_of(path: Path, kind: str, table: str | None = None) -> Iterator[Row]:
    """Every row of a file.

    Raises:
        ImportRefused: the file cannot be read, or a row of it is broken.
    """
    if path.is_dir() or not path.exists():
        raise ImportRefused(f"no file {path}: give the path of one")
    if table is not None and kind != "sqlite":
        raise ImportRefused("--table goes with --format sqlite")
    try:
        if kind == "sqlite":
            yield from sqlite_rows(path, table)
        elif kind == "csv":
            yield from _csv_rows(path)
        else:
            yield from _json_rows(path)
    except OSError as error:
        raise ImportRefused(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ImportRefused(f"{path} is not UTF-8 text ({error.reason}): convert it first") from error


ENVELOPE_BYTES_MAX = 1_073_741_824
"""A file that is one JSON document has to be read whole."""


def _enveloped(path: Path) -> list[Any] | None:
    """Return the rows of a file that is one JSON document: a list of objects, or an object with one such list in it.

    None where the file is rows on lines: where its first line is a JSON document of its own, but no envelope.
    """
    with path.open("rb") as file:
        first = file.readline(LINE_BYTES_MAX + 1).decode("utf-8-sig", "replace").strip()
    try:
        rows = _rows_in(json.loads(first))
        if rows is None and first:
            return None
    except (ValueError, RecursionError):
        if first not in ("", "{", "[") and not first.startswith(("[", '{"documents"', "{ ")):
            return None
    if path.stat().st_size > ENVELOPE_BYTES_MAX:
        raise ImportRefused(f"{path} is one document of over {ENVELOPE_BYTES_MAX} bytes: write one row a line")
    try:
        return _rows_in(json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _rows_in(document: Any) -> list[Any] | None:
    """Return the list of rows in a document; None when it has none. A row by itself has no list of objects beside its
    id.
    """
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or "id" in document:
        return None
    lists = [value for value in document.values() if isinstance(value, list)]
    return lists[0] if len(lists) == 1 and all(isinstance(item, dict) for item in lists[0]) else None


def _json_rows(path: Path) -> Iterator[Row]:
    rows = _enveloped(path)
    if rows is not None:
        for number, row in enumerate(rows, start=1):
            odd = ImportRefused(f'{path} row {number} is not a JSON object: write a row as {{"id": ...}}')
            yield f"row {number}", row if isinstance(row, dict) else odd
        return
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            where = f"line {number}"
            if len(line) > LINE_BYTES_MAX:
                raise ImportRefused(f"{path} {where} is over {LINE_BYTES_MAX} bytes: is it one JSON object a line?")
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                row = json.loads(text, parse_constant=_refuse) if text else None
            except UnicodeDecodeError:
                yield where, ImportRefused(f"{path} {where} is not UTF-8 text: convert the file first")
                continue
            except (ValueError, RecursionError) as error:
                yield where, ImportRefused(f"{path} {where} is not valid JSON ({error}): correct or remove it")
                continue
            if text and not isinstance(row, dict):
                yield where, ImportRefused(f'{path} {where} is not a JSON object: write a row as {{"id": ...}}')
            elif row is not None:
                yield where, row


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def _csv_rows(path: Path) -> Iterator[Row]:
    limit = csv.field_size_limit(LINE_BYTES_MAX)
    where = "line 1"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            if len(set(names)) != len(names) or not all(names):
                raise ImportRefused(f"{path} line 1 must name every column, each once: it has {', '.join(names)[:200]}")
            for row in reader:
                where = f"line {reader.line_num}"
                odd = ImportRefused(f"{path} {where} does not have {len(names)} fields as the first line has")
                yield where, odd if None in row or None in row.values() else row
    except csv.Error as error:
        raise ImportRefused(f"{path} is not valid CSV after {where}: {error}") from error
    finally:
        csv.field_size_limit(limit)
