"""A job of questions whose prompts would run if a template failed to escape one; some fail."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from ramet.testing import FakeClock, drain, fresh_client

MODEL = "small"
SLOTS_MAX, SLOT_SECONDS = 6, 40.0
PRICE = Price(5_000_000_000, 500_000_000, 25_000_000_000, "test")
HOSTILE = "<script>alert(1)</script>\"'&{{7919*6101}}"
PROMPTS = (f"Describe the owl. {HOSTILE}", f"Describe the wren. {HOSTILE}", f"Describe the teal. {HOSTILE} [[refusal]]")


def _request(text: str) -> Request:
    messages = ({"role": "user", "content": text},)
    return Request(identity(MODEL, messages, 60, {}, None), MODEL, messages, 60, {}, None)


@asynccontextmanager
async def answered(folder: Path) -> AsyncIterator[Client]:
    """A client of the database of a job that ended; its name is ``birds``."""
    requests = tuple(map(_request, PROMPTS))
    rows = tuple(AskedRow(f"row{at}", one.key, True) for at, one in enumerate(requests))
    with StandIn(Script(queued_polls=0, running_polls=1)) as server, patch.dict(os.environ, {"OPENAI_API_KEY": "none"}):
        clock = FakeClock()
        async with fresh_client(pipeline.app, folder=folder, clock=clock) as client:
            settings = JobSettings(
                provider="openai", mode=Mode.BACKGROUND, base_url=server.url, prices={MODEL: PRICE},
                source=f"birds {HOSTILE}.jsonl", rows=0, items=0,
            )  # fmt: skip
            await submit_job(client, "birds", Questions(requests, rows), settings, max_cost=50_000_000)
            try:
                for slot in range(SLOTS_MAX):
                    await client.submit(pipeline.poll, {"wait": False}, tracking_id=f"poll-{slot}")
                    await drain(pipeline.app, client, advance=False)
                    clock.advance(SLOT_SECONDS)
            finally:
                await calling.close()
            yield client
