"""Many who submit, claim, run and settle tasks on a tree of paths, all at once; what they do goes into a log.

``python -m tests.pullers.pullers DATABASE LOG NAME PULLERS TASKS`` is a process of its own with that many threads. It
says ``ready`` when its stores are open, and starts when a line comes in.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.pullers.log import Log, Path_, met, wrong
from tests.support.world import AT_ONCE, in_threads

KIND = "work"
LEASE_SECONDS = 300.0
ROOTS, WIDTH, DEPTH = 2, 2, 3
IDLE_ROUNDS = 15
"""So often nothing is left to do for anybody before a puller takes what is there for stuck."""
PAUSE_SECONDS = 0.005
LIMITS: dict[str, Any] = {"max_tasks": 12, "max_spawn_depth": 3, "max_fan_out": 4}
PATHS = "SELECT seq, ticket FROM ramet_paths"
OTHERS_WORK = "SELECT COUNT(*) FROM ramet_live WHERE state = 'processing' OR (wait IN ('due', 'ticket'))"


class Puller:
    """A worker that does nothing but leave its marks, and a person who submits and cancels, in one thread."""

    def __init__(self, store: Store, name: str, log: Log, tasks: int, over: threading.Event) -> None:
        self.store, self.name, self.log, self.over = store, name, log, over
        self.left = tasks
        self.chance = random.Random(name)
        self.ids: list[str] = []
        self._numbers = itertools.count()

    def task(self, path: Path_ | None = None) -> NewTask:
        name, chance = f"{self.name}-{next(self._numbers)}", self.chance
        delay = chance.choice((0.0, 0.0, 0.0, 0.0, 0.02))
        rule = PathRule(
            path or self.path(), on_dependency_failure=chance.choice(("skip", "skip", "run")),
            reserved=chance.random() < 0.5,
        )  # fmt: skip
        return NewTask(name, KIND, name, "null", path=rule, priority=chance.randrange(3), delay_seconds=delay,
                       max_attempts=3)  # fmt: skip

    def path(self) -> Path_:
        depth = self.chance.choice((1, 2, 2, 3, 3, 3))
        return (f"r{self.chance.randrange(ROOTS)}", *(f"n{self.chance.randrange(WIDTH)}" for _ in range(depth - 1)))

    def near(self, path: Path_) -> Path_:
        """At a path, below it, beside it or above it."""
        beside = (*path[:-1], f"n{self.chance.randrange(WIDTH)}") if len(path) > 1 else self.path()
        return self.chance.choice((path, (*path, "n0")[:DEPTH], beside, path[:1]))

    async def run(self) -> None:
        """Until everything that anybody submitted has ended, or nothing moves any more, or one of them fails."""
        try:
            await self.pull()
        except BaseException:
            self.over.set()
            raise

    async def pull(self) -> None:
        idle = 0
        while idle < IDLE_ROUNDS and not self.over.is_set():
            if self.left > 0:
                await self.submit()
            if self.ids and self.chance.random() < 0.06:
                await self.store.cancel(self.chance.choice(self.ids), tree=self.chance.random() < 0.3, by=self.name)
            claimed = await self.store.claim(
                ClaimRequest(self.name, ("default",), (KIND,), self.chance.randint(1, 3), LEASE_SECONDS)
            )
            if claimed:
                await self.work(claimed)
            elif not await self.store.tend_paths() and not (await self.store.sweep()).changed and not self.left:
                [(others,)] = await self.store.read(OTHERS_WORK)
                idle += not others
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            idle = 0

    async def submit(self) -> None:
        roots = [self.task() for _ in range(min(self.left, self.chance.randint(1, 4)))]
        self.left -= len(roots)
        told = await self.store.submit([NewLineage(f"line of {roots[0].id}", roots, **LIMITS)])
        self.ids += [answer.id for answer in told]

    async def work(self, claimed: Sequence[ClaimedTask]) -> None:
        """Run what was claimed, all at once, and settle it one after the other or together."""
        tickets = dict(await self.store.read(PATHS))
        for each in claimed:
            seq, fence = each.standing.seq, each.standing.fence
            assert seq in tickets, f"{each.id} was claimed and has no place in line"
            self.log.begin(self.name, seq, fence, tickets[seq], path_of(each))
        await asyncio.sleep(self.chance.choice((0.0, 0.001, 0.004)))
        for each in claimed:
            self.log.end(self.name, each.standing.seq, each.standing.fence)
        settlements = [self.settlement(each) for each in claimed]
        apart = self.chance.random() < 0.5
        for batch in [[one] for one in settlements] if apart else [settlements]:
            for settled in await self.store.settle(batch):
                self.ids += [told.id for told in settled.spawns if told.id is not None]

    def settlement(self, claimed: ClaimedTask) -> Settlement:
        fence, path = claimed.standing.fence, path_of(claimed)
        error_class = self.chance.choice(("transient", "transient", "permanent"))
        failing = ev.Error(fence, "odd", error_class, "odd", 0.0, waits=AT_ONCE)
        done: list[ev.Event] = [ev.Complete(fence) for _ in range(8)]
        events = [*done, failing, failing, ev.Snooze(fence, 0.01), ev.HandBack(fence), ev.Fail(fence, "x"),
                  ev.Filter(fence, "x")]  # fmt: skip
        spawns = [self.task(self.near(path)) for _ in range(self.chance.choice((0, 0, 0, 0, 1, 2)))]
        return Settlement(claimed.standing.seq, fence, self.chance.choice(events), spawns=spawns)


def path_of(claimed: ClaimedTask) -> Path_:
    """Where a claimed task stands."""
    return tuple(json.loads(claimed.path or "[[]]")[0])


@asynccontextmanager
async def opened(database: str, count: int) -> AsyncIterator[list[Store]]:
    """So many stores on a file, or on a database of a server; closed whatever happens."""
    async with AsyncExitStack() as stack:
        stores: list[Store] = []
        for _ in range(count):
            stores.append(PostgresStore(database) if "://" in database else SqliteStore(Path(database)))
            stack.push_async_callback(stores[-1].close)
        yield stores


async def pull(stores: Sequence[Store], name: str, log: Log, tasks: int) -> None:
    """A puller for every store, all at once. Whoever dies is known to be dead by those who stay."""
    over = threading.Event()
    pullers = [Puller(store, f"{name}{at}", log, tasks, over) for at, store in enumerate(stores)]
    for puller in pullers:
        puller.store.join(puller.name)
    await in_threads(*(puller.run for puller in pullers))


async def judged(store: Store, log: Log) -> list[str]:
    """What is wrong with what happened, and with what is left."""
    found: list[str] = []
    try:
        runs = log.runs()
    except AssertionError as error:
        return [str(error)]
    found += wrong(runs)
    live = await store.read("SELECT seq, state, wait FROM ramet_live")
    found += [f"task {row} never ended" for row in live]
    assert met(runs) > len(runs) // 2, "hardly anybody met another"
    return found + await violations(store)


async def main(database: str, log: str, name: str, pullers: int, tasks: int) -> None:
    async with opened(database, pullers) as stores:
        print("ready", flush=True)  # noqa: T201 - this is how the test learns of it
        await asyncio.to_thread(sys.stdin.readline)
        await pull(stores, name, Log(Path(log)), tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
