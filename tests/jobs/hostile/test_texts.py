"""Texts that boards and pages have and that no database, screen or payload takes as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.jobs import records
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import TEXT, Opening
from tests.jobs.world.pages import jsonld, page
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

both = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)
API = "https://boards-api.greenhouse.io/v1/boards/acme"

NASTY = {
    "nul": "Engineer\x00 one",
    "half a pair": "Engineer \ud800 two",
    "bidi": "Engineer \u202egnitekraM\u202c three",
    "escape": "Engineer \x1b[2J\x1b]0;owned\x07 four",
    "markup": "Engineer <script>alert(1)</script><img src=x onerror=alert(1)> five",
    "sql": "Engineer'); DROP TABLE jobs_listings; -- six",
    "lines": "Engineer\r\n\u2028seven\v\f",
    "emoji": "Engineer \U0001f468\u200d\U0001f469\u200d\U0001f467 eight",
    "format": "Engineer %s {0} {title} ? :name $1 nine",
}


def greenhouse(desk: Desk, jobs: list[dict[str, Any]], **more: Any) -> str:
    """A board whose list is exactly this; where people read it."""
    body = json.dumps({"jobs": jobs, "meta": {"total": len(jobs)}} | more)
    desk.world.answer(f"{API}/jobs", Reply(body.encode(), media_type="application/json"))
    desk.world.answer(API, Reply(b'{"name": "Acme"}', media_type="application/json"))
    return "https://job-boards.greenhouse.io/acme"


def job(number: int, **fields: Any) -> dict[str, Any]:
    """A row of the list."""
    opening = Opening(str(number), f"Python Engineer {number}")
    return {
        "id": number, "title": opening.title, "location": {"name": f"Portland, OR {number}"},
        "absolute_url": f"https://job-boards.greenhouse.io/acme/jobs/{number}", "content": opening.html,
        "first_published": opening.posted,
    } | fields  # fmt: skip


@both
async def test_whatever_stands_in_a_title_place_or_text_is_stored_or_left_out(desk: Desk) -> None:
    await desk.set(**EAGER)
    rows = [
        job(number, title=text, location={"name": text}, content=f"{TEXT} {text}", company_name=text)
        for number, text in enumerate(NASTY.values(), 1)
    ]
    task = await desk.discover(greenhouse(desk, rows), approved=True)
    assert task.state == "success"
    listings = await desk.rows("jobs_listings", "url, title, location, description, status")
    assert len(listings) == len(NASTY)
    for _, title, location, description, status in listings:
        assert status == "matched"
        for text in (title, location, description):
            assert not {"\x00", "\x1b", "\ud800", "\u2028"} & set(text)
            assert "<script" not in title or "<script" not in description
    assert len(await desk.rows("jobs_matches", "listing_id")) == len(NASTY)


@both
async def test_whatever_stands_on_a_postings_own_page_is_stored_or_left_out(desk: Desk) -> None:
    await desk.set(**EAGER)
    for number, text in enumerate(NASTY.values()):
        url = f"https://careers.acme.example/jobs/{number}"
        posting = {
            "@type": "JobPosting", "title": text, "description": f"{TEXT} {text}", "datePosted": text,
            "hiringOrganization": {"@type": "Organization", "name": text, "sameAs": text},
            "identifier": {"value": text}, "jobLocation": {"address": {"addressLocality": text}},
            "baseSalary": {"currency": text, "value": {"minValue": 10**30, "maxValue": "1e999", "unitText": "YEAR"}},
        }  # fmt: skip
        desk.world.page(url, page("x", "<h1>x</h1>", head=jsonld(posting)))
        task = await desk.run("LISTING", {"url": url})
        assert task.state == "success", (number, task.reason)
    assert len(await desk.rows("jobs_listings", "listing_id", "status = 'matched'")) == len(NASTY)


@both
async def test_a_description_of_two_megabytes_is_cut_and_says_so(desk: Desk) -> None:
    await desk.set(**EAGER)
    rows = [job(1), job(2, content="<p>" + "Python \u6771\u4eac " * 250_000), job(3)]
    task = await desk.discover(greenhouse(desk, rows), approved=True)
    assert task.state == "success"
    listings = await desk.rows(f"jobs_listings l {records.OF_TEXT}", f"l.title, l.status, {records.TEXT}")
    assert [(title, status) for title, status, _ in listings] == [
        (f"Python Engineer {number}", "matched") for number in (1, 2, 3)
    ]
    assert 50_000 < len(listings[1][2]) <= 100_000 + 100
    assert "cut" in listings[1][2][-100:]
    assert (await desk.one("jobs_sources", "last_status, last_count")) == ("success", 3)


@both
async def test_a_page_with_a_text_of_two_megabytes_is_cut_and_says_so(desk: Desk) -> None:
    await desk.set(**EAGER)
    url = "https://careers.acme.example/jobs/1"
    text = 'Requirements: Python \u6771\u4eac and \u0001 " \\ \n more. ' * 30_000
    posting = {"@type": "JobPosting", "title": "Python Engineer", "description": text}
    desk.world.page(url, page("x", "<h1>x</h1>", head=jsonld(posting)))
    task = await desk.run("LISTING", {"url": url})
    assert task.state == "success", task.reason
    [(description,)] = await desk.rows("jobs_listings", "description")
    assert 50_000 < len(description) <= 100_000 + 100


async def test_a_title_of_a_megabyte_is_a_line(desk: Desk) -> None:
    await desk.set(**EAGER)
    rows = [job(1, title="Python Engineer " * 70_000, location={"name": "Portland, OR; " * 70_000}, id="9" * 1_000_000)]
    task = await desk.discover(greenhouse(desk, rows), approved=True)
    assert task.state == "success"
    title, location = await desk.one("jobs_listings", "title, location")
    assert len(title) <= 500
    assert len(location) <= 50 * 500


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "file:///etc/passwd", "data:text/html,hi", "//", "http://", "https://[::1", "ftp://a.example/1",
        "mailto:a@b.example", "\x00", "about:blank", "https://a.example:99999/1", "blob:https://a.example/1",
    ],
)  # fmt: skip
async def test_an_address_that_nobody_can_open_is_not_kept(desk: Desk, url: str) -> None:
    await desk.set(**EAGER)
    task = await desk.discover(greenhouse(desk, [job(1), job(2, absolute_url=url)]), approved=True)
    assert task.state == "success"
    for (kept,) in await desk.rows("jobs_listings", "url"):
        assert kept.startswith("https://job-boards.greenhouse.io/"), kept
