"""Openings that a page has as a list in its scripts, for its own program to show. Pure."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from ramet.jobs.detection.addresses import address_of
from ramet.jobs.detection.scripts import value_in_script
from ramet.jobs.detection.selectors import ITEMS_MIN, PROVEN_SHARE, base_of, is_title, leads_to_opening

VALUES_MAX = 10
"""Objects and lists in a page's scripts that are read."""
ASSIGNED_MAX = 200
"""Of a script, those that are looked at for that."""
LISTS_MAX = 20_000
"""Values in one of them that are looked at."""
FAILURES_MAX = 5
"""Of a page, those that turn out to be none."""
LENGTH_MIN = 300
"""Characters of a list of openings, at least."""

_ASSIGNED = re.compile(r"[\w$][\w.$]{0,60}(?:\[['\"][\w-]{1,40}['\"]\])?\s{0,5}=\s{0,5}(?=[\[{])")
_SPEAKS = re.compile(r"\b(?:title|jobTitle|job_title|name|position)\b['\"]?\s{0,5}:")
_NAME = re.compile(r"[A-Za-z_$][\w$-]{0,60}")
_TITLES = ("title", "jobTitle", "job_title", "positionTitle", "name", "position", "text")
_URLS = (
    "url", "jobUrl", "job_url", "absolute_url", "hostedUrl", "detailUrl", "detail_url", "href", "link", "permalink",
    "path", "applyUrl", "apply_url",
)  # fmt: skip
_OTHERS = {
    "external_id": ("id", "jobId", "job_id", "reqId", "requisitionId", "reference"),
    "location": ("locations_text", "locationName", "location_name", "location", "location.name", "city", "office"),
    "posted_at": ("datePosted", "posted_at", "postedDate", "published_at", "published_date", "publishedAt", "date"),
    "employment_type": ("employment_type", "employmentType", "jobType", "job_type"),
    "department": ("department", "department.name", "category", "team"),
}
_TEMPLATE_LINK = re.compile(r"(https?://[\w.-]{1,200})/?\{[^}]{0,60}\burl\b")
"""Of a template for an opening: what stands before the opening's own address."""


def embedded_in(tree: LexborHTMLParser, html: str, url: str) -> dict[str, Any] | None:
    """Where a page's scripts have its openings.

    Args:
        tree: the same page, parsed.

    Returns:
        ``{"embedded": ..., "response_path": ..., "fields": {...}, "base_url": ...}``: what stands before the value
        (or the CSS selector of its script), the path to the list in it, each field's path in an opening, what their
        addresses are relative to. Tried on this page: at least three openings have a title and a link. None: nowhere.
    """
    link = _TEMPLATE_LINK.search(html)
    base = link[1] if link is not None else base_of(tree, url)
    for mark, value in itertools.islice(_values(tree, html), VALUES_MAX):
        for path, listed in _lists(value):
            fields = _fields(listed, base)
            if fields is not None:
                return {"embedded": mark, "response_path": path, "fields": fields, "base_url": base}
    return None


def _values(tree: LexborHTMLParser, html: str) -> Iterator[tuple[str, Any]]:
    """What scripts assign, and what they hold as data, with what it is found by."""
    failures = 0
    for node in tree.css("script:not([src])"):
        text = node.text(deep=True)
        media, name = node.attributes.get("type") or "", node.attributes.get("id") or ""
        if len(text) < LENGTH_MIN or "ld+json" in media or not _SPEAKS.search(text):
            continue
        if "json" in media:
            if _NAME.fullmatch(name):
                yield f"script#{name}", _value(text, 0)[0]
            continue
        end = 0
        for assigned in itertools.islice(_ASSIGNED.finditer(text), ASSIGNED_MAX):
            if assigned.start() < end or len(text) - assigned.end() < LENGTH_MIN or html.count(assigned[0]) != 1:
                continue
            value, end = _value(text, assigned.end())
            failures += end == 0
            if failures > FAILURES_MAX:
                return
            if end - assigned.end() >= LENGTH_MIN:
                yield assigned[0], value


def _value(text: str, start: int) -> tuple[Any, int]:
    try:
        return value_in_script(text, start)
    except ValueError:
        return None, 0


def _lists(value: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The lists of objects in a value, and their paths."""
    waiting: deque[tuple[str, Any]] = deque([("", value)])
    for _ in range(LISTS_MAX):
        if not waiting:
            return
        path, current = waiting.popleft()
        if isinstance(current, list):
            objects = [one for one in current if isinstance(one, dict)]
            if len(objects) >= ITEMS_MIN:
                yield path, objects
        elif isinstance(current, dict) and path.count(".") < 12:
            inner = ((name, part) for name, part in current.items() if isinstance(part, dict | list))
            waiting.extend((f"{path}.{name}".lstrip("."), part) for name, part in inner if _NAME.fullmatch(name))


def _fields(listed: list[dict[str, Any]], base: str) -> dict[str, str] | None:
    """The fields of what may be openings; None: they have no title or no address that leads to one."""
    enough = max(ITEMS_MIN, PROVEN_SHARE * len(listed))
    title = next((name for name in _TITLES if _count(listed, name, is_title) >= enough), None)
    url = next((name for name in _URLS if _count(listed, name, lambda text: _leads(text, base)) >= enough), None)
    if title is None or url is None:
        return None
    fields = {"title": title, "url": url}
    for field, names in _OTHERS.items():
        known = next((name for name in names if _count(listed, name, bool, distinct=False) * 2 > len(listed)), None)
        if known is not None:
            fields[field] = known
    return fields


def _count(listed: list[dict[str, Any]], path: str, fits: Any, *, distinct: bool = True) -> int:
    """How many objects have a fitting text there; each text once."""
    texts = [text for one in listed if (text := _text(one, path)) and fits(text)]
    return len(set(texts)) if distinct else len(texts)


def _text(one: dict[str, Any], path: str) -> str:
    value: Any = one
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _leads(text: str, base: str) -> bool:
    address = address_of(text, base)
    return address is not None and leads_to_opening(address)
