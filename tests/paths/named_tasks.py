"""Tasks called by their names: short words for what workers and people do to tasks on paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.requests import Settlement
from tests.support.world import LEASE_SECONDS, World, busy, settlement


def on(name: str, *elements: str, kind: str = "page", **fields: Any) -> NewTask:
    """A task on a path; what is no field of a task is one of its path."""
    rule = {field: fields.pop(field) for field in PathRule._fields if field in fields}
    path = PathRule(elements, **rule) if elements else None
    return NewTask(id=name, kind=kind, key=name, payload="{}", path=path, **fields)


class Desk:
    """Where claims are kept under the names of their tasks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store
        self.claims: dict[str, ClaimedTask] = {}
        self._lines = 0

    async def submit(self, *tasks: NewTask, line: str | None = None) -> str:
        """A lineage of its own for these; returns its name."""
        self._lines += 1
        name = line or f"line{self._lines}"
        await self.world.submit(*tasks, tracking_id=name)
        return name

    async def start(self, limit: int = 10_000, **request: Any) -> list[str]:
        """Whatever may run begins; the names of that, sorted."""
        taken = await self.world.claim(limit, **request)
        self.claims.update({claimed.id: claimed for claimed in taken})
        return sorted(claimed.id for claimed in taken)

    async def end(self, *names: str, spawns: Sequence[NewTask] = ()) -> None:
        """They are done, each in its own transaction."""
        for name in names:
            told = await self.told(name, ev.Complete(self.fence(name)), spawns=spawns)
            assert told.state == "success"

    async def fail(self, name: str) -> None:
        """It fails for good."""
        assert (await self.told(name, ev.Fail(self.fence(name), "broken"))).state == "failed"

    async def snooze(self, name: str, seconds: float) -> None:
        """It goes back to pending for so long."""
        assert (await self.told(name, ev.Snooze(self.fence(name), seconds))).state == "pending"

    async def retry(self, name: str, seconds: float) -> None:
        """It meets an error that passes, and is tried again after so long."""
        assert (await self.told(name, busy(self.fence(name), seconds))).state == "pending"

    async def spawn(self, name: str, *spawns: NewTask) -> None:
        """It creates these, and goes on."""
        told = await self.told(name, ev.Progress(self.fence(name), LEASE_SECONDS), spawns=spawns)
        assert [answer.reason for answer in told.spawns] == [None] * len(spawns)

    async def told(self, name: str, event: ev.Event, **more: Any) -> SettleResult:
        """What the store says to a settlement."""
        return await self.world.settle(self.claims[name], event, **more)

    def asked(self, name: str, event: ev.Event | None = None) -> Settlement:
        """For a batch."""
        return settlement(self.claims[name], event)

    def fence(self, name: str) -> int:
        return self.claims[name].standing.fence

    async def acknowledge(self, name: str) -> None:
        """Its worker runs it no longer."""
        await self.store.acknowledge([(self.claims[name].standing.seq, self.fence(name))])

    async def cancel(self, name: str) -> None:
        assert await self.store.cancel(name, tree=False, by="ada")

    async def revive(self, *names: str) -> None:
        assert await self.store.revive(names, by="ada") == [*names]

    async def wait(self, seconds: float) -> None:
        """Time passes, and maintenance sees to it."""
        self.world.clock.advance(seconds)
        await self.world.sweep()

    async def rest(self) -> None:
        await self.world.sweep()

    async def order(self, limit: int = 10_000) -> list[list[str]]:
        """What runs at once, step by step, when each step is completed and time passes where nothing can run."""
        steps = []
        while not await self.store.idle(["page", "image", "loose"]):
            names = await self.start(limit)
            if names:
                steps.append(names)
                await self.end(*names)
                await self.rest()
            else:
                await self.wait(60.0)
            assert len(steps) < 1_000, "it does not end"
        return steps

    async def told_of(self, name: str) -> tuple[str, str | None]:
        """Its state and the reason of that."""
        task = await self.world.get(name)
        return task.state.value, task.reason

    async def rows(self, table: str) -> int:
        """How many rows a table has."""
        [(count,)] = await self.store.read(f"SELECT COUNT(*) FROM {table}")
        return int(count)
