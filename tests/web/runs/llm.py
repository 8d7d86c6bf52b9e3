"""Real jobs of the llm pipeline: prompts asked of the stand-in server over HTTP, under a ceiling of money."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from ramet import Client
from ramet.llm import pipeline
from ramet.llm.calls import calling
from ramet.llm.inputs.spool import AskedRow, Questions
from ramet.llm.jobs import submit_job
from ramet.llm.pricing.prices import Price
from ramet.llm.providers.base import Mode
from ramet.llm.requests import Request, identity
from ramet.llm.settings import JobSettings
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from ramet.testing import drain, fresh_client
from tests.web.runs.clock import TickingClock

MODEL = "small"
PRICE = Price(5_000_000_000, 500_000_000, 25_000_000_000, "test")
"""Nano-dollars for a million tokens of input, of input that was cached, of output."""
SLOTS_MAX = 20
SLOT_SECONDS = 40.0
ITEM_SECONDS = 500.0
"""What fails again and again is given up after so long."""
BIRDS = (
    "owl", "finch", "heron", "plover", "wren", "kestrel", "curlew", "dunnock", "siskin", "avocet", "hoopoe", "jay",
    "lapwing", "merlin", "nightjar", "osprey", "pipit", "quail", "redstart", "swift", "teal", "rook", "crane", "ibis",
)  # fmt: skip
TROUBLE = ("[[429 times=2]]", "[[drop]]", "[[failed server_error]]", "[[refusal]]", "[[filter]]")
"""Marks by which a prompt tells the stand-in what goes wrong with it; some more than once in a job."""


def questions() -> Questions:
    """A row for each bird; some are in trouble, and two rows ask the same."""
    texts = [f"Describe the {bird} in one sentence. {mark}" for bird, mark in zip(BIRDS, _marks(), strict=True)]
    requests = {request.key: request for request in map(_request, texts)}
    rows = [AskedRow(f"row{at}", _request(text).key, at < len(texts)) for at, text in enumerate([*texts, texts[0]])]
    return Questions(tuple(requests.values()), tuple(rows))


def _marks() -> list[str]:
    return [TROUBLE[at // 4 % len(TROUBLE)] if at % 4 == 0 else "" for at in range(len(BIRDS))]


def _request(text: str) -> Request:
    messages = ({"role": "user", "content": text},)
    return Request(identity(MODEL, messages, 60, {}, None), MODEL, messages, 60, {}, None)


async def ask(folder: Path, clock: TickingClock, name: str, max_cost: int) -> str:
    """Ask all questions in background mode until each has ended; the job's lineage."""
    script = Script(queued_polls=0, running_polls=1)
    # Who waits for a rate's minute in its handler does so in real time: here all of them come back at the next slot.
    at_the_next_slot = patch("ramet.llm.calls.WAIT_HERE_SECONDS", 0.0)
    with StandIn(script) as server, patch.dict(os.environ, {"OPENAI_API_KEY": "none"}), at_the_next_slot:
        async with fresh_client(pipeline.app, clock=clock, folder=folder) as client:
            settings = JobSettings(
                provider="openai", mode=Mode.BACKGROUND, base_url=server.url, prices={MODEL: PRICE},
                source="birds.jsonl", item_seconds=ITEM_SECONDS,
                rows=0, items=0,
            )  # fmt: skip
            job, new = await submit_job(client, name, questions(), settings, max_cost=max_cost)
            assert new
            try:
                await _poll(client, clock, job.job_id)
            finally:
                await calling.close()
            return job.job_id


async def _poll(client: Client, clock: TickingClock, job_id: str) -> None:
    """Slots of the schedule, until the job has ended."""
    for slot in range(SLOTS_MAX):
        await client.submit(pipeline.poll, {"wait": False}, tracking_id=f"{job_id}-poll-{slot}")
        await drain(pipeline.app, client, advance=False)
        lineage = await client.lineage(job_id)
        assert lineage is not None
        if not lineage.live:
            return
        clock.advance(SLOT_SECONDS)
    raise AssertionError(f"{job_id} has not ended after {SLOTS_MAX} slots")
