"""Technologies of which one is enough count once; a long list of them counts no more than a short one."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.matching.preferences import units_of
from ramet.jobs.matching.score import Score, score_of
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.technologies import find_alternatives
from tests.jobs.matching.sample_listings import LONG, NOW, hard_name, judged, points, posting, reading_of, settings_with

CASE = (
    "8+ years of professional software development experience. Backend service experience in multiple, managed "
    "languages such as Java, Scala, Go, C#, or similar. You will use React, TypeScript and Go."
)
RANKS = {"Go": "ok", "TypeScript": "ok", "React": "ok", "Java": "strike", "C#": "strike", "Python": "required"}


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("languages such as Java, Scala, Go, C#, or similar", [("java", "scala", "go", "c#")]),
        ("e.g. Python, Go, Java or C#", [("python", "go", "java", "c#")]),
        ("one of Python, Java, Go", [("python", "java", "go")]),
        ("at least one of the following: Kafka, RabbitMQ", [("kafka", "rabbitmq")]),
        ("a database (PostgreSQL, MySQL or similar)", [("postgresql", "mysql")]),
        ("AWS or GCP, and Docker", [("aws", "google cloud")]),
        ("Cloud (AWS or GCP) and Docker, Kubernetes", [("aws", "google cloud")]),
        ("Java, Kotlin und Go oder vergleichbar", [("java", "kotlin", "go")]),
        ("You know Python. We use Python or Java.", [("python", "java"), ("python",)]),
        ("Experience with AWS, GCP, and Azure", []),
        ("Python and Java", []),
        ("Python. Or else Java.", []),
        ("", []),
    ],
)
def test_alternatives_are_read(text: str, groups: list[tuple[str, ...]]) -> None:
    assert list(find_alternatives(text)) == groups


def test_what_is_asked_for_anyway_leaves_nothing_of_its_group() -> None:
    assert units_of(("a", "b", "c"), (("a", "b"), ("a",))) == [("a",), ("c",)]
    assert units_of(("a", "b", "c"), (("a", "b"),)) == [("c",), ("a", "b")]
    assert units_of(("a",), (("x", "y"),)) == [("a",)]


def test_unwelcome_technologies_of_a_choice_are_no_strikes_where_another_is_welcome() -> None:
    case = posting("Engineer", f"{LONG} {CASE}")
    settings = settings_with(profile={"name": "Ana", "technologies": RANKS})
    assert points(judged(case, settings)) == {"no_required_technology": 1}
    only = settings_with(profile={"name": "Ana", "technologies": {"Java": "strike", "C#": "strike"}})
    unwelcome = judged(posting("Engineer", f"{LONG} Java or C#."), only)
    assert points(unwelcome) == {"bad_technology": 2}
    assert points(judged(posting("Engineer", f"{LONG} Java and C#."), only)) == {"bad_technology": 4}


def test_a_technology_that_is_out_of_the_question_rules_out_a_choice_only_where_there_is_none() -> None:
    settings = settings_with(profile={"name": "Ana", "technologies": {"COBOL": "fail"}})
    assert judged(posting("Engineer", f"{LONG} COBOL or Java."), settings).passed
    assert hard_name(judged(posting("Engineer", f"{LONG} COBOL and Java."), settings)) == "failed_technology"


def scored(text: str, ranks: dict[str, Any], **match: Any) -> Score:
    case = posting("Engineer", f"{LONG} {text}")
    settings = settings_with(profile={"name": "Ana", "technologies": ranks}, match=match)
    return score_of(case, reading_of(case), None, settings, NOW)


def test_a_choice_counts_once_in_the_score() -> None:
    ranks = {"Python": "required", "Kafka": "ok"}
    choice = scored("We use Kafka. Languages: Python, Java, Scala, Ruby or similar.", ranks)
    alone = scored("We use Kafka. Languages: Python.", ranks)
    assert choice.static == alone.static
    assert choice.missing_skills == ()
    assert choice.matched_skills == ("kafka", "python")


def test_a_long_list_of_technologies_does_not_count_against_a_listing() -> None:
    ranks = dict.fromkeys(("Python", "PostgreSQL", "Docker", "AWS"), "required")
    some = "Python, PostgreSQL, Docker, AWS, Java, Kafka, Redis, Terraform"
    many = f"{some}, Ansible, Jenkins, Angular, GraphQL, MongoDB, Elasticsearch, Spark, Hadoop, Oracle"
    assert scored(many, ranks).static == scored(some, ranks).static
    assert scored(many, ranks, skill_weight_max=100).static < scored(some, ranks).static


def test_alternatives_survive_being_stored_and_older_rows_have_none() -> None:
    reading = read_posting(posting("Engineer", f"{LONG} {CASE}"))
    assert reading.alternatives == (("java", "scala", "go", "c#"), ("go",))
    told = reading.as_json()
    assert Reading.from_json(told) == reading
    del told["alternatives"]
    assert Reading.from_json(told).alternatives == ()
