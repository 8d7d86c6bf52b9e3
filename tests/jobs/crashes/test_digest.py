"""A process that dies before any statement of a mark or a digest: each match is marked and told exactly once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet import Client
from ramet.jobs import match_history, pipeline
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import LISTING
from ramet.jobs.match_status import TOLD, MatchStatus
from ramet.jobs.tasks.match_status import MARK, MarkPayload
from ramet.jobs.tasks.scheduled_run import SCHEDULED_RUN
from ramet.testing.crashes import crash_everywhere
from tests.jobs.world.openings import TEXT

URLS = [f"https://acme.example/jobs/{number}" for number in range(3)]


async def begin(client: Client) -> None:
    """Three matches, one of them dismissed, and a run without sources that tells of the others."""
    await client.settings.set_many(sample() | {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0})
    for number, url in enumerate(URLS):
        posting = {
            "url": url,
            "title": f"Python Engineer {number}",
            "company": "Acme",
            "description": TEXT,
            "whole": True,
        }
        await client.submit(LISTING, {"url": url, "posting": posting}, tracking_id=f"listing {number}")
    marked = MarkPayload(listing_ids=URLS[:1], status=MatchStatus.DISMISSED, note="no", by="Ana")
    await client.submit(MARK, marked, tracking_id="marked")
    await client.submit(SCHEDULED_RUN, {}, tracking_id="scheduled", delay_seconds=7_200.0)
    await client.submit(SCHEDULED_RUN, {}, tracking_id="scheduled again", delay_seconds=14_400.0)


async def check(client: Client) -> None:
    """Every effect exactly once."""
    assert [(mark.status, mark.note) for mark in await match_history(client, URLS[0])] == [("dismissed", "no")]
    for url in URLS[1:]:
        assert [mark.status for mark in await match_history(client, url)] == [TOLD]
    notices: list[Any] = [one for one in await client.alert_notices() if one.event == "message"]
    told = [match["url"] for one in notices for match in one.body["data"]["matches"]]
    assert sorted(told) == URLS[1:], json.dumps([dict(one.body) for one in notices])
    assert await client.read("SELECT COUNT(*) FROM jobs_digests WHERE sent_at IS NULL") == [(0,)]


async def test_a_crash_before_some_statements_tells_nothing_twice() -> None:
    assert await crash_everywhere(pipeline.app, begin, check, every=127) > 10


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
async def test_a_crash_before_every_statement_tells_nothing_twice() -> None:
    assert await crash_everywhere(pipeline.app, begin, check) > 1_000
