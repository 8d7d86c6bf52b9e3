"""Jobs on a virtual clock, on either store: the poller's slots come when the test says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from ramet import Client
from ramet.llm import pipeline
from ramet.llm.calls import calling
from ramet.llm.inputs.spool import AskedRow, Questions
from ramet.llm.jobs import Job, find_job, submit_job
from ramet.llm.pricing.prices import Price
from ramet.llm.providers.base import Mode, Provider
from ramet.llm.requests import Request, identity
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM, JobSettings
from ramet.llm.status import JobStatus, status_of
from ramet.testing import FakeClock, drain, fresh_client
from tests.llm.fake_provider import FakeProvider

FREE = Price(0, 0, 0, "test")
DEAR = Price(1_000_000_000, 1_000_000_000, 2_000_000_000, "test")
"""A thousand nano-dollars for an input token, two thousand for an output token."""
MODEL = "small"
SLOT_SECONDS = 300.0


def question(text: str, **more: Any) -> Request:
    """A question to the test's model."""
    messages = ({"role": "user", "content": text},)
    parts: dict[str, Any] = {"model": MODEL, "max_output_tokens": 20, "parameters": {}, "schema": None} | more
    key = identity(parts["model"], messages, parts["max_output_tokens"], parts["parameters"], parts["schema"])
    return Request(key, messages=messages, **parts)


def asked(texts: list[str], **more: Any) -> Questions:
    """A row for each text; equal ones are one question."""
    requests = {question(text, **more).key: question(text, **more) for text in texts}
    rows = tuple(
        AskedRow(f"row{at}", question(text, **more).key, text not in texts[:at]) for at, text in enumerate(texts)
    )
    return Questions(tuple(requests.values()), rows)


@dataclass
class Desk:
    """A database with the pipeline, and a provider."""

    client: Client
    clock: FakeClock
    provider: FakeProvider
    slots: int = 0

    async def submit(self, texts: list[str], *, name: str = "job", max_cost: int = 10**12, **settings: Any) -> Job:
        """A job that asks these."""
        made = JobSettings(provider="fake", mode=self.provider.mode, prices={MODEL: DEAR}, rows=0, items=0, **settings)
        job, new = await submit_job(self.client, name, asked(texts), made, max_cost=max_cost)
        assert new
        return job

    async def slot(self) -> dict[str, Any]:
        """A slot of the poller's schedule, with all of its chain; what its last link told."""
        self.slots += 1
        one = await self.client.submit(pipeline.poll, {"wait": False}, tracking_id=f"slot-{self.slots}")
        await drain(pipeline.app, self.client, advance=False)
        result: dict[str, Any] = await self.client.result(one.id)
        return result

    async def run(self, slots: int = 50) -> int:
        """Slots until no item lives; how many there were. What snoozes is due at the next slot."""
        for number in range(slots):
            await self.slot()
            if not await self.live():
                await drain(pipeline.app, self.client, advance=False)
                return number + 1
            self.clock.advance(SLOT_SECONDS)
        raise AssertionError(f"after {slots} slots there is still more")

    async def live(self) -> int:
        """Items and batches that have not ended."""
        counts = await self.client.counts()
        return sum(
            count.tasks
            for count in counts
            if count.kind in (ITEM, BATCH_ITEM, BATCH) and count.state in ("pending", "processing", "stale")
        )

    async def status(self, name: str = "job") -> JobStatus:
        """Where a job stands."""
        return await status_of(self.client, await find_job(self.client, name), now=self.clock.now())

    async def results(self) -> dict[str, Any]:
        """Text of each item that succeeded, reason of each that did not, by prompt."""
        found = {}
        for kind in (ITEM, BATCH_ITEM):
            async for task in self.client.all_tasks(kind=kind):
                asked_for = task.payload["messages"][0]["content"]
                found[asked_for] = task.reason if task.result is None else task.result["text"]
        return found


@pytest.fixture
async def desk(backend: str | None, mode: Mode, tmp_path: Path) -> AsyncIterator[Desk]:
    """The pipeline on either store."""
    clock = FakeClock()
    provider = FakeProvider(mode, clock.now)
    opener = calling.opener
    calling.opener = lambda settings: cast(Provider, provider)
    try:
        async with fresh_client(pipeline.app, clock=clock, folder=tmp_path, database=backend) as client:
            yield Desk(client, clock, provider)
            await calling.close()
    finally:
        calling.opener = opener
