"""Years of experience that are asked for; and years that are something else."""

from __future__ import annotations

import pytest

from ramet.jobs.text.experience import years_of
from ramet.jobs.text.sections import sections_of


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("5+ years of experience with Python", (5, None)),
        ("3-5 years of professional experience", (3, 5)),
        ("3-5+ years of professional software engineering experience.", (3, 5)),
        ("at least seven years of backend development", (7, None)),
        ("minimum of 4 years in a customer-facing role", (4, None)),
        ("10 + years of related experience", (10, None)),
        ("0+ years of related experience", (0, None)),
        ("12 years plus of experience in sales", (12, None)),
        ("8+ years as a software engineer", (8, None)),
        ("five (5) years of experience", (5, None)),
        ("5 or more years of relevant experience", (5, None)),
        ("between 2 and 4 years' experience, 2 to 4 years of Go", (2, 4)),
        ("6+ yrs experience with public clouds", (6, None)),
        ("You have 4+ years of software development experience, ideally in banking", (4, None)),
        ("Our ideal candidate will have 7+ years of previous experience", (7, None)),
        ("Mindestens 3 Jahre Berufserfahrung", (3, None)),
        ("5 años de experiencia en desarrollo", (5, None)),
        ("experience.5+ years of engineering experience (7+ for Staff level)", (5, None)),
        ("8+ years of engineering experience\n2+ years of Python experience\n3+ years leading teams", (8, None)),
        ("2+ years of Python experience\n8+ years of engineering experience", (8, None)),
    ],
)
def test_demands(text: str, years: tuple[int, int | None]) -> None:
    assert years_of(sections_of(f"Requirements\n{text}")) == years


@pytest.mark.parametrize(
    "text",
    [
        "A company with 20 years of history",
        "For over 30 years we have served our clients with experience and care",
        "We've grown in the last 5 years",
        "You must be 18 years of age or older",
        "durante nossos 30 anos de história",
        "a 3-year contract; 2 years ago; 401k vests over 4 years",
        "10 paid holidays per year and 15 days of leave each year",
        "lived in the U.S. for the last five years as follows",
        "Preferred: 10 years of experience with COBOL",
        "A salary of 150,000-200,000 a year",
    ],
)
def test_no_demands(text: str) -> None:
    assert years_of(sections_of(text)) == (None, None)


def test_another_degree_is_no_demand_of_its_own() -> None:
    text = "Requirements\nBachelor's AND 2+ years of engineering experience\nOR high school AND 4+ years of experience"
    assert years_of(sections_of(text)) == (2, None)


def test_what_is_only_wished_for_gives_way() -> None:
    text = "Requirements\n3+ years of experience\nNice to have\n10+ years of experience with Erlang"
    assert years_of(sections_of(text)) == (3, None)


@pytest.mark.parametrize(
    "text",
    [
        "With over 30 years of expertise across Private Equity, we serve clients.",
        "With 15 years of experience in trade, our firm provides advice.",
        "Backed by 25 years of engineering experience.",
    ],
)
def test_what_a_company_has_is_no_demand(text: str) -> None:
    assert years_of(sections_of(text)) == (None, None)


def test_a_demand_with_a_company_behind_it_stays_one() -> None:
    text = "You need at least 5 years of experience in trade, we offer the rest."
    assert years_of(sections_of(text))[0] == 5


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("Qualifications2-4 years of experience with SQL", (2, 4)),
        ("What you bring3+ years of support experience", (3, None)),
        ("PMP is a plus.Minimum 10-12 years of hands-on experience", (10, 12)),
        ("pages 1,200 years of experience", (None, None)),
    ],
)
def test_texts_that_lost_their_line_breaks(text: str, years: tuple[int | None, int | None]) -> None:
    assert years_of(sections_of(text)) == years


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("- 2-3+ years in business intelligence or reporting", (2, 3)),
        ("4+ years in business development", (4, None)),
        ("- 3 years in sales or retail", (3, None)),
        ("- 5-7 years expert-level SQL", (5, 7)),
        ("You bring:\n-3+ years configuring plans", (3, None)),
        ("Years of Experience - 6+Availability: immediate", (6, None)),
        ("Years of experience: 4-7", (4, 7)),
        ("Total experience: 9+", (9, None)),
        ("Relevant exp (yrs): 3 - 5", (3, 5)),
        ("5년 이상의 데이터 모델링 경험", (5, None)),
        ("3年以上の開発経験", (3, None)),
        ("2年以上工作经验", (2, None)),
    ],
)
def test_demands_in_few_words(text: str, years: tuple[int, int | None]) -> None:
    assert years_of(sections_of(f"Requirements\n{text}")) == years


@pytest.mark.parametrize(
    "text",
    [
        "With 30 years in business, we know our trade",
        "Customer experience: 5 markets, 3 brands",
        "Experience: 12 countries in one year",
        "설립 10년 이상",
        "The plan pays 3 years in full",
    ],
)
def test_years_and_numbers_that_are_no_demand(text: str) -> None:
    assert years_of(sections_of(text)) == (None, None)
