"""Records of another job finder on either store: written once, whole, and under what is known already."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.takeover import records_of
from ramet.jobs.tasks.takeover import take_over_records
from tests.jobs.commands.test_takeover import TABLES
from tests.jobs.running.conftest import Desk
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network


@pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)
async def test_records_are_written_once_on_either_store(desk: Desk) -> None:
    for _ in range(2):
        found = records_of(TABLES)
        await take_over_records(desk.client, found)
        assert len(found.bad) == 3
    assert await desk.rows("jobs_matches", "match_score, static_score, application_priority, method") == [
        (72.0, 72.0, "Medium", "imported"), (91.0, 91.0, "High", "imported"),
    ]  # fmt: skip
    assert await desk.rows("jobs_match_marks", "status, note, marked_by") == [
        ("applied", "sent on Monday", "imported"), ("dismissed", None, "imported"),
    ]  # fmt: skip
    assert await desk.rows("jobs_listings", "title, salary_min, company_id") == [
        ("Baker", None, None), ("Senior Python Engineer", 150_000, "acme.example"),
    ]  # fmt: skip
    assert len(await desk.rows("jobs_companies", "company_id")) == 2


async def test_a_large_file_is_written_in_portions(desk: Desk) -> None:
    text = "We bake bread. " * 6_000
    rows = [
        {"id": at, "url": f"https://acme.example/jobs/{at}", "job_title": "Baker", "company_name": "Acme",
         "job_description": text, "match_score": 70 + at}
        for at in range(5)
    ]  # fmt: skip
    await take_over_records(desk.client, records_of({"job_matches": rows}))
    assert await desk.rows("jobs_matches", "match_score") == [(float(70 + at),) for at in range(5)]
    [(tasks,)] = await desk.client.read("SELECT COUNT(DISTINCT tracking_id) FROM jobs_matches")
    assert tasks == 5


async def test_a_row_that_is_odd_is_left_out_alone(desk: Desk) -> None:
    odd: list[dict[str, Any]] = [
        {"id": 1, "name": "x" * 300, "website": 5}, {"id": 2}, {"id": 3, "name": "Acme", "priority_score": "high"},
        {"id": 4, "name": "Birch", "priority_score": "7", "updated_at": {"_seconds": 1_761_161_410}},
    ]  # fmt: skip
    found = records_of({"companies": odd, "job_sources": [{"config": {"url": "ftp://x.example"}}]})
    assert [one.name for one in found.companies] == ["x" * 200, "Birch"]
    assert found.companies[1].at == 1_761_161_410
    assert [line.partition(":")[0] for line in found.bad] == [
        "row 2 of companies", "row 3 of companies", "row 1 of job_sources",
    ]  # fmt: skip
    await take_over_records(desk.client, found)
    assert len(await desk.rows("jobs_companies", "name")) == 2
