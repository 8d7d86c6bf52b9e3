"""The sources of each field of a company, the most reliable first.

Every function here yields (method, text) of one field over all pages, the most reliable first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ramet.jobs.companies.facts import GIVEN, HEADINGS, JSON_LD, META, PARAGRAPHS, PATTERN, CompanyFacts, WebPage
from ramet.jobs.companies.page_content import (
    Meta,
    Organization,
    Section,
    below,
    first_prose,
    lines_below,
    meta_of,
    organizations,
    outline,
    page_text,
)
from ramet.jobs.companies.signals import ai_ml_evidence, remote_evidence
from ramet.jobs.companies.statements import (
    LABELS,
    founded_in,
    headcount_in,
    headcount_of,
    headquarters_in,
    industry_in,
    labelled,
    mission_in,
    size_category,
    year_in,
)
from ramet.jobs.settings import CompanySettings
from ramet.jobs.text.company_names import company_name_key
from ramet.jobs.text.places import Place, places_of
from ramet.jobs.text.technologies import find_technologies

TEXT_MAX = 200_000
"""Most characters of one page that are read; a page about a company is shorter."""
SECTIONS_MAX = 500
"""Sections of one page that are read."""

Candidate = tuple[str, str]
"""Method that found a text, and the text."""

_ABOUT_PATHS = frozenset(
    "about about-us aboutus company who-we-are our-story ueber-uns uber-uns a-propos sobre".split()
)
_CAREER_PATHS = frozenset("careers career jobs join join-us work-with-us working-here karriere carrieres".split())
_LINE_MAX = 150
_PARAGRAPHS = 3
_OFFICES_IN = re.compile(r"\b[Oo]ffices? (?:located )?in ([A-ZÀ-Ö][^.;:!?\n]{2,200})")
_TITLE_PARTS = re.compile(r"\s[|\u2013\u2014·:-]\s|\s?[|•]\s?|: ")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, taken apart once."""

    role: str
    """``home``, ``about`` or ``careers``; empty for another one."""
    url: str
    organizations: list[Organization]
    meta: Meta
    sections: list[Section]
    text: str


def taken_apart(pages: Iterable[WebPage]) -> Iterator[Page]:
    """Yield the pages with something on them, each once: /about and /about-us are often one."""
    seen: set[int] = set()
    for page in pages:
        if not page.html.strip() or hash(page.html) in seen:
            continue
        seen.add(hash(page.html))
        yield Page(
            role_of(page.url),
            page.url,
            organizations(page.html),
            meta_of(page.html),
            _bounded(outline(page.html)),
            page_text(page.html)[:TEXT_MAX],
        )


def role_of(url: str) -> str:
    """Return the role of a page, by the last part of its address."""
    parts = [part for part in _split(url).path.lower().split("/") if part]
    if not parts:
        return "home"
    last = parts[-1].partition(".")[0]
    if last in _ABOUT_PATHS:
        return "about"
    return "careers" if last in _CAREER_PATHS else ""


def names(pages: Sequence[Page], given: str | None) -> Iterator[Candidate]:
    """Yield candidates for the company's name."""
    if given and given.strip():
        yield GIVEN, " ".join(given.split())
    yield from _of_organizations(pages, lambda organization: organization.name)
    for page in pages:
        if page.meta.site_name:
            yield META, page.meta.site_name
    for page in pages:
        if title := _name_in_title(page):
            yield META, title


def abouts(pages: Sequence[Page], length_max: int) -> Iterator[Candidate]:
    """Texts on what the company is."""
    yield from _of_organizations(pages, lambda organization: organization.description)
    for page in _ordered(pages, "about", "home"):
        if page.meta.description:
            yield META, page.meta.description
    for page in _ordered(pages, "about"):
        if text := first_prose(page.sections, _PARAGRAPHS, length_max):
            yield PARAGRAPHS, text
    yield from _below(pages, "about", length_max, "about", "home", "", "careers")
    for page in _ordered(pages, "home", ""):
        if text := first_prose(page.sections, _PARAGRAPHS, length_max):
            yield PARAGRAPHS, text


def cultures(pages: Sequence[Page], length_max: int) -> Iterator[Candidate]:
    """Texts on how people work there."""
    yield from _below(pages, "culture", length_max, "careers", "about", "", "home")
    # A product has benefits too, so these headings count only where a company speaks of itself.
    yield from _below(pages, "work", length_max, "careers", "about")


