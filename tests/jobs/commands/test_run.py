"""`run` scrapes, filters and scores what a board shows, tells how far it is, and goes on where it was stopped."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from subprocess import PIPE
from typing import Any

import pytest

from ramet.jobs.app import app
from ramet.jobs.kinds import COMPANY, SCRAPE_SOURCE
from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world import faults
from tests.jobs.world.openings import Opening, made_up
from tests.jobs.world.world import World

pytestmark = [pytest.mark.network, pytest.mark.process]

EASY = """\
profile:
  name: Anybody
  technologies: {Python: required}
match:
  min_score: 0
  preferred_office_min_score: 0
"""


def ready(place: Place, world: World, openings: list[Opening]) -> None:
    """A profile that likes everything, and a board."""
    (place.folder / "easy.yaml").write_text(EASY)
    assert place.run("init", "--from", "easy.yaml").exit_code == 0
    board = world.board("greenhouse", "acme", openings, company="Acme")
    assert place.run("sources", "add", board.url).exit_code == 0


def events(place: Place, *words: str) -> list[dict[str, Any]]:
    result = place.run("run", *words, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_run_scores_every_listing_of_a_board_once(place: Place, world: World) -> None:
    ready(place, world, made_up(8))
    told = events(place, "--all")
    assert told[0]["event"] == "begin"
    assert (told[-1]["event"], told[-1]["state"]) == ("end", "finished")
    found = {one["listing_id"] for one in place.told("matches")}
    found |= {one["listing_id"] for one in place.told("rejected")["listings"]}
    assert len(found) == 8
    assert told[-1]["matches"] == len(place.told("matches"))
    again = events(place, "--all")[-1]
    assert again["tasks"].get("LISTING", {}) == {}
    assert again["run"] != told[-1]["run"]
    assert len(world.asked("https://boards-api.greenhouse.io")) <= 8


def test_the_first_run_scrapes_no_board_twice_and_keeps_to_its_target(place: Place, world: World) -> None:
    ready(place, world, made_up(4))
    for name in ("birch", "cedar", "dogwood"):
        board = world.board("greenhouse", name, made_up(4), company=name.capitalize())
        assert place.run("sources", "add", board.url).exit_code == 0
    asked = len(world.asked("https://boards-api.greenhouse.io"))
    place.ramet("settings", "set", "jobs.run.sources_at_once", "1")
    told = events(place, "--target-matches", "2")
    assert told[-1]["tasks"]["SCRAPE_SOURCE"] == {"success": 1}
    assert len(world.asked("https://boards-api.greenhouse.io")) == asked + 1
    told = events(place, "--all")
    assert told[-1]["tasks"]["SCRAPE_SOURCE"] == {"success": 4}
    assert max(one["tasks"].get("SCRAPE_SOURCE", {}).get("success", 0) for one in told) == 4


def test_what_was_scraped_from_the_queue_is_not_scraped_again(place: Place, world: World) -> None:
    ready(place, world, made_up(4))

    async def queued() -> None:
        async with app.client(place.database) as client:
            await client.submit(SCRAPE_SOURCE, {"source_id": "greenhouse:acme"})

    asyncio.run(queued())
    asked = len(world.asked("https://boards-api.greenhouse.io"))
    told = events(place, "--all")
    assert told[-1]["tasks"]["SCRAPE_SOURCE"] == {"success": 1}
    assert len(world.asked("https://boards-api.greenhouse.io")) == asked + 1
    assert len(place.told("matches")) + len(place.told("rejected")["listings"]) == 4


def test_a_board_that_is_busy_for_ever_does_not_keep_the_run(place: Place, world: World) -> None:
    ready(place, world, made_up(3))
    world.behave("https://boards-api.greenhouse.io/v1/boards/acme/jobs", faults.busy(600), forever=True)
    result = place.run("run", "--all")
    assert result.exit_code == 0, result.output
    assert "greenhouse:acme: busy: boards-api.greenhouse.io asks to come back in 600 s" in result.stdout
    [source] = place.told("sources", "list")
    assert (source["status"], source["last_status"]) == ("active", "busy")


def test_a_run_says_what_waits_for_its_second_try(place: Place, world: World) -> None:
    ready(place, world, made_up(1))

    async def put_off() -> None:
        async with app.client(place.database) as client:
            await client.submit(COMPANY, {"website": "https://later.example/"}, delay_seconds=3_600)

    asyncio.run(put_off())
    result = place.run("run", "--all")
    assert result.exit_code == 0, result.output
    assert "later.example waits: tried again in " in result.stdout
    assert "`ramet jobs run` goes on with what waits" in result.stdout
    assert [one["key"] for one in events(place, "--all")[-1]["waiting"]] == ["later.example"]


def test_every_listing_says_why(place: Place, world: World) -> None:
    ready(place, world, made_up(3))
    events(place, "--all")
    shown = place.told("matches") + place.told("rejected")["listings"]
    for one in shown:
        why = place.told("why", one["url"])
        assert why["listing"]["listing_id"] == one["listing_id"]
        assert why["task"]["state"] in ("success", "filtered", "skipped")
        assert why["source"]["source_id"] == "greenhouse:acme"


def test_without_a_profile_nothing_is_begun_unless_asked_for(place: Place, world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(2), company="Acme")
    place.run("sources", "add", board.url)
    told = refusal(place.run("run"))
    assert "there is no profile, so nothing can be scored" in told
    assert "--unscored" in told
    result = place.run("run", "--unscored", "--all")
    assert result.exit_code == 0, result.output
    assert "there is no profile" in result.stdout
    assert place.told("rejected")["counts"] == {"unscored": 2}
    (place.folder / "easy.yaml").write_text(EASY)
    assert place.run("init", "--from", "easy.yaml").exit_code == 0
    assert events(place, "--all")[-1]["state"] == "finished"
    assert len(place.told("matches")) == 2


def test_a_run_that_was_only_begun_is_gone_on_with(place: Place, world: World) -> None:
    ready(place, world, made_up(2))
    begun = json.loads(place.run("run", "--all", "--no-work", "--json").stdout)
    told = events(place)
    assert told[0]["resumed"]
    assert {one["run"] for one in told} == {begun["run"]}


def test_without_a_source_it_says_what_to_do(place: Place, world: World) -> None:
    (place.folder / "easy.yaml").write_text(EASY)
    place.run("init", "--from", "easy.yaml")
    result = place.run("run")
    assert result.exit_code == 0, result.output
    assert "there is no enabled source" in result.stdout


def test_lines_tell_how_far_it_is(place: Place, world: World) -> None:
    ready(place, world, made_up(3))
    result = place.run("run", "--all")
    assert result.exit_code == 0, result.output
    assert "3/3 listings" in result.stdout
    assert "`ramet jobs matches` shows them" in result.stdout


def test_misuse_is_one_line(place: Place, world: World) -> None:
    ready(place, world, made_up(1))
    assert "there is no source none" in refusal(place.run("run", "--source", "none"))
    assert "--all is without" in refusal(place.run("run", "--all", "--max-sources", "3"))
    place.database = "none.db"
    assert "none.db" in refusal(place.run("run"))


COMMAND = """\
import sys
from ramet.cli import main
from ramet.jobs.commands.group import jobs
main.add_command(jobs)
main(sys.argv[1:])
"""


def test_ctrl_c_ends_after_what_is_in_hand_and_the_same_command_goes_on(place: Place, world: World) -> None:
    ready(place, world, made_up(4))
    listed = "https://boards-api.greenhouse.io/v1/boards/acme/jobs"
    asked = len(world.asked(listed))
    world.behave(listed, faults.hang())
    words = ["jobs", "run", "--all", "--json", "--db", place.database]
    with subprocess.Popen([sys.executable, "-c", COMMAND, *words], stdout=PIPE, stderr=PIPE, text=True) as process:
        world.wait_until_asked(listed, asked + 1)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == "stopping after the 1 task in progress; Ctrl-C again stops now\n"
        world.release()
        told = [json.loads(line) for line in process.communicate()[0].splitlines()]
        assert process.returncode == 128 + signal.SIGINT
    assert (told[-1]["event"], told[-1]["state"]) == ("end", "running")
    assert place.told("rejected")["counts"] == {}
    assert events(place, "--all")[-1]["state"] == "finished"
    assert len(place.told("matches")) + len(place.told("rejected")["listings"]) == 4
