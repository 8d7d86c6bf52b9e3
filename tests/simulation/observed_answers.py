"""What somebody beside the database saw of every answer: compared with the rows when all is over.

The witness judges each answer by the promises, from the rows just before the verb, and not by the engine's code: who
held the claim, how long its lease ran, what was acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ramet.store.answers import ClaimedTask, ReofferResult, SettleResult, SubmitResult, SweepResult
from ramet.store.requests import Settlement
from tests.simulation.branch_checks import BranchJudge
from tests.simulation.database import SimulatedStore
from tests.simulation.verb_checks import Judge
from tests.simulation.wait_checks import WaitJudge
from tests.simulation.workload import HOST_CALLS_MAX, WALKS_MAX
from tests.simulation.workload_parts import WAITS

SWEEP_LIMIT = 500
"""How many claims one sweep takes back at most."""

Leases = dict[int, tuple[int, float]]
"""Fence and end of the lease of every claim, by task number."""


_HELD = (
    "SELECT (SELECT COUNT(*) FROM ramet_live WHERE {0} = ? AND state = 'processing' AND lease_until > ?) "
    "+ (SELECT COUNT(*) FROM ramet_holds WHERE {0} = ? AND lease_until > ?)"
)
"""Live leases and slots held on after an end from outside."""


class Before(NamedTuple):
    """What was there just before a verb."""

    leases: Leases
    opened: dict[str, float]
    """Open breakers."""
    stands: dict[int, Any]
    resources: dict[int, str]
    """Of what is settled, but for what is ending."""
    deadline: float
    """Of what is about to be paused."""
    terminal: frozenset[str]
    """Tasks of ended lineages, where some are about to be pruned."""
    late: frozenset[int] = frozenset()
    """Tasks whose lineage was ended under them."""
    joins: Sequence[Settlement] = ()
    """Of what is settled, of claims that were not before."""


NOTHING = Before({}, {}, {}, {}, 0.0, frozenset())
_OF_PEOPLE = ("marks", "failures", "paused", "reopened")
"""What a judge remembers of people, and has to forget with the database that knew it."""
UNBOOKED = frozenset({"heartbeat", "look", "pause_queue", "resume_queue", "stop", "unstop"})
"""Verbs that leave branches alone."""
GROWING = frozenset({"settle", "submit", "add", "reserve", "settle_reserved", "reoffer", "take_slots", "claim"})
"""Verbs after which a lineage may be larger or dearer."""


class Witness:
    """Everything that was promised to somebody."""

    def __init__(self, store: SimulatedStore, now: Callable[[], float], parts: frozenset[str] = frozenset()) -> None:
        self.store = store
        self._now = now
        self.events: Counter[str] = Counter()
        """How often what happened."""
        self.judge = Judge(store, now, self.events)
        self._waits = WaitJudge(store, self.events) if parts & WAITS else None
        self._branches = BranchJudge(store, self.events) if "branches" in parts else None
        self.pruned: set[str] = set()
        """Ids of tasks that are gone, as they may be."""
        self.broken: list[str] = []
        self.granted: set[str] = set()
        """Ids of acknowledged roots and granted spawns."""
        self.refused: Counter[str] = Counter()
        """Spawns that were answered with a reason, by that."""
        self.offered_again = False
        """Refusals were looked at once more: their rows tell another story than the first answers."""
        self.doubtful = 0
        """Verbs that were committed and never answered: the process died in between."""

    # --- around every verb

    def look(self, name: str, arguments: Sequence[Any]) -> Before:
        """The rows just before a verb, as far as its answer is judged by them."""
        if self._branches is not None:
            self._branches.wanted(name, arguments)
        before = self._look(name, arguments)
        return before if self._waits is None else before._replace(joins=self._waits.wanted(name, arguments))

    def watch(self, name: str, before: Before) -> None:
        """Look at what every verb may have changed, whether it was answered or committed and never answered."""
        waits = self.store.rows("SELECT DISTINCT wait FROM ramet_live WHERE wait IS NOT NULL")
        self.events.update(f"wait {wait}" for (wait,) in waits)
        if self._waits is not None:
            self._waits.watch(name, before.joins)
        if self._branches is not None and name not in UNBOOKED:
            self._branches.watch()

    def _look(self, name: str, arguments: Sequence[Any]) -> Before:
        if name not in ("claim", "settle", "heartbeat", "sweep", "prune", "pause_lineage", "pause_queue"):
            return NOTHING
        before = NOTHING
        match name:
            case "claim":
                before = before._replace(opened=self.judge.opened())
            case "settle":
                seqs = [item.seq for item in arguments[0]]
                over = self.judge.ending(seqs)
                rows = self.store.rows("SELECT seq, resource FROM ramet_live WHERE resource IS NOT NULL")
                resources = {seq: resource for seq, resource in rows if seq in seqs and seq not in over}
                before = before._replace(stands=self.judge.chains(seqs), resources=resources, late=self._late())
            case "prune":
                return before._replace(terminal=frozenset(self._over()))
            case "pause_lineage":
                return before._replace(deadline=self.judge.pausing(arguments[0]))
            case "pause_queue":
                return before._replace(deadline=self.judge.pausing(f"queue:{arguments[0]}"))
        return before._replace(leases=self.leases())

    def heard(self, name: str, before: Before, arguments: Sequence[Any], options: dict[str, Any], answer: Any) -> None:
        """Judge an answer, and remember what it promised."""
        self.events[f"verb {name}"] += 1
        match name:
            case "claim":
                self.claimed(before.leases, answer)
                self.judge.claimed(before.opened, answer)
                if self._waits is not None:
                    self._waits.claimed(answer)
            case "settle":
                self.settled(before.leases, before.late, arguments[0], answer)
                self.judge.settled(before.stands, arguments[0], answer)
                self.judge.counted(before.resources, arguments[0], answer)
            case "heartbeat":
                self.kept_alive(before.leases, arguments[0], answer)
            case "sweep":
                self.swept(before.leases, answer)
            case "submit":
                self.submitted(answer)
            case "add":
                self.granted.update(told.id for told in answer if told.id is not None)
            case "reoffer":
                self.reoffered(answer)
                self.events["reoffer done"] += bool(answer.created)
                if answer.created:
                    self.judge.reopened.add(arguments[0])
            case "prune":
                self.pruned |= before.terminal - self._there()
                # A slot that is forgotten comes again where the clock goes back: who prunes keeps more than that.
                self.judge.slots &= set(self.store.rows("SELECT schedule, slot_at FROM ramet_slots"))
                self.events["pruned a lineage"] += answer
            case "take_slots":
                self.granted.update(self._roots([str(slot.tracking_id) for slot in answer if slot.outcome == "run"]))
                self.judge.taken(answer)
            case _:
                self._deed(name, before, arguments, options, answer)
        if name in GROWING:
            self.judge.sizes()

    def _deed(self, name: str, before: Before, arguments: Sequence[Any], options: dict[str, Any], answer: Any) -> None:
        """What a person did."""
        judge = self.judge
        self.events[f"{name} {'done' if answer else 'in vain'}"] += 1
        match name:
            case "pause_lineage" if answer:
                judge.was_paused(arguments[0], before.deadline)
            case "pause_queue" if answer:
                judge.was_paused(f"queue:{arguments[0]}", before.deadline)
            case "resume_lineage":
                judge.was_resumed(arguments[0])
            case "resume_queue":
                judge.was_resumed(f"queue:{arguments[0]}")
            case "cancel" if answer and options.get("tree"):
                if self.store.rows("SELECT 1 FROM ramet_tasks WHERE id = ? AND parent_id IS NOT NULL", arguments[0]):
                    judge.marks[arguments[0]] = 1
                    self.events["cancelled a tree"] += 1
            case "revive":
                judge.marks.update((task_id, 0) for task_id in answer)
                judge.forget_pauses()
                judge.reopened.update(self._lineages_of(answer))
            case "cancel_lineage" | "raise_limits":
                judge.forget_pauses()
            case "close_breaker" if answer:
                judge.failures[arguments[0]] = 0

    def _there(self) -> set[str]:
        return {task_id for (task_id,) in self.store.rows("SELECT id FROM ramet_tasks")}

    def _over(self) -> list[str]:
        rows = self.store.rows(
            "SELECT t.id FROM ramet_tasks t JOIN ramet_lineages l ON l.tracking_id = t.tracking_id "
            "WHERE l.state IN ('finished', 'failed', 'cancelled') AND l.live = 0"
        )
        return [task_id for (task_id,) in rows]

    def _lineages_of(self, task_ids: Sequence[str]) -> set[str]:
        wanted = set(task_ids)
        return {of for task_id, of in self.store.rows("SELECT id, tracking_id FROM ramet_tasks") if task_id in wanted}

    def _roots(self, lineages: Sequence[str]) -> set[str]:
        wanted = set(lineages)
        rows = self.store.rows("SELECT id, tracking_id FROM ramet_tasks WHERE parent_id IS NULL")
        return {task_id for task_id, tracking_id in rows if tracking_id in wanted}

    # --- a copy of the database

    def remember(self) -> dict[str, Any]:
        """What was promised until now, to be known again where an older copy takes the place of the database."""
        mine = {name: deepcopy(getattr(self, name)) for name in ("granted", "refused", "offered_again", "doubtful")}
        waits = None if self._waits is None else self._waits.remember()
        return {**mine, "waits": waits, "judge": {name: deepcopy(getattr(self.judge, name)) for name in _OF_PEOPLE},
                "slots": (set(self.judge.slots), deepcopy(self.judge.runs))}  # fmt: skip

    def go_back(self, memory: dict[str, Any]) -> None:
        """The copy is the database now. Fences go on: no claim may get one that was handed out after the copy."""
        for name in ("granted", "refused", "offered_again", "doubtful"):
            setattr(self, name, deepcopy(memory[name]))
        if self._waits is not None:
            self._waits.go_back(memory["waits"])
        for name, value in memory["judge"].items():
            setattr(self.judge, name, deepcopy(value))
        slots, runs = memory["slots"]
        self.judge.slots, self.judge.runs = set(slots), deepcopy(runs)

    # --- claims and what comes of them

    def leases(self) -> Leases:
        """Every claim there is."""
        rows = self.store.rows("SELECT seq, fence, lease_until FROM ramet_live WHERE state = 'processing'")
        return {seq: (fence, lease_until) for seq, fence, lease_until in rows}

    def current(self, leases: Leases, seq: int, fence: int) -> bool:
        """Whether a worker may still speak for a task: nobody claimed it anew, and its lease runs."""
        return leases.get(seq, (None, 0.0))[0] == fence and leases[seq][1] > self._now()

    def claimed(self, before: Leases, answer: Sequence[ClaimedTask]) -> None:
        for claimed in answer:
            # A claim that counts against a limit takes back what is stale, and may take that itself.
            if before.get(claimed.standing.seq, (0, 0.0))[1] > self._now():
                self.broken.append(f"task {claimed.id} was claimed while fence {before[claimed.standing.seq]} held it")
        for column, name, most in self._limits({(c.standing.kind, c.standing.resource) for c in answer}):
            [(held,)] = self.store.rows(_HELD.format(column), name, self._now(), name, self._now())
            if held > most:
                self.broken.append(f"a claim made {held} tasks of {column} {name!r} run at once, over {most}")

    def _limits(self, taken: set[tuple[str, str | None]]) -> list[tuple[str, str, int]]:
        """What a claim took of that is limited: the column that says so, the name, how many at once."""
        kinds = sorted({kind for kind, _ in taken} & {"walk"})
        hosts = sorted({resource for _, resource in taken if resource is not None})
        return [("kind", name, WALKS_MAX) for name in kinds] + [("resource", name, HOST_CALLS_MAX) for name in hosts]

    def _late(self) -> frozenset[int]:
        rows = self.store.rows(
            "SELECT l.seq FROM ramet_live l JOIN ramet_lineages n ON n.tracking_id = l.tracking_id "
            "WHERE n.state IN ('failed', 'cancelled') AND l.ending IS NULL"
        )
        return frozenset(seq for (seq,) in rows)

    def settled(
        self, before: Leases, late: frozenset[int], batch: Sequence[Settlement], answers: Sequence[SettleResult]
    ) -> None:
        """One accepted answer for a claim that ends it; none for one that is not current, or of an ended lineage."""
        held = dict(before)
        for item, answer in zip(batch, answers, strict=True):
            if answer.refused is None:
                if item.seq in late:
                    self.broken.append(f"task {item.seq} was settled after its lineage had ended")
                if not self.current(held, item.seq, item.fence):
                    self.broken.append(f"task {item.seq} was settled under fence {item.fence}, which was not current")
                if answer.state != "processing":
                    held.pop(item.seq, None)
            self._count(answer)

    def _count(self, answer: SettleResult) -> None:
        for told in answer.spawns:
            if told.id is None:
                self.refused[told.reason or ""] += 1
            else:
                self.granted.add(told.id)
                if answer.refused is not None:
                    self.broken.append(f"{told.id} was granted to task {answer.seq}, which was refused")

    def kept_alive(self, before: Leases, held: Sequence[tuple[int, int]], lost: frozenset[int]) -> None:
        for seq, fence in held:
            if seq not in lost and not self.current(before, seq, fence):
                self.broken.append(f"a heartbeat kept fence {fence} of task {seq} alive, which was not current")

    def swept(self, before: Leases, answer: SweepResult) -> None:
        """Leases that run are nobody's business, those that do not are taken back."""
        stale = [seq for seq, (_, lease_until) in self.leases().items() if lease_until <= self._now()]
        if stale and answer.reclaimed + answer.poisoned < SWEEP_LIMIT:
            self.broken.append(f"a sweep left the stale claims of tasks {stale}")
        if not answer.reclaimed and not answer.poisoned:
            return
        now = self._now()
        lost = set(self.store.rows("SELECT seq, fence FROM ramet_attempts WHERE outcome = 'lost'"))
        for seq, (fence, lease_until) in before.items():
            if lease_until > now and (seq, fence) in lost:
                self.broken.append(f"a sweep took task {seq} from fence {fence}, whose lease runs")

    def reoffered(self, answer: ReofferResult) -> None:
        self.granted.update(answer.created)
        self.offered_again = True

    def submitted(self, answers: Sequence[SubmitResult]) -> None:
        self.granted.update(answer.id for answer in answers)

    def violations(self) -> Iterator[str]:
        """Compare what was told with what is there (promises I1, I2 and I8)."""
        yield from self.broken
        yield from self.judge.violations()
        yield from () if self._waits is None else self._waits.violations()
        yield from () if self._branches is None else self._branches.broken
        there = self._there()
        yield from (f"{task_id} was acknowledged and is gone" for task_id in sorted(self.granted - there - self.pruned))
        # The task of a lineage's end is made by whichever verb finds that it has ended.
        of_ends = {task_id for (task_id,) in self.store.rows("SELECT id FROM ramet_tasks WHERE kind = 'report'")}
        if not self.doubtful:
            yield from (f"{task_id} is there and nobody was told" for task_id in sorted(there - self.granted - of_ends))
        if not self.doubtful and not self.offered_again and not self.pruned:
            stored: Counter[str] = Counter()
            for table in ("ramet_blocks", "ramet_block_counts"):
                stored.update(dict(self.store.rows(f"SELECT reason, SUM(count) FROM {table} GROUP BY reason")))
            del stored["reserve"]  # Refused reservations are stored among the spawns.
            if stored != self.refused:
                yield f"{dict(self.refused)} spawns were refused and {dict(stored)} refusals are stored"
