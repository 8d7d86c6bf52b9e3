"""Rows as the checker reads them: the columns that it looks at, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar, cast

from ramet.store.session import Session
from ramet.store.store import Store


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


Found = TypeVar("Found")


Rows = Callable[[str], list[Any]]
"""Answers a question in SQL."""


class _Reads:
    """Stands for a store of which one only reads."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def read(self, sql: str) -> list[Any]:
        return self._rows(sql)


def at_once(rows: Rows, look: Callable[[Store], Coroutine[Any, Any, Found]]) -> Found:
    """Call ``look`` with a store of which one only reads; it may wait for nothing else."""
    try:
        look(cast(Store, _Reads(rows))).send(None)
    except StopIteration as end:
        return cast(Found, end.value)
    raise AssertionError("it waits for something that is no read")


async def in_snapshot(store: Store, look: Callable[[Store], Coroutine[Any, Any, Found]]) -> Found:
    """Call ``look`` with a store whose ``read`` is all in one transaction; it may wait for nothing else."""

    def run(session: Session) -> Found:
        return at_once(session.rows, look)

    found: Found = await cast(Any, store)._read(run)
    return found
