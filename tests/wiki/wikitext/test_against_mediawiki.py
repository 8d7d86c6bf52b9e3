"""Titles, links, categories and headings are read as a real MediaWiki reads them, random ones included."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from ramet.model.keys import InvalidKey
from ramet.wiki.sources.mediawiki_site import SITE_PARAMETERS, site_of
from ramet.wiki.wikitext.parser import ParseOptions
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import read_title
from tests.support.waiting import HANG_SECONDS
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.wikitext.pages import article, wikitext

TITLES = 2_000
TITLES_AT_ONCE = 200
TEXTS = 300

# Without letters whose capital is a matter of settings (ß and the like: `ramet.model.keys.title_key`).
TITLE_PIECES = [
    *'aZé:#%_ /.~&;"\\?+=,-()!*@$^`\u0301\u200e\u00a0\u3000\ufffdİ',
    *(
        "Talk",
        "File",
        "project",
        "Category",
        "User talk",
        "Media",
        "meatball",
        "acronym",
        "..",
        "~~~",
        "a" * 60,
        "é" * 60,
    ),
    *("&amp;", "&eacute;", "&lt;", "&nbsp;", "&copy", "&#65;", "&#x41;", "&#0;", "%41", "%C3%A9", "%25", "%23", "%FF"),
]
# Without `[[a|]]`: MediaWiki completes it when a page is saved, so that none is ever stored.
TEXT_PIECES = [
    *(
        "a",
        "B",
        "c d",
        " ",
        "\n",
        "\n\n",
        "'''",
        "''",
        "*",
        "\n*",
        "\n:",
        "#",
        "&amp;",
        "=",
        "\n==",
        "==\n",
        "\n=== H ===\n",
        "\n== ''I'' [[J|k]] ==\nx",
        "{",
        "}",
    ),
    *(
        "[[A]]",
        "[[B|c]]",
        "[[d#e]]",
        "[[Talk:F]]",
        "[[meatball:G]]",
        "[[Category:C]]",
        "[[category:c d|e]]",
        "[[:Category:H]]",
    ),
    *(
        "[[File:x.png|thumb|",
        "]]",
        "[[",
        "[",
        "]",
        "[http://x.y ",
        "<!--",
        "-->",
        "<nowiki>",
        "</nowiki>",
        "<nowiki/>",
        "<pre>",
        "</pre>",
    ),
    *(
        "<gallery>\n",
        "\nFile:y.png|",
        "\n</gallery>",
        "<includeonly>",
        "</includeonly>",
        "<noinclude>",
        "</noinclude>",
        "<onlyinclude>",
    ),
    *("<div>", "</div>", "<br>", "\n{|\n", "\n|}\n", "\n|-\n", "\n|", "||"),
]


class Reader:
    """MediaWiki's own parser, by its API."""

    def __init__(self, wiki: MediaWiki) -> None:
        self._api = wiki.api
        self.site = site_of(self._post(**{**SITE_PARAMETERS, "action": "query"})["query"], wiki.api)
        spaces = self._post(action="query", meta="siteinfo", siprop="namespaces")["query"]["namespaces"]
        self.namespaces: dict[int, str] = {int(number): space["name"] for number, space in spaces.items()}

    def parse(self, text: str) -> Any:
        """What a page of this text links to, is in, and has as headings."""
        asked = "links|iwlinks|categories|sections"
        return self._post(action="parse", text=text, title="Page", contentmodel="wikitext", prop=asked)["parse"]

    def _post(self, **parameters: str) -> Any:
        data = urlencode({"format": "json", "formatversion": "2", **parameters}).encode()
        with urlopen(Request(self._api, data), timeout=HANG_SECONDS) as answer:
            return json.load(answer)


@pytest.fixture
def reader(mediawiki: MediaWiki) -> Reader:
    return Reader(mediawiki)


def joined(pieces: Sequence[str], times: int, most: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices(pieces, k=chance.randint(1, most))) for _ in range(times)]


def read(raws: Iterable[str], site: Site, namespaces: dict[int, str]) -> tuple[set[str], set[str]]:
    """Full titles of this wiki's pages and of others', as MediaWiki would write them."""
    here, elsewhere = set(), set()
    for raw in raws:
        try:
            title = read_title(raw, site)
        except InvalidKey:
            continue
        if title.interwiki:
            elsewhere.add(f"{title.interwiki}:{title.text}".casefold())
        elif title.text and title.namespace >= 0:
            here.add(f"{namespaces[title.namespace]}:{title.text}" if title.namespace else title.text)
    return here, elsewhere


@pytest.mark.network
@pytest.mark.process
def test_any_title_is_read_as_mediawiki_reads_it(reader: Reader) -> None:
    raws = [f":{raw}" for raw in joined(TITLE_PIECES, TITLES, 6, seed=1)]
    found = 0
    for start in range(0, TITLES, TITLES_AT_ONCE):
        some = raws[start : start + TITLES_AT_ONCE]
        theirs = reader.parse("\n\n".join(f"[[{raw}]]" for raw in some))
        here, elsewhere = read(some, reader.site, reader.namespaces)
        assert here == {link["title"] for link in theirs["links"]}
        assert elsewhere == {link["title"].casefold() for link in theirs["iwlinks"]}
        found += len(here) + len(elsewhere)
    assert found > TITLES / 4


def test_any_text_has_the_links_categories_and_headings_that_mediawiki_finds(reader: Reader) -> None:
    links = categories = headings = 0
    for text in joined(TEXT_PIECES, TEXTS, 12, seed=2):
        theirs = reader.parse(f"x {text}")
        ours = article(wikitext(f"x {text}"), reader.site, ParseOptions(disambiguation="links"))
        linked = {link["title"] for link in theirs["links"] if link["ns"] == 0} - {"Page"}
        assert set(ours.links or ()) == linked, text
        # MediaWiki adds one of its own.
        within = {category["category"].replace("_", " ") for category in theirs["categories"]} - {
            "Pages with broken file links"
        }
        assert set(ours.categories) == within, text
        shown = [(max(2, int(heading["level"])), letters(heading["line"])) for heading in theirs["sections"]]
        found = [(section.level, letters(section.heading)) for section in ours.sections if section.level > 1]
        # Those without text are left out here.
        left = iter(shown)
        assert all(heading in left for heading in found), (text, found, shown)
        links, categories, headings = links + len(linked), categories + len(within), headings + len(found)
    assert min(links, categories, headings) > TEXTS / 20


def letters(line: str) -> str:
    return re.sub(r"\W", "", html.unescape(re.sub(r"<[^>]*>", "", line)))
