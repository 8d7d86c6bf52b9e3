"""What joins and edges promise, judged after every verb: no task goes on before those that it waits for have ended,
every round is run once, and none waits for ever.

The judge keeps sets of its own: of a join the children that are there, of an edge what the request said. Of the engine
it asks only which tasks are live, which of them wait, and who is whose child.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from ramet.model.task import events as ev
from ramet.model.task.task import After, NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.requests import Settlement
from tests.simulation.database import SimulatedStore

CLAIMS_UNTIL_ON_MAX = 40
"""Each claim lets a few tasks go on: one that waits after so many of them waits for nothing."""

_UNSUCCESSFUL = (
    "SELECT seq FROM ramet_tasks WHERE state IN ('failed', 'cancelled') OR (state = 'skipped' AND reason LIKE ?)"
)
_CHILDREN = (
    "SELECT c.seq, c.id FROM ramet_tasks t JOIN ramet_tasks c ON c.parent_id = t.id WHERE t.seq = ? AND c.seq > ? "
    "AND NOT EXISTS (SELECT 1 FROM ramet_stages s WHERE s.seq = c.seq AND s.places = 0)"
)


@dataclass
class Round:
    """The tasks that a task waits for."""

    number: int
    """0 for those that it was created after."""
    members: set[int]
    branch: bool = False
    skips: bool = False
    claims: int = 0
    """Claims since all of them had ended."""


@dataclass
class Memory:
    """What the judge knows of tasks by their numbers."""

    open: dict[int, Round] = field(default_factory=dict)
    """Of those that wait."""
    ended: dict[int, Round] = field(default_factory=dict)
    """Of those that ended while they waited: revived, they wait for the same tasks."""
    joins: Counter[int] = field(default_factory=Counter)
    last: dict[int, int] = field(default_factory=dict)
    """The last child of the rounds so far."""
    sizes: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of the sets, by task and round; what is found of a branch is later stages, too."""
    seen: int = 0
    """The last task that was looked at, while a branch is waited for."""


