"""Since when, from where, in what business and to what end."""

from __future__ import annotations

import pytest

from ramet.jobs.companies.statements import founded_in, headquarters_in, industry_in, labelled, mission_in


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Acme was founded in March 2012 by two friends.", "2012"),
        ("Founded by Ann and Bo in 1999, we make robots.", "1999"),
        ("Founded in Berlin in 2011", "2011"),
        ("EST. 1987", "1987"),
        ("Die Firma wurde 1998 in Kiel gegründet.", "1998"),
        ("Gegründet im Jahr 1998.", "1998"),
        ("Acme a été fondée en 2015 à Lyon.", "2015"),
        ("We have served customers since 2009.", None),
        ("© 2009-2026 Acme", None),
        ("Founded in 10115 Berlin", None),
    ],
)
def test_the_year_of_the_founding(text: str, year: str | None) -> None:
    assert founded_in(text) == year


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("We are headquartered in Portland, Oregon, with offices abroad.", "Portland, Oregon"),
        ("Our headquarters are located in São Paulo, Brazil and elsewhere.", "São Paulo, Brazil"),
        ("Acme is a company based in St. Louis, MO. Its robots sing.", "St. Louis, MO"),
        ("HQ: Berlin, Germany", "Berlin, Germany"),
        ("- Danbury HQ\n- Main office", "Danbury"),
        ("Our Headquarters in the cloud", None),
        ("They do not have any HQ", None),
        ("Candidates based in Europe are welcome", None),
    ],
)
def test_the_place_of_the_head_office(text: str, place: str | None) -> None:
    assert headquarters_in(text) == place


@pytest.mark.parametrize(
    ("text", "business"),
    [
        ("Acme is a leading global web hosting company.", "web hosting"),
        ("Acme is a Boston-based, full-service games developer and publishing studio", None),
        ("Acme is an American hybrid cloud data services company", "hybrid cloud data services"),
        ("Acme is a great company to work for", None),
    ],
)
def test_the_business_without_its_praise(text: str, business: str | None) -> None:
    assert industry_in(text) == business


def test_the_sentence_about_the_mission() -> None:
    text = "We make robots. Our mission is to bring a robot to every home! And more."
    assert mission_in(text) == "Our mission is to bring a robot to every home!"
    assert mission_in("Our mission") is None
    assert mission_in("A text without one.") is None


def test_values_behind_labels_on_the_line_or_the_next() -> None:
    lines = [
        "Founded",
        "2012",
        "Industry: Robotics",
        "Headquarters:",
        "Oslo, Norway",
        "Company size",
        "11-50",
        "Sector",
    ]
    assert labelled(lines) == {
        "founded": "2012",
        "industry": "Robotics",
        "headquarters": "Oslo, Norway",
        "size": "11-50",
    }
