"""Ways of working, the preferred office, and places that are out of the question."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.matching.sample_listings import LONG, hard_name, judged, points, posting, settings_with

OFFICE = {"preferred_city": "Portland", "preferred_region": "OR"}
REMOTE_OR_OFFICE = {"allow_hybrid": False, "allow_onsite": False}


@pytest.mark.parametrize(
    ("location", "workplace", "refused"),
    [
        ("Remote - US", None, False),
        ("Portland, OR", "hybrid", False),
        ("Portland, Oregon, USA", "onsite", False),
        ("Seattle, WA; Portland, OR", "hybrid", False),
        ("Portland, ME", "hybrid", True),
        ("Portland, TX (On-site)", None, True),
        ("San Francisco, CA (On-site)", None, True),
        ("Hybrid", None, False),
        ("In-Office", None, False),
        ("US", "onsite", False),
        ("Oslo", None, False),
        (None, None, False),
    ],
)
def test_office_work_is_taken_at_the_preferred_office_or_where_no_city_is_named(
    location: str | None, workplace: str | None, refused: bool
) -> None:
    settings = settings_with(profile=OFFICE, filter=REMOTE_OR_OFFICE)
    result = judged(posting(location=location, workplace=workplace), settings)
    assert (hard_name(result) == "remote_policy") is refused


@pytest.mark.parametrize(
    ("workplace", "rules", "refused"),
    [
        ("hybrid", {"allow_hybrid_at_office": False}, True),
        ("onsite", {"allow_hybrid_at_office": False}, False),
        ("onsite", {"allow_onsite_at_office": False}, True),
        ("onsite", {"allow_onsite_at_office": False, "allow_onsite": True}, False),
        ("remote", {"allow_remote": False}, True),
    ],
)
def test_each_way_has_a_switch_of_its_own(workplace: str, rules: dict[str, Any], refused: bool) -> None:
    settings = settings_with(profile=OFFICE, filter=REMOTE_OR_OFFICE | rules)
    result = judged(posting(location="Portland, OR", workplace=workplace), settings)
    assert (hard_name(result) == "remote_policy") is refused


def test_without_a_preferred_office_there_is_no_exception() -> None:
    result = judged(posting(location="Hybrid"), settings_with(filter=REMOTE_OR_OFFICE))
    assert hard_name(result) == "remote_policy"
    assert result.rejection_summary == "hybrid work is not taken"


def test_what_only_the_text_speaks_of_is_a_strike() -> None:
    case = posting(location="Chicago, IL", description=f"{LONG} We operate as a hybrid workplace.")
    result = judged(case, settings_with(profile=OFFICE, filter=REMOTE_OR_OFFICE))
    assert (hard_name(result), points(result)) == (None, {"remote_policy": 2})


@pytest.mark.parametrize(
    ("location", "excluded", "refused"),
    [
        ("Remote (Singapore)", ["Singapore"], True),
        ("Remote - India", ["india"], True),
        ("Bengaluru, India", ["India"], True),
        ("Remote - USA; Remote - India", ["India"], False),
        ("Bengaluru, India; Pune, India", ["India"], True),
        ("Indiana, US", ["India"], False),
        ("Portland, ME", ["Maine"], True),
        ("Portland, OR", ["Maine"], False),
        ("London, UK", ["United Kingdom"], True),
        ("London, UK", ["London"], True),
        ("Remote - EMEA", ["EMEA"], True),
        ("EMEA | Americas", ["EMEA"], False),
        ("Remote", ["India"], False),
        (None, ["India"], False),
        ("Remote - India", [], False),
    ],
)
def test_an_excluded_place_wins_over_remote_when_there_is_no_other(
    location: str | None, excluded: list[str], refused: bool
) -> None:
    result = judged(posting(location=location), settings_with(filter={"excluded_places": excluded}))
    assert (hard_name(result) == "excluded_place") is refused
