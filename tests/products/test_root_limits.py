"""Whatever begins with a kind of a pipeline has that pipeline's limits, whoever starts it (DESIGN §8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Lineage
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.jobs import pipeline as jobs
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY
from ramet.jobs.tasks.source_switch import SWITCH
from ramet.llm import pipeline as llm
from ramet.llm.app import NO_CEILING
from ramet.llm.settings import BATCH, BATCH_ITEM, END, ITEM, JOB, POLL
from ramet.model.importing import Rules
from ramet.wiki import pipeline as wiki
from ramet.wiki.runs import ARTICLE, LEVEL, REFRESH, RETRY, RUN_SECONDS

HOUR = 3_600.0
JOBS: dict[str, dict[str, Any]] = {
    COMPANY: {"name": "Acme", "website": "https://acme.example/"},
    SOURCE_DISCOVERY: {"url": "https://acme.example/jobs"},
    SCRAPE_SOURCE: {"source_id": "acme"},
    SCRAPE: {"target_matches": 3},
    LISTING: {"url": "https://acme.example/jobs/1"},
    SWITCH: {"source_id": "acme", "enable": True, "by": "me"},
}
"""Root kinds of the jobs pipeline, each with a payload."""
CEILING = 3_000_000


@pytest.fixture
async def client(tmp_path: Path) -> Any:
    """A database with the jobs pipeline, whose runs may spend something, on a model."""
    async with jobs.app.client(tmp_path / "tasks.db") as client:
        for name, value in (("cheap", "small"), ("price", "1:2"), ("max_cost", CEILING)):
            await client.settings.set(f"jobs.model.{name}", value)
        await client.settings.set("jobs.run.max_tasks", 700)
        await client.settings.refresh(0.0)
        yield client


async def lineage_of(client: Client, tracking_id: str | None) -> Lineage:
    assert tracking_id is not None
    found = await client.lineage(tracking_id)
    assert found is not None
    return found


def seconds(lineage: Lineage) -> float:
    return round(lineage.deadline_at - lineage.created_at)


def bounds(lineage: Lineage) -> tuple[float, int | None, int, int]:
    return seconds(lineage), lineage.max_cost, lineage.max_tasks, lineage.max_fan_out


BOUNDED = (6 * HOUR, CEILING, 700, 20_000)


@pytest.mark.parametrize("kind", sorted(JOBS))
async def test_a_submit_of_any_kind_of_the_jobs_pipeline_has_the_ceilings_of_a_run(client: Client, kind: str) -> None:
    made = await client.submit(kind, JOBS[kind])
    assert bounds(await lineage_of(client, made.tracking_id)) == BOUNDED


@pytest.mark.parametrize("kind", sorted(JOBS))
async def test_a_schedule_of_any_kind_of_the_jobs_pipeline_has_the_ceilings_of_a_run(client: Client, kind: str) -> None:
    await client.schedules.add(kind, JOBS[kind], every_seconds=300.0)
    stranger = Client(App().registry, client.store, App().limits)
    slot = await stranger.schedules.run(kind)
    assert bounds(await lineage_of(client, slot.tracking_id)) == BOUNDED


async def test_what_is_imported_into_the_jobs_pipeline_has_the_ceilings_of_a_run(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "queue.jsonl"
    rows = [{"id": kind, "type": kind, "tracking_id": kind, **JOBS[kind]} for kind in JOBS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = ImportSource(path, "jsonl", rules=Rules(), strict=True)
    await Importer(source, jobs.app.registry, jobs.app.limits).fill(client.store, "tester")
    assert {bounds(await lineage_of(client, kind)) for kind in JOBS} == {BOUNDED}


WIKI = {
    LEVEL: {"level": 0, "run": {"source": "x", "data_dir": "x", "graph": "x"}, "seeds": ["A"]},
    ARTICLE: {"title": "A"},
    REFRESH: {"level": 0, "run": {"source": "x", "data_dir": "x", "graph": "x"}, "seeds": ["A"]},
    RETRY: {"by": "me"},
}


@pytest.mark.parametrize("kind", sorted(WIKI))
async def test_whatever_begins_with_a_kind_of_the_wiki_pipeline_is_no_larger_than_a_run_is_by_default(
    tmp_path: Path, kind: str
) -> None:
    async with wiki.app.client(tmp_path / "tasks.db") as client:
        made = await client.submit(kind, WIKI[kind])
        found = await lineage_of(client, made.tracking_id)
    assert (seconds(found), found.max_tasks) == (RUN_SECONDS, 4_236)
    assert (found.max_fan_out, found.max_spawn_depth) == (4_236, 38)


@pytest.mark.parametrize("kind", [JOB, ITEM, BATCH, BATCH_ITEM, POLL, END])
def test_whatever_begins_with_a_kind_of_the_llm_pipeline_has_a_ceiling_of_money(kind: str) -> None:
    assert llm.app.registry.get(kind).root_limits.max_cost == NO_CEILING


async def test_the_poll_of_llm_jobs_ends_after_two_hours(tmp_path: Path) -> None:
    async with llm.app.client(tmp_path / "tasks.db") as client:
        [declared] = llm.app.schedules
        await client.schedules.declare(declared)
        slot = await client.schedules.run(declared.name)
        found = await lineage_of(client, slot.tracking_id)
    assert (seconds(found), found.max_cost) == (7_200.0, NO_CEILING)
