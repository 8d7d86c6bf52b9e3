"""Whatever JSON a server answers with, it is read as a page, a refusal or nothing, in bounds and without a crash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Page, Refusal
from ramet.wiki.sources.mediawiki_answers import DETAIL_LENGTH_MAX, Answers, page_of, title_to_send
from ramet.wiki.sources.mediawiki_calls import MergedQuery
from ramet.wiki.sources.mediawiki_site import attribution_of, knows_disambiguation, site_of
from ramet.wiki.wikitext.site import Site

pytestmark = pytest.mark.proof

ENDPOINT = "https://wiki.example/w/api.php"
WORDS = [
    "One",
    "Two",
    "Category:A",
    "",
    "x\ny",
    "half \ud800",
    "nul \0",
    "[",
    "http://[",
    "javascript:1",
    "$1",
    "//h",
    "y" * 9_000,
]
NAMES = (
    "pages redirects normalized converted interwiki title from to fromencoded tointerwiki ns missing invalid special "
    "invalidreason revisions revid slots main content contentmodel categories links pageprops disambiguation fullurl "
    "wikibase-shortdesc redirect general namespaces namespacealiases magicwords rightsinfo sitename articlepath server "
    "case id name canonical alias aliases interwikimap prefix pagepropnames propname text url "
    "coordinates lat lon primary wikibase_item"
).split()
LEAVES = st.none() | st.booleans() | st.integers(-3, 20) | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
TITLES = st.sampled_from(["One", "Two"])
SLOTS = st.fixed_dictionaries({"content": st.sampled_from(WORDS) | JSON}, optional={"contentmodel": JSON})
REVISIONS = st.fixed_dictionaries(
    {"slots": st.fixed_dictionaries({"main": SLOTS | JSON}) | JSON}, optional={"revid": JSON}
)
LINKED = st.lists(st.fixed_dictionaries({"title": st.sampled_from(WORDS) | JSON}), max_size=4)
RECORDS = st.fixed_dictionaries(
    {
        "title": TITLES | JSON,
        "ns": st.sampled_from([0, 0, 0, 14, None, "0"]),
        "revisions": st.lists(REVISIONS, min_size=1, max_size=2) | JSON,
    },
    optional={
        "categories": LINKED | JSON,
        "links": LINKED | JSON,
        "pageprops": JSON,
        "fullurl": JSON,
        "coordinates": st.lists(st.dictionaries(st.sampled_from(["lat", "lon", "primary"]), JSON), max_size=3) | JSON,
        "missing": JSON,
        "redirect": JSON,
    },
)
HOPS = st.fixed_dictionaries({"from": TITLES, "to": TITLES | JSON}, optional={"tointerwiki": JSON, "fromencoded": JSON})
QUERIES = st.fixed_dictionaries(
    {"pages": st.lists(RECORDS, max_size=3) | JSON},
    optional={
        "redirects": st.lists(HOPS, max_size=3) | JSON,
        "normalized": st.lists(HOPS, max_size=3) | JSON,
        "interwiki": JSON,
    },
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(QUERIES | JSON, max_size=3), st.booleans())
def test_any_answer_is_read_as_something(parts: list[Any], with_links: bool) -> None:
    merged = MergedQuery()
    for part in parts:
        merged.add(part)
    answers = Answers(merged.query)
    for title in ("One", "Two"):
        found = page_of(
            title,
            answers.walk(title),
            Site("wiki"),
            endpoint=ENDPOINT,
            tells_disambiguation=True,
            with_links=with_links,
        )
        if isinstance(found, Refusal):
            assert len(found.detail) <= DETAIL_LENGTH_MAX
            assert "\n" not in found.detail
            found.detail.encode()
        elif isinstance(found, Page):
            texts = [found.title, found.key, found.text, found.description, found.url, found.revision]
            texts += [*found.aliases, *(found.categories or ()), *(found.links or ())]
            for text in texts:
                assert "\0" not in text
                text.encode()
            assert found.url.startswith(("http://", "https://")) or not found.url
            assert all(len(name) <= 512 for name in (*(found.categories or ()), *(found.links or ())))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    JSON
    | st.fixed_dictionaries(
        {"general": JSON, "namespaces": st.dictionaries(st.text(max_size=3), JSON)},
        optional={
            "namespacealiases": JSON,
            "magicwords": JSON,
            "rightsinfo": JSON,
            "interwikimap": JSON,
            "pagepropnames": JSON,
        },
    )
)
def test_any_description_of_a_wiki_is_read_or_refused(query: Any) -> None:
    if not isinstance(query, dict):
        return
    knows_disambiguation(query)
    attribution_of(query)
    try:
        site = site_of(query, ENDPOINT)
    except SourceError:
        return
    assert all(isinstance(number, int) for number in site.namespaces.values())
    assert "#redirect" in site.redirect_words


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=40) | st.sampled_from(WORDS))
def test_what_is_sent_breaks_no_call(title: str) -> None:
    sent = title_to_send(title)
    if isinstance(sent, str):
        assert "|" not in sent
        assert sent.isprintable() or all(ord(letter) > 0x9F for letter in sent if not letter.isprintable())
        assert 0 < len(sent.encode()) <= 255
    else:
        assert "\n" not in sent.detail
