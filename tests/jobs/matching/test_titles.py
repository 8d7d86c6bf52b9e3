"""Titles by what they mean: synonyms, roles, specialities, and words that are the team's and not the role's."""

from __future__ import annotations

import pytest

from ramet.jobs.matching.stop_list import title_refusal
from ramet.jobs.matching.titles import Likeness, excluded_kind, title_match
from ramet.jobs.matching.words import fold
from tests.jobs.matching.sample_listings import judged, posting, settings_with

WANTED = ("software engineer", "backend", "platform engineer")


@pytest.mark.parametrize(
    ("title", "likeness"),
    [
        ("Senior Software Engineer", Likeness.WANTED),
        ("Senior Software Developer", Likeness.WANTED),
        ("Software Programmer II", Likeness.WANTED),
        ("Back-End Developer", Likeness.WANTED),
        ("Platform Software Engineer", Likeness.WANTED),
        ("Softwareentwickler (m/w/d)", Likeness.WANTED),
        ("SDE 2", Likeness.WANTED),
        ("Senior Python Developer", Likeness.SAME_ROLE),
        ("Go Developer", Likeness.SAME_ROLE),
        ("Staff Engineer", Likeness.SAME_ROLE),
        ("Security Engineer", Likeness.RELATED),
        ("Frontend Engineer", Likeness.RELATED),
        ("Data Architect", Likeness.RELATED),
        ("Sales Engineer", Likeness.OTHER),
        ("Service Desk Engineer", Likeness.OTHER),
        ("Mechanical Engineer", Likeness.OTHER),
        ("Human Resources Partner", Likeness.OTHER),
        ("Vice President of Sales", Likeness.OTHER),
        ("", Likeness.OTHER),
    ],
)
def test_a_title_is_compared_by_its_role(title: str, likeness: Likeness) -> None:
    assert title_match(title, WANTED).likeness is likeness


def test_a_field_of_several_words_counts_whole() -> None:
    wanted = ("bi engineer", "support engineer")
    assert title_match("Business Intelligence Lead", wanted).likeness is Likeness.RELATED
    assert title_match("Business Development Representative", wanted).likeness is Likeness.OTHER
    assert title_match("Technical Support Engineer", wanted).likeness is Likeness.WANTED


@pytest.mark.parametrize(
    ("title", "refused"),
    [
        ("Senior Software Engineer, Sales Mode", False),
        ("Software Engineer - Sales Platform", False),
        ("Data Analyst (Sales)", False),
        ("Software Engineer, Recruiter Tools", False),
        ("Sales Engineer", True),
        ("Account Executive, Sales", True),
        ("Director of Sales", True),
        ("Head of Sales Engineering", True),
        ("Sales Representative, Software", True),
        ("Sales", True),
        ("Technical Recruiter", True),
    ],
)
def test_an_excluded_word_is_the_roles_and_not_any_word_of_the_title(title: str, refused: bool) -> None:
    kinds = ["sales", "recruiter"]
    assert (excluded_kind(fold(title), kinds) is not None) is refused
    settings = settings_with(filter={"excluded_job_types": kinds})
    assert (title_refusal(posting(title), settings) is not None) is refused
    assert judged(posting(title), settings).passed is not refused


def test_only_wanted_titles_are_taken_by_their_meaning_too() -> None:
    settings = settings_with(profile={"name": "Ana", "titles": list(WANTED)}, filter={"wanted_titles_only": True})
    assert judged(posting("Back-end Developer"), settings).passed
    assert not judged(posting("Security Engineer"), settings).passed


def test_a_role_alone_is_wanted_as_it_is_written_and_its_synonyms_are_compared_by_the_rest() -> None:
    wanted = ("developer",)
    assert title_match("Web Developer", wanted).likeness is Likeness.WANTED
    assert title_match("Python Engineer", wanted).likeness is Likeness.SAME_ROLE
    assert title_match("Security Engineer", wanted).likeness is Likeness.RELATED
    assert title_match("Customer Solutions Engineer", wanted).likeness is Likeness.OTHER
