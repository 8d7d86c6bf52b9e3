"""The board's own name, which tells whether it is the company's that was meant."""

from __future__ import annotations

import re

from ramet.fetch.messages import text_of_bytes
from ramet.fetch.request import Request
from ramet.jobs.boards.entries import local_name, parsed_json, parsed_xml, xml_value
from ramet.jobs.boards.feeds import feed_entries, feed_root
from ramet.jobs.boards.fields import line
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import ACCEPT, first_request
from ramet.jobs.boards.paths import text_at
from ramet.jobs.detection.selectors import first_text
from ramet.jobs.errors import WrongShape

_WORDS = "jobs?|careers?|open(?:ings?| positions?| roles?)|vacancies|job board|job openings?|current openings|"
_WORDS += "career (?:page|site)|jobs and careers|careers and jobs|hiring|home"
_MARKS = "-\u2013\u2014|:\u00b7"
_BETWEEN = rf"\s{{0,4}}[{_MARKS}]\s{{0,4}}"
_BEHIND = re.compile(rf"(?:{_BETWEEN}|\s{{1,4}})(?:{_WORDS})\s{{0,4}}$", re.IGNORECASE)
_BEFORE = re.compile(rf"^(?:(?:{_WORDS}){_BETWEEN}|(?:{_WORDS}|work|working) (?:at|with|bei|chez|hos) )", re.IGNORECASE)
_NO_NAMES = re.compile(
    rf"(?:{_WORDS}|workday|lever|ashby|gem|rippling|search|not found|page not found|404|error|sign in|login|loading)",
    re.IGNORECASE,
)


def name_request(instruction: Instruction) -> Request | None:
    """What to ask for the board's own name; None: it does not tell it.

    Where it is the same as the first request of the list, the name is in the list's answer. That this request fails
    says nothing about the board.
    """
    name = instruction.name
    if name is None:
        return None
    if name.url is None:
        return first_request(instruction)
    kind = "json" if name.path else "html"
    return Request(name.url, headers={"Accept": ACCEPT[kind]})


def read_name(instruction: Instruction, body: bytes, media_type: str = "") -> str | None:
    """The board's own name in the answer to :func:`name_request`; None: it is not there. Never raises."""
    name = instruction.name
    if name is None:
        return None
    if name.path is None:
        found = of_title(first_text(text_of_bytes(body, media_type), name.selector))
    else:
        found = of_title(_at(instruction, name.path, body, media_type))
    if name.match is not None:
        match = re.search(name.match, found)
        found = match[1].strip() if match and match[1] else ""
    return found or None


def _at(instruction: Instruction, path: str, body: bytes, media_type: str) -> str:
    from_list = instruction.name is not None and instruction.name.url is None
    try:
        if from_list and instruction.type == "xml":
            root = parsed_xml(instruction, body)
            value = xml_value(root)
            rows = next(iter(value.values()), None) if isinstance(value, dict) else None
            first = rows[0] if isinstance(rows, list) and rows else rows
            return line(text_at({local_name(root): {"position": first}}, path))
        if from_list and instruction.type == "rss":
            return line(text_at(feed_entries(instruction, body, feed_root(instruction, body))[1], path))
        plain = instruction if from_list else instruction.model_copy(update={"embedded": None})
        return line(text_at(parsed_json(plain, body, media_type), path))
    except WrongShape:
        return ""


def of_title(title: str) -> str:
    """The name in a page's title: without the words around it that say what kind of page it is."""
    found = line(title)
    for _ in range(3):
        shorter = _BEFORE.sub("", _BEHIND.sub("", found)).strip(f" {_MARKS}")
        if shorter == found:
            break
        found = shorter
    return "" if _NO_NAMES.fullmatch(found) else found
