"""A whole posting, its sections, and postings made to break or to hang a reader."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.jobs.posting import Posting
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.places import places_of
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.sections import Part, joined, sections_of
from ramet.jobs.text.technologies import find_technologies

pytestmark = pytest.mark.proof

TEXT = """About Acme
Acme runs Hadoop for 30 years and serves $400 million to customers.
What you'll do
Build services in Go on Kubernetes.
Requirements
5+ years of experience with Python and PostgreSQL
- You know Docker
Nice to have
Rust, 10+ years of Haskell
Benefits
401k, Java courses, and a salary of $150,000 - $180,000. This is a full-time role."""

POSTING = Posting(
    url="https://acme.example/jobs/1",
    title="Senior Backend Engineer (Django)",
    company="Acme",
    location="Portland, OR",
    description=TEXT,
)

LONG = 200_000
"""Characters. What takes time in proportion to their square takes minutes, and is stopped by the guard."""
PIECES = [
    " ", "\n", "1", "1 ", "1,", "$1 ", "$1,000 - ", "a-", "a ", ".", "a.", "C, ", "Go ", "Go, ", "or ", "years ",
    "5 years ", "5+ years of ", "remote ", "this role is ", "hybrid days week office ", "not remote ",
    "About us:\n", "Requirements:", "Requirements\n", "senior ", "looking for a senior ", "commission ", "team of ",
    "<div>", "<p", "&nbsp;", "&#1;", "(", ")", "\u202e", "\0", "\u0130", "é", "-", "$", "k", "€ ", "location: ",
    "work location: a, ", "LI-", "http://a ", "www.", "+", "Acme ", "About Acme", "3 days per week in the ",
    "salary ", "USD ", "1.1.1,1 ", "a b c d e f g h i:\n", "*\n", "full-time ",
]  # fmt: skip


def test_a_posting() -> None:
    reading = read_posting(POSTING)
    assert reading.seniority is Seniority.SENIOR
    assert reading.seniority_word == "senior"
    assert (reading.arrangement, reading.arrangement_rule) == (Arrangement.ONSITE, "city")
    assert [(place.city, place.region) for place in reading.places] == [("Portland", "OR")]
    assert reading.utc_offset == -8
    assert reading.salary is not None
    assert (reading.salary.minimum, reading.salary.maximum, reading.salary.currency) == (150_000, 180_000, "USD")
    assert (reading.years_min, reading.years_max) == (5, None)
    assert set(reading.technologies) == {
        "django",
        "go",
        "kubernetes",
        "python",
        "postgresql",
        "docker",
        "rust",
        "haskell",
    }
    assert set(reading.required_technologies) == {"python", "postgresql", "docker"}
    assert reading.employment_type == "full-time"
    assert not reading.is_management
    assert not reading.commission_only
    assert "You know Docker" in reading.requirements
    assert "Haskell" not in reading.requirements


def test_markup_in_the_description_changes_nothing() -> None:
    html = "".join(f"<p>{line}</p>" for line in TEXT.split("\n")).replace("'", "&#39;")
    assert read_posting(POSTING.model_copy(update={"description": html})) == read_posting(POSTING)


def test_fields_of_the_board_count_first() -> None:
    told = {"salary": "$90,000 a year", "workplace": "hybrid", "employment_type": "CONTRACTOR"}
    reading = read_posting(POSTING.model_copy(update=told))
    assert reading.salary is not None
    assert reading.salary.minimum == 90_000
    assert reading.arrangement is Arrangement.HYBRID
    assert reading.employment_type == "contract"


def test_nothing_told_is_nothing_known() -> None:
    reading = read_posting(Posting(url=""))
    assert reading.seniority is Seniority.UNKNOWN
    assert reading.arrangement is Arrangement.UNKNOWN
    assert reading.salary is None
    assert reading.years_min is None
    assert reading.employment_type is None
    assert not reading.places
    assert not reading.technologies


def test_fields_of_work_are_no_technologies() -> None:
    reading = read_posting(POSTING.model_copy(update={"description": "Machine learning in Python, REST APIs, CI/CD."}))
    assert set(reading.fields_of_work) == {"machine learning", "rest", "ci/cd"}
    assert "machine learning" not in reading.technologies


def test_the_company_is_no_technology() -> None:
    told = {"company": "Datadog", "description": "Build the Datadog agent in Rust."}
    assert set(read_posting(POSTING.model_copy(update=told)).technologies) == {"django", "rust"}


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("This position is commission only.", True),
        ("100% commission, unlimited", True),
        ("This is not a commission-only job", False),
        ("Base and commission", False),
    ],
)
def test_commission(text: str, only: bool) -> None:
    assert read_posting(POSTING.model_copy(update={"description": text})).commission_only is only


def test_sections() -> None:
    parts = [(section.part, section.text.split("\n")[0]) for section in sections_of(TEXT, "Acme")]
    assert parts == [
        (Part.ABOUT, "About Acme"),
        (Part.DUTIES, "What you'll do"),
        (Part.REQUIRED, "Requirements"),
        (Part.PREFERRED, "Nice to have"),
        (Part.OFFERED, "Benefits"),
    ]
    assert "".join(joined(sections_of(TEXT), *Part).split()) == "".join(TEXT.split())


def test_headings_whose_line_breaks_were_lost() -> None:
    text = "We build robots.What You'll Need:Python skillsPreferred Qualifications:Rust. Benefits:Money"
    assert [section.part for section in sections_of(text)] == [Part.OTHER, Part.REQUIRED, Part.PREFERRED, Part.OFFERED]


def test_a_reading_that_is_none() -> None:
    told = read_posting(POSTING).as_json()
    assert Reading.from_json(json.loads(json.dumps(told))) == read_posting(POSTING)
    for broken in ({}, {**told, "seniority": "high"}, {**told, "places": [{"town": 1}]}, {**told, "places": 3}):
        with pytest.raises(ValueError, match=r".+"):
            Reading.from_json(broken)


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from([*PIECES, "Python", "C++", "401k", "$120k-$150k", "#LI-Remote", "(", "Senior"]), max_size=60
    )
)
def test_any_text_has_a_reading(pieces: list[str]) -> None:
    text = "".join(pieces)
    reading = read_posting(Posting(url=text, title=text, company=text, location=text, description=text, salary=text))
    assert Reading.from_json(json.loads(json.dumps(reading.as_json()))) == reading


@given(st.text())
def test_any_characters_have_a_reading(text: str) -> None:
    read_posting(Posting(url=text, title=text, company=text, location=text, description=text, salary=text))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_made_to_hang(piece: str) -> None:
    text = piece * (LONG // len(piece))
    read_posting(Posting(url=text, title=text, company="Acme", location=text, description=text, salary=text))
    find_technologies(text)
    places_of(text)


@pytest.mark.parametrize(
    ("heading", "part"),
    [
        ("Let's talk about qualifications and experience", Part.REQUIRED),
        ("Let's talk about responsibilities", Part.DUTIES),
        ("A bit about us", Part.ABOUT),
        ("What will help you stand out (not essential, nice to have skills)", Part.PREFERRED),
    ],
)
def test_headings_in_a_sentence(heading: str, part: Part) -> None:
    assert sections_of(f"First words.\n{heading}\nPython")[-1].part is part


def test_a_line_of_a_list_that_lost_its_mark_is_no_heading() -> None:
    text = "Requirements\nPublic company finance experience\nSales compensation planning experience\nExcel"
    assert [section.part for section in sections_of(text)] == [Part.REQUIRED]


@pytest.mark.parametrize(
    ("text", "arrangement"),
    [
        ("Job Title: EngineerLocation: PuneHybridPurpose of the role", Arrangement.HYBRID),
        ("Experience: 8 to 10 YearsLocation: [Remote]Employment Type: [Full-Time]", Arrangement.REMOTE),
        ("Shift: New YorkOpportunity Type: RemotePlacement Type: permanent", Arrangement.REMOTE),
    ],
)
def test_an_arrangement_that_is_glued_to_other_words(text: str, arrangement: Arrangement) -> None:
    told = {"location": "Pune, India", "description": text}
    assert read_posting(POSTING.model_copy(update=told)).arrangement is arrangement


def test_lines_that_lost_their_breaks_are_apart_again() -> None:
    text = "Know R, Python, SASStrong in statisticsReports in PowerBISkills: PyTorchSolid writing. PuneCTC: 15- 30 lac"
    reading = read_posting(POSTING.model_copy(update={"description": text, "location": "Pune, India"}))
    assert {"r", "python", "sas", "power bi", "pytorch"} <= set(reading.technologies)
    assert reading.salary is not None
    assert (reading.salary.minimum, reading.salary.maximum, reading.salary.currency) == (1_500_000, 3_000_000, "INR")


def test_a_heading_with_its_qualifier_ends_what_stands_before_it() -> None:
    text = "Basic Qualifications: 7 years in sales experience Preferred Qualifications:10 years of sales experience"
    assert read_posting(POSTING.model_copy(update={"description": text})).years_min == 7


@pytest.mark.parametrize(
    "text", ["", TEXT, "0 years of experience. " + TEXT, "Work in Go, Rust or C#. Remote in the US only."]
)
def test_what_is_stored_of_a_reading_leaves_out_what_is_not_told(text: str) -> None:
    posting = Posting(
        url="https://acme.example/jobs/1", title="Engineer", location="Portland; Remote", description=text
    )
    reading = read_posting(posting)
    told = json.loads(json.dumps(reading.as_facts()))
    assert Reading.from_json({**told, "requirements": reading.requirements}) == reading
    assert not [name for name, value in told.items() if value is None or value is False or value == []]


def test_a_reading_of_an_older_version_that_lacks_a_field_is_none() -> None:
    told = read_posting(POSTING).as_json()
    del told["technologies"]
    with pytest.raises(ValueError, match="no reading of a posting"):
        Reading.from_json(told)
