"""The facts of a company, read from its own pages by rules.

A field is taken from what says it most plainly: JSON-LD, then ``meta`` elements, then paragraphs and headings, then
single statements. What the pages do not tell stays None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ramet.jobs.companies import extraction
from ramet.jobs.companies.extraction import Candidate, Page
from ramet.jobs.companies.facts import PATTERN, CompanyFacts, WebPage
from ramet.jobs.companies.headcount import size_category
from ramet.jobs.companies.signals import ai_ml_evidence, remote_evidence
from ramet.jobs.companies_settings import CompanySettings
from ramet.jobs.text.technologies import find_technologies


def read_company(pages: Sequence[WebPage], name: str | None, settings: CompanySettings | None = None) -> CompanyFacts:
    """What these pages tell of their company.

    Args:
        pages: as they were fetched; two addresses of one page count once.
        name: as it is known already; it is kept.
        settings: when texts are long enough, and what is large and small; None: the defaults.
    """
    settings = settings or CompanySettings()
    read = list(extraction.taken_apart(pages))
    about = _long_enough(extraction.abouts(read, settings.text_max), settings.about_good)
    head_office = next(extraction.head_offices(read), None)
    found: dict[str, Candidate | None] = {
        "name": next(extraction.names(read, name), None),
        "about": about,
        "culture": _long_enough(extraction.cultures(read, settings.text_max), settings.culture_good),
        "mission": next(extraction.missions(read, settings.text_max), None),
        "headquarters_location": head_office,
        "industry": next(extraction.industries(read, about[1] if about else ""), None),
        "founded": next(extraction.foundings(read), None),
    }
    if size := next(extraction.sizes(read), None):
        method, text, employees = size
        found["size"] = method, text
        found["company_size_category"] = method, size_category(employees, settings)
    told = {field: candidate for field, candidate in found.items() if candidate is not None}
    texts: dict[str, Any] = {field: text[: settings.text_max] for field, (_, text) in told.items()}
    facts = CompanyFacts(**texts, methods={field: method for field, (method, _) in told.items()})
    return _with_signals(_with_places(facts, read, head_office), read, settings)


def _long_enough(texts: Iterable[Candidate], length: int) -> Candidate | None:
    """The first text that is longer; when none is, the longest."""
    best: Candidate | None = None
    for candidate in texts:
        if len(candidate[1]) > length:
            return candidate
        if best is None or len(candidate[1]) > len(best[1]):
            best = candidate
    return best


def _with_places(facts: CompanyFacts, read: Sequence[Page], head_office: Candidate | None) -> CompanyFacts:
    offices, method = extraction.offices(read, head_office)
    if not offices:
        return facts
    return replace(facts, offices=offices, methods={**facts.methods, "offices": method})


def _with_signals(facts: CompanyFacts, read: Sequence[Page], settings: CompanySettings) -> CompanyFacts:
    """The facts with technologies and with what the company's words add up to."""
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
