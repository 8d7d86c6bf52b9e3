"""What DESIGN §4 and §5 say, in dicts and loops: no database, no batches, no indexes, nothing of the engine's code.

One task at a time, every question answered by looking at everything. It is slow and short on purpose: the store is
compared with it step by step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LIVE = ("pending", "processing")


class Wish(NamedTuple):
    """A task that somebody wants."""

    id: str
    kind: str
    key: str
    delay_seconds: float = 0.0
    priority: int = 0


class Said(NamedTuple):
    """What the guard answers."""

    reason: str | None
    winner: str | None = None


OFFERED_AGAIN = ("depth", "budget", "fan_out", "deadline")
"""Refusals that a person can undo: half of the rows are theirs alone."""


@dataclass
class Line:
    """A lineage."""

    name: str
    deadline_at: float
    max_tasks: int
    max_spawn_depth: int
    max_fan_out: int
    state: str = "running"
    ended_at: float | None = None
    marks: dict[str, bool] = field(default_factory=dict)
    """Tombstones by task id; False where one was lifted."""
    follow: bool = False
    """True from an end or a tombstone until the sweep has gone through the tasks."""
    blocks: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    uncounted: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Refusals by (parent, kind, reason), once there are as many rows as the lineage may have tasks."""


@dataclass
class Job:
    """A task."""

    id: str
    line: Line
    kind: str
    key: str
    parent: str | None
    chain: tuple[str, ...]
    priority: int
    number: int
    available_at: float
    max_attempts: int
    task_seconds: float
    max_chain_depth: int
    state: str = "pending"
    fence: int = 0
    lease_until: float = 0.0
    started_at: float | None = None
    deadline_at: float | None = None
    attempts: int = 0
    losses: int = 0
    snoozes: int = 0
    chain_depth: int = 0
    fan_out: int = 0
    stage: str | None = None
    progressed: bool = False
    print_: str | None = None
    finished_at: float | None = None
    earlier_prints: set[str] = field(default_factory=set)
    """Of the final failures before each revive."""
    outcomes: list[str] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return len(self.chain)


