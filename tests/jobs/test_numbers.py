"""The numbers that the design names are the defaults, each a setting that can be found by its name."""

from __future__ import annotations

import pytest

from ramet.jobs.app import FAILED_RUNS_MAX, LIMITS, app
from ramet.jobs.declared_settings import SETTINGS
from ramet.jobs.kinds import COMPANY, LISTING, QUEUE, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY, ScrapePayload
from ramet.jobs.matching.score import priority_word
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks.keys import task_priority
from ramet.jobs.text.technologies import canonical_technology, find_technologies

NUMBERS = {
    "filter.strike_threshold": 5,
    "match.min_score": 80,
    "match.preferred_office_min_score": 65,
    "match.high_priority": 85,
    "match.medium_priority": 70,
    "company.preferred_office_bonus": 50,
    "company.tech_stack_max": 100,
    "company.remote_first_bonus": 15,
    "company.ai_ml_bonus": 10,
    "company.tier_s": 150,
    "company.tier_a": 100,
    "company.tier_b": 70,
    "company.tier_c": 50,
    "company.about_min": 50,
    "company.about_good": 100,
    "company.culture_min": 25,
    "company.culture_good": 50,
    "company.fresh_days": 30,
    "listing.description_min": 100,
    "run.target_matches": 5,
    "run.max_sources": 20,
}


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_a_number_of_the_design_is_a_default(name: str, number: float) -> None:
    [declared] = [setting for setting in SETTINGS if setting.name == f"jobs.{name}"]
    section, _, field = name.partition(".")
    assert declared.default == number
    assert getattr(getattr(JobsSettings(), section), field) == number
    assert declared.description


def test_retries_depth_and_failures_are_those_of_the_design() -> None:
    assert (LIMITS.max_attempts, LIMITS.max_spawn_depth, FAILED_RUNS_MAX) == (4, 10, 5)
    policy = app.resources["jobs:source:*"]
    assert policy.breaker_failures == 5
    assert policy.cooldown_seconds is None  # Only a person closes it.
    assert (ScrapePayload().target_matches, ScrapePayload().max_sources) == (5, 20)


def test_every_task_type_of_the_design_is_a_kind() -> None:
    from ramet.jobs import pipeline

    kinds = (COMPANY, SOURCE_DISCOVERY, SCRAPE_SOURCE, SCRAPE, LISTING)
    assert {pipeline.app.registry.get(kind).queue for kind in kinds} == {QUEUE}


@pytest.mark.parametrize(
    "name",
    [
        "Python", "JavaScript", "Java", "Go", "Rust", "Ruby", "PHP", "C#", "React", "Vue", "Angular", "Svelte",
        "Docker", "Kubernetes", "AWS", "GCP", "Azure", "PostgreSQL", "MySQL", "MongoDB", "Redis", "TensorFlow",
        "PyTorch", "machine learning",
    ],
)  # fmt: skip
def test_every_technology_of_the_design_is_found(name: str) -> None:
    found = find_technologies(f"We work with {name}, Kafka and Elixir.")
    assert set(found) == {canonical_technology(name), "kafka", "elixir"}


@pytest.mark.parametrize(
    ("points", "word"), [(100, "High"), (85, "High"), (84.9, "Medium"), (70, "Medium"), (69.9, "Low"), (0, "Low")]
)
def test_a_match_is_high_from_85_and_medium_from_70(points: float, word: str) -> None:
    assert priority_word(points, JobsSettings().match) == word


def test_tasks_of_the_best_tiers_go_before_all_others() -> None:
    assert [task_priority(tier) for tier in ("S", "A")] == sorted(
        (task_priority("S"), task_priority("A")), reverse=True
    )
    assert task_priority("A") > task_priority("B") == task_priority("C") == task_priority("D") == task_priority(None)
