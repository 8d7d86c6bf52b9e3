"""How an expansion of the tests' MediaWiki has to end: worked out from its texts, with no part of the pipeline."""

from __future__ import annotations

import html
import re
import unicodedata
from urllib.parse import unquote

from tests.wiki.mediawiki_pages import ATLAS, REDIRECTS, texts

_UNSEEN = re.compile(r"<!--.*?-->|<nowiki>.*?</nowiki>", re.DOTALL)
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_ELSEWHERE = re.compile(r"(?i):?(category|talk|template|wikipedia):")
_CATEGORY = re.compile(r"(?i)\[\[category:([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_TEMPLATE = re.compile(r"\{\{(\w+)\}\}")
_NOT_SHOWN_ON_OTHERS = re.compile(r"<noinclude>.*?</noinclude>")

FAILED = {
    "Round A": "redirect_loop",
    "Round B": "redirect_loop",
    "Own tail": "redirect_loop",
    "Long ring 1": "redirect_loop",
    "Long ring 2": "redirect_loop",
    "Long ring 3": "redirect_loop",
    "Into the ring": "redirect_loop",
    "To nowhere": "not_found",
    "Abroad": "elsewhere",
    "The islands": "not_an_article",
    "Bell (disambiguation)": "disambiguation",
    "Blank page": "unparsable",
}
"""Titles that are there and lead to no article."""
MEANT = ("links", "disambiguation")


def spelt(title: str) -> str:
    """A link's target as the wiki writes it."""
    text = unquote(html.unescape(title)).partition("#")[0].replace("_", " ").strip()
    text = unicodedata.normalize("NFC", text)
    return text[:1].upper() + text[1:]


def links_of(title: str) -> set[str]:
    """The titles that a page of this wiki links to in its own text, itself left out."""
    found = _LINK.findall(_UNSEEN.sub("", texts()[title]))
    return {spelt(target) for target in found if not _ELSEWHERE.match(target.strip())} - {title, ""}


def categories_of(title: str) -> set[str]:
    """The categories that the wiki shows below a page, with those that its templates bring in."""
    text = _UNSEEN.sub("", texts()[title])
    for name in _TEMPLATE.findall(text):
        text += _NOT_SHOWN_ON_OTHERS.sub("", texts().get(f"Template:{name}", ""))
    names = {spelt(name) for name in _CATEGORY.findall(text)}
    return {name for name in names if "__HIDDENCAT__" not in texts().get(f"Category:{name}", "")}


def end_of(title: str) -> str:
    """What a title leads to through redirects; it is in `texts` if that is an article."""
    while title in REDIRECTS and title not in FAILED:
        title = spelt(REDIRECTS[title])
    return title


class Truth:
    """What an expansion from `ATLAS` without limits leaves.

    Attributes:
        articles: the titles of all loaded articles.
        aliases: the article that each redirect leads to.
        failed: the reason by each title that leads to none.
        links: (source, target) of articles that link each other, redirects followed, nothing twice, none to itself.
        missed: (source, target) of links to titles that lead to no article.
        categories: (article, category).
    """

    def __init__(self, *, disambiguation: str = "fail") -> None:
        """`disambiguation`: `fail`, or `links`, where such pages are articles."""
        failed = {title: reason for title, reason in FAILED.items() if (disambiguation, reason) != MEANT}
        self.articles: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        waiting = [ATLAS]
        while waiting:
            title = waiting.pop()
            if title in self.articles or title in self.aliases or title in self.failed:
                continue
            if title in failed or title not in texts():
                self.failed[title] = failed.get(title, "not_found")
            elif title in REDIRECTS:
                self.aliases[title] = end_of(title)
                # The redirects on the way are found with the first of them.
                waiting += [end_of(title), spelt(REDIRECTS[title])]
            else:
                self.articles.add(title)
                waiting += sorted(links_of(title))
        ends = {(source, end_of(target)) for source in self.articles for target in links_of(source)}
        self.links = {(source, end) for source, end in ends if end in self.articles and end != source}
        self.missed = {(source, end) for source, end in ends if end in self.failed}
        self.categories = {(title, category) for title in self.articles for category in categories_of(title)}
