"""The timeline of a lineage in a browser: sound at three widths, by keyboard, with its zoom, and without scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from ramet import App
from ramet.testing import FakeClock, fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, served, visit
from tests.web.browser.test_real_runs import AXE, controls_missed
from tests.web.world import HOSTILE

pytestmark = IN_CHROMIUM

ADDRESS = "/lineages/line/timeline"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def origin() -> AsyncIterator[str]:
    """A root that joined two children, one of which failed after a back-off."""
    clock = FakeClock()
    async with fresh_client(App(), clock=clock) as client:
        await client.submit("parent", key=HOSTILE, tracking_id="line")
        [root] = await client.claim("parent")
        clock.advance(1.0)
        root.spawn("child", key=HOSTILE * 5)
        root.spawn("child", key="2")
        await root.join()
        for end in ("snooze", "fail"):
            clock.advance(2.0)
            [one] = await client.claim("child")
            clock.advance(2.0)
            await (one.snooze(1.0) if end == "snooze" else one.fail("broken", retry=False))
        async with served(make_application(client, Access(person="ada"))) as at:
            yield at


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1024, True), (390, True), (390, False)])
async def test_it_is_sound_at_every_width(chromium: Browser, origin: str, width: int, dark: bool) -> None:
    async with visit(chromium, origin, dark=dark, size=(width, 900)) as seen:
        for address in (ADDRESS, f"{ADDRESS}?only=failed", "/lineages", "/lineages/line", "/lineages/line?only=slow"):
            await seen.page.goto(origin + address)
            assert await seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
            found = (await Axe().run(seen.page, options=AXE)).response["violations"]
            assert [(address, one["id"], one["nodes"][0]["html"]) for one in found] == []
            assert await controls_missed(seen) == [], address
        assert [fault for fault in seen.faults if "/live/" not in fault] == []


async def test_the_zoom_widens_the_axis_in_its_own_box(chromium: Browser, origin: str) -> None:
    async with visit(chromium, origin, size=(1440, 900)) as seen:
        await seen.page.goto(origin + ADDRESS)
        axis = seen.page.locator(".gantt td svg").first

        async def width() -> float:
            box = await axis.bounding_box()
            assert box is not None
            return box["width"]

        plain = await width()
        await seen.page.get_by_label("Zoom out").click(force=True)  # It is not narrower than the page.
        assert await width() == plain
        await seen.page.get_by_label("Zoom in").press("Enter")
        assert await width() > 1.8 * plain
        assert await seen.page.get_by_text("2 x").is_visible()
        assert await seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for _ in range(9):
            await seen.page.get_by_label("Zoom in").click(force=True)
        assert await seen.page.get_by_text("16 x").is_visible()


async def test_without_scripts_it_shows_everything_and_its_links_lead_on(chromium: Browser, origin: str) -> None:
    async with visit(chromium, origin, script=False) as seen:
        await seen.page.goto(origin + ADDRESS)
        assert await seen.page.locator(".gantt tbody tr").count() == 3
        assert not await seen.page.get_by_label("Zoom in").is_visible()
        bars = await seen.page.locator(".gantt svg").nth(0).get_attribute("aria-label")
        assert bars == "ran 1 s, waited for tasks 8 s"
        await seen.page.get_by_role("link", name="1 failed below").click()
        await seen.page.wait_for_url("**only=failed")
        assert await seen.page.locator(".gantt tbody tr").count() == 2
        await seen.page.get_by_role("link", name="lineage", exact=True).click()
        await seen.page.wait_for_url("**/lineages/line")
        assert "Lineage line" in await seen.page.title()
        assert seen.faults == []


async def test_the_slowest_branch_is_three_clicks_away(chromium: Browser, origin: str) -> None:
    async with visit(chromium, origin, script=False) as seen:
        await seen.page.goto(origin)
        await seen.page.get_by_role("link", name="Lineages", exact=True).click()
        await seen.page.locator("#live").get_by_role("link", name="line", exact=True).first.click()
        await seen.page.get_by_role("link", name="slow only").click()
        await seen.page.wait_for_url("**only=slow**")
        slowest = await seen.page.locator(".flat li").all_inner_texts()
        assert len(slowest) == 3
        assert "9 s" in slowest[0]
