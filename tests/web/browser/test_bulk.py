"""All failures of one kind are retried by following the screens, by keyboard and without scripts."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from ramet import App, Context, Permanent
from ramet.testing import drain, fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, served, visit
from tests.web.browser.test_real_runs import AXE

pytestmark = IN_CHROMIUM

app = App()


@app.task("letter", key=str)
async def letter(ctx: Context, payload: str) -> None:
    raise Permanent("no such mailbox")


@pytest.mark.parametrize(
    ("script", "width", "dark"), [(True, 1440, False), (False, 1024, True), (True, 390, True)],
    ids=["light 1440", "dark 1024 without scripts", "dark 390"],
)  # fmt: skip
async def test_all_failures_of_a_kind_are_retried_from_the_overview(
    chromium: Browser, script: bool, width: int, dark: bool
) -> None:
    async with fresh_client(app) as client:
        await client.submit_many([("letter", str(number)) for number in range(3)], one_lineage=True)
        await drain(app, client)
        async with (
            served(make_application(client, Access(person="ada"))) as origin,
            visit(chromium, origin, dark=dark, size=(width, 900), script=script) as (page, _, faults),
        ):
            await page.goto(origin)
            await page.click("section[aria-labelledby=wrong] a:has-text('letter')")
            await page.wait_for_url("**/tasks?kind=letter&state=failed")
            await page.focus("a.act:has-text('Retry all failed of this filter')")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("h1:has-text('Retry 3 tasks')")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth") if script else True
            if script:
                assert (await Axe().run(page, options=AXE)).response["violations"] == []
            await page.focus("form.ask button")
            await page.keyboard.press("Enter")
            await page.wait_for_selector(".told")
            assert await page.inner_text(".told") == "retried 3 tasks"
        assert {str(task.state) async for task in client.all_tasks()} == {"pending"}
    assert [fault for fault in faults if "/live/" not in fault] == []


async def test_ticks_stay_while_the_page_changes(chromium: Browser) -> None:
    async with fresh_client(app) as client:
        await client.submit("letter", "first")
        await drain(app, client)
        async with (
            served(make_application(client, Access(person="ada"))) as origin,
            visit(chromium, origin) as (page, _, _),
        ):
            await page.goto(f"{origin}/tasks")
            await page.wait_for_selector(".pulse.on")
            await page.check("tr:has-text('first') input[name=task]")
            await client.submit("letter", "second")
            await page.wait_for_selector("tr:has-text('second')")
            assert await page.is_checked("tr:has-text('first') input[name=task]")
            assert not await page.is_checked("tr:has-text('second') input[name=task]")
            await page.click("button:text-is('Retry ticked')")
            await page.wait_for_selector("h1:has-text('Retry 1 task')")
