"""From where a listing may be done, against where a person lives and may work; what is not said refuses nobody."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.config.config_file import ConfigError, read_config
from ramet.jobs.matching.eligibility import Fit, eligibility_of
from ramet.jobs.posting import PlaceFields, Posting
from ramet.jobs.text.posting_text import Reading, read_posting
from tests.jobs.matching.sample_listings import LONG, hard_name, judged, posting, settings_with

SAM: dict[str, Any] = {"name": "Sam", "country": "United States", "region": "OR"}
ELENA: dict[str, Any] = {"name": "Elena", "country": "BE", "permits": ["European Union"]}


def fit(case: Posting, profile: dict[str, Any]) -> Fit:
    return eligibility_of(case, read_posting(case), settings_with(profile=profile).profile).fit


@pytest.mark.parametrize(
    ("title", "location", "expected"),
    [
        ("Senior Backend Engineer (Dominican Republic/Remote)", "Santo Domingo", Fit.OUT),
        ("Senior Backend Engineer", "Remote (Dominican Republic)", Fit.OUT),
        ("Senior Software Engineer", "Bengaluru-HQ", Fit.OUT),
        ("Senior Software Engineer", "Bengaluru, KA, IN (Hybrid)", Fit.OUT),
        ("Software Engineer", "Remote - EMEA", Fit.OUT),
        ("Software Engineer", "Europe; Canada", Fit.OUT),
        ("Software Engineer Brazil", None, Fit.OUT),
        ("Software Engineer", "Remote - US", Fit.HERE),
        ("Software Engineer", "Austin, TX (On-site)", Fit.HERE),
        ("Software Engineer", "USA, Canada, USA timezones", Fit.HERE),
        ("Software Engineer", "Americas, Europe, Israel", Fit.HERE),
        ("Software Engineer", "Remote, North America", Fit.HERE),
        ("Software Engineer", "Anywhere in the World", Fit.HERE),
        ("Software Engineer", "Toronto, Canada; Remote - USA", Fit.HERE),
        ("Software Engineer", "Remote - California", Fit.MOVE),
        ("Software Engineer", "Remote - Oregon", Fit.HERE),
        ("Software Engineer", "San Francisco, CA (Remote)", Fit.HERE),
        ("Software Engineer", "Remote", Fit.UNKNOWN),
        ("Software Engineer", "Springfield", Fit.UNKNOWN),
        ("Software Engineer", None, Fit.UNKNOWN),
    ],
)
def test_places_against_somebody_in_oregon(title: str, location: str | None, expected: Fit) -> None:
    assert fit(posting(title, location=location), SAM) is expected


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("Ghent, Belgium (Hybrid)", Fit.HERE), ("Remote, Europe", Fit.HERE), ("Benelux", Fit.HERE),
        ("Paris, France (Hybrid)", Fit.MOVE), ("UK; Ireland; Portugal", Fit.MOVE), ("London, UK", Fit.OUT),
        ("Zürich, Switzerland", Fit.OUT), ("Remote", Fit.UNKNOWN),
    ],
)  # fmt: skip
def test_places_against_a_citizen_of_the_union(location: str, expected: Fit) -> None:
    assert fit(posting(location=location), ELENA) is expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("You must be authorized to work in the United States without sponsorship.", Fit.HERE),
        ("You must be authorized to work in Canada.", Fit.OUT),
        ("Applicants need the right to work in the UK.", Fit.OUT),
        ("This role is open to candidates located in Mexico, Colombia or Argentina.", Fit.OUT),
        ("Canada only.", Fit.OUT),
        ("Please note: EU residents only.", Fit.OUT),
        ("100% remote within Latin America.", Fit.OUT),
        ("You live in the EMEA region.", Fit.OUT),
        ("We can only hire in Canada, the UK or the US.", Fit.HERE),
        ("You must reside in one of the following states: California, Texas, or New York.", Fit.MOVE),
        ("You must reside in one of the following states: California, Oregon, or New York.", Fit.HERE),
        ("Work remotely from anywhere in the world.", Fit.HERE),
        ("If you are authorized to work in Canada, we are glad.", Fit.UNKNOWN),
        ("We are not able to hire remote in Canada.", Fit.UNKNOWN),
        ("For candidates in Canada, the base salary is 100,000.", Fit.UNKNOWN),
        ("Our teams are in Canada and Germany; contact us only by mail.", Fit.UNKNOWN),
        ("You are eligible to work in the country of the office.", Fit.UNKNOWN),
    ],
)
def test_sentences_against_somebody_in_oregon(sentence: str, expected: Fit) -> None:
    assert fit(posting("Engineer", f"{LONG}\n{sentence}\n{LONG}", location="Remote"), SAM) is expected


def test_a_sentence_narrows_a_wide_place_and_does_not_contradict_another() -> None:
    us_only = f"{LONG} US only."
    assert fit(posting("Engineer", us_only, location="Worldwide"), ELENA) is Fit.OUT
    assert fit(posting("Engineer", us_only, location="Remote, North America"), SAM) is Fit.HERE
    # Boilerplate of one country below the place of another: either may hold, so nobody is refused.
    both = posting("Engineer", f"{LONG} You must be authorized to work in the US.", location="Ghent, Belgium")
    assert fit(both, ELENA) is Fit.HERE
    assert fit(both, SAM) is Fit.HERE


def test_fields_of_a_board_count_before_its_text_of_places() -> None:
    case = posting(location="KA, IN", places=(PlaceFields(city="Bengaluru", region="KA", country="IN"),))
    assert fit(case, SAM) is Fit.OUT


def test_without_a_country_nothing_is_compared_and_nothing_is_told() -> None:
    found = eligibility_of(
        posting(location="London, UK"), read_posting(posting(location="London, UK")), settings_with().profile
    )
    assert (found.fit, found.reason) == (Fit.UNKNOWN, "")
    assert judged(posting(location="London, UK"), settings_with(profile={"name": "Ana"})).passed


def test_only_what_may_not_be_done_is_refused_and_the_reason_names_both_sides() -> None:
    settings = settings_with(profile=SAM)
    refused = judged(posting(location="Remote (Dominican Republic)"), settings)
    assert hard_name(refused) == "work_permit"
    assert refused.rejection_summary == "only from Remote (Dominican Republic)"
    assert refused.hard_rejections[0].detail == "the profile may work in: United States"
    for location in ("Remote", None, "Remote - California", "Remote - USA"):
        assert judged(posting(location=location), settings).passed
    taken = settings_with(profile=SAM, filter={"reject_without_permit": False})
    assert judged(posting(location="Remote (Dominican Republic)"), taken).passed


def test_a_country_that_nobody_knows_is_one_clear_line(tmp_path: Any) -> None:
    for text, told in (
        ("profile:\n  country: Narnia\n", 'line 2: profile.country is "Narnia": give a country by its name'),
        ("profile:\n  permits: [DE, Mordor]\n", 'profile.permits.1 is "Mordor": give a country by its name'),
    ):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=told):
            read_config(path)


def test_a_reading_that_an_older_version_stored_is_read_without_what_came_later() -> None:
    told = read_posting(posting(description=f"{LONG} US only.")).as_json()
    assert Reading.from_json(told).work_from == ("US",)
    del told["work_from"]
    assert Reading.from_json(told).work_from == ()
