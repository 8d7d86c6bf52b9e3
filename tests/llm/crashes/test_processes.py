"""Real workers that are killed while they ask a real server: the books are the server's journal, whoever died."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ramet import Client
from ramet.llm import pipeline
from ramet.llm.calls import KEYS
from ramet.llm.jobs import submit_job
from ramet.llm.pricing.prices import cost_of
from ramet.llm.providers.base import Mode, TokenUsage
from ramet.llm.settings import JobSettings
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from tests.crash.process import WorkerProcess
from tests.faults.money_watch import seen, watch, wrong_now
from tests.invariants.check import violations
from tests.llm.running.conftest import DEAR, MODEL, asked
from tests.support.backends import BACKENDS, Backend
from tests.support.waiting import until

pytestmark = [pytest.mark.network, pytest.mark.process]

QUICK = {
    "worker.lease_seconds": 6.0,
    "worker.heartbeat_seconds": 1.0,
    "worker.poll_seconds": 0.2,
    "maintenance.sweep_seconds": 0.3,
}
JOB_MAX = 10**9
KEY = {names[0]: "none" for names in KEYS.values()}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    made = BACKENDS[request.param](tmp_path)
    yield made
    made.close()


class Run:
    """Workers on one database, and the server that they ask."""

    def __init__(self, address: str, folder: Path, server: StandIn, pollers: int) -> None:
        self.address, self.folder, self.server, self.pollers = address, folder, server, pollers
        self.workers: list[WorkerProcess] = []
        self.polls = 0

    def start_worker(self) -> None:
        self.workers.append(
            WorkerProcess(self.address, app="ramet.llm.pipeline:app", environment=KEY, folder=self.folder)
        )

    def kill_one(self, chance: random.Random) -> None:
        victim = chance.choice(self.workers)
        victim.kill()
        self.workers.remove(victim)
        self.start_worker()

    def accepted(self) -> int:
        """Questions that the server took on."""
        return len(self.server.world.journal.entries())

    async def over(self, client: Client) -> bool:
        """Whether the job ended; as long as it did not, some workers poll."""
        assert await wrong_now(client, 10**15) == []
        live = await client.read(
            "SELECT COUNT(*) FROM ramet_lineages WHERE ended_at IS NULL AND tracking_id LIKE ?", ("slot-%",)
        )
        for _ in range(self.pollers - int(live[0][0])):
            self.polls += 1
            await client.submit(pipeline.poll, {}, tracking_id=f"slot-{self.polls}")
        return not await client.read("SELECT 1 FROM ramet_lineages WHERE ended_at IS NULL AND tracking_id = 'llm-job'")


@contextmanager
def running(run: Run) -> Iterator[Run]:
    """Whatever happens, nothing of it runs afterwards."""
    try:
        yield run
    finally:
        for worker in run.workers:
            worker.end_whatever_it_does()


@pytest.mark.parametrize(
    ("items", "workers", "kills"),
    [
        pytest.param(15, 3, 2, id="15 items"),
        pytest.param(2_000, 8, 40, id="2,000 items", marks=[pytest.mark.nightly, pytest.mark.timeout(1_800)]),
    ],
)
async def test_killed_workers_leave_books_that_are_the_servers_journal(
    items: int, workers: int, kills: int, database: Backend, tmp_path: Path
) -> None:
    chance = random.Random(items)
    script = Script(queued_polls=0, running_polls=1, latency_seconds=0.05)
    async with pipeline.app.client(database.address) as client:
        with StandIn(script) as server, running(Run(database.address, tmp_path, server, max(2, workers // 2))) as run:
            await begin(client, run, items, workers)
            for kill in range(1, kills + 1):
                target = kill * items // (kills + 1)

                async def far_enough(target: int = target) -> bool:
                    return await run.over(client) or run.accepted() >= target

                await until(far_enough, "more questions at the server", 300.0)
                run.kill_one(chance)
            await until(lambda: run.over(client), "the job has ended", 300.0)
            await until(lambda: client.read("SELECT 1 FROM llm_jobs"), "its last row")
            await assert_the_books_are_the_journal(client, server, items)
        assert await violations(client.store) == []


async def begin(client: Client, run: Run, items: int, workers: int) -> None:
    await client.ensure_tables()
    for name, value in QUICK.items():
        await client.settings.set(name, value)
    settings = JobSettings(
        provider="openai", mode=Mode.BACKGROUND, base_url=run.server.url, prices={MODEL: DEAR}, rows=0, items=0
    )
    await submit_job(client, "job", asked([f"question {n}" for n in range(items)]), settings, max_cost=JOB_MAX)
    await asyncio.to_thread(watch, run.address)
    for _ in range(workers):
        run.start_worker()


async def assert_the_books_are_the_journal(client: Client, server: StandIn, items: int) -> None:
    """Each submit is booked with what the server billed under its name, or whole and written down as unknown."""
    entries = {str(entry.submit_key): entry for entry in server.world.journal.entries()}
    assert len(entries) == len(server.world.journal.entries()), "a name was taken on twice"
    unknown = dict(await client.read("SELECT submit_key, amount FROM llm_ambiguous"))
    answered = {key: int(cost) for key, cost in await client.read("SELECT submit_key, cost FROM llm_answers")}
    assert set(entries) <= set(answered) | set(unknown), "a question was asked and nobody wrote it down"
    billed = {
        key: cost_of(TokenUsage(entry.input_tokens, entry.cached_tokens, entry.output_tokens), DEAR, 1.0)
        for key, entry in entries.items()
    }
    assert {key: billed[key] for key in answered} == answered
    lineage = await client.lineage("llm-job")
    assert lineage is not None
    rest = sum(int(amount) for key, amount in unknown.items() if key not in answered)
    assert (lineage.spent, lineage.reserved) == (sum(answered.values()) + rest, 0)
    assert (await seen(client))["llm-job"].most <= JOB_MAX
    [(succeeded,)] = await client.read("SELECT succeeded FROM llm_jobs")
    assert succeeded == items
