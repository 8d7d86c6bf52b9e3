"""When a company's record is complete enough, and what a model may still fill."""

from __future__ import annotations

import pytest

from ramet.jobs.companies.facts import CompanyFacts, Completeness, completeness, missing_for_good
from ramet.jobs.settings import CompanySettings

SETTINGS = CompanySettings()


@pytest.mark.parametrize(
    ("about", "culture", "level"),
    [
        (101, 51, Completeness.GOOD),
        (100, 51, Completeness.MINIMAL),
        (101, 50, Completeness.MINIMAL),
        (51, 0, Completeness.MINIMAL),
        (0, 26, Completeness.MINIMAL),
        (50, 25, Completeness.NONE),
        (0, 0, Completeness.NONE),
    ],
)
def test_lengths_decide_each_longer_than_its_bound(about: int, culture: int, level: Completeness) -> None:
    assert completeness("Acme", "https://acme.com/", "a" * about, "c" * culture, SETTINGS) is level
    assert completeness("Acme", "https://acme.com/", "a" * about + " " * 200, "c" * culture, SETTINGS) is level


def test_a_name_and_a_website_are_always_needed() -> None:
    assert completeness(None, "https://acme.com/", "a" * 200, "c" * 200, SETTINGS) is Completeness.NONE
    assert completeness("Acme", " ", "a" * 200, "c" * 200, SETTINGS) is Completeness.NONE
    assert completeness("Acme", "https://acme.com/", None, None, SETTINGS) is Completeness.NONE


def test_a_model_may_fill_what_is_too_short_and_then_what_is_empty_as_well() -> None:
    good = CompanyFacts(name="Acme", about="a" * 101, culture="c" * 51)
    assert missing_for_good(good, SETTINGS) == []
    short = CompanyFacts(name="Acme", about="a" * 101, culture="c" * 50, size="12 employees", founded="2012")
    assert missing_for_good(short, SETTINGS) == ["culture", "mission", "headquarters_location", "industry"]


def test_what_is_no_json_of_facts_is_refused() -> None:
    with pytest.raises(ValueError, match="no facts"):
        CompanyFacts.from_json({"name": "Acme"})
    with pytest.raises(ValueError, match="no facts"):
        CompanyFacts.from_json({**CompanyFacts().as_json(), "offices": [{"town": "Oslo"}]})
