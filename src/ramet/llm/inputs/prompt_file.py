"""A file's lines as text: UTF-8, bounded, numbered from 1. Nothing but the line at hand is in memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError
from ramet.llm.inputs.questions import LIMIT_NAMES, Defaults, checked, is_misspelled, read_question
from ramet.llm.inputs.values import InvalidRow, Template, check_storable, shown, unknown
from ramet.llm.requests import Request, canonical

_UTF8_MARK = b"\xef\xbb\xbf"
_PIECE_BYTES = 1 << 20
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is packed by gzip; unpack it first",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; save it as JSON Lines or CSV",
    b"PAR1": "is a Parquet file; save it as JSON Lines or CSV",
}


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, where it is one that can be read.

    Raises:
        InputError: there is no such file, it cannot be read, or it begins as no text does.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    with file:
        yield file


def text_lines(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[tuple[int, str]]:
    """Each line with its end, and its number; a byte-order mark is left out.

    Raises:
        InputError: a line is over `bytes_max` long or is not UTF-8; the message names it.
    """
    number = 0
    while line := _line(file, path, number + 1, bytes_max):
        number += 1
        if number == 1:
            for mark, words in _FOREIGN.items():
                if line.startswith(mark):
                    raise InputError(f"{path} {words}")
            line = line.removeprefix(_UTF8_MARK)
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}, line {number}: byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8"
            ) from error


def _line(file: BinaryIO, path: Path, number: int, bytes_max: int) -> bytes:
    try:
        line = file.readline(bytes_max + 1)
        if len(line) <= bytes_max:
            return line
        size, piece = len(line), line
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(_PIECE_BYTES)
            size += len(piece)
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    raise InputError(f"{path}, line {number}: has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")


_TEXTS = frozenset(
    {"id", "custom_id", "prompt", "system", "model", "stop", "reasoning_effort", "verbosity", "user"}
    | {"prompt_cache_key", "safety_identifier"}
)
_NUMBERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys((*LIMIT_NAMES, "seed", "top_k"), int),
    **dict.fromkeys(("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty"), float),
}
_COLUMNS = _TEXTS | _NUMBERS.keys()
_OPTIONAL = frozenset({"id", "custom_id", "model", "system", *LIMIT_NAMES})
"""Columns beside a template's own that say nothing where they are empty."""


def csv_records(
    path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None
) -> Generator[tuple[int, dict[str, Any]]]:
    """Each row as an object, and the number of the line where it begins.

    Raises:
        InputError: the header or a row cannot be taken; the message names the line.
    """
    # One for the whole process; what others set is not made smaller.
    csv.field_size_limit(max(csv.field_size_limit(), bytes_max))
    lines = (line for _, line in text_lines(path, file, bytes_max))
    first = next(lines, "")
    if not first.strip():
        raise InputError(f"{path}, line 1: has no header; name the columns there, 'prompt' among them")
    reader = csv.reader(_after(first, lines), delimiter=_separator(first), strict=True)
    header: list[str] | None = None
    begins = 1
    while True:
        try:
            cells = next(reader, None)
            if cells is None:
                return
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(header, template)
            elif cells:
                yield begins, _record(header, cells, template)
        except csv.Error as error:
            words = f"{path}, line {begins}: not CSV ({one_line(error)}); a quote may be missing there"
            raise InputError(words) from error
        except InvalidRow as error:
            raise InputError(f"{path}, line {begins}: {error}") from error
        begins = reader.line_num + 1


