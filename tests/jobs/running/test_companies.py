"""A company's own pages: what is kept of them, what becomes of its board, and when it is looked at again."""

from __future__ import annotations

import json

import pytest

from ramet.jobs.kinds import COMPANY
from tests.jobs.running.conftest import Desk
from tests.jobs.world.faults import busy, trouble
from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import Opening

pytestmark = pytest.mark.network

SITE = "https://acme.example/"
DAY = 86_400.0


def requests(desk: Desk) -> int:
    return sum(asked.path != "/robots.txt" for asked in desk.world.asked(SITE))


async def test_one_pass_fills_the_record_and_follows_a_sure_board_to_its_listings(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", [Opening("1", "Senior Python Engineer")], company="Acme")
    desk.world.company("Acme", SITE, careers=f'<a href="{board.url}">Open positions</a>')
    task = await desk.company()
    assert (task.state, task.result["completeness"]) == ("success", "good")
    row = await desk.one("jobs_companies", "name, status, analysis_status, completeness, tier, tech_stack, task_id")
    assert row[:4] == ("Acme", "active", "complete", "good")
    assert row[4] in set("SABCD")
    assert {"python", "postgresql", "kubernetes"} <= set(json.loads(row[5]))
    assert row[6] == task.id
    source = await desk.one("jobs_sources", "source_id, status, confidence, last_status, company_id")
    assert source == ("greenhouse:acme", "active", "high", "success", "acme.example")
    [(title, company, company_id)] = await desk.rows("jobs_listings", "title, company, company_id")
    assert (title, company, company_id) == ("Senior Python Engineer", "Acme", "acme.example")


async def test_the_record_is_there_before_anything_is_fetched(desk: Desk) -> None:
    desk.world.behave(SITE, trouble(), forever=True)
    task = await desk.company()
    assert task.state == "failed"
    assert task.attempts == 4
    status, about, tier, note = await desk.one("jobs_companies", "status, about, tier, note")
    assert (status, about, tier) == ("failed", None, None)
    assert "status 500" in note


async def test_of_a_good_company_every_further_task_is_refused_for_30_days(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    first = await desk.company()
    asked = requests(desk)
    for _ in range(2):
        again = await desk.client.submit(COMPANY, {"website": SITE})
        assert (again.created, again.id) == (False, first.id)
        desk.clock.advance(14 * DAY)
    assert requests(desk) == asked
    desk.clock.advance(3 * DAY)
    assert (await desk.company()).state == "success"
    assert requests(desk) > asked


async def test_a_company_of_which_little_was_found_is_skipped_and_may_be_tried_again_at_once(desk: Desk) -> None:
    desk.world.page(SITE, "<title>Acme</title>")
    task = await desk.company()
    assert (task.state, str(task.reason).partition(":")[0]) == ("skipped", "insufficient data")
    desk.world.company("Acme", SITE)
    assert (await desk.company()).state == "success"


async def test_the_number_of_days_is_a_setting_that_holds_at_once(desk: Desk) -> None:
    await desk.set(company__fresh_days=2)
    desk.world.company("Acme", SITE)
    await desk.company()
    desk.clock.advance(2 * DAY + 1)
    assert (await desk.company()).state == "success"


async def test_a_board_that_needs_a_look_waits_for_a_person(desk: Desk) -> None:
    board = desk.world.board("lever", "acme", [Opening("1", "Engineer")], company="Acme")
    desk.world.company("Acme", SITE, careers=f'<a href="{board.url}">Open positions</a>')
    await desk.company()
    assert await desk.one("jobs_companies", "job_board_url, board_confidence") == (board.url, "medium")
    assert await desk.one("jobs_sources", "source_id, status") == ("lever:acme", "pending_validation")
    assert not desk.world.asked(board.list_url)
    await desk.discover(board.url, approved=True, company_id="acme.example", company_name="Acme")
    assert await desk.one("jobs_sources", "source_id, status, company_id") == ("lever:acme", "active", "acme.example")
    assert len(await desk.listings()) == 1


async def test_without_a_profile_a_company_has_no_tier_and_the_record_says_why(desk: Desk) -> None:
    for name in await desk.client.settings.all():
        if name.name.startswith("jobs.profile.") and name.stored:
            await desk.client.settings.unset(name.name)
    await desk.set()
    desk.world.company("Acme", SITE)
    task = await desk.company()
    assert task.result["tier"] is None
    tier, note = await desk.one("jobs_companies", "tier, note")
    assert tier is None
    assert "jobs init" in note


async def test_a_later_look_replaces_no_good_text_by_nothing(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    await desk.company()
    [(culture,)] = await desk.rows("jobs_companies", "culture")
    desk.clock.advance(31 * DAY)
    desk.world.company("Acme", SITE, culture="")
    await desk.company()
    assert await desk.one("jobs_companies", "culture, completeness") == (culture, "good")


async def test_a_company_whose_pages_are_all_gone_fails_at_once(desk: Desk) -> None:
    task = await desk.company("https://nobody.example/", "Nobody")
    assert (task.state, task.attempts) == ("failed", 1)
    assert await desk.one("jobs_companies", "status") == ("failed",)


async def test_a_company_of_which_nobody_told_the_name_is_called_by_its_address(desk: Desk) -> None:
    desk.world.company("", SITE)
    task = await desk.run(COMPANY, {"website": SITE})
    assert task.state == "success"
    assert await desk.one("jobs_companies", "name, website") == ("Acme", SITE)


@pytest.mark.parametrize("answer", [trouble(), busy(3_600)])
async def test_what_the_last_page_answers_takes_nothing_from_the_pages_before(desk: Desk, answer: Reply) -> None:
    desk.world.company("Acme", SITE)
    desk.world.behave(f"{SITE}careers", answer, forever=True)
    task = await desk.company()
    assert (task.state, task.attempts, task.result["completeness"]) == ("success", 1, "good")


async def test_a_name_that_is_known_with_a_website_makes_no_second_record(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    await desk.company()
    task = await desk.run(COMPANY, {"name": "Acme, Inc."})
    assert (task.state, task.reason) == ("skipped", "known: it is the company acme.example")
    assert len(await desk.rows("jobs_companies", "company_id")) == 1
