"""One run of chaos on one store: begin, hurt, drain, check."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from ramet.store.errors import StoreError
from tests.chaos.apps.trees import app
from tests.chaos.checker import Verdict, verdict
from tests.chaos.databases import Place, place_of
from tests.chaos.faults import Hurting
from tests.chaos.load import LEASE_SECONDS, Load, environment_of
from tests.chaos.web import whole_web
from tests.chaos.workers import Crew
from tests.faults.effects import count, effects

SAY_SECONDS = 10.0
LOOK_SECONDS = 0.25
DRAIN_SECONDS_MAX = 420.0
"""Longer than a slot of the schedules that go on with what a chain left: a lineage that is open then never ends."""
OPEN = "SELECT COUNT(*) FROM ramet_lineages WHERE ended_at IS NULL OR live > 0"
Say = Callable[[str], None]


class Plan(NamedTuple):
    """What to do."""

    store: str
    seconds: float
    seed: int
    keep: bool = False
    """Leave logs, effects and a SQLite database where they are."""


class Report(NamedTuple):
    """How it went."""

    plan: Plan
    seconds: float
    """While it was hurt."""
    drain_seconds: float
    faults: dict[str, int]
    fault_seconds: dict[str, float]
    submitted: dict[str, int]
    refused: int
    """Submits that had to be repeated."""
    workers: int
    """Started in all."""
    verdict: Verdict
    tracebacks: list[str]
    folder: Path


class Chaos:
    """Everything of one run; :meth:`go` does it."""

    def __init__(self, plan: Plan, say: Say, enough: threading.Event) -> None:
        self.plan, self._say, self._enough = plan, say, enough
        self.folder = Path(tempfile.mkdtemp(prefix=f"ramet-chaos-{plan.store}-"))

    async def go(self) -> Report:
        """Run it; the report is there even when it was cut short by a person."""
        with ExitStack() as stack:
            web = await asyncio.to_thread(stack.enter_context, whole_web())
            model = stack.enter_context(StandIn(Script(queued_polls=0, running_polls=1, latency_seconds=0.02)))
            place = await asyncio.to_thread(
                stack.enter_context, place_of(self.plan.store, self.folder, self._pause, LEASE_SECONDS)
            )
            report = await self._run(place, model.url, web)
        if not (self.plan.keep or report.verdict.findings):
            shutil.rmtree(self.folder)
        return report

    def _pause(self, seconds: float) -> None:
        self._enough.wait(seconds)

    async def _run(self, place: Place, model_url: str, web: dict[str, str]) -> Report:
        log = self.folder / "effects"
        workers = self.folder / "workers"
        workers.mkdir()
        load = Load(place.address, self.folder, model_url, self.plan.seed)
        crew = Crew(place.address, workers, environment_of(log, web), random.Random(self.plan.seed))
        hurting = Hurting(crew, place, log, self.plan.seed, self._enough)
        await load.begin(place.direct)
        polling = asyncio.create_task(load.poll())
        try:
            crew.fill()
            began = time.monotonic()
            await self._hurt(load, hurting, log)
            hurt_seconds = time.monotonic() - began
            await self._drain(place, crew, polling)
            await asyncio.to_thread(crew.drain)
            drain_seconds = time.monotonic() - began - hurt_seconds
        finally:
            polling.cancel()
            crew.end()
            await load.close()
        async with app.client(place.direct) as client:
            found = await verdict(client.store, effects(log))
        trouble = [*crew.trouble, *([hurting.error] if hurting.error else [])]
        return Report(
            self.plan, hurt_seconds, drain_seconds, dict(hurting.counts), dict(hurting.seconds), dict(load.submitted),
            load.refused, crew.started, found.and_broken(trouble), crew.tracebacks(), self.folder,
        )  # fmt: skip

    async def _hurt(self, load: Load, hurting: Hurting, log: Path) -> None:
        submitting = asyncio.create_task(load.go_on())
        hurting.start()
        began = said = time.monotonic()
        while hurting.is_alive() and not self._enough.is_set() and not submitting.done():
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            if now - said >= SAY_SECONDS:
                said = now
                faults, lineages = hurting.counts.total(), load.submitted.total()
                self._say(
                    f"{self.plan.store} {now - began:.0f} s: {faults} faults, {lineages} lineages submitted, "
                    f"{load.live} tasks live, effect log {count(log)} lines"
                )
            if now - began >= self.plan.seconds:
                break
        self._enough.set()
        await asyncio.to_thread(hurting.join)
        submitting.cancel()
        with suppress(asyncio.CancelledError):
            await submitting

    async def _drain(self, place: Place, crew: Crew, polling: asyncio.Task[None]) -> None:
        """Until every lineage has ended, or for so long."""
        began = said = time.monotonic()
        async with app.client(place.direct) as client:
            for schedule in await client.schedules.all():
                await client.schedules.pause(schedule.name)
            while time.monotonic() - began < DRAIN_SECONDS_MAX:
                crew.look()
                with suppress(StoreError):
                    [(open_,)] = await client.store.read(OPEN)
                    if not open_ and polling.done():
                        return
                    if not open_:
                        # What it submitted last is waited for.
                        polling.cancel()
                    if time.monotonic() - said >= SAY_SECONDS:
                        said = time.monotonic()
                        kinds = await client.store.read(
                            "SELECT kind, state, wait, COUNT(*), MIN(available_at) FROM ramet_live "
                            "GROUP BY kind, state, wait ORDER BY 4 DESC"
                        )
                        told = ", ".join(
                            f"{count} {kind} {state}" + (f" ({wait}, in {due - time.time():.0f} s)" if wait else "")
                            for kind, state, wait, count, due in kinds[:6]
                        )
                        self._say(f"{self.plan.store} draining: {open_} lineages open: {told}")
                await asyncio.sleep(LOOK_SECONDS)
