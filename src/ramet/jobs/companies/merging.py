"""A company looked at again: what its pages tell now, and what they told before where they no longer do.

A page that is gone, or a text that shrank to a slogan, is no reason to forget what was known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ramet.jobs.companies.facts import TEXTS, CompanyFacts
from ramet.jobs.companies_settings import CompanySettings
from ramet.jobs.text.places import places_of

_TOGETHER = {"size": "company_size_category"}
"""Field -> another that is about the same number, and is kept or replaced with it."""


def merged(before: object, facts: CompanyFacts, settings: CompanySettings | None = None) -> CompanyFacts:
    """The facts, with what the record had where they have nothing, or nothing as good.

    An about or culture text that was good is replaced only by one that is good too. What is kept keeps what made it.

    Args:
        before: the record: a mapping, or anything with attributes, by the names of the table's columns. Lists and
            objects may be JSON, as they are stored. Columns that are missing or broken have nothing.
        settings: from which lengths on texts are good; None: the defaults.
    """
    good = _good_lengths(settings or CompanySettings())
    kept: dict[str, Any] = {}
    for field in ("name", *TEXTS):
        old = _text(before, field)
        new = getattr(facts, field) or ""
        if old and (not new.strip() or len(new.strip()) <= good.get(field, 0) < len(old.strip())):
            kept[field] = old
            if other := _TOGETHER.get(field):
                kept[other] = _text(before, other)
    technologies = _json(before, "tech_stack", list)
    if technologies and not facts.tech_stack:
        kept["tech_stack"] = tuple(str(technology) for technology in technologies)
    if "headquarters_location" in kept and not facts.offices:
        kept["offices"] = tuple(place for place in places_of(kept["headquarters_location"]) if place.country)
    if not kept:
        return facts
    return replace(facts, **kept, methods=_methods(before, facts, kept))


def _methods(before: object, facts: CompanyFacts, kept: Mapping[str, Any]) -> dict[str, str]:
    told = _json(before, "methods", dict)
    methods = {field: method for field, method in facts.methods.items() if field not in kept}
    for field, value in kept.items():
        source = "headquarters_location" if field == "offices" else field
        if value and isinstance(told.get(source), str):
            methods[field] = told[source]
    return methods


def _good_lengths(settings: CompanySettings) -> dict[str, int]:
    return {"about": settings.about_good, "culture": settings.culture_good}


def _value(before: object, field: str) -> Any:
    return before.get(field) if isinstance(before, Mapping) else getattr(before, field, None)


def _text(before: object, field: str) -> str | None:
    value = _value(before, field)
    return value if isinstance(value, str) and value.strip() else None


def _json(before: object, field: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    """A column with a list or an object, read where it is still JSON; empty where it is none."""
    value = _value(before, field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return kind()
    if kind is list and isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, kind) else kind()
