"""A whole small Wikipedia, read out of a file and parsed: every link and category is as a plain count has it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from ramet.model.keys import title_key
from ramet.wiki.pages import Article, Page
from ramet.wiki.sources.registry import open_source
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.wiki.small_wikipedia import CORPUS, as_export
from tests.wiki.sources.test_small_wikipedia import everything

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not CORPUS.is_file(), reason="the shared wiki corpus is not beside this repository"),
]

NOT_READ = re.compile(r"<!--.*?-->|<(nowiki|pre|math)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE)
LINK = re.compile(r"\[\[([^\[\]|{}\n]+)(?:\||\]\])")
CATEGORIES = {"kategoreja", "category"}
FILES = {"fails", "file", "image", "attēls"}
OTHERS = {"vikipedeja", "taiss", "template", "special", "media", "user", "help", "talk"}


def counted(text: str, title: str, interwiki: frozenset[str]) -> tuple[set[str], set[str]]:
    """The articles that a text links to, and its categories, by a regular expression over what is read of it."""
    articles, categories = set(), set()
    for raw in LINK.findall(NOT_READ.sub("", text)):
        target = " ".join(html.unescape(raw).replace("_", " ").split())
        shown, target = target.startswith(":"), target.removeprefix(":").strip()
        prefix, colon, rest = target.partition(":")
        prefix = prefix.strip().casefold()
        if colon and prefix in CATEGORIES:
            if not shown:
                categories.add(capital(rest))
        elif not (colon and (prefix in FILES | OTHERS or prefix in interwiki)):
            articles.add(capital(target.partition("#")[0]))
    return articles - {"", title}, categories


def capital(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]


@pytest.mark.parametrize("form", ["JSON Lines", "dump"])
async def test_every_link_and_category_is_as_counted(tmp_path: Path, form: str) -> None:
    source = open_source(str(CORPUS if form == "JSON Lines" else as_export(tmp_path / "isles.xml")), tmp_path)
    site = await source.site()
    found = {title: page for title, page in (await everything(source)).items() if isinstance(page, Page)}
    articles = {title: page for title, page in found.items() if not page.aliases}
    links = inside = categories = 0
    for title, page in articles.items():
        article = parse_page(page, site, ParseOptions(disambiguation="links"))
        assert isinstance(article, Article)
        linked, filed = counted(page.text, title, site.interwiki)
        ours = {title_key(link) for link in article.links or ()}
        if form == "JSON Lines":
            # The file has no page of the project's namespace that would tell that this is one.
            ours = {link for link in ours if not link.startswith("Vikipedeja:")}
        assert ours == linked
        assert set(article.categories) == filed - site.hidden_categories
        links += len(linked)
        inside += len(linked & found.keys())
        categories += len(filed)
    assert len(articles) == 903
    assert (links, inside, categories) == (7170, 2611, 942)