class Tasks:
    """All lineages and tasks, and the one clock: how tasks begin. How they end is in :mod:`plain_life`."""

    max_attempts, task_seconds, max_chain_depth, lease_seconds = 4, 2_000.0, 2, 300.0
    places = frozenset({"page", "image"})
    """Kinds with ``cycle_on="key"``."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.lines: dict[str, Line] = {}
        self.jobs: dict[str, Job] = {}
        self._born = 0

    # --- asking

    def of(self, line: Line) -> list[Job]:
        return [job for job in self.jobs.values() if job.line is line]

    def live(self, line: Line) -> list[Job]:
        return [job for job in self.of(line) if job.state in LIVE]

    def buried(self, job: Job) -> bool:
        """The nearest mark on the way to the root decides."""
        for name in (job.id, *reversed(job.chain)):
            if name in job.line.marks:
                return job.line.marks[name]
        return False

    def current(self, job: Job | None, fence: int) -> bool:
        return job is not None and job.state == "processing" and job.fence == fence and job.lease_until > self.now

    # --- submit

    def submit(self, line: Line, roots: Sequence[Wish]) -> list[tuple[str, bool]] | str:
        there = self.lines.get(line.name)
        if there is not None:
            found = [self._holder(there, root.kind, root.key) for root in roots]
            return [(job.id, False) for job in found if job] if all(found) else "LineageExists"
        first: dict[tuple[str, str], str] = {}
        answers = [(first.setdefault((root.kind, root.key), root.id), root.id) for root in roots]
        if len(first) > line.max_tasks:
            return "StoreError"
        line.deadline_at += min(root.delay_seconds for root in roots if root.id in first.values())
        self.lines[line.name] = line
        for root in roots:
            if root.id in first.values():
                self._create(line, None, root)
        return [(winner, winner == own) for winner, own in answers]

    def _holder(self, line: Line, kind: str, key: str) -> Job | None:
        return next((job for job in self.of(line) if (job.kind, job.key) == (kind, key)), None)

    def _create(self, line: Line, parent: Job | None, wish: Wish) -> None:
        self._born += 1
        self.jobs[wish.id] = Job(
            wish.id, line, wish.kind, wish.key, parent.id if parent else None,
            (*parent.chain, parent.id) if parent else (), wish.priority, self._born, self.now + wish.delay_seconds,
            self.max_attempts, self.task_seconds, self.max_chain_depth,
        )  # fmt: skip

    # --- claim and heartbeat

    def claimable(self, kinds: Iterable[str]) -> list[Job]:
        return [job for job in self.jobs.values() if job.kind in kinds and self._claimable(job)]

    def claim(self, names: Sequence[str]) -> None:
        """Whose turn it is between lineages is a matter of its own: any choice from :meth:`claimable` will do."""
        for job in (self.jobs[name] for name in names):
            job.state, job.fence, job.attempts, job.progressed = "processing", job.fence + 1, job.attempts + 1, False
            job.lease_until = self.now + self.lease_seconds
            if job.started_at is None:
                job.started_at = self.now
            if job.deadline_at is None:
                job.deadline_at = min(job.started_at + job.task_seconds, job.line.deadline_at)

    def _claimable(self, job: Job) -> bool:
        runs = job.line.state == "running" and self.now < job.line.deadline_at
        return runs and job.state == "pending" and job.available_at <= self.now and not self.buried(job)

    def heartbeat(self, held: Iterable[tuple[str, int]]) -> set[str]:
        lost = set()
        for name, fence in held:
            job = self.jobs.get(name)
            over = job is None or job.line.state in ("failed", "cancelled") or self.buried(job)
            if job is not None and not over and self.current(job, fence):
                job.lease_until = self.now + self.lease_seconds
            else:
                lost.add(name)
        return lost

    # --- the guard (DESIGN §5)

    def guard(self, parent: Job, wish: Wish, current: bool, states: dict[str, str]) -> Said:
        """In its order. ``states`` are those before the batch: its tasks are in flight until it is applied."""
        line = parent.line
        if self.buried(parent) or line.state == "cancelled":
            return Said("cancelled")
        if line.state not in ("running", "paused"):
            return Said("ended")
        if not current:
            return Said("stale")
        if parent.depth + 1 > line.max_spawn_depth:
            return Said("depth")
        ancestors = {*parent.chain, parent.id}
        for job in sorted(self.of(line), key=lambda job: job.number):
            if job.id in ancestors and job.key == wish.key and (job.kind == wish.kind or wish.kind in self.places):
                return Said("cycle", job.id)
        twin = self._holder(line, wish.kind, wish.key)
        if twin is not None:
            return Said("in_flight" if states.get(twin.id, "pending") in LIVE else "done", twin.id)
        if len(self.of(line)) >= line.max_tasks:
            return Said("budget")
        if parent.fan_out >= line.max_fan_out:
            return Said("fan_out")
        return Said("deadline" if self.now >= line.deadline_at else None)

    def spawn(self, parent: Job, wishes: Sequence[Wish], current: bool, states: dict[str, str]) -> list[Said]:
        told = []
        for wish in wishes:
            said = self.guard(parent, wish, current, states)
            told.append(said)
            if said.reason is None:
                self._create(parent.line, parent, wish)
                parent.fan_out += 1
                parent.progressed = True
                continue
            line, name = parent.line, (wish.kind, wish.key, said.reason)
            most = line.max_tasks if said.reason in OFFERED_AGAIN else (line.max_tasks + 1) // 2
            if name in line.blocks or len(line.blocks) < most:
                line.blocks[name] += 1
            else:
                line.uncounted[(parent.id, wish.kind, said.reason)] += 1
        return told
