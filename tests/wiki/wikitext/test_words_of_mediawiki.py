"""Words of real pages against MediaWiki's rendering: without templates, and with those of a whole small Wikipedia."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.wiki.wikitext.site import Site
from tests.support.waiting import HANG_SECONDS
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.wikitext.pages import article, wikitext
from tests.wiki.wikitext.sites import ENGLISH, LATGALIAN

CORPUS = Path(__file__).parents[3].parent / "shared" / "wiki-corpus"
PAGES = 24
"""English pages, of 30 kB on average, that are compared; spread over the corpus."""
F1_MIN = 0.998
LATGALIAN_PAGES = 150
LOST_SHARE_MAX = 0.01
WORDS_MIN = 4

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared wiki corpus is not beside this repository"),
]

# What the tests' MediaWiki has no extension for, and links to the same page in another language.
UNREAD = re.compile(
    r"<(math|timeline|syntaxhighlight|source|score|imagemap)\b.*?</\1\s*>|\[\[[a-z]{2,3}(?:-[a-z-]+)?:[^\[\]]*\]\]\n?"
    r"|<(?:mapframe|hiero)[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
ASIDE = ", ".join(
    "sup.reference, .mw-references-wrap, .references, .mw-editsection, .toc, style, script, .mw-ext-cite-error, .error,"
    " a[href*='File:'], a[href*='wpDestFile'], a[title^='File:'], .navbox, .metadata, .infobox".split(", ")
)
LOCAL = {"att\u0113ls": "File", "fails": "File", "kategoreja": "Category", "taiss": "Template"}


def corpus(name: str) -> list[dict[str, Any]]:
    with (CORPUS / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def rendered(wiki: MediaWiki, text: str) -> LexborHTMLParser:
    """A text as MediaWiki shows it, without references, edit links and the names of files that are not there."""
    asked = {"action": "parse", "text": text, "title": "Page", "contentmodel": "wikitext", "prop": "text"}
    asked |= {"format": "json", "formatversion": "2", "disablelimitreport": "1", "disableeditsection": "1"}
    with urlopen(Request(wiki.api, urlencode(asked).encode()), timeout=HANG_SECONDS) as answer:
        tree = LexborHTMLParser(json.load(answer)["parse"]["text"])
    for node in tree.css(ASIDE):
        node.decompose()
    return tree


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def read(text: str, site: Site) -> str:
    """All that is kept of a page: headings that have text, and texts."""
    found = article(wikitext(text), site)
    return "\n".join(f"{section.heading}\n{section.text}" for section in found.sections)


def shown(tree: LexborHTMLParser) -> str:
    """All text of a page; elements part words, but those within a line."""
    return "".join(_texts(tree.body)) if tree.body else ""


INLINE = frozenset("a abbr b bdi big cite code del em i ins kbd s small span strike strong sub sup tt u var".split())


def _texts(node: LexborNode) -> Iterator[str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield child.text_content or ""
        elif child.tag in INLINE:
            yield from _texts(child)
        else:
            yield " \n"
            yield from _texts(child)
            yield " \n"


@pytest.mark.network
@pytest.mark.process
def test_words_without_templates_are_those_that_mediawiki_shows(mediawiki_to_edit: MediaWiki) -> None:
    mediawiki_to_edit.templates({})
    pages = [UNREAD.sub("", row["wikitext"]) for row in corpus("enwiki-a") if row["redirect"] is None]
    both = theirs = ours = 0
    lost: Counter[str] = Counter()
    for text in map(without_templates, pages[:: len(pages) // PAGES]):
        expected, found = words(shown(rendered(mediawiki_to_edit, text))), words(read(text, ENGLISH))
        both += (expected & found).total()
        theirs, ours = theirs + expected.total(), ours + found.total()
        lost += expected - found
    assert theirs > 50_000
    assert 2 * both / (theirs + ours) >= F1_MIN, (both, theirs, ours, lost.most_common(40))


def without_templates(text: str) -> str:
    """A text without its templates, the innermost first."""
    inner = re.compile(r"\{\{(?!\{)[^{}]*\}\}")
    while inner.search(text):
        text = inner.sub("", text)
    return text


@pytest.mark.network
@pytest.mark.process
def test_few_sentences_lose_words_that_the_wikis_own_templates_show(mediawiki_to_edit: MediaWiki) -> None:
    rows = corpus("ltgwiki")
    templates = {row["title"].partition(":")[2]: local(row["wikitext"]) for row in rows if row["ns"] == 10}
    for row in rows:
        if row["ns"] == 10 and row["redirect"] is not None:
            templates[row["title"].partition(":")[2]] = templates.get(row["redirect"].partition(":")[2], "")
    pages = [row["wikitext"] for row in rows if row["ns"] == 0 and row["redirect"] is None and "{{" in row["wikitext"]]
    site = replace(LATGALIAN, language="ltg")
    pages = [local(UNREAD.sub("", text)) for text in pages[:: len(pages) // LATGALIAN_PAGES]]
    mediawiki_to_edit.templates(templates)
    with_ = [sentences(rendered(mediawiki_to_edit, text)) for text in pages]
    mediawiki_to_edit.templates({})
    without = [letters(shown(rendered(mediawiki_to_edit, text))) for text in pages]
    lost, total = [], 0
    for text, theirs, bare in zip(pages, with_, without, strict=True):
        ours = letters(read(text, site))
        total += len(theirs)
        lost += [sentence for sentence in theirs if letters(sentence) not in ours and letters(sentence) not in bare]
    assert total > 500
    assert len(lost) / total <= LOST_SHARE_MAX, (len(lost), total, lost[:40])


def local(text: str) -> str:
    """With the namespaces that the tests' MediaWiki knows."""
    return re.sub(
        rf"(\[\[|\{{\{{) *({'|'.join(LOCAL)}) *:",
        lambda found: f"{found[1]}{LOCAL[found[2].lower()]}:",
        text,
        flags=re.IGNORECASE,
    )


def sentences(tree: LexborHTMLParser) -> list[str]:
    """Those of paragraphs and lists; tables and boxes are no running text."""
    for node in tree.css("table"):
        node.decompose()
    texts = ["".join(_texts(node)).partition("\n")[0] for node in tree.css("p, li, dd")]
    found = [part for text in texts for part in re.split(r"(?<=[.!?])\s+", text)]
    return [sentence for sentence in found if len(sentence.split()) >= WORDS_MIN]


def letters(text: str) -> str:
    return re.sub(r"\W", "", text)
