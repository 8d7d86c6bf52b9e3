"""`schedule daily`, `weekly`, `show` and `off`: one schedule, at a time of day in a time zone that is told."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from ramet.jobs.commands.schedule import local_zone
from ramet.jobs.pipeline import TARGET, app
from ramet.jobs.tasks.scheduled_run import SCHEDULE
from tests.jobs.commands.conftest import DAY, Place, refusal
from tests.jobs.world.openings import Opening
from tests.jobs.world.world import World


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not folded, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "200")


def ready(place: Place) -> None:
    assert place.run("init", "--sample").exit_code == 0


def test_a_run_every_day_is_scheduled_and_shown(place: Place) -> None:
    ready(place)
    result = place.run("schedule", "daily", "--at", "07:30", "--timezone", "Europe/Berlin", "--all")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("runs every day at 07:30 (Europe/Berlin); next ")
    assert "keep `ramet jobs work` running" in result.stdout
    assert "new matches are sent to: the log; see `ramet alerts channels`" in result.stdout
    told = place.told("schedule", "show")
    assert (told["times"], told["timezone"]) == ("30 7 * * * (Europe/Berlin)", "Europe/Berlin")
    assert 0 < told["next_at"] - time.time() <= 25 * DAY / 24
    assert told["slots"] == told["workers"] == told["channels"] == []
    assert place.run("schedule", "show").stdout.startswith("runs every day at 07:30 (Europe/Berlin); next ")
    made_otherwise = ("schedule", "add", "jobs.scheduled_run", "{}", "--app", TARGET, "--name", SCHEDULE, "--replace")
    assert place.ramet(*made_otherwise, "--every", "3600").exit_code == 0
    assert place.run("schedule", "show").stdout.startswith("runs at every 3600 s; next ")


def test_another_schedule_replaces_it(place: Place) -> None:
    ready(place)
    place.run("schedule", "daily")
    result = place.run("schedule", "weekly", "--on", "Friday", "--at", "18:00", "--timezone", "UTC")
    assert result.stdout.startswith("runs every Friday at 18:00 (UTC); next Fri ")
    assert place.told("schedule", "show")["times"] == "0 18 * * 5 (UTC)"
    assert place.ramet("schedule", "list", "--json").stdout.count('"name"') == 1


def test_a_paused_schedule_says_so_and_goes_on_when_it_is_made_again(place: Place) -> None:
    ready(place)
    place.run("schedule", "daily")
    assert place.ramet("schedule", "pause", SCHEDULE).exit_code == 0
    assert f"paused: `ramet schedule resume {SCHEDULE}`" in place.run("schedule", "show").stdout
    assert "next " in place.run("schedule", "daily").stdout
    assert place.told("schedule", "show")["state"] == "active"


def test_it_can_be_taken_away(place: Place) -> None:
    ready(place)
    place.run("schedule", "daily")
    assert place.run("schedule", "off").stdout == "nothing is scheduled any more\n"
    assert "nothing is scheduled: `ramet jobs schedule daily" in place.run("schedule", "show").stdout
    assert place.told("schedule", "show") == {"schedule": None}
    assert "nothing is scheduled" in refusal(place.run("schedule", "off"))


def test_what_became_of_slots_is_shown(place: Place) -> None:
    ready(place)
    place.run("schedule", "daily", "--timezone", "UTC")
    assert place.ramet("schedule", "run", SCHEDULE).exit_code == 0
    [slot] = place.told("schedule", "show")["slots"]
    assert (slot["outcome"], slot["state"]) == ("manual", "running")
    assert "  running" in place.run("schedule", "show").stdout


@pytest.mark.network
@pytest.mark.process
def test_a_typed_run_goes_on_with_the_scheduled_one_which_tells_what_is_new(place: Place, world: World) -> None:
    ready(place)
    for name in ("jobs.match.min_score", "jobs.match.preferred_office_min_score"):
        assert place.ramet("settings", "set", name, "0").exit_code == 0
    board = world.board("greenhouse", "acme", [Opening("1", "Senior Python Engineer")], company="Acme")
    assert place.run("sources", "add", board.url).exit_code == 0
    place.run("schedule", "daily", "--timezone", "UTC", "--all")
    begun = place.ramet("schedule", "run", SCHEDULE, "--json")
    assert begun.exit_code == 0
    result = place.run("run", "--all", "--json")
    assert result.exit_code == 0, result.output
    end = json.loads(result.stdout.splitlines()[-1])
    assert end["run"] == json.loads(begun.stdout)["tracking_id"]
    assert end["tasks"]["SCRAPE"] == {"success": 1}
    [slot] = place.told("schedule", "show")["slots"]
    assert slot["state"] == "finished"
    digests = asyncio.run(messages(place))
    assert [[match["title"] for match in one["data"]["matches"]] for one in digests] == [["Senior Python Engineer"]]


async def messages(place: Place) -> list[dict[str, Any]]:
    async with app.client(place.database, create=False) as client:
        return [dict(one.body) for one in await client.alert_notices() if one.event == "message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "7 o'clock"), "is not a time of day: give hours and minutes, such as 07:00"),
        (("--at", "24:00"), "'24:00' is not a time of day"),
        (("--timezone", "Mars/Olympus"), "unknown time zone 'Mars/Olympus': give a name such as Europe/Berlin"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_schedules_nothing(place: Place, words: tuple[str, ...], said: str) -> None:
    ready(place)
    assert said in refusal(place.run("schedule", "daily", *words))
    assert place.told("schedule", "show") == {"schedule": None}


def test_without_a_profile_it_is_said_that_nothing_can_be_scored(place: Place) -> None:
    assert place.run("init").exit_code == 0
    assert "there is no profile" in place.run("schedule", "daily").stdout


def test_the_zone_of_the_machine_is_found(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert local_zone({}, link) == "UTC"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert local_zone({}, link) == "Asia/Tokyo"
    assert local_zone({"TZ": ":America/New_York"}, link) == "America/New_York"
    assert local_zone({"TZ": "../../etc/passwd"}, link) == "Asia/Tokyo"