def missions(pages: Sequence[Page], length_max: int) -> Iterator[Candidate]:
    """Texts on what the company is for."""
    yield from _below(pages, "mission", length_max, "about", "home", "", "careers")
    for page in _ordered(pages, "about", "home", "", "careers"):
        if text := mission_in(page.text):
            yield PATTERN, text


def foundings(pages: Sequence[Page]) -> Iterator[Candidate]:
    """Years of the founding."""
    yield from _of_organizations(pages, lambda organization: organization.founded)
    for line in _labelled(pages, "founded"):
        if year := year_in(line):
            yield HEADINGS, year
    yield from _statements(pages, founded_in)


def head_offices(pages: Sequence[Page]) -> Iterator[Candidate]:
    """Places of the head office."""
    yield from _of_organizations(pages, lambda organization: organization.address)
    for line in _labelled(pages, "headquarters"):
        if len(line) <= _LINE_MAX and not line[:1].isdigit():
            yield HEADINGS, line
    yield from _statements(pages, headquarters_in)


def industries(pages: Sequence[Page], about: str) -> Iterator[Candidate]:
    """Lines of business."""
    yield from _of_organizations(pages, lambda organization: organization.industry)
    for line in _labelled(pages, "industry"):
        if len(line) <= _LINE_MAX:
            yield HEADINGS, line
    for text in (about, *(page.meta.description for page in _ordered(pages, "home", "about"))):
        if what := industry_in(text):
            yield PATTERN, what


def sizes(pages: Sequence[Page]) -> Iterator[tuple[str, str, int]]:
    """Yield method, text and number of employees."""
    for method, text in _of_organizations(pages, lambda organization: organization.employees):
        if headcount := headcount_in(text):
            yield method, headcount.text, headcount.employees
    for line in _labelled(pages, "size"):
        if headcount := headcount_in(line):
            yield HEADINGS, headcount.text, headcount.employees
    for page in _ordered(pages, "about", "careers", "", "home"):
        if headcount := headcount_of(page.text):
            yield PATTERN, headcount.text, headcount.employees


def offices_of(pages: Sequence[Page], head_office: Candidate | None) -> tuple[tuple[Place, ...], str]:
    """Return all places with an office, and their method; a place without a known country is left out."""
    sources: list[tuple[str, Iterable[str]]] = [
        (JSON_LD, [text for page in pages for one in page.organizations for text in one.places]),
        (head_office[0] if head_office else PATTERN, [head_office[1]] if head_office else []),
        (HEADINGS, [line for page in pages for line in _office_lines(page)]),
        (PATTERN, [found[1] for page in pages for found in _OFFICES_IN.finditer(page.text)]),
    ]
    places: dict[Place, str] = {}
    for method, lines in sources:
        for line in lines:
            for place in places_of(line[:_LINE_MAX]):
                if place.country and place.city:
                    places.setdefault(place, method)
    return tuple(places), next(iter(places.values()), PATTERN)


def _office_lines(page: Page) -> Iterator[str]:
    for text in below(page.sections, "offices", TEXT_MAX):
        for line in re.split(r"\n|; ", text)[:SECTIONS_MAX]:
            if len(line) <= _LINE_MAX:
                yield line


def _bounded(sections: Sequence[Section]) -> list[Section]:
    kept: list[Section] = []
    length = 0
    for section in sections[:SECTIONS_MAX]:
        length += sum(map(len, section.lines))
        if length > TEXT_MAX:
            break
        kept.append(section)
    return kept


def _ordered(pages: Sequence[Page], *roles: str) -> list[Page]:
    return [page for role in roles for page in pages if page.role == role]


def _of_organizations(pages: Sequence[Page], read: Callable[[Organization], str | None]) -> Iterator[Candidate]:
    for page in pages:
        for organization in page.organizations:
            if text := read(organization):
                yield JSON_LD, text


def _below(pages: Sequence[Page], field: str, length_max: int, *roles: str) -> Iterator[Candidate]:
    for page in _ordered(pages, *roles):
        for text in below(page.sections, field, length_max):
            yield HEADINGS, text


