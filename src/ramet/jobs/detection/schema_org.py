"""Objects of schema.org in a page: JSON-LD and microdata, both as plain objects. Pure; a broken part hides no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.boards.dates import AHEAD_MAX, parse_posted
from ramet.jobs.boards.salary_text import pay_of, salary_text
from ramet.jobs.detection.addresses import address_of
from ramet.jobs.posting import Pay, PlaceFields, Posting
from ramet.jobs.text.markup import decoded, text_of

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

_RANGE = re.compile(r"\d\s?(?:[-\u2013\u2014]|to|bis)\s?\D{0,3}\d")
"""Two amounts in a field for one: a text to be read."""
_UNIT_CODES = {"HUR": "HOUR", "DAY": "DAY", "WEE": "WEEK", "MON": "MONTH", "ANN": "YEAR"}
"""Codes of UN/CEFACT for periods."""

_AROUND = re.compile(
    r"^[\s\ufeff]*(?:<!--|(?://|#)?\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)?[\s\ufeff]*"
    r"|\s*(?:(?://|#|/\*)?\s*(?:-->|\]\]>)(?:\s*\*/)?|;)\s*$"
)
"""Text around the JSON of a script: comments of three languages, CDATA, a byte order mark."""
_LAST_COMMA = re.compile(r",(?=\s{0,1000}[}\]])")


def jsonld_objects(tree: LexborHTMLParser, kind: str) -> list[Object]:
    """Return the objects of a type in a page's JSON-LD, wherever they are in it (lists, ``@graph``, list elements).

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
    """Return the value of a script, with common errors corrected; None: it has none."""
    stripped = _AROUND.sub("", _AROUND.sub("", text))
    attempts = (stripped, _LAST_COMMA.sub("", stripped), _LAST_COMMA.sub("", decoded(stripped)))
    for attempt in attempts:
        try:
            # Texts of scripts that were assembled without an encoder contain line ends.
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _of_kind(value: Any, kind: str) -> Iterator[Object]:
    """Yield the objects of a kind in the order of the page; those within one of the kind are its own."""
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
    """Return whether an object has a type: ``JobPosting``, ``schema:JobPosting``, ``http://schema.org/JobPosting``."""
    types = value.get("@type")
    named = types if isinstance(types, list) else [types]
    return any(isinstance(one, str) and re.split(r"[/:#]", one)[-1] == kind for one in named)


def microdata_objects(tree: LexborHTMLParser, kind: str) -> list[Object]:
    """Return the objects of a type in a page's microdata, in the form that JSON-LD has. Texts may be markup."""
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
    """Return the nearest element around it that begins an object."""
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


TEXT_MAX = 200_000
"""Characters of a description."""
LINE_MAX = 500
PLACES_MAX = 50

_ESCAPED = re.compile(r"</?(?:p|br|ul|ol|li|div|span|strong|b|em|h[1-6])\b[^<>]{0,300}>", re.IGNORECASE)
_SECTIONS = (
    ("responsibilities", "Responsibilities"),
    ("qualifications", "Qualifications"),
    ("skills", "Skills"),
    ("experienceRequirements", "Experience"),
    ("educationRequirements", "Education"),
    ("jobBenefits", "Benefits"),
    ("incentiveCompensation", "Compensation"),
)
"""Properties that some pages keep out of the description."""


def posting_of(item: dict[str, Any], url: str, now: float) -> Posting:
    """Return the posting that an object describes.

    Args:
        url: of the page that has it, for an object without an address of its own.
        now: Unix seconds.
    """
    address = _first(item.get("url"))
    own = address_of(_line(address), url) if isinstance(address, str) and address.strip() else None
    organization = _first(item.get("hiringOrganization"))
    places = _places(item)
    pay = _pay(item.get("baseSalary")) or _pay(item.get("estimatedSalary"))
    remote = any("telecommute" in text.lower() for text in _lines(item.get("jobLocationType")))
    valid_through = parse_posted(_scalar(item.get("validThrough")), now, AHEAD_MAX)
    extra = {} if valid_through is None else {"valid_through": valid_through}
    return Posting(
        url=own.url if own else url,
        title=_line(item.get("title")) or _line(item.get("name")),
        external_id=_identifier(item.get("identifier")),
        company=_line(organization) or None,
        company_website=_website(organization),
        location="; ".join(places) or None,
        places=_place_fields(item, places),
        description=_description(item),
        posted_at=parse_posted(_scalar(item.get("datePosted")), now),
        salary=salary_text(pay) or _salary(item.get("baseSalary")) or _salary(item.get("estimatedSalary")),
        pay=pay,
        workplace="remote" if remote else None,
        employment_type=_employment(item.get("employmentType")),
        extra=extra,
    )


def plain(markup: str) -> str:
    """Return the text of markup, of which the tags may be written as character references."""
    text = text_of(markup[:TEXT_MAX])
    return text_of(text) if _ESCAPED.search(text) else text


def _first(value: Any) -> Any:
    return next(iter(value), None) if isinstance(value, list) else value


def _scalar(value: Any) -> str | int | float | None:
    value = _first(value)
    return value if isinstance(value, str | int | float) else None


