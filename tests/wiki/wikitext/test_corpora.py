"""Real pages: a whole small Wikipedia and long English articles, against independent readers of the same text."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mwparserfromhell
import pytest

from benchmarks.wiki_lost_text import lost_text
from ramet.model.keys import InvalidKey, title_key
from ramet.wiki.pages import Article, Refusal, RefusalReason
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import read_title
from tests.wiki.wikitext.pages import wikitext
from tests.wiki.wikitext.sites import ENGLISH, LATGALIAN

CORPUS = Path(__file__).parents[3].parent / "shared" / "wiki-corpus"
SITES = {"ltgwiki": LATGALIAN, "enwiki-a": ENGLISH}
CPU_SECONDS_PER_PAGE_MAX = 2
LOST_SHARE_MAX = 0.005

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared wiki corpus is not beside this repository"),
]

# What is shown as written, so that anything may stand in it.
VERBATIM = re.compile(
    r"<(nowiki|pre|source|syntaxhighlight|math)\b[^>]*?(?<!/)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE
)
UNREAD = re.compile(rf"<!--.*?-->|<timeline>.*?</timeline>|{VERBATIM.pattern}", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    site: Site
    wikitext: str
    article: Article


@cache
def pages(corpus: str) -> tuple[tuple[str, str, bool], ...]:
    """(title, wikitext, whether it is a redirect) of the articles' namespace."""
    with (CORPUS / f"{corpus}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return tuple((row["title"], row["wikitext"], row["redirect"] is not None) for row in rows if row["ns"] == 0)


@cache
def cases(corpus: str) -> tuple[Case, ...]:
    site = SITES[corpus]
    read = [(text, parse_page(wikitext(text, title), site, ParseOptions())) for title, text, _ in pages(corpus)]
    return tuple(Case(site, text, article) for text, article in read if isinstance(article, Article))


def keys(titles: Iterable[str], case: Case) -> set[str]:
    """Keys of the articles that titles, as another reader found them, lead to; without the page itself."""
    found = set[str]()
    for raw in titles:
        try:
            title = read_title(raw, case.site)
        except InvalidKey:
            continue
        if title.is_article:
            found.add(title_key(title.text))
    return found - {case.article.key}


def parsed_titles(text: str) -> Iterator[str]:
    """As mwparserfromhell finds them; it leaves the inside of galleries and image maps to its user."""
    code = mwparserfromhell.parse(text)
    yield from (str(link.title) for link in code.ifilter_wikilinks())
    for tag in code.ifilter_tags(matches=lambda tag: str(tag.tag).lower() in ("gallery", "imagemap")):
        yield from (str(link.title) for link in mwparserfromhell.parse(str(tag.contents)).ifilter_wikilinks())


@pytest.mark.parametrize("corpus", SITES)
def test_every_page_is_read_and_redirects_are_told_apart(corpus: str) -> None:
    refusals: Counter[RefusalReason] = Counter()
    for title, text, redirect in pages(corpus):
        began = time.process_time()
        read = parse_page(wikitext(text, title), SITES[corpus], ParseOptions())
        assert time.process_time() - began < CPU_SECONDS_PER_PAGE_MAX, title
        assert redirect == (isinstance(read, Refusal) and read.reason is RefusalReason.REDIRECT_LOOP), title
        if isinstance(read, Refusal):
            refusals[read.reason] += 1
    expected = {
        "ltgwiki": {RefusalReason.REDIRECT_LOOP: 147},
        "enwiki-a": {RefusalReason.REDIRECT_LOOP: 82, RefusalReason.DISAMBIGUATION: 3},
    }
    assert refusals == expected[corpus]
    assert len(cases(corpus)) == {"ltgwiki": 903, "enwiki-a": 70}[corpus]


@pytest.mark.parametrize("corpus", SITES)
def test_links_are_those_that_independent_readers_find(corpus: str) -> None:
    ours = both = theirs = missed = 0
    for case in cases(corpus):
        links = set(map(title_key, case.article.links or ()))
        counted = keys(re.findall(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]]*)?\]\]", UNREAD.sub("", case.wikitext)), case)
        parsed = keys(parsed_titles(case.wikitext), case)
        ours, both, theirs = ours + len(links), both + len(links & parsed), theirs + len(parsed)
        missed += len((counted | parsed) - links)
    assert missed == 0
    assert both / max(ours, theirs) >= 0.995, (ours, both, theirs)


