"""Records of a file of JSON Lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError
from ramet.llm.inputs.lines import text_lines
from ramet.llm.inputs.templates import Template
from ramet.llm.inputs.values import Wrong, shown


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
        except Wrong as error:
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
        raise Wrong(f"has the key {shown(twice)} twice; keep one of them")
    return record


def _no_constant(name: str) -> object:
    raise Wrong(f"{name} is no JSON; leave it out")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
