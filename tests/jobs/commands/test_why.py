"""`why` answers on one screen, from stored rows, whatever a listing is called."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from ramet.jobs.app import app
from ramet.jobs.kinds import LISTING
from tests.jobs.commands.conftest import Place, refusal

SCREEN_LINES = 40
STRIKES: list[dict[str, Any]] = [
    {"filter_name": "salary", "reason": "below what is wanted", "detail": "at most 140,000", "points": 2},
    {"filter_name": "technology", "reason": "an unwelcome technology", "detail": "java", "points": 2},
    {"filter_name": "age", "reason": "older than a day", "detail": "3 days", "points": 1},
]
PASSED = {"passed": True, "total_strikes": 0, "strike_threshold": 5, "hard_rejections": [], "strikes": []}
ADJUSTMENTS = [
    {"category": "skills", "reason": "6 of 8 wanted", "points": 22},
    {"category": "company", "reason": "small", "points": -10},
]
SCORE = {"base": 50, "static": 62, "final": 62, "threshold": 80, "adjustments": ADJUSTMENTS, "matched_skills": ["go"]}
URL = "https://boards.greenhouse.io/acme/jobs/1"


def lines(place: Place, *words: str) -> list[str]:
    result = place.run("why", *words)
    assert result.exit_code == 0, result.output
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_when_a_listing_is_tried_again_is_a_time_of_the_clock(place: Place) -> None:
    async def put_off() -> str:
        async with app.client(place.database) as client:
            return (await client.submit(LISTING, {"url": URL}, delay_seconds=3_600)).id

    place.add_listing(URL, status="analyzing", task_id=asyncio.run(put_off()))
    told = " ".join(lines(place, URL))
    assert re.search(r"It has not ended yet: it is scheduled for \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", told)


def test_strikes_are_told_with_points_and_threshold(place: Place) -> None:
    result = PASSED | {"passed": False, "total_strikes": 5, "strikes": STRIKES}
    place.add_listing(URL, status="filtered", reason="too many strikes", filter_result=result)
    told = lines(place, URL)
    assert "It ended at the filter: too many strikes." in told
    assert "filter: 5 of 5 strikes, too many" in told
    assert "+2  technology  an unwelcome technology: java" in told
    assert "+1  age         older than a day: 3 days" in told
    assert len(told) <= SCREEN_LINES


def test_a_hard_rejection_is_told_apart(place: Place) -> None:
    hard = [{"filter_name": "seniority", "reason": "junior is not wanted", "detail": "in the title", "points": 0}]
    result = PASSED | {"passed": False, "hard_rejections": hard}
    place.add_listing(URL, status="filtered", reason="junior is not wanted", filter_result=result)
    told = lines(place, URL)
    assert "filter: a hard rejection, which ends it at once" in told
    assert "hard  seniority  junior is not wanted: in the title" in told


def test_a_score_is_told_with_every_adjustment_and_what_was_needed(place: Place) -> None:
    place.add_listing(URL, status="skipped", reason="score 62 is below 80", filter_result=PASSED, score=SCORE)
    told = lines(place, URL)
    assert "It ended when it was scored: score 62 is below 80." in told
    assert "score: 62 of 80 needed" in told
    start = told.index("score: 62 of 80 needed")
    assert told[start + 1 : start + 4] == [" 50  base", "+22  skills   6 of 8 wanted", "-10  company  small"]


def test_a_match_is_told_with_its_priority(place: Place) -> None:
    place.add_match(URL, 87, score=SCORE | {"final": 87}, filter_result=PASSED, posted_at=None)
    told = place.told("why", URL)
    assert told["match"]["match_score"] == 87
    assert any(
        line.startswith("It is a match: 87 points, where 80 are needed; High priority") for line in lines(place, URL)
    )


def test_a_duplicate_names_its_twin(place: Place) -> None:
    place.add_listing(URL, title="The first")
    place.add_listing("https://b.example/2", status="skipped", same_as=URL, reason=f"duplicate: it is {URL} too")
    told = lines(place, "https://b.example/2")
    assert f"It is a duplicate: it is {URL} too." in told
    assert any(line.startswith("duplicate of  The first") and line.endswith(URL) for line in told)


def test_nearly_the_same_text_only_warns(place: Place) -> None:
    place.add_listing(URL, text_hash=0x0F0F_0F0F_0F0F_0F0F)
    place.add_listing("https://b.example/2", title="Other title", text_hash=0x0F0F_0F0F_0F0F_0F0E)
    place.add_listing("https://b.example/3", title="Another text", text_hash=0x7070_7070_7070_7070)
    told = place.told("why", URL)
    [near] = told["near_duplicates"]
    assert near["listing_id"] == "https://b.example/2"
    assert told["near_duplicate_count"] == 1


def test_a_source_that_is_switched_off_is_told(place: Place) -> None:
    place.add_source("greenhouse:acme")
    place.add_listing(URL, source_id="greenhouse:acme", status="unknown", reason="no answer")
    assert place.ramet("resource", "open", "jobs:source:greenhouse:acme").exit_code == 0
    [line] = [line for line in lines(place, URL) if line.startswith("source")]
    assert "greenhouse:acme, switched off (" in line


@pytest.mark.parametrize("word", [URL, f"{URL}?utm_source=x#apply", "the-task", "engineer acme", "ENGINEER"])
def test_a_listing_is_found_by_whatever_a_person_has(place: Place, word: str) -> None:
    place.add_listing(URL, task_id="the-task")
    place.add_listing("https://b.example/2", title="Nurse", company="Hospital")
    assert place.told("why", word)["listing"]["listing_id"] == URL


def test_words_that_mean_several_ask_which(place: Place) -> None:
    place.add_listing(URL)
    place.add_listing("https://b.example/2")
    result = place.run("why", "python", "engineer")
    assert result.exit_code == 1
    assert URL in result.stdout
    assert "https://b.example/2" in result.stdout


def test_what_nobody_knows_is_one_line(place: Place) -> None:
    place.add_listing(URL)
    assert "no listing is known by" in refusal(place.run("why", "https://nowhere.example/1"))
    assert "no listing is known by 'nothing like it'" in refusal(place.run("why", "nothing", "like", "it"))


def test_text_of_a_page_cannot_steer_a_terminal(place: Place) -> None:
    place.add_listing(URL, title="\x1b]0;gone\x07[bold]x", company="\x1b[2J", reason="\r\x1b[31mred", score=SCORE)
    result = place.run("why", URL)
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
    assert "[bold]x" in result.output


def test_rows_of_an_unknown_shape_are_shown_as_far_as_they_can_be(place: Place) -> None:
    broken = {"strikes": "none", "hard_rejections": [1, {"points": "many"}], "total_strikes": 1, "strike_threshold": 5}
    place.add_listing(URL, filter_result=broken, score={"final": "x", "adjustments": 7}, facts=[1], methods="{")
    told = lines(place, URL)
    assert "filter: a hard rejection, which ends it at once" in told
    assert "score: 0" in told
