"""Adding many lists of openings at once, boards that ship, and pages by their selectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet.jobs.boards import address_lists
from ramet.jobs.boards.address_lists import KnownBoard
from tests.jobs.boards.vendor_payloads import PAYLOADS
from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import World

pytestmark = pytest.mark.network


def test_the_lines_of_a_file_are_added_and_the_bad_ones_named(place: Place, world: World, tmp_path: Path) -> None:
    board = world.board("greenhouse", "acme", made_up(3), company="Acme")
    other = world.board("lever", "initech", made_up(2), company="Initech")
    file = tmp_path / "list.txt"
    file.write_text(f"# mine\n{board.url}\nftp://x.example\nInitech, {other.url}\nhttps://www.linkedin.com/company/x\n")
    result = place.run("sources", "add", "--from", str(file))
    assert result.exit_code == 0, result.output
    assert set(result.stdout.splitlines()) == {
        "greenhouse:acme: enabled; it shows 3 openings",
        "lever:initech: enabled; it shows 2 openings",
    }
    first, second = result.stderr.splitlines()
    assert first == "line 3: 'ftp://x.example' is not an address of http or https"
    assert second.startswith("line 5: ")
    assert "linkedin.com" in second
    assert {one["source_id"] for one in place.told("sources", "list")} == {"greenhouse:acme", "lever:initech"}


def test_a_site_and_a_name_in_a_file_are_companies(place: Place, world: World, tmp_path: Path) -> None:
    world.company("Acme", "https://acme.com/", careers="")
    file = tmp_path / "list.csv"
    file.write_text("company,website\nAcme,acme.com\nHooli,\n")
    result = place.run("sources", "add", "--from", str(file), "--no-work")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 2
    assert not world.requests


def test_a_file_of_nothing_but_bad_lines_is_refused_and_nothing_is_saved(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("ftp://x.example\n---\n")
    before = place.files()
    result = place.run("sources", "add", "--from", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line[:7] for line in result.stderr.splitlines()] == ["line 1:", "line 2:"]
    assert place.files() == before


def test_an_empty_file_is_one_line(place: Place, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# nothing yet\n")
    told = refusal(place.run("sources", "add", "--from", str(tmp_path / "list.txt")))
    assert "there is no address and no company in it" in told


def test_boards_that_ship_are_enabled_where_their_own_name_is_the_companys(
    place: Place, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = world.board("lever", "acme", made_up(2), company="Acme")
    wrong = world.board("greenhouse", "hooli", made_up(1), company="Hooli Bicycles")
    boards = (
        KnownBoard("ai", "Acme", right.url), KnownBoard("ai", "Initrode", wrong.url),
        KnownBoard("ai", "Gone", "https://boards.greenhouse.io/gone"), KnownBoard("data", "Other", "https://x.example"),
    )  # fmt: skip
    monkeypatch.setattr(address_lists, "known_boards", lambda: boards)
    result = place.run("sources", "add", "--field", "ai")
    assert result.exit_code == 0, result.output
    assert "https://boards.greenhouse.io/gone: failed: " in result.stderr
    status = {one["source_id"]: one["status"] for one in place.told("sources", "list")}
    assert status.pop("greenhouse:gone", "failed") == "failed"
    assert status == {"lever:acme": "active", "greenhouse:hooli": "pending_validation"}


def test_the_boards_that_ship_are_shown_by_field(place: Place) -> None:
    result = place.run("sources", "suggested", database=False)
    assert "Anthropic" in result.stdout
    one = place.run("sources", "suggested", "--field", "games", database=False)
    assert "https://boards.greenhouse.io/riotgames" in one.stdout.replace("\n", "")
    assert "unchecked" in one.stdout
    assert "is not one of the fields" in refusal(place.run("sources", "suggested", "--field", "x", database=False))


PAGE = """<!doctype html><title>Acme</title>
<div class=row><b>Night Cook</b><i>Lyon</i><u><a href="/j/1">go</a></u></div>
<div class=row><b>Day Cook</b><i>Paris</i><u><a href="/j/2">go</a></u></div>"""


def test_a_page_is_read_by_the_selectors_that_a_person_gives(place: Place, world: World) -> None:
    world.page("https://acme.example/team", PAGE)
    selectors = "{item: div.row, title: b, url: a, location: i}"
    result = place.run("sources", "add", "https://acme.example/team", "--selectors", selectors, "--company", "Acme")
    assert result.exit_code == 0, result.output
    assert result.stdout == "generic:https://acme.example/team: enabled; it shows 2 openings\n"


@pytest.mark.parametrize(
    ("selectors", "said"),
    [
        ("{item: div.row, title: b}", "the url is missing"),
        ("{item: 'div[[', title: b, url: a}", "no CSS selector"),
        ("{item: [1], title: b, url: a}", "each selector a text"),
        ("{item", "is not valid YAML"),
        ("no-such-file.yaml", "cannot be read as a file"),
    ],
)
def test_wrong_selectors_are_one_line_and_nothing_is_saved(place: Place, selectors: str, said: str) -> None:
    assert said in refusal(place.run("sources", "add", "https://acme.example/team", "--selectors", selectors))
    assert place.files() == set()


def test_selectors_that_nothing_fits_are_said(place: Place, world: World) -> None:
    world.page("https://acme.example/team", PAGE)
    result = place.run(
        "sources", "add", "https://acme.example/team", "--selectors", "{item: li.job, title: b, url: a}"
    )  # fmt: skip
    assert result.exit_code == 2
    assert "nothing fits 'li.job'" in result.stderr
    assert place.told("sources", "list") == []


RIPPLING = "https://ats.rippling.com/api/v2/board/acme/jobs?page=0&pageSize=50"
FIRST_RIPPLING = "https://api.rippling.com/platform/api/ats/v1/board/acme/jobs"


def answer(world: World, url: str, value: Any, status: int = 200) -> None:
    world.answer(url, Reply(json.dumps(value).encode(), status, "application/json"))


def test_a_board_that_answers_in_its_vendors_newest_shape_is_read_by_it(place: Place, world: World) -> None:
    answer(world, RIPPLING, PAYLOADS["rippling"])
    result = place.run("sources", "add", "https://ats.rippling.com/acme/jobs", "--company", "Acme")
    assert result.stdout == "rippling:acme: enabled; it shows 1 opening\n", result.output
    assert not world.asked(FIRST_RIPPLING)


@pytest.mark.parametrize("newest", [({"error": "x"}, 200), ({}, 404)])
def test_a_board_that_does_not_is_read_by_the_shape_before(place: Place, world: World, newest: tuple[Any, int]) -> None:
    answer(world, RIPPLING, *newest)
    answer(world, FIRST_RIPPLING, [{"uuid": "1", "name": "Cook", "url": "https://ats.rippling.com/acme/jobs/1"}])
    result = place.run("sources", "add", "https://ats.rippling.com/acme/jobs", "--company", "Acme")
    assert result.stdout == "rippling:acme: enabled; it shows 1 opening\n", result.output


def test_an_answer_of_no_known_shape_is_said_and_not_taken_for_no_openings(place: Place, world: World) -> None:
    answer(world, RIPPLING, {"error": "x"})
    answer(world, FIRST_RIPPLING, {"message": "moved"})
    result = place.run("sources", "add", "https://ats.rippling.com/acme/jobs", "--company", "Acme")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no list at its top, but an object with message" in result.stderr


OPENING = """<script type="application/ld+json">{"@context": "https://schema.org", "@type": "JobPosting",
"title": "Cook NUMBER",
"url": "https://acme.example/careers/NUMBER", "hiringOrganization": {"name": "Acme"}}</script>"""
LINKED = "<!doctype html><title>Careers at Acme</title>" + "".join(OPENING.replace("NUMBER", one) for one in "123")


def test_approve_finds_what_add_finds(place: Place, world: World) -> None:
    world.page("https://acme.example/careers", LINKED)
    place.add_source(
        "generic:https://acme.example/careers", status="pending_validation", confidence="low", source_type="generic",
        url="https://acme.example/careers", instruction=None, company_name="Acme",
        last_scraped_at=None,
    )  # fmt: skip
    [approved] = place.told("sources", "approve", "generic:https://acme.example/careers")
    assert (approved["state"], approved["enabled"], approved["listings"]) == ("success", True, 3)
    [source] = place.told("sources", "list")
    assert (source["source_id"], source["status"]) == ("jsonld:https://acme.example/careers", "active")
