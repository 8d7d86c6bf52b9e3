"""Links, categories and sections of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ramet import InvalidKey, title_key
from ramet.wiki.pages import Article, HeadingPath, Markup, Page, Refusal, RefusalReason, Section, split_sections
from ramet.wiki.wikitext.infobox import facts_of
from ramet.wiki.wikitext.markup import (
    Views,
    read_extensions,
    templates_named,
    with_labels,
    without_tables,
    without_templates,
)
from ramet.wiki.wikitext.plain_text import GONE, SCHEMES, clean, plain
from ramet.wiki.wikitext.rendered import rendered_sections
from ramet.wiki.wikitext.site import CATEGORIES, Site
from ramet.wiki.wikitext.titles import WikiTitle, read_title, redirect_target

# Brackets count in pairs, and what begins like an address makes no link. A link's text ends at the first `]]` and has
# no other link in it. Possessive or atomic, so that no text is gone through twice.
_LINK = re.compile(
    rf"(?<!\[)(?>(?:\[\[)+)(?! *+(?:{SCHEMES}))"
    r"([^\[\]{}|<>\n\x02-\x05]++)(?:\|(?>(?:[^\[\]]|\[(?!\[)|\](?!\]))*))?\]\]"
)


def titles_linked(text: str, site: Site) -> Iterator[tuple[WikiTitle, bool]]:
    """Yield every title in `[[...]]` in reading order, and whether a colon precedes it, which makes it a plain link.

    Titles that no page can have, or that a template would complete, are left out.
    """
    for link in _LINK.finditer(text):
        try:
            yield read_title(link[1], site), link[1].lstrip().startswith(":")
        except InvalidKey:
            continue


def article_links(text: str, site: Site) -> Iterator[str]:
    """Yield display titles of the articles of the same wiki that a text links to, in reading order, with repeats."""
    return (title.text for title, _ in titles_linked(text, site) if title.is_article)


def categories(text: str, site: Site) -> tuple[str, ...]:
    """Return the canonical names of the categories that a text puts its page into: each once, hidden ones left out."""
    names = (
        title.text
        for title, colon in titles_linked(text, site)
        if title.namespace == CATEGORIES and not colon and title.text not in site.hidden_categories
    )
    return tuple(dict.fromkeys(names))


def distinct_links(titles: Iterable[str], key: str, links_max: int) -> tuple[str, ...]:
    """Return the first `links_max` of `titles`, without repeats, invalid titles and the page's own (`key`)."""
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


TEXT_BYTES_MAX = 4_000_000
"""Most bytes of UTF-8 of a page that is read; MediaWiki's own limit for a page is half of it."""

