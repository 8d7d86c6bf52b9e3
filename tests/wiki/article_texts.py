"""Articles out of a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from ramet.model.keys import title_key
from ramet.wiki.pages import Article, split_sections


def article_from_text(
    title: str,
    text: str,
    *,
    categories: Iterable[str] = (),
    description: str = "",
    links: Iterable[str] | None = None,
) -> Article:
    """Build an article from plain text with `== Heading ==` lines, as MediaWiki's extracts have them.

    Raises:
        ramet.model.keys.InvalidKey: `title` is no title.
    """
    return Article(
        title=title.strip(),
        key=title_key(title),
        sections=split_sections(text),
        categories=tuple(dict.fromkeys(name for raw in categories if (name := raw.strip()))),
        description=description.strip(),
        links=None if links is None else tuple(links),
    )
