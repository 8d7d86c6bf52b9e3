"""What a page says of its company in a machine's words: JSON-LD of schema.org, and ``meta`` elements."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet.jobs.text.markup import decoded, text_of

# None of the two can fail once its name is read, so a page is gone over once, whatever is in it.
_REST = r"""(?P<attributes>(?:[^"'>]++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+)>?"""
_SCRIPT = re.compile(rf"<script(?=[\s/>]){_REST}(?P<body>.*?)(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_META = re.compile(rf"<meta(?=[\s/>]){_REST}", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-zA-Z:_\-]{1,40}+)\s{0,20}+=\s{0,20}+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))")
_TITLE = re.compile(r"<title\b[^<>]{0,500}+>([^<]{0,500})", re.IGNORECASE)

_TYPES = re.compile(
    r"(?:^|[/:])(?:\w{0,40}Organization|Corporation|LocalBusiness|\w{0,40}Business|NGO|Airline|Brand|\w{0,40}Agency"
    r"|EducationalOrganization|CollegeOrUniversity|SoftwareCompany|Consortium|Restaurant|Hotel|Store)$"
)
_WITHIN = ("@graph", "mainEntity", "publisher", "about", "hiringOrganization", "author", "provider", "creator")
"""Where an organization may be within something else. What another one is a part of is none of them."""
_DEPTH_MAX = 6
_NODES_MAX = 2_000
_VALUE_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Organization:
    """What one page's JSON-LD says. None or empty: it does not."""

    name: str | None = None
    description: str | None = None
    employees: str | None = None
    """As text: ``120``, ``51-200``."""
    address: str | None = None
    """City, region and country, joined by commas."""
    places: tuple[str, ...] = ()
    """All its addresses, the first the same as `address`."""
    industry: str | None = None
    founded: str | None = None
    """A year."""


@dataclass(frozen=True, slots=True)
class Meta:
    """What one page's head says."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Name or property in lower case -> content."""
    title: str = ""

    @property
    def description(self) -> str:
        """The longest that it calls one."""
        found = [self.values.get(name, "") for name in ("description", "og:description", "twitter:description")]
        return max(found, key=len)

    @property
    def site_name(self) -> str:
        """What the site calls itself."""
        return self.values.get("og:site_name", "") or self.values.get("application-name", "")


def organizations(html: str) -> list[Organization]:
    """The organizations that a page's JSON-LD describes, in its order. A broken script hides no other one."""
    return [
        organization
        for value in _json_ld(html)
        for node in _nodes(value)
        if (organization := _organization(node)) != Organization()
    ]


def meta_of(html: str) -> Meta:
    """The page's ``meta`` elements and its title."""
    values: dict[str, str] = {}
    for found in _META.finditer(html):
        attributes = _attributes(found["attributes"])
        name = (attributes.get("name") or attributes.get("property") or "").lower()
        content = " ".join(text_of(attributes.get("content", "")[:_VALUE_MAX]).split())
        if name and content:
            values.setdefault(name, content)
    title = _TITLE.search(html)
    return Meta(values, " ".join(decoded(title[1]).split()) if title else "")


def _json_ld(html: str) -> Iterator[Any]:
    for script in _SCRIPT.finditer(html):
        kind = _attributes(script["attributes"]).get("type", "")
        if not kind.strip().lower().startswith("application/ld+json"):
            continue
        try:
            yield json.loads(script["body"].strip().removeprefix("<!--").removesuffix("-->"), strict=False)
        except (ValueError, RecursionError):
            continue


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        found.setdefault(match[1].lower(), decoded(match[2] or match[3] or match[4] or ""))
    return found


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object that calls itself an organization, outer ones first."""
    waiting: deque[tuple[Any, int]] = deque([(value, 0)])
    seen = 0
    while waiting and seen < _NODES_MAX:
        node, depth = waiting.popleft()
        seen += 1
        if isinstance(node, list):
            waiting.extend((item, depth + 1) for item in node[:_NODES_MAX])
        elif isinstance(node, dict) and depth <= _DEPTH_MAX:
            if any(_TYPES.search(kind) for kind in _texts(node.get("@type"))):
                yield node
            waiting.extend((node[name], depth + 1) for name in _WITHIN if name in node)


def _organization(node: Mapping[str, Any]) -> Organization:
    addresses = [_address(item) for name in ("address", "location") for item in _listed(node.get(name))]
    places = tuple(dict.fromkeys(place for place in addresses if place))
    year = re.search(r"\b(1[6-9]\d\d|20\d\d)\b", _text(node.get("foundingDate")) or "")
    return Organization(
        name=_text(node.get("name")) or _text(node.get("legalName")),
        description=_text(node.get("description")),
        employees=_employees(node.get("numberOfEmployees")),
        address=places[0] if places else None,
        places=places,
        industry=_text(node.get("industry")),
        founded=year[1] if year else None,
    )


def _employees(value: Any) -> str | None:
    if isinstance(value, dict):
        least, most = _text(value.get("minValue")), _text(value.get("maxValue"))
        if least and most:
            return f"{least}-{most}"
        return _text(value.get("value")) or (f"{least}+" if least else most)
    return _text(value)


def _address(value: Any) -> str | None:
    if isinstance(value, dict):
        inner = value.get("address")
        if isinstance(inner, dict):
            return _address(inner)
        country = value.get("addressCountry")
        if isinstance(country, dict):
            country = country.get("name")
        parts = [_text(value.get("addressLocality")), _text(value.get("addressRegion")), _text(country)]
        return ", ".join(part for part in parts if part) or None
    return _text(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    return [item for item in _listed(value) if isinstance(item, str)]


def _text(value: Any) -> str | None:
    """A value as one line of text, if it is one."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)[:40]
    if not isinstance(value, str):
        return None
    return " ".join(text_of(value[:_VALUE_MAX]).split()) or None
