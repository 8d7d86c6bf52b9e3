"""The world outside the database: what handlers did and were told, one line each in a file that is only appended to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

EFFECTS = "RAMET_TEST_EFFECTS"
"""Names the file in a worker's environment."""


class Effect(NamedTuple):
    """One line."""

    task: str
    fence: int
    step: str
    """``began``: a handler was called. ``kept``, ``spawned``, ``reserved``, ``booked``: the database said so."""
    what: str = ""
    """Which child or which reservation."""
    amount: int = 0


def note(token: str, step: str, what: str = "", amount: int = 0) -> None:
    """Append a line, whole or not at all, whoever else does the same.

    Args:
        token: of the claim, ``task:fence``.
    """
    task, _, fence = token.rpartition(":")
    line = json.dumps(Effect(task, int(fence), step, what, amount)) + "\n"
    file = os.open(os.environ[EFFECTS], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def effects(file: Path) -> list[Effect]:
    """Everything that was noted."""
    return [Effect(*json.loads(line)) for line in file.read_text().splitlines()]


def count(file: Path) -> int:
    """How many lines there are so far."""
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


def given(token: Any) -> int:
    """The fence in a claim's token."""
    return int(str(token).rpartition(":")[2])
