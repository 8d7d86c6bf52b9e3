"""Scraping: pages, limits, health, and what an empty list means."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.kinds import LISTING, SCRAPE, SOURCE_RESOURCE
from ramet.jobs.queries import switched_off
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.boards import Board
from tests.jobs.world.faults import busy, trouble, wrong_json
from tests.jobs.world.messages import html, json_reply
from tests.jobs.world.openings import Opening
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

DAY = 86_400.0


def openings(count: int, start: int = 1) -> list[Opening]:
    return [
        Opening(str(at), f"Python Engineer {at}", location=f"Portland, OR {at}") for at in range(start, start + count)
    ]


async def source(desk: Desk, kind: str = "greenhouse", count: int = 3, **more: Any) -> tuple[str, Board]:
    """A board with an enabled source whose first run is over."""
    await desk.set(**EAGER)
    board = desk.world.board(kind, "acme", openings(count), company="Acme", **more)
    await desk.discover(board.url, approved=True, company_name="Acme")
    return f"{kind}:acme", board


KINDS = ("greenhouse", "ashby", "workable", "recruitee", "personio", "teamtailor", "breezy", "lever", "smartrecruiters")


@pytest.mark.parametrize(
    ("backend", "kind"),
    [
        pytest.param(on, kind, marks=[pytest.mark.nightly] if on == "postgres" and kind != KINDS[0] else [])
        for on in sorted(BACKENDS)
        for kind in KINDS
    ],
    indirect=["backend"],
)
async def test_all_of_a_board_becomes_listings_once(desk: Desk, kind: str) -> None:
    count = 120 if kind in ("lever", "smartrecruiters") else 3
    source_id, _ = await source(desk, kind, count)
    assert len(await desk.listings()) == count
    run = await desk.scrape(source_id)
    assert run.state == "success"
    assert run.result["spawned"] == 0
    assert len(await desk.listings()) == count


async def test_what_a_limit_leaves_out_comes_with_the_next_run(desk: Desk) -> None:
    source_id, _ = await source(desk, "lever", 0)
    desk.world.board("lever", "acme", openings(250), company="Acme")
    first = await desk.scrape(source_id, max_fan_out=100)
    assert (first.result["spawned"], first.result["ended"]) == (100, "full")
    assert first.result["left_out"] > 0
    assert len(await desk.listings()) == 100
    assert "left out" in (await desk.one("jobs_sources", "note"))[0]
    second = await desk.scrape(source_id)
    assert (second.result["spawned"], second.result["left_out"]) == (150, 0)
    assert len(await desk.listings()) == 250


async def test_five_failed_runs_disable_a_source_until_a_person_enables_it(desk: Desk) -> None:
    source_id, board = await source(desk)
    desk.world.behave(board.list_url, trouble(), forever=True)
    for number in range(5):
        assert source_id not in await switched_off(desk.client), number
        run = await desk.scrape(source_id)
        assert (run.state, run.attempts) == ("failed", 4)
    assert "5 failures in a row" in (await switched_off(desk.client))[source_id]
    skipped = await desk.scrape(source_id)
    assert (skipped.state, str(skipped.reason).partition(":")[0]) == ("skipped", "source_disabled")
    assert await desk.client.close_breaker(SOURCE_RESOURCE + source_id, by="a person")
    desk.world.behave(board.list_url)
    assert (await desk.scrape(source_id)).state == "success"


async def test_a_server_that_asks_to_come_back_later_has_not_failed(desk: Desk) -> None:
    source_id, board = await source(desk)
    desk.world.behave(board.list_url, *[busy(30)] * 5)
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("success", 1)
    assert sum(resource.failures for resource in await desk.client.resources(SOURCE_RESOURCE + source_id)) == 0


async def test_a_board_that_is_busy_for_ever_ends_its_run_and_is_asked_by_the_next(desk: Desk) -> None:
    source_id, board = await source(desk)
    before, asked = desk.clock.now(), len(desk.world.asked(board.list_url))
    desk.world.behave(board.list_url, busy(3), forever=True)
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("skipped", 1)
    assert "boards-api.greenhouse.io asks to come back in 3 s; the next run asks again" in str(run.reason)
    assert desk.clock.now() - before <= 181
    assert await desk.one("jobs_sources", "status, last_status") == ("active", "busy")
    assert len(desk.world.asked(board.list_url)) - asked <= 61
    assert sum(resource.failures for resource in await desk.client.resources(SOURCE_RESOURCE + source_id)) == 0
    desk.world.behave(board.list_url)
    desk.clock.advance(DAY)
    assert (await desk.scrape(source_id)).state == "success"


async def test_a_board_that_asks_for_an_hour_is_left_to_the_next_run_at_once(desk: Desk) -> None:
    source_id, board = await source(desk)
    desk.world.behave(board.list_url, busy(3_600))
    before = desk.clock.now()
    run = await desk.scrape(source_id)
    assert (run.state, "in 3600 s" in str(run.reason)) == ("skipped", True)
    assert desk.clock.now() - before < 60


async def test_a_page_that_is_busy_for_ever_leaves_its_listing_unknown(desk: Desk) -> None:
    await desk.set(**EAGER, fetch__turn_seconds_max=0)  # A wait inside a task is one of real time.
    board = desk.world.board("smartrecruiters", "acme", openings(2), company="Acme")
    for one in openings(2):
        desk.world.behave(f"https://api.smartrecruiters.com/v1/companies/acme/postings/{one.id}", busy(5), forever=True)
    before = desk.clock.now()
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert set((await desk.listings()).values()) == {"unknown"}
    assert all("busy" in reason for (reason,) in await desk.rows("jobs_listings", "reason"))
    assert desk.clock.now() - before < 3_600


async def test_a_board_that_is_gone_is_disabled_at_once(desk: Desk) -> None:
    source_id, board = await source(desk)
    desk.world.remove(board.list_url)
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("failed", 1)
    assert "gone" in (await switched_off(desk.client))[source_id]
    assert await desk.one("jobs_sources", "status, last_status") == ("disabled", "gone")


@pytest.mark.parametrize("status", [202, 401, 403])
async def test_a_wall_before_a_list_is_a_failed_run_and_no_proof_that_the_board_is_gone(
    desk: Desk, status: int
) -> None:
    source_id, board = await source(desk, "jobvite")
    assert len(await desk.listings()) == 3
    desk.world.behave(board.list_url, html("<h1>Are you a person?</h1>", status), forever=True)
    desk.clock.advance(10 * DAY)
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("failed", 1)
    assert source_id not in await switched_off(desk.client)
    assert sum(resource.failures for resource in await desk.client.resources(SOURCE_RESOURCE + source_id)) == 1
    assert await desk.one("jobs_sources", "status, last_status, most_listings") == ("active", "error", 3)
    assert await desk.rows("jobs_listings", "closed_at") == [(None,)] * 3
    desk.world.behave(board.list_url)
    assert (await desk.scrape(source_id)).state == "success"


async def test_an_answer_of_another_shape_is_a_failed_run_and_never_an_empty_board(desk: Desk) -> None:
    source_id, board = await source(desk)
    desk.world.behave(board.list_url, wrong_json())
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("failed", 1)
    assert await desk.one("jobs_sources", "last_status, most_listings") == ("error", 3)


async def test_a_board_of_one_opening_that_closes_it_is_believed_at_its_third_empty_run(desk: Desk) -> None:
    source_id, _ = await source(desk, count=1)
    desk.world.board("greenhouse", "acme", [], company="Acme")
    for _ in range(2):
        desk.clock.advance(2 * DAY)
        assert (await desk.scrape(source_id)).state == "skipped"
        assert await desk.rows("jobs_listings", "closed_at") == [(None,)]
    for _ in range(2):  # And not suspect again afterwards.
        desk.clock.advance(2 * DAY)
        assert (await desk.scrape(source_id)).state == "success"
        assert await desk.one("jobs_sources", "last_count, suspect") == (0, 0)
    [(closed_at,)] = await desk.rows("jobs_listings", "closed_at")
    assert closed_at is not None


async def test_a_large_board_that_is_empty_stays_suspect(desk: Desk) -> None:
    source_id, _ = await source(desk, count=6)
    desk.world.board("greenhouse", "acme", [], company="Acme")
    for _ in range(5):
        desk.clock.advance(2 * DAY)
        assert (await desk.scrape(source_id)).state == "skipped"
    assert await desk.rows("jobs_listings", "closed_at") == [(None,)] * 6


async def test_an_empty_list_where_there_were_openings_is_suspect(desk: Desk) -> None:
    source_id, _ = await source(desk)
    desk.world.board("greenhouse", "acme", [], company="Acme")
    desk.clock.advance(10 * DAY)
    run = await desk.scrape(source_id)
    assert (run.state, str(run.reason).partition(":")[0]) == ("skipped", "suspect")
    assert await desk.one("jobs_sources", "last_status, suspect, most_listings") == ("suspect", 1, 3)
    assert await desk.rows("jobs_listings", "closed_at") == [(None,)] * 3
    desk.world.board("greenhouse", "acme", openings(2), company="Acme")
    assert (await desk.scrape(source_id)).state == "success"
    assert (await desk.one("jobs_sources", "suspect"))[0] == 0


async def test_what_a_board_shows_no_longer_is_closed_after_some_days(desk: Desk) -> None:
    source_id, _ = await source(desk)
    desk.world.board("greenhouse", "acme", openings(2), company="Acme")
    desk.clock.advance(2 * DAY)
    await desk.scrape(source_id)
    assert len(await desk.rows("jobs_listings", "title", "closed_at IS NOT NULL")) == 0
    desk.clock.advance(2 * DAY)
    await desk.scrape(source_id)
    assert await desk.rows("jobs_listings", "title", "closed_at IS NOT NULL") == [("Python Engineer 3",)]


async def test_a_board_that_says_that_nothing_changed_is_believed(desk: Desk) -> None:
    source_id, _ = await source(desk)
    await desk.scrape(source_id)
    desk.clock.advance(10 * DAY)
    run = await desk.scrape(source_id)
    assert run.result["ended"] == "unchanged"
    assert len(await desk.rows("jobs_listings", "title", "closed_at IS NOT NULL")) == 0


async def test_stop_list_and_title_refuse_before_a_task_is_made_and_are_asked_again_later(desk: Desk) -> None:
    await desk.set(stop__keywords=["engineer 2"], filter__excluded_seniority=["3"])
    source_id, _ = await source(desk)
    assert await desk.listings() == {
        "Python Engineer 1": "matched", "Python Engineer 2": "refused", "Python Engineer 3": "refused"
    }  # fmt: skip
    counts = await desk.client.counts()
    assert sum(row.tasks for row in counts if row.kind == "LISTING") == 1
    assert all(reason for (reason,) in await desk.rows("jobs_listings", "reason", "status = 'refused'"))
    await desk.set(stop__keywords=[])
    desk.world.board("greenhouse", "acme", openings(4), company="Acme")
    await desk.scrape(source_id)
    assert (await desk.listings())["Python Engineer 2"] == "matched"


async def test_a_board_of_another_company_is_not_enabled(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", openings(1), company="Quite Another Bakery")
    await desk.discover(board.url, company_name="Acme")
    status, note = await desk.one("jobs_sources", "status, note")
    assert status == "pending_validation"
    assert "Quite Another Bakery" in note


async def test_a_board_that_does_not_exist_leaves_a_failed_source_that_says_so(desk: Desk) -> None:
    task = await desk.discover("https://boards.greenhouse.io/nosuchboard")
    assert task.state == "failed"
    assert await desk.one("jobs_sources", "status, last_status") == ("failed", "gone")


async def test_an_opening_that_its_board_has_moved_is_the_same_listing(desk: Desk) -> None:
    source_id, board = await source(desk, count=1)
    [(listing_id, seen)] = await desk.rows("jobs_listings", "listing_id, last_seen_at")
    moved = "https://careers.acme.example/openings/python-engineer"
    row = {"id": 1, "title": "Python Engineer 1", "absolute_url": moved, "content": "", "location": {"name": ""}}
    desk.world.answer(board.list_url, json_reply({"jobs": [row], "meta": {"total": 1}}))
    desk.clock.advance(DAY)
    run = await desk.scrape(source_id)
    assert (run.result["known"], run.result["spawned"]) == (1, 0)
    [(kept, seen_again)] = await desk.rows("jobs_listings", "listing_id, last_seen_at")
    assert (kept, seen_again > seen) == (listing_id, True)
    posting = {"url": moved, "title": "Python Engineer 1", "external_id": "1"}
    task = await desk.run(LISTING, {"url": moved, "source_id": source_id, "posting": posting})
    assert (task.state, task.reason) == ("skipped", f"duplicate: its board shows it as {listing_id} too")
    assert await desk.one("jobs_listings", "same_as", "status = 'skipped'") == (listing_id,)


async def test_checkpoints_within_a_page_leave_out_what_a_limit_refuses(desk: Desk) -> None:
    source_id, _ = await source(desk, "lever", 0)
    await desk.set(source__spawn_batch=7)
    desk.world.board("lever", "acme", openings(60), company="Acme")
    first = await desk.scrape(source_id, max_fan_out=10)
    assert (first.result["spawned"], first.result["ended"]) == (10, "full")
    assert (await desk.scrape(source_id)).result["spawned"] == 50
    assert set((await desk.listings()).values()) == {"matched"}
    assert len(await desk.listings()) == 60


async def test_a_source_that_is_none_or_waits_for_a_person_is_not_scraped(desk: Desk) -> None:
    unknown = await desk.scrape("greenhouse:nobody")
    assert (unknown.state, "sources list" in str(unknown.reason)) == ("failed", True)
    board = desk.world.board("lever", "acme", openings(1), company="Acme")
    await desk.discover(board.url, company_name="Acme")
    waiting = await desk.scrape("lever:acme")
    assert (waiting.state, "pending_validation" in str(waiting.reason)) == ("skipped", True)


async def test_a_batch_without_any_enabled_source_says_what_to_do(desk: Desk) -> None:
    task = await desk.run(SCRAPE, {})
    assert (task.state, "company add" in str(task.reason)) == ("skipped", True)
