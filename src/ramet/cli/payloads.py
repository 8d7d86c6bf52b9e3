"""JSON that people give on a command line, in a file or on standard input."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from ramet import PathArguments, TaskOptions
from ramet.cli.errors import CliError


def _text_of(name: str) -> str:
    """A file's text, or standard input's."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text (byte {error.start}): convert it first") from error


def json_value(text: str, what: str) -> Any:
    """The value of a JSON text.

    Raises:
        CliError: it is none.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON value")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise CliError(f"{what} is nested too deeply: flatten it") from error
    except ValueError as error:
        raise CliError(f"{what} is not JSON ({error}): write it like '{_like(text)}'") from error


def _like(text: str) -> str:
    """What somebody may have meant who left the quotes of a text out; else an object."""
    meant = re.fullmatch(r"[^\s{}\[\]'\"\\][^\s'\"\\]{0,99}", text)
    return f'"{text}"' if meant and text.isprintable() else '{"n": 1}'


def parse_payload(text: str | None) -> Any:
    """The JSON value given on a command line: in place, in a file (``@``) or on standard input (``-``).

    Raises:
        CliError: it cannot be read or is no JSON.
    """
    if text is None:
        return None
    if text == "-" or text.startswith("@"):
        name = text if text == "-" else text[1:]
        return json_value(_text_of(name), "standard input" if name == "-" else name)
    return json_value(text, "the payload")


def payload_lines(name: str) -> list[Any]:
    """The JSON values of a file, one on each line that is not empty.

    Raises:
        CliError: it cannot be read, has none, or a line is no JSON.
    """
    lines = _text_of(name).split("\n")
    found = [json_value(line, f"{name} line {at}") for at, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise CliError(f"{name} has no lines: write one JSON payload on each")
    return found


class Row(NamedTuple):
    """One task of many."""

    payload: Any
    options: TaskOptions


_FIELDS: dict[str, tuple[type, ...]] = {
    "key": (str,),
    "queue": (str,),
    "priority": (int,),
    "delay_seconds": (int, float),
    "path": (list,),
    "document_id": (str,),
    "reserve_path": (bool,),
    "path_scope": (str,),
    "on_dependency_failure": (str,),
}
"""What a row may say besides its payload."""


def rows_of(values: Sequence[Any], path: PathArguments) -> list[Row]:
    """Lines of ``--rows``: objects with a payload and options of their own; ``path`` holds for those that name none.

    Raises:
        CliError: a line is no such object; it is named.
    """
    return [_row(value, at, path) for at, value in enumerate(values, start=1)]


def _row(value: Any, at: int, path: PathArguments) -> Row:
    if not isinstance(value, dict) or "payload" not in value:
        raise CliError(f'row {at} has no payload: write each line like {{"payload": {{"n": 1}}, "path": ["doc1"]}}')
    own = {name: item for name, item in value.items() if name != "payload" and item is not None}
    for name, item in own.items():
        if name not in _FIELDS:
            raise CliError(f"row {at} has a field {name!r} that means nothing: give {', '.join(sorted(_FIELDS))}")
        if not isinstance(item, _FIELDS[name]) or (isinstance(item, bool) and name != "reserve_path"):
            raise CliError(f"{name} of row {at} is {item!r:.60}: give {_FIELDS[name][-1].__name__}")
    if not 0 <= own.get("delay_seconds", 0) < float("inf"):
        raise CliError(f"delay_seconds of row {at} is {own['delay_seconds']}: give 0 or more")
    placed = "path" in own or "document_id" in own
    common = {name: item for name, item in path.items() if not (placed and name in ("path", "document_id"))}
    return Row(value["payload"], cast(TaskOptions, {**common, **own}))