def _line(value: Any) -> str:
    """Return one line of text: of a text, a number, or the name of an object."""
    value = _first(value)
    if isinstance(value, dict):
        value = next((value[name] for name in ("name", "value", "@value", "legalName") if value.get(name)), None)
        value = _first(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(plain(str(value)[: 20 * LINE_MAX]).split())[:LINE_MAX]


def _lines(value: Any) -> Iterator[str]:
    for one in (value if isinstance(value, list) else [value])[:PLACES_MAX]:
        if line := _line(one):
            yield line


def _identifier(value: Any) -> str | None:
    value = _first(value)
    if isinstance(value, dict):
        value = _first(value.get("value") or value.get("@value") or value.get("propertyID"))
    return _line(value) or None


def _website(organization: Any) -> str | None:
    if not isinstance(organization, dict):
        return None
    for name in ("sameAs", "url"):
        address = address_of(_line(organization.get(name)))
        if address is not None:
            return address.url
    return None


def _places(item: dict[str, Any]) -> list[str]:
    """Return the places of the work; for work that is done from anywhere, those from where it may be done."""
    described = item.get("jobLocation") or item.get("applicantLocationRequirements")
    places = [place for place in (described if isinstance(described, list) else [described])[:PLACES_MAX] if place]
    addresses = [_address(place) for place in places]
    names = [_line(place.get("name")) if isinstance(place, dict) else "" for place in places]
    # Some pages fill all places with the address of the first one; their names are right.
    if len(places) > 1 and len(set(addresses)) == 1 and len(set(names)) == len(names):
        addresses = names
    lines = [address or name for address, name in zip(addresses, names, strict=True)]
    return list(dict.fromkeys(line for line in lines if line))


def _place_fields(item: dict[str, Any], lines: list[str]) -> tuple[PlaceFields, ...]:
    """Return the parts of the places, where all of them have their country or state in a field of its own."""
    places = item.get("jobLocation")
    found: dict[PlaceFields, None] = {}
    for place in (places if isinstance(places, list) else [places])[:PLACES_MAX]:
        address = (_first(place.get("address")) or place) if isinstance(place, dict) else None
        if not isinstance(address, dict):
            return ()
        names = ("addressLocality", "addressRegion", "addressCountry")
        city, region, country = (_line(address.get(name)) or None for name in names)
        if country or (city and region):
            found[PlaceFields(city=city, region=region, country=country)] = None
    return tuple(found) if len(found) == len(lines) else ()


def _address(place: Any) -> str:
    if not isinstance(place, dict):
        return _line(place)
    address = _first(place.get("address")) or place
    if not isinstance(address, dict):
        return _line(address)
    parts = [_line(address.get(name)) for name in ("addressLocality", "addressRegion", "addressCountry")]
    known = [part for part in dict.fromkeys(parts) if part]
    return ", ".join(known) or (_line(address) if not address.get("streetAddress") else "")


def _description(item: dict[str, Any]) -> str:
    text = "\n".join(plain(part) for part in _texts(item.get("description")))
    told = " ".join(text.split())
    for name, heading in _SECTIONS:
        section = "\n".join(plain(part) for part in _texts(item.get(name)))
        if section and " ".join(section.split()) not in told:
            text = f"{text}\n{heading}\n{section}" if text else f"{heading}\n{section}"
    return text[:TEXT_MAX]


def _texts(value: Any) -> Iterator[str]:
    for one in (value if isinstance(value, list) else [value])[:PLACES_MAX]:
        text = one.get("description") or one.get("name") or one.get("@value") if isinstance(one, dict) else one
        if isinstance(text, str):
            yield text


def _salary(value: Any) -> str | None:
    """Return pay that is written as a text."""
    value = _first(value)
    if isinstance(value, dict):
        value = _first(value.get("value") or value.get("price"))
    return _line(value) or None if isinstance(value, str) else None


def _pay(value: Any) -> Pay | None:
    """Return pay in numbers: a MonetaryAmount, a distribution of them, a PriceSpecification or a number."""
    value = _first(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return pay_of(str(value), str(value))
    if not isinstance(value, dict):
        return None
    amount = _first(value.get("value"))
    within = amount if isinstance(amount, dict) else value
    minimum = _named(within, "minValue", "minPrice", "percentile10", "percentile25")
    maximum = _named(within, "maxValue", "maxPrice", "percentile90", "percentile75")
    if not minimum and not maximum:
        one = _named(within, "value", "price", "median") or ("" if isinstance(amount, dict) else _line(amount))
        if _RANGE.search(one):
            return None
        minimum = maximum = one
    currency = next(filter(None, (_named(one, "currency", "priceCurrency") for one in (value, within))), "")
    period = next(filter(None, (_named(one, "unitText", "duration", "unitCode") for one in (within, value))), "")
    return pay_of(minimum, maximum, currency, _UNIT_CODES.get(period, period))


def _named(value: dict[str, Any], *names: str) -> str:
    return next((line for name in names if (line := _line(value.get(name)))), "")


def _employment(value: Any) -> str | None:
    return ", ".join(line.lower().replace("_", "-") for line in _lines(value)) or None
