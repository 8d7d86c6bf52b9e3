"""Writes input files and reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ramet.llm.inputs.prompt_file import Row, read_rows
from ramet.llm.inputs.questions import Defaults

DEFAULTS = Defaults(model="m-1", max_output_tokens=100)


def lines(path: Path, *rows: object) -> Path:
    """A file of JSON Lines; a text or bytes is a line as it stands."""
    raw = [
        row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else json.dumps(row).encode()
        for row in rows
    ]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def read(path: Path, defaults: Defaults = DEFAULTS, **options: Any) -> list[Row]:
    return list(read_rows(path, defaults, **options))


def read_one(tmp_path: Path, row: object, defaults: Defaults = DEFAULTS) -> Row:
    (one,) = read(lines(tmp_path / "in.jsonl", row), defaults)
    return one
