"""Entries of RSS and Atom feeds."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element

from ramet.pipelines.jobs.boards.instruction import Instruction
from ramet.pipelines.jobs.boards.shapes import local_name, parsed_xml, seen, wrong, xml_value
from ramet.pipelines.jobs.errors import WrongShape

FEED_ROOTS = frozenset({"rss", "feed", "RDF"})
ENTRIES_MAX = 10_000

_ENTITIES = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)


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

    An entry has the names that feedparser gives it, and under ``xml`` all that the feed has, where it is sound XML.

    Raises:
        WrongShape: it is no feed.
    """
    import feedparser

    # A stream: a string could be taken for an address, which would be fetched.
    feed = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not feed.get("version") and not (root is not None and local_name(root) in FEED_ROOTS):
        raise wrong(instruction, f"no feed, but {seen(body)}")
    entries = [dict(entry) for entry in feed.entries[:ENTRIES_MAX]]
    elements = [] if root is None else [one for one in _descendants(root) if local_name(one) in ("item", "entry")]
    if len(elements) == len(feed.entries):
        for entry, element in zip(entries, elements, strict=False):
            entry["xml"] = xml_value(element)
    return entries, {"feed": dict(feed.feed)}


def _descendants(root: Element) -> Iterable[Element]:
    """The elements that entries can be: below the root, or below its children."""
    for child in root:
        yield child
        yield from child
