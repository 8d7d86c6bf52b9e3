"""How many work for a company, and nobody else that its pages count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.companies.statements import headcount_in, headcount_of, size_category
from ramet.jobs.settings import CompanySettings


@pytest.mark.parametrize(
    ("text", "shown", "employees"),
    [
        ("51-200 employees", "51-200 employees", 125),
        ("We are over 1,200 people in 14 countries.", "1,200 employees", 1200),
        ("Today over 1,200 people.", "1,200 employees", 1200),
        ("between 51 and 200 employees", "51-200 employees", 125),
        ("10.000+ Mitarbeiter weltweit", "10,000+ employees", 10_000),
        ("1 200 collaborateurs", "1,200 employees", 1200),
        ("1.2k employees", "1,200 employees", 1200),
        ("a workforce of 1,500", "1,500 employees", 1500),
        ("Acme employs 3,000 across Europe", "3,000 employees", 3000),
        ("Our 350-person team", "350 employees", 350),
        ("a team of twelve, all engineers", "12 employees", 12),
        ("We grew from 10 to 300 employees", "300 employees", 300),
        ("In 2010 we began; today 15 full-time employees", "15 employees", 15),
        ("72,718 employees", "72,718 employees", 72_718),
    ],
)
def test_a_number_beside_those_who_work_there_counts(text: str, shown: str, employees: int) -> None:
    found = headcount_of(text)
    assert found is not None
    assert (found.text, found.employees) == (shown, employees)


@pytest.mark.parametrize(
    "text",
    [
        "40 million people use it",
        "trusted by 10,000 people",
        "Helping 5,000 people across the world",
        "2,000+ student note-takers",
        "500,000+ users",
        "You'll develop menus and manage a team of 12",
        "You will be part of a team of 8 engineers",
        "Our software helps 50,000 employees to rest",
        "5,000 professionals worldwide use it",
        "In 2015 employees asked for it",
        "a team of 100% remote people",
        "$1,200 for employees' home offices",
        "48 million learners in 190 countries",
        "",
    ],
)
def test_a_number_of_others_does_not(text: str) -> None:
    assert headcount_of(text) is None


def test_behind_a_label_a_bare_number_is_enough() -> None:
    assert [
        found.employees if (found := headcount_in(line)) else None for line in ("51-200", "~90 (2025)", "< 50")
    ] == [
        125,
        90,
        50,
    ]
    assert headcount_in("500,000 users") is None
    assert headcount_in("500,000+ users") is None
    assert headcount_in("1,234,567,890 employees") is None
    assert headcount_in("Medium-sized") is None


def test_the_bounds_of_large_and_small_are_settings() -> None:
    settings = CompanySettings()
    assert [size_category(number, settings) for number in (1, 99, 100, 9_999, 10_000)] == [
        "small",
        "small",
        "medium",
        "medium",
        "large",
    ]
    assert size_category(600, CompanySettings(size_large=500)) == "large"


@given(st.text(alphabet="0123456789 ,.k+-teamofpluswar%\n", max_size=120))
def test_any_text_has_a_count_of_people_or_none(text: str) -> None:
    for found in (headcount_of(text), headcount_in(text)):
        assert found is None or found.employees > 0
