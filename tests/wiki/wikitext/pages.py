"""Pages to be read, as a source would hand them over."""

from __future__ import annotations

from ramet.model.keys import title_key
from ramet.wiki.pages import Article, Markup, Page, Refusal
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from ramet.wiki.wikitext.site import Site
from tests.wiki.wikitext.sites import ENGLISH


def wikitext(text: str, title: str = "Page", **stated: object) -> Page:
    """A page in wikitext; `stated` are further attributes of `Page`."""
    return Page(title, title_key(title), Markup.WIKITEXT, text, "7", **stated)  # type: ignore[arg-type]


def article(page: Page | str, site: Site = ENGLISH, options: ParseOptions | None = None) -> Article:
    """The article that a page is."""
    read = parse_page(wikitext(page) if isinstance(page, str) else page, site, options or ParseOptions())
    assert isinstance(read, Article), read
    return read


def refused(page: Page | str, site: Site = ENGLISH, options: ParseOptions | None = None) -> Refusal:
    """Why a page is no article."""
    read = parse_page(wikitext(page) if isinstance(page, str) else page, site, options or ParseOptions())
    assert isinstance(read, Refusal), read
    return read


def shown(text: str, site: Site = ENGLISH) -> str:
    """The plain text of a page's wikitext, all sections."""
    return article(f"x\n\n{text}", site).text.removeprefix("x").strip()
