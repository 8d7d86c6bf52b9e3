"""Rows that two tasks want at once, tasks that come again in the middle, and statements that a table refuses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE_SOURCE, SOURCE_DISCOVERY
from ramet.jobs.posting import Posting
from ramet.testing import drain
from tests.jobs.hostile.test_texts import greenhouse, job
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import busy, trouble
from tests.jobs.world.openings import TEXT, Opening
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

both = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)
DAY = 86_400.0
PEOPLE = "https://job-boards.greenhouse.io/acme"


def posting(number: str, url: str, **more: Any) -> dict[str, Any]:
    """What a list's row becomes."""
    made = Posting(url=url, title="Python Engineer", external_id=number, company="Acme", description=TEXT, **more)
    return made.model_dump(mode="json")


async def side_by_side(desk: Desk, workers: int = 4) -> None:
    """Work everything off by several at once."""
    await asyncio.gather(*(drain(pipeline.app, desk.client, seed=seed, advance=False) for seed in range(workers)))
    await drain(pipeline.app, desk.client)


@both
async def test_two_runs_over_one_board_at_once_make_each_listing_once(desk: Desk) -> None:
    await desk.set(**EAGER)
    await desk.discover(greenhouse(desk, []), approved=True)
    greenhouse(desk, [job(number) for number in range(1, 31)])
    payload = {"source_id": "greenhouse:acme"}
    made = await desk.client.submit_many([(SCRAPE_SOURCE, payload), (SCRAPE_SOURCE, payload)], limits=LIMITS)
    await side_by_side(desk)
    runs = [await desk.client.get(one.id) for one in made]
    assert [run.state for run in runs if run is not None] == ["success", "success"]
    assert await desk.rows("jobs_listings", "status, COUNT(*)", "1 = 1 GROUP BY status") == [("matched", 30)]
    assert len(await desk.rows("jobs_matches", "listing_id")) == 30
    tasks = [task async for task in desk.client.all_tasks(kind=LISTING)]
    assert len({task.key for task in tasks}) == 30


@both
async def test_of_two_addresses_with_one_number_at_once_one_is_the_listing(desk: Desk) -> None:
    await desk.set(**EAGER)
    await desk.discover(greenhouse(desk, []), approved=True)
    urls = [f"{PEOPLE}/jobs/{at}" for at in range(8)]
    wanted = [(LISTING, {"url": url, "source_id": "greenhouse:acme", "posting": posting("7", url)}) for url in urls]
    await desk.client.submit_many(wanted, limits=LIMITS)
    await side_by_side(desk)
    rows = await desk.rows("jobs_listings", "status, external_id, same_as")
    assert len(rows) == len(urls)
    assert [row[0] for row in rows].count("matched") == 1
    assert [row[0] for row in rows].count("skipped") == len(urls) - 1
    assert all(same is not None for status, _, same in rows if status == "skipped")


@both
async def test_a_listing_that_is_found_under_two_boards_keeps_the_number_of_one(desk: Desk) -> None:
    """Two boards give one address different numbers, then a number moves to another address."""
    await desk.set(**EAGER)
    for source_id, number, url in (
        ("greenhouse:acme", "1", f"{PEOPLE}/jobs/1"),
        ("lever:acme", "x", f"{PEOPLE}/jobs/1"),
        ("lever:acme", "x", f"{PEOPLE}/jobs/2"),
        ("greenhouse:acme", "1", f"{PEOPLE}/jobs/3"),
    ):
        payload = {"url": url, "source_id": source_id, "posting": posting(number, url)}
        task = await desk.run(LISTING, payload)
        assert task.state in ("success", "skipped"), task.reason
    assert len(await desk.rows("jobs_listings", "listing_id", "status = 'matched'")) >= 1


@both
async def test_a_listing_that_failed_is_read_again_when_its_time_has_come(desk: Desk) -> None:
    await desk.set(**EAGER)
    url = "https://careers.acme.example/jobs/1"
    desk.world.behave(url, trouble(), forever=True)
    assert (await desk.run(LISTING, {"url": url})).state == "failed"
    desk.clock.advance(DAY + 1)
    desk.world.behave(url)
    from tests.jobs.world.pages import posting_page

    desk.world.page(url, posting_page(Opening("1", "Python Engineer"), url, "Acme"))
    task = await desk.run(LISTING, {"url": url})
    assert task.state == "success"
    assert await desk.one("jobs_listings", "status, reason, task_id") == ("matched", None, task.id)


