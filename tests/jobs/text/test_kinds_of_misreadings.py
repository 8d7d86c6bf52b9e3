"""Kinds of misreadings that the development texts of tests/jobs/sampled showed, each with variations that are made up,
and with what looks like the kind and is not.
"""

from __future__ import annotations

import pytest

from ramet.jobs.posting import Posting
from ramet.jobs.text.arrangement import arrangement_of
from ramet.jobs.text.experience import seniority_of, years_of
from ramet.jobs.text.places import places_of
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.salaries import Salary, salary_of
from ramet.jobs.text.sections import sections_of
from ramet.jobs.text.technologies import find_technologies, products_of

FILLER = "We care for what we make and for each other, and take the time that good work takes. "


def read(text: str, title: str = "Engineer", location: str | None = None, company: str = "Acme") -> Reading:
    url = "https://acme.example/1"
    return read_posting(Posting(url=url, title=title, location=location, company=company, description=text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Runs KubernetesAutomation tests for SREs", {"kubernetes"}),
        ("Services in GolangStrong in algorithms", {"go"}),
        ("Skills: Java, Spring BootIn our team you grow", {"java", "spring boot"}),
        ("Primary skills: Django, PostgreSQLA person of trust", {"django", "postgresql"}),
        ("Reports in PowerBIEducation: any", {"power bi"}),
        ("Drawings in Auto CADOur values", {"autocad"}),
        ("What you bringPython and Kafka", {"python", "kafka"}),
        ("Duties as assignedMySQL and PHP", {"mysql", "php"}),
        ("Works with JavaScript, GraphQL, PostgreSQL, GitHub and PyTorch", {
            "javascript", "graphql", "postgresql", "github", "pytorch"}),
        ("Scores by CVSS, papers by LinkedIn, calls by DevOpsDays", set()),
    ],
)  # fmt: skip
def test_names_that_lost_the_line_break_beside_them(text: str, names: set[str]) -> None:
    assert set(read(f"{FILLER * 5}{text}").technologies) == names


@pytest.mark.parametrize(
    "heading",
    [
        "Must-Have Skills", "Key Responsibilities:", "Roles & Responsibilities:-", "Required Technical Skills:",
        "What you\u2019ll need:", "What We Need To See", "About the Role: ", "Skills and Qualifications:-",
        "Eligibility Criteria", "What You\u2019ll Be Doing", "Your profile",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["us", "team.", "us. "])
def test_a_heading_that_lost_its_line_breaks_ends_what_a_company_says_of_itself(heading: str, end: str) -> None:
    if end == "us. " and ":" not in heading:
        return
    text = f"About Acme: Our own store serves Android devices. {FILLER * 4}Come to {end}{heading}Know Kafka and Rust."
    assert set(read(text).technologies) == {"kafka", "rust"}


def test_a_word_of_a_heading_inside_a_sentence_ends_nothing() -> None:
    text = f"About Acme: we write System Requirements Documents for Android. {FILLER * 4}About the RoleYou know Rust."
    assert set(read(text).technologies) == {"rust"}


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("Experience: 6-9 yearsAbout us we build ships", 6),
        ("Total Experience: 9+ yearsRelevant Experience: 5+ years in sales", 9),
        ("Experience(Role Requirement): 1 to 2 yearsTechnical Skill: Rust", 1),
        ("You have 10+  years of experience in sales", 10),
        ("Exp\u00e9rience :\n> 5 ans\n\u00c9ducation : Bac +5", 5),
        ("Experience: > 4\nSkills", 4),
        ("5+ years in brand roles (retail or agency preferred)", 5),
        ("A degree and 3-5 years in similar roles", 3),
        ("2 to 5 years of relevant experience preferably in radio", 2),
        ("preferably 5 years of experience", None),
        ("A diploma after 15 years of full time education. You have 3 years of experience", 3),
        ("15 years full time education required", None),
        ("2-4 years of experience, preferred", None),
        ("At least 4 years in architecture or leadership.10+ years experience in an IT field", 10),
        ("A bachelor's degree and 8-10 years of relevant experience or 12-14 years of relevant experience", 8),
        ("A bachelor's or master's degree. 2+ years of experience with Go and 5+ years of experience in all", 5),
        ("yearsago we began", None),
    ],
)
def test_years_that_are_asked_for(text: str, years: int | None) -> None:
    assert read(f"Requirements\n{text}").years_min == years


