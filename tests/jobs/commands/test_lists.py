"""What `sources list`, `company list`, `rejected` and `matches` show."""

from __future__ import annotations

import time

import pytest

from tests.jobs.commands.conftest import DAY, Place, refusal


@pytest.mark.parametrize(
    "words", [("sources", "list"), ("company", "list"), ("rejected",), ("matches",), ("why", "x"), ("export", "csv")]
)
def test_a_database_that_is_not_there_is_one_line_and_not_created(place: Place, words: tuple[str, ...]) -> None:
    assert "jobs.db" in refusal(place.run(*words))
    assert place.files() == set()


def test_a_source_is_shown_as_it_is_in_fact(place: Place) -> None:
    place.add_source("greenhouse:well")
    place.add_source("greenhouse:off", name="Off")
    place.add_source("lever:new", status="pending_validation", instruction=None, note="waits for you")
    place.add_source("workday:empty", suspect=1, note="it had 300 before")
    place.ramet("resource", "open", "jobs:source:greenhouse:off", "--reason", "five failed runs")
    told = {one["source_id"]: one for one in place.told("sources", "list")}
    assert {name: one["status"] for name, one in told.items()} == {
        "greenhouse:well": "active", "greenhouse:off": "switched off", "lever:new": "pending_validation",
        "workday:empty": "suspect",
    }  # fmt: skip
    assert "five failed runs" in told["greenhouse:off"]["switched_off"]
    shown = place.run("sources", "list").stdout
    assert "to switch it on: ramet jobs sources enable greenhouse:off" in shown
    assert "lever:new: waits for you" in shown
    assert "workday:empty: it had 300 before" in shown
    assert [one["source_id"] for one in place.told("sources", "list", "--status", "suspect")] == ["workday:empty"]


def test_listings_of_a_source_are_counted_by_status(place: Place) -> None:
    place.add_source("greenhouse:acme")
    place.add_match("https://a.example/1", 90, source_id="greenhouse:acme")
    place.add_listing("https://a.example/2", source_id="greenhouse:acme")
    place.add_listing("https://a.example/3", source_id="greenhouse:acme")
    [source] = place.told("sources", "list")
    assert source["listings"] == {"matched": 1, "filtered": 2}


def test_rejected_is_searched_by_all_words_wherever_they_are(place: Place) -> None:
    place.add_listing("https://a.example/1", title="Java Developer", reason="an unwelcome technology: java")
    place.add_listing("https://a.example/2", title="Developer", reason="100% commission_only", status="filtered")
    place.add_listing("https://a.example/3", title="Nurse", status="refused", reason="title: nurse")
    place.add_match("https://a.example/4", 90, title="Java Developer")

    def found(*words: str) -> set[str]:
        return {one["listing_id"][-1] for one in place.told("rejected", *words)["listings"]}

    assert found() == {"1", "2", "3"}
    assert found("--search", "JAVA developer") == {"1"}
    assert found("--search", "100%") == {"2"}
    assert found("--search", "commission_only") == {"2"}
    assert found("--search", "n_rse") == set()
    assert found("--status", "refused") == {"3"}
    assert found("--limit", "2", "--status", "filtered", "--status", "refused") <= {"1", "2", "3"}
    assert place.told("rejected", "--limit", "1")["counts"] == {"filtered": 2, "refused": 1}
    assert "3 listings: 2 filtered, 1 refused; 1 of them shown" in place.run("rejected", "--limit", "1").stdout
    assert "nothing was rejected that has 'xyz' in it" in place.run("rejected", "--search", "xyz").stdout


def test_matches_come_the_best_first_and_closed_ones_only_when_asked_for(place: Place) -> None:
    now = time.time()
    place.add_match("https://a.example/1", 82, posted_at=now - 3 * DAY)
    place.add_match("https://a.example/2", 95, posted_at=now - 3 * DAY)
    place.add_match("https://a.example/3", 99, posted_at=now - 3 * DAY, closed_at=now)

    def found(*words: str) -> list[str]:
        return [one["listing_id"][-1] for one in place.told("matches", *words)]

    assert found() == ["2", "1"]
    assert found("--closed") == ["3", "2", "1"]
    assert found("--limit", "1") == ["2"]
    assert found("--min-score", "90") == ["2"]
    assert found("--priority", "low") == []
    [best, _] = place.told("matches")
    assert best["matched_skills"] == ["python", "react"]
    assert best["adjustments"][0]["points"] == 30


def test_without_a_profile_matches_say_so_and_how_to_make_one(place: Place) -> None:
    place.add_listing("https://a.example/1")
    told = place.run("matches").stdout
    assert "there is no profile, so nothing can be scored: `ramet jobs init --sample`" in told
    assert place.told("matches") == []
    assert place.run("init", "--sample").exit_code == 0
    assert "no profile" not in place.run("matches").stdout
