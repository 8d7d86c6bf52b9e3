"""Entries of a list from the bytes of an answer; anything but such a list is a wrong shape, never no openings."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urljoin
from xml.etree.ElementTree import Element, ParseError, tostring

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from ramet.fetch.messages import text_of_bytes
from ramet.jobs.boards.instruction import Instruction, Selectors, values_at
from ramet.jobs.detection.scripts import value_in_script
from ramet.jobs.detection.selectors import base_of
from ramet.jobs.errors import WrongShape
from ramet.jobs.text.markup import bounded

DEPTH_MAX = 40
"""Elements within one another of an XML entry."""
ENTRIES_MAX = 50_000
"""Entries of one answer. Boards with more than some thousands have pages."""
_SHOWN = 60
_SCRIPT = re.compile(r"script(?:#[\w-]{1,100}|\[[^\]]{1,100}\])")
Entry = TypeVar("Entry")


def misfit_error(instruction: Instruction, found: str) -> WrongShape:
    """Return an error for an answer that the instruction does not fit, on one line."""
    board = " ".join(filter(None, (instruction.vendor, instruction.token)))
    return WrongShape(f"{board}: {' '.join(found.split())[:300]}; asked at {instruction.url[:200]}")


def bounded_list(instruction: Instruction, entries: list[Entry]) -> list[Entry]:
    """Return the same entries.

    Raises:
        WrongShape: they are more than any board gives at once.
    """
    if len(entries) > ENTRIES_MAX:
        raise misfit_error(
            instruction, f"a list of {len(entries)} entries, and more than {ENTRIES_MAX} are not read at once"
        )
    return entries


def answer_excerpt(body: bytes | str) -> str:
    """Return the beginning of an answer, for people."""
    start = body[: 4 * _SHOWN]
    text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
    text = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    if not text:
        return "nothing"
    if re.match(r"<(!doctype html|html|head|body)", text, re.IGNORECASE):
        return f"a page ({text[:_SHOWN]})"
    return f"{text[:_SHOWN]!r}"


def described(value: Any) -> str:
    """Describe a value of a parsed answer, for people."""
    if isinstance(value, dict):
        names = ", ".join(str(name)[:30] for name in list(value)[:6])
        return f"an object with {names}" if names else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "nothing" if value is None else f"{str(value)[:_SHOWN]!r}"


def parsed_json(instruction: Instruction, body: bytes, media_type: str = "") -> Any:
    """Return the JSON of an answer, or the value in a page's script, which may be written as JavaScript writes it.

    Raises:
        WrongShape: there is none.
    """
    source = body if instruction.embedded is None else _embedded(instruction, text_of_bytes(body, media_type))
    try:
        if isinstance(source, str):
            return value_in_script(source.lstrip())[0]
        try:
            return json.loads(source, parse_constant=_no_number)
        except UnicodeDecodeError:
            return json.loads(text_of_bytes(source, media_type), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else "no JSON"
        raise misfit_error(instruction, f"{why}, but {answer_excerpt(source)}") from None


def _no_number(_: str) -> None:
    """Return None for NaN and the infinities, which are not JSON."""


def _embedded(instruction: Instruction, page: str) -> str:
    where = instruction.embedded or ""
    if _SCRIPT.fullmatch(where):
        # Only for pages: the parser comes with an extra.
        from ramet.jobs.detection.selectors import first_text

        found = first_text(page, where)
        if found:
            return found
    else:
        _, mark, found = page.partition(where)
        if mark:
            return found
    raise misfit_error(instruction, f"no {where!r} in {answer_excerpt(page)}")


def json_entries(instruction: Instruction, value: Any) -> list[Any]:
    """Return the list of openings in a parsed answer.

    Raises:
        WrongShape: there is no list where the instruction says.
    """
    path = instruction.response_path
    listed, each, _ = path.partition("[")
    found = values_at(value, listed)
    if not found or not isinstance(found[0], list):
        where = f"at {listed!r}" if listed else "at its top"
        raise misfit_error(instruction, f"no list {where}, but {described(found[0] if found else value)}")
    return list(values_at(value, path)) if each else found[0]


def parsed_xml(instruction: Instruction, body: bytes) -> Element:
    """Return the root of an XML answer. Neither entities nor anything outside of it are read.

    Raises:
        WrongShape: it is not XML, or has a document type with entities.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(body)
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        # An answer that defusedxml refuses raises a ValueError too.
        why = "XML with entities" if isinstance(error, DefusedXmlException) else "no XML"
        raise misfit_error(
            instruction, f"{why}, but {answer_excerpt(body)}" if why == "no XML" else f"{why}, which is not read"
        ) from None
    return root