_HEADING = re.compile(rf"^{GONE}*+=.*=[ {GONE}]*+$", re.MULTILINE)
_DISAMBIGUATION = re.compile(r"__DISAMBIG__", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Rules for what is taken from a page.

    Attributes:
        links: `body`, the links that its text has; `all`, those that the source states, which a template may bring
            in, where it states any.
        disambiguation: whether a page that only tells meanings apart is refused (`fail`) or an article (`links`).
        links_max: how many links of a page are kept, the first ones.
    """

    links: Literal["body", "all"] = "body"
    disambiguation: Literal["fail", "links"] = "fail"
    links_max: int = 10_000


def parse_page(page: Page, site: Site, options: ParseOptions) -> Article | Refusal:
    """Read a page. Never raises, and takes time in proportion to its text, whatever the text is.

    Refused are: more than `TEXT_BYTES_MAX` (TOO_LARGE); a text that is a redirect still, since a source follows them
    (REDIRECT_LOOP); disambiguation pages, unless they are asked for (DISAMBIGUATION); a page that has neither text
    nor links, such as an empty one (UNPARSABLE). Broken wikitext is read as far as it makes sense.
    """
    # A character has four bytes at most: most pages need not be encoded to be known as small.
    if len(page.text) * 4 > TEXT_BYTES_MAX and len(page.text.encode(errors="replace")) > TEXT_BYTES_MAX:
        return Refusal(RefusalReason.TOO_LARGE, f"{page.title!r} has more than {TEXT_BYTES_MAX:,} bytes of text")
    text = clean(page.text)
    if page.markup is Markup.PLAIN:
        return _article(page, split_sections(text), page.links or (), page.categories or (), options)
    if redirect_target(text, site) is not None:
        return Refusal(RefusalReason.REDIRECT_LOOP, f"{page.title!r} is a redirect that leads to no article")
    views = read_extensions(text)
    body = "".join(views.links)
    if options.disambiguation == "fail" and _is_disambiguation(page, body, site):
        return Refusal(RefusalReason.DISAMBIGUATION, f"{page.title!r} only tells the meanings of its title apart")
    stated = page.links if options.links == "all" else None
    read = _article(
        page,
        tuple(_sections(views, site)) if page.html is None else rendered_sections(page.html),
        article_links(body, site) if stated is None else stated,
        categories(body, site) if page.categories is None else page.categories,
        options,
    )
    if isinstance(read, Refusal):
        return read
    facts = facts_of("".join(views.text), lambda value: _value(value, views, site))
    return replace(
        read,
        infobox=facts.infobox,
        latitude=facts.latitude if page.latitude is None else page.latitude,
        longitude=facts.longitude if page.latitude is None else page.longitude,
    )


def _article(
    page: Page, sections: tuple[Section, ...], links: Iterable[str], categories: Iterable[str], options: ParseOptions
) -> Article | Refusal:
    linked = distinct_links(links, page.key, options.links_max)
    if not sections and not linked:
        return Refusal(RefusalReason.UNPARSABLE, f"no text left of {page.title!r}, and it links to no article")
    return Article(
        title=page.title,
        key=page.key,
        sections=sections,
        categories=tuple(dict.fromkeys(categories)),
        description=page.description,
        links=linked,
        revision=page.revision,
        url=page.url,
        latitude=page.latitude,
        longitude=page.longitude,
        wikidata=page.wikidata,
    )


def _is_disambiguation(page: Page, body: str, site: Site) -> bool:
    if page.disambiguation is not None:
        return page.disambiguation
    if _DISAMBIGUATION.search(body):
        return True
    marks = site.disambiguation_templates
    return bool(marks) and any(name in marks for name in templates_named(body, site))


def _sections(views: Views, site: Site) -> Iterator[Section]:
    """Yield the lead and the sections that have text, in reading order."""
    text = without_tables(with_labels(without_templates("".join(views.text), site), site))
    heading, level, path, at = "", 1, "", 0
    headings = HeadingPath()
    for line in _HEADING.finditer(text):
        found = _heading(line[0].strip(f" {GONE}"))
        if found is None:
            continue
        if shown := _shown(text[at : line.start()], views):
            yield Section(heading, level, shown, path)
        level, heading, at = found[0], _one_line(views.restore(plain(found[1]))), line.end()
        path = headings.enter(level, heading)
    if shown := _shown(text[at:], views):
        yield Section(heading, level, shown, path)


def _value(text: str, views: Views, site: Site) -> str:
    """Return a field of an infobox in plain text."""
    return views.restore(plain(without_tables(with_labels(without_templates(text, site), site))))


def _shown(text: str, views: Views) -> str:
    return "" if text.isspace() else views.restore(plain(text)).strip()


def _heading(line: str) -> tuple[int, str] | None:
    """Return (level, wikitext) of a line that begins and ends with `=`; None if there is nothing between.

    Its level is the lesser count of the two ends, and 2 for a page that uses 1: that is the lead's.
    """
    before = len(line) - len(line.lstrip("="))
    if before == len(line):
        return None
    level = min(before, len(line) - len(line.rstrip("=")), 6)
    return max(level, 2), line[level:-level]


def _one_line(text: str) -> str:
    return " ".join(text.split())
