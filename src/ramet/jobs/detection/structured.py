"""Objects of schema.org in a page: JSON-LD and microdata, both as plain objects. Pure; a broken part hides no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.text.markup import decoded

SCRIPTS_MAX = 200
"""Scripts of a page that are read."""
SCRIPT_LENGTH_MAX = 3_000_000
"""Characters of one of them."""
OBJECTS_MAX = 20_000
"""Values in a page's JSON-LD that are looked at."""
PROPERTIES_MAX = 5_000
"""Elements of microdata that are looked at."""
MARKUP_MAX = 10_000_000
"""Characters of markup in all of them: they may lie within one another, and each has the markup of what is in it."""

Object = dict[str, Any]

_AROUND = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)|(?:-->|\]\]>|;)\s*$")
_LAST_COMMA = re.compile(r",(?=\s{0,1000}[}\]])")


def jsonld_objects(tree: LexborHTMLParser, kind: str) -> list[Object]:
    """The objects of a type in a page's JSON-LD, wherever they are in it (lists, ``@graph``, list elements).

    Args:
        kind: the type's last part, ``JobPosting``.
    """
    return [found for script in _scripts(tree) for found in _of_kind(_parsed(script), kind)]


def _scripts(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css('script[type*="ld+json" i]')[:SCRIPTS_MAX]:
        text = node.text(deep=True)
        if len(text) <= SCRIPT_LENGTH_MAX and not text.isspace():
            yield text


def _parsed(text: str) -> Any:
    """What a script says, with what people get wrong put right; None: nothing."""
    stripped = _AROUND.sub("", _AROUND.sub("", text))
    attempts = (stripped, _LAST_COMMA.sub("", stripped), _LAST_COMMA.sub("", decoded(stripped)))
    for attempt in attempts:
        try:
            # Line ends stand in texts that were put together by hand.
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _of_kind(value: Any, kind: str) -> Iterator[Object]:
    """In the order of the page; objects within one of the kind are its own."""
    waiting = [value]
    for _ in range(OBJECTS_MAX):
        if not waiting:
            return
        current = waiting.pop()
        if isinstance(current, list):
            waiting.extend(reversed(current))
        elif isinstance(current, dict):
            if is_a(current, kind):
                yield current
            else:
                waiting.extend(part for part in reversed(current.values()) if isinstance(part, dict | list))


def is_a(value: Object, kind: str) -> bool:
    """Whether an object has a type: ``JobPosting``, ``schema:JobPosting``, ``http://schema.org/JobPosting``."""
    types = value.get("@type")
    named = types if isinstance(types, list) else [types]
    return any(isinstance(one, str) and re.split(r"[/:#]", one)[-1] == kind for one in named)


def microdata_objects(tree: LexborHTMLParser, kind: str) -> list[Object]:
    """The objects of a type in a page's microdata, in the form that JSON-LD has. Texts may be markup."""
    scopes = [node for node in tree.css(f'[itemtype*="{kind}"]') if _type_of(node) == kind]
    if not scopes:
        return []
    found: dict[int, Object] = {scope.mem_id: {"@type": kind} for scope in scopes}
    left = MARKUP_MAX
    for node in tree.css("[itemprop]")[:PROPERTIES_MAX]:
        owner = _owner(node)
        if owner is not None and owner.mem_id in found and left > 0:
            value: Any
            if "itemscope" in node.attributes:
                value = found.setdefault(node.mem_id, {"@type": _type_of(node)})
            else:
                value = _value(node)
                left -= len(value)
            _put(found[owner.mem_id], node.attributes.get("itemprop") or "", value)
    return [found[scope.mem_id] for scope in scopes]


def _type_of(scope: LexborNode) -> str:
    return (scope.attributes.get("itemtype") or "").split(" ")[0].rstrip("/").rsplit("/", 1)[-1]


def _owner(node: LexborNode) -> LexborNode | None:
    """The nearest element around it that begins an object."""
    around = node.parent
    while around is not None and "itemscope" not in around.attributes:
        around = around.parent
    return around


def _value(node: LexborNode) -> str:
    attributes = node.attributes
    for name in ("content", "datetime"):
        if attributes.get(name):
            return attributes[name] or ""
    link = attributes.get("href") or attributes.get("src")
    if link and node.tag in ("a", "link", "img"):
        return link
    return node.inner_html or ""


def _put(target: Object, names: str, value: Any) -> None:
    for name in names.split():
        if name not in target:
            target[name] = value
        elif isinstance(target[name], list):
            target[name].append(value)
        else:
            target[name] = [target[name], value]
