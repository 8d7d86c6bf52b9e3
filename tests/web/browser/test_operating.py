"""Pages about operating in a real browser: hostile names do nothing, actions are done by clicking and by keyboard."""

from __future__ import annotations

from playwright.async_api import Browser

from ramet import Client, Policy
from ramet.model.flow import WorkerSeen
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.acted_app import app, crawl
from tests.web.browser.browsing import IN_CHROMIUM, NARROW, Visit, served, visit

pytestmark = IN_CHROMIUM

PAYLOADS = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\"><svg onload=alert(3)>", "'onmouseover='alert(4)",
    "javascript:alert(5)", "</title><script>alert(6)</script>", "{{7+7}}${7+7}<%= 7+7 %>", "<iframe src=//evil.org>",
    "<details open ontoggle=alert(7)>", "&lt;b&gt;\u202eevil",
)  # fmt: skip
ADDRESSES = ("/paths", "/resources", "/queues", "/workers", "/schedules", "/alerts", "/settings", "/stop-list", "/acts")


async def furnish(client: Client) -> None:
    """Each payload as the name of everything that has a name."""
    for number, payload in enumerate(PAYLOADS):
        await client.submit(crawl, f"https://e.org/{number}", path=[payload, payload])
        await client.pause_queue(payload, by=payload, reason=payload)
        await client.limit_resource(Policy(payload, concurrency=1))
        await client.open_breaker(payload, by=payload, reason=payload)
        await client.stop("pattern", f"*{payload}", by=payload, reason=payload)
        await client.store.see_worker(WorkerSeen(payload, payload, number, (payload,), (payload,), 1))


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


async def test_hostile_names_do_nothing_and_no_page_is_wider_than_the_screen(chromium: Browser) -> None:
    async with (
        fresh_client(app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin, size=NARROW, dark=True) as seen,
    ):
        await furnish(client)
        for address in ADDRESSES:
            await seen.page.goto(f"{origin}{address}")
            assert await seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
            assert await seen.page.locator("#live script, #live iframe, #live svg, #live img").count() == 0, address
    assert [fault for fault in seen.faults if "/live/" not in fault] == []


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
        await act(seen, "/resources", "Switch on", "switched resource host:e.org on")
        await act(seen, "/stop-list", "Take off", "took host e.org off the stop list")
        await act(seen, "/schedules", "Pause", "paused schedule hourly", keyboard=True)
        acts = (await client.acts())[: len(await client.acts()) - before]
        assert [(one.by, one.reason) for one in acts] == [("ada", "as agreed")] * 5
    assert [fault for fault in seen.faults if "/live/" not in fault] == []