def test_years_under_a_heading_of_wishes_are_no_demand() -> None:
    assert years_of(sections_of("Preferred qualifications\n- 3+ years of experience in sales")) == (None, None)
    assert years_of(sections_of("Requirements\n- 2+ years of sales experience\nNice to have\n- 9+ years of it"))[0] == 2


def test_a_field_above_the_requirements_counts_with_them() -> None:
    text = "Salary: 50k\nExp\u00e9rience : > 4 ans\n\nProfil recherch\u00e9\nMinimum 3 ans d'exp\u00e9rience"
    assert years_of(sections_of(text))[0] == 4


def test_grades_below_the_requirements_keep_their_demands() -> None:
    text = "Requirements:\n8 years of experience\nLead Superintendent\nMinimum of 10 to 12 years industry experience"
    assert years_of(sections_of(text)) == (10, 12)
    assert (
        years_of(
            sections_of(
                f"{text}\nTown Hall Stories\nWe are a family of a thousand people and have 15 years of experience"
            )
        )[0]
        == 10
    )


@pytest.mark.parametrize(
    ("title", "text", "years", "level"),
    [
        ("SDE3 Mobile", "", None, "senior"),
        ("SDE-2, Payments", "", None, "mid"),
        ("Innovation Head", "", None, "lead"),
        ("Piping Superintendent", "you will lead a team and supervise superintendents", 5, "lead"),
        ("Piping Superintendent", "you inspect pipes", 5, "mid"),
        ("Health Manager", "community health team manager / at acme", None, "lead"),
        ("Senior Finance Manager", "with no direct people management responsibilities", 5, "senior"),
        ("Recruiting Coordinator", "this is an entry-level, hourly position", None, "junior"),
        ("Headhunter", "", None, "mid"),
        ("Sr. Finance Manager", "lead and develop a team of 3 analysts", None, "lead"),
        ("Sr. Finance Manager", "you own the forecast", None, "senior"),
        ("Senior Product Manager", "lead and develop a team of 3 analysts", None, "senior"),
        ("AI Tester", "we are looking for a highly motivated sr. sdet", 5, "senior"),
        ("Machine Learning Engineer", "and grow sustainably.senior machine learning engineerposition", 4, "senior"),
        ("Finance Analyst", "senior associate - finance analyst\nour team", 5, "senior"),
        ("Python Developer", "we are looking for a senior/lead python developer", 4, "senior"),
        ("SAP Consultant", "job titlesenior sap sd consultant pricing", None, "senior"),
        ("Consultant", "designation: junior consultant", None, "junior"),
        ("Controls Specialist", "as a controls specialist ii you plan", 0, "mid"),
        ("Controls Specialist", "a controls specialist in our team", None, "mid"),
        ("Analytics Engineer", "seniority level: entry level", 4, "mid"),
        ("Analytics Engineer", "seniority level: entry-level", None, "junior"),
        ("Analytics Engineer", "seniority level: mid-senior level", None, "mid"),
        ("Analytics Engineer", "works with the senior team of an analytics engineer", None, "mid"),
    ],
)
def test_levels_that_the_text_has_and_the_title_does_not(title: str, text: str, years: int | None, level: str) -> None:
    assert str(seniority_of(title, text, years)[0]) == level


