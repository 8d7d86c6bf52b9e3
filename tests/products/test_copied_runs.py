"""Real runs of all pipelines moved from a file to a server and back: every row, every answer, nothing made twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from ramet import Client
from ramet.jobs.app import LIMITS
from ramet.jobs.commands import matches
from ramet.jobs.kinds import SCRAPE_SOURCE
from ramet.jobs.pipeline import app as jobs_app
from ramet.llm import pipeline as llm_pipeline
from ramet.llm.jobs import find_job, submit_job
from ramet.llm.providers.base import Mode
from ramet.llm.settings import JobSettings
from ramet.store.session import FENCES_PER_EPOCH
from ramet.testing import drain, fresh_client
from ramet.wiki.expansion import go_on, prepare, submit
from ramet.wiki.pipeline import app as wiki_app
from ramet.wiki.runs import RunSettings, find_run
from ramet.wiki.tasks.article import expansions
from tests.cli.conftest import Cli
from tests.web.runs import jobs, llm
from tests.web.runs.clock import TickingClock

BEGIN = 1_795_432_800.0
DATABASE = "ramet.db"
TITLES = ("Owl", "Finch", "Heron", "Plover", "Wren", "Kestrel", "Curlew", "Dunnock")
CEILING = 50_000_000
ASKED = "a bird that hunts at night"


def wiki_settings(folder: Path) -> RunSettings:
    """Eight articles, each with links to the two that follow it."""
    world = folder / "articles.jsonl"
    lines = [
        json.dumps({
            "title": title, "text": f"{title} is a bird. It hunts at night, or it does not.",
            "links": [TITLES[(at + step) % len(TITLES)] for step in (1, 2)],
        })
        for at, title in enumerate(TITLES)
    ]  # fmt: skip
    world.write_text("\n".join(lines), encoding="utf-8")
    return RunSettings(
        source=str(world), data_dir=str(folder / "data"), graph=str(folder / "wiki.sqlite"), embedder="hashing",
        max_articles=len(TITLES), max_depth=9,
    )  # fmt: skip


async def expand(client: Client, folder: Path) -> bool:
    """Run the wiki pipeline, or go on with its run; False where nothing is left to do."""
    prepared = await prepare(TITLES[:1], wiki_settings(folder))
    try:
        new = await submit(client, prepared) or await go_on(client, await find_run(client, prepared.run_id), prepared)
        await drain(wiki_app, client)
        return new
    finally:
        expansions.close()


async def make(folder: Path, clock: TickingClock) -> None:
    """A run of each pipeline in one database."""
    async with fresh_client(wiki_app, clock=clock, folder=folder) as client:
        assert await expand(client, folder)
    with patch.object(jobs, "RECORDED", {}):
        await jobs.look(folder, clock, 3)
    await llm.ask(folder, clock, "birds", CEILING)


def held(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables; what tells a copy from its original is left out."""
    with closing(sqlite3.connect(path)) as file:
        names = file.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        found = {}
        for (name,) in names.fetchall():
            asked = file.execute(f'SELECT * FROM "{name}"')
            columns = [column[0] for column in asked.description]
            rows = [dict(zip(columns, row, strict=True)) for row in asked]
            if name == "ramet_counters":
                rows = [row for row in rows if row["name"] not in ("epoch", "copied")]
            for row in rows:
                if name in ("ramet_live", "ramet_tasks") and row["fence"] is not None:
                    row["fence"] %= FENCES_PER_EPOCH
            found[name] = sorted((tuple(sorted(row.items())) for row in rows), key=repr)
    return found


