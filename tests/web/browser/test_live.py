"""What a reader sees in a real browser: pages load whole, change by themselves, and keep what the reader did."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from playwright.async_api import Browser

from ramet import App, Context
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, served, visit
from tests.web.world import ODD, world

pytestmark = IN_CHROMIUM

app = App()


@app.task("crawl", key=str)
async def crawl(ctx: Context, url: str) -> None:
    """Never run here."""


async def test_a_page_shows_what_was_submitted_after_it_was_opened(chromium: Browser) -> None:
    async with (
        fresh_client(app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, faults),
    ):
        await page.goto(origin)
        await page.wait_for_selector(".pulse.on")
        await client.submit(crawl, "https://example.org/", tracking_id="came-later")
        await page.wait_for_selector("text=came-later")
    assert [fault for fault in faults if "/live/" not in fault] == []  # The stream ends with the visit.


async def test_what_a_reader_chose_stays_when_the_page_changes(chromium: Browser) -> None:
    async with (
        fresh_client(app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, _),
    ):
        await page.goto(origin)
        await page.wait_for_selector(".pulse.on")
        await page.focus("#live .scroll")
        await client.submit(crawl, "https://example.org/", tracking_id="came-later")
        await page.wait_for_selector("text=came-later")
        assert await page.evaluate("document.activeElement.classList.contains('scroll')")
        await page.click("[data-theme-switch]")
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
        await page.reload()
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_a_page_is_whole_without_scripts(chromium: Browser) -> None:
    async with (
        fresh_client(app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin, script=False) as (page, _, faults),
    ):
        await client.submit(crawl, "https://example.org/", tracking_id="plain")
        await page.goto(origin)
        assert "plain" in await page.inner_text("#live")
    assert faults == []


async def test_an_opened_branch_stays_open_when_the_page_changes(chromium: Browser, tmp_path: Path) -> None:
    async with (
        world(tmp_path) as made,
        served(make_application(made.client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, faults),
    ):
        lineage = quote(ODD, safe="")
        await page.goto(f"{origin}/lineages/{lineage}")
        await page.wait_for_selector(".pulse.on")
        await page.click("#tree summary:has-text('below')")
        await page.click("#tree summary:has-text('leaf'):has-text('filtered')")
        await page.wait_for_selector("#tree >> text=seed 27")
        await made.client.revive([made.failed], by="ada")
        await page.wait_for_selector("#live .state.running")
        assert await page.is_visible("#tree >> text=seed 27")
    assert [fault for fault in faults if "/live/" not in fault] == []  # The stream ends with the visit.


async def test_a_branch_that_came_later_opens_too_and_others_keep_what_they_show(
    chromium: Browser, tmp_path: Path
) -> None:
    async with (
        world(tmp_path) as made,
        served(make_application(made.client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, _),
    ):
        await page.goto(f"{origin}/tasks/{made.root}")
        await page.wait_for_selector(".pulse.on")
        await page.click("#tree summary:has-text('leaf'):has-text('filtered')")
        await page.wait_for_selector("#tree >> text=seed 27")
        [leaf, *_] = (await made.client.tasks(tracking_id=ODD, states=["filtered"])).tasks
        await made.client.revive([leaf.id], by="ada")
        await page.wait_for_selector("#tree summary:has-text('pending')")
        await page.click("#tree summary:has-text('pending')")
        await page.wait_for_selector(f"#tree [id='n-{leaf.id}'] .state.pending")
        assert await page.is_visible("#tree >> text=seed 27")
