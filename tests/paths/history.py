"""One random history, told to a store and to the reference at once.

A history is a list of operations, each with a seed of its own from which it makes its choices. So a history stays one
when some of its operations are left out, which is how a failing one is made small.
"""

from __future__ import annotations

import random
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from ramet.model.paths import PathRule
from ramet.model.reasons import restored
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from tests.paths.reference import LEASE_SECONDS, Ask, Reference
from tests.paths.reference_order import Wish
from tests.simulation.database import SimulatedStore
from tests.support.world import SettableClock, busy

ELEMENTS = ("A", "B", "A:B", "/", "%", "", "é", "a%3Ab", "root", "x" * 700)
ALIKE = (("A", "B", "A:B"), ("A", "A:A", "A%3AA"), ("", "root", "/"), ("", ":", "::"), ("%", "%25", "%%"))
"""What a key that is not made with care takes for the same."""
LENGTHS = (0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5)
DELAYS = (0.0, 0.0, 0.0, 0.0, 0.0, 40.25, 200.5, 700.75)
AGAIN = (0.0, 5.125, 60.125, 600.125, 1_000.125, 1_500.125)
"""How long a task is held back; from 900 s on it gives its ticket up."""
OPERATIONS = {
    "submit": 12, "claim_all": 6, "claim_some": 6, "settle": 14, "settle_more": 3, "again": 7, "spawn": 3, "late": 3,
    "advance": 6, "heartbeat": 1, "cancel": 3, "cancel_line": 1, "exclude": 1, "revive": 3, "pause": 2, "resume": 2,
    "pause_queue": 1, "resume_queue": 1,
}  # fmt: skip
QUIET = ("claim_all", "claim_some", "heartbeat", "pause", "pause_queue")
"""They leave nothing to maintenance."""
MANY = 1_000

Answer = TypeVar("Answer")


