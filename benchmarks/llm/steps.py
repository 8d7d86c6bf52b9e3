"""The steps of :mod:`benchmarks.llm.scale`, each in a process of its own that prints what it used itself, as JSON."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

MODEL = "small"
MAX_OUTPUT_TOKENS = 200
BATCH_ITEMS = 50_000
CONCURRENCY = 16
JOB = "scale"
PAUSE_SECONDS = 0.5


def write_input(path: Path, items: int) -> None:
    """So many different questions of some 200 characters."""
    words = "Answer in one word, without a full stop, and without any remark about how you came to it. " * 2
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            prompt = f"Question {number}: which town is the capital of country {number}? {words}"
            file.write(json.dumps({"id": f"row{number}", "prompt": prompt}) + "\n")


async def submit(path: Path, url: str, database: str, mode: str) -> None:
    """Create the job, as a user's command does: from the file to the commit."""
    from ramet.llm import pipeline
    from ramet.llm.inputs.prompt_file import read_rows
    from ramet.llm.inputs.questions import Defaults
    from ramet.llm.inputs.spool import questions_of
    from ramet.llm.jobs import submit_job
    from ramet.llm.pricing.prices import given_price
    from ramet.llm.providers.base import Mode
    from ramet.llm.settings import JobSettings

    defaults = Defaults(model=MODEL, max_output_tokens=MAX_OUTPUT_TOKENS)
    settings = JobSettings(
        provider="openai", base_url=url, mode=Mode(mode), prices={MODEL: given_price("1:2")}, rows=0, items=0,
        batch_items=BATCH_ITEMS, item_seconds=86_400.0,
    )  # fmt: skip
    async with pipeline.app.client(database) as client:
        questions = questions_of(read_rows(path, defaults))
        await submit_job(client, JOB, questions, settings, max_cost=10**15)


async def bare(path: Path, url: str, mode: str) -> None:
    """The same calls by the provider's package alone, in a loop that keeps nothing.

    Raises:
        RuntimeError: not every question was answered.
    """
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as sdk:
        with path.open(encoding="utf-8") as file:
            rows = map(json.loads, file)
            answered = await (_batches(sdk, rows) if mode == "batch" else _calls(sdk, rows, mode))
    with path.open("rb") as file:
        asked = sum(1 for _ in file)
    if answered != asked:
        raise RuntimeError(f"{answered} of {asked} questions were answered")


async def _batches(sdk: Any, rows: Iterator[dict[str, Any]]) -> int:
    answered = 0
    while part := list(islice(rows, BATCH_ITEMS)):
        with tempfile.TemporaryFile() as file:
            for row in part:
                line = {"custom_id": row["id"], "method": "POST", "url": "/v1/chat/completions", "body": _chat(row)}
                file.write(json.dumps(line).encode() + b"\n")
            file.seek(0)
            upload = await sdk.files.create(file=("batch.jsonl", file), purpose="batch")
        batch = await sdk.batches.create(
            completion_window="24h", endpoint="/v1/chat/completions", input_file_id=upload.id
        )
        while batch.status not in ("completed", "failed", "expired", "cancelled"):
            await asyncio.sleep(PAUSE_SECONDS)
            batch = await sdk.batches.retrieve(batch.id)
        async with sdk.files.with_streaming_response.content(batch.output_file_id) as content:
            async for line in content.iter_lines():
                answered += bool(json.loads(line)["response"]["body"]["choices"][0]["message"]["content"])
    return answered


async def _calls(sdk: Any, rows: Iterator[dict[str, Any]], mode: str) -> int:
    answered = 0

    async def work() -> None:
        nonlocal answered
        for row in rows:
            answered += bool(await (_answer(sdk, row) if mode == "chat" else _answer_later(sdk, row)))

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    return answered


def _chat(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": row["prompt"]}],
        "max_completion_tokens": MAX_OUTPUT_TOKENS,
    }


async def _answer(sdk: Any, row: dict[str, Any]) -> str | None:
    reply = await sdk.chat.completions.create(**_chat(row))
    text: str | None = reply.choices[0].message.content
    return text


async def _answer_later(sdk: Any, row: dict[str, Any]) -> str | None:
    reply = await sdk.responses.create(
        model=MODEL, input=row["prompt"], max_output_tokens=MAX_OUTPUT_TOKENS, background=True
    )
    while reply.status in ("queued", "in_progress"):
        reply = await sdk.responses.retrieve(reply.id)
    text: str | None = reply.output_text
    return text


def main() -> None:
    """``submit`` or ``bare`` with their arguments."""
    step, path, *rest = sys.argv[1:]
    began = time.monotonic()
    asyncio.run(submit(Path(path), *rest) if step == "submit" else bare(Path(path), *rest))
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps({
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 3),
        "peak_rss_mb": round(used.ru_maxrss * unit / 1e6, 1),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
