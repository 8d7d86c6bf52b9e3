"""Pages with what their wiki renders: one request more for each, asked as politely as all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ramet import RetryAfter, Transient
from ramet.wiki.pages import Article, Page, Refusal, RefusalReason
from ramet.wiki.sources import mediawiki_answers
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.fetch.hostile_server import Hostile, Play, Request, answers
from tests.wiki.fake_wiki import FakeWiki
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import village

pytestmark = [pytest.mark.network, pytest.mark.process]

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

HERE = SourceOptions(private=True)
RENDERED = SourceOptions(private=True, text="rendered")


async def read(wiki: MediaWiki, options: SourceOptions, *titles: str) -> list[Article]:
    source = MediaWikiSource(wiki.api, options)
    try:
        site = await source.site()
        wiki.forget()
        found = await source.pages(titles)
    finally:
        await source.close()
    articles = []
    for title in titles:
        page = found[title]
        assert isinstance(page, Page), page
        article = parse_page(page, site, ParseOptions())
        assert isinstance(article, Article), article
        articles.append(article)
    return articles


async def test_a_real_wiki_renders_what_its_templates_show(mediawiki_to_edit: MediaWiki) -> None:
    mediawiki_to_edit.edit("Template:Boats", "exactly {{{1}}} boats and {{lc:MANY}} nets")
    mediawiki_to_edit.edit(
        "Quay", "It has {{Boats|7}}.<ref>x</ref>\n== Crews ==\n=== Names ===\nSee [[Village 001|one]]."
    )
    [written] = await read(mediawiki_to_edit, HERE, "Quay")
    [shown] = await read(mediawiki_to_edit, RENDERED, "Quay")
    assert written.text == "It has.\n\nSee one."
    assert shown.text.startswith("It has exactly 7 boats and many nets.")
    assert [(part.level, part.path) for part in shown.sections] == [
        (part.level, part.path) for part in written.sections
    ]
    assert (shown.links, shown.revision) == (written.links, written.revision)


async def test_without_templates_both_ways_read_the_same_and_a_page_costs_one_request_more(
    mediawiki: MediaWiki,
) -> None:
    titles = [village(number) for number in range(12)]
    written = await read(mediawiki, HERE, *titles)
    assert len(mediawiki.asked()) == 1
    shown = await read(mediawiki, RENDERED, *titles, titles[0].lower())
    assert len(mediawiki.asked()) == 1 + len(titles)
    assert [one.sections for one in shown[: len(titles)]] == [one.sections for one in written]


class Rendering(FakeWiki):
    """Renders pages as a test scripts it, by revision."""

    def __init__(self) -> None:
        super().__init__({title: f"text of {title}" for title in ("One", "Two", "Three", "Four", "Five")})
        self.plays: dict[str, Play] = {}
        self.rendered: list[str] = []

    def record(self, number: int, title: str) -> dict[str, Any]:
        found = super().record(number, title)
        if "revisions" in found:
            found["revisions"][0]["revid"] = number
        return found

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.parameters.get("action") != "parse":
            await super().__call__(request, writer)
            return
        revision = request.parameters["oldid"]
        self.rendered.append(revision)
        assert request.parameters["maxlag"] == "5"
        usual = answers({"parse": {"text": f"<p>shown {revision}</p>"}})
        await self.plays.get(revision, usual)(request, writer)


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def standing_in() -> AsyncIterator[tuple[Rendering, MediaWikiSource]]:
    wiki = Rendering()
    async with Hostile(wiki) as server:
        source = MediaWikiSource(server.api, RENDERED, sleep=no_pause)
        yield wiki, source
        await source.close()


StandingIn = tuple[Rendering, MediaWikiSource]


async def test_a_server_that_names_a_time_keeps_what_was_rendered(standing_in: StandingIn) -> None:
    wiki, source = standing_in
    wiki.plays["3"] = answers({"error": {"code": "maxlag", "info": "Waiting: 9 seconds lagged"}})
    titles = ["One", "Two", "Three", "Four", "Five"]
    found = await source.pages(titles)
    pages = [title for title in titles if isinstance(found[title], Page)]
    assert {"One", "Two"} <= set(pages) < set(titles)
    assert all(isinstance(found[title], RetryAfter) for title in titles if title not in pages)
    assert all(page.html == f"<p>shown {page.revision}</p>" for page in map(found.get, pages) if isinstance(page, Page))


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"error": {"code": "nosuchrevid", "info": "There is no revision with ID 2."}}, Transient),
        ({"error": {"code": "internal_api_error_X", "info": "oops"}}, Transient),
        ({"parse": {"text": None}}, Transient),
        ({"parse": []}, Transient),
        ({}, Transient),
        ({"parse": {"text": "x" * 2_000}}, Refusal),
    ],
    ids=["no revision", "error", "no text", "no object", "nothing", "too large"],
)
async def test_a_page_that_cannot_be_rendered_takes_no_other_with_it(
    standing_in: StandingIn, monkeypatch: pytest.MonkeyPatch, said: object, outcome: type
) -> None:
    monkeypatch.setattr(mediawiki_answers, "HTML_BYTES_MAX", 1_000)
    wiki, source = standing_in
    wiki.plays["2"] = answers(said)
    found = await source.pages(["One", "Two", "Three"])
    assert isinstance(found["Two"], outcome)
    assert not isinstance(found["Two"], Refusal) or found["Two"].reason is RefusalReason.TOO_LARGE
    assert [page.html for page in (found["One"], found["Three"]) if isinstance(page, Page)] == [
        "<p>shown 1</p>",
        "<p>shown 3</p>",
    ]


async def test_what_is_no_article_is_not_rendered(standing_in: StandingIn) -> None:
    wiki, source = standing_in
    found = await source.pages(["One", "Nowhere"])
    assert isinstance(found["Nowhere"], Refusal)
    assert wiki.rendered == ["1"]
