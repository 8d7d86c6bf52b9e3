"""Kinds with ``unique="global"``: an imported task holds its key as if it had lived and ended here."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import Context
from ramet.model.importing import Rules
from ramet.model.lineage.guard import FAILED_HELD_SECONDS
from ramet.store.requests import NewLineage
from tests.importing.conftest import Move, row

URL = "https://x.example/same"
DAY = 86_400.0
WEEK = 7 * DAY


@pytest.fixture
def unique(move: Move) -> Move:
    """The kind ``job`` is done once a week for each key, over all lineages."""

    @move.app.task("job", key=lambda payload: payload["url"], unique="global", unique_seconds=WEEK)
    async def job(ctx: Context, payload: dict[str, Any]) -> None:
        """Nothing here runs."""

    return move


async def held(move: Move) -> dict[str, tuple[str, str | None, float | None]]:
    """Who holds each key: its holder, how that ended, and how long from now it is held."""
    now = await move.store.now()
    rows = await move.store.read("SELECT key, holder, state, held_until FROM ramet_uniques")
    return {key: (holder, state, until and round((until - now) / DAY, 2)) for key, holder, state, until in rows}


async def wanted(move: Move, url: str = URL) -> str:
    """The task that a submit of this key is answered with, in a lineage of its own."""
    new = move.app.registry.get("job").new_task({"url": url})
    [answer] = await move.store.submit([NewLineage(f"wanted {new.id}", [new])])
    return "created" if answer.created else answer.id


@pytest.mark.parametrize(
    ("status", "days"),
    [("success", 7), ("filtered", 7), ("skipped", 7), ("failed", FAILED_HELD_SECONDS / DAY), ("cancelled", None)],
)
async def test_an_ended_row_holds_its_key_for_the_time_that_its_end_gives(
    unique: Move, status: str, days: float | None
) -> None:
    await unique.fill(row("old", url=URL, status=status))
    assert await held(unique) == ({} if days is None else {URL: ("old", status, days)})
    assert await wanted(unique) == ("created" if days is None else "old")


async def test_the_time_is_counted_from_the_end_that_the_row_gives(unique: Move) -> None:
    now = await unique.store.now()
    await unique.fill(
        row("fresh", status="success", completed_at=now - 2 * DAY), row("stale", status="success", finished_at=0),
        row("failed", status="failed", endedAt={"_seconds": int(now - 0.5 * DAY)}),
        row("later", status="success", completed_at=now + 99 * DAY),
    )  # fmt: skip
    found = {holder: days for holder, _, days in (await held(unique)).values()}
    assert found == {"fresh": 5, "failed": 0.5, "later": 7}
    task = await unique.task("fresh")
    assert task.finished_at == pytest.approx(now - 2 * DAY)


async def test_a_live_row_holds_its_key_and_wins_over_ended_rows_wherever_they_are(unique: Move) -> None:
    rows = [row("before", url=URL, status="success", tracking_id="A"), row("live", url=URL, tracking_id="B"),
            row("after", url=URL, status="failed", tracking_id="C")]  # fmt: skip
    await unique.fill(*rows)
    assert await held(unique) == {URL: ("live", None, None)}
    assert [task.state for task in await unique.tasks("before", "live", "after")] == ["success", "pending", "failed"]
    assert await wanted(unique) == "live"


async def test_of_two_live_rows_one_runs_and_the_other_is_kept_as_history(unique: Move) -> None:
    rows = [row("first", url=URL, tracking_id="A"), row("further", url=URL, tracking_id="B", status="processing"),
            row("below", "first", tracking_id="A")]  # fmt: skip
    checked = await unique.importer(*rows).check(unique.store)
    report = await unique.fill(*rows)
    assert checked.history == report.history == {"import_duplicate": 1}
    first, further, below = await unique.tasks("first", "further", "below")
    assert (first.state, first.reason) == ("skipped", "import_duplicate: of task further")
    assert (further.state, below.state, below.parent_id) == ("pending", "pending", "first")


@pytest.mark.parametrize("statuses", [("failed", "success"), ("success", "failed")])
async def test_of_ended_rows_the_one_that_holds_longest_has_the_key(unique: Move, statuses: tuple[str, str]) -> None:
    await unique.fill(*(row(status, url=URL, status=status, tracking_id=status) for status in statuses))
    assert await held(unique) == {URL: ("success", "success", 7)}


async def test_what_holds_the_key_here_already_is_not_changed(unique: Move) -> None:
    holder = unique.app.registry.get("job").new_task({"url": URL})
    await unique.store.submit([NewLineage("own", [holder])])
    report = await unique.fill(row("live", url=URL), row("done", url=URL, status="success"))
    assert report.history == {"import_duplicate": 1}
    assert (await unique.task("live")).reason == f"import_duplicate: of task {holder.id}"
    assert (await unique.task("done")).state == "success"
    assert await held(unique) == {URL: (holder.id, None, None)}


async def test_a_revived_row_takes_its_key_again(unique: Move) -> None:
    await unique.fill(row("old", url=URL, status="failed", tracking_id="A"))
    assert await unique.store.revive(["old"], by="ann") == ["old"]
    assert await held(unique) == {URL: ("old", None, None)}


async def test_an_app_says_for_how_long_at_most_an_ended_row_holds_its_key(unique: Move) -> None:
    rows = [row("done", status="success"), row("failed", status="failed")]
    await unique.fill(*rows, rules=Rules(held_seconds={"job": 3 * DAY}))
    assert {holder: days for holder, _, days in (await held(unique)).values()} == {"done": 3, "failed": 1}
    await unique.fill(row("gone", url=URL, status="success"), rules=Rules(held_seconds={"job": 0.0}))
    assert await wanted(unique) == "created"


async def test_a_row_of_an_ended_lineage_takes_no_key(unique: Move) -> None:
    await unique.fill(row("a", tracking_id="T"))
    await unique.store.cancel_lineage("T", by="ann")
    await unique.store.sweep()
    await unique.fill(row("late", "a", url=URL, tracking_id="T"))
    assert (await unique.task("late")).state == "cancelled"
    assert URL not in await held(unique)


async def test_a_task_per_stage_holds_the_key_of_its_kind_and_takes_a_place_for_each_stage(move: Move) -> None:
    page = move.app.pipeline("page", task_per_stage=True, unique="global")

    @page.stage()
    async def fetch(ctx: Context, payload: dict[str, Any]) -> int:
        return 1

    @page.stage()
    async def read(ctx: Context, payload: dict[str, Any]) -> int:
        return 2

    rows = [row("live", type="page", tracking_id="L"), row("done", type="page", tracking_id="D", status="failed")]
    await move.fill(*rows, strict=True)
    assert await move.store.read("SELECT kind, holder, state FROM ramet_uniques ORDER BY 2") == [
        ("page", "done", "failed"), ("page", "live", None),
    ]  # fmt: skip
    assert await move.store.read("SELECT tasks FROM ramet_lineages ORDER BY 1") == [(1,), (2,)]
    assert await move.store.revive(["done"], by="ann") == ["done"]
    assert await move.store.read("SELECT kind FROM ramet_uniques WHERE state IS NULL") == [("page",)] * 2
    await move.importer(*rows, strict=True).enforce(move.store, "tester")


async def test_each_row_goes_through_the_resource_of_its_own_payload(move: Move) -> None:
    @move.app.task("job", resource=lambda payload: f"host:{payload['host']}")
    async def job(ctx: Context, payload: dict[str, Any]) -> None:
        """Nothing here runs."""

    await move.fill(row("a", host="one"), row("b", host="two"))
    found = await move.store.read("SELECT t.id, l.resource FROM ramet_tasks t JOIN ramet_live l ON l.seq = t.seq")
    assert sorted(found) == [("a", "host:one"), ("b", "host:two")]
