"""Seniority by the title, the text and the years; and who leads people."""

from __future__ import annotations

import pytest

from ramet.jobs.text.experience import Seniority, is_management, seniority_of


@pytest.mark.parametrize(
    ("title", "seniority"),
    [
        ("Senior Software Engineer", "senior"),
        ("Sr. Engineer", "senior"),
        ("Sr Machine Learning Engineer I", "senior"),
        ("Senior Staff Engineer", "staff"),
        ("Senior Principal Engineer", "principal"),
        ("AI Growth Lead (Staff Software Engineer)", "staff"),
        ("Lead Software Engineer", "lead"),
        ("Engineering Manager", "lead"),
        ("Head of Data", "lead"),
        ("Director, Institutional Growth", "lead"),
        ("Solutions Architect", "senior"),
        ("Software Engineer", "mid"),
        ("Software Engineer II", "mid"),
        ("Software Engineer III", "senior"),
        ("Software Engineer 2", "mid"),
        ("Junior Developer", "junior"),
        ("SAP Associate Engineer", "junior"),
        ("Engineering Intern", "junior"),
        ("Software Engineer, New Grad", "junior"),
        ("Werkstudent Softwareentwicklung", "junior"),
        ("Desenvolvedor Pleno", "mid"),
        ("Desarrollador Semi Senior", "mid"),
        ("Product Manager", "mid"),
        ("Senior Product Manager", "senior"),
        ("Chief of Staff", "mid"),
        ("Member of Technical Staff", "mid"),
        ("Internal Tools Engineer", "mid"),
        ("Leadership Coach", "mid"),
        ("Solutions Engineer - Mid-Market", "mid"),
        ("Warehouse, 2 -3 Shifts, near Hwy 4", "mid"),
        ("Engineer (C++)", "mid"),
    ],
)
def test_titles(title: str, seniority: str) -> None:
    assert seniority_of(title, "", None)[0] == seniority


@pytest.mark.parametrize(
    ("text", "years", "seniority", "word"),
    [
        ("We are looking for a Senior Developer to join us", 2, Seniority.SENIOR, "senior"),
        ("Level: Junior", 9, Seniority.JUNIOR, "junior"),
        ("You mentor junior engineers and work with a lead designer.", None, Seniority.MID, None),
        ("", 8, Seniority.SENIOR, None),
        ("", 5, Seniority.MID, None),
        ("", 1, Seniority.JUNIOR, None),
    ],
)
def test_texts_and_years(text: str, years: int | None, seniority: Seniority, word: str | None) -> None:
    assert seniority_of("Engineer", text.lower(), years) == (seniority, word)


def test_without_a_title_nothing_is_known() -> None:
    assert seniority_of(" ", "", None) == (Seniority.UNKNOWN, None)


@pytest.mark.parametrize(
    ("title", "text", "leads"),
    [
        ("Engineering Manager", "", True),
        ("Director of Engineering", "", True),
        ("Head of Backend", "", True),
        ("Product Manager", "", False),
        ("Engineer", "You will manage a team of six engineers.", True),
        ("Engineer", "You have three direct reports.", True),
        ("Engineer", "You join a team of six engineers.", False),
    ],
)
def test_management(title: str, text: str, leads: bool) -> None:
    assert is_management(title, text.lower()) is leads


@pytest.mark.parametrize(
    ("title", "level"),
    [
        ("Recruiter, Early-Stage Startups", "mid"), ("Advanced Analytics Consultant", "mid"),
        ("Staff Augmentation Manager", "mid"), ("Associate General Counsel", "mid"),
        ("Senior Living Dietitian", "mid"), ("Associate Professor of Physics", "mid"),
        ("University Recruiter", "mid"), ("Lead Generation Specialist", "mid"), ("Student Success Coach", "mid"),
        ("Principal Investing Analyst", "mid"), ("Data Scientist 4", "senior"), ("Data Scientist 4 - Berlin", "senior"),
        ("Engineer 2", "mid"), ("Analyst 1", "junior"), ("Room 4 Attendant", "mid"), ("Finance Manager", "mid"),
        ("Senior Manager, Finance", "lead"), ("Engineering Manager", "lead"), ("Store Manager", "lead"),
        ("Senior Product Manager", "senior"), ("Associate Director, Data", "lead"), ("Associate Engineer", "junior"),
    ],
)  # fmt: skip
def test_words_of_a_level_that_name_something_else(title: str, level: str) -> None:
    assert str(seniority_of(title, "", None)[0]) == level


def test_a_manager_leads_where_the_text_speaks_of_a_team() -> None:
    for text in (
        "you manage a team of five analysts",
        "with three direct reports",
        "hire, coach and develop your team",
    ):
        assert str(seniority_of("Finance Manager", text, None)[0]) == "lead"
    for text in (
        "you own the close and work with the finance team",
        "join the cost management team of our group",
        "as a manager on the capital projects team you write reports",
        "we are committed to building a diverse team",
    ):
        assert str(seniority_of("Finance Manager", text, None)[0]) == "mid"


def test_an_associate_who_has_years_is_no_junior() -> None:
    assert str(seniority_of("Associate, Data Science", "", 5)[0]) == "mid"
    assert str(seniority_of("Associate, Data Science", "", 9)[0]) == "senior"
    assert str(seniority_of("Associate, Data Science", "", 1)[0]) == "junior"


def test_the_next_colleague_of_a_text_has_a_level() -> None:
    assert str(seniority_of("Engineer", "as our next senior software engineer you build", None)[0]) == "senior"


def test_the_title_that_the_text_repeats_with_a_level() -> None:
    assert str(seniority_of("Java Developer", "senior java developerlocation - pune, full time", 3)[0]) == "senior"
    assert str(seniority_of("Data Analyst", "role: junior data analyst (m/f/d) in our team", None)[0]) == "junior"
    for text in ("you support senior java developers in oslo", "our java developer reports to a senior architect"):
        assert str(seniority_of("Java Developer", text, None)[0]) == "mid"


def test_manager_before_a_comma_leads_only_with_a_team() -> None:
    assert str(seniority_of("Manager, Strategic Finance", "you build models for the board", None)[0]) == "mid"
    assert str(seniority_of("Manager, Strategic Finance", "lead a team of two analysts", None)[0]) == "lead"
    assert str(seniority_of("Finance Manager I, Infrastructure", "you own the forecast", 5)[0]) == "mid"
