"""Adding companies and sources, and what a person says of a source, against a web of the test's own."""

from __future__ import annotations

import pytest

from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world.faults import cut_off, trouble, wrong_json
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import Action, World

pytestmark = pytest.mark.network


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("https://boards.greenhouse.io/acme", "no company's website"),
        ("https://www.linkedin.com/company/acme", "linkedin.com"),
        ("ftp://acme.example", "is not a valid address of a web page"),
        ("https://", "is not a valid address"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("  ", "a company needs a website or a name"),
        ("x" * 201, "is longer than any company's name"),
    ],
)
def test_what_is_no_company_is_one_line_and_nothing_is_saved(place: Place, word: str, said: str) -> None:
    assert said in refusal(place.run("company", "add", "https://acme.com", word))
    assert place.files() == set()


@pytest.mark.parametrize("url", ["acme", "ftp://acme.example/jobs", "https://", "javascript:alert(1)"])
def test_what_is_no_address_of_a_list_is_one_line_and_nothing_is_saved(place: Place, url: str) -> None:
    assert "is not a valid address of a list of openings" in refusal(place.run("sources", "add", url))
    assert place.files() == set()


def test_a_company_leads_to_its_board(place: Place, world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(3), company="Acme")
    world.company("Acme", "https://acme.com/", careers=f'<a href="{board.url}">Open roles</a>')
    [told] = place.told("company", "add", "acme.com", "--name", "Acme")
    assert (told["state"], told["company"]) == ("success", "acme.com")
    assert told["job_board"] == "https://boards.greenhouse.io/acme"
    [company] = place.told("company", "list")
    assert company["website"] == "https://acme.com/"
    asked = len(world.asked("https://acme.com/"))
    again = place.run("company", "add", "https://acme.com/about")
    assert again.exit_code == 0
    assert "its openings are at https://boards.greenhouse.io/acme" in again.stdout
    assert len(world.asked("https://acme.com/")) > asked  # A person who asks again has it looked at again.


def test_the_board_of_a_company_is_a_source_before_any_run(place: Place, world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(3), company="Acme")
    world.company("Acme", "https://acme.com/", careers=f'<a href="{board.url}">Open roles</a>')
    place.told("company", "add", "acme.com", "--name", "Acme")
    [source] = place.told("sources", "list")
    assert (source["source_id"], source["status"], source["last_scraped_at"]) == ("greenhouse:acme", "active", None)
    assert place.told("rejected")["counts"] == {}  # No opening is read before a run.


def test_what_is_still_looked_for_is_said(place: Place, world: World) -> None:
    assert place.run("company", "add", "acme.com", "--no-work").exit_code == 0
    shown = place.run("sources", "list").stdout
    assert shown == "acme.com is still being looked for: `ramet jobs run`, or `ramet jobs work`, does it\n"


@pytest.mark.parametrize("answer", [trouble(), wrong_json(), cut_off()])
def test_a_server_in_trouble_is_named_with_its_trouble(place: Place, world: World, answer: Action) -> None:
    board = world.board("greenhouse", "acme", made_up(1), company="Acme")
    world.behave("https://boards-api.greenhouse.io/v1/boards/acme/jobs", answer, forever=True)
    result = place.run("sources", "add", board.url)
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "boards-api.greenhouse.io" in line
    assert "attempts_exhausted" not in line


def test_a_board_of_one_opening_is_one_opening(place: Place, world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(1), company="Acme")
    assert place.run("sources", "add", board.url).stdout == "greenhouse:acme: enabled; it shows 1 opening\n"


def test_a_name_alone_is_noted_and_says_what_is_missing(place: Place, world: World) -> None:
    result = place.run("company", "add", "Acme Industries")
    assert "no website is known" in result.stdout
    assert not world.requests


def test_a_board_is_tested_and_enabled(place: Place, world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(3), company="Acme")
    result = place.run("sources", "add", board.url)
    assert result.exit_code == 0, result.output
    assert result.stdout == "greenhouse:acme: enabled; it shows 3 openings\n"
    [source] = place.told("sources", "list")
    assert (source["source_id"], source["status"]) == ("greenhouse:acme", "active")


def test_an_unknown_board_token_is_one_line(place: Place, world: World) -> None:
    result = place.run("sources", "add", "https://boards.greenhouse.io/nosuchboard")
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("https://boards.greenhouse.io/nosuchboard: failed: ")


def test_a_source_that_waits_for_a_person_is_approved(place: Place, world: World) -> None:
    board = world.board("lever", "acme", made_up(2), company="Acme")
    place.add_source(
        "lever:acme", status="pending_validation", confidence="medium", source_type="lever", url=board.url,
        instruction=None, company_name="Acme",
    )  # fmt: skip
    told = refusal(place.run("sources", "enable", "lever:acme"))
    assert "was never tested: `ramet jobs sources approve lever:acme`" in told
    [approved] = place.told("sources", "approve", "lever:acme")
    assert (approved["source"], approved["enabled"], approved["listings"]) == ("lever:acme", True, 2)
    [source] = place.told("sources", "list")
    assert source["status"] == "active"


def test_a_source_is_switched_off_and_on_whoever_did_it(place: Place) -> None:
    place.add_source("greenhouse:acme")
    assert place.told("sources", "disable", "greenhouse:acme", "--reason", "too noisy") == {
        "source": "greenhouse:acme", "enabled": False,
    }  # fmt: skip
    [source] = place.told("sources", "list")
    assert source["status"] == "disabled"
    assert source["note"].endswith(": too noisy")
    place.ramet("resource", "open", "jobs:source:greenhouse:acme")
    place.told("sources", "enable", "https://boards.greenhouse.io/acme", "--allow-empty")
    [source] = place.told("sources", "list")
    assert (source["status"], source["allow_empty"], source["switched_off"]) == ("active", True, None)


@pytest.mark.parametrize("verb", ["approve", "enable", "disable"])
def test_a_source_that_nobody_knows_is_one_line(place: Place, verb: str) -> None:
    place.add_source("greenhouse:acme")
    assert "there is no source none" in refusal(place.run("sources", verb, "none"))


def test_what_is_only_put_into_the_queue_waits_there(place: Place, world: World) -> None:
    assert "in the queue" in place.run("company", "add", "acme.com", "--no-work").stdout
    assert "in the queue" in place.run("sources", "add", "https://boards.greenhouse.io/acme", "--no-work").stdout
    assert not world.requests
