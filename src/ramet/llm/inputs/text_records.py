"""Rows of files of text, JSON Lines and CSV: UTF-8, bounded, numbered from 1. Only the line at hand is in memory."""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError
from ramet.llm.inputs.questions import LIMIT_NAMES, is_misspelled
from ramet.llm.inputs.sources import Record, name_of
from ramet.llm.inputs.values import InvalidRow, Template, shown, unknown

_UTF8_MARK = b"\xef\xbb\xbf"
_PIECE_BYTES = 1 << 20
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is packed twice; unpack it first",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; save it as JSON Lines or CSV",
    b"PAR1": "is a Parquet file; give it a name that ends in .parquet",
}


def text_lines(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[tuple[int, str | InvalidRow]]:
    """Each line with its end, and its number; a byte-order mark is left out.

    What is over `bytes_max` long, or is not UTF-8, is an error in the place of the line.

    Raises:
        InputError: the file cannot be read, or is none of text.
    """
    number = 0
    while line := _line(file, path, bytes_max):
        number += 1
        if isinstance(line, InvalidRow):
            yield number, line
            continue
        if number == 1:
            for mark, words in _FOREIGN.items():
                if line.startswith(mark):
                    raise InputError(f"{name_of(path)} {words}")
            line = line.removeprefix(_UTF8_MARK)
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            yield number, InvalidRow(f"byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8")


def _line(file: BinaryIO, path: Path, bytes_max: int) -> bytes | InvalidRow:
    try:
        line = file.readline(bytes_max + 1)
        if len(line) <= bytes_max:
            return line
        size, piece = len(line), line
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(_PIECE_BYTES)
            size += len(piece)
    except (OSError, EOFError, zlib.error) as error:
        words = one_line(getattr(error, "strerror", None) or error)
        raise InputError(f"cannot read {name_of(path)}: {words}") from error
    return InvalidRow(f"has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")


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


def csv_records(path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None) -> Generator[Record]:
    """Each row as an object, and the number of the line where it begins.

    Raises:
        InputError: the header cannot be taken, or the file is no CSV from a line on; the message names it.
    """
    where = name_of(path)
    # One for the whole process; what others set is not made smaller.
    csv.field_size_limit(max(csv.field_size_limit(), bytes_max))
    lines = _lines_of_table(path, file, bytes_max)
    first = next(lines, "")
    if not first.strip():
        raise InputError(f"{where}, line 1: has no header; name the columns there, 'prompt' among them")
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
                _check_header(header, template, where)
            elif cells:
                yield begins, _record(header, cells, template)
        except csv.Error as error:
            words = f"{where}, line {begins}: not CSV ({one_line(error)}); a quote may be missing there"
            raise InputError(words) from error
        except InvalidRow as error:
            yield begins, error
        begins = reader.line_num + 1


def _lines_of_table(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[str]:
    """The lines of a table. A row may have several, so that none of them can be left out by itself."""
    for number, line in text_lines(path, file, bytes_max):
        if isinstance(line, InvalidRow):
            raise InputError(f"{name_of(path)}, line {number}: {line}")
        yield line


def _after(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _check_header(header: list[str], template: Template | None, where: str) -> None:
    try:
        _check_names(header, template)
    except InvalidRow as error:
        raise InputError(f"{where}, line 1: {error}") from error


def _check_names(header: list[str], template: Template | None) -> None:
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


def json_records(path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None) -> Generator[Record]:
    """Each object and the number of its line.

    Raises:
        InputError: the file cannot be read.
    """
    for number, line in text_lines(path, file, bytes_max):
        if isinstance(line, InvalidRow):
            yield number, line
        elif line.strip():
            yield number, _object(number, line.strip())


def _object(number: int, line: str) -> dict[str, Any] | InvalidRow:
    try:
        record = _DECODER.decode(line)
    except InvalidRow as error:
        return error
    except (ValueError, RecursionError) as error:
        hint = "; give one object a line, no list" if number == 1 and line in {"[", "{"} else "; correct it"
        return InvalidRow(f"not JSON ({one_line(error)}){hint}")
    if not isinstance(record, dict):
        return InvalidRow(f'must be an object like {{"id": ..., "prompt": ...}}, not {shown(record)}')
    return record


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
