"""`rescore`, and what `init` and `settings set` judge again by themselves: seen from the command line."""

from __future__ import annotations

import pytest

from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world.openings import Opening
from tests.jobs.world.world import World

pytestmark = pytest.mark.network


CLERK = Opening("1", "Senior Office Clerk", text="We keep the books of harbours, and look for a person who does. " * 5)


def judged(place: Place, world: World) -> None:
    """One opening that was read, and skipped for its score."""
    board = world.board("greenhouse", "acme", [CLERK], company="Acme")
    place.run("init", "--sample")
    for name in ("min_score", "preferred_office_min_score"):
        assert place.ramet("settings", "set", f"jobs.match.{name}", "100").exit_code == 0
    assert place.run("sources", "add", board.url).exit_code == 0
    assert place.run("run", "--all").exit_code == 0
    assert place.told("rejected")["counts"] == {"skipped": 1}
    assert place.told("matches") == []


def test_a_threshold_that_is_lowered_makes_matches_at_once_and_says_how_many(place: Place, world: World) -> None:
    judged(place, world)
    asked = len(world.requests)
    lines = [
        place.ramet("settings", "set", f"jobs.match.{name}", "0", "--reason", "too few matches").stdout
        for name in ("preferred_office_min_score", "min_score")
    ]
    assert sum("1 listing judged again, 1 changed: 1 skipped to matched" in line for line in lines) == 1, lines
    assert [one["title"] for one in place.told("matches")] == ["Senior Office Clerk"]
    assert len(world.requests) == asked
    place.ramet("settings", "set", "jobs.match.preferred_office_min_score", "100")
    back = place.ramet("settings", "set", "jobs.match.min_score", "100", "--json")
    assert '"jobs.match.min_score"' in back.stdout
    assert place.told("matches") == []


def test_without_apply_nothing_is_written(place: Place, world: World) -> None:
    judged(place, world)
    place.run("init", "--from", write_thresholds(place, 100), "--force")
    dry = place.run("rescore")
    assert "no verdict is another" in dry.stdout
    assert place.told("matches") == []
    assert place.told("rescore", "--apply") == {"event": "end", "judged": 1, "changed": {}, "written": True}


def test_init_judges_again_what_is_stored(place: Place, world: World) -> None:
    judged(place, world)
    told = place.run("init", "--from", write_thresholds(place, 0), "--force")
    assert told.exit_code == 0, told.output
    assert "1 listing judged again, 1 changed: 1 skipped to matched" in told.stdout
    assert len(place.told("matches")) == 1
    shown = place.run("why", "senior", "clerk")
    assert "is below 100" in shown.stdout


def test_a_setting_of_companies_judges_again_too_and_says_how_many_are_rated_otherwise(
    place: Place, world: World
) -> None:
    world.company("Acme", "https://acme.example/", about="{name} builds ships in Python. " * 8)
    place.run("init", "--sample")
    assert place.run("company", "add", "https://acme.example/").exit_code == 0
    assert place.run("run", "--all").exit_code == 0
    told = place.ramet("settings", "set", "jobs.company.tier_s", "0")
    assert "1 company rated otherwise" in told.stdout, told.output
    assert "rated" not in place.run("rescore").stdout


def test_rescore_without_a_database_is_one_line(place: Place) -> None:
    assert "ramet jobs init" in refusal(place.run("rescore"))
    assert place.files() == set()


def write_thresholds(place: Place, score: int) -> str:
    (place.folder / "mine.yaml").write_text(f"match: {{min_score: {score}, preferred_office_min_score: {score}}}\n")
    return "mine.yaml"
