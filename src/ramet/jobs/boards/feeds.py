"""Entries of RSS and Atom feeds.

A feed that is sound XML is read as such, whatever its size. feedparser, which makes something of nearly anything, is
for the others: it takes quadratic time for some texts, so what it is given is bounded.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, tostring

from ramet.jobs.boards.entries import local_name, parsed_xml, seen, wrong, xml_value
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.errors import WrongShape

FEED_ROOTS = frozenset({"rss", "feed", "RDF"})
BROKEN_BYTES_MAX = 4 * 1024 * 1024
"""Of a feed that is no sound XML."""
NAMESPACES_MAX = 500
"""Of a feed that is no sound XML; feedparser's time grows with their square."""

HEAD_BYTES = 16_384
"""How far into it the root of a feed has to be."""

_ROOT = re.compile(rb"<(?:\w{1,20}:)?(?:rss|feed|RDF)\b", re.IGNORECASE)
_ENTITIES = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)
_STANDARD = frozenset({"", "http://www.w3.org/2005/Atom", "http://purl.org/rss/1.0/", "http://purl.org/atom/ns#"})
"""Namespaces of a feed's own elements."""
_NAMES = {
    "title": "title",
    "link": "link",
    "guid": "id",
    "id": "id",
    "description": "summary",
    "summary": "summary",
    "pubDate": "published",
    "published": "published",
    "issued": "published",
    "category": "category",
}
"""feedparser's names by the feed's own. Dates of a change are not among them."""
_TEXT_WITH_ITS_MARKUP = "{http://purl.org/rss/1.0/modules/content/}encoded"
_DUBLIN_CORE_DATE = "{http://purl.org/dc/elements/1.1/}date"


def feed_root(instruction: Instruction, body: bytes) -> Element | None:
    """The root of a feed that is sound XML; None where it is not, which is nothing special for a feed.

    Raises:
        WrongShape: it has entities.
    """
    try:
        return parsed_xml(instruction, body)
    except WrongShape as error:
        if "entities" in str(error) or _ENTITIES.search(body.replace(b"\x00", b"")):
            raise
        return None


def feed_entries(instruction: Instruction, body: bytes, root: Element | None) -> tuple[list[Any], Any]:
    """The entries of a feed, and what it says of itself.

    An entry has the names that feedparser gives it, and under ``xml`` all that is in it, where the feed is sound XML.

    Args:
        root: as :func:`feed_root` gave it.

    Raises:
        WrongShape: it is no feed.
    """
    if root is None:
        return _mended(instruction, body)
    if local_name(root) not in FEED_ROOTS:
        raise wrong(instruction, f"no feed, but {seen(body)}")
    heads = [root, *(child for child in root if local_name(child) == "channel")]
    titles = [_text(child) for head in heads for child in head if _own_name(child) == "title"]
    entries = [_entry(one) for head in heads for one in head if local_name(one) in ("item", "entry")]
    return entries, {"feed": {"title": next(iter(titles), "")}}


def _mended(instruction: Instruction, body: bytes) -> tuple[list[Any], Any]:
    import feedparser

    if not _ROOT.search(body[:HEAD_BYTES].replace(b"\x00", b"")):
        raise wrong(instruction, f"no feed, but {seen(body)}")
    if len(body) > BROKEN_BYTES_MAX or body.count(b"xmlns") > NAMESPACES_MAX:
        raise wrong(instruction, f"a feed that is no sound XML, of {len(body)} bytes: {seen(body)}")
    # A stream: a string could be taken for an address, which would be fetched.
    feed = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not feed.get("version"):
        raise wrong(instruction, f"no feed, but {seen(body)}")
    return [dict(entry) for entry in feed.entries], {"feed": dict(feed.feed)}


def _entry(element: Element) -> dict[str, Any]:
    found: dict[str, Any] = {"xml": xml_value(element)}
    for name, value in _fields(element):
        if value and name not in found:
            found[name] = value
    return found


def _fields(element: Element) -> Iterator[tuple[str, Any]]:
    for child in element:
        name = _own_name(child)
        if name == "link" and child.get("href"):
            # Atom has several links, of which the one to a page may say so or say nothing.
            yield "link" if child.get("rel", "alternate") == "alternate" else "other_link", child.get("href")
        elif name == "content" or child.tag == _TEXT_WITH_ITS_MARKUP:
            yield "content", [{"value": _text(child)}]
        elif name in _NAMES:
            yield _NAMES[name], _text(child)
        elif child.tag == _DUBLIN_CORE_DATE:
            yield "published", _text(child)


def _own_name(element: Element) -> str:
    """An element's name where it is one of the feed's own elements, and none of an extension."""
    tag: object = element.tag
    namespace, _, name = tag.rpartition("}") if isinstance(tag, str) else ("", "", "")
    return name if namespace.removeprefix("{") in _STANDARD else ""


def _text(element: Element) -> str:
    """The text of an element; with its markup where it has elements in it (XHTML)."""
    if len(element) == 0:
        return (element.text or "").strip()
    for one in element.iter():
        one.tag = local_name(one) or "i"
    try:
        return tostring(element, encoding="unicode", method="html")
    except RecursionError:
        return (element.text or "").strip()
