"""The four loops again, with two worker processes and a web of its own process, on either store."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.jobs_scale import ended, worker
from ramet import Policy
from ramet.pipelines.jobs import pipeline
from ramet.pipelines.jobs.app import LIMITS
from ramet.pipelines.jobs.configuring.config import sample
from ramet.pipelines.jobs.kinds import COMPANY, HOST_RESOURCE, LISTING
from tests.conformance.backends import BACKENDS
from tests.pipelines.jobs.scenarios.circle import NAMES, OPENINGS, address_of, site_of
from tests.pipelines.jobs.world.process import world_process

WORKERS = 2
SECONDS_MAX = 240.0
LOOK_SECONDS = 0.1
EAGER = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}
Wanted = list[tuple[str, dict[str, Any]]]

CIRCLE: Wanted = [(COMPANY, {"website": site_of("Alder"), "name": "Alder"})]
DIRECT: Wanted = [(LISTING, {"url": address_of("Alder", 0)})]
THREE: Wanted = [(LISTING, {"url": address_of("Alder", number)}) for number in range(3)]


@pytest.fixture(params=sorted(BACKENDS))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a fresh database."""
    made = BACKENDS[request.param](tmp_path)
    yield made.address
    made.close()


class Crew:
    """What two workers left."""

    def __init__(self, database: str, tracking_ids: list[str], log: Path) -> None:
        self.database = database
        self.tracking_ids = tracking_ids
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        paths = [(urlsplit(line["url"]).hostname, urlsplit(line["url"]).path) for line in lines]
        self.homes = Counter(host for host, path in paths if path in ("", "/"))
        """How often each company was looked at."""

    def told(self, *words: str) -> str:
        """What a command prints, as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "ramet.cli", *words, "--db", self.database, "--json"],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return done.stdout


async def begin(database: str, roots: Wanted, *, one_lineage: bool) -> list[str]:
    """A database with the sample's settings and the roots; their lineages."""
    async with pipeline.app.client(database) as client:
        await client.settings.set_many(sample() | EAGER)
        await client.limit_resource(Policy(f"{HOST_RESOURCE}*", breaker_failures=0))
        made = await client.submit_many(roots, limits=LIMITS, one_lineage=one_lineage)
        return sorted({one.tracking_id for one in made})


async def wait(database: str, tracking_ids: list[str]) -> None:
    """Until all of them have ended."""
    async with asyncio.timeout(SECONDS_MAX), pipeline.app.client(database) as client:
        while not all([await ended(client, one) for one in tracking_ids]):  # noqa: ASYNC110  other processes end them
            await asyncio.sleep(LOOK_SECONDS)


def worked_off(database: str, folder: Path, builder: str, roots: Wanted, *, one_lineage: bool = True) -> Crew:
    """Two workers, until every lineage has ended."""
    log = folder / "asked.jsonl"
    with ExitStack() as stack:
        leading = stack.enter_context(
            world_process("--build", f"tests.pipelines.jobs.scenarios.{builder}", "--log", str(log))
        )
        tracking_ids = asyncio.run(begin(database, roots, one_lineage=one_lineage))
        environment = {**os.environ, **leading}
        workers = [worker(database, environment, folder / "worker.log") for _ in range(WORKERS)]
        try:
            asyncio.run(wait(database, tracking_ids))
        finally:
            for one in workers:
                one.terminate()
            for one in workers:
                one.wait(60)
    return Crew(database, tracking_ids, log)


def tasks_of(crew: Crew) -> list[Any]:
    """All tasks of the lineages."""

    async def read() -> list[Any]:
        async with pipeline.app.client(crew.database) as client:
            return [task for one in crew.tracking_ids async for task in client.all_tasks(tracking_id=one)]

    return asyncio.run(read())


def blocks_are_shown(crew: Crew) -> Counter[tuple[str, str]]:
    """Every stored block is in `ramet blocks` and in `ramet explain` of the task that it was refused to."""

    async def stored() -> list[Any]:
        async with pipeline.app.client(crew.database) as client:
            return [block for one in crew.tracking_ids for block in await client.blocks(one)]

    blocks = asyncio.run(stored())
    for block in blocks:
        listed, explained = crew.told("blocks", block.tracking_id), crew.told("explain", block.first_parent)
        for told in (listed, explained):
            assert block.key in told
            assert str(block.reason) in told
    return Counter({(block.kind, str(block.reason)): block.count for block in blocks})


def matches(crew: Crew) -> int:
    """Rows of matches."""

    async def count() -> int:
        async with pipeline.app.client(crew.database) as client:
            [(number,)] = await client.read("SELECT COUNT(*) FROM jobs_matches")
            return int(number)

    return asyncio.run(count())


def test_a_closed_circle_ends(database: str, tmp_path: Path) -> None:
    crew = worked_off(database, tmp_path, "circle:put_up", CIRCLE)
    assert [crew.homes[urlsplit(site_of(name)).hostname] for name in NAMES] == [1] * len(NAMES)
    assert matches(crew) == len(NAMES) * OPENINGS
    kinds = Counter(task.kind for task in tasks_of(crew))
    assert (kinds[COMPANY], kinds[LISTING]) == (len(NAMES), len(NAMES) * OPENINGS)
    assert {task.state.value for task in tasks_of(crew)} == {"success"}
    blocks_are_shown(crew)


def test_a_listing_that_leads_to_its_company_and_back_ends(database: str, tmp_path: Path) -> None:
    crew = worked_off(database, tmp_path, "circle:put_up", DIRECT)
    assert set(crew.homes.values()) == {1}
    assert matches(crew) == len(NAMES) * OPENINGS
    blocks_are_shown(crew)


@pytest.mark.parametrize("one_lineage", [True, False])
def test_three_listings_at_once_that_want_one_company_get_one(database: str, tmp_path: Path, one_lineage: bool) -> None:
    crew = worked_off(database, tmp_path, "alone:put_up_one", THREE, one_lineage=one_lineage)
    assert crew.homes == {"alder.example": 1}
    assert sum(task.kind == COMPANY for task in tasks_of(crew)) == 1
    assert matches(crew) == OPENINGS
    blocks_are_shown(crew)


def test_a_company_that_always_fails_is_tried_four_times_and_no_storm_comes_of_it(
    database: str, tmp_path: Path
) -> None:
    crew = worked_off(database, tmp_path, "alone:put_up_in_trouble", THREE, one_lineage=False)
    assert crew.homes == {"alder.example": 4}
    companies = [task for task in tasks_of(crew) if task.kind == COMPANY]
    assert [(task.state.value, task.attempts) for task in companies] == [("failed", 4)]
    assert matches(crew) == OPENINGS
    blocks_are_shown(crew)