def xml_entries(instruction: Instruction, root: Element) -> list[Any]:
    """Return the openings of an XML answer as objects. Its path is the root's name, then the children's.

    Raises:
        WrongShape: it has another root.
    """
    first, *steps = instruction.response_path.replace("[]", "").split(".")
    if local_name(root) != first:
        raise misfit_error(instruction, f"no <{first}>, but <{local_name(root)[:60]}>")
    found = [root]
    for step in steps:
        found = [child for each in found for child in each if local_name(child) == step]
    return [xml_value(one) for one in found]


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; comments and instructions have none."""
    name: object = element.tag
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def xml_value(element: Element, depth: int = 0) -> Any:
    """Return an element as JSON would have it: a leaf is its text, children of one name are a list."""
    if depth > DEPTH_MAX:
        return None
    text = (element.text or "").strip()
    if len(element) == 0 and not element.attrib:
        return text
    found: dict[str, Any] = {f"@{name.rpartition('}')[2]}": value for name, value in element.attrib.items()}
    if text:
        found["#text"] = text
    for child in element:
        name, value = local_name(child), xml_value(child, depth + 1)
        if not name:
            continue
        if name in found:
            before = found[name]
            found[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            found[name] = value
    return found


def total_of(instruction: Instruction, value: Any) -> int | None:
    """Return the number of openings that the board says it has."""
    if instruction.total_path is None:
        return None
    totals: Sequence[Any] = values_at(value, instruction.total_path)
    total = totals[0] if totals else None
    if isinstance(total, str) and total.isdecimal() and len(total) < 9:
        total = int(total)
    return total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 10**9 else None


class PageEntries(NamedTuple):
    """Openings of a page, and its links."""

    entries: list[Any]
    """Its openings, as objects of texts."""
    base: str
    """Address to which its links are relative."""
    following: str | None
    """The address of the next page, where there is a link to it."""


def page_entries(instruction: Instruction, body: bytes, media_type: str, *, url: str, page: int) -> PageEntries:
    """Return the openings of a page.

    Args:
        url: of the page.
        page: its number, from 1.

    Raises:
        WrongShape: the selectors are not valid, or nothing on the page fits them.
    """
    selectors = instruction.selectors
    if selectors is None:
        raise misfit_error(instruction, "an instruction for a page without selectors")
    tree = LexborHTMLParser(bounded(text_of_bytes(body, media_type)))
    try:
        items = tree.css(selectors.item)
        entries = [_page_entry(item, selectors) for item in bounded_list(instruction, items)]
        base = base_of(tree, url)
        following = _following(tree, instruction, base)
    except (ValueError, SelectolaxError) as error:
        raise misfit_error(instruction, f"a selector that is none ({error})") from None
    if not entries and page == 1 and not instruction.allow_empty:
        raise misfit_error(instruction, f"nothing fits {selectors.item!r} in {answer_excerpt(body)}")
    return PageEntries(entries, base, following)


def _page_entry(item: LexborNode, selectors: Selectors) -> dict[str, str]:
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


FEED_ROOTS = frozenset({"rss", "feed", "RDF"})
BROKEN_BYTES_MAX = 4 * 1024 * 1024
"""Most bytes of a feed that is not well-formed XML."""
NAMESPACES_MAX = 500
"""Most namespaces of a feed that is not well-formed XML; feedparser's time grows with their square."""

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
    """Return the root of a feed that is well-formed XML; None where it is not, which is common for feeds.

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
    """Return the entries of a feed, and what it says of itself.

    An entry has the names that feedparser gives it, and under ``xml`` its whole content, where the feed is well-formed
    XML.

    Args:
        root: as :func:`feed_root` gave it.

    Raises:
        WrongShape: it is not a feed.
    """
    if root is None:
        return _repaired_json(instruction, body)
    if local_name(root) not in FEED_ROOTS:
        raise misfit_error(instruction, f"no feed, but {answer_excerpt(body)}")
    heads = [root, *(child for child in root if local_name(child) == "channel")]
    titles = [_text(child) for head in heads for child in head if _own_name(child) == "title"]
    entries = [_feed_entry(one) for head in heads for one in head if local_name(one) in ("item", "entry")]
    return entries, {"feed": {"title": next(iter(titles), "")}}


def _repaired_json(instruction: Instruction, body: bytes) -> tuple[list[Any], Any]:
    import feedparser

    if not _ROOT.search(body[:HEAD_BYTES].replace(b"\x00", b"")):
        raise misfit_error(instruction, f"no feed, but {answer_excerpt(body)}")
    if len(body) > BROKEN_BYTES_MAX or body.count(b"xmlns") > NAMESPACES_MAX:
        raise misfit_error(
            instruction, f"a feed that is not well-formed XML, of {len(body)} bytes: {answer_excerpt(body)}"
        )
    # A stream: a string could be taken for an address, which would be fetched.
    feed = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not feed.get("version"):
        raise misfit_error(instruction, f"no feed, but {answer_excerpt(body)}")
    return [dict(entry) for entry in feed.entries], {"feed": dict(feed.feed)}


def _feed_entry(element: Element) -> dict[str, Any]:
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
    """Return an element's name where it is one of the feed's own elements; empty for those of an extension."""
    tag: object = element.tag
    namespace, _, name = tag.rpartition("}") if isinstance(tag, str) else ("", "", "")
    return name if namespace.removeprefix("{") in _STANDARD else ""


def _text(element: Element) -> str:
    """Return the text of an element; with its markup where it has elements in it (XHTML)."""
    if len(element) == 0:
        return (element.text or "").strip()
    for one in element.iter():
        one.tag = local_name(one) or "i"
    try:
        return tostring(element, encoding="unicode", method="html")
    except RecursionError:
        return (element.text or "").strip()
