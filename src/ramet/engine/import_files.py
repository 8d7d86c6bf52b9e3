"""Reading the rows of an import from a file, a row at a time, each with where it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ramet.model.importing import FORMATS
from ramet.store.errors import StoreError
from ramet.store.import_source import sqlite_rows

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".db": "sqlite", ".sqlite": "sqlite",
            ".sqlite3": "sqlite"}  # fmt: skip
LINE_BYTES_MAX = 16_777_216
"""A longer line is no row of a queue, and no reason to fill the memory."""

Row = tuple[str, dict[str, Any]]
"""Where a row is, and its columns."""


class ImportRefused(StoreError):
    """A file, or a row of it, that cannot be imported. Nothing was written."""


def format_of(path: Path, given: str | None) -> str:
    """The format that was named, or the one that the file's name tells.

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


def _json_rows(path: Path) -> Iterator[Row]:
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
            except UnicodeDecodeError as error:
                raise ImportRefused(f"{path} {where} is not UTF-8 text: convert the file first") from error
            except (ValueError, RecursionError) as error:
                raise ImportRefused(f"{path} {where} is no JSON ({error}): correct or remove it") from error
            if text and not isinstance(row, dict):
                raise ImportRefused(f'{path} {where} is no JSON object: write a row as {{"id": ...}}')
            if row is not None:
                yield where, row


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


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
                if None in row or None in row.values():
                    raise ImportRefused(f"{path} {where} does not have {len(names)} fields as the first line has")
                yield where, row
    except csv.Error as error:
        raise ImportRefused(f"{path} is no sound CSV after {where}: {error}") from error
    finally:
        csv.field_size_limit(limit)
