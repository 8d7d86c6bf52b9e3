"""Files of our own shape and of others become settings; one line tells what is wrong, and nothing is half taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ramet.jobs.config.config_file import ConfigError, read_config, sample, sample_text
from ramet.jobs.settings import JobsSettings


def written(folder: Path, content: object, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_the_sample_is_whole_and_prefers_portland_in_oregon() -> None:
    settings = JobsSettings.of(sample())
    assert settings.profile.given
    assert (settings.profile.preferred_city, settings.profile.preferred_region) == ("Portland", "OR")
    assert settings.profile.technologies["Python"] == "required"
    assert (settings.match.min_score, settings.match.preferred_office_min_score) == (80, 65)
    assert "# " in sample_text()


def test_no_profile_exists_until_one_is_named() -> None:
    assert not JobsSettings().profile.given


def test_our_own_sections_are_taken_by_full_name(tmp_path: Path) -> None:
    text = "profile:\n  name: Ana\n  technologies: {Rust: required}\nstop:\nfilter:\n  salary_floor: 90000\n"
    assert read_config(written(tmp_path, text)) == {
        "jobs.profile.name": "Ana",
        "jobs.profile.technologies": {"Rust": "required"},
        "jobs.filter.salary_floor": 90000,
    }
    nested = {"match": {"freshness": [[1, 2]], "min_score": 75}}
    assert read_config(written(tmp_path, nested, "mine.json")) == {
        "jobs.match.freshness": [[1, 2]],
        "jobs.match.min_score": 75,
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profil: {}", "line 1: profil is not a setting: did you mean profile?"),
        ("profile: 3", "line 1: profile is 3: give settings below it"),
        ("profile:\n  titel: x", "line 2: profile.titel is not a setting: did you mean titles?"),
        ("profile:\n  technologies:\n    Go: best", "line 3: profile.technologies.Go is \"best\": give 'required'"),
        ("profile:\n  titles: backend", 'line 2: profile.titles is "backend": give a list'),
        ("profile:\n  titles:\n    - a\n    - 7", "line 4: profile.titles.1 is 7: give text"),
        ("profile:\n  preferred_region: NO", "line 2: profile.preferred_region is false: give text, in quotes"),
        ("profile:\n  utc_offset: -8:00", "line 2: profile.utc_offset is -480: give greater than or equal to -14"),
        ("profile:\n  salary_wanted: 1000.5", "line 2: profile.salary_wanted is 1000.5: give a whole number"),
        ('profile:\n  salary_wanted: "90000"', 'line 2: profile.salary_wanted is "90000": give a whole number'),
        ("profile:\n  currency: dollars", 'line 2: profile.currency is "dollars": give a currency'),
        ('profile:\n  name: "a\\0b"', "line 2: profile.name has a character that cannot be stored"),
        ("filter:\n  allow_remote: 1", "line 2: filter.allow_remote is 1: give true or false"),
        ("filter:\n  strike_threshold: 0", "line 2: filter.strike_threshold is 0: give greater than 0"),
        ("match:\n  min_score: true", "line 2: match.min_score is true: give a number"),
        ("match:\n  min_score: .nan", "line 2: match.min_score is nan: give a number"),
        ("match:\n  freshness: [[1, .inf]]", "line 2: match.freshness.0.1 is inf: give a number"),
        ("match:\n  freshness: [[1, 2, 3]]", "line 2: match.freshness.0 is [1, 2, 3]: give a pair of numbers"),
        ("filters: {}", "line 1: filters has no stopList"),
        ("filters:\n  stopList: [Acme]", 'line 2: filters.stopList is ["Acme"]: give excludedCompanies'),
        (
            "filters:\n  stopList:\n    excludedCompanies: Acme",
            'filters.stopList.excludedCompanies is "Acme": give a list',
        ),
        (
            "filters:\n  stopList:\n    companies: []\n    excludedCompanies: []",
            "line 4: excludedCompanies is given twice",
        ),
        (
            "filters:\n  stopList:\n    excluded: []",
            "filters.stopList.excluded is not a setting: did you mean excluded",
        ),
    ],
)
def test_one_line_says_what_to_give(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(written(tmp_path, text))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_stop_list_of_a_config_yaml_is_read_and_nothing_else_of_it(tmp_path: Path) -> None:
    text = """
profile: {source: json, profile_path: data/profile.json}
ai: {min_match_score: 70}
filters:
  max_age_days: 7
  stopList:
    excludedCompanies: [Acme, "Example Corp"]
    excludedDomains: [acme.com]
    excludedKeywords:
"""
    assert read_config(written(tmp_path, text, "config.yaml")) == {
        "jobs.stop.companies": ["Acme", "Example Corp"],
        "jobs.stop.domains": ["acme.com"],
        "jobs.stop.keywords": [],
    }
