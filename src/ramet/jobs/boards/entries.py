"""From the bytes of an answer to the entries of its list; what is no such list is a wrong shape, never no openings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, ParseError

from ramet.fetch.messages import text_of_bytes
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paths import values_at
from ramet.jobs.detection.scripts import value_in_script
from ramet.jobs.errors import WrongShape

DEPTH_MAX = 40
"""Elements within one another of an XML entry."""
ENTRIES_MAX = 50_000
"""Entries of one answer. Boards with more than some thousands have pages."""
_SHOWN = 60
_SCRIPT = re.compile(r"script(?:#[\w-]{1,100}|\[[^\]]{1,100}\])")
Entry = TypeVar("Entry")


def wrong(instruction: Instruction, found: str) -> WrongShape:
    """An answer that the instruction does not fit, on one line."""
    board = " ".join(filter(None, (instruction.vendor, instruction.token)))
    return WrongShape(f"{board}: {' '.join(found.split())[:300]}; asked at {instruction.url[:200]}")


def bounded_list(instruction: Instruction, entries: list[Entry]) -> list[Entry]:
    """The same entries.

    Raises:
        WrongShape: they are more than any board gives at once.
    """
    if len(entries) > ENTRIES_MAX:
        raise wrong(instruction, f"a list of {len(entries)} entries, and more than {ENTRIES_MAX} are not read at once")
    return entries


def seen(body: bytes | str) -> str:
    """How an answer begins, for people."""
    start = body[: 4 * _SHOWN]
    text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
    text = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    if not text:
        return "nothing"
    if re.match(r"<(!doctype html|html|head|body)", text, re.IGNORECASE):
        return f"a page ({text[:_SHOWN]})"
    return f"{text[:_SHOWN]!r}"


def described(value: Any) -> str:
    """What a value of a parsed answer is, for people."""
    if isinstance(value, dict):
        names = ", ".join(str(name)[:30] for name in list(value)[:6])
        return f"an object with {names}" if names else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "nothing" if value is None else f"{str(value)[:_SHOWN]!r}"


def parsed_json(instruction: Instruction, body: bytes, media_type: str = "") -> Any:
    """The JSON of an answer, or the value in a page's script, which may be written as JavaScript writes it.

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
        raise wrong(instruction, f"{why}, but {seen(source)}") from None


def _no_number(_: str) -> None:
    """NaN and the infinities, which are no JSON, are not there."""


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
    raise wrong(instruction, f"no {where!r} in {seen(page)}")


def json_entries(instruction: Instruction, value: Any) -> list[Any]:
    """The list of openings in a parsed answer.

    Raises:
        WrongShape: there is no list where the instruction says.
    """
    path = instruction.response_path
    listed, each, _ = path.partition("[")
    found = values_at(value, listed)
    if not found or not isinstance(found[0], list):
        where = f"at {listed!r}" if listed else "at its top"
        raise wrong(instruction, f"no list {where}, but {described(found[0] if found else value)}")
    return list(values_at(value, path)) if each else found[0]


def parsed_xml(instruction: Instruction, body: bytes) -> Element:
    """The root of an XML answer. Neither entities nor anything outside of it are read.

    Raises:
        WrongShape: it is no XML, or has a document type with entities.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(body)
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        # What defusedxml refuses is a ValueError too.
        why = "XML with entities" if isinstance(error, DefusedXmlException) else "no XML"
        raise wrong(
            instruction, f"{why}, but {seen(body)}" if why == "no XML" else f"{why}, which is not read"
        ) from None
    return root


def xml_entries(instruction: Instruction, root: Element) -> list[Any]:
    """The openings of an XML answer as objects. Its path is the root's name, then the children's.

    Raises:
        WrongShape: it has another root.
    """
    first, *steps = instruction.response_path.replace("[]", "").split(".")
    if local_name(root) != first:
        raise wrong(instruction, f"no <{first}>, but <{local_name(root)[:60]}>")
    found = [root]
    for step in steps:
        found = [child for each in found for child in each if local_name(child) == step]
    return [xml_value(one) for one in found]


def local_name(element: Element) -> str:
    """An element's name without its namespace; comments and instructions have none."""
    name: object = element.tag
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def xml_value(element: Element, depth: int = 0) -> Any:
    """An element as JSON would have it: a leaf is its text, children of one name are a list."""
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
    """How many openings the board says that it has."""
    if instruction.total_path is None:
        return None
    totals: Sequence[Any] = values_at(value, instruction.total_path)
    total = totals[0] if totals else None
    if isinstance(total, str) and total.isdecimal() and len(total) < 9:
        total = int(total)
    return total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 10**9 else None