@both
async def test_a_listing_that_failed_under_its_board_is_offered_again_by_the_next_run(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("smartrecruiters", "acme", [Opening("1", "Python Engineer")], company="Acme")
    detail = f"{board.list_url}/1"
    desk.world.behave(detail, trouble(), forever=True)
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert await desk.listings() == {"Python Engineer": "unknown"}
    desk.world.behave(detail)
    desk.clock.advance(DAY + 1)
    run = await desk.scrape("smartrecruiters:acme")
    assert run.state == "success"
    assert await desk.listings() == {"Python Engineer": "matched"}


@both
async def test_two_discoveries_of_one_board_at_once_make_one_source(desk: Desk) -> None:
    await desk.set(**EAGER)
    url = greenhouse(desk, [job(1), job(2)])
    await desk.client.submit_many([(SOURCE_DISCOVERY, {"url": url})] * 1 + [(SOURCE_DISCOVERY, {"url": f"{url}?x=1"})])
    await side_by_side(desk)
    assert await desk.one("jobs_sources", "source_id, status") == ("greenhouse:acme", "active")
    assert len(await desk.rows("jobs_listings", "listing_id")) == 2


async def test_a_source_that_a_person_disabled_stays_so_when_it_is_found_again(desk: Desk) -> None:
    await desk.set(**EAGER)
    url = greenhouse(desk, [job(1)])
    await desk.discover(url)
    desk.world.answer("https://boards-api.greenhouse.io/v1/boards/acme/jobs", _gone())
    assert (await desk.scrape("greenhouse:acme")).state == "failed"
    assert (await desk.one("jobs_sources", "status"))[0] == "disabled"
    greenhouse(desk, [job(1)])
    task = await desk.discover(url)
    assert (task.state, str(task.reason).partition(":")[0]) == ("skipped", "known")
    assert (await desk.one("jobs_sources", "status"))[0] == "disabled"


def _gone() -> Any:
    from tests.jobs.world.messages import NOT_FOUND

    return NOT_FOUND


@both
async def test_a_lineage_that_ends_in_the_middle_leaves_rows_that_the_next_one_finishes(desk: Desk) -> None:
    await desk.set(**EAGER, run__busy_seconds=7_200)
    board = desk.world.board(
        "smartrecruiters", "acme", [Opening(f"{at}", f"Python Engineer {at}") for at in range(30)], company="Acme"
    )
    for at in range(30):
        desk.world.behave(f"{board.list_url}/{at}", busy(3_600), forever=True)
    task = await desk.run(
        SOURCE_DISCOVERY, {"url": board.url, "approved": True, "company_name": "Acme"},
        limits=replace(LIMITS, lineage_seconds=600.0),
    )  # fmt: skip
    lineage = await desk.client.lineage(task.tracking_id)
    assert lineage is not None
    assert lineage.ended_at is not None
    left = await desk.rows("jobs_listings", "status")
    assert left == [("analyzing",)] * 30
    for at in range(30):
        desk.world.behave(f"{board.list_url}/{at}")
    desk.clock.advance(DAY + 1)
    run = await desk.scrape("smartrecruiters:acme")
    assert run.state == "success"
    assert set((await desk.listings()).values()) == {"matched"}
    assert len(await desk.listings()) == 30


@both
async def test_numbers_that_no_column_takes_are_left_out(desk: Desk) -> None:
    await desk.set(**EAGER)
    url = "https://careers.acme.example/jobs/1"
    for at, (salary, posted) in enumerate(
        [("$99999999999999999999999 a year", 1e300), ("$1e400", -1e18), ("$100,000 - $" + "9" * 400, 0.0)]
    ):
        address = f"{url}{at}"
        payload = {"url": address, "posting": posting(str(at), address, salary=salary, posted_at=posted)}
        task = await desk.run(LISTING, payload)
        assert task.state in ("success", "skipped", "filtered"), task.reason
    assert len(await desk.rows("jobs_listings", "listing_id", "status <> 'analyzing'")) == 3


@both
async def test_a_company_without_pages_and_one_with_an_odd_name_are_rows(desk: Desk) -> None:
    for name in (
        "\u6771\u4eac\u682a\u5f0f\u4f1a\u793e",
        "O'Neil; DROP TABLE jobs_companies",
        "a" * 5_000,
        "\U0001f680",
    ):
        task = await desk.run(COMPANY, {"name": name})
        assert task.state in ("skipped", "failed"), (name[:20], task.state)
        assert task.reason
