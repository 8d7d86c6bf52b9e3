"""What is read in the texts of resumes, which are made up here."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.text.resume import profile_of

TODAY = datetime.date(2026, 11, 1)

AMERICAN = """
Ana Maria Example
Portland, OR | ana@mail.example | +1 555 0100

SUMMARY
Backend engineer who likes plain systems.

TECHNICAL SKILLS
Python, PostgreSQL, Docker, Kubernetes, AWS, Redis

WORK EXPERIENCE

Senior Backend Engineer - Acme Corp          Mar 2020 - Present
- Moved billing to Python services on AWS.
- Ran PostgreSQL for 40 teams.

Software Engineer, Initech                   06/2016 - 02/2020
- Wrote Python and Django.

EDUCATION
B.Sc. Computer Science, State University     2010 - 2014
"""
GERMAN = """Lebenslauf
Jan Beispiel
Berlin, Germany

Berufserfahrung
Softwareentwickler bei Muster GmbH, Januar 2023 – heute
Java, Spring, Kafka; Java 21

Ausbildung
Informatik, 2017 – 2022
"""


def test_a_resume_tells_a_profile() -> None:
    found = profile_of(AMERICAN, TODAY).values
    assert found["name"] == "Ana Maria Example"
    assert found["titles"] == ["backend engineer", "software engineer"]
    assert found["seniority"] == ["senior"]
    assert found["experience_years"] == 10
    assert (found["preferred_city"], found["preferred_region"], found["utc_offset"]) == ("Portland", "OR", -8.0)
    assert found["country"] == "US"
    ranks = found["technologies"]
    assert {name for name, rank in ranks.items() if rank == "required"} == {"python", "postgresql", "aws"}
    assert {"docker", "kubernetes", "redis", "django"} <= ranks.keys()


def test_a_resume_in_german_tells_one_too() -> None:
    found = profile_of(GERMAN, TODAY).values
    assert (found["name"], found["preferred_city"], found["preferred_region"]) == ("Jan Beispiel", "Berlin", "DE")
    assert (found["titles"], found["experience_years"], found["seniority"]) == (["softwareentwickler"], 4, ["mid"])
    assert found["technologies"]["java"] == "required"


@pytest.mark.parametrize(
    ("periods", "years"),
    [
        ("2015 - 2020\n2018 - 2022", 7),  # Months that overlap count once.
        ("01/2015 - 12/2015\n01/2016 to 12/2019", 5),
        ("Jan 2025 \u2013 present", 2),
        ("May 2024 until now", 2),
        ("2030 - 2040", None),
        ("2020 - 2010", None),
        ("1900 - 2020", None),
        ("Order 2015-2020-77", 5),
    ],
)
def test_periods_of_work_are_added_up(periods: str, years: int | None) -> None:
    text = f"EXPERIENCE\nCook\n{periods}\nEDUCATION\n1990 - 2010\n"
    assert profile_of(text, TODAY).values.get("experience_years") == years


def test_what_it_says_itself_comes_first() -> None:
    found = profile_of("Engineer with 12+ years of experience in Go\nExperience\n2020 - 2022\n", TODAY)
    assert found.values["experience_years"] == 12
    assert found.reasons["experience_years"] == "as it says"
    assert found.values["seniority"] == ["senior"]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Staff Software Engineer | Acme | Remote", "software engineer"),
        ("Lead Data Scientist at Acme", "data scientist"),
        ("Acme Corp, Product Designer (2019 - 2021)", "product designer"),
        ("DevOps Engineer II, Acme", "devops engineer"),
    ],
)
def test_the_title_of_a_position_is_read_without_its_level(line: str, title: str) -> None:
    assert profile_of(f"Experience\n{line}\n", TODAY).values["titles"] == [title]


def test_a_sentence_about_engineers_is_no_title() -> None:
    text = "Experience\nWorked with the engineers and the product manager on a plan for the new system.\n"
    assert "titles" not in profile_of(text, TODAY).values


def test_a_text_that_is_none_gives_no_more_than_a_name() -> None:
    assert profile_of("", TODAY).values == {"name": "From a resume"}


@given(st.text(max_size=500))
def test_any_text_is_read(text: str) -> None:
    assert "name" in profile_of(text, TODAY).values
