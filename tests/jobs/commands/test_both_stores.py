"""What the commands ask and write is SQL of both stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.commands.conftest import Place
from tests.support.backends import BACKENDS

URL = "https://boards.greenhouse.io/acme/jobs/1"


@pytest.fixture(params=sorted(BACKENDS))
def either(request: pytest.FixtureRequest, place: Place, tmp_path: Path) -> Iterator[Place]:
    """A place whose database is of either kind."""
    made = BACKENDS[request.param](tmp_path)
    if request.param == "postgres":
        place.database = str(made.address)
    yield place
    made.close()


def test_every_command_that_reads_and_switches_works_on_either_store(either: Place) -> None:
    either.add_source("greenhouse:acme")
    either.add("jobs_companies", company_id="acme.com", name="Acme", name_key="acme", status="active", tracking_id="r",
               task_id="t", spawn_depth=0, created_at=1.0, updated_at=1.0)  # fmt: skip
    either.add_match(URL, 90, company_id="acme.com", source_id="greenhouse:acme")
    either.add_listing(f"{URL}2", reason="100% of it", text_hash=-5, source_id="greenhouse:acme", external_id="2")
    either.add_listing(f"{URL}3", status="skipped", text_hash=-6)
    assert len(either.told("sources", "list")) == len(either.told("company", "list")) == 1
    assert [one["listing_id"] for one in either.told("matches")] == [URL]
    assert [one["listing_id"] for one in either.told("rejected", "--search", "100% OF")["listings"]] == [f"{URL}2"]
    assert either.told("why", f"{URL}2")["source"]["source_id"] == "greenhouse:acme"
    assert either.told("why", URL)["company"]["name"] == "Acme"
    assert "which" not in either.told("why", URL)
    assert either.run("export", "csv").stdout.count("\n") == 2
    either.told("sources", "disable", "greenhouse:acme")
    assert either.told("sources", "list")[0]["status"] == "disabled"
    either.told("sources", "enable", "greenhouse:acme")
    assert either.told("sources", "list")[0]["status"] == "active"
    assert either.told("init", "--sample")["profile"] == "Sample"


def test_matches_are_shown_marked_and_scheduled_on_either_store(either: Place) -> None:
    either.add_match(URL, 90)
    either.add_match(f"{URL}2", 80, company="Other")
    assert {one["status"] for one in either.told("matches")} == {"new"}
    assert {one["status"] for one in either.told("matches")} == {"seen"}
    assert either.told("mark", URL, f"{URL}2", "applied", "--note", "ü")["status"] == "applied"
    assert [(mark["status"], mark["note"]) for mark in either.told("why", URL)["history"]] == [
        ("seen", None), ("applied", "ü"),
    ]  # fmt: skip
    assert either.run("schedule", "daily", "--at", "06:15", "--timezone", "UTC").exit_code == 0
    assert either.told("schedule", "show")["times"] == "15 6 * * * (UTC)"
    assert either.told("schedule", "off") == {"schedule": None}


@pytest.mark.parametrize("word", ["\udcff", "a\x00b", "%", "'; DROP TABLE jobs_listings; --", "x" * 10_000])
def test_whatever_is_typed_is_answered_or_refused_in_one_line(either: Place, word: str) -> None:
    either.add_listing(URL)
    for words in (
        ("why", word),
        ("rejected", "--search", word),
        ("sources", "enable", word),
        ("mark", word, "applied", "--note", word[:100]),
        ("schedule", "daily", "--timezone", word),
        ("company", "add", word, "--no-work"),
    ):
        result = either.run(*words)
        assert result.exit_code in (0, 2), result.exception
        assert len(result.stderr.splitlines()) <= 1
    assert len(either.told("rejected")["listings"]) == 1
