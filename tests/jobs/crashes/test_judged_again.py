"""A process that dies before any statement while listings are judged and read again leaves what a whole run does."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import Client, ResourcePolicy
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS, fetchers
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, LISTING, RESCORE
from ramet.testing import drain
from ramet.testing.crashes import crash_everywhere
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import posting_page
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

SITE = "https://acme.example/"
URLS = [f"https://careers.acme.example/jobs/{number}" for number in range(2)]
CLERK = "We keep the books of harbours, and look for a person who does. " * 5
SAVED = (
    "SELECT listing_id, title, company_id, status, reason, filter_result, score FROM jobs_listings ORDER BY listing_id",
    "SELECT listing_id, match_score, static_score FROM jobs_matches ORDER BY listing_id",
    "SELECT listing_id, cause, status, reason, title FROM jobs_verdicts ORDER BY listing_id, cause, status",
    "SELECT listing_id, number, shown, failed, runs_left FROM jobs_readings ORDER BY listing_id",
)


async def begin(client: Client) -> None:
    """Listings that are skipped, then matches by other settings, of which one is read again and one a second time."""
    await fetchers.close()
    await client.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
    strict = {"jobs.match.min_score": 100, "jobs.match.preferred_office_min_score": 100}
    if await client.lineage("again") is None:
        await client.settings.set_many(sample() | strict)
    for number, url in enumerate(URLS):
        await client.submit(LISTING, {"url": url}, tracking_id=f"first {number}", limits=LIMITS)
    await drain(pipeline.app, client, outlive_leases=True)
    await client.settings.set_many(dict.fromkeys(strict, 0))
    await client.settings.refresh(0.0)
    await client.submit(RESCORE, {"cause": "a test", "asked_by": "test"}, tracking_id="again", limits=LIMITS)
    await drain(pipeline.app, client, outlive_leases=True)
    posting = {"url": URLS[0], "title": "Head Clerk", "company": "Acme", "description": CLERK, "location": "Berlin"}
    changed = {"url": URLS[0], "posting": posting, "reading": 2, "shown": "other"}
    await client.submit(LISTING, changed, tracking_id="changed", limits=LIMITS)
    gone = {"url": "https://careers.acme.example/jobs/gone", "shown": "gone"}
    await client.submit(LISTING, gone, tracking_id="gone", limits=LIMITS)
    await client.submit(COMPANY, {"website": SITE, "again": "asked"}, tracking_id="looked", limits=LIMITS)


async def survive(world: World, every: int) -> int:
    world.company("Acme", SITE)
    for number, url in enumerate(URLS):
        world.page(url, posting_page(Opening(str(number), f"Office Clerk {number}", text=CLERK), url, "Acme"))
    whole: list[list[list[tuple[Any, ...]]]] = []

    async def check(client: Client) -> None:
        found = [await client.read(question) for question in SAVED]
        whole.append(found)
        assert found == whole[0]
        listings, matches, verdicts, readings = found
        assert [(row[1], row[3]) for row in listings] == [
            ("Head Clerk", "matched"), ("Office Clerk 1", "matched"), (None, "unknown"),
        ]  # fmt: skip
        assert len(matches) == len(URLS)
        assert [(row[1], row[2]) for row in verdicts] == [
            ("a test", "skipped"), ("its board changed it", "matched"), ("a test", "skipped"),
        ]  # fmt: skip
        assert [row[1:] for row in readings] == [(2, "other", 0, 0), (1, None, 0, 0), (1, "gone", 1, 0)]

    try:
        return await crash_everywhere(pipeline.app, begin, check, every=every)
    finally:
        await fetchers.close()


@pytest.mark.timeout(900)
async def test_a_crash_before_a_statement_changes_no_verdict_and_no_history(world: World) -> None:
    assert await survive(world, 131) >= 2


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
async def test_a_crash_before_every_statement_changes_none(world: World) -> None:
    assert await survive(world, 1) > 100
