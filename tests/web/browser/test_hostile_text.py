"""Thirty payloads through everything that somebody can name or say do nothing on any page, part or event stream.

The content policy is switched off here, so that what is not escaped would run: that nothing does is the templates' own
merit. What the policy would stop if they failed is the last test.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page

from ramet import Client
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.actions import ACTIONS
from ramet.web.application import make_application
from tests.web.browser import hostile_world as world
from tests.web.browser.chromium import IN_CHROMIUM, NARROW, served, visit
from tests.web.browser.payloads import ALL, ELSEWHERE, PAYLOADS
from tests.web.in_process_client import visiting

pytestmark = IN_CHROMIUM

INSPECT = (Path(__file__).parent / "inspect.js").read_text(encoding="utf-8")
CANARY = """
    window.ran = (number) => { document.documentElement.dataset.ran = number };
    window.swaps = 0;
    const Plain = EventSource;
    window.EventSource = class extends Plain {
        addEventListener(type, heard) {
            super.addEventListener(type, (event) => { heard(event); if (type === "page") window.swaps++; });
        }
    };
"""
SWAPPED = """() => {
    window.swaps = 0;
    document.getElementById("live").replaceChildren();
    dispatchEvent(new Event("pagehide"));
    document.dispatchEvent(new Event("visibilitychange"));
}"""
"""Throws away what changes and follows the page's stream anew, which brings it all again."""
TURNING = r"""() => {
    const turns = /[\u202a-\u202e\u2066-\u2069]/;
    const found = [];
    const texts = document.createTreeWalker(document.getElementById("live"), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode;
        if (!turns.test(text.data)) continue;
        let place = text.parentElement;
        while (!/isolate/.test(getComputedStyle(place).unicodeBidi)) place = place.parentElement;
        if (place.textContent.trim().length > text.data.trim().length + 5) found.push(place.outerHTML.slice(0, 200));
    }
    return found;
}"""
"""Texts that could turn the reading direction of words beside them."""
SENTENCES = ("/alerts", "/tasks/")
"""Where the engine's own sentences quote such texts: they may turn the sentence, which stands alone."""
LISTS = ("/", "/lineages", "/tasks?limit=200", "/explain", "/paths?limit=200", "/resources?limit=200", "/queues",
         "/workers", "/schedules", "/alerts?limit=200", "/costs", "/settings", "/stop-list", "/acts?limit=200",
         "/api/docs")  # fmt: skip
NOT_LIVE = ("/explain", "/settings", "/stop-list", "/acts", "/api/docs", "/blocks", "/spend", "/branches", "/twigs",
            "/act/")  # fmt: skip


