"""Rows that are the steps of one piece of work are one task here, and its state follows all of them."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import Context, Limits
from ramet.model.importing import Rules
from tests.importing.conftest import Move, row

URL = "https://x.example/company"
STEPS = ("fetch", "extract", "analyze", "save")


def steps(*statuses: str, column: str = "company_sub_task") -> list[dict[str, Any]]:
    """A company's rows, each the child of the one before."""
    return [
        row(
            step, STEPS[n - 1] if n else None, type="company", url=URL, tracking_id="T", status=status, **{column: step}
        )
        for n, (step, status) in enumerate(zip(STEPS, statuses, strict=False))
    ]


@pytest.mark.parametrize(
    ("statuses", "state", "holder"),
    [
        (("success", "pending"), "pending", "extract"),
        (("success", "processing"), "pending", "extract"),
        (("success", "success", "failed"), "failed", "analyze"),
        (("success", "skipped"), "skipped", "extract"),
        (("success", "success", "success", "success"), "success", "fetch"),
        (("pending", "pending"), "pending", "fetch"),
        (("failed", "success"), "failed", "fetch"),
    ],
)
async def test_work_is_done_when_all_of_its_steps_are(
    move: Move, statuses: tuple[str, ...], state: str, holder: str
) -> None:
    rows = steps(*statuses)
    report = await move.fill(*rows)
    assert (report.created, report.history) == (len(rows), {"import_duplicate": len(rows) - 1})
    [task] = [task for task in await move.tasks(*STEPS[: len(rows)]) if task.key == URL]
    assert (task.state, task.id) == (state, holder)
    assert (await move.fill(*rows)).there == len(rows)
    await move.importer(*rows).enforce(move.store, "tester")


async def test_of_several_rows_of_one_step_the_most_advanced_counts(move: Move) -> None:
    fetched, pending = steps("success", "pending")
    failed = {**fetched, "id": "failed", "status": "failed"}
    await move.fill(failed, fetched, {**pending, "status": "success"})
    assert [(task.id, task.state) for task in await move.tasks("fetch") if task.key == URL] == [("fetch", "success")]


async def test_any_column_can_tell_the_steps_apart_and_stays_in_the_payload(move: Move) -> None:
    await move.fill(*steps("success", "pending", column="part"), rules=Rules(columns={"part": "sub_task"}))
    task = await move.task("extract")
    assert (task.state, task.key, task.payload) == ("pending", URL, {"url": URL, "part": "extract"})


async def test_rows_without_steps_are_what_they_were(move: Move) -> None:
    done, again = steps("success", "pending", column="note")
    await move.fill(done, again)
    assert [task.state for task in await move.tasks("fetch", "extract")] == ["success", "skipped"]


async def test_their_lineage_has_the_limits_of_their_kind(move: Move) -> None:
    @move.app.task("company", limits=Limits(max_cost=7))
    async def company(ctx: Context, payload: dict[str, Any]) -> None:
        """Nothing here runs."""

    await move.fill(*steps("success", "pending"))
    lineage = await move.store.lineage("T")
    assert lineage is not None
    assert lineage.max_cost == 7