@pytest.mark.parametrize(
    ("location", "text", "arrangement"),
    [
        ("Lisbon (1x per week onsite)", "", "hybrid"),
        ("London, 2 days office", "", "hybrid"),
        ("Oslo", "you may work remotely on fridays", "hybrid"),
        ("Oslo", "benefits: flexible remote work options, gym", "hybrid"),
        ("Oslo", "remote work possibilities and a pension", "hybrid"),
        ("Oslo", "remote work flexibility across europe", "remote"),
        ("Oslo", "flexible office attendance (2-5 days weekly)", "hybrid"),
        ("Oslo", "5 days in the office", "onsite"),
        ("Oslo", "come to the office for two anchor days", "hybrid"),
        ("Oslo", "flexible model with hybrid, onsite or virtual arrangements depending on role", "hybrid"),
        ("Portugal (remote/hybrid not specified)", "", "remote"),
        ("Remote (Europe) or Hybrid (Netherlands)", "", "remote"),
        ("Gurugram, India", "location: remote / hybrid", "remote"),
        ("Montreuil (T\u00e9l\u00e9travail fr\u00e9quent)", "", "hybrid"),
        (
            "Lyon, France",
            "questions et r\u00e9ponses : le t\u00e9l\u00e9travail est-il possible pour ce poste ?",
            "onsite",
        ),
        ("Lyon, France", "le t\u00e9l\u00e9travail est possible pour ce poste.", "remote"),
    ],
)
def test_some_days_questions_and_offers(location: str, text: str, arrangement: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location=location)
    assert str(arrangement_of(posting, text)[0]) == arrangement


@pytest.mark.parametrize(
    ("text", "country", "salary"),
    [
        ("ANALYST\nUP TO \u00a365,000\n\nWe seek", "GB", Salary(None, 65_000, "GBP")),
        ("Analyst\n\u2022 \u20ac70,000 + bonus\nWe seek", "DE", Salary(70_000, 70_000, "EUR")),
        ("Analyst\nWe won \u20ac70,000 of prizes\nWe seek", "DE", None),
        ("Analyst\n\u20ac70,000 of prizes\nWe seek", "DE", None),
        ("Fourchette salariale : 60K/65K brut annuel", "FR", Salary(60_000, 65_000, "EUR")),
        (
            "the minimum salary for this position, which is \u20ac61,000 gross per year",
            "AT",
            Salary(61_000, None, "EUR"),
        ),
        ("Revenue Analyst\n\u20ac50,000 - \u20ac60,000 per year\nWe seek", "DE", Salary(50_000, 60_000, "EUR")),
        ("$200,000 - $220,000 a year. OTE is $350,000 - $400,000.", "US", Salary(200_000, 220_000, "USD")),
        ("Base pay range: Min: $146,100 Mid: $182,700 Max: $219,200", "US", Salary(146_100, 219_200, "USD")),
        ("Salary, minimum: \u20ac50k; midpoint \u20ac60k; maximum \u20ac70k", "DE", Salary(50_000, 70_000, "EUR")),
        ("OTE is $350,000 - $400,000.", "US", Salary(350_000, 400_000, "USD")),
        (
            "Base salary: National: $128,000 - $160,000 Premium Plus: $147,800 - $184,700",
            "US",
            Salary(128_000, 184_700, "USD"),
        ),
        ("Analytics EngineerLondonUp to \u00a360,000\nWe seek", "GB", Salary(None, 60_000, "GBP")),
        ("Part-time or full-time (16-40 hours per week), salary by agreement", "NL", None),
        ("Salary of 3 times of annual CTC with minimum cap of INR 10,00,000", "IN", None),
        ("$100 USD/hour, which equates to $200,000 USD/year", "IN", Salary(200_000, 200_000, "USD")),
        ("Salary: \u20ac61,000 gross per year", "AT", Salary(61_000, 61_000, "EUR")),
    ],
)
def test_pay_in_few_words(text: str, country: str, salary: Salary | None) -> None:
    assert salary_of(None, text, country) == salary


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ReAct loops and React", ["react"]),
        ("React swiftly to change; React to errors", []),
        ("used by companies like OpenAI, Figma and more. You know Kafka", ["kafka"]),
        ("companies that use tools such as Kafka", ["kafka"]),
        ("customers \u2013 including Anthropic, Salesforce \u2013 trust us", []),
        ("Our client roster includes Figma and Stripe.", []),
        ("big data technologies (e.g. Hive, Spark)", ["hive", "spark"]),
        ("management tools such as (Jama)", ["jama"]),
        ("languages: Fluent in Greek; a place such as Phoenix", []),
        ("dbt proficiency and Spark familiarity", ["dbt", "spark"]),
        ("a Snowflake schema or Snowflake", ["snowflake"]),
        ("Airflow, and/or Spark", ["airflow", "spark"]),
        ("Oracle Cloud Fusion, SQL, Access", ["oracle fusion", "sql", "microsoft access"]),
        ("access to SQL, and access", ["sql"]),
        ("Fabric, Databricks, Synapse", ["microsoft fabric", "databricks", "azure synapse"]),
        ("the fabric of our town, a synapse", []),
        ("Amazon Marketing Cloud; Marketing Cloud", ["amazon marketing cloud", "marketing cloud"]),
        ("DAX, M-query and Tabular Editor", ["dax", "power query", "tabular editor"]),
    ],
)
def test_names_and_what_looks_like_them(text: str, names: list[str]) -> None:
    assert list(find_technologies(text)) == names


