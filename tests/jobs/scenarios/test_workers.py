"""The four loops again, all at once, with two worker processes and a web of its own process, on either store."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from benchmarks.jobs.scale import ended, worker
from ramet import ResourcePolicy
from ramet.cli import main
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, LISTING
from tests.jobs.scenarios.feed_circle import OPENINGS, site_of
from tests.jobs.scenarios.worker_stories import STORIES, Story
from tests.jobs.world.process import world_process
from tests.support.backends import BACKENDS
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.process

WORKERS = 2
LOOK_SECONDS = 0.1
EAGER = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}


class Crew:
    """What two workers left of one story."""

    def __init__(self, database: str, story: Story, tracking_ids: list[str]) -> None:
        self.database = database
        self.story = story
        self.tracking_ids = tracking_ids
        self.homes: dict[str, int] = {}
        """How often each company was looked at."""

    def count_homes(self, log: Path) -> None:
        """Read what the web was asked for."""
        urls = [urlsplit(json.loads(line)["url"]) for line in log.read_text().splitlines()]
        asked = Counter(url.hostname for url in urls if url.path in ("", "/"))
        self.homes = {name: asked[urlsplit(site_of(name)).hostname] for name in self.story.names}

    def told(self, *words: str) -> str:
        """What a command prints, as JSON."""
        done = CliRunner().invoke(main, [*words, "--db", self.database, "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout


async def begin(database: str) -> dict[str, Crew]:
    """A database with the sample's settings and the roots of every story."""
    async with pipeline.app.client(database) as client:
        await client.settings.set_many(sample() | EAGER)
        await client.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
        crews = {}
        for name, story in STORIES.items():
            made = await client.submit_many(story.roots, limits=LIMITS, one_lineage=story.one_lineage)
            crews[name] = Crew(database, story, sorted({one.tracking_id for one in made}))
        return crews


async def wait(database: str, tracking_ids: list[str]) -> None:
    """Until all of them have ended."""
    async with asyncio.timeout(HANG_SECONDS), pipeline.app.client(database) as client:
        while not all([await ended(client, one) for one in tracking_ids]):  # noqa: ASYNC110  other processes end them
            await asyncio.sleep(LOOK_SECONDS)


def worked_off(database: str, folder: Path) -> dict[str, Crew]:
    """Two workers, until every lineage has ended."""
    log = folder / "asked.jsonl"
    builder = f"{Story.__module__}:put_up_all"
    with ExitStack() as stack:
        leading = stack.enter_context(world_process("--build", builder, "--log", str(log)))
        crews = asyncio.run(begin(database))
        environment = {**os.environ, **leading}
        workers = [worker(database, environment, folder / "worker.log") for _ in range(WORKERS)]
        try:
            asyncio.run(wait(database, [one for crew in crews.values() for one in crew.tracking_ids]))
        finally:
            for one in workers:
                one.terminate()
            for one in workers:
                one.wait(HANG_SECONDS)
    for crew in crews.values():
        crew.count_homes(log)
    return crews


@pytest.fixture(scope="module", params=sorted(BACKENDS))
def crews(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Crew]]:
    """What is left of each story, on one database. Workers take longer to start than to do all of it."""
    folder = tmp_path_factory.mktemp("workers")
    made = BACKENDS[request.param](folder)
    yield worked_off(made.address, folder)
    made.close()


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
            rows = await client.read("SELECT tracking_id FROM jobs_matches")
            return sum(tracking_id in crew.tracking_ids for (tracking_id,) in rows)

    return asyncio.run(count())


@pytest.mark.process
def test_a_closed_circle_ends(crews: dict[str, Crew]) -> None:
    crew = crews["circle"]
    names = crew.story.names
    assert crew.homes == dict.fromkeys(names, 1)
    assert matches(crew) == len(names) * OPENINGS
    kinds = Counter(task.kind for task in tasks_of(crew))
    assert (kinds[COMPANY], kinds[LISTING]) == (len(names), len(names) * OPENINGS)
    assert {task.state.value for task in tasks_of(crew)} == {"success"}
    blocks_are_shown(crew)


def test_a_listing_that_leads_to_its_company_and_back_ends(crews: dict[str, Crew]) -> None:
    crew = crews["back"]
    names = crew.story.names
    assert crew.homes == dict.fromkeys(names, 1)
    assert matches(crew) == len(names) * OPENINGS
    blocks_are_shown(crew)


@pytest.mark.parametrize("name", ["three", "three runs"])
def test_three_listings_at_once_that_want_one_company_get_one(crews: dict[str, Crew], name: str) -> None:
    crew = crews[name]
    assert list(crew.homes.values()) == [1]
    assert sum(task.kind == COMPANY for task in tasks_of(crew)) == 1
    assert matches(crew) == OPENINGS
    blocks_are_shown(crew)


def test_a_company_that_always_fails_is_tried_four_times_and_no_storm_comes_of_it(crews: dict[str, Crew]) -> None:
    crew = crews["trouble"]
    assert list(crew.homes.values()) == [4]
    companies = [task for task in tasks_of(crew) if task.kind == COMPANY]
    assert [(task.state.value, task.attempts) for task in companies] == [("failed", 4)]
    assert matches(crew) == OPENINGS
    blocks_are_shown(crew)
