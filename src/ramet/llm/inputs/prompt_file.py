"""Records of a CSV file: a header, then one row a record; cells may span lines in quotes.

The columns are those of a plain row, ``prompt`` among them, with numbers as they are written; an empty cell says
nothing. The separator is whichever of comma, semicolon and tab the header has most of. A table with other columns needs
a template.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError
from ramet.llm.inputs.lines import text_lines
from ramet.llm.inputs.parameters import LIMIT_NAMES
from ramet.llm.inputs.templates import Template
from ramet.llm.inputs.values import Wrong, shown, unknown

_TEXTS = frozenset(
    {"id", "custom_id", "prompt", "system", "model", "stop", "reasoning_effort", "verbosity", "user"}
    | {"prompt_cache_key", "safety_identifier"}
)
_NUMBERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys((*LIMIT_NAMES, "seed", "top_k"), int),
    **dict.fromkeys(("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty"), float),
}
_COLUMNS = _TEXTS | _NUMBERS.keys()


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
        except Wrong as error:
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
            raise Wrong(f"the header has the column {shown(name)} twice; rename one of them")
    if template is not None:
        for name in template.names:
            if name not in header:
                raise Wrong(f"the template wants {unknown(name, header, 'column')}")
        return
    for name in header:
        if name not in _COLUMNS:
            raise Wrong(f"{unknown(name, _COLUMNS, 'column')}; to ask about other columns give a template")
    if "prompt" not in header:
        raise Wrong("the header has no column 'prompt'; add one, or give a template")


def _record(header: list[str], cells: list[str], template: Template | None) -> dict[str, Any]:
    if len(cells) != len(header):
        raise Wrong(f"has {len(cells)} cells, where the header has {len(header)}; is a separator not in quotes?")
    pairs = zip(header, cells, strict=True)
    if template is not None:
        return {name: cell for name, cell in pairs if cell or name not in {"id", "custom_id"}}
    return {name: _value(name, cell) for name, cell in pairs if cell.strip()}


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
        raise Wrong(f"'{name}' must be a {kind}, not {shown(cell)}") from error
