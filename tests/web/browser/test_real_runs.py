"""Every page over a database with real runs of all pipelines: no link is broken, and in a browser every page is sound.

The ordinary run looks at one address of each page; those marked nightly look at every address that links lead to.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import IN_CHROMIUM, NARROW, WIDE, Visit, served, visit
from tests.web.browser.expected_texts import TRUTHS
from tests.web.runs.all_runs import Made, opened
from tests.web.runs.link_crawl import page_names, walk

pytestmark = IN_CHROMIUM

FRAGMENT = "-part"
"""How the names of pages end that are parts of others."""
SOME = 4
ALL = 100_000
PARTS = 4
"""On a machine at work, one browser that looked at all pages would take longer than a test may."""
CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
CONTROLS_MAX = 60
"""A page with more is passed through by the keyboard in the nightly run, and so is each on a narrow screen."""
AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
LOOKS = pytest.mark.parametrize(
    "look",
    [pytest.param((False, WIDE), marks=pytest.mark.nightly), (True, NARROW)],
    ids=["light, wide", "dark, narrow"],
)
"""Whether the reader likes it dark, and the size of the window."""


def chosen(pages: dict[str, list[str]], of_each: int, part: int) -> Iterator[tuple[str, str]]:
    """Addresses of whole pages with the names of their routes; of actions, so many of each. Every part has its own."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, addresses in pages.items():
        for address in addresses:
            groups.setdefault((name, urlsplit(address).path if name == "act" else ""), []).append(address)
    whole = [(name, group) for (name, _), group in sorted(groups.items()) if not name.endswith(FRAGMENT)]
    for number, (name, group) in enumerate(whole):
        yield from ((name, address) for n, address in enumerate(group[:of_each], number) if n % PARTS == part)


@pytest.mark.parametrize("most", [SOME, pytest.param(ALL, marks=pytest.mark.nightly)])
async def test_links_lead_to_every_page_and_none_is_broken(made: Made, most: int) -> None:
    async with opened(made) as client:
        found = await walk(client, most)
        pages = page_names(make_application(client, Access(person="ada")))
    assert found.broken == []
    assert pages == set(found.pages), "a page that no link leads to"
    assert {name for name in pages if not name.endswith(FRAGMENT)} == set(TRUTHS), "a page about which nothing is known"


async def controls_missed(page: Visit) -> list[str]:
    """Controls that can be seen and that the keyboard did not come to, of a page that was just loaded."""
    wanted = await page.page.evaluate(
        """(selector) => {
            window.wanted = new Set([...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()));
            addEventListener("focusin", ({ target }) => window.wanted.delete(target));
            return window.wanted.size;
        }""",
        CONTROLS,
    )
    for _ in range(wanted):
        await page.page.keyboard.press("Tab")
    missed: list[str] = await page.page.evaluate("[...window.wanted].map((one) => one.outerHTML.slice(0, 120))")
    return missed


async def faults_of(seen: Visit, client: Client, name: str, address: str, controls_max: int) -> list[str]:
    """What is wrong with a page."""
    answer = await seen.page.goto(f"{seen.origin}{address}")
    assert answer is not None
    wrong = [] if answer.status == 200 else [f"status {answer.status}"]
    if not await seen.page.title():
        wrong.append("no title")
    if await seen.page.locator("h1").count() != 1:
        wrong.append("not one h1")
    if not await seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        wrong.append("wider than the screen")
    text = " ".join((await seen.page.inner_text("main")).split())
    truths = [" ".join(truth.split()) for truth in await TRUTHS[name](client, address)]
    wrong += [f"does not say {truth!r}" for truth in truths if truth not in text]
    found = (await Axe().run(seen.page, options=AXE)).response["violations"]
    wrong += [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
    if await seen.page.locator(CONTROLS).count() <= controls_max:
        wrong += [f"the keyboard does not come to {control}" for control in await controls_missed(seen)]
    return [f"{address}: {fault}" for fault in wrong]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    "most", [(1, CONTROLS_MAX), pytest.param((ALL, ALL), marks=pytest.mark.nightly)], ids=["some", "all"]
)
@LOOKS
async def test_every_page_is_sound_and_true_in_a_browser(
    chromium: Browser, made: Made, look: tuple[bool, tuple[int, int]], most: tuple[int, int], part: int
) -> None:
    (dark, size), (of_each, controls_max) = look, most
    async with (
        opened(made) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin, dark=dark, size=size) as seen,
    ):
        pages = (await walk(client, SOME if of_each == 1 else 12)).pages
        wrong = []
        for name, address in chosen(pages, of_each, part):
            wrong += await faults_of(seen, client, name, address, 0 if dark and of_each == 1 else controls_max)
    assert wrong == []
    assert [fault for fault in seen.faults if "/live/" not in fault] == []  # A stream ends with its page.
