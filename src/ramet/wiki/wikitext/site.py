"""What a wiki says of itself that decides how its titles are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ARTICLES = 0
TEMPLATES = 10
CATEGORIES = 14


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki's rules for titles, as its `siteinfo` or its dump states them.

    Attributes:
        name: what the wiki calls itself.
        namespaces: number by casefolded prefix without the colon: local names, canonical names and aliases. The
            canonical English names are always among them, as MediaWiki takes them everywhere.
        interwiki: casefolded prefixes that lead to other wikis.
        capital_first: whether the first letter of a title is upper-cased (all but wiktionaries).
        redirect_words: words that begin a redirect, such as `#REDIRECT`, casefolded.
        disambiguation_templates: canonical titles, without namespace, of templates that mark a page as disambiguation.
        hidden_categories: canonical names of categories that are not shown.
        article_url: where an article is read, with `$1` for its title; empty if nowhere.
    """

    name: str
    namespaces: Mapping[str, int] = field(default_factory=dict)
    interwiki: frozenset[str] = frozenset()
    capital_first: bool = True
    redirect_words: tuple[str, ...] = ("#redirect",)
    disambiguation_templates: frozenset[str] = frozenset()
    hidden_categories: frozenset[str] = frozenset()
    article_url: str = ""
