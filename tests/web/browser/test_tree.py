"""A tree in a real browser: parts are fetched when they are opened, and stay open while the page changes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from playwright.async_api import Browser

from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, served, visit
from tests.web.world import ODD, world

pytestmark = IN_CHROMIUM


async def test_an_opened_branch_stays_open_when_the_page_changes(chromium: Browser, tmp_path: Path) -> None:
    async with (
        world(tmp_path) as made,
        served(make_application(made.client, Access(person="ada"))) as origin,
        visit(chromium, origin) as (page, _, faults),
    ):
        lineage = quote(ODD, safe="")
        await page.goto(f"{origin}/lineages/{lineage}")
        await page.wait_for_selector(".pulse.on")
        await page.click("#tree summary:has-text('root')", position={"x": 3, "y": 8})
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
