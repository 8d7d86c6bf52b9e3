"""A whole small Wikipedia, as a simple reader understands it: what the pipeline makes of it is held against this.

Nothing here comes from the package. The reader knows the names of this wiki's namespaces and templates, goes over a
text with two patterns, and keeps everything in memory.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.wiki.sources.export_files import Revision, export, page

CORPUS = Path(__file__).parents[2].parent / "shared" / "wiki-corpus" / "ltgwiki.jsonl"
MAIN_PAGE = "Suoku puslopa"

HEAD = (
    "<mediawiki><siteinfo><sitename>Vikipedeja</sitename><base>https://ltg.wikipedia.example/wiki/Suoku_puslopa</base>"
    '<case>first-letter</case><namespaces><namespace key="0"/><namespace key="4">Vikipedeja</namespace>'
    '<namespace key="6">Fails</namespace><namespace key="10">Taiss</namespace>'
    '<namespace key="14">Kategoreja</namespace></namespaces></siteinfo>'
)
"""Of a dump of it."""

REDIRECT = re.compile(r"#redirect\s*\[\[([^\]|#]+)", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\|(?:(?!\[\[|\]\]).)*)?\]\]", re.DOTALL)
_NOT_READ = re.compile(r"<!--.*?-->|<(nowiki|pre|math)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_CATEGORY = re.compile(r"^(?:Kategoreja|Category):\s*", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"^(?:Fails|Attēls|File|Image|Kategoreja|Category|Vikipedeja|Seviškuo|Lītuotuojs"
    r"|En|Lv|Lt|Sv|Be|De|Et|Fr|Pl|Ru|Nds|Bat-smg|Fiu-vro|M|W|Commons|Bugzilla):",
    re.IGNORECASE,
)
_MEANINGS = re.compile(r"\{\{\s*(?:zeimeibu škiršona|disambig(?:uation)?)\s*[|}]", re.IGNORECASE)


class Reached(NamedTuple):
    """What following every link from some titles comes to."""

    articles: set[str]
    aliases: dict[str, str]
    meanings: set[str]
    """Pages that only tell meanings apart; nothing is followed from them."""
    missing: set[str]
    links: set[tuple[str, str]]
    """Between articles, redirects followed."""
    categories: set[tuple[str, str]]


@cache
def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@cache
def texts() -> dict[str, str]:
    """Wikitext of every page of the main namespace, redirects among them."""
    return {record["title"]: record["wikitext"] for record in records() if record["ns"] == 0}


def as_export(path: Path, *, head: str = HEAD) -> Path:
    """The same pages as a dump."""
    pages = (
        page(
            record["title"],
            Revision(record["wikitext"], record["revid"], record["timestamp"]),
            namespace=record["ns"],
            redirect=record["redirect"] or "",
        )
        for record in records()
    )
    return export(path, pages, head=head)


def follow(title: str) -> list[str]:
    """The titles from a redirect to what it leads to."""
    chain = [title]
    while (redirect := REDIRECT.match(texts().get(chain[-1], ""))) and len(chain) < 10:
        chain.append(canonical(redirect[1]))
    return chain


def canonical(title: str) -> str:
    spelled = unicodedata.normalize("NFC", urllib.parse.unquote(html.unescape(title)))
    spelled = " ".join(spelled.replace("_", " ").split())
    return spelled[:1].upper() + spelled[1:]


def reached(seeds: Iterable[str]) -> Reached:
    found = Reached(set(), {}, set(), set(), set(), set())
    to_do = list(seeds)
    seen = set(to_do)
    while to_do:
        *redirects, end = follow(to_do.pop())
        if end not in texts():
            found.missing.add([*redirects, end][0])
            continue
        if _MEANINGS.search(texts()[end]):
            found.meanings.add([*redirects, end][0])
            continue
        found.aliases.update(dict.fromkeys(redirects, end))
        found.articles.add(end)
        fresh = set(_titles(end)) - seen
        seen |= fresh
        to_do += fresh
    for title in found.articles:
        ends = {found.aliases.get(linked, linked) for linked in _titles(title)}
        found.links.update((title, end) for end in ends & found.articles - {title})
        found.categories.update((title, name) for name in _categories(title))
    return found


def _titles(title: str) -> Iterator[str]:
    for linked in _linked(title):
        name = canonical(linked.lstrip(": "))
        if name and not _ELSEWHERE.match(name):
            yield name


def _categories(title: str) -> Iterator[str]:
    for linked in _linked(title):
        if _CATEGORY.match(linked):
            yield canonical(_CATEGORY.sub("", linked))


def _linked(title: str) -> Iterator[str]:
    for link in _LINK.finditer(_NOT_READ.sub("", texts()[title])):
        yield html.unescape(link[1]).partition("#")[0].strip()
