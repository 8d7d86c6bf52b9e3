"""A job's output: one row for each row of the input, in its order, whatever became of it.

Every row has every field; what there is not is null:

- ``position``: place in the input, 0 for the first; ``id``: the row's own name, or its place as people count
- ``state``: ``queued``, ``submitting``, ``processing``, ``succeeded``, ``failed``, ``skipped`` or ``cancelled``
- ``text``: the model's words, also those of an incomplete answer; ``value``: the JSON that they hold, where a schema or
  a model was to be fitted
- ``code``: short and stable, why there is no good answer; ``error``: that in one line
- ``model``: who the provider says answered
- ``input_tokens`` (those from the cache included), ``cached_tokens``, ``output_tokens`` (reasoning included)
- ``cost_nanodollars``: what was booked for the row's question, all its attempts; rows with the same question share one
  answer and its cost, which only the first of them tells: the others have ``shared`` true and a cost of 0
- ``input_price``, ``cached_price``, ``output_price``: nano-dollars per million tokens that it was booked at
- ``late``: words that came after the row had ended; they change nothing but the cost

JSON Lines are exact. In CSV ``value`` is JSON text, null is an empty cell, and a text that a spreadsheet would take for
a formula begins with an apostrophe. In Parquet ``value`` is JSON text and the numbers are 64-bit integers.

A file is replaced when all of it is written, so who reads meanwhile finds the old one. Rows are written as they come;
none are kept in memory, but for Parquet those of the group at hand.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ramet.commands.output_files import OutputError, replaced, told
from ramet.llm.output_files import LineWriter, ParquetWriter, RowWriter
from ramet.llm.providers.base import Usage

__all__ = ["COLUMNS", "OutputFormat", "OutputRow", "format_of", "open_output", "write_rows"]

STDOUT = "-"


class OutputFormat(StrEnum):
    """How rows are written."""

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
    """What became of a row of the input; the fields are told above. Amounts are integers."""

    position: int
    id: str
    state: str
    text: str | None = None
    value: Any = None
    code: str | None = None
    error: str | None = None
    model: str | None = None
    usage: Usage | None = None
    cost: int = 0
    """Nano-dollars."""
    shared: bool = False
    """An earlier row asked the same: the answer is its, and so is the cost."""
    input_price: int | None = None
    cached_price: int | None = None
    output_price: int | None = None
    late: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The row as it is written, in the order of the columns."""
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
}
"""Every field -> its type, in the order in which they are written."""


def format_of(path: Path | str, format: str | None = None) -> OutputFormat:
    """How to write: as told, else by the end of the file's name; standard output gets JSON Lines.

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
    rows: AsyncIterable[OutputRow] | Iterable[OutputRow], path: Path | str, format: str | None = None
) -> int:
    """Write rows to a file, or to standard output where the path is ``-``.

    When it fails, what was at the path stays as it was.

    Args:
        rows: in the order of the input.
        path: a file, its folder exists.
        format: ``jsonl``, ``csv`` or ``parquet``; None: by the file's name.

    Returns:
        How many rows there were.

    Raises:
        OutputError: it cannot be written there.
        ExtraMissing: Parquet, and pyarrow is not installed.
    """
    count = 0
    with open_output(path, format) as write:
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
def open_output(path: Path | str, format: str | None = None) -> Iterator[Callable[[OutputRow], None]]:
    """What writes one row after another; the file takes its place when the block ends well.

    Raises:
        OutputError, ExtraMissing: as for :func:`write_rows`, also by what writes.
    """
    form = format_of(path, format)
    if str(path) == STDOUT:
        sys.stdout.flush()
        lines = LineWriter(sys.stdout.buffer, COLUMNS, as_csv=form is OutputFormat.CSV)
        yield lambda row: lines.write(row.as_json())
        sys.stdout.buffer.flush()
        return
    with replaced(Path(path)) as file:
        with told(path):
            writer: RowWriter
            if form is OutputFormat.PARQUET:
                writer = ParquetWriter(file, COLUMNS)
            else:
                writer = LineWriter(file, COLUMNS, as_csv=form is OutputFormat.CSV)

        def write(row: OutputRow) -> None:
            with told(path):
                writer.write(row.as_json())

        try:
            yield write
            with told(path):
                writer.finish()
        except BaseException:
            writer.abandon()
            raise
