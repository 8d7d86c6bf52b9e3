"""`init` takes a profile in as a whole or not at all, and replaces nothing unasked."""

from __future__ import annotations

import pytest

from tests.jobs.commands.conftest import Place, refusal

OWN = """\
profile:
  name: Mine
  technologies: {Python: required, Java: strike}
stop:
  companies: [Evil Corp]
match:
  min_score: 70
"""
THEIRS = """\
filters:
  stopList:
    excludedCompanies: [Evil Corp]
    excludedDomains: [evil.example]
    excludedKeywords: [casino]
"""


def write(place: Place, text: str, name: str = "mine.yaml") -> str:
    (place.folder / name).write_text(text)
    return name


def test_without_anything_it_makes_a_database_and_says_that_there_is_no_profile(place: Place) -> None:
    result = place.run("init")
    assert result.exit_code == 0, result.output
    assert "jobs.db is ready" in result.stdout
    assert "there is no profile, so nothing can be scored" in result.stdout
    assert place.told("init")["profile"] is None


def test_the_sample_is_taken_in_and_shown(place: Place) -> None:
    result = place.run("init", "--sample")
    assert result.exit_code == 0, result.output
    assert "jobs.profile.name" in result.stdout
    assert "jobs.match.min_score" in result.stdout
    assert "no profile" not in result.stdout
    assert place.told("init")["profile"] == "Sample"


def test_the_sample_is_a_file_that_can_be_taken_in(place: Place) -> None:
    shown = place.run("init", "--show-sample", database=False)
    assert shown.exit_code == 0
    assert place.files() == set()
    file = write(place, shown.stdout)
    assert place.told("init", "--from", file)["stored"] == place.told("init", "--sample")["stored"]


def test_a_file_is_taken_in_as_a_whole(place: Place) -> None:
    told = place.told("init", "--from", write(place, OWN))
    assert told["profile"] == "Mine"
    assert told["stored"]["jobs.match.min_score"] == 70
    assert told["stored"]["jobs.stop.companies"] == ["Evil Corp"]


def test_the_stop_list_of_an_existing_configuration_is_taken_in(place: Place) -> None:
    told = place.told("init", "--from", write(place, THEIRS, "config.yaml"))
    assert told["stored"] == {
        "jobs.stop.companies": ["Evil Corp"], "jobs.stop.domains": ["evil.example"], "jobs.stop.keywords": ["casino"],
    }  # fmt: skip
    assert told["profile"] is None


def test_what_is_there_stays_unless_it_is_forced(place: Place) -> None:
    assert place.run("init", "--sample").exit_code == 0
    file = write(place, OWN)
    told = refusal(place.run("init", "--from", file))
    assert "jobs.profile.name" in told
    assert "--force replaces them, nothing was stored" in told
    assert place.told("init")["profile"] == "Sample"
    assert place.told("init", "--from", file, "--force")["profile"] == "Mine"
    assert place.run("init", "--from", file).exit_code == 0, "the same again changes nothing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profile: {name: [1, 2", "mine.yaml"),
        ("profile:\n  technologies: python\n", "technologies"),
        ("profile:\n  experience_years: many\n", "experience_years"),
        ("match:\n  min_score: 800\n", "min_score"),
        ("mistyped:\n  name: x\n", "mistyped"),
        ("- a list\n", "mine.yaml"),
        ("", "mine.yaml"),
    ],
)
def test_a_file_that_cannot_be_is_one_line_and_stores_nothing(place: Place, text: str, said: str) -> None:
    file = write(place, text)
    assert said in refusal(place.run("init", "--from", file))
    assert place.files() == {file}


def test_misuse_is_one_line(place: Place) -> None:
    assert "missing.yaml" in refusal(place.run("init", "--from", "missing.yaml"))
    assert "give one of --from, --sample" in refusal(place.run("init", "--from", "a.yaml", "--sample"))
    place.database = "none/jobs.db"
    assert "the folder none does not exist" in refusal(place.run("init"))
    assert place.files() == set()