@pytest.mark.parametrize(
    "line",
    [
        "You care about data quality, reliability, and testability",
        "Public-company experience, including exposure to board materials",
        "Able to learn about the company and what it sells",
    ],
)
def test_a_line_of_a_list_without_a_mark_begins_no_part_about_the_company(line: str) -> None:
    assert read(f"Who You Are\nYou know SQL\n{line}\nYou like tools such as Looker").technologies == ("sql", "looker")


def test_a_company_by_its_legal_name_and_what_it_wishes_for() -> None:
    assert read("Our Grafana serves many\nRequirements\nSQL", company="Grafana Labs").technologies == ("sql",)
    text = "We run Azure\nRequirements\nSQL\nNice to have\nFamiliarity with Azure"
    assert set(read(text, company="Microsoft").technologies) == {"azure", "sql"}


def test_what_a_company_makes_counts_where_it_is_asked_for() -> None:
    about = f"Amazon Web Services (AWS) leads the market. {FILLER}"
    assert read(f"{about}\nRequirements\nYou know SQL", company="Amazon").technologies == ("sql",)
    assert read(f"{about}\nRequirements\nYou know AWS", company="Amazon").technologies == ("aws",)
    assert read(f"{about}\nRequirements\nYou know SQL", company="Acme").technologies == ("aws", "sql")
    assert products_of("Amazon Web Services India") == ("amazon web services india", "aws")


@pytest.mark.parametrize(
    ("location", "countries"),
    [
        ("Sydney CBD", ["AU"]),
        ("Europe, Poland, Kazakhstan", ["PL", "KZ"]),
        ("Spain, Portugal, United Kingdom", ["ES", "PT", "GB"]),
        ("Singapore, Singapore", ["SG"]),
        ("Atlanta, Georgia, United States", ["US"]),
        ("Stuttgart Region", ["DE"]),
        ("Zeist / Utrecht, Netherlands", ["NL", "NL"]),
        ("Nowhere / Bergen, Norway / Paris, France", [None, "NO", "FR"]),
    ],
)
def test_places_by_their_quarter_and_by_a_slash(location: str, countries: list[str | None]) -> None:
    assert [place.country for place in places_of(location)] == countries


@pytest.mark.parametrize("line", ["About Position: You know Kafka", "Das bringst du mit.\nKafka"])
def test_headings_of_the_work_behind_what_is_offered(line: str) -> None:
    assert read(f"About Acme\nWe love Android\nBenefits: Android phones\n{line}").technologies == ("kafka",)


def test_a_title_in_the_text_ends_what_is_offered() -> None:
    text = "Benefits: Android phones\n\nData Engineer (m/w/d)\n- Queries with SQL"
    assert read(text).technologies == ("sql",)


def test_lines_that_are_places_name_those_of_a_posting_without_one() -> None:
    text = f"Manager\nSame job in 2 places\nJersey City, New Jersey, United States\nOslo, Oslo, Norway\n{FILLER}"
    assert [place.country for place in read(text).places] == ["US", "NO"]
    assert read(f"Manager\nSafety, Quality, Care\n{FILLER}").places == ()


def test_a_line_of_the_text_names_the_place_of_a_posting_without_one() -> None:
    assert [place.country for place in read(f"**Location:** Oslo, Norway\n{FILLER}").places] == ["NO"]
    assert read(f"Location: Remote (except Norway)\n{FILLER}").places == ()
    assert [place.country for place in read(f"Location: Oslo, Norway\n{FILLER}", location="Paris").places] == ["FR"]
