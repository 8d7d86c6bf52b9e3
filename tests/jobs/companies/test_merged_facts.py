"""A company looked at again never loses what was known of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.companies.facts import CompanyFacts, merged
from ramet.jobs.settings import CompanySettings
from ramet.jobs.text.places import is_at

GOOD_ABOUT = "Acme builds quiet robots. " * 6
BEFORE: dict[str, Any] = {
    "name": "Acme",
    "about": GOOD_ABOUT,
    "culture": "We tell each other the truth and finish what we begin, every week.",
    "mission": None,
    "size": "51-200 employees",
    "company_size_category": "medium",
    "headquarters_location": "Portland, Oregon",
    "industry": "",
    "founded": "2010",
    "tech_stack": json.dumps(["python", "react"]),
    "methods": json.dumps({"about": "model:small", "size": "json-ld", "founded": "pattern", "tech_stack": "pattern"}),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The same as a caller may hold it."""

    name: str
    about: str
    tech_stack: tuple[str, ...]
    methods: dict[str, str]


def test_pages_that_say_nothing_leave_all_that_was_known() -> None:
    facts = merged(BEFORE, CompanyFacts())
    assert (facts.name, facts.about, facts.size, facts.company_size_category, facts.founded) == (
        "Acme",
        GOOD_ABOUT,
        "51-200 employees",
        "medium",
        "2010",
    )
    assert facts.tech_stack == ("python", "react")
    assert [is_at(place, "Portland", "OR") for place in facts.offices] == [True]
    assert facts.methods == {"about": "model:small", "size": "json-ld", "founded": "pattern", "tech_stack": "pattern"}
    assert (facts.mission, facts.industry) == (None, None)


def test_what_is_told_now_replaces_what_was() -> None:
    now = CompanyFacts(
        name="Acme Robots",
        about="Acme builds loud robots. " * 6,
        size="900 employees",
        founded="2011",
        tech_stack=("rust",),
        methods={"about": "meta", "size": "headings"},
    )
    facts = merged(BEFORE, now)
    assert (facts.name, facts.about, facts.size, facts.founded) == (now.name, now.about, now.size, now.founded)
    assert facts.tech_stack == ("rust",)
    assert facts.company_size_category is None
    assert facts.methods == {"about": "meta", "size": "headings"}
    assert facts.culture == BEFORE["culture"]


def test_a_good_text_gives_way_only_to_a_good_one() -> None:
    short = CompanyFacts(about="Robots for all.", culture="Be kind.", methods={"about": "meta", "culture": "headings"})
    facts = merged(BEFORE, short)
    assert (facts.about, facts.culture) == (GOOD_ABOUT, BEFORE["culture"])
    assert facts.methods["about"] == "model:small"
    assert "culture" not in facts.methods
    # What was not good itself gives way to anything.
    assert merged({**BEFORE, "about": "Robots."}, short).about == "Robots for all."
    assert merged(BEFORE, short, CompanySettings(about_good=5)).about == "Robots for all."


def test_a_record_may_be_an_object_and_know_less() -> None:
    row = Row("Acme", GOOD_ABOUT, ("go",), {"about": "meta"})
    facts = merged(row, CompanyFacts(founded="2010", methods={"founded": "json-ld"}))
    assert (facts.name, facts.about, facts.tech_stack, facts.founded) == ("Acme", GOOD_ABOUT, ("go",), "2010")
    assert facts.methods == {"about": "meta", "founded": "json-ld"}


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, "null", 5, None, {"a": 1}, "[1]"])
def test_a_broken_column_has_nothing(broken: Any) -> None:
    facts = merged({"tech_stack": broken, "methods": broken, "about": 7}, CompanyFacts(name="Acme"))
    assert facts.name == "Acme"
    assert facts.about is None
    assert facts.methods == {}


_TEXT = st.one_of(st.none(), st.text(max_size=160))
_FACTS = st.builds(CompanyFacts, name=_TEXT, about=_TEXT, culture=_TEXT, size=_TEXT, tech_stack=st.just(()))


@given(_FACTS, _FACTS)
def test_merging_never_empties_a_field_and_merging_again_changes_nothing(old: CompanyFacts, new: CompanyFacts) -> None:
    facts = merged(old.as_json(), new)
    for field in ("name", "about", "culture", "size"):
        if (getattr(old, field) or "").strip() or (getattr(new, field) or "").strip():
            assert (getattr(facts, field) or "").strip()
    assert merged(old.as_json(), facts) == facts
