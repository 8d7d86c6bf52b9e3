"""Entries of a page by CSS selectors."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from ramet.fetch.messages import text_of_bytes
from ramet.jobs.boards.entries import bounded_list, seen, wrong
from ramet.jobs.boards.instruction import Instruction, Selectors
from ramet.jobs.detection.selectors import base_of
from ramet.jobs.text.markup import bounded


class PageEntries(NamedTuple):
    """What a page has."""

    entries: list[Any]
    """Its openings, as objects of texts."""
    base: str
    """What its links are relative to."""
    following: str | None
    """The address of the next page, where there is a link to it."""


def page_entries(instruction: Instruction, body: bytes, media_type: str, *, url: str, page: int) -> PageEntries:
    """The openings of a page.

    Args:
        url: of the page.
        page: its number, from 1.

    Raises:
        WrongShape: the selectors are none, or nothing on the page fits them.
    """
    selectors = instruction.selectors
    if selectors is None:
        raise wrong(instruction, "an instruction for a page without selectors")
    tree = LexborHTMLParser(bounded(text_of_bytes(body, media_type)))
    try:
        items = tree.css(selectors.item)
        entries = [_entry(item, selectors) for item in bounded_list(instruction, items)]
        base = base_of(tree, url)
        following = _following(tree, instruction, base)
    except (ValueError, SelectolaxError) as error:
        raise wrong(instruction, f"a selector that is none ({error})") from None
    if not entries and page == 1 and not instruction.allow_empty:
        raise wrong(instruction, f"nothing fits {selectors.item!r} in {seen(body)}")
    return PageEntries(entries, base, following)


def _entry(item: LexborNode, selectors: Selectors) -> dict[str, str]:
    found = {}
    for name, choices in selectors.fields.items():
        texts = (_taken(item, selector, link=name == "url") for selector in choices)
        found[name] = next((text for text in texts if text), "")
    return {name: text for name, text in found.items() if text}


def _taken(item: LexborNode, selector: str, *, link: bool) -> str:
    css, at, attribute = selector.partition("@")
    css = css.strip()
    node = item if css in ("", ".") else item.css_first(css)
    if node is None:
        return ""
    if link and not at:
        if node.tag != "a":
            node = node.css_first("a[href]")
        attribute = "href"
    if node is None:
        return ""
    if attribute:
        return node.attributes.get(attribute.strip()) or ""
    return " ".join(node.text(deep=True, separator=" ", strip=False).split())


def _following(tree: LexborHTMLParser, instruction: Instruction, base: str) -> str | None:
    if instruction.paging is None or instruction.paging.selector is None:
        return None
    node = tree.css_first(instruction.paging.selector)
    address = node.attributes.get("href") if node is not None else None
    try:
        return urljoin(base, address) if address else None
    except ValueError:
        return None
