"""`why` over what the pipeline itself stored, for every way in which a listing can end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.jobs.commands.conftest import Place
from tests.jobs.world.boards import Board
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import World

pytestmark = [pytest.mark.network, pytest.mark.process]

PROFILE = """\
profile: {name: Somebody, technologies: {Python: required}}
filter: {excluded_job_types: [nurse], excluded_keywords: [casino]}
stop: {keywords: [gambling]}
match: {min_score: %s}
run: {max_fan_out: %s}
"""


def ran(place: Place, world: World, *, min_score: int = 0, max_fan_out: int = 100, count: int = 4) -> Board:
    """A board of which every listing went through the pipeline."""
    nurse, gambler, casino, usual = made_up(4)
    openings = [
        replace(nurse, title="Nurse"),
        replace(gambler, title="Gambling Engineer"),
        replace(casino, text=f"{casino.text}\nYou work in our casino."),
        usual,
    ][:count]
    (place.folder / "me.yaml").write_text(PROFILE % (min_score, max_fan_out))
    assert place.run("init", "--from", "me.yaml").exit_code == 0
    board = world.board("greenhouse", "acme", openings, company="Acme")
    assert place.run("sources", "add", board.url).exit_code == 0
    result = place.run("run", "--all", "--json")
    assert result.exit_code == 0, result.output
    return board


def why(place: Place, url: str) -> tuple[dict[str, Any], str]:
    """What it says to machines, and to people."""
    result = place.run("why", url)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 40, "one screen"
    told: dict[str, Any] = place.told("why", url)
    return told, result.stdout


def test_every_end_has_its_reason(place: Place, world: World) -> None:
    urls = list(ran(place, world).urls.values())
    told, shown = why(place, urls[0])
    assert told["listing"]["status"] == "refused"
    assert "before its page was fetched" in shown
    assert "nurse" in shown.lower()
    told, shown = why(place, urls[1])
    assert told["listing"]["status"] == "refused"
    assert "gambling" in shown.lower()
    told, shown = why(place, urls[2])
    assert told["listing"]["status"] == "filtered"
    assert "filter: a hard rejection" in shown
    assert "casino" in shown
    told, shown = why(place, urls[3])
    assert told["listing"]["status"] == "matched"
    adjustments = told["match"]["adjustments"]
    assert adjustments
    for one in adjustments:
        assert one["reason"].split()[0] in shown
    assert "It is a match" in shown


def test_a_score_below_the_threshold_is_told_with_both(place: Place, world: World) -> None:
    url = list(ran(place, world, min_score=100).urls.values())[3]
    told, shown = why(place, url)
    assert told["listing"]["status"] == "skipped"
    assert "of 100 needed" in shown
    assert told["listing"]["score"]["threshold"] == 100


def test_what_a_limit_left_out_is_explained_though_it_was_never_created(place: Place, world: World) -> None:
    ran(place, world, max_fan_out=1, count=0)
    board = world.board("greenhouse", "acme", made_up(2), company="Acme")
    assert place.run("run", "--all").exit_code == 0
    found = [place.run("why", url) for url in board.urls.values()]
    assert [result.exit_code for result in found] == [0, 0]
    [left_out] = [result.stdout for result in found if "no task was ever created" in result.stdout]
    assert "fan_out" in left_out


def test_what_could_not_be_read_says_what_came_instead(place: Place, world: World) -> None:
    row = {"id": "1", "type": "JOB", "url": "https://acme.example/jobs/1", "status": "pending"}
    (place.folder / "queue.jsonl").write_text(json.dumps(row))
    assert place.run("import", "queue.jsonl").exit_code == 0
    ran(place, world)
    told, shown = why(place, "https://acme.example/jobs/1")
    assert told["listing"]["status"] == "unknown"
    assert "it could not be read" in shown
    assert "404" in shown
