"""Which pages a page links to, and which categories it says it is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ramet.model.keys import InvalidKey, title_key
from ramet.wiki.wikitext.plain_text import SCHEMES
from ramet.wiki.wikitext.site import CATEGORIES, Site
from ramet.wiki.wikitext.titles import WikiTitle, read_title

# Brackets count in pairs, and what begins like an address makes no link. A link's text ends at the first `]]` and has
# no other link in it. Possessive, so that no text is gone through twice.
_LINK = re.compile(
    rf"(?<!\[)(?:\[\[)++(?! *+(?:{SCHEMES}))"
    r"([^\[\]{}|<>\n\x02-\x05]++)(?:\|(?:[^\[\]]|\[(?!\[)|\](?!\]))*+)?\]\]"
)


def titles_linked(text: str, site: Site) -> Iterator[tuple[WikiTitle, bool]]:
    """Every title in `[[...]]` in reading order, and whether a colon stands before it, which makes it a plain link.

    Titles that no page can have, or that a template would complete, are left out.
    """
    for link in _LINK.finditer(text):
        try:
            yield read_title(link[1], site), link[1].lstrip().startswith(":")
        except InvalidKey:
            continue


def article_links(text: str, site: Site) -> Iterator[str]:
    """Display titles of the articles of the same wiki that a text links to, in reading order, with repeats."""
    return (title.text for title, _ in titles_linked(text, site) if title.is_article)


def categories(text: str, site: Site) -> tuple[str, ...]:
    """Canonical names of the categories that a text puts its page into: each once, hidden ones left out."""
    names = (
        title.text
        for title, colon in titles_linked(text, site)
        if title.namespace == CATEGORIES and not colon and title.text not in site.hidden_categories
    )
    return tuple(dict.fromkeys(names))


def distinct_links(titles: Iterable[str], key: str, links_max: int) -> tuple[str, ...]:
    """The first `links_max` of `titles`, without repeats, what is no title, and the page's own (`key`)."""
    found: dict[str, str] = {}
    for title in titles:
        if len(found) >= links_max:
            break
        try:
            linked = title_key(title)
        except InvalidKey:
            continue
        if linked != key:
            found.setdefault(linked, title.strip())
    return tuple(found.values())
