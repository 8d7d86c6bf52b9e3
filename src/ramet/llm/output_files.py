"""Files of rows with named columns: lines of JSON or CSV, or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ramet.commands.extras import import_extra
from ramet.commands.output_files import OutputError, harmless_cell, os_errors_as_user_errors, replaced
from ramet.commands.parquet import PARQUET_EXTRA, RowGroups
from ramet.llm.providers.base import ANSWER_DETAILS, TokenUsage

GROUP_ROWS = 1_000
"""Rows of a group of a Parquet file, at most."""


class RowWriter(Protocol):
    """Writes rows, each with a value for every column."""

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        ...

    def finish(self) -> None:
        """All were written."""
        ...

    def abandon(self) -> None:
        """Discard the file."""
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
            self._put_cells([_cell(row.get(name), kind) for name, kind in self._columns.items()])
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
    """Return a value for a table."""
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
        arrow = import_extra("pyarrow", PARQUET_EXTRA)
        types = {
            "int": arrow.int64(),
            "flag": arrow.bool_(),
            "float": arrow.float64(),
            "text": arrow.string(),
            "json": arrow.string(),
        }
        self._columns = columns
        typed = [(name, types[kind]) for name, kind in columns.items()]
        self._groups = RowGroups(file, typed, group_rows=GROUP_ROWS)

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        self._groups.add([_storable(row.get(name), kind) for name, kind in self._columns.items()])

    def finish(self) -> None:
        """All were written."""
        self._groups.finish()

    def abandon(self) -> None:
        """Discard the file."""
        self._groups.abandon()


def _storable(value: Any, kind: str) -> Any:
    """Return a value for Parquet, which has no bytes for half a surrogate pair either."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False) if kind == "json" else value
    if kind == "float":
        return float(value)
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


STDOUT = "-"


class OutputFormat(StrEnum):
    """Format of a file of rows."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


_FORMATS = {
    ".jsonl": OutputFormat.JSONL,
    ".ndjson": OutputFormat.JSONL,
    ".json": OutputFormat.JSONL,
    ".csv": OutputFormat.CSV,
    ".parquet": OutputFormat.PARQUET,
}


@dataclass(slots=True)
class OutputRow:
    """Result of a row of the input; the fields are described above. Amounts are integers."""

    position: int
    id: str
    state: str
    text: str | None = None
    value: Any = None
    code: str | None = None
    error: str | None = None
    model: str | None = None
    usage: TokenUsage | None = None
    cost: int = 0
    """Nano-dollars."""
    shared: bool = False
    """An earlier row asked the same: the answer is its, and so is the cost."""
    input_price: int | None = None
    cached_price: int | None = None
    output_price: int | None = None
    late: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """The answer beside its text: fields of :data:`ramet.llm.providers.base.ANSWER_DETAILS`."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Own columns of the row in the input; under ``prompt`` and ``raw`` what is written on request."""

    def as_json(self) -> dict[str, Any]:
        """Return the row as it is written, in the order of the columns."""
        usage = self.usage
        return {
            "position": self.position,
            "id": self.id,
            "state": self.state,
            "text": self.text,
            "value": self.value,
            "code": self.code,
            "error": self.error,
            "model": self.model,
            "input_tokens": None if usage is None else usage.input_tokens,
            "cached_tokens": None if usage is None else usage.cached_tokens,
            "output_tokens": None if usage is None else usage.output_tokens,
            "cost_nanodollars": self.cost,
            "shared": self.shared,
            "input_price": self.input_price,
            "cached_price": self.cached_price,
            "output_price": self.output_price,
            "late": self.late,
            **{name: self.details.get(name) for name in ANSWER_DETAILS},
            **self.own,
        }


COLUMNS = {
    "position": "int",
    "id": "text",
    "state": "text",
    "text": "text",
    "value": "json",
    "code": "text",
    "error": "text",
    "model": "text",
    "input_tokens": "int",
    "cached_tokens": "int",
    "output_tokens": "int",
    "cost_nanodollars": "int",
    "shared": "flag",
    "input_price": "int",
    "cached_price": "int",
    "output_price": "int",
    "late": "text",
    "finish_reason": "text",
    "reasoning": "text",
    "tool_calls": "json",
    "logprobs": "json",
    "choices": "json",
    "embedding": "json",
}
"""Every field -> its type, in the order in which they are written; those of the input come after them."""
EXTRAS = {"prompt": "text", "raw": "json"}
"""Fields that are written where they are asked for."""


def own_name(name: str) -> str:
    """Return the name of an input's column in the results: ``input.text`` where ``text`` is a field of theirs."""
    return f"input.{name}" if name in COLUMNS or name in EXTRAS else name


def format_of(path: Path | str, format: str | None = None) -> OutputFormat:
    """Return the format: as given, else by the end of the file's name; standard output gets JSON Lines.

    Raises:
        OutputError: neither tells, or it cannot go there.
    """
    told = format or (OutputFormat.JSONL if str(path) == STDOUT else _FORMATS.get(Path(path).suffix.lower()))
    if told not in list(OutputFormat):
        raise OutputError(f"cannot tell how to write {path}; say jsonl, csv or parquet")
    if told == OutputFormat.PARQUET and str(path) == STDOUT:
        raise OutputError("Parquet cannot be written to standard output; name a file")
    return OutputFormat(told)


async def write_rows(
    rows: AsyncIterable[OutputRow] | Iterable[OutputRow],
    path: Path | str,
    format: str | None = None,
    more: Mapping[str, str] | None = None,
) -> int:
    """Write rows to a file, or to standard output where the path is ``-``.

    When it fails, what was at the path stays as it was.

    Args:
        rows: in the order of the input.
        path: a file, its folder exists.
        format: ``jsonl``, ``csv`` or ``parquet``; None: by the file's name.
        more: names and types of the columns of the input (:func:`columns_of`).

    Returns:
        How many rows there were.

    Raises:
        OutputError: it cannot be written there.
        ExtraMissing: Parquet, and pyarrow is not installed.
    """
    count = 0
    with open_output(path, format, more) as write:
        if isinstance(rows, AsyncIterable):
            async for row in rows:
                write(row)
                count += 1
        else:
            for row in rows:
                write(row)
                count += 1
    return count


@contextmanager
def open_output(
    path: Path | str, format: str | None = None, more: Mapping[str, str] | None = None
) -> Iterator[Callable[[OutputRow], None]]:
    """Open a writer of rows; the file takes its place when the block ends well.

    Raises:
        OutputError, ExtraMissing: as for :func:`write_rows`, also by what writes.
    """
    form = format_of(path, format)
    columns = {**COLUMNS, **(more or {})}
    if str(path) == STDOUT:
        sys.stdout.flush()
        lines = LineWriter(sys.stdout.buffer, columns, as_csv=form is OutputFormat.CSV)
        yield lambda row: lines.write(row.as_json())
        sys.stdout.buffer.flush()
        return
    with replaced(Path(path)) as file:
        with os_errors_as_user_errors(path):
            writer: RowWriter
            if form is OutputFormat.PARQUET:
                writer = ParquetWriter(file, columns)
            else:
                writer = LineWriter(file, columns, as_csv=form is OutputFormat.CSV)

        def write(row: OutputRow) -> None:
            with os_errors_as_user_errors(path):
                writer.write(row.as_json())

        try:
            yield write
            with os_errors_as_user_errors(path):
                writer.finish()
        except BaseException:
            writer.abandon()
            raise
