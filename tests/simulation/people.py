"""What people do to a running system: submit, cancel and revive, again when they got no answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ramet.engine.client.client import Client
from ramet.model.money import DAY_SETTING
from ramet.model.task.task import Task
from ramet.store.errors import StoreBusy, StoreError
from tests.simulation.virtual_time import EPOCH
from tests.simulation.workload import KINDS, LIMITS
from tests.simulation.workload_parts import MILL, Item, a_part, key_of

DEEDS = (
    "cancel",
    "tree",
    "lineage",
    "revive",
    "revive",
    "exclude",
    "raise",
    "pause",
    "pause queue",
    "stop list",
    "breaker",
)
OF_PARTS = {
    "source": ("mend", "mend", "mend"),
    "prune": ("prune", "prune", "prune"),
    "upgrade": ("upgrade",),
    "restore": ("copy", "restore"),
    "trees": ("fell", "fell", "fell"),
    "at once": ("tree", "tree", "pause", "revive", "raise"),
    "joins": ("tree", "revive", "revive", "exclude"),
    "after": ("add", "add", "revive", "revive"),
    "branches": ("tree", "revive", "raise"),
    "steered": ("reprioritise", "reschedule", "pause path", "day ceiling", "deadline", "deadline"),
}
"""What there is to do besides where a run has a part."""
A_PATH = ("p0",)
PAUSE_SECONDS_MAX = 600.0
ASK_AGAIN_SECONDS = 5.0


class People:
    """Everybody who is not a worker."""

    def __init__(
        self,
        client: Client,
        rng: random.Random,
        tell: Callable[[str], None],
        kinds: Sequence[str] = KINDS,
        parts: frozenset[str] = frozenset(),
    ) -> None:
        self._client = client
        self._rng = rng
        self._tell = tell
        self._kinds = kinds
        self._parts = parts
        self.busy = 0
        """How much waits for them to come back to it."""

    async def submit(self, lineages: int) -> None:
        """Lineages small and large, that live long or end by their deadline."""
        rng = self._rng
        for number in range(lineages):
            spread = rng.choice((3, 20, 200))
            items = self._items(spread, rng.randrange(1, 4))
            limits = replace(
                LIMITS,
                max_tasks=rng.choice((7, 40, 40, 60)),
                max_cost=rng.choice((None, None, 300)),
                max_fan_out=rng.choice((2, 6)),
                max_spawn_depth=rng.choice((2, 4, 4)),
                lineage_seconds=rng.choice((700.0, 20_000.0, 20_000.0)),
                retries_per_minute=rng.choice((1, 600)),
            )
            name = f"line{number}"
            at_end = "report" if "lineage end" in self._parts and rng.random() < 0.7 else None
            ask = partial(
                self._client.submit_many,
                items,
                one_lineage=True,
                tracking_id=name,
                limits=limits,
                on_lineage_end=at_end,
            )
            await self._insist(ask)

    def _items(self, spread: int, count: int) -> list[Any]:
        """Roots, some of which come after others of them, or are given a part, where the run has that."""
        rng = self._rng
        items: list[Any] = []
        for _ in range(count):
            kind, item = rng.choice(self._kinds), Item(number=rng.randrange(spread), spread=spread)
            options: dict[str, Any] = {}
            before = [(of, key_of(other)) for of, other, *_ in items if (of, other.number) != (kind, item.number)]
            if before and "after" in self._parts and rng.random() < 0.5:
                options = {"after": [rng.choice(before)], "on_dependency_failure": rng.choice(("skip", "run"))}
            elif "branches" in self._parts and rng.random() < 0.3:
                options = {"budget": a_part(rng)}
            items.append((kind, item, options) if options else (kind, item))
        return items

    async def _insist(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """Ask until there is an answer: who got none cannot know whether it was done."""
        while True:
            try:
                await ask()
            except StoreBusy:
                await asyncio.sleep(ASK_AGAIN_SECONDS)
            except StoreError as error:
                # Reviving past the deadline is refused: an answer, not a fault.
                self._tell(f"people are told: {error}")
                return
            else:
                return

    async def do(self, deed: str) -> None:
        """One deed to some task."""
        self.busy += 1
        await self._do(deed)
        self.busy -= 1

    async def hush(self) -> None:
        """No schedule begins anything more."""
        self.busy += 1
        for schedule in await self._client.schedules.all():
            await self._insist(partial(self._client.schedules.pause, schedule.name, by="simulation"))
        self.busy -= 1

    async def make_good(self) -> None:
        """What was paused or switched off when the copy was made that is the database now."""
        self.busy += 1
        client = self._client
        for lineage in await client.lineages(limit=1_000):
            await self._insist(partial(client.resume_lineage, lineage.tracking_id, by="simulation"))
        await self._insist(partial(client.resume_queue, "default", by="simulation"))
        if "steered" in self._parts:
            await self._insist(partial(client.resume_path, A_PATH, queue="default", by="simulation"))
            await self._insist(partial(client.settings.unset, DAY_SETTING, by="simulation"))
        for name in ("host 0", "host 1", MILL):
            await self._insist(partial(client.close_breaker, name, by="simulation"))
        self.busy -= 1

    async def _do(self, deed: str) -> None:
        page = await self._client.tasks(limit=1_000)
        if not page.tasks:
            return
        live = [task for task in page.tasks if not task.state.terminal]
        task = self._rng.choice(live if live and self._rng.random() < 0.7 else page.tasks)
        client = self._client
        match deed:
            case "cancel":
                await self._insist(lambda: client.cancel(task.id, by="simulation"))
            case "tree":
                await self._insist(lambda: client.cancel(task.id, tree=True, by="simulation"))
            case "fell":
                await self._fell(live)
            case "lineage":
                if self._rng.random() < 0.3:
                    await self._insist(lambda: client.cancel_lineage(task.tracking_id, by="simulation"))
            case "revive":
                await self._revive([other for other in page.tasks if other.state.terminal])
            case "exclude":
                chosen = [other.id for other in self._rng.sample(page.tasks, min(2, len(page.tasks)))]
                await self._insist(lambda: client.exclude(chosen, by="simulation"))
            case "raise":
                await self._raise(task.tracking_id)
            case "pause":
                await self._insist(lambda: client.pause_lineage(task.tracking_id, by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.resume_lineage(task.tracking_id, by="simulation"))
            case "pause queue":
                await self._insist(lambda: client.pause_queue("default", by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.resume_queue("default", by="simulation"))
            case "mend":
                await self._insist(lambda: client.close_breaker(MILL, by="simulation"))
            case "prune":
                await self._insist(lambda: client.store.prune(EPOCH * 2, limit=2, rows=30))
            case "add":
                items = self._items(20, 2)
                if self._rng.random() < 0.7:
                    items = [(kind, item, {"after": [task.id]}) for kind, item, *_ in items]
                await self._insist(lambda: client.add(task.tracking_id, items))
            case "reprioritise" | "reschedule" | "pause path" | "day ceiling":
                await self._steer(deed, task)
            case "breaker":
                await self._insist(lambda: client.open_breaker("host 1", by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.close_breaker("host 1", by="simulation"))
            case "stop list":
                await self._insist(lambda: client.stop("pattern", "n1*", by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.unstop("pattern", "n1*", by="simulation"))
            case _:
                raise ValueError(f"nobody knows how to {deed}")

    async def _steer(self, deed: str, task: Task) -> None:
        """Change when a task runs, or what may run or be spent for a while."""
        client = self._client
        match deed:
            case "reprioritise":
                await self._insist(lambda: client.reprioritise(task.id, self._rng.randrange(-5, 5), by="simulation"))
            case "reschedule":
                delay = self._rng.random() * PAUSE_SECONDS_MAX
                await self._insist(lambda: client.reschedule(task.id, delay_seconds=delay, by="simulation"))
            case "pause path":
                await self._insist(lambda: client.pause_path(A_PATH, queue="default", by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.resume_path(A_PATH, queue="default", by="simulation"))
            case "day ceiling":
                await self._insist(lambda: client.settings.set(DAY_SETTING, 1, by="simulation"))
                await asyncio.sleep(self._rng.random() * PAUSE_SECONDS_MAX)
                await self._insist(lambda: client.settings.unset(DAY_SETTING, by="simulation"))
            case _:
                raise ValueError(f"nobody knows how to {deed}")

    async def _fell(self, live: list[Task]) -> None:
        """Something above what still lives; of a root it would be the lineage."""
        above = sorted({other.parent_id for other in live if other.parent_id and other.spawn_depth > 1})
        if above:
            felled = self._rng.choice(above)
            await self._insist(lambda: self._client.cancel(felled, tree=True, by="simulation"))

    async def _raise(self, tracking_id: str) -> None:
        """Room for what was blocked."""
        client = self._client
        raised: tuple[dict[str, Any], ...] = ({"max_tasks": 70, "max_fan_out": 7}, {"max_cost": 100_000})
        for limits in raised:
            ask = partial(client.raise_limits, tracking_id, by="simulation", extend_seconds=1_000.0, **limits)
            await self._insist(ask)
        await self._insist(lambda: client.reoffer(tracking_id, by="simulation"))

    async def _revive(self, ended: list[Task]) -> None:
        chosen = [task.id for task in self._rng.sample(ended, min(3, len(ended)))]
        extend = self._rng.choice((None, 1_000.0))
        await self._insist(lambda: self._client.revive(chosen, by="simulation", extend_seconds=extend))
