"""Texts as pages show them: other openings below, characters decoded twice, headings glued to sentences, levels said in
sentences. Each kind with variations, and with what looks like it and is not.
"""

from __future__ import annotations

import pytest

from ramet.jobs.posting import Posting
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.markup import decoded_once
from ramet.jobs.text.posting_text import Reading, read_posting

OWN = "We build ships for harbours, and look for a person who likes boats and the sea. You know Python and SQL. " * 6


def read(text: str, title: str = "Engineer", location: str | None = None) -> Reading:
    return read_posting(Posting(url="https://acme.example/1", title=title, location=location, description=text))


@pytest.mark.parametrize(
    "line",
    [
        "Similar jobs", "Referrals increase your chances of interviewing at Acme by 2x", "More jobs at Acme",
        "Related positions", "People also viewed", "\u00c4hnliche Jobs", "Offres similaires", "Vagas semelhantes",
    ],
)  # fmt: skip
def test_what_a_page_shows_of_other_openings_is_not_read(line: str) -> None:
    others = "Senior Rust Engineer\nTokyo, Japan\n$180,000 - $220,000\n10+ years of experience with Rust, remote"
    found = read(f"{OWN}\n{line}\n{others}")
    assert set(found.technologies) == {"python", "sql"}
    assert (found.salary, found.years_min) == (None, None)


@pytest.mark.parametrize("line", ["Similar jobs that you have had count as well", "You will do more jobs in Rust"])
def test_a_sentence_with_these_words_ends_nothing(line: str) -> None:
    assert "kafka" in read(f"{OWN}\n{line}\nYou know Kafka.").technologies


def test_a_page_that_begins_with_others_is_read_whole() -> None:
    assert "kafka" in read("Engineer\nSimilar jobs\nYou know Kafka. " + OWN).technologies


@pytest.mark.parametrize("table", ["latin-1", "cp1252"])
@pytest.mark.parametrize(
    "text", ["10\u201312 years", "we\u2019re", "S\u00e3o Paulo", "Z\u00fcrich", "\u00a365k", "\u20ac5"]
)
def test_characters_that_were_decoded_by_the_wrong_table_are_as_they_were_meant(text: str, table: str) -> None:
    assert decoded_once(text.encode().decode(table)) == text


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "caf\u00e9",
        "\u00c4rzte",
        "Stra\u00dfe \u2013 Z\u00fcrich",
        "\u00c3",
        "\u00e2 \u20ac",
        "\u65e5\u672c\u8a9e",
    ],
)
def test_a_text_that_was_decoded_rightly_stays(text: str) -> None:
    assert decoded_once(text) == text


def test_years_and_places_in_the_wrong_encoding_are_read() -> None:
    found = read(
        "You have 10\u00e2\u0080\u009312 years of experience in baking.", location="S\u00c3\u00a3o Paulo, Brazil"
    )
    assert (found.years_min, found.years_max) == (10, 12)
    assert [(place.city, place.country) for place in found.places] == [("S\u00e3o Paulo", "BR")]


@pytest.mark.parametrize("heading", ["Preferred Qualifications", "Desired Skills"])
def test_a_heading_between_two_sentences_begins_what_is_only_wished_for(heading: str) -> None:
    text = f"Requirements\nYou have 2+ years of experience with Go.{heading}9+ years of experience with Rust."
    assert read(text).years_min == 2


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("As our Sr. Customer Support Specialist, you will help.", Seniority.SENIOR),
        ("We are looking for a passionate and experienced Sr. Python Developer.", Seniority.SENIOR),
        ("This is a senior IC role, reporting to the founder.", Seniority.SENIOR),
        ("Senior experience in data management is needed.", Seniority.SENIOR),
        ("You bring senior-level experience with clouds.", Seniority.SENIOR),
        ("We look for an engineer at a fresher level.", Seniority.JUNIOR),
        ("This entry-level opportunity is for graduates.", Seniority.JUNIOR),
        ("No previous professional experience is required to apply.", Seniority.JUNIOR),
        ("It is not for freshers.", Seniority.MID),
        ("No prior experience with Rust is required; you have 5 years of experience in Go.", Seniority.MID),
        ("You will work with senior engineers and report to a principal engineer.", Seniority.MID),
        ("You lead experience design for our customers.", Seniority.MID),
    ],
)
def test_the_level_that_a_sentence_says(text: str, level: Seniority) -> None:
    assert read(text).seniority is level


@pytest.mark.parametrize(
    ("text", "level"),
    [("Join the Fellowship of researchers.", Seniority.MID), ("You set the direction.", Seniority.PRINCIPAL)],
)
def test_a_fellow_of_a_fellowship_is_no_principal(text: str, level: Seniority) -> None:
    assert read(text, title="Research Fellow").seniority is level


def test_years_behind_the_name_of_a_field_and_years_of_options() -> None:
    assert read("Experience:\nSales: 3 years (Required)").years_min == 3
    assert read("Sales: 3 years").years_min is None
    assert read("10-year exercise window for stock options").years_min is None


@pytest.mark.parametrize(
    ("text", "pay"),
    [
        ("Paying up to \u00a365k + bonus", (None, 65_000, "GBP")),
        ("Salary: \u00a365k + car allowance and bonus", (65_000, 65_000, "GBP")),
        ("Salary: \u00a365k+", (65_000, None, "GBP")),
        ("The salary range is $60,675- $101, 125 annually.", (60_675, 101_125, "USD")),
    ],
)
def test_pay_beside_a_bonus_and_numbers_with_a_space(text: str, pay: tuple[int | None, int | None, str]) -> None:
    found = read(text).salary
    assert found is not None
    assert (found.minimum, found.maximum, found.currency) == pay


def test_a_bonus_alone_is_no_pay() -> None:
    assert read("You get $10,000 bonus and 100, 200 or 300 points.").salary is None


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("Working conditions:\nHybrid: on site and work from home.", Arrangement.HYBRID),
        ("- Remote work up to 50% annually; 63 working days abroad", Arrangement.HYBRID),
        ("Home office possible up to 3 days", Arrangement.HYBRID),
        ("Telework Type: Full-Time Office/Project", Arrangement.ONSITE),
        ("We know hybrid clouds: AWS and Azure.", Arrangement.UNKNOWN),
    ],
)
def test_how_work_is_arranged_in_lists_of_benefits_and_forms(text: str, how: Arrangement) -> None:
    assert read(f"{text}\nYou know Python.").arrangement is how
