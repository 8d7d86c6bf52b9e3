"""Many who do everything at once on a few lineages, so that they collide; each writes down what it was told.

``python -m tests.postgres.crowd ADDRESS NAME ACTORS STEPS`` is a process of its own with that many threads. It says
``ready`` when its stores are open, starts when a line comes in, and prints what it was told as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from ramet.model.money import DAY_SETTING, GLOBAL_SETTING, ActualCost, Charge, ReserveRequest
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.model.values import blob_of
from ramet.store.answers import ClaimedTask
from ramet.store.errors import LineageExists, StoreError, UniqueHeld
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage, Settlement, Statement, Write
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.world import AT_ONCE, in_threads

ROUND = 40
KEYS = 14
KINDS = ("page", "image")
QUEUES = ("default", "narrow")
NARROW = 3
"""What may run at once in the narrow queue."""
RESOURCE, ROOM = "host:a", 2
DAY_CEILING, GLOBAL_CEILING, LINE_CEILING = 900, 1_500, 400
LEASES = (0.2, 5.0, 300.0, 300.0, 300.0)
LIMITS: dict[str, Any] = {"max_tasks": 60, "max_spawn_depth": 6, "max_fan_out": 8, "max_cost": LINE_CEILING}
EFFECTS = "CREATE TABLE IF NOT EXISTS effects (seq INTEGER, fence INTEGER, name TEXT, PRIMARY KEY (seq, fence, name))"
PUT_EFFECT = "INSERT INTO effects (seq, fence, name) VALUES (?, ?, ?)"


class Told(NamedTuple):
    """What somebody was told, to be compared with what is there."""

    claims: list[list[int]]
    """(task number, fence)."""
    effects: list[list[Any]]
    """(task number, fence, name) of what was accepted."""
    reserved: list[str]
    booked: dict[str, int]
    """Actual cost by reservation."""
    wrong: list[str]
    """What was seen that must never be."""

    def add(self, other: Told) -> None:
        """What somebody else was told."""
        self.claims.extend(other.claims)
        self.effects.extend(other.effects)
        self.reserved.extend(other.reserved)
        self.booked.update(other.booked)
        self.wrong.extend(other.wrong)


def nothing() -> Told:
    """Before anybody was told anything."""
    return Told([], [], [], {}, [])


class Actor:
    """One of the crowd: a worker and a person at once, in a thread of its own."""

    def __init__(self, store: Store, name: str, told: Told) -> None:
        self.store, self.name, self.told = store, name, told
        self.chance = random.Random(name)
        self.held: list[ClaimedTask] = []
        self.open: dict[str, int] = {}
        self.ids: list[str] = []
        self._numbers = itertools.count()
        self._step = 0
        self._acts: dict[str, int] = {
            "submit": 10, "claim": 30, "settle": 50, "beat": 6, "reserve": 20, "book": 10, "transact": 10, "blob": 4,
            "bind": 10, "sweep": 6, "cancel": 1, "revive": 4, "pause": 1, "reoffer": 2, "exclude": 1, "look": 1,
            "prune": 2,
        }  # fmt: skip

    def label(self) -> str:
        return f"{self.name}-{next(self._numbers)}"

    def task(self) -> NewTask:
        key, kind = f"k{self.chance.randrange(KEYS)}", self.chance.choice(KINDS)
        return NewTask(
            self.label(), kind, key, "null", queue=self.chance.choice(("default", "default", "narrow")),
            delay_seconds=self.chance.choice((0.0, 0.0, 0.0, 0.05)),
            unique_seconds=0.05 if kind == "page" else None, shape="k#" if kind == "image" else None,
            resource=self.chance.choice((None, None, None, RESOURCE)), keep_edge=1, path=self.path(),
        )  # fmt: skip

    def path(self) -> PathRule | None:
        """On one of two trees, or on none; few are so deep that nobody else is in their way."""
        depth = self.chance.choice((0, 1, 2, 3, 3))
        elements = tuple(str(self.chance.randrange(2)) for _ in range(depth))
        scope, rule = self.chance.choice(("queue", "queue", "lineage")), self.chance.choice(("skip", "run"))
        return PathRule(elements, scope, rule, self.chance.random() < 0.5) if elements else None

    def line(self) -> str:
        """A lineage; everybody comes to the next ones at about the same time."""
        return f"line{self._step // ROUND}{self.chance.choice('abc')}"

    async def run(self, steps: int) -> None:
        """So many random acts. What may be refused is; anything else is an error."""
        names, weights = [*self._acts], [*self._acts.values()]
        for self._step in range(steps):
            act: Callable[[], Coroutine[Any, Any, None]] = getattr(self, self.chance.choices(names, weights)[0])
            try:
                await act()
            except (LineageExists, UniqueHeld):
                pass
            except StoreError as error:
                if not any(known in str(error) for known in REFUSED):
                    self.told.wrong.append(f"{act.__name__}: {error}")

    async def submit(self) -> None:
        roots = [self.task() for _ in range(self.chance.randint(1, 4))]
        for told in await self.store.submit(
            [NewLineage(self.line(), roots, on_end=self.task()._replace(unique_seconds=None), **LIMITS)]
        ):
            self.ids.append(told.id)

    async def claim(self) -> None:
        request = ClaimRequest(self.name, QUEUES, KINDS, self.chance.randint(1, 5), self.chance.choice(LEASES))
        found = await self.store.claim(request)
        self.held += found
        self.told.claims.extend([[claimed.standing.seq, claimed.standing.fence] for claimed in found])
        await self.check_limits()

    async def check_limits(self) -> None:
        """Of what one moment shows, nothing is over its limit."""
        for what, most, sql in (
            ("in the narrow queue", NARROW, "SELECT COUNT(*) FROM ramet_live WHERE state = 'processing' "
             "AND queue = 'narrow'"),
            ("at the resource", ROOM, f"SELECT COUNT(*) FROM ramet_live WHERE state = 'processing' "
             f"AND resource = '{RESOURCE}'"),
            ("of the whole ceiling", GLOBAL_CEILING, "SELECT COALESCE(MAX(spent + reserved), 0) FROM ramet_spend "
             "WHERE day = -1"),
            ("of the day's ceiling", DAY_CEILING, "SELECT COALESCE(MAX(spent + reserved), 0) FROM ramet_spend "
             "WHERE day >= 0"),
        ):  # fmt: skip
            [(count,)] = await self.store.read(sql)
            if count > most:
                self.told.wrong.append(f"{count} {what}, where {most} may be")

    async def settle(self) -> None:
        chosen = [self.held.pop(self.chance.randrange(len(self.held))) for _ in range(min(3, len(self.held)))]
        batch, names = [], []
        for claimed in chosen:
            fence = claimed.standing.fence
            error_class = self.chance.choice(("transient", "permanent", "unclassified"))
            failing = ev.Error(fence, "odd", error_class, "odd", 0.0, waits=AT_ONCE)
            event: ev.Event = self.chance.choice(
                (ev.Complete(fence), ev.Complete(fence), ev.Filter(fence, "x"), ev.Fail(fence, "x"), failing,
                 ev.Snooze(fence, 0.0), ev.Continue(fence, False), ev.HandBack(fence), ev.Checkpoint(fence, 300.0))
            )  # fmt: skip
            name = self.label()
            names.append(name)
            # The price of a charge is nothing: what is told afterwards may pass a ceiling, by design.
            charge = Charge(name, 0) if self.chance.random() < 0.3 else None
            seq = claimed.standing.seq
            batch.append(
                Settlement(seq, fence, event, spawns=[self.task() for _ in range(self.chance.randrange(6))],
                           writes=[Write(PUT_EFFECT, (seq, fence, name))], charge=charge)
            )  # fmt: skip
        for claimed, name, settled in zip(chosen, names, await self.store.settle(batch), strict=True):
            if settled.refused is None:
                self.told.effects.append([claimed.standing.seq, claimed.standing.fence, name])
            if settled.state == "processing":
                self.held.append(claimed)
            self.ids += [answer.id for answer in settled.spawns if answer.id is not None]

    async def beat(self) -> None:
        held = [(claimed.standing.seq, claimed.standing.fence) for claimed in self.held]
        lost = await self.store.heartbeat(held, 300.0)
        gone = [pair for pair in held if pair[0] in lost]
        self.held = [claimed for claimed in self.held if claimed.standing.seq not in lost]
        await self.store.acknowledge(gone)

    async def reserve(self) -> None:
        wanted = [
            ReserveRequest(self.label(), claimed.standing.seq, claimed.standing.fence, self.chance.randint(1, 60))
            for claimed in self.chance.sample(self.held, min(3, len(self.held)))
        ]
        for request, answer in zip(wanted, await self.store.reserve(wanted), strict=True):
            if answer.refused is None:
                self.told.reserved.append(answer.id)
                self.open[answer.id] = request.amount
        await self.check_limits()

    async def book(self) -> None:
        chosen = self.chance.sample(sorted(self.open), min(3, len(self.open)))
        actuals = [ActualCost(name, self.chance.randint(0, self.open.pop(name))) for name in chosen]
        for booked in await self.store.settle_reserved(actuals):
            assert booked.actual is not None
            self.told.booked[booked.id] = booked.actual

    async def transact(self) -> None:
        for claimed in self.held[:1]:
            seq, fence, name = claimed.standing.seq, claimed.standing.fence, self.label()
            settled, _, _ = await self.store.transact(
                Settlement(seq, fence, ev.Checkpoint(fence, 300.0)), [Statement(PUT_EFFECT, (seq, fence, name), 1)]
            )
            if settled.refused is None:
                self.told.effects.append([seq, fence, name])

    async def blob(self) -> None:
        for claimed in self.held[:1]:
            blob, _ = blob_of(f"blob {self.chance.randrange(20)}")
            fence = claimed.standing.fence
            await self.store.put_blob(Settlement(claimed.standing.seq, fence, ev.Progress(fence, 300.0)), blob, 60)

    async def bind(self) -> None:
        for claimed in self.held[:1]:
            await bind_and_settle(self.store, claimed, self.chance.sample(self.ids, min(6, len(self.ids))))

    async def sweep(self) -> None:
        await self.store.sweep(limit=self.chance.choice((2, 500)))

    async def cancel(self) -> None:
        if self.ids and self.chance.random() < 0.8:
            await self.store.cancel(self.chance.choice(self.ids), tree=self.chance.random() < 0.5, by=self.name)
        else:
            await self.store.cancel_lineage(self.line(), by=self.name)

    async def revive(self) -> None:
        await self.store.revive(
            self.chance.sample(self.ids, min(3, len(self.ids))), by=self.name, extend_seconds=10_000.0
        )

    async def pause(self) -> None:
        name = self.line()
        await self.store.pause_lineage(name, by=self.name)
        await self.store.resume_lineage(name, by=self.name)

    async def reoffer(self) -> None:
        await self.store.reoffer(self.line(), by=self.name)

    async def exclude(self) -> None:
        await self.store.exclude(self.chance.sample(self.ids, min(1, len(self.ids))), by=self.name)

    async def look(self) -> None:
        from ramet.model.alerts.rules import MonitorLimits

        await self.store.look(MonitorLimits(), force=True)

    async def prune(self) -> None:
        await self.store.prune(await self.store.now() - 0.5, rows=50)


async def bind_and_settle(store: Store, claimed: ClaimedTask, ids: list[str]) -> None:
    """Make pending tasks one's own, and settle half of them."""
    from ramet.model.task.binding import ItemSettlement

    bound = await store.bind(claimed.standing.seq, claimed.standing.fence, ids)
    items = [ItemSettlement(told.task_id, told.number, "success") for told in bound if told.number is not None]
    fence = claimed.standing.fence
    await store.settle([Settlement(claimed.standing.seq, fence, ev.Progress(fence, 300.0), items=items[::2])])