class Seen(NamedTuple):
    """A world, and a visitor whom nothing protects but the templates."""

    client: Client
    made: world.Hostile
    origin: str
    page: Page
    asked: list[str]
    """Addresses of other hosts that something asked for."""
    faults: list[str]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def seen(chromium: Browser) -> AsyncIterator[Seen]:
    async with (
        fresh_client(world.app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
    ):
        made = await world.furnish(client)
        context = await chromium.new_context(bypass_csp=True, viewport={"width": NARROW[0], "height": NARROW[1]})
        try:
            page, asked, faults = await _watched(context, origin)
            yield Seen(client, made, origin, page, asked, faults)
        finally:
            await context.close()


async def _watched(context: BrowserContext, origin: str) -> tuple[Page, list[str], list[str]]:
    asked: list[str] = []
    faults: list[str] = []
    await context.add_init_script(CANARY)
    page = await context.new_page()
    page.on("request", lambda one: None if one.url.startswith(f"{origin}/") else asked.append(one.url))
    page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
    page.on("popup", lambda popup: faults.append(f"popup: {popup.url}"))

    async def dismiss(dialog: Any) -> None:
        faults.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    page.on("dialog", dismiss)
    return page, asked, faults


async def look(seen: Seen, address: str) -> str:
    """Visit a page, let its stream bring its live part once more, open its parts; what it says then."""
    page = seen.page
    await page.goto(f"{seen.origin}{address}")
    if not address.startswith(NOT_LIVE):
        await page.evaluate(SWAPPED)
        await page.wait_for_function("window.swaps > 0")
    for details in await page.locator("details[data-part]:not([open])").all():
        await details.evaluate("(one) => { one.open = true }")
    await page.wait_for_function(
        "[...document.querySelectorAll('details[open] > [data-part-place]')].every((one) => one.dataset.asked"
        " && !one.querySelector(':scope > a'))"
    )
    assert await page.evaluate(f"({INSPECT})(document, location.origin)") == [], address
    assert await page.evaluate("document.documentElement.dataset.ran") is None, address
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    assert re.fullmatch(r".* · ramet", await page.title()), address
    assert (seen.asked, seen.faults) == ([], []), address
    if not address.startswith(SENTENCES):
        assert await page.evaluate(TURNING) == [], address
    text = await page.evaluate("document.body.textContent")
    assert isinstance(text, str)
    return text


def details(made: world.Hostile) -> Sequence[str]:
    """Pages about one thing, where all payloads come together."""
    everywhere = {"tracking_id": "all of them"}
    return (
        f"/tasks/{made.failed}", "/lineages/all%20of%20them", "/lineages/all%20of%20them/timeline",
        f"/blocks?{urlencode(everywhere)}",
        f"/spend?{urlencode(everywhere)}", f"/branches?{urlencode(everywhere)}",
        f"/twigs?{urlencode({**everywhere, 'kind': 'fails', 'state': 'failed'})}",
        f"/alerts/{made.alerts[0]}", "/schedule?name=s0", f"/explain?{urlencode({'kind': 'fails', 'key': ALL[:500]})}",
        f"/explain?{urlencode({'task_id': made.failed})}",
        f"/act/pause-queue?{urlencode({'queue': ALL[:500], 'back': ALL})}",
    )  # fmt: skip


async def test_no_page_and_no_stream_runs_loads_or_grows_anything(seen: Seen) -> None:
    said = [await look(seen, address) for address in (*LISTS, *details(seen.made))]
    everything = "\n".join(said)
    hidden = [name for name, text in PAYLOADS.items() if shown(text) not in everything]
    assert hidden == []  # Each was there to be misread.


def shown(text: str) -> str:
    """A text as a document has it: a parser of HTML knows one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def of_each(made: world.Hostile) -> Iterator[tuple[str, str | None]]:
    """Addresses that only one payload has, and what their titles say."""
    for text, task_id in zip(PAYLOADS.values(), made.tasks, strict=True):
        lineage = {"tracking_id": text}
        yield f"/tasks/{task_id}", f"echo {text}"
        yield f"/lineages/?{urlencode(lineage)}", f"Lineage {text}"
        yield f"/lineages//timeline?{urlencode(lineage)}", f"Timeline of {text}"
        yield f"/lineages//timeline?{urlencode({**lineage, 'parent_id': task_id, 'only': 'slow'})}", None
        for address in ("/blocks", "/spend", "/branches", "/parts/branches", "/parts/spend", "/acts", "/alerts"):
            yield f"{address}?{urlencode(lineage)}", None
        yield f"/branches?{urlencode({'parent_id': task_id})}", None
        yield f"/twigs?{urlencode({**lineage, 'kind': 'echo', 'state': 'success'})}", None
        for name in ("kind", "key", "tracking_id"):
            yield f"/tasks?{urlencode({name: text})}", None
        yield f"/explain?{urlencode({'kind': 'echo', 'key': text, 'tracking_id': text})}", None
        yield f"/paths?{urlencode({'path': text, 'queue': text})}", None
        yield f"/resources?{urlencode({'name': text})}", None
        yield f"/settings?{urlencode({'find': text[:100]})}", None
        yield f"/tasks?{urlencode({'state': text, 'limit': text})}", None
        yield f"/{urlencode({text: text})}", None
    yield from ((f"/alerts/{number}", None) for number in made.alerts)
    yield from ((f"/tasks/{task_id}", None) for task_id in made.failures)
    for number, (name, action) in enumerate(ACTIONS.items()):
        for text in (ALL[:500], [*PAYLOADS.values()][number % len(PAYLOADS)]):
            fields = dict.fromkeys(action.fields.model_fields, text)
            yield f"/act/{name}?{urlencode({**fields, 'reason': text, 'back': text})}", None


async def test_every_answer_is_made_of_what_the_templates_wrote(seen: Seen) -> None:
    """All that can be asked with one payload alone, parsed by the browser and not shown."""
    await seen.page.goto(seen.origin)
    wanted = dict(of_each(seen.made))
    sent: list[tuple[str, str]] = []
    async with visiting(seen.client) as visitor:
        for address, title in wanted.items():
            answer = await visitor.get(address, headers={"Accept": "text/html"})
            assert answer.status_code < 500, address
            assert answer.headers["content-type"] == "text/html; charset=utf-8", address
            sent.append((address, answer.text))
            if title is not None:
                assert title_of(answer).startswith(title[:60]), address
    faults = await seen.page.evaluate(
        f"""(sent) => sent.map(([address, text]) => {{
            const parsed = new DOMParser().parseFromString(text, "text/html");
            return [address, ({INSPECT})(parsed, location.origin)];
        }}).filter(([, faults]) => faults.length)""",
        sent,
    )
    assert faults == []
    assert len(sent) > 600


def title_of(answer: httpx.Response) -> str:
    found = re.search(r"<title>(.*?)</title>", answer.text, re.DOTALL)
    assert found is not None
    return unescape(found[1])


async def test_machines_are_answered_in_json_that_no_browser_takes_for_a_page(seen: Seen) -> None:
    async with visiting(seen.client) as visitor:
        for address in ("/tasks", "/lineages", "/queues", "/workers", "/alerts", "/acts", "/stop-list"):
            answer = await visitor.get(f"/api/v1{address}", headers={"Accept": "text/html"})
            assert answer.status_code == 200, address
            assert answer.headers["content-type"] == "application/json", address
            assert answer.headers["x-content-type-options"] == "nosniff", address


async def test_where_a_template_failed_the_policy_would_still_let_nothing_run(seen: Seen, chromium: Browser) -> None:
    """Under the policy, payloads put into the page unescaped."""
    async with visit(chromium, seen.origin) as (page, origin, faults):
        await page.context.add_init_script(CANARY)
        await page.goto(f"{origin}/stop-list")
        asked: list[str] = []
        page.on("response", lambda answer: asked.append(answer.url))
        for text in PAYLOADS.values():
            # A refresh by meta is stopped by no policy: there only escaping helps.
            await page.evaluate(
                "(text) => document.getElementById('live').insertAdjacentHTML('beforeend', text)",
                re.sub(r"<meta[^>]*>", "", text),
            )
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert await page.locator("#live img").count() > 0
        assert await page.evaluate("document.documentElement.dataset.ran") is None
    assert not [address for address in asked if ELSEWHERE in address]
    assert any("Content Security Policy" in fault for fault in faults)
