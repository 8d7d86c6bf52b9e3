"""A person comes in by the form and leaves by the button, in a real browser under the content policy."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from ramet import App
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, NARROW, served, visit

pytestmark = IN_CHROMIUM

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
        assert "no token of this dashboard" in await page.inner_text("body")
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