REFUSED = (
    "no lineage", "no task", "was cancelled", "being pruned", "of blobs", "bytes", "is not accepted", "the deadline of",
)  # fmt: skip
"""Answers that are as good as any: somebody else was quicker."""


async def prepare(store: Store) -> None:
    """Limits of everything, and the effects' table."""
    from ramet.model.flow.resources import ResourcePolicy

    await store.ensure_tables([EFFECTS])
    await store.limit("queue", "narrow", NARROW, by="crowd")
    await store.limit_resource(ResourcePolicy(RESOURCE, concurrency=ROOM), by="crowd")
    await store.put_setting(DAY_SETTING, DAY_CEILING, "int", "")
    await store.put_setting(GLOBAL_SETTING, GLOBAL_CEILING, "int", "")


async def crowd(stores: list[Store], name: str, steps: int) -> Told:
    """An actor for every store, all at once."""
    told = [nothing() for _ in stores]
    await in_threads(
        *(partial(Actor(store, f"{name}{at}", told[at]).run, steps) for at, store in enumerate(stores))
    )  # fmt: skip
    for other in told[1:]:
        told[0].add(other)
    return told[0]


async def judged(store: Store, told: Told) -> list[str]:
    """Finish everything, then say what is wrong."""
    found = [*told.wrong]
    for (seq, fence), count in Counter((seq, fence) for seq, fence in told.claims).items():
        if count > 1:
            found.append(f"task {seq} was given out {count} times under fence {fence}")
    there = {tuple(row) for row in await store.read("SELECT seq, fence, name FROM effects")}
    accepted = {tuple(row) for row in told.effects}
    found += [f"effect {row} was accepted and is not there" for row in accepted - there]
    found += [f"effect {row} is there and was refused" for row in there - accepted]
    rows = await store.read("SELECT id, actual FROM ramet_reservations WHERE amount > 0")
    booked = {name: actual for name, actual in rows if actual is not None}
    kept = {name for name, _ in rows}
    found += [f"reservation {name} is there and was refused" for name in kept - {*told.reserved}]
    found += [f"{name} was booked as {told.booked[name]}, not {booked[name]}" for name in booked.keys() & told.booked
              if booked[name] != told.booked[name]]  # fmt: skip
    return found + await violations(store)


async def main(address: str, name: str, actors: int, steps: int) -> None:
    stores: list[Store] = [PostgresStore(address) for _ in range(actors)]
    print("ready", flush=True)  # noqa: T201 - this is how the test learns of it
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(await crowd(stores, name, steps)), flush=True)  # noqa: T201
    for store in stores:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
