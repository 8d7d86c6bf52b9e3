"""How rows of named columns are put into a file: as lines of JSON or CSV, or as Parquet."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Mapping
from typing import Any, BinaryIO, Protocol

from ramet.commands.extras import import_extra
from ramet.commands.output_files import harmless_cell

GROUP_ROWS = 1_000
"""Rows of a group of a Parquet file, at most."""
GROUP_CHARACTERS = 8_000_000
"""Of the texts of a group, about."""

PARQUET_EXTRA = "'ramet[parquet]'"
"""The extra that installs what writes Parquet, as a shell is told."""


class RowWriter(Protocol):
    """Writes rows, each with a value for every column."""

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        ...

    def finish(self) -> None:
        """All were written."""
        ...

    def abandon(self) -> None:
        """Nobody wants the file any more."""
        ...


class LineWriter:
    """One line a row: JSON, or CSV under a header."""

    def __init__(self, file: BinaryIO, columns: Mapping[str, str], *, as_csv: bool) -> None:
        self._file = file
        self._columns = columns
        self._csv = as_csv
        self._line = io.StringIO(newline="")
        self._cells = csv.writer(self._line)
        if as_csv:
            self._put_cells(list(columns))

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        if self._csv:
            self._put_cells([_cell(row[name], kind) for name, kind in self._columns.items()])
        else:
            self._put(json.dumps(row, ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """All were written."""
        self._file.flush()

    def abandon(self) -> None:
        """Nothing is held but the file, which is closed by who opened it."""

    def _put_cells(self, cells: list[Any]) -> None:
        self._line.seek(0)
        self._line.truncate()
        self._cells.writerow(cells)
        self._put(self._line.getvalue())

    def _put(self, line: str) -> None:
        # Half a surrogate pair, which UTF-8 has no bytes for, becomes the escape by which JSON writes it.
        self._file.write(line.encode(errors="backslashreplace"))


def _cell(value: Any, kind: str) -> Any:
    """A value for a table."""
    if value is None:
        return ""
    if kind == "flag":
        return str(value).lower()
    return harmless_cell(json.dumps(value, ensure_ascii=False) if kind == "json" else value)


class ParquetWriter:
    """Groups of rows, each written when it is full.

    Raises:
        ExtraMissing: pyarrow is not installed.
    """

    def __init__(self, file: BinaryIO, columns: Mapping[str, str]) -> None:
        self._arrow = import_extra("pyarrow", PARQUET_EXTRA)
        types = {
            "int": self._arrow.int64(),
            "flag": self._arrow.bool_(),
            "text": self._arrow.string(),
            "json": self._arrow.string(),
        }
        self._columns = columns
        self._schema = self._arrow.schema([(name, types[kind]) for name, kind in columns.items()])
        self._writer = importlib.import_module("pyarrow.parquet").ParquetWriter(file, self._schema)
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        kept = {name: _storable(row[name], kind) for name, kind in self._columns.items()}
        self._rows.append(kept)
        self._characters += sum(len(value) for value in kept.values() if isinstance(value, str))
        if len(self._rows) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._put()

    def finish(self) -> None:
        """All were written: the end of the file tells where the groups are."""
        if self._rows:
            self._put()
        self._writer.close()

    def abandon(self) -> None:
        """Close it while the file is open: it would do so by itself when it is collected, and complain."""
        self._rows.clear()
        try:
            self._writer.close()
        except OSError:
            # What was on its way to a full disk; the reason was told when it was written.
            self._writer.is_open = False

    def _put(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()
        self._characters = 0


def _storable(value: Any, kind: str) -> Any:
    """A value for Parquet, which has no bytes for half a surrogate pair either."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False) if kind == "json" else value
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text
