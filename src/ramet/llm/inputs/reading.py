"""Reads a file of prompts: JSON Lines or CSV, row by row.

A row without an ``id`` is called by its place among the rows, ``"1"`` for the first; blank lines are no rows. What is
in memory is the row at hand and every id (about 150 bytes each), so that ids are known to differ. Reading stops with
the first line that cannot be taken; what to do about it is in the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ramet.llm.errors import InputError
from ramet.llm.inputs.json_rows import json_records
from ramet.llm.inputs.lines import opened
from ramet.llm.inputs.prompt_file import csv_records
from ramet.llm.inputs.questions import Defaults, checked, read_question
from ramet.llm.inputs.templates import Template
from ramet.llm.inputs.values import Wrong, check_storable, shown
from ramet.llm.requests import Request, canonical

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv"}
"""How a name ends -> how the file is read."""
BYTES_MAX = 262_144 - 512
"""Of a request: the payload of its task, less the names of the fields."""
_ESCAPED = 8
"""A line may be so many times as long as the request in it: escapes, and what is not sent on."""

__all__ = ["BYTES_MAX", "FORMATS", "Defaults", "Row", "read_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """A question of the input."""

    position: int
    """Its place among the rows; 0 for the first."""
    line: int
    """Where it begins in the file; 1 for the first line."""
    id: str
    """Its own, or its place as people count: ``"1"`` for the first row. Unlike every other row's."""
    request: Request


def read_rows(
    path: Path, defaults: Defaults, *, format: str | None = None, bytes_max: int = BYTES_MAX
) -> Iterator[Row]:
    """The rows of a file, in its order.

    Args:
        path: a file in UTF-8.
        defaults: what rows that do not say take.
        format: ``jsonl`` or ``csv``; None: by the end of the file's name.
        bytes_max: of a request as JSON.

    Raises:
        InputError: an option, the file or a line cannot be taken; the message names the line. Nothing comes after it.
    """
    form = format or FORMATS.get(path.suffix.lower())
    if form is None or form not in FORMATS.values():
        raise InputError(f"cannot tell from its name how {path} is written; say whether it is jsonl or csv")
    try:
        defaults = checked(defaults)
        template = Template(defaults.template) if defaults.template is not None else None
    except Wrong as error:
        raise InputError(f"the options for all rows: {error}") from error
    return _rows(path, form, defaults, template, bytes_max)


def _rows(path: Path, form: str, defaults: Defaults, template: Template | None, bytes_max: int) -> Iterator[Row]:
    ids: dict[str, int] = {}
    records = json_records if form == "jsonl" else csv_records
    with opened(path) as file, closing(records(path, file, bytes_max * _ESCAPED, template)) as found:
        for position, (line, record) in enumerate(found):
            try:
                check_storable(record)
                told, request = read_question(record, defaults, template)
                _check_size(request, bytes_max)
            except Wrong as error:
                raise InputError(f"{path}, line {line}: {error}") from error
            row_id = told if told is not None else str(position + 1)
            if row_id in ids:
                raise InputError(_twice(path, line, row_id, ids[row_id], given=told is not None))
            ids[row_id] = line
            yield Row(position, line, row_id, request)
    if not ids:
        raise InputError(f"{path} holds no prompt; give one a line")


def _check_size(request: Request, bytes_max: int) -> None:
    size = sum(
        len(canonical(part).encode())
        for part in (request.model, request.messages, request.parameters, request.schema)
    )  # fmt: skip
    if size > bytes_max:
        raise Wrong(f"its request has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")


def _twice(path: Path, line: int, row_id: str, first: int, *, given: bool) -> str:
    if given:
        return f"{path}, line {line}: the id {shown(row_id)} is that of line {first} too; give every row its own"
    return f"{path}, line {line}: has no id and would be called {row_id}, as line {first} is; give every row its own"
