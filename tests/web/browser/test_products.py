"""Pages of products in a browser: sound at three widths in light and dark, by keyboard, and without scripts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page

from ramet.jobs.config.config_file import sample
from ramet.jobs.dashboard import pages as jobs_pages
from ramet.jobs.kinds import LISTING
from ramet.jobs.pipeline import app as jobs_app
from ramet.llm.dashboard import pages as llm_pages
from ramet.testing import drain, fresh_client
from ramet.web import products
from ramet.web.access import Access
from ramet.web.application import make_application
from ramet.web.products import Product
from ramet.wiki.dashboard import pages as wiki_pages
from tests.jobs.world.openings import TEXT
from tests.web.browser.chromium import IN_CHROMIUM, served, visit
from tests.web.browser.payloads import PAYLOADS
from tests.web.browser.test_real_runs import AXE, controls_missed
from tests.web.products.llm_world import answered
from tests.web.products.wiki_world import expanded
from tests.web.world import HOSTILE

pytestmark = IN_CHROMIUM

INSPECT = (Path(__file__).parent / "inspect.js").read_text(encoding="utf-8")
LOOKS = [(1440, False), (1024, True), (390, True), (390, False)]


async def faults(page: Page, address: str) -> list[str]:
    """What is wrong with a page."""
    answer = await page.goto(address)
    wrong = [] if answer is not None and answer.status == 200 else [f"status of {address}"]
    if not await page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        wrong.append("wider than the screen")
    found = (await Axe().run(page, options=AXE)).response["violations"]
    wrong += [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
    inspected: list[str] = await page.evaluate(f"({INSPECT})(document, location.origin)")
    return [f"{address}: {fault}" for fault in [*wrong, *inspected] if "address http" not in fault]


@asynccontextmanager
async def jobs_served() -> AsyncIterator[str]:
    """Openings whose titles would run if a template failed to escape one."""
    with patch.object(products, "installed", lambda: (Product("jobs", jobs_pages()),)):
        async with fresh_client(jobs_app) as client:
            eager = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}
            await client.settings.set_many(sample() | eager)
            for number, payload in enumerate(list(PAYLOADS.values())[:6]):
                url = f"https://acme.example/jobs/{number}"
                posting = {"url": url, "title": f"Python {payload}"[:200], "company": HOSTILE, "description": TEXT,
                           "whole": True, "location": "Portland, OR"}  # fmt: skip
                await client.submit(LISTING, {"url": url, "posting": posting})
            await drain(jobs_app, client)
            async with served(make_application(client, Access(person="ada"))) as origin:
                yield origin


@asynccontextmanager
async def wiki_served() -> AsyncIterator[str]:
    """An expansion of articles with hostile titles and texts."""
    with (
        patch.object(products, "installed", lambda: (Product("wiki", wiki_pages()),)),
        TemporaryDirectory() as folder,
    ):
        async with (
            expanded(Path(folder)) as (client, _),
            served(make_application(client, Access(person="ada"))) as origin,
        ):
            yield origin


@pytest.mark.parametrize(("width", "dark"), LOOKS)
async def test_pages_about_articles_are_sound(chromium: Browser, wiki: str, width: int, dark: bool) -> None:
    async with visit(chromium, wiki, dark=dark, size=(width, 900)) as seen:
        for address in ("", "/run", "/search?q=ferries", "/article?title=Seed", "/article?title=Nowhere"):
            assert await faults(seen.page, f"{wiki}/products/wiki{address}") == []
            assert await controls_missed(seen) == []
        assert [fault for fault in seen.faults if "/live/" not in fault] == []


async def test_an_article_is_found_and_its_neighbours_are_walked_without_scripts(chromium: Browser, wiki: str) -> None:
    async with visit(chromium, wiki, script=False) as seen:
        await seen.page.goto(f"{wiki}/products/wiki")
        await seen.page.get_by_role("link", name=re.compile("^wiki-seed")).first.click()
        await seen.page.get_by_label("Words in its articles").fill("Plain article ferries")
        await seen.page.get_by_role("button", name="Search").click()
        await seen.page.get_by_role("link", name="Plain article").first.click()
        await seen.page.wait_for_url("**/article?*Plain*")
        await seen.page.get_by_role("link", name="Seed", exact=True).first.click()
        await seen.page.wait_for_url("**title=Seed")
        assert await seen.page.locator("h1").inner_text() == "Seed"
        assert seen.faults == []


@asynccontextmanager
async def llm_served() -> AsyncIterator[str]:
    """A job of hostile prompts, one of which failed."""
    with (
        patch.object(products, "installed", lambda: (Product("llm", llm_pages()),)),
        TemporaryDirectory() as folder,
    ):
        async with (
            answered(Path(folder)) as client,
            served(make_application(client, Access(person="ada"))) as origin,
        ):
            yield origin


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def llm() -> AsyncIterator[str]:
    async with llm_served() as origin:
        yield origin


@pytest.mark.parametrize(("width", "dark"), LOOKS)
async def test_pages_about_jobs_of_questions_are_sound(chromium: Browser, llm: str, width: int, dark: bool) -> None:
    async with visit(chromium, llm, dark=dark, size=(width, 900)) as seen:
        await seen.page.goto(f"{llm}/products/llm/job?name=birds&state=failed")
        [answer] = await seen.page.locator("#live a[href*='/answer?']").evaluate_all("(all) => all.map((a) => a.href)")
        for address in (f"{llm}/products/llm", f"{llm}/products/llm/job?name=birds", answer):
            assert await faults(seen.page, address) == []
            assert await controls_missed(seen) == []
        assert [fault for fault in seen.faults if "/live/" not in fault] == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def wiki() -> AsyncIterator[str]:
    async with wiki_served() as origin:
        yield origin


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def jobs() -> AsyncIterator[str]:
    async with jobs_served() as origin:
        yield origin


async def openings(page: Page, origin: str) -> Sequence[str]:
    """Addresses of the pages about openings."""
    await page.goto(f"{origin}/products/jobs?status=all")
    links = await page.locator("#live a[href*='/opening?']").evaluate_all("(all) => all.map((one) => one.href)")
    return [f"{origin}/products/jobs", f"{origin}/products/jobs/rejected", *links[:2]]


@pytest.mark.parametrize(("width", "dark"), LOOKS)
async def test_pages_about_openings_are_sound(chromium: Browser, jobs: str, width: int, dark: bool) -> None:
    async with visit(chromium, jobs, dark=dark, size=(width, 900)) as seen:
        addresses = await openings(seen.page, jobs)
        assert len(addresses) == 4
        for address in addresses:
            assert await faults(seen.page, address) == []
            assert await controls_missed(seen) == []
        assert [fault for fault in seen.faults if "/live/" not in fault] == []


async def test_three_openings_are_marked_as_applied_without_scripts(chromium: Browser, jobs: str) -> None:
    async with visit(chromium, jobs, script=False) as seen:
        await seen.page.goto(f"{jobs}/")
        await seen.page.get_by_role("link", name="Jobs", exact=True).click()
        for number in range(3):
            await seen.page.get_by_role("checkbox").nth(number).check()
        await seen.page.get_by_role("button", name="Applied").click()
        await seen.page.get_by_text("3 openings marked as applied").wait_for()
        assert re.search(r"applied 3\b", await seen.page.inner_text("main"))
        assert seen.faults == []
