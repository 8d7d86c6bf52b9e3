"""A page as its headings and the text below each, without a tree: as :func:`text_of` reads it."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ramet.jobs.text.markup import decoded, text_of

HEADING_LENGTH_MAX = 120
"""Characters. A longer line is prose, whatever its element."""
LABEL_LENGTH_MAX = 40
"""Characters of a line that may be a label without being marked as a heading."""
PROSE_LENGTH_MIN = 60
"""Least characters of a line that is a sentence and not an entry of a menu."""

_MARK = "\ufdd0"
"""Mark before a heading's level while the page is converted to text. A noncharacter: no text has it."""
_HEADING_TAG = re.compile(r"<h([1-6])(?=[\s/>])(?>(?:[^\"'>]++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*)>?", re.IGNORECASE)
_APART_NAMES = ("nav", "footer", "form", "template", "noscript", "dialog")
_APART = re.compile(rf"<({'|'.join(_APART_NAMES)})(?=[\s/>])", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\b[^>]*+>?", re.IGNORECASE) for name in _APART_NAMES}
_NOT_ABOUT_THEM = re.compile(
    r"\b(?:cookies?|javascript|browser|subscribe|newsletter|privacy policy|terms of (?:use|service)|all rights reserved"
    r"|sign up|log in|captcha|consent|einwilligung)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines up to the next."""

    heading: str
    """Text of the heading; empty for the lines before the first."""
    level: int
    """1 to 6; 0 before the first heading."""
    lines: tuple[str, ...]

    @property
    def prose(self) -> tuple[str, ...]:
        """Lines that are sentences about the company, without menus and notices of cookies."""
        return tuple(line for line in self.lines if is_prose(line))


def outline(html: str) -> list[Section]:
    """Return the page's sections in reading order. Menus, forms and footers are left out."""
    return list(_sections(_marked(without(html, *_APART_NAMES))))


def page_text(html: str) -> str:
    """Return all text of a page but its menus and forms: a line per block. Its footer, often an address, is in it."""
    return text_of(without(html, "nav", "form", "template", "noscript", "dialog"))


def is_prose(line: str) -> bool:
    """Return whether a line is a sentence that may speak of the company."""
    return len(line) >= PROSE_LENGTH_MIN and " " in line[:PROSE_LENGTH_MIN] and not _NOT_ABOUT_THEM.search(line[:400])


def without(html: str, *names: str) -> str:
    """Return the markup without these elements. An unclosed one stays: it would take the rest of the page with it."""
    kept: list[str] = []
    at = 0
    open_ended: set[str] = set()
    for opened in _APART.finditer(html):
        name = opened[1].lower()
        if opened.start() < at or name not in names or name in open_ended:
            continue
        closed = _ENDS[name].search(html, opened.end())
        if closed is None:
            open_ended.add(name)
            continue
        kept.append(html[at : opened.start()])
        at = closed.end()
    kept.append(html[at:])
    return "\n".join(kept) if len(kept) > 1 else html


def _marked(html: str) -> Iterable[str]:
    return text_of(_HEADING_TAG.sub(rf"\g<0>{_MARK}\1 ", html.replace(_MARK, ""))).split("\n")


def _sections(lines: Iterable[str]) -> Iterator[Section]:
    heading, level = "", 0
    below: list[str] = []
    # The text of a heading may stand in a block of its own, one line below its mark.
    pending = 0
    for line in lines:
        text = line
        if line.startswith(_MARK):
            if heading or below:
                yield Section(heading, level, tuple(below))
            level, text = int(line[1]), line[2:].strip()
            heading, below = "", []
            pending = level
        if not text:
            continue
        if pending and len(text) <= HEADING_LENGTH_MAX:
            heading = text.replace(_MARK, "")
        else:
            below.append(text)
        pending = 0
    if heading or below:
        yield Section(heading, level, tuple(below))


HEADINGS = {
    "about": re.compile(
        r"^(?:about(?: us| the company)?|about [\w.&' -]{1,30}|who we are|what we do|our (?:story|company|history)"
        r"|company|company (?:profile|blurb|overview|description)|über uns|wer wir sind|qui sommes[- ]nous.{0,20}"
        r"|à propos.{0,40}|quiénes somos|sobre nosotros|sobre nós|chi siamo|over ons|om oss|o nas)$",
        re.IGNORECASE,
    ),
    "mission": re.compile(
        r"\b(?:mission|vision|purpose|leitbild|misión|visión|missione|missie|missão)\b|why we exist", re.IGNORECASE
    ),
    "culture": re.compile(
        r"\b(?:values|culture|principles|life at|working (?:at|with|here)|how we work|what we (?:believe|value)"
        r"|why (?:work|join|you.ll love|us\b)|work with us|our people|diversity|(?:unsere )?werte|unternehmenskultur"
        r"|kultur|nos valeurs|culture d.entreprise|valores|cultura|valori|waarden|cultuur)\b",
        re.IGNORECASE,
    ),
    "work": re.compile(
        r"^(?:remote (?:status|work|culture|policy)|remote[- ]first.{0,40}|benefits(?: (?:and|&) perks)?"
        r"|perks(?: (?:and|&) benefits)?|what we offer)$",
        re.IGNORECASE,
    ),
    "offices": re.compile(
        r"\b(?:offices?|locations?|where we are|find us|visit us|headquarters|hq|head office|standorte|bureaux"
        r"|oficinas)\b",
        re.IGNORECASE,
    ),
}
"""Field -> headings above it. `work` is taken for `culture` where there is nothing better."""

_SECTIONS_BELOW_MAX = 12


def below(sections: Sequence[Section], field: str, length_max: int) -> Iterator[str]:
    """Yield the texts below each heading of a field, in reading order; entries of lists are joined by ``; ``.

    Args:
        length_max: most characters of a text.
    """
    pattern = HEADINGS[field]
    for place, section in enumerate(sections):
        if section.heading and pattern.search(section.heading):
            yield from _cut(_lines(sections, place), length_max)
        else:
            yield from _cut(_after_label(section.lines, pattern), length_max)


def lines_below(sections: Sequence[Section], pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the lines below every heading that matches as a whole."""
    for place, section in enumerate(sections):
        if section.heading and pattern.fullmatch(section.heading.strip(" :")):
            yield from _lines(sections, place)


def first_prose(sections: Sequence[Section], count: int, length_max: int) -> str:
    """Return the first few sentences of a page about the company, as lines, without sections on other subjects."""
    others = [pattern for field, pattern in HEADINGS.items() if field != "about"]
    lines: list[str] = []
    for section in sections:
        if any(pattern.search(section.heading) for pattern in others):
            continue
        lines.extend(section.prose)
        if len(lines) >= count:
            break
    return _joined(lines[:count], length_max)


def _lines(sections: Sequence[Section], place: int) -> list[str]:
    """Return the lines of a section, and of those below it that have smaller headings."""
    section = sections[place]
    lines = list(section.lines)
    for smaller in sections[place + 1 : place + 1 + _SECTIONS_BELOW_MAX]:
        if smaller.level <= section.level:
            break
        lines.append(f"{smaller.heading}: {' '.join(smaller.lines)}" if smaller.lines else smaller.heading)
    return [line for line in lines if line]


def _after_label(lines: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the sentences behind a line that reads like a heading but is not marked as one."""
    for place, line in enumerate(lines[:-1]):
        if len(line) <= LABEL_LENGTH_MAX and pattern.search(line) and is_prose(lines[place + 1]):
            found = []
            for text in lines[place + 1 :]:
                if not is_prose(text):
                    break
                found.append(text)
            return found
    return []


def _cut(lines: Sequence[str], length_max: int) -> Iterator[str]:
    prose = [line for line in lines if is_prose(line)]
    # Values are often a list of a few words each.
    text = _joined(prose, length_max) if prose else "; ".join(lines)[:length_max]
    if text:
        yield text


def _joined(lines: Sequence[str], length_max: int) -> str:
    text = "\n".join(lines)
    if len(text) <= length_max:
        return text
    head = text[:length_max]
    end = max(head.rfind(". "), head.rfind("\n"), head.rfind("! "))
    return head[: end + 1].strip() if end > length_max // 2 else head.rstrip()


# None of the two can fail once its name is read, so a page is gone over once, whatever is in it.
_REST = r"""(?P<attributes>(?>(?:[^"'>]++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*))>?"""
_SCRIPT = re.compile(rf"<script(?=[\s/>]){_REST}(?P<body>.*?)(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_META = re.compile(rf"<meta(?=[\s/>]){_REST}", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-zA-Z:_\-]{1,40}+)\s{0,20}+=\s{0,20}+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))")
_TITLE = re.compile(r"<title\b[^<>]{0,500}+>([^<]{0,500})", re.IGNORECASE)

_TYPES = re.compile(
    r"(?:^|[/:])(?:\w{0,40}Organization|Corporation|LocalBusiness|\w{0,40}Business|NGO|Airline|Brand|\w{0,40}Agency"
    r"|EducationalOrganization|CollegeOrUniversity|SoftwareCompany|Consortium|Restaurant|Hotel|Store)$"
)
_WITHIN = ("@graph", "mainEntity", "publisher", "about", "hiringOrganization", "author", "provider", "creator")
"""Properties of another object that may hold the organization. A parent organization is not among them."""
_DEPTH_MAX = 6
_NODES_MAX = 2_000
_VALUE_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Organization:
    """Facts from one page's JSON-LD. None or empty: it does not say."""

    name: str | None = None
    description: str | None = None
    employees: str | None = None
    """Number of employees as text: ``120``, ``51-200``."""
    address: str | None = None
    """City, region and country, joined by commas."""
    places: tuple[str, ...] = ()
    """All its addresses, the first the same as `address`."""
    industry: str | None = None
    founded: str | None = None
    """A year."""


@dataclass(frozen=True, slots=True)
class Meta:
    """Values in one page's head."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Name or property in lower case -> content."""
    title: str = ""

    @property
    def description(self) -> str:
        """The longest of its descriptions."""
        found = [self.values.get(name, "") for name in ("description", "og:description", "twitter:description")]
        return max(found, key=len)

    @property
    def site_name(self) -> str:
        """Name by which the site calls itself."""
        return self.values.get("og:site_name", "") or self.values.get("application-name", "")


def organizations(html: str) -> list[Organization]:
    """Return the organizations in a page's JSON-LD, in its order. A broken script does not hide the others."""
    return [
        organization
        for value in _json_ld(html)
        for node in _nodes(value)
        if (organization := _organization(node)) != Organization()
    ]


def meta_of(html: str) -> Meta:
    """Return the page's ``meta`` elements and its title."""
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
    """Return a value as one line of text; None for a value of another kind."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)[:40]
    if not isinstance(value, str):
        return None
    return " ".join(text_of(value[:_VALUE_MAX]).split()) or None
