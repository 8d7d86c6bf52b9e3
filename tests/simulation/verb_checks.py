"""What must hold after every single verb, judged from the rows and from what people asked for, not by the engine.

The witness asks it after each answer: claims on paths, in pauses, at breakers and below a cancelled task; money and
sizes; slots of schedules. It remembers what people did, and looks at no column in which the engine keeps that.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ramet.model.schedule import ScheduleSlot
from ramet.model.task import events as ev
from ramet.model.task.task import Standing
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.requests import Settlement
from tests.simulation.database import SimulatedStore
from tests.simulation.workload import HOST_COOLDOWN_SECONDS, HOST_FAILURES, LIMITS
from tests.simulation.workload_parts import MILL, MILL_FAILURES

PAUSE_SECONDS_MAX = 30 * 86_400.0

_ON_PATHS = (
    "SELECT t.seq, t.path, t.path_scope, t.queue, t.tracking_id, p.ticket, "
    "(SELECT COUNT(*) FROM ramet_live l WHERE l.seq = t.seq AND l.state = 'processing' AND l.lease_until > ?) "
    "+ (SELECT COUNT(*) FROM ramet_holds h WHERE h.seq = t.seq AND h.lease_until > ?) "
    "FROM ramet_paths p JOIN ramet_tasks t ON t.seq = p.seq WHERE p.ticket IS NOT NULL"
)
_SIZES = "SELECT l.tracking_id, l.max_tasks, COUNT(t.seq) FROM ramet_lineages l JOIN ramet_tasks t {0} GROUP BY 1, 2"
_OVERSPENT = (
    "SELECT tracking_id, spent + reserved, max_cost FROM ramet_lineages "
    "WHERE spent + reserved > max_cost + under_reserved"
)


class OnPath(NamedTuple):
    """A live ticket."""

    seq: int
    where: tuple[str, str]
    elements: tuple[str, ...]
    ticket: int
    held: bool

    def conflicts(self, other: OnPath) -> bool:
        size = min(len(self.elements), len(other.elements))
        return self.where == other.where and self.elements[:size] == other.elements[:size]


class Judge:
    """What people asked for, and what of it was broken."""

    def __init__(self, store: SimulatedStore, now: Callable[[], float], events: Counter[str]) -> None:
        self._store, self._now, self._events = store, now, events
        self.broken: list[str] = []
        self.paused: dict[str, tuple[float, float | None]] = {}
        """Since when, and the deadline then, by lineage; queues as ``queue:`` and their name. None where a lineage and
        its queue were paused at once: what is not added up is nobody's to recount here."""
        self.marks: dict[str, int] = {}
        """1 where a person cancelled a task and all below, 0 where one revived it again."""
        self.failures: Counter[str] = Counter()
        """In a row, by resource."""
        self.fences: dict[str, int] = {}
        """The highest that was handed out, by task id."""
        self.slots: set[tuple[str, float]] = set()
        self.runs: dict[str, list[str]] = defaultdict(list)
        """Lineages that slots became, by schedule."""
        self.reopened: set[str] = set()
        """Lineages of which people revived something."""

    # --- claims

    def opened(self) -> dict[str, float]:
        """Breakers that are open."""
        return dict(self._store.rows("SELECT name, opened_at FROM ramet_resources WHERE opened_at IS NOT NULL"))

    def claimed(self, opened: dict[str, float], answer: Sequence[ClaimedTask]) -> None:
        """None of them may be taken while a person, a breaker or another task has it."""
        for claimed in answer:
            stand, name = claimed.standing, f"task {claimed.id}"
            self._events[f"claimed {'to end' if stand.ending else 'to run'}"] += 1
            if stand.fence <= self.fences.get(claimed.id, -1):
                self.broken.append(f"{name} was claimed with fence {stand.fence} after {self.fences[claimed.id]}")
            self.fences[claimed.id] = stand.fence
            if stand.chain_depth > (LIMITS.max_chain_depth or 0):
                self.broken.append(f"{name} goes on for the {stand.chain_depth}th time")
            if stand.ending is None:
                self._is_free(name, claimed)
                self._breaker_lets(name, stand, opened)
        if answer:
            self.paths({claimed.standing.seq for claimed in answer})

    def _is_free(self, name: str, claimed: ClaimedTask) -> None:
        stand = claimed.standing
        for pause in (stand.tracking_id, f"queue:{stand.queue}"):
            since = self.paused.get(pause, (None, 0.0))[0]
            if since is not None and self._now() - since < PAUSE_SECONDS_MAX:
                self.broken.append(f"{name} was claimed while {pause} was paused")
        if self.buried(claimed.id, json.loads(claimed.ancestry_chain)):
            self.broken.append(f"{name} was claimed below a task that was cancelled with all below it")

    def _breaker_lets(self, name: str, stand: Standing, opened: dict[str, float]) -> None:
        since = opened.get(stand.resource or "")
        if since is None:
            return
        if stand.resource == MILL or self._now() < since + HOST_COOLDOWN_SECONDS:
            self.broken.append(f"{name} was claimed while the breaker of {stand.resource!r} was open")
        self._events["claimed half open"] += 1

    def buried(self, task_id: str, chain: Sequence[str]) -> bool:
        """Whether the nearest mark on the way to the root is a grave."""
        for name in (task_id, *reversed(chain)):
            if name in self.marks:
                return bool(self.marks[name])
        return False

    def paths(self, taken: set[int]) -> None:
        """I7: no two live claims on conflicting paths, and none before an earlier ticket."""
        now = self._now()
        tickets = [
            OnPath(seq, (queue, of if scope == "lineage" else ""), tuple(json.loads(path)), ticket, bool(held))
            for seq, path, scope, queue, of, ticket, held in self._store.rows(_ON_PATHS, now, now)
        ]
        self._events["claimed on a path"] += sum(one.seq in taken for one in tickets)
        for one, other in combinations(sorted(tickets, key=lambda row: row.ticket), 2):
            if not one.conflicts(other):
                continue
            self._events["path conflict"] += 1
            if one.held and other.held:
                self.broken.append(f"tasks {one.seq} and {other.seq} run at once on {one.elements} {other.elements}")
            elif other.seq in taken:
                self.broken.append(f"task {other.seq} was claimed before the earlier ticket of {one.seq}")

    # --- settlements

    def chains(self, seqs: Sequence[int]) -> dict[int, tuple[str, list[str], str | None]]:
        """Id, ancestors and what it is to end as, of tasks that are settled below a mark; nothing without marks."""
        if not self.marks or not seqs:
            return {}
        listed = ", ".join(map(str, seqs))
        rows = self._store.rows(
            "SELECT t.seq, t.id, t.ancestry_chain, l.ending FROM ramet_tasks t LEFT JOIN ramet_live l "
            f"ON l.seq = t.seq WHERE t.seq IN ({listed})"
        )
        return {seq: (task_id, json.loads(chain), ending) for seq, task_id, chain, ending in rows}

    def settled(self, stands: dict[int, Any], batch: Sequence[Settlement], answers: Sequence[SettleResult]) -> None:
        """Nothing below a cancelled task goes on, and nothing is spawned there."""
        for item, answer in zip(batch, answers, strict=True):
            task_id, chain, ending = stands.get(item.seq, ("", [], None))
            if ending is None and task_id and self.buried(task_id, chain):
                if answer.refused is None and not isinstance(item.event, ev.HandBack):
                    self.broken.append(f"task {task_id} was settled below a task that was cancelled with all below it")
                self.broken += [f"{told.id} was spawned below a cancelled task" for told in answer.spawns if told.id]

    def ending(self, seqs: Sequence[int]) -> set[int]:
        """Those that are claimed for their last handler only."""
        return {seq for (seq,) in self._store.rows("SELECT seq FROM ramet_live WHERE ending IS NOT NULL")} & set(seqs)

    def counted(self, resources: dict[int, str], batch: Sequence[Settlement], answers: Sequence[SettleResult]) -> None:
        """Failures in a row, counted again, are those of the breakers; as many as it takes open them."""
        for item, answer in zip(batch, answers, strict=True):
            name = resources.get(item.seq)
            if name is not None and answer.refused is None:
                self._count(name, item.event, answer.state or "")
        for name, failures, opened in self._store.rows("SELECT name, failures, opened_at FROM ramet_resources"):
            if name not in self.failures:
                continue
            if failures != self.failures[name]:
                self.broken.append(f"the breaker of {name!r} counts {failures} failures, not {self.failures[name]}")
                self.failures[name] = failures
            if opened is None and failures >= (MILL_FAILURES if name == MILL else HOST_FAILURES):
                self.broken.append(f"the breaker of {name!r} is closed after {failures} failures")

    def _count(self, name: str, event: ev.Event, state: str) -> None:
        by_attempt = name != MILL
        failed = state == "failed" and isinstance(event, ev.Error | ev.Fail)
        if by_attempt:
            failed = isinstance(event, ev.Error) and event.error_class != "permanent"
        if failed:
            self.failures[name] += 1
            self._events[f"failure at {name}"] += 1
        elif (
            isinstance(event, ev.Complete | ev.Continue)
            and state == "success"
            and (by_attempt or MILL not in self.opened())
        ):
            self.failures[name] = 0

    # --- everything

    def sizes(self) -> None:
        """I5: at no commit is a lineage larger, or dearer, than it may be, by even one."""
        for tracking_id, most, tasks in self._store.rows(_SIZES.format("ON t.tracking_id = l.tracking_id")):
            self._events["at the size limit"] += tasks == most
            if tasks > most:
                self.broken.append(f"lineage {tracking_id} has {tasks} tasks of {most}")
        for tracking_id, cost, most in self._store.rows(_OVERSPENT):
            self.broken.append(f"lineage {tracking_id} spent or reserved {cost} of {most}")

    def taken(self, answer: Sequence[ScheduleSlot]) -> None:
        """One lineage for a slot, and none while the one before runs (those of the bell).

        An earlier one that a person opened again is not the last run: it goes on beside those that came since. A slot
        that was forgotten and comes again, where the clock went back, is the same lineage.
        """
        open_ones = {
            name
            for (name,) in self._store.rows(
                "SELECT tracking_id FROM ramet_lineages WHERE state IN ('running', 'paused')"
            )
        }
        for slot in answer:
            self._events[f"slot {slot.outcome}"] += 1
            if slot.outcome != "run":
                continue
            if (slot.schedule, slot.slot_at) in self.slots:
                self.broken.append(f"slot {slot.slot_at} of {slot.schedule} was run twice")
            self.slots.add((slot.schedule, slot.slot_at))
            going_on = open_ones & {*self.runs[slot.schedule][-1:], *(set(self.runs[slot.schedule]) - self.reopened)}
            going_on.discard(str(slot.tracking_id))
            if slot.schedule == "bell" and going_on:
                self.broken.append(f"slot {slot.slot_at} of {slot.schedule} runs beside {sorted(going_on)}")
            self.runs[slot.schedule].append(str(slot.tracking_id))

    # --- people

    def pausing(self, what: str) -> float:
        """The deadline that a pause stops, as it is before."""
        if what.startswith("queue:"):
            found = self._store.rows("SELECT paused_seconds FROM ramet_queues WHERE name = ?", what[6:])
        else:
            found = self._store.rows("SELECT deadline_at FROM ramet_lineages WHERE tracking_id = ?", what)
        return float(found[0][0]) if found else 0.0

    def was_paused(self, what: str, before: float) -> None:
        at_once = [other for other in self.paused if other.startswith("queue:") != what.startswith("queue:")]
        self.paused |= {other: (self.paused[other][0], None) for other in at_once if not other.startswith("queue:")}
        alone = what.startswith("queue:") or not at_once
        self.paused[what] = (self._now(), before if alone else None)

    def was_resumed(self, what: str) -> None:
        """Its clock stood still, for exactly as long as it was paused: until now, or until it ended."""
        if what not in self.paused:
            return
        since, before = self.paused.pop(what)
        if before is None:
            return
        ended = self._store.rows("SELECT ended_at FROM ramet_lineages WHERE tracking_id = ? AND live = 0", what)
        until = next((at for (at,) in ended if at is not None), self._now())
        stopped = min(PAUSE_SECONDS_MAX, max(0.0, until - since))
        after = self.pausing(what)
        self._events["clock stood still"] += 1
        if abs(after - before - stopped) > 0.001:
            self.broken.append(f"{what} was paused for {stopped} s, and its clock stood still for {after - before} s")

    def forget_pauses(self) -> None:
        """Something else moved the deadlines of lineages, or the states that pauses stand in; queues have neither."""
        self.paused = {what: since for what, since in self.paused.items() if what.startswith("queue:")}

    def violations(self) -> Iterator[str]:
        """What was broken, and chains that are longer than they may be."""
        yield from self.broken
        for task_id, depth in self._store.rows("SELECT id, chain_depth FROM ramet_tasks WHERE chain_depth > 2"):
            yield f"task {task_id} went on {depth} times"
        if self.slots:
            yield from self._slots()

    def _slots(self) -> Iterator[str]:
        rows = self._store.rows("SELECT tracking_id, COUNT(*) FROM ramet_slots WHERE outcome = 'run' GROUP BY 1")
        yield from (f"{count} slots are lineage {name}" for name, count in rows if count > 1)