@pytest.mark.parametrize("corpus", SITES)
def test_categories_are_those_that_a_search_for_their_prefix_finds(corpus: str) -> None:
    prefix = {"ltgwiki": "(?:kategoreja|category)", "enwiki-a": "category"}[corpus]
    found = re.compile(rf"\[\[ *{prefix} *: *([^\[\]|]+?) *(?:\|[^\]]*)?\]\]", re.IGNORECASE)
    total = 0
    for case in cases(corpus):
        names = [title_key(name) for name in found.findall(UNREAD.sub("", case.wikitext))]
        assert case.article.categories == tuple(dict.fromkeys(names)), case.article.title
        total += len(names)
    assert total > 400


@pytest.mark.parametrize("corpus", SITES)
def test_every_heading_with_text_below_it_is_a_section(corpus: str) -> None:
    """Counted by a pattern of our own, and its text by mwparserfromhell: what neither shows is no text."""
    headings = re.compile(r"^(={1,6})(.+?)\1[ \t]*$", re.MULTILINE)
    seen = 0
    for case in cases(corpus):
        there = Counter(letters(section.heading) for section in case.article.sections)
        text = UNREAD.sub(lambda part: f"<nowiki>{part[2]}</nowiki>" if part[2] else "", case.wikitext)
        pieces = headings.split(text)
        for name, body in zip(pieces[2::3], pieces[3::3], strict=True):
            if not letters(bare(body)):
                continue
            seen += 1
            heading = letters(bare(name))
            assert there[heading] > 0, (case.article.title, name, body[:200])
            there[heading] -= 1
    assert seen > 500


def bare(text: str) -> str:
    """What a reader sees of a piece of wikitext, to an independent reader and without pictures and categories."""
    code = mwparserfromhell.parse(
        re.sub(r"<gallery.*?</gallery>|<ref\b[^>]*/>|<ref\b.*?</ref>", "", text, flags=re.DOTALL)
    )
    for link in code.filter_wikilinks(recursive=False):
        if ":" in str(link.title):
            code.remove(link)
    return str(code.strip_code())


def letters(text: str) -> str:
    return re.sub(r"\W", "", text)


@pytest.mark.parametrize("corpus", SITES)
def test_no_markup_is_left_in_the_text(corpus: str) -> None:
    """But for what is shown as written, since it says so: `<nowiki>`, `<pre>`, code and formulas."""
    markup = re.compile(
        r"\[\[|\]\]|\{\{|\}\}|''|\{\||\|\}|<!--|__[A-Z]+__|</?(?:ref|br|div|span|t[dr]|small|su[bp]|b|i)\b|&nbsp;|^=+.+=+$"
    )
    for case in cases(corpus):
        verbatim = "".join(letters(part[2]) for part in VERBATIM.finditer(case.wikitext))
        for section in case.article.sections:
            for line in (section.heading, *section.text.splitlines()):
                if markup.search(line):
                    written = [part for part in markup.split(line) if letters(part)]
                    assert any(letters(part) in verbatim for part in written), (case.article.title, line)


def test_few_sentences_lose_what_a_template_shows() -> None:
    lost = lost_text((text for _, text, _ in pages("enwiki-a")), ENGLISH)
    assert lost.sentences > 15_000
    assert lost.share <= LOST_SHARE_MAX, lost.templates.most_common(20)
