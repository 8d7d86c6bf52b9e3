"""JSON that people give on a command line, in a file or on standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ramet.cli.failures import CliError


def _text_of(name: str) -> str:
    """A file's text, or standard input's."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text (byte {error.start}): convert it first") from error


def _json(text: str, what: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON value")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise CliError(f"{what} is nested too deeply: flatten it") from error
    except ValueError as error:
        raise CliError(f"{what} is not JSON ({error}): write it like '{{\"n\": 1}}'") from error


def parse_payload(text: str | None) -> Any:
    """The JSON value given on a command line: in place, in a file (``@``) or on standard input (``-``).

    Raises:
        CliError: it cannot be read or is no JSON.
    """
    if text is None:
        return None
    if text == "-" or text.startswith("@"):
        name = text if text == "-" else text[1:]
        return _json(_text_of(name), "standard input" if name == "-" else name)
    return _json(text, "the payload")


def payload_lines(name: str) -> list[Any]:
    """The JSON values of a file, one on each line that is not empty.

    Raises:
        CliError: it cannot be read, has none, or a line is no JSON.
    """
    lines = _text_of(name).split("\n")
    found = [_json(line, f"{name} line {at}") for at, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise CliError(f"{name} has no lines: write one JSON payload on each")
    return found