def answers(cli: Cli) -> list[Any]:
    """What people ask the pipelines."""
    return [
        cli.documents("jobs", "matches", "--closed", "--keep-new"),
        cli.documents("jobs", "sources", "list"),
        cli.documents("wiki", "search", ASKED),
        cli.documents("wiki", "status"),
        [json.loads(line) for line in cli.good("llm", "results", "birds").splitlines()],
        cli.documents("llm", "status", "birds"),
    ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> TickingClock:
    monkeypatch.setattr(matches, "time", SimpleNamespace(time=lambda: BEGIN + 86_400.0))
    return TickingClock(BEGIN, 0.5)


@pytest.mark.process
@pytest.mark.network
async def test_real_runs_of_all_pipelines_move_to_a_server_and_back(
    tmp_path: Path, postgres_url: str, clock: TickingClock
) -> None:
    await make(tmp_path, clock)
    first, server = Cli(tmp_path / DATABASE), Cli(tmp_path, postgres_url)
    told = await in_thread(answers, first)
    before = held(first.database)
    assert all(before[name] for name in ("jobs_matches", "jobs_listings", "wiki_articles", "llm_answers"))
    assert told[0]
    assert told[2]

    await in_thread(first.good, "backup", str(tmp_path / "copy.db"))
    said = await in_thread(server.good, "restore", str(tmp_path / "copy.db"))
    assert "rows counted, equal" in said
    assert "left out" not in said
    assert await in_thread(answers, server) == told
    await in_thread(server.good, "backup", str(tmp_path / "back.db"))
    await in_thread(first.good, "restore", str(tmp_path / "back.db"), "--force")

    after = held(first.database)
    assert after.keys() == before.keys()
    for name in before:
        assert after[name] == before[name], name
    assert await in_thread(answers, first) == told
    await check_that_a_further_run_makes_nothing_twice(tmp_path, clock, before)


async def check_that_a_further_run_makes_nothing_twice(
    folder: Path, clock: TickingClock, before: dict[str, list[tuple[Any, ...]]]
) -> None:
    async with fresh_client(wiki_app, clock=clock, folder=folder) as client:
        assert not await expand(client, folder)
    async with jobs_desk(folder, clock) as client:
        sources = await client.read("SELECT source_id FROM jobs_sources WHERE status = 'active'")
        for number, (source_id,) in enumerate(sources):
            await client.submit(
                SCRAPE_SOURCE, {"source_id": source_id}, limits=LIMITS, tracking_id=f"jobs-later-{number}"
            )
        await drain(jobs_app, client)
    async with fresh_client(llm_pipeline.app, clock=clock, folder=folder) as client:
        asked_at = (await find_job(client, "birds")).settings.base_url
        settings = JobSettings(
            provider="openai", mode=Mode.BACKGROUND, base_url=asked_at, prices={llm.MODEL: llm.PRICE},
            source="birds.jsonl", item_seconds=llm.ITEM_SECONDS, rows=0, items=0,
        )  # fmt: skip
        _, new = await submit_job(client, "birds", llm.questions(), settings, max_cost=CEILING)
        assert not new
        await drain(llm_pipeline.app, client)
    now = held(folder / DATABASE)
    for name in ("jobs_listings", "jobs_companies", "jobs_sources", "jobs_matches", "llm_answers", "wiki_articles"):
        assert len(now[name]) == len(before[name]), name
    for name in ("jobs_listings", "jobs_matches"):
        assert [dict(row)["listing_id"] for row in now[name]] == [dict(row)["listing_id"] for row in before[name]]
    assert len(now["ramet_tasks"]) > len(before["ramet_tasks"])  # It did look again.


@asynccontextmanager
async def jobs_desk(folder: Path, clock: TickingClock) -> AsyncIterator[Client]:
    """The jobs pipeline on the web that the first run saw."""
    async with AsyncExitStack() as stack:
        stack.enter_context(patch.object(jobs, "RECORDED", {}))
        client, world = await stack.enter_async_context(jobs.desk(folder, clock))
        jobs.build(world, 3)
        yield client


async def in_thread(function: Any, *arguments: Any) -> Any:
    """Run a command, which has an event loop of its own."""
    return await asyncio.to_thread(function, *arguments)
