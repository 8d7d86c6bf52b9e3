"""A store under test with a clock that the test sets, and short words for what a worker and a person do to it."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ramet.model.task import events as ev
from ramet.model.task.retry import Retry
from ramet.model.task.task import NewTask, Task
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.requests import ClaimRequest, NewLineage, Settlement, Write
from ramet.store.store import Store
from tests.invariants.check import violations

LEASE_SECONDS = 300.0
KINDS = ("page", "image", "loose")
"""``loose`` is about no place; all other kinds here are, with ``cycle_on="key"``."""
EFFECTS = "CREATE TABLE IF NOT EXISTS effects (name TEXT NOT NULL UNIQUE, amount INTEGER CHECK (amount > 0))"


class SettableClock:
    """Unix seconds that pass only when the test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; a negative number sets the clock back."""
        self.now += seconds


class World:
    """A store, its clock, and what the test has to remember about what it asked for."""

    def __init__(self, store: Store, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.lowered: set[str] = set()
        """Lineages whose limits a handler lowered under what exists already."""
        self.place_kinds: set[str] = set()
        """Kinds of which every task wanted so far has ``cycle_on="key"``."""
        self._numbers = itertools.count(1)

    def task(self, key: str | None = None, kind: str = "page", **fields: Any) -> NewTask:
        """A task somebody wants, with a fresh id."""
        number = next(self._numbers)
        new = NewTask(id=f"t{number}", kind=kind, key=key or f"key{number}", payload=f'{{"number": {number}}}')
        if kind != "loose":
            new = new._replace(cycle_on="key")
        new = new._replace(**fields)
        if new.cycle_on == "key":
            self.place_kinds.add(kind)
        else:
            self.place_kinds.discard(kind)
        return new

    async def submit(self, *roots: NewTask, tracking_id: str = "line", **limits: Any) -> list[str]:
        """Start a lineage; returns the ids of its roots."""
        answers = await self.store.submit([NewLineage(tracking_id, roots or (self.task(),), **limits)])
        return [answer.id for answer in answers]

    async def claim(self, limit: int = 1, **request: Any) -> list[ClaimedTask]:
        """Take tasks of every kind from the default queue as worker ``w``."""
        asked = ClaimRequest("w", ("default",), KINDS, limit, LEASE_SECONDS)
        return await self.store.claim(asked._replace(**request))

    async def claim_one(self, **request: Any) -> ClaimedTask:
        """Take exactly one task."""
        [claimed] = await self.claim(1, **request)
        return claimed

    async def claim_task(self, task_id: str) -> ClaimedTask:
        """Take one particular task; everything else that was claimable goes back."""
        everything = await self.claim(1_000)
        [wanted] = [claimed for claimed in everything if claimed.id == task_id]
        others = [settlement(claimed, hand_back(claimed)) for claimed in everything if claimed is not wanted]
        await self.store.settle(others)
        return wanted

    async def settle(self, claimed: ClaimedTask, event: ev.Event | None = None, **more: Any) -> SettleResult:
        """Settle one claim; completes it when no event is given."""
        [answer] = await self.store.settle([settlement(claimed, event, **more)])
        return answer

    async def grow(self, claimed: ClaimedTask, *spawns: NewTask) -> list[str]:
        """Complete a claim with children that must all be granted; returns their ids."""
        answer = await self.settle(claimed, spawns=spawns)
        assert [told.reason for told in answer.spawns] == [None] * len(spawns)
        return [str(told.id) for told in answer.spawns]

    async def spawn(self, claimed: ClaimedTask, *spawns: NewTask) -> list[str | None]:
        """Ask for children while the claim goes on; returns the reason of each refusal, None where granted."""
        answer = await self.settle(claimed, ev.Progress(claimed.standing.fence, LEASE_SECONDS), spawns=spawns)
        return [None if told.reason is None else told.reason.value for told in answer.spawns]

    async def run_all(self) -> None:
        """Complete whatever is claimable until nothing is."""
        while taken := await self.claim(100):
            await self.store.settle([settlement(claimed) for claimed in taken])

    async def sweep(self) -> None:
        """Maintenance, until it finds nothing more to do."""
        while (await self.store.sweep(limit=3)).changed:
            pass

    async def state(self, task_id: str) -> str:
        """The state that a task is in."""
        return (await self.get(task_id)).state.value

    async def states(self, *task_ids: str) -> list[str]:
        """The states that tasks are in."""
        return [await self.state(task_id) for task_id in task_ids]

    async def get(self, task_id: str) -> Task:
        """A task that must exist."""
        task = await self.store.get(task_id)
        assert task is not None, f"there is no task {task_id}"
        return task

    async def outcomes(self, task_id: str) -> list[str]:
        """How the attempts of a task ended."""
        history = await self.store.history(task_id)
        assert history is not None, f"there is no task {task_id}"
        return [attempt.outcome for attempt in history.attempts]

    async def effects(self) -> list[str]:
        """What handlers wrote into their own table, in order of name."""
        return [row[0] for row in await self.store.read("SELECT name FROM effects ORDER BY name")]

    async def check(self) -> None:
        """Every invariant that the database alone can show."""
        found = await violations(self.store, lowered=self.lowered, place_kinds=self.place_kinds)
        assert found == [], "\n".join(found)


def settlement(claimed: ClaimedTask, event: ev.Event | None = None, **more: Any) -> Settlement:
    """What a worker sends under a claim; completes it when no event is given."""
    fence = claimed.standing.fence
    return Settlement(claimed.standing.seq, fence, event or ev.Complete(fence), **more)


def hand_back(claimed: ClaimedTask) -> ev.HandBack:
    """The claim goes back unstarted."""
    return ev.HandBack(claimed.standing.fence)


def failing(claimed: ClaimedTask, message: str = "broken", error_class: str = "permanent", **more: Any) -> ev.Error:
    """The handler raised; it is tried again by the schedule of the seeds."""
    event = ev.Error(
        claimed.standing.fence, message, error_class, fingerprint=message, jitter=1.0, waits=Retry.SEED.waits
    )
    return replace(event, **more)


AT_ONCE = Retry(base_seconds=0.0, jitter=0.0).waits
"""Of a kind that is tried again without a wait."""


def busy(fence: int, seconds: float) -> ev.Error:
    """An error that passes, of a kind whose every wait is exactly so long."""
    waits = Retry(base_seconds=seconds, factor=1.0, cap_seconds=seconds, jitter=0.0).waits
    return ev.Error(fence, "busy", "transient", "busy", jitter=0.0, waits=waits)


def checkpoint(claimed: ClaimedTask, stage: str | None = None) -> ev.Checkpoint:
    """The handler commits what it has so far."""
    return ev.Checkpoint(claimed.standing.fence, LEASE_SECONDS, stage)


def effect(name: str, amount: int = 1) -> Write:
    """A row of the handler's own; an amount that is not positive is refused by the table, and so is a second name."""
    return Write("INSERT INTO effects (name, amount) VALUES (?, ?)", (name, amount))


def with_fence(claimed: ClaimedTask, fence: int) -> ClaimedTask:
    """The claim as a worker would hold it that has another fence."""
    return claimed._replace(standing=claimed.standing._replace(fence=fence))


def reasons(answers: Sequence[SettleResult]) -> list[str | None]:
    """Why each settlement was refused, None where it was not."""
    return [answer.refused for answer in answers]


async def in_threads(*works: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Run each in a thread and an event loop of its own, all at once."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        barrier.wait()
        asyncio.run(work())

    with ThreadPoolExecutor(len(works)) as threads:
        await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(threads, run, work) for work in works))
