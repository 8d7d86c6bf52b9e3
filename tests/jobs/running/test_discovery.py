"""From an address to a source: what is enabled at once, what waits for a person, and what is none."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.records import source_by_id
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import redirect, trouble
from tests.jobs.world.messages import Asked, Reply, json_reply
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import job_posting, jsonld, list_page, page, posting_page

pytestmark = pytest.mark.network

CAREERS = "https://acme.example/careers"


def openings(count: int = 4) -> list[Opening]:
    return [Opening(str(at), f"Python Engineer {at}") for at in range(1, count + 1)]


def address_of(opening: Opening) -> str:
    return f"https://acme.example/jobs/python-engineer-{opening.id}"


def own_page(desk: Desk) -> None:
    """A list on the company's own site, and the page of each opening."""
    links = [(address_of(opening), opening) for opening in openings()]
    desk.world.page(CAREERS, list_page("Acme careers", links))
    for url, opening in links:
        desk.world.page(url, posting_page(opening, url, "Acme"))


async def test_workday_is_looked_at_at_once_and_enabled_by_a_person(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("workday", "acme", openings(45), company="Acme", wd=5, site="Jobs")
    desk.world.company("Acme", "https://acme.example/", careers=f'<a href="{board.url}">Jobs</a>')
    await desk.company()
    source_id, status, note = await desk.one("jobs_sources", "source_id, status, note")
    assert status == "pending_validation"
    assert "confidence is medium" in note
    assert await desk.listings() == {}
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert (await desk.one("jobs_sources", "source_id, status")) == (source_id, "active")
    assert len(await desk.listings()) == 45


async def test_a_list_on_the_companys_own_site_is_found_by_its_shape_and_waits(desk: Desk) -> None:
    await desk.set(**EAGER)
    own_page(desk)
    await desk.discover(CAREERS, company_name="Acme")
    source_id, status, confidence = await desk.one("jobs_sources", "source_id, status, confidence")
    assert (status, confidence) == ("pending_validation", "low")
    source = await source_by_id(desk.client, source_id)
    assert source is not None
    assert isinstance(source.instruction, Instruction)
    await desk.discover(CAREERS, company_name="Acme", approved=True)
    assert len(await desk.listings()) == 4
    assert {row[0] for row in await desk.rows("jobs_listings", "quality")} == {"good"}


async def test_a_page_that_tells_its_openings_as_json_ld_is_a_source_of_low_confidence(desk: Desk) -> None:
    await desk.set(**EAGER)
    own_page(desk)
    postings = [job_posting(one, address_of(one), "Acme") for one in openings()]
    desk.world.page(CAREERS, page("Careers", "<h1>Careers</h1>", head="".join(jsonld(one) for one in postings)))
    await desk.discover(CAREERS, company_name="Acme")
    assert await desk.one("jobs_sources", "source_type, status, confidence") == ("jsonld", "pending_validation", "low")
    await desk.discover(CAREERS, company_name="Acme", approved=True)
    assert len(await desk.listings()) == 4


async def test_a_source_that_is_enabled_is_known_and_left_alone(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", openings(), company="Acme")
    await desk.discover(board.url, company_name="Acme")
    again = await desk.discover(board.url, company_name="Acme")
    assert (again.state, str(again.reason).partition(":")[0]) == ("skipped", "known")


async def test_an_empty_board_of_a_vendor_that_knows_every_name_is_not_enabled(desk: Desk) -> None:
    board = desk.world.board("smartrecruiters", "Acme", [], company="Acme")
    await desk.discover(board.url, company_name="Acme")
    status, note = await desk.one("jobs_sources", "status, note")
    assert status == "pending_validation"
    assert "do not exist" in note


async def test_a_person_may_want_to_see_a_sure_one_first(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", openings(), company="Acme")
    await desk.discover(board.url, company_name="Acme", validation_required=True)
    assert (await desk.one("jobs_sources", "status"))[0] == "pending_validation"
    assert await desk.listings() == {}


@pytest.mark.parametrize("html", ["<h1>Bakery</h1><p>We bake.</p>", "", "\x00\x01"])
async def test_an_address_without_a_board_fails_with_what_to_do_and_leaves_no_source(desk: Desk, html: str) -> None:
    desk.world.page(CAREERS, html)
    task = await desk.discover(CAREERS)
    assert task.state == "failed"
    assert "give the address of the list itself" in str(task.reason)
    assert await desk.rows("jobs_sources", "source_id") == []


async def test_a_redirect_to_the_vendor_is_followed_by_detection(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", openings(), company="Acme")
    desk.world.behave(CAREERS, redirect(board.url), forever=True)
    await desk.discover(CAREERS, company_name="Acme")
    assert await desk.one("jobs_sources", "source_id, status") == ("greenhouse:acme", "active")


ORACLE = "https://ab.fa.ocs.oraclecloud.com"


def oracle(desk: Desk, site: str, titles: list[str]) -> None:
    """A site of Oracle's with its list, which it has under its number only; any other site's list is empty."""
    rows = [{"Id": str(at), "Title": title, "PostedDate": "2026-11-01"} for at, title in enumerate(titles, start=1)]

    def answer(asked: Asked) -> Reply:
        shown = rows if f"siteNumber={site}," in unquote(asked.url) else []
        return json_reply({"items": [{"TotalJobsCount": len(shown), "requisitionList": shown}]})

    desk.world.handle(f"{ORACLE}/hcmRestApi/resources/latest/recruitingCEJobRequisitions", answer)


async def test_a_site_of_oracles_that_is_named_otherwise_in_its_address_is_found_by_its_number(desk: Desk) -> None:
    oracle(desk, "CX_7", ["Chef", "Cook"])
    address = f"{ORACLE}/hcmUI/CandidateExperience/en/sites/jobs"
    base = f'<base href="/x" data-apibaseurl="{ORACLE}:443" data-sitenumber="CX_7">'
    desk.world.page(address, page("Acme Careers", "<div></div>", head=base))
    task = await desk.discover(address, approved=True, company_name="Acme")
    assert task.result["listings"] == 2
    source_id, status = await desk.one("jobs_sources", "source_id, status")
    assert (source_id, status) == (f"oracle_hcm:{ORACLE.removeprefix('https://')}/CX_7", "active")
    assert set(await desk.listings()) == {"Chef", "Cook"}


async def test_a_site_of_oracles_that_is_empty_and_tells_no_other_number_is_what_it_is(desk: Desk) -> None:
    oracle(desk, "CX_7", [])
    task = await desk.discover(f"{ORACLE}/hcmUI/CandidateExperience/en/sites/CX_7", company_name="Acme")
    assert (task.state, task.result["listings"]) == ("success", 0)
    desk.world.page(f"{ORACLE}/hcmUI/CandidateExperience/en/sites/CX_8", page("Careers", "<div></div>"))
    task = await desk.discover(f"{ORACLE}/hcmUI/CandidateExperience/en/sites/CX_8", company_name="Acme")
    assert task.result["listings"] == 0


async def test_what_a_person_named_and_is_none_leaves_nothing(desk: Desk) -> None:
    task = await desk.discover("https://boards.greenhouse.io/nosuchboard", approved=True)
    assert task.state == "failed"
    assert await desk.rows("jobs_sources", "source_id") == []


async def test_a_board_in_trouble_is_kept_with_what_it_said_and_tested_again_later(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", openings(), company="Acme")
    desk.world.behave(board.list_url, trouble(), forever=True)
    task = await desk.discover(board.url, company_name="Acme")
    assert (task.state, task.attempts) == ("failed", 4)
    status, last_status, note = await desk.one("jobs_sources", "status, last_status, note")
    assert (status, last_status, "status 500" in note) == ("pending_validation", "error", True)
    desk.world.behave(board.list_url)
    await desk.discover(board.url, company_name="Acme")
    assert await desk.one("jobs_sources", "status") == ("active",)
    assert len(await desk.listings()) == 4


async def test_an_address_that_lets_nobody_in_fails_with_what_it_said(desk: Desk) -> None:
    desk.world.behave(CAREERS, trouble(403), forever=True)
    task = await desk.discover(CAREERS)
    assert (task.state, task.attempts, "status 403" in str(task.reason)) == ("failed", 1, True)
    assert await desk.rows("jobs_sources", "source_id") == []


async def test_a_file_that_is_no_page_is_told_by_its_kind(desk: Desk) -> None:
    desk.world.answer(CAREERS, Reply(b"%PDF-1.7", media_type="application/pdf"))
    task = await desk.discover(CAREERS)
    assert (task.state, "is not a page but application/pdf" in str(task.reason)) == ("failed", True)
