"""The database as the checker of chaos reads it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any, NamedTuple

from ramet.store.store import Store

ACCEPTED = frozenset({"success", "filtered", "skipped"})
"""Ends that a handler asked for."""


class TaskRow(NamedTuple):
    seq: int
    id: str
    tracking_id: str
    parent_id: str | None
    kind: str
    key: str
    ancestry_chain: str
    spawn_depth: int
    state: str | None
    reason: str | None

    @property
    def chain(self) -> list[str]:
        return list(json.loads(self.ancestry_chain))


class LineageRow(NamedTuple):
    tracking_id: str
    state: str
    reason: str | None
    ended_at: float | None
    live: int
    tasks: int
    max_tasks: int
    max_spawn_depth: int
    max_fan_out: int
    max_cost: int | None
    under_reserved: int


class BlockRow(NamedTuple):
    tracking_id: str
    kind: str
    key: str
    reason: str
    facts: str


class Rows:
    """Everything that is looked at."""

    def __init__(self) -> None:
        self.tasks: dict[int, TaskRow] = {}
        self.by_id: dict[str, TaskRow] = {}
        self.lineages: dict[str, LineageRow] = {}
        self.live: set[int] = set()
        self.attempts: dict[int, dict[int, str]] = defaultdict(dict)
        """Outcome by fence, by task."""
        self.unsuccessful: dict[tuple[int, int], tuple[str, str]] = {}
        """Outcome of attempts that were errors or ended from outside, and why."""
        self.revived: set[int] = set()
        self.bases: dict[int, str] = {}
        """Of tasks that are stages of a kind."""
        self.blocks: list[BlockRow] = []
        self.counted_blocks: Counter[tuple[str, str]] = Counter()
        """Refusals that have no row of their own, by lineage and reason."""
        self.effects: dict[tuple[str, str], list[int]] = defaultdict(list)
        """The fences under which a task kept a step."""
        self.booked: dict[str, int | None] = {}
        self.money: Counter[str] = Counter()
        """Spent and reserved by lineage, recounted."""

    @classmethod
    async def load(cls, store: Store) -> Rows:
        """Read it all."""
        rows = cls()
        rows.tasks = {row.seq: row for row in await _table(store, "ramet_tasks", TaskRow)}
        rows.by_id = {row.id: row for row in rows.tasks.values()}
        rows.lineages = {row.tracking_id: row for row in await _table(store, "ramet_lineages", LineageRow)}
        rows.blocks = await _table(store, "ramet_blocks", BlockRow)
        rows.live = {seq for (seq,) in await store.read("SELECT seq FROM ramet_live")}
        for seq, fence, outcome, reason, error in await store.read(
            "SELECT seq, fence, outcome, reason, error FROM ramet_attempts"
        ):
            rows.attempts[seq][fence] = outcome
            if outcome in ("error", "ended"):
                rows.unsuccessful[seq, fence] = (outcome, reason or error or "")
        rows.revived = {seq for (seq,) in await store.read("SELECT seq FROM ramet_transitions WHERE name = 'revive'")}
        rows.bases = dict(await store.read("SELECT seq, base FROM ramet_stages"))
        for tracking_id, reason, count in await store.read("SELECT tracking_id, reason, count FROM ramet_block_counts"):
            rows.counted_blocks[tracking_id, reason] += count
        for task, step, fence in await store.read("SELECT task, step, fence FROM fault_effects"):
            rows.effects[task, step].append(fence)
        for name, tracking_id, amount, actual in await store.read(
            "SELECT id, tracking_id, amount, actual FROM ramet_reservations"
        ):
            rows.booked[name] = actual
            rows.money[tracking_id] += amount if actual is None else actual
        return rows

    def outcome_of(self, task_id: str, fence: int) -> str | None:
        """What became of a claim."""
        task = self.by_id.get(task_id)
        return None if task is None else self.attempts[task.seq].get(fence)

    def is_next_stage(self, task: TaskRow) -> bool:
        """Whether its parent is the stage before it: such a child has its parent's key and is no fan-out."""
        parent = self.by_id.get(task.parent_id or "")
        return parent is not None and parent.key == task.key and self.same_stages(task, parent)

    def same_stages(self, task: TaskRow, other: TaskRow) -> bool:
        """Whether two tasks are stages of one kind, and of different names."""
        base = self.bases.get(task.seq)
        return base is not None and base == self.bases.get(other.seq) and task.kind != other.kind


async def _table(store: Store, name: str, fields: Any) -> list[Any]:
    return [fields._make(row) for row in await store.read(f"SELECT {', '.join(fields._fields)} FROM {name}")]
