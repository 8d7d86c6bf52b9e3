"""A process that dies before any statement, from a company's address to its matches, leaves what a whole run does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ramet import Client, ResourcePolicy
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS, fetchers
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE
from ramet.testing.crashes import crash_everywhere
from tests.jobs.scenarios.feed_circle import put_up, site_of
from tests.jobs.world.openings import Opening
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

COMPANIES = (
    "SELECT company_id, name, website, status, analysis_status, about, culture, tech_stack, tier, completeness "
    "FROM jobs_companies ORDER BY company_id"
)
SOURCES = "SELECT source_id, source_type, status, last_status, last_count, suspect FROM jobs_sources ORDER BY source_id"
LISTINGS = (
    "SELECT listing_id, source_id, external_id, company, title, location, description, status, quality, reason "
    "FROM jobs_listings ORDER BY listing_id"
)
MATCHES = "SELECT listing_id, static_score, application_priority, matched_skills FROM jobs_matches ORDER BY listing_id"


async def begin(client: Client) -> None:
    """A company whose feed lists the openings of another, and one board."""
    await fetchers.close()  # Each life learns the robots.txt of its hosts anew, so that all take the same statements.
    await client.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
    await client.settings.set_many(sample() | {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0})
    payload = {"website": site_of("Alder"), "name": "Alder"}
    await client.submit(COMPANY, payload, tracking_id="season", limits=replace(LIMITS, max_tasks=100))


async def left(client: Client) -> list[list[tuple[Any, ...]]]:
    """Everything that was saved, without times and ids of tasks."""
    return [await client.read(question) for question in (COMPANIES, SOURCES, LISTINGS, MATCHES)]


async def survive(world: World, every: int) -> int:
    put_up(world, ("Alder", "Birch"))
    world.board("greenhouse", "alder", [Opening("1", "Go Engineer")], company="Alder")
    whole: list[list[list[tuple[Any, ...]]]] = []

    async def check(client: Client) -> None:
        found = await left(client)
        whole.append(found)
        assert found == whole[0]
        assert [len(rows) for rows in found] == [2, 2, 6, 6]
        lineage = await client.lineage("season")
        assert lineage is not None
        assert lineage.state == "finished"

    try:
        return await crash_everywhere(pipeline.app, begin, check, every=every)
    finally:
        await fetchers.close()


@pytest.mark.timeout(900)
async def test_a_crash_before_a_statement_changes_nothing_that_is_saved(world: World) -> None:
    assert await survive(world, 37) > 5


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
async def test_a_crash_before_every_statement(world: World) -> None:
    assert await survive(world, 1) > 200
