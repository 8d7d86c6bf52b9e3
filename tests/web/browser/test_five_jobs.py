"""Five jobs of an operator, done by following only the screens: each begins at the overview and clicks what it says.

Clicks are bounded by :data:`CLICKS_MAX`; docs/guides/dashboard.md has them and the times of one run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from unittest.mock import patch

import pytest
from playwright.async_api import Browser, Page

from ramet import App, Client, Context, Limits, Permanent
from ramet.jobs.config.config_file import sample
from ramet.jobs.dashboard import pages as jobs_pages
from ramet.jobs.kinds import LISTING
from ramet.jobs.match_status import matches
from ramet.jobs.pipeline import app as jobs_app
from ramet.testing import FakeClock, drain, fresh_client
from ramet.web import products
from ramet.web.access import Access
from ramet.web.application import make_application
from ramet.web.products import Product
from tests.jobs.world.openings import TEXT
from tests.web.browser.chromium import IN_CHROMIUM, served, visit

pytestmark = IN_CHROMIUM

CLICKS_MAX = {
    "why the crawl stopped": 2,
    "retry failures of one kind since ten": 4,
    "raise a budget and offer again": 5,
    "slowest branch": 2,
    "three openings applied": 5,
}
NIGHT = datetime(2026, 11, 27, 9, 0).astimezone().timestamp()
"""Nine in the morning of this machine's time zone, in which the bulk page reads a time of day."""
CRAWL = "crawl@2026-11-26"
PAGES, PAGES_MAX = 16, 10
SLOW_SECONDS = 40.0

log = logging.getLogger(__name__)
app = App()
clock = FakeClock(NIGHT)


@app.task("page", key=str)
async def page(ctx: Context, url: str) -> None:
    """The first one spawns all others, as far as the budget allows."""
    if url == "/":
        for number in range(PAGES):
            ctx.spawn("page", f"/{number}")


@app.task("letter", key=str)
async def letter(ctx: Context, to: str) -> None:
    raise Permanent("no such mailbox")


@app.task("parcel", key=str)
async def parcel(ctx: Context, to: str) -> None:
    raise Permanent("no such street")


@app.task("chapter", key=str)
async def chapter(ctx: Context, name: str) -> None:
    """A tree of four branches, of which the third has a slow leaf."""
    depth = name.count(".")
    clock.advance(SLOW_SECONDS if name == "book.2.1" else 1.0)
    if depth < 2:
        for number in range(4 if depth == 0 else 2):
            ctx.spawn("chapter", f"{name}.{number}")


class Walk:
    """One visitor who starts at the overview and clicks what has certain words; counts the clicks."""

    def __init__(self, page: Page, job: str) -> None:
        self.page, self.job, self.clicks = page, job, 0

    async def click(self, role: str, words: str, *, within: str = "body") -> None:
        """Click the first link, button or box with these words, and wait for the page it leads to."""
        found = self.page.locator(within).get_by_role(role, name=words, exact=role != "checkbox").first  # type: ignore[arg-type]
        await found.click()
        if role != "checkbox":
            await self.page.wait_for_load_state("load")
        self.clicks += 1

    async def reads(self, words: str) -> None:
        """Wait until the page says it."""
        await self.page.locator("main").get_by_text(words).first.wait_for()


@asynccontextmanager
async def walk(chromium: Browser, client: Client, job: str) -> AsyncIterator[Walk]:
    """A visitor at the overview of a database; at the end the clicks were few, and nothing failed in the browser."""
    async with (
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, faults),
    ):
        await page.goto(origin)
        begun, walked = time.perf_counter(), Walk(page, job)
        yield walked
        log.info("%s: %s clicks, %.1f s", job, walked.clicks, time.perf_counter() - begun)
    assert walked.clicks <= CLICKS_MAX[job]
    assert [fault for fault in faults if "/live/" not in fault] == []


@asynccontextmanager
async def morning() -> AsyncIterator[Client]:
    """What a night left: a crawl that stopped at its budget, letters and parcels that failed before and after ten."""
    day = FakeClock(NIGHT)
    async with fresh_client(app, clock=day) as client:
        await client.submit("page", "/", tracking_id=CRAWL, limits=Limits(max_tasks=PAGES_MAX))
        await drain(app, client)
        for hours, names in ((1.5, ("early-1", "early-2")), (0.5, ("late-1", "late-2", "late-3"))):
            await client.submit_many([("letter", name) for name in names], one_lineage=True)
            await client.submit("parcel", names[0])
            await drain(app, client)
            day.advance(hours * 3_600.0)
        yield client


