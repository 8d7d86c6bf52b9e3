"""What somebody beside the database saw of every answer: compared with the rows when all is over.

The witness judges each answer by the promises, from the rows just before the verb, and not by the engine's code: who
held the claim, how long its lease ran, what was acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ramet.store.base import Claimed, Settled, Settlement, Submitted, Swept
from ramet.store.base_persons import Reoffered
from tests.simulation.database import SimulatedStore
from tests.simulation.workload import HOST_CALLS_MAX, WALKS_MAX

SWEEP_LIMIT = 500
"""How many claims one sweep takes back at most."""

Leases = dict[int, tuple[int, float]]
"""Fence and end of the lease of every claim, by task number."""


_HELD = (
    "SELECT (SELECT COUNT(*) FROM ramet_live WHERE {0} = ? AND state = 'processing' AND lease_until > ?) "
    "+ (SELECT COUNT(*) FROM ramet_holds WHERE {0} = ? AND lease_until > ?)"
)
"""Live leases and slots held on after an end from outside."""


class Witness:
    """Everything that was promised to somebody."""

    def __init__(self, store: SimulatedStore, now: Callable[[], float]) -> None:
        self.store = store
        self._now = now
        self.broken: list[str] = []
        self.granted: set[str] = set()
        """Ids of acknowledged roots and granted spawns."""
        self.refused: Counter[str] = Counter()
        """Spawns that were answered with a reason, by that."""
        self.offered_again = False
        """Refusals were looked at once more: their rows tell another story than the first answers."""
        self.doubtful = 0
        """Verbs that were committed and never answered: the process died in between."""

    def leases(self) -> Leases:
        """Every claim there is."""
        rows = self.store.rows("SELECT seq, fence, lease_until FROM ramet_live WHERE state = 'processing'")
        return {seq: (fence, lease_until) for seq, fence, lease_until in rows}

    def current(self, leases: Leases, seq: int, fence: int) -> bool:
        """Whether a worker may still speak for a task: nobody claimed it anew, and its lease runs."""
        return leases.get(seq, (None, 0.0))[0] == fence and leases[seq][1] > self._now()

    def claimed(self, before: Leases, answer: Sequence[Claimed]) -> None:
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

    def settled(self, before: Leases, batch: Sequence[Settlement], answers: Sequence[Settled]) -> None:
        """One accepted answer for a claim that ends it, none for a claim that is not current."""
        held = dict(before)
        for item, answer in zip(batch, answers, strict=True):
            if answer.refused is None:
                if not self.current(held, item.seq, item.fence):
                    self.broken.append(f"task {item.seq} was settled under fence {item.fence}, which was not current")
                if answer.state != "processing":
                    held.pop(item.seq, None)
            self._count(answer)

    def _count(self, answer: Settled) -> None:
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

    def swept(self, before: Leases, answer: Swept) -> None:
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

    def reoffered(self, answer: Reoffered) -> None:
        self.granted.update(answer.created)
        self.offered_again = True

    def submitted(self, answers: Sequence[Submitted]) -> None:
        self.granted.update(answer.id for answer in answers)

    def violations(self) -> Iterator[str]:
        """Compare what was told with what is there (promises I1, I2 and I8)."""
        yield from self.broken
        there = {task_id for (task_id,) in self.store.rows("SELECT id FROM ramet_tasks")}
        yield from (f"{task_id} was acknowledged and is gone" for task_id in sorted(self.granted - there))
        if not self.doubtful:
            yield from (f"{task_id} is there and nobody was told" for task_id in sorted(there - self.granted))
        if not self.doubtful and not self.offered_again:
            stored: Counter[str] = Counter()
            for table in ("ramet_blocks", "ramet_block_counts"):
                stored.update(dict(self.store.rows(f"SELECT reason, SUM(count) FROM {table} GROUP BY reason")))
            del stored["reserve"]  # Refused reservations are stored among the spawns.
            if stored != self.refused:
                yield f"{dict(self.refused)} spawns were refused and {dict(stored)} refusals are stored"
