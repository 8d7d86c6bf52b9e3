"""Rows as the checker reads them: the columns that it looks at, and no others."""

from __future__ import annotations

import json
from typing import NamedTuple


class TaskRow(NamedTuple):
    seq: int
    id: str
    tracking_id: str
    parent_id: str | None
    kind: str
    key: str
    ancestry_chain: str
    spawn_depth: int
    max_attempts: int | None
    state: str | None
    reason: str | None
    fence: int | None
    attempts: int | None
    losses: int | None
    fan_out: int | None
    finished_at: float | None
    on_end: int

    @property
    def chain(self) -> tuple[str, ...]:
        return tuple(json.loads(self.ancestry_chain))


class BlockRow(NamedTuple):
    tracking_id: str
    kind: str
    key: str
    reason: str
    count: int  # type: ignore[assignment]  # the column's name; a tuple's method of this name is not needed
    first_parent: str
    last_parent: str
    winner: str | None
    wanted: str | None
    left_out: int
