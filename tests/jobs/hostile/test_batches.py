"""Batches of which little comes: sources that fail, are disabled or left out, and lineages that end in the middle."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from ramet import Task
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS
from ramet.jobs.kinds import SCRAPE, SCRAPE_SOURCE, SOURCE_RESOURCE
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import trouble
from tests.jobs.world.openings import Opening

pytestmark = pytest.mark.network

DAY = 86_400.0


async def sources(desk: Desk, *names: str, openings: int = 2) -> None:
    """Enabled Greenhouse boards, each with openings that no run has seen yet."""
    await desk.set(**EAGER, run__sources_at_once=1)
    for name in names:
        board = desk.world.board("greenhouse", name, [], company=name.capitalize())
        await desk.discover(board.url, approved=True, company_name=name.capitalize())
        desk.clock.advance(60.0)
        rows = [Opening(f"{number}", f"Python Engineer {name} {number}") for number in range(1, openings + 1)]
        desk.world.board("greenhouse", name, rows, company=name.capitalize())


async def change(desk: Desk, sql: str, *parameters: Any) -> None:
    """What a person did to the rows meanwhile."""
    [(path,)] = await desk.client.read("SELECT file FROM pragma_database_list WHERE name = 'main'")
    with sqlite3.connect(path) as connection:
        connection.execute(sql, parameters)
    connection.close()


async def batch(desk: Desk, **payload: Any) -> tuple[Task, list[str]]:
    """A batch with all that comes of it, and the sources that it took on, in order."""
    task = await desk.run(SCRAPE, payload)
    runs = [run async for run in desk.client.all_tasks(tracking_id=task.tracking_id, kind=SCRAPE_SOURCE)]
    runs.sort(key=lambda run: run.created_at)
    return task, [run.key.removeprefix("greenhouse:") for run in runs]


async def test_enough_matches_stop_it_before_the_next_source(desk: Desk) -> None:
    await sources(desk, "a", "b", "c", "d")
    task, taken = await batch(desk, target_matches=3)
    assert taken == ["a", "b"]
    assert task.result == {"sources": 2, "matches": 4, "ended": "4 matches are enough"}
    _, taken = await batch(desk, target_matches=3)
    assert taken == ["c", "d"], "the matches of an earlier batch are not this one's"


async def test_only_matches_of_the_asked_score_count(desk: Desk) -> None:
    await sources(desk, "a", "b", "c")
    task, taken = await batch(desk, target_matches=1, min_match_score=100.1)
    assert taken == ["a", "b", "c"]
    assert (task.result["matches"], task.result["ended"]) == (0, "every source was scraped")


async def test_named_sources_are_taken_and_no_others(desk: Desk) -> None:
    await sources(desk, "a", "b", "c")
    _, taken = await batch(desk, target_matches=None, source_ids=["greenhouse:c", "greenhouse:nobody", "greenhouse:c"])
    assert taken == ["c"]


async def test_disabled_sources_are_left_out_whoever_disabled_them(desk: Desk) -> None:
    await sources(desk, "a", "b", "c", "d")
    await change(desk, "UPDATE jobs_sources SET status = 'disabled' WHERE source_id = 'greenhouse:a'")
    await change(desk, "UPDATE jobs_sources SET status = 'pending_validation' WHERE source_id = 'greenhouse:c'")
    await desk.client.open_breaker(f"{SOURCE_RESOURCE}greenhouse:b", by="a person")
    _, taken = await batch(desk, target_matches=None)
    assert taken == ["d"]


async def test_without_any_source_it_says_how_to_get_one(desk: Desk) -> None:
    task, taken = await batch(desk)
    assert (task.state, taken) == ("skipped", [])
    assert "ramet jobs" in str(task.reason)


async def test_when_every_source_fails_it_ends_and_says_so(desk: Desk) -> None:
    await sources(desk, "a", "b")
    for name in "ab":
        desk.world.behave(f"https://boards-api.greenhouse.io/v1/boards/{name}/jobs", trouble(), forever=True)
    task, taken = await batch(desk)
    assert (task.state, taken) == ("success", ["a", "b"])
    assert task.result == {"sources": 2, "matches": 0, "ended": "every source was scraped", "failed": 2}
    assert [row[0] for row in await desk.rows("jobs_sources", "last_status")] == ["error", "error"]


async def test_a_source_that_a_limit_leaves_out_is_told(desk: Desk) -> None:
    await sources(desk, "a", "b", "c", openings=0)
    task = await desk.run(SCRAPE, {"target_matches": None}, limits=replace(LIMITS, max_fan_out=2))
    assert (task.state, task.result["sources"]) == ("success", 2)
    assert "limit" in task.result["ended"]


async def test_a_source_that_is_disabled_after_it_was_chosen_is_skipped(desk: Desk) -> None:
    await sources(desk, "a", "b")
    root = await desk.client.submit(SCRAPE, {"target_matches": None}, limits=LIMITS)
    await drain(pipeline.app, desk.client, kinds=[SCRAPE], advance=False)
    await change(desk, "UPDATE jobs_sources SET status = 'disabled' WHERE source_id = 'greenhouse:b'")
    await drain(pipeline.app, desk.client)
    states = {run.key: run.state.value async for run in desk.client.all_tasks(tracking_id=root.tracking_id)}
    assert states["greenhouse:b"] == "skipped"
    assert states["greenhouse:a"] == "success"
    assert not desk.world.asked("https://boards-api.greenhouse.io/v1/boards/b/jobs")[2:]


async def test_a_batch_whose_lineage_is_cancelled_takes_on_nothing_more(desk: Desk) -> None:
    await sources(desk, "a", "b", "c")
    root = await desk.client.submit(SCRAPE, {"target_matches": None}, limits=LIMITS)
    await drain(pipeline.app, desk.client, kinds=[SCRAPE], advance=False)
    await desk.client.cancel_lineage(root.tracking_id, by="a person", reason="enough")
    asked = len(desk.world.requests)
    await drain(pipeline.app, desk.client)
    states = {run.key: run.state.value async for run in desk.client.all_tasks(tracking_id=root.tracking_id)}
    assert set(states.values()) == {"cancelled"}
    assert len(desk.world.requests) == asked
    _, taken = await batch(desk, target_matches=None)
    assert taken == ["a", "b", "c"], "nothing of them was marked as done"


async def test_a_batch_ends_with_its_lineages_time(desk: Desk) -> None:
    await sources(desk, "a", "b")
    for name in "ab":
        url = f"https://boards-api.greenhouse.io/v1/boards/{name}/jobs"
        desk.world.behave(url, trouble(), forever=True)
    root = await desk.run(SCRAPE, {"target_matches": None}, limits=replace(LIMITS, lineage_seconds=3.0))
    lineage = await desk.client.lineage(root.tracking_id)
    assert lineage is not None
    assert lineage.ended_at is not None
    assert root.state in ("failed", "cancelled")
    assert "deadline" in str(root.reason)