async def test_why_last_nights_crawl_stopped(chromium: Browser) -> None:
    async with morning() as client, walk(chromium, client, "why the crawl stopped") as at:
        await at.click("link", CRAWL)
        await at.reads("left out")
        await at.click("link", "budget")
        await at.reads(f"the lineage has created {PAGES_MAX} of {PAGES_MAX} tasks")
        totals = await client.block_totals(CRAWL)
        assert {reason for _, reason in totals} == {"budget"}
        refused = " ".join((await at.page.inner_text("main")).split())
    assert f"budget {sum(totals.values())}" in refused


async def test_all_failures_of_one_kind_since_ten_are_retried(chromium: Browser) -> None:
    async with morning() as client, walk(chromium, client, "retry failures of one kind since ten") as at:
        await at.click("link", "letter", within="section[aria-labelledby=wrong]")
        await at.click("link", "Retry all failed of this filter")
        await at.page.get_by_label("Ended since").fill("10:00")
        await at.click("button", "Count again")
        await at.click("button", "Retry 3 tasks")
        await at.reads("retried 3 tasks")
        states = {task.key: str(task.state) async for task in client.all_tasks(kind="letter")}
    assert {key for key, state in states.items() if state == "pending"} == {"late-1", "late-2", "late-3"}
    assert states["early-1"] == "failed"


async def test_a_budget_is_raised_and_what_it_refused_is_offered_again(chromium: Browser) -> None:
    async with morning() as client, walk(chromium, client, "raise a budget and offer again") as at:
        await at.click("link", CRAWL)
        await at.click("link", "Raise limits")
        await at.page.get_by_label("Tasks that it may ever create", exact=True).fill("100")
        await at.click("button", "Raise limits")
        await at.click("link", "Offer them again")
        await at.click("button", "Offer blocked spawns again")
        await at.reads("created")
        lineage = await client.lineage(CRAWL)
    assert lineage is not None
    assert (lineage.max_tasks, lineage.tasks) == (100, PAGES + 1)


async def test_the_slowest_branch_of_a_tree_is_found(chromium: Browser) -> None:
    async with fresh_client(app, clock=clock) as client:
        await client.submit("chapter", "book", tracking_id="the book")
        await drain(app, client)
        async with walk(chromium, client, "slowest branch") as at:
            await at.click("link", "the book")
            await at.click("link", "slow only")
            await at.reads("Longest run")
            said = await at.page.locator("p:has-text('Longest run')").inner_text()
        rows = (await client.timeline("the book", only="slow")).rows
    ran = {row.key: sum(one.end - one.begin for one in row.spans if one.what == "running") for row in rows}
    assert max(ran, key=lambda key: ran[key]) == "book.2.1"
    assert " ".join(said.split()) == "Longest run: chapter book.2.1, 40 s, below chapter book.2 and chapter book."


@contextmanager
def jobs_only() -> Iterator[None]:
    """Whatever this environment has installed, the pages are of jobs."""
    with patch.object(products, "installed", lambda: (Product("jobs", jobs_pages()),)):
        yield


@pytest.fixture
async def openings() -> AsyncIterator[Client]:
    """Five openings that fit."""
    with jobs_only():
        async with fresh_client(jobs_app) as client:
            eager = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}
            await client.settings.set_many(sample() | eager)
            for number in range(5):
                url = f"https://acme{number}.example/jobs/{number}"
                posting = {"url": url, "title": f"Python Engineer {number}", "company": f"Acme {number}",
                           "description": f"{TEXT} Team {number}.", "whole": True}  # fmt: skip
                await client.submit(LISTING, {"url": url, "posting": posting})
            await drain(jobs_app, client)
            yield client


async def test_three_openings_are_marked_as_applied(chromium: Browser, openings: Client) -> None:
    async with walk(chromium, openings, "three openings applied") as at:
        await at.click("link", "Jobs", within="nav[aria-label=Pages]")
        for number in (0, 2, 4):
            await at.click("checkbox", f"Python Engineer {number}")
        await at.click("button", "Applied")
        await at.reads("3 openings marked as applied")
        found = await matches(openings, now=openings.clock.now())
    applied = {one.match.title for one in found if one.status.value == "applied"}
    assert applied == {f"Python Engineer {number}" for number in (0, 2, 4)}