class WaitJudge:
    """The sets of the tasks that wait, and what was broken."""

    def __init__(self, store: SimulatedStore, events: Counter[str]) -> None:
        self._store, self._events = store, events
        self.broken: list[str] = []
        self._known = Memory()
        self._after: dict[str, After] = {}
        """What a task was to come after, by the id that the request gave it."""

    def remember(self) -> Memory:
        return deepcopy(self._known)

    def go_back(self, memory: Memory) -> None:
        self._known = deepcopy(memory)

    # --- around every verb

    def wanted(self, name: str, arguments: Sequence[Any]) -> list[Settlement]:
        """Remember the edges that are asked for; return the joins of claims that were not settled before."""
        news: list[NewTask] = []
        joins: list[Settlement] = []
        match name:
            case "settle":
                news = [new for item in arguments[0] for new in item.spawns]
                joins = [item for item in arguments[0] if isinstance(item.event, ev.Join) and not self._settled(item)]
            case "submit":
                news = [new for lineage in arguments[0] for new in lineage.roots]
            case "add":
                news = [*arguments[1]]
        self._after.update({new.id: new.after for new in news if new.after is not None})
        return joins

    def _settled(self, item: Settlement) -> bool:
        found = "SELECT 1 FROM ramet_attempts WHERE seq = ? AND fence = ?"
        return bool(self._store.rows(found, item.seq, item.fence))

    def watch(self, name: str, joins: Iterable[Settlement]) -> None:
        """Look at who waits now, after a verb, whether it was answered or not."""
        known = self._known
        begun = [item for item in joins if self._settled(item)]
        waiting = {seq for (seq,) in self._store.rows("SELECT seq FROM ramet_live WHERE wait = 'tasks'")}
        self._grown()
        for seq in [*known.open]:
            if seq not in waiting:
                self._goes_on(seq, known.open.pop(seq))
        for item in begun:
            self._joined(item, waits=item.seq in waiting)
        for seq in sorted(waiting - known.open.keys()):
            if seq in known.ended:
                known.open[seq] = known.ended.pop(seq)
                self._events["waits again"] += 1
            else:
                self._created(seq)
        if name == "claim":
            self._for_ever()

    def claimed(self, answer: Sequence[ClaimedTask]) -> None:
        """A claim says which round its task is in."""
        for claimed in answer:
            joins = self._known.joins[claimed.standing.seq]
            if claimed.round != joins:
                self.broken.append(f"task {claimed.id} joined {joins} times, and was claimed in round {claimed.round}")

    # --- rounds

    def _joined(self, item: Settlement, *, waits: bool) -> None:
        assert isinstance(item.event, ev.Join)
        known, seq = self._known, item.seq
        known.joins[seq] += 1
        children = dict(self._store.rows(_CHILDREN, seq, known.last.get(seq, 0)))
        known.last[seq] = max(children, default=known.last.get(seq, 0))
        members = set(children)
        if item.event.branch:
            members |= {other for other, chain in self._born(0) if chain & {*children.values()}}
            known.seen = self._last()
        else:
            known.sizes[seq, known.joins[seq]] = len(members)
        if waits:
            known.open[seq] = Round(known.joins[seq], members, item.event.branch, item.event.skip_on_failure)
            self._events["joined a branch" if item.event.branch else "joined"] += 1

    def _created(self, seq: int) -> None:
        """A task was created after others."""
        known = self._known
        [(task_id, tracking_id)] = self._store.rows("SELECT id, tracking_id FROM ramet_tasks WHERE seq = ?", seq)
        after = self._after.get(task_id)
        if after is None:
            self._events["after of a spawn that was offered again"] += 1  # It has another id, and the same edges.
            return
        members = {self._named(tracking_id, name) for name in after.on}
        known.open[seq] = Round(0, members, skips=after.skips)
        known.sizes[seq, 0] = len(members)
        self._events["came after"] += 1

    def _named(self, tracking_id: str, name: Sequence[str]) -> int:
        if len(name) == 1:
            [(seq,)] = self._store.rows("SELECT seq FROM ramet_tasks WHERE id = ?", name[0])
            return int(seq)
        found = self._store.rows(
            "SELECT seq FROM ramet_tasks WHERE tracking_id = ? AND key = ? AND (kind = ? OR kind LIKE ?) ORDER BY seq",
            tracking_id, name[1], name[0], f"{name[0]}.%",
        )  # fmt: skip
        return int(found[0][0])  # Of a kind with stages the first one: those behind it belong to it.

    def _grown(self) -> None:
        """Who waits for a branch waits for what is created in it."""
        known = self._known
        branches = {seq: row for seq, row in known.open.items() if row.branch}
        if not branches or self._last() <= known.seen:
            return
        names = {seq: self._store.rows("SELECT id FROM ramet_tasks WHERE seq = ?", seq)[0][0] for seq in branches}
        for other, chain in self._born(known.seen):
            for seq, row in branches.items():
                if names[seq] in chain:
                    row.members.add(other)
                    self._events["a branch grew"] += 1
        known.seen = self._last()

    def _last(self) -> int:
        return int(self._store.rows("SELECT COALESCE(MAX(seq), 0) FROM ramet_tasks")[0][0])

    def _born(self, last: int) -> list[tuple[int, set[str]]]:
        """Tasks behind this one with their ancestors, later stages apart."""
        rows = self._store.rows(
            "SELECT seq, ancestry_chain FROM ramet_tasks t WHERE seq > ? AND NOT EXISTS "
            "(SELECT 1 FROM ramet_stages s WHERE s.seq = t.seq AND s.places = 0)",
            last,
        )
        return [(seq, set(json.loads(chain))) for seq, chain in rows]

    # --- what must not be

    def _live(self, row: Round) -> list[int]:
        """Those of a round that have not ended; a task of several stages has when its last one has."""
        stages = dict(self._store.rows(
            "SELECT p.seq, c.seq FROM ramet_stages s JOIN ramet_tasks c ON c.seq = s.seq "
            "JOIN ramet_tasks p ON p.id = c.parent_id WHERE s.places = 0"
        ))  # fmt: skip
        members = set(row.members)
        for seq in row.members:
            while seq in stages:
                members.add(seq := stages[seq])
        return sorted(members & {seq for (seq,) in self._store.rows("SELECT seq FROM ramet_live")})

    def _goes_on(self, seq: int, row: Round) -> None:
        if not self._store.rows("SELECT 1 FROM ramet_live WHERE seq = ?", seq):
            self._known.ended[seq] = row
            return
        live = self._live(row)
        if live:
            self.broken.append(f"task {seq} went on in round {row.number} before its set had ended: {live} live")
        failed = {one for (one,) in self._store.rows(_UNSUCCESSFUL, "%dependency_failed%")} & row.members
        if row.skips and failed:
            self.broken.append(f"task {seq} went on, and is skipped for {sorted(failed)}")
        self._events["went on"] += 1

    def _for_ever(self) -> None:
        for seq, row in self._known.open.items():
            row.claims = 0 if self._live(row) else row.claims + 1
            if row.claims == CLAIMS_UNTIL_ON_MAX:
                self.broken.append(f"task {seq} still waits in round {row.number}, and all of its set has ended")

    def violations(self) -> Iterator[str]:
        """What was broken, and rounds that were run twice or with other tasks than those that were waited for."""
        yield from self.broken
        there = dict(self._store.rows("SELECT id, seq FROM ramet_tasks"))
        rounds = Counter[tuple[str, int]]()
        for task_id, name in self._store.rows("SELECT task_id, name FROM effects WHERE name LIKE 'round %'"):
            number, granted = (int(word) for word in name.split()[1::2])
            rounds[task_id, number] += 1
            size = self._known.sizes.get((there.get(task_id, 0), number), granted)
            if number and granted != size:
                yield f"task {task_id} found {granted} tasks in round {number}, and waited for {size}"
        yield from (
            f"task {task_id} ran round {number} {count} times"
            for (task_id, number), count in rounds.items()
            if count > 1
        )