def _labelled(pages: Sequence[Page], label: str) -> Iterator[str]:
    """Lines behind a label, then those below a heading of that name."""
    for page in _ordered(pages, "about", "home", "", "careers"):
        value = labelled(page.text.split("\n")).get(label)
        if value:
            yield value
        yield from lines_below(page.sections, LABELS[label])


def _statements(pages: Sequence[Page], read: Callable[[str], str | None]) -> Iterator[Candidate]:
    for page in _ordered(pages, "about", "", "home", "careers"):
        if text := read(page.text):
            yield PATTERN, text


def _name_in_title(page: Page) -> str | None:
    """Return the part of the title that is the host's name."""
    host = (_split(page.url).hostname or "").removeprefix("www.")
    label = company_name_key(host.partition(".")[0]).replace(" ", "")
    for part in _TITLE_PARTS.split(page.meta.title[:500]):
        if label and company_name_key(part).replace(" ", "") == label:
            return part.strip()
    return None


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def read_company(pages: Sequence[WebPage], name: str | None, settings: CompanySettings | None = None) -> CompanyFacts:
    """Return the facts that these pages tell of their company.

    Args:
        pages: the pages as they were fetched; two addresses of one page count once.
        name: the company's name where it is known already; it is kept.
        settings: the lengths of good texts, and the sizes of large and small companies; None: the defaults.
    """
    settings = settings or CompanySettings()
    read = list(taken_apart(pages))
    about = _long_enough(abouts(read, settings.text_max), settings.about_good)
    head_office = next(head_offices(read), None)
    found: dict[str, Candidate | None] = {
        "name": next(names(read, name), None),
        "about": about,
        "culture": _long_enough(cultures(read, settings.text_max), settings.culture_good),
        "mission": next(missions(read, settings.text_max), None),
        "headquarters_location": head_office,
        "industry": next(industries(read, about[1] if about else ""), None),
        "founded": next(foundings(read), None),
    }
    if size := next(sizes(read), None):
        method, text, employees = size
        found["size"] = method, text
        found["company_size_category"] = method, size_category(employees, settings)
    told = {field: candidate for field, candidate in found.items() if candidate is not None}
    texts: dict[str, Any] = {field: text[: settings.text_max] for field, (_, text) in told.items()}
    facts = CompanyFacts(**texts, methods={field: method for field, (method, _) in told.items()})
    return _with_signals(_with_places(facts, read, head_office), read, settings)


def _long_enough(texts: Iterable[Candidate], length: int) -> Candidate | None:
    """Return the first text that is longer; when none is, the longest."""
    best: Candidate | None = None
    for candidate in texts:
        if len(candidate[1]) > length:
            return candidate
        if best is None or len(candidate[1]) > len(best[1]):
            best = candidate
    return best


def _with_places(facts: CompanyFacts, read: Sequence[Page], head_office: Candidate | None) -> CompanyFacts:
    offices, method = offices_of(read, head_office)
    if not offices:
        return facts
    return replace(facts, offices=offices, methods={**facts.methods, "offices": method})


def _with_signals(facts: CompanyFacts, read: Sequence[Page], settings: CompanySettings) -> CompanyFacts:
    """Return the facts with technologies and with the signals of the company's words."""
    text = "\n".join(page.text for page in read)
    counts = find_technologies(text)
    remote = remote_evidence((section.heading, "\n".join(section.lines)) for page in read for section in page.sections)
    says = [facts.about or "", *dict.fromkeys(page.meta.description for page in read if page.role == "home")]
    ai_ml = ai_ml_evidence("\n".join(says), text)
    methods = dict(facts.methods)
    evidence: dict[str, tuple[str, ...]] = {}
    if counts:
        methods["tech_stack"] = PATTERN
    if remote.points >= settings.remote_evidence_min:
        methods["remote_first"], evidence["remote_first"] = PATTERN, remote.found
    if ai_ml.points >= settings.ai_ml_evidence_min:
        methods["ai_ml"], evidence["ai_ml"] = PATTERN, ai_ml.found
    return replace(
        facts,
        tech_stack=tuple(sorted(counts, key=lambda technology: -counts[technology])),
        remote_first="remote_first" in evidence,
        ai_ml="ai_ml" in evidence,
        methods=methods,
        evidence=evidence,
    )