def _after(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _check_header(header: list[str], template: Template | None) -> None:
    for name in header:
        if header.count(name) > 1:
            raise InvalidRow(f"the header has the column {shown(name)} twice; rename one of them")
    if template is not None:
        for name in template.names:
            if name not in header:
                raise InvalidRow(f"the template wants {unknown(name, header, 'column')}")
        return
    for name in header:
        if is_misspelled(name):
            raise InvalidRow(f"{unknown(name, _COLUMNS, 'column')}; rename it if it is a column of your own")
    if "prompt" not in header:
        raise InvalidRow("the header has no column 'prompt'; add one, or give a template")


def _record(header: list[str], cells: list[str], template: Template | None) -> dict[str, Any]:
    if len(cells) != len(header):
        raise InvalidRow(f"has {len(cells)} cells, where the header has {len(header)}; is a separator not in quotes?")
    pairs = zip(header, cells, strict=True)
    if template is not None:
        return {
            name: cell if name in template.names else _value(name, cell)
            for name, cell in pairs
            if cell or name not in _OPTIONAL
        }
    return {name: _value(name, cell) for name, cell in pairs if cell.strip() or name not in _COLUMNS}


def _value(name: str, cell: str) -> str | float:
    convert = _NUMBERS.get(name)
    if convert is None:
        return cell
    kind = "whole number" if convert is int else "number"
    try:
        # Python reads more digits and separators than a table has.
        if not cell.isascii() or "_" in cell:
            raise ValueError
        return convert(cell)
    except ValueError as error:
        raise InvalidRow(f"'{name}' must be a {kind}, not {shown(cell)}") from error


def json_records(
    path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None
) -> Generator[tuple[int, dict[str, Any]]]:
    """Each object and the number of its line.

    Raises:
        InputError: a line is no object; the message names it.
    """
    for number, line in text_lines(path, file, bytes_max):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = _DECODER.decode(line.strip())
        except InvalidRow as error:
            raise InputError(f"{where}: {error}") from error
        except (ValueError, RecursionError) as error:
            hint = "; give one object a line, no list" if number == 1 and line.strip() in {"[", "{"} else ""
            raise InputError(f"{where}: not JSON ({one_line(error)}){hint or '; correct it'}") from error
        if not isinstance(record, dict):
            raise InputError(f'{where}: must be an object like {{"id": ..., "prompt": ...}}, not {shown(record)}')
        yield number, record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRow(f"has the key {shown(twice)} twice; keep one of them")
    return record


def _no_constant(name: str) -> object:
    raise InvalidRow(f"{name} is no JSON; leave it out")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv"}
"""How a name ends -> how the file is read."""
BYTES_MAX = 32_000_000
"""Of a request: providers take no larger one."""
_ESCAPED = 8
"""A line may be so many times as long as the request in it: escapes, and what is not sent on."""
_LINE_BYTES_MAX = 64 * 1024 * 1024


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
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Its own, which say nothing about how it is asked: they travel to the results."""


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
    except InvalidRow as error:
        raise InputError(f"the options for all rows: {error}") from error
    return _rows(path, form, defaults, template, bytes_max)


def _rows(path: Path, form: str, defaults: Defaults, template: Template | None, bytes_max: int) -> Iterator[Row]:
    ids: dict[str, int] = {}
    records = json_records if form == "jsonl" else csv_records
    with (
        opened(path) as file,
        closing(records(path, file, min(bytes_max * _ESCAPED, _LINE_BYTES_MAX), template)) as found,
    ):
        for position, (line, record) in enumerate(found):
            try:
                check_storable(record)
                told, request, columns = read_question(record, defaults, template)
                _check_size(request, bytes_max)
            except InvalidRow as error:
                raise InputError(f"{path}, line {line}: {error}") from error
            row_id = told if told is not None else str(position + 1)
            if row_id in ids:
                raise InputError(_twice(path, line, row_id, ids[row_id], given=told is not None))
            ids[row_id] = line
            yield Row(position, line, row_id, request, columns)
    if not ids:
        raise InputError(f"{path} holds no prompt; give one a line")


def _check_size(request: Request, bytes_max: int) -> None:
    size = sum(
        len(canonical(part).encode())
        for part in (request.model, request.messages, request.parameters, request.schema)
    )  # fmt: skip
    if size > bytes_max:
        raise InvalidRow(f"its request has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")


def _twice(path: Path, line: int, row_id: str, first: int, *, given: bool) -> str:
    if given:
        return f"{path}, line {line}: the id {shown(row_id)} is that of line {first} too; give every row its own"
    return f"{path}, line {line}: has no id and would be called {row_id}, as line {first} is; give every row its own"
