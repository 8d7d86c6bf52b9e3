"""Histories in which maintenance is late, does little at a time, and time jumps: no reference says what comes of it.

Instead every row is recounted after each step (:mod:`tests.invariants.check`), and in the end everything ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ramet.model.flow.resources import ResourcePolicy
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from tests.invariants.check import violations
from tests.invariants.paths import paths
from tests.paths.history import Held, Operation, now
from tests.simulation.database import SimulatedStore
from tests.support.world import LEASE_SECONDS, SettableClock, busy

ELEMENTS = ("A", "B", "")
HOST = "host:a"
QUEUES = ("q", "other")
STEPS = 90
DEEDS = (
    "submit submit claim claim settle settle settle settle again again spawn advance advance sweep sweep tend cancel "
    "cancel_line exclude revive revive pause resume breaker acknowledge"
).split()


def deeds(seed: int) -> list[Operation]:
    """What happens in a random history."""
    chance = random.Random(seed)
    return [
        Operation("submit", seed),
        *(Operation(chance.choice(DEEDS), chance.randrange(1 << 30)) for _ in range(STEPS)),
    ]


class Loose:
    """One random history."""

    def __init__(self, store: SimulatedStore, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.chance = random.Random(0)
        self.told: list[str] = []
        self.names: list[str] = []
        self.lines: list[str] = []
        self.held: list[Held] = []

    def run(self, history: Sequence[Operation]) -> None:
        now(self.store.limit_resource(ResourcePolicy(HOST, cooldown_seconds=60.0), by="ann"))
        for operation in history:
            self.chance = random.Random(operation.seed)
            getattr(self, operation.what)()
            self.check(paths)
        self.finish()

    def check(self, look: Callable[[Any], Any]) -> None:
        found = now(look(self.store))
        assert found == [], "\n".join(found)

    def wish(self) -> NewTask:
        chance = self.chance
        self.names.append(f"t{len(self.names)}")
        elements = tuple(chance.choices(ELEMENTS, k=chance.choice((0, 1, 1, 2, 2, 3, 5))))
        delay_seconds = chance.choice((0.0, 0.0, 0.0, 50.0, 1_000.0))
        scope, failure = chance.choice(("queue", "queue", "lineage")), chance.choice(("skip", "skip", "run"))
        path = PathRule(elements, scope, failure, delay_seconds > 0 and chance.random() < 0.4)
        return NewTask(
            self.names[-1], "page", self.names[-1], "{}", queue=chance.choice(("q", "q", "q", "other")),
            delay_seconds=delay_seconds, max_attempts=chance.choice((1, 4)), path=path if elements else None,
            task_seconds=chance.choice((400.0, 7_200.0)), resource=HOST if chance.random() < 0.15 else None,
            on_end=int(chance.random() < 0.2),
        )  # fmt: skip

    def submit(self) -> None:
        self.lines.append(f"line{len(self.lines)}")
        roots = [self.wish() for _ in range(self.chance.randint(1, 5))]
        seconds = self.chance.choice((1_500.0, 1e7))
        now(self.store.submit([NewLineage(self.lines[-1], roots, lineage_seconds=seconds)]))

    def claim(self, limit: int = 4) -> None:
        taken = now(self.store.claim(ClaimRequest("w", QUEUES, ("page",), limit, LEASE_SECONDS)))
        self.held += [Held(claimed.standing.seq, claimed.id, claimed.standing.fence) for claimed in taken]

    def settle(self) -> None:
        for held in self.some():
            events = (
                ev.Complete(held.fence),
                ev.Complete(held.fence),
                ev.Fail(held.fence, "x"),
                ev.Skip(held.fence, "x"),
            )
            self._settle(held, self.chance.choice(events))

    def again(self) -> None:
        for held in self.some():
            seconds = self.chance.choice((5.0, 500.0, 2_000.0))
            events = (
                ev.Snooze(held.fence, seconds), ev.HandBack(held.fence, seconds), ev.HandBack(held.fence),
                busy(held.fence, seconds), ev.Continue(held.fence, True),
            )  # fmt: skip
            self._settle(held, self.chance.choice(events))

    def spawn(self) -> None:
        for held in self.some():
            self._settle(held, ev.Progress(held.fence, LEASE_SECONDS), self.wish(), self.wish())

    def _settle(self, held: Held, event: ev.Event, *spawns: NewTask) -> None:
        """Under a claim that may be over."""
        now(self.store.settle([Settlement(held.seq, held.fence, event, spawns=spawns)]))

    def some(self) -> list[Held]:
        self.held = self.held[-12:]
        return self.chance.sample(self.held, min(2, len(self.held)))

    def acknowledge(self) -> None:
        now(self.store.acknowledge([(held.seq, held.fence) for held in self.some()]))

    def advance(self) -> None:
        self.clock.advance(self.chance.choice((1.0, 60.0, 301.0, 2_500.0)))

    def sweep(self) -> None:
        now(self.store.sweep(limit=self.chance.choice((1, 2, 500))))

    def tend(self) -> None:
        now(self.store.tend_paths())

    def cancel(self) -> None:
        now(self.store.cancel(self.anybody(), tree=self.chance.random() < 0.4, by="ann"))

    def cancel_line(self) -> None:
        if self.chance.random() < 0.5:
            now(self.store.cancel_lineage(self.chance.choice(self.lines), by="ann"))

    def exclude(self) -> None:
        now(self.store.exclude([self.anybody()], by="ann"))

    def revive(self) -> None:
        now(self.store.revive([*{self.anybody(), self.anybody()}], by="ann", extend_seconds=3_000.0))

    def pause(self) -> None:
        now(self.store.pause_lineage(self.chance.choice(self.lines), by="ann"))

    def resume(self) -> None:
        for line in self.lines:
            now(self.store.resume_lineage(line, by="ann"))

    def breaker(self) -> None:
        verb = self.store.open_breaker if self.chance.random() < 0.5 else self.store.close_breaker
        now(verb(HOST, by="ann"))

    def anybody(self) -> str:
        return self.chance.choice([str(row[0]) for row in self.store.rows("SELECT id FROM ramet_tasks ORDER BY seq")])

    def finish(self) -> None:
        """Workers complete whatever they get."""
        self.resume()
        now(self.store.close_breaker(HOST, by="ann"))
        for _ in range(300):
            while now(self.store.sweep()).changed:
                pass
            self.held.clear()
            self.claim(1_000)
            for held in self.held:
                self._settle(held, ev.Complete(held.fence))
            self.check(paths)
            if now(self.store.idle(("page",))):
                break
            self.clock.advance(100.0)
        else:
            raise AssertionError("it does not end")
        self.clock.advance(LEASE_SECONDS)
        while now(self.store.sweep()).changed:
            pass
        self.check(violations)
        for table in ("ramet_paths", "ramet_path_tickets", "ramet_path_holders", "ramet_path_waves"):
            assert self.store.rows(f"SELECT * FROM {table}") == [], f"{table} is not empty"
