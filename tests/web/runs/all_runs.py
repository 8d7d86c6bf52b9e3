"""One database with real runs of all pipelines, people's acts, alerts, schedules, and two workers at their work."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

from ramet import Client, Worker
from ramet.llm import pipeline as llm_pipeline
from ramet.store.sqlite.store import SqliteStore
from ramet.testing import FakeClock, drain, fresh_client
from tests.support.waiting import HANG_SECONDS
from tests.web.runs import jobs, llm, press_app, wiki
from tests.web.runs.clock import RealClock, TickingClock

BEGIN = 1_795_432_800.0
"""A day in November 2026, 12:00 UTC."""
TICK_SECONDS = 0.5
WORKERS = 2
DATABASE = "ramet.db"
LEFT = "left"
"""The folder of the database as it is looked at."""


class Made(NamedTuple):
    """A database, and what was made in it."""

    folder: Path
    now: float
    """When it was left."""
    wiki: str
    """The lineage of each pipeline's first run."""
    llm: str
    jobs: str
    documents: tuple[str, ...]


async def make(folder: Path) -> Made:
    """Run everything, about an hour of it, in some seconds."""
    clock = TickingClock(BEGIN, TICK_SECONDS)
    await _settings(folder, clock)
    run = await wiki.expand(folder, clock, 24, 40)
    await _look(folder, clock, 90.0)
    companies = await jobs.look(folder, clock, 6)
    await _look(folder, clock, 60.0)
    asked = await llm.ask(folder, clock, "birds", 50_000_000)
    await _look(folder, clock, 60.0)
    documents = await _press(folder, clock)
    await _look(folder, clock, 150.0)
    await _acts(folder, clock, run, documents)
    now = await _at_work(folder, clock)
    return Made(folder / LEFT, now, run, asked, companies[0], tuple(documents))


@asynccontextmanager
async def opened(made: Made) -> AsyncIterator[Client]:
    """A client at the moment at which the database was left: time stands still."""
    async with fresh_client(press_app.app, clock=FakeClock(made.now), folder=made.folder) as client:
        yield client


async def _settings(folder: Path, clock: TickingClock) -> None:
    async with fresh_client(press_app.app, clock=clock, folder=folder) as client:
        await client.settings.set("monitor.quiet_seconds", 120.0, by="ada", reason="an hour is too long to wait")
        await client.settings.set("cost.day_max", 2_000_000_000, by="ada", reason="two dollars a day for the birds")
        await client.schedules.add(press_app.nightly, "press", name="nightly-letters", cron="30 2 * * *", by="ada")
        await client.schedules.add(press_app.nightly, "week", name="weekly-proofs", cron="0 6 * * 1", by="ada")
        await client.schedules.declare(llm_pipeline.app.schedules[0])
        await client.schedules.pause("weekly-proofs", by="grace", reason="no proofs before the fair")


async def _look(folder: Path, clock: TickingClock, seconds: float) -> None:
    """The monitor looks, and some time passes."""
    async with fresh_client(press_app.app, clock=clock, folder=folder) as client:
        await client.check_alerts()
        clock.advance(seconds)


async def _press(folder: Path, clock: TickingClock) -> list[str]:
    """Documents whose printing fails, letters of which some have no address, and the schedule's run."""
    async with fresh_client(press_app.app, clock=clock, folder=folder) as client:
        await client.open_breaker("host:layout.example", by="ada", reason="the layout server moves")
        await client.check_alerts()
        clock.advance(120.0)
        await client.close_breaker("host:layout.example", by="ada", reason="it has moved")
        documents = []
        for name in press_app.DOCUMENTS:
            made = await client.submit(press_app.document, name, tracking_id=f"press-{name}", path=[name])
            documents.append(made.tracking_id)
        await client.submit(press_app.edition, "spring", tracking_id="edition-spring")
        await client.schedules.run("nightly-letters", by="grace", reason="the fair is tomorrow")
        letters = [
            (press_app.letter, f"{who}@press.example") for who in ("ada", "grace", "nobody-1", "nobody-2", "joan")
        ]
        await client.submit_many(letters, one_lineage=False)
        await drain(press_app.app, client, advance=False)
        for _ in range(6):
            clock.advance(45.0)
            await drain(press_app.app, client, advance=False)
        return documents


async def _acts(folder: Path, clock: TickingClock, run: str, documents: Sequence[str]) -> None:
    """What people did, and what waits because of it."""
    async with fresh_client(press_app.app, clock=clock, folder=folder) as client:
        await client.check_alerts()
        [firing, *_] = await client.alerts()
        await client.acknowledge_alert(firing.id, by="grace", reason="looking into it")
        await client.submit(press_app.letter, "everybody@press.example", tracking_id="fair-invitations", queue="bulk")
        await client.pause_queue("bulk", by="ada", reason="the fair's list is not final")
        await client.submit(press_app.document, "almanac", tracking_id="press-almanac", path=["almanac"])
        await client.pause_lineage("press-almanac", by="grace", reason="waits for its pictures")
        await client.submit(
            press_app.letter, "subscribers@press.example", delay_seconds=5_400.0, tracking_id="reminder"
        )
        await client.submit(press_app.proof, "atlas", tracking_id="proofs")
        await client.stop("host", "spam.example", by="ada", reason="asked to be left alone")
        await client.stop("pattern", "*@nowhere.example", by="grace", reason="bounces")
        [hole] = (await client.tasks(tracking_id=run, states=["failed"], limit=1)).tasks
        await client.exclude([hole.id], by="ada", reason="no such article")
        [failed, *_] = (await client.tasks(tracking_id=documents[0], states=["failed"], limit=1)).tasks
        await client.revive([failed.id], by="grace", reason="the layout server is back")


async def _at_work(folder: Path, clock: TickingClock) -> float:
    """Two workers hold what they claimed; the database as it is in that moment, and when that was."""
    real = RealClock(clock.now())
    store = SqliteStore(folder / DATABASE, clock=real.now)
    client = Client(press_app.app.registry, store, press_app.app.limits, clock=None)
    workers = [Worker(press_app.app, client, queues=["default", "post"], concurrency=8) for _ in range(WORKERS)]
    press_app.held[:] = [press_app.Held()]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        for name in ("gazette", "herbal", "novel"):
            await client.submit(press_app.document, name, tracking_id=f"press-{name}", path=[name])
            await client.submit(press_app.letter, f"editor@{name}.example", tracking_id=f"letter-{name}")
        assert await asyncio.to_thread(press_app.held[0].everybody.wait, HANG_SECONDS), "not all tasks were claimed"
        await _all_waiting(client)
        now = real.now()
        (folder / LEFT).mkdir()
        with (
            closing(sqlite3.connect(folder / DATABASE)) as here,
            closing(sqlite3.connect(folder / LEFT / DATABASE)) as left,
        ):
            here.backup(left)
        return now
    finally:
        press_app.held.clear()
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)
        await client.close()


async def _all_waiting(client: Client) -> None:
    """Until what is not held up has ended."""
    async with asyncio.timeout(HANG_SECONDS):
        while (await client.present()).processing > press_app.HELD:  # noqa: ASYNC110  other threads end them
            await asyncio.sleep(0.02)