def now(verb: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer of a verb that never waits."""
    try:
        verb.send(None)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    raise AssertionError("an inline store never waits")


class Operation(NamedTuple):
    what: str
    seed: int


class Held(NamedTuple):
    """A claim that a worker got once."""

    seq: int
    name: str
    fence: int


def operations(seed: int) -> list[Operation]:
    """A random history of 30 to 60 operations."""
    chance = random.Random(seed)
    names = chance.choices(list(OPERATIONS), list(OPERATIONS.values()), k=chance.randint(30, 60))
    return [Operation("submit", seed)] + [Operation(name, chance.randrange(1 << 30)) for name in names]


class History:
    """Does one operation after the other to both sides, and compares them whenever the store has come to rest."""

    def __init__(self, store: SimulatedStore, clock: SettableClock, seed: int, number: int = 0) -> None:
        self.store = store
        self.clock = clock
        self.reference = Reference(clock.now)
        self.told: list[str] = []
        """What happened, for people."""
        self._number = number
        self._queues = (f"q{number}", f"other{number}")
        self._held: list[Held] = []
        self._lines: list[str] = []
        self._first = store.rows("SELECT COALESCE(MAX(seq), 0) FROM ramet_tasks")[0][0]
        chance = random.Random(seed)
        self._elements = chance.choice(ALIKE) if chance.random() < 0.4 else chance.sample(ELEMENTS, 3)
        self._paths: list[tuple[str, ...]] = [()]
        self._deadlines = chance.random() < 0.3
        """Else queues are paused: that moves deadlines in ways that are no matter of paths."""

    def run(self, history: Sequence[Operation]) -> None:
        for operation in history:
            self.apply(operation)
        self.finish()

    def apply(self, operation: Operation) -> None:
        before = len(self.told)
        getattr(self, operation.what)(random.Random(operation.seed))
        if operation.what in QUIET:
            self.compare()
        elif len(self.told) > before:
            self.rest()

    def rest(self) -> None:
        """Maintenance on both sides until there is nothing left, then everything is compared."""
        while now(self.store.sweep()).changed:
            pass
        self.reference.rest()
        self.compare()

    # --- tasks that somebody wants

    def submit(self, chance: random.Random) -> None:
        self._lines.append(f"h{self._number}-{len(self._lines)}")
        wishes = [self._wish(chance) for _ in range(chance.randint(1, 4))]
        self._tell("submit", self._lines[-1], *wishes)
        news = [self._new(wish) for wish in wishes]
        line = NewLineage(self._lines[-1], news, retries_per_minute=100_000, lineage_seconds=1e8)
        now(self.store.submit([line]))
        self.reference.submit(self._lines[-1], wishes)

    def _wish(self, chance: random.Random) -> Wish:
        delay_seconds = chance.choice(DELAYS)
        self._paths.append(self._path(chance))
        return Wish(
            f"h{self._number}-t{len(self._paths)}",
            self._paths[-1],
            self._queues[chance.random() < 0.1],
            delay_seconds,
            delay_seconds > 0 and chance.random() < 0.3,
            "lineage" if chance.random() < 0.2 else "queue",
            "run" if chance.random() < 0.25 else "skip",
            chance.choice((1, 4, 4)),
            chance.choice((500.0625, 2_000.0625)) if self._deadlines else None,
        )

    def _path(self, chance: random.Random) -> tuple[str, ...]:
        """Near one that is there already, so that many conflict."""
        length = chance.choice(LENGTHS)
        near = chance.choice(self._paths)[:length]
        return near + tuple(chance.choices(self._elements, k=length - len(near)))

    def _new(self, wish: Wish) -> NewTask:
        rule = PathRule(wish.path, wish.scope, wish.on_dependency_failure, wish.reserved) if wish.path else None
        return NewTask(
            wish.name, "page", wish.name, "{}", queue=wish.queue, delay_seconds=wish.delay_seconds,
            max_attempts=wish.max_attempts, task_seconds=wish.task_seconds, path=rule,
        )  # fmt: skip

    # --- workers

    def claim_all(self, chance: random.Random) -> None:
        """What can be claimed is exactly what the reference says."""
        self._claim(MANY)

    def claim_some(self, chance: random.Random) -> None:
        self._claim(chance.randint(1, 3))

    def _claim(self, limit: int) -> None:
        claimable = {task.name for task in self.reference.claimable()}
        taken = now(self.store.claim(ClaimRequest("w", self._queues, ("page",), limit, LEASE_SECONDS)))
        names = [claimed.id for claimed in taken]
        self._tell("claim", *names)
        assert len(set(names)) == len(names) == min(limit, len(claimable)), f"{sorted(names)} of {sorted(claimable)}"
        assert set(names) <= claimable, f"{sorted({*names} - claimable)} may not run yet"
        self.reference.claim(names)
        self._held += [Held(claimed.standing.seq, claimed.id, claimed.standing.fence) for claimed in taken]

    def settle(self, chance: random.Random) -> None:
        what = chance.choices(("success", "filtered", "skipped", "failed"), (6, 1, 1, 3))[0]
        for held in self._current(chance, 1):
            self._settle([(held, Ask(held.name, held.fence, what, spawns=self._spawns(chance, held, 0.2)))])

    def settle_more(self, chance: random.Random) -> None:
        """Several in one transaction."""
        asks = []
        for held in self._current(chance, 4):
            what = chance.choice(("success", "success", "failed", "snooze", "error"))
            delay_seconds = chance.choice(AGAIN) if what in ("snooze", "error") else 0.0
            asks.append((held, Ask(held.name, held.fence, what, delay_seconds)))
        if asks:
            self._settle(asks)

    def again(self, chance: random.Random) -> None:
        """It will be claimed once more."""
        what = chance.choice(("error", "snooze", "snooze", "continue", "hand_back"))
        for held in self._current(chance, 1):
            spawns = self._spawns(chance, held, 0.5 if what == "continue" else 0.0)
            self._settle([(held, Ask(held.name, held.fence, what, chance.choice(AGAIN), spawns))])

    def spawn(self, chance: random.Random) -> None:
        """While it goes on."""
        for held in self._current(chance, 1):
            self._settle([(held, Ask(held.name, held.fence, "progress", spawns=self._spawns(chance, held, 1.0)))])

    def late(self, chance: random.Random) -> None:
        """Under a claim that is over: whoever settles does not run any more."""
        over = [held for held in self._held if not self.reference.current(held.name, held.fence)]
        for held in chance.sample(over, min(1, len(over))):
            self._settle([(held, Ask(held.name, held.fence, "success"))])

    def heartbeat(self, chance: random.Random) -> None:
        for held in self._current(chance, 2):
            self._tell("heartbeat", held.name)
            lost = now(self.store.heartbeat([(held.seq, held.fence)], LEASE_SECONDS))
            assert (held.seq not in lost) == self.reference.heartbeat(held.name, held.fence)

    def _current(self, chance: random.Random, most: int) -> list[Held]:
        self._held = self._held[-40:]
        current = [held for held in self._held if self.reference.current(held.name, held.fence)]
        return chance.sample(current, min(most, len(current)))

    def _spawns(self, chance: random.Random, parent: Held, likely: float) -> list[Wish]:
        if chance.random() >= likely:
            return []
        self._paths.append(self.reference.tasks[parent.name].path)
        return [self._wish(chance) for _ in range(chance.randint(1, 3))]

    def _settle(self, asks: Sequence[tuple[Held, Ask]]) -> None:
        self._tell("settle", *(ask for _, ask in asks))
        batch = [
            Settlement(held.seq, held.fence, self._event(ask), spawns=[self._new(wish) for wish in ask.spawns])
            for held, ask in asks
        ]
        answers = now(self.store.settle(batch))
        assert [answer.state for answer in answers] == self.reference.settle([ask for _, ask in asks])
        assert all(told.reason is None for answer in answers if answer.state for told in answer.spawns)

    def _event(self, ask: Ask) -> ev.Event:
        match ask.what:
            case "success":
                return ev.Complete(ask.fence)
            case "filtered":
                return ev.Filter(ask.fence, "said")
            case "skipped":
                return ev.Skip(ask.fence, "said")
            case "failed":
                return ev.Fail(ask.fence, "said")
            case "snooze":
                return ev.Snooze(ask.fence, ask.delay_seconds)
            case "continue":
                return ev.Continue(ask.fence, False)
            case "hand_back":
                return ev.HandBack(ask.fence, ask.delay_seconds)
            case "progress":
                return ev.Progress(ask.fence, LEASE_SECONDS)
            case _:
                return busy(ask.fence, ask.delay_seconds)

    # --- people and time

    def advance(self, chance: random.Random) -> None:
        self._advance(chance.choice((1.0, 45.0, 45.0, 301.0, 700.0, 1_600.0)))

    def _advance(self, seconds: float) -> None:
        """Maintenance is never late, so that what happens at different times happens one after the other."""
        self._tell("advance", seconds)
        until = self.clock.now + seconds
        while (at := self.reference.next_at()) < until:
            self._at(at)
            self.rest()
        self._at(until)

    def _at(self, now: float) -> None:
        self.clock.now = self.reference.now = now

    def cancel(self, chance: random.Random) -> None:
        name = self._anybody(chance)
        self._tell("cancel", name)
        assert now(self.store.cancel(name, tree=False, by="ann")) == self.reference.cancel(name)

    def exclude(self, chance: random.Random) -> None:
        name = self._anybody(chance)
        self._tell("exclude", name)
        assert now(self.store.exclude([name], by="ann")) == [name] * self.reference.exclude(name)

    def revive(self, chance: random.Random) -> None:
        over = [t.name for t in self.reference.tasks.values() if t.state in ("failed", "cancelled", "skipped")]
        for name in chance.sample(over, min(1, len(over))):
            self._tell("revive", name)
            assert now(self.store.revive([name], by="ann")) == [name] * self.reference.revive(name)

    def cancel_line(self, chance: random.Random) -> None:
        self._of_line(chance, self.store.cancel_lineage, self.reference.cancel_line)

    def pause(self, chance: random.Random) -> None:
        self._of_line(chance, self.store.pause_lineage, self.reference.pause)

    def resume(self, chance: random.Random) -> None:
        self._of_line(chance, self.store.resume_lineage, self.reference.resume)

    def _of_line(self, chance: random.Random, verb: Any, same: Any) -> None:
        name = chance.choice(self._lines)
        self._tell(same.__name__, name)
        assert now(verb(name, by="ann")) == same(name)

    def pause_queue(self, chance: random.Random) -> None:
        queue = chance.choice(self._queues)
        if not self._deadlines:
            self._tell("pause_queue", queue)
            now(self.store.pause_queue(queue, by="ann"))
            self.reference.paused_queues.add(queue)

    def resume_queue(self, chance: random.Random) -> None:
        for queue in sorted(self.reference.paused_queues):
            self._tell("resume_queue", queue)
            now(self.store.resume_queue(queue, by="ann"))
        self.reference.paused_queues.clear()

    def _anybody(self, chance: random.Random) -> str:
        """More often somebody who lives."""
        live = [task.name for task in self.reference.tasks.values() if task.live]
        return chance.choice(live if live and chance.random() < 0.8 else list(self.reference.tasks))

    # --- the end

    def finish(self) -> None:
        """Workers complete whatever is left: nothing is stuck, and nothing stays behind in the tables of paths."""
        chance = random.Random(0)
        self.resume_queue(chance)
        for line in self._lines:
            now(self.store.resume_lineage(line, by="ann"))
            self.reference.resume(line)
        self.rest()
        while any(task.live for task in self.reference.tasks.values()):
            self.claim_all(chance)
            current = self._current(chance, MANY)
            if current:
                self._settle([(held, Ask(held.name, held.fence, "success")) for held in current])
            else:
                self._advance(400.0)
            self.rest()
            assert len(self.told) < 2_000, "it does not end"
        self._advance(LEASE_SECONDS)
        self.rest()
        for table in ("ramet_paths", "ramet_path_tickets"):
            left = self.store.rows(f"SELECT * FROM {table} WHERE seq > ?", self._first)
            assert left == [], f"{table} is not empty: {left}"
        repairs = self.store.rows("SELECT value FROM ramet_counters WHERE name = 'path_repairs' AND value > 0")
        assert repairs == [], "a wake-up was lost, and repaired"

    def _tell(self, *words: object) -> None:
        self.told.append(" ".join(map(str, words)))

    # --- the comparison

    def compare(self) -> None:
        """Every task, the tickets in their order, and who waits for whom."""
        rows = self.store.rows(
            "SELECT t.id, COALESCE(l.state, t.state), t.reason, l.holds_path, p.ticket, p.waits_on, p.seq, "
            "t.reason_facts "
            "FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq LEFT JOIN ramet_paths p ON p.seq = t.seq "
            "WHERE t.seq > ?",
            self._first,
        )
        found = {name: (state, restored(reason, facts)) for name, state, reason, *_, facts in rows}
        wanted = {task.name: (task.state, task.reason) for task in self.reference.tasks.values()}
        assert found == wanted, self._differences(found, wanted)
        names = {row[4]: row[0] for row in rows if row[4] is not None}
        # Whom each comes after at once says in which order all stand that conflict; others have no order.
        line = {row[0]: names.get(row[5]) for row in rows if row[4] is not None}
        same = {task.name: before and before.name for _, task, before in self.reference.line()}
        assert line == same, f"in line stand\n  {line}, not\n  {same}"
        holders = {row[0] for row in rows if row[3] == 1}
        first = self.reference.first()
        assert holders == first, f"{holders ^ first} hold their paths here or there"

    def _differences(self, found: dict[str, Any], wanted: dict[str, Any]) -> str:
        names = [name for name in wanted if found.get(name) != wanted[name]]
        return "; ".join(f"{name} is {found.get(name)}, not {wanted[name]}" for name in names)
