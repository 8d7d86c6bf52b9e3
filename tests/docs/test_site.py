"""The documentation as a site: it builds without a warning, fetches nothing from elsewhere, and works from a disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs import hooks
from tests.docs.pages import PROJECT
from tests.support.waiting import HANG_SECONDS
from tests.web.browser.chromium import MISSING, PROGRAM, browser

TABS = ["Home", "Tutorial", "Concepts", "Guides", "Reference", "Comparison", "Decisions", "Traceability"]
FETCHING = {"src", "srcset", "poster", "data"}
"""Attributes whose address a browser fetches by itself. Those of links it only follows; but for ``<link>``."""


class Page(HTMLParser):
    """What is in a built page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tabs: list[str] = []
        self.classes: set[str] = set()
        self._in_tab = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name in FETCHING or (name == "href" and tag == "link")):
                self.fetched += [part.split()[0] for part in value.split(",")] if name == "srcset" else [value]
            if name == "class":
                self.classes |= set((value or "").split())
        self._in_tab = tag == "a" and ("class", "md-tabs__link") in attributes

    def handle_data(self, data: str) -> None:
        if self._in_tab and data.strip():
            self.tabs.append(data.strip())
            self._in_tab = False


def from_elsewhere(addresses: list[str]) -> list[str]:
    """Those that are not in the site."""
    return [address for address in addresses if re.match(r"(?:[a-z]+:)?//", address)]


def outside_the_disk(address: str) -> list[str]:
    """The address, when a browser that opens a file has no business there."""
    return [] if address.startswith(("file:", "data:")) else [address]


def misread(html: str) -> Iterator[str]:
    """What forges read in another way than this site: lists without a line before them, escaped bars in code."""
    yield from re.findall(r"<p>[^<]*?\n(?:[-*]|\d\.) [^\n]*", html)
    yield from re.findall(r"<code>[^<]*\\\|[^<]*</code>", html)


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr


async def found_from_a_disk(page: Path, words: str) -> tuple[list[str], list[str]]:
    """The addresses that a search on a page leads to, and whatever was fetched from elsewhere or went wrong."""
    faults: list[str] = []
    async with browser() as chromium:
        visitor = await chromium.new_page()
        visitor.on("request", lambda request: faults.extend(outside_the_disk(request.url)))
        visitor.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
        visitor.on("pageerror", lambda error: faults.append(str(error)))
        await visitor.goto(page.as_uri())
        await visitor.click("[name=query]")
        await visitor.keyboard.type(words)
        results = visitor.locator(".md-search-result__link")
        await results.first.wait_for()
        return [await link.get_attribute("href") or "" for link in await results.all()], faults


@pytest.mark.process
async def test_the_site_builds_without_a_warning_and_works_from_a_disk(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site)
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {"index.html", "tutorial/index.html", "concepts/leases.html", "examples/quickstart.html"} <= set(pages)
    for name, html in pages.items():
        page = Page(html)
        assert from_elsewhere(page.fetched) == [], name
        assert page.tabs == TABS, name
        assert "mermaid" not in page.classes, "the theme would fetch a program for it"
        assert list(misread(html)) == [], name
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert from_elsewhere(re.findall(r"url\([\"']?([^)\"']+)", styles)) == []

    index = json.loads((site / "search" / "search_index.js").read_text(encoding="utf-8").removeprefix("var __index = "))
    assert set(pages) - {"404.html"} <= {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    if PROGRAM is None:
        pytest.skip(f"{MISSING}: searching from a disk was not tried")
    links, faults = await found_from_a_disk(site / "concepts" / "limits.html", "poison")
    assert faults == []
    assert any("workers.html" in link for link in links)


def test_what_would_be_fetched_is_found() -> None:
    html = '<link href="https://a/b.css"><img srcset="//c/d.png 2x, e.png"><a href="https://f/">g</a><img src="h.svg">'
    assert from_elsewhere(Page(html).fetched) == ["https://a/b.css", "//c/d.png"]


def test_what_the_site_would_read_otherwise_than_a_forge_is_found() -> None:
    assert list(misread("<p>So\n- one\n- two</p>")) == ["<p>So\n- one"]
    assert list(misread(r"<td><code>A\|B</code></td>")) == [r"<code>A\|B</code>"]


# --- links that lead out of docs/


@pytest.mark.parametrize(
    ("target", "from_file", "at_page", "leads_to"),
    [
        ("../README.md#promises", "docs/README.md", "README.md", "project/readme.md#promises"),
        ("docs/guides/wiki.md", "README.md", "project/readme.md", "../guides/wiki.md"),
        ("docs/pictures/task-light.webp", "README.md", "project/readme.md", "../pictures/task-light.webp"),
        ("docs/decisions/", "README.md", "project/readme.md", "../decisions/README.md"),
        ("../../examples/README.md", "docs/concepts/ordering.md", "concepts/ordering.md", "../examples/README.md"),
        ("quickstart.py", "examples/README.md", "examples/README.md", "quickstart.md"),
        ("limits.md", "docs/concepts/costs.md", "concepts/costs.md", "limits.md"),
        ("https://example.org/a", "README.md", "project/readme.md", "https://example.org/a"),
        ("#limits", "README.md", "project/readme.md", "#limits"),
    ],
)
def test_links_are_led_to_pages_of_the_site(target: str, from_file: str, at_page: str, leads_to: str) -> None:
    assert hooks.led(target, from_file, at_page, hooks.outside()) == leads_to


def test_blocks_of_code_keep_their_text() -> None:
    page = "see [a](b)\n```python\nf[a](b)\n```\n[a](b)\n"
    assert hooks.outside_blocks(str.upper, page) == "SEE [A](B)\n```python\nf[a](b)\n```\n[A](B)\n"


def test_every_file_that_gets_a_page_is_there() -> None:
    assert [file for file in hooks.outside() if not (PROJECT / file).is_file()] == []


def test_patterns_of_the_nav_stand_for_their_pages() -> None:
    pages = ["a.md", "b/c.md", "b/d.md", "b/e/f.md"]
    assert list(hooks.expanded([{"B": ["b/*.md"]}, {"A": "a.md"}], pages)) == [
        {"B": ["b/c.md", "b/d.md"]},
        {"A": "a.md"},
    ]
