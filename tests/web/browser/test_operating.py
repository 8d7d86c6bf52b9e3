"""Actions in a real browser, by keyboard as well; that each is done by clicking: test_clicks."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from ramet import App
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.actions_app import app, crawl
from tests.web.browser.chromium import IN_CHROMIUM, NARROW, Visit, served, visit

pytestmark = IN_CHROMIUM


async def act(page: Visit, address: str, link: str, told: str, *, keyboard: bool = False) -> None:
    """Follow the first link of this name, say why, confirm."""
    await page.page.goto(f"{page.origin}{address}")
    found = page.page.get_by_role("link", name=link, exact=True).first
    if keyboard:
        await found.focus()
        await page.page.keyboard.press("Enter")
    else:
        await found.click()
    await page.page.wait_for_selector("form.ask")
    await page.page.locator("input[name=reason]").fill("as agreed")
    if keyboard:
        await page.page.keyboard.press("Enter")
    else:
        await page.page.locator("form.ask button[type=submit]").click()
    await page.page.wait_for_selector(".told")
    assert await page.page.inner_text(".told") == told


async def test_actions_are_done_by_clicking_and_by_keyboard_and_are_recorded(chromium: Browser) -> None:
    async with (
        fresh_client(app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin) as seen,
    ):
        await client.limit("queue", "nightly", 3)
        await client.open_breaker("host:e.org")
        await client.stop("host", "e.org")
        await client.schedules.add(crawl, "https://f.org/", name="hourly", cron="@hourly")
        before = len(await client.acts())
        await act(seen, "/queues", "Pause", "paused queue nightly")
        await act(seen, "/queues", "Resume", "resumed queue nightly", keyboard=True)
        await act(seen, "/resources", "Close breaker", "closed the breaker of resource host:e.org")
        await act(seen, "/stop-list", "Remove", "removed host e.org from the deny list")
        await act(seen, "/schedules", "Pause", "paused schedule hourly", keyboard=True)
        acts = (await client.acts())[: len(await client.acts()) - before]
        assert [(one.by, one.reason) for one in acts] == [("ada", "as agreed")] * 5
    assert [fault for fault in seen.faults if "/live/" not in fault] == []


TOKEN = "a-token-of-sixteen-characters"


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
async def test_a_person_gives_the_token_once_and_leaves(chromium: Browser, script: bool) -> None:
    async with (
        fresh_client(App()) as client,
        served(make_application(client, Access(admin_token=TOKEN))) as origin,
        visit(chromium, origin, script=script, size=NARROW) as (page, _, faults),
    ):
        await page.goto(f"{origin}/api/docs")
        assert await page.locator("input[name=token]").count() == 1
        await page.fill("input[name=token]", "a-wrong-token-of-somebody")
        await page.click("button")
        assert "that token is not valid here" in await page.inner_text("body")
        await page.goto(f"{origin}/api/docs")
        await page.fill("input[name=token]", TOKEN)
        await page.fill("input[name=by]", "grace")
        await page.click("button")
        await page.wait_for_url(f"{origin}/api/docs")
        assert "grace" in await page.inner_text(".who")
        await page.click("text=Leave")
        assert await page.locator("input[name=token]").count() == 1
    refusals = [fault for fault in faults if "401" not in fault]  # The browser names each form that it is shown.
    assert refusals == []
