"""Values written as JavaScript in a page's scripts: JSON, and what JSON does not allow (names and texts in single
quotes, names without any, comments, commas at the end). Nothing is run: an expression that is not a plain
value becomes None."""

from __future__ import annotations

import itertools
import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from ramet.jobs.detection.addresses import address_of
from ramet.jobs.detection.selectors import ITEMS_MIN, PROVEN_SHARE, base_of, is_title, leads_to_opening

DEPTH_MAX = 100
TOKENS_MAX = 500_000

_TOKEN = re.compile(
    r"""\s*+(?:(?P<text>"(?>(?:[^"\\]++|\\.)*)(?:"|\Z)|'(?>(?:[^'\\]++|\\.)*)(?:'|\Z)|`(?>(?:[^`\\]++|\\.)*)(?:`|\Z))"""
    r"""|(?P<word>[\w.$+-]++)|(?P<note>//[^\n]*+|/\*.*?(?:\*/|\Z))|(?P<mark>.))""",
    re.DOTALL,
)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None}
_OPENING, _CLOSING = "{[(", "}])"


def value_in_script(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the object or list that begins at a place of a script, and where it ends.

    Raises:
        ValueError: there is none, or it has no end, or lies too deep.
    """
    if text[start : start + 1] in ("{", "["):
        try:
            return json.JSONDecoder(strict=False).raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
    return _Reader(text, start).read()


class _Reader:
    """One value, read token by token; it holds the objects and lists that are open."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start
        self._open: list[Any] = []
        self._key: list[Any] = []
        """Name of the next value of each open object; None before there is one."""
        self._filled: list[bool] = []
        """True if the current place has its value already, so that the rest of an expression is passed over."""

    def read(self) -> tuple[Any, int]:
        root: Any = None
        for _ in range(TOKENS_MAX):
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                break
            self._at = token.end()
            mark = token["mark"]
            if mark and mark in "{[":
                made: Any = {} if mark == "{" else []
                self._put(made)
                root = made if not self._open else root
                self._begin(made)
            elif not self._open:
                break
            elif mark and mark in "}]":
                self._end()
                if not self._open:
                    return root, self._at
            else:
                self._go_on(token)
        raise ValueError("no whole object or list begins here")

    def _begin(self, made: Any) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise ValueError("objects lie too deep")
        self._open.append(made)
        self._key.append(None)
        self._filled.append(False)

    def _end(self) -> None:
        self._open.pop()
        self._key.pop()
        self._filled.pop()

    def _go_on(self, token: re.Match[str]) -> None:
        mark = token["mark"]
        if mark == ",":
            self._key[-1], self._filled[-1] = None, False
        elif mark == "(":
            self._pass_over()
        elif token["text"]:
            self._put(_unescaped(token["text"]))
        elif token["word"]:
            self._put(_word(token["word"], name=isinstance(self._open[-1], dict) and self._key[-1] is None))

    def _put(self, value: Any) -> None:
        """Put a value where it belongs: the name of an object's next value, that value, or an element."""
        if not self._open or self._filled[-1]:
            return
        current = self._open[-1]
        if isinstance(current, list):
            current.append(value)
            self._filled[-1] = True
        elif self._key[-1] is not None:
            current[self._key[-1]] = value
            self._filled[-1] = True
        elif isinstance(value, str):
            colon = _TOKEN.match(self._text, self._at)
            if colon is not None and colon["mark"] == ":":
                self._key[-1], self._at = value, colon.end()

    def _pass_over(self) -> None:
        """Pass over the arguments of a call."""
        depth = 1
        while depth:
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                raise ValueError("a bracket has no end")
            self._at = token.end()
            mark = token["mark"] or " "
            depth += (mark in _OPENING) - (mark in _CLOSING)


def _word(word: str, *, name: bool) -> Any:
    if name:
        return word
    if word in _WORDS:
        return _WORDS[word]
    try:
        return int(word) if len(word) < 30 and word.lstrip("+-").isdecimal() else float(word)
    except ValueError:
        return None


def _unescaped(written: str) -> str:
    inner = written[1:-1] if len(written) > 1 and written[-1] == written[0] else written[1:]
    return _ESCAPE.sub(_character, _PAIR.sub(_of_pair, inner)) if "\\" in inner else inner


def _of_pair(halves: re.Match[str]) -> str:
    return chr(0x10000 + ((int(halves[1], 16) - 0xD800) << 10) + int(halves[2], 16) - 0xDC00)


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _SINGLE.get(escape[4], escape[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


VALUES_MAX = 10
"""Objects and lists in a page's scripts that are read."""
ASSIGNED_MAX = 200
"""Most assignments of a script that are looked at for that."""
LISTS_MAX = 20_000
"""Values in one of them that are looked at."""
FAILURES_MAX = 5
"""Most assignments of a page that turn out not to be a value."""
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
"""Text before the opening's own address in a template for an opening."""


def embedded_in(tree: LexborHTMLParser, html: str, url: str) -> dict[str, Any] | None:
    """Return the location of a page's openings in its scripts.

    Args:
        tree: the same page, parsed.

    Returns:
        ``{"embedded": ..., "response_path": ..., "fields": {...}, "base_url": ...}``: the text before the
        value (or the CSS selector of its script), the path to the list in it, each field's path in an opening, the base
        of their relative addresses. Tried on this page: at least three openings have a title and a link. None: nowhere.
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
    """Yield the values that scripts assign or hold as data, each after the mark by which it is found."""
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
    """Yield the lists of objects in a value, each after its path."""
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
    """Return the fields of objects that may be openings; None: they have no title or no address that leads to one."""
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
    """Return the number of objects that have a fitting text there; each text counts once."""
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
