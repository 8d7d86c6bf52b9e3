"""A row in the middle of another queue's pipeline: an app says what it can go on from, all else starts at the first
stage, with what the row had to be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Context, Worker
from ramet.engine.tools.import_files import BadRows
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.jobs import pipeline as jobs
from ramet.llm import pipeline as llm
from ramet.model.importing import Rules
from ramet.store.sqlite.store import SqliteStore
from ramet.wiki import pipeline as wiki
from tests.importing.conftest import Move, row

THEIRS = {
    "job_data": {"title": "Baker"},
    "chosen": 1,
    "taken": "x",
    "request": {"page": 2},
    "rounds": "two",
    "submits": [],
}


async def stored(move: Move, own: str) -> tuple[str | None, Any]:
    """The stage and the state that the task's handler begins with."""
    kept = await move.store.checkpoint(own)
    return (await move.task(own)).stage, None if kept is None else kept.pipeline_state


async def test_nothing_that_an_app_does_not_know_is_taken_for_a_state_of_its_own(move: Move) -> None:
    await move.fill(row("a", stage="fetch", pipeline_state=THEIRS), row("b", stage="fetch", status="failed"),
                    row("c", pipeline_state=[1, "two"]), row("d", status="loaded"), row("e"))  # fmt: skip
    assert await stored(move, "a") == (None, {"imported": {"stage": "fetch", "pipeline_state": THEIRS}})
    assert await stored(move, "b") == (None, {"imported": {"stage": "fetch", "pipeline_state": None}})
    assert await stored(move, "c") == (None, {"imported": {"stage": None, "pipeline_state": [1, "two"]}})
    assert await stored(move, "d") == (None, {"imported": {"stage": "loaded", "pipeline_state": None}})
    assert await stored(move, "e") == (None, None)


async def test_an_app_says_what_it_goes_on_from(move: Move) -> None:
    def known(stage: str | None, state: dict[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
        return (stage, {"page": state["page"]}) if stage == "fetch" else None

    rules = Rules(takeovers={"job": known})
    await move.fill(row("a", stage="fetch", pipeline_state={"page": 3, "more": 1}), row("b", stage="odd"), rules=rules)
    assert await stored(move, "a") == ("fetch", {"page": 3})
    assert await stored(move, "b") == (None, {"imported": {"stage": "odd", "pipeline_state": None}})
    with pytest.raises(BadRows, match=r"\(id c\): kind job cannot take the row, its own code raises KeyError: 'page'"):
        await move.fill(row("c", stage="fetch", pipeline_state={}), rules=rules)
    for odd in ([1], {"page": 1, "$claims": [0, 0]}):
        own = f"odd {len(odd)}"
        await move.fill(row(own, stage="fetch", pipeline_state=odd), rules=rules)
        assert (await stored(move, own))[0] is None


@pytest.mark.parametrize(
    ("app", "kind", "payload"),
    [
        (jobs.app, "LISTING", {"url": "https://x.example/1"}),
        (jobs.app, "SCRAPE", {}),
        (jobs.app, "SCRAPE_SOURCE", {"source_id": "s"}),
        (jobs.app, "COMPANY", {"name": "Acme"}),
        (wiki.app, "wiki.article", {"title": "Bread"}),
        (wiki.app, "wiki.level", {"level": 1}),
        (wiki.app, "wiki.retry", {"by": "ann"}),
        (llm.app, "llm.item", {"model": "m", "messages": [], "max_output_tokens": 9}),
        (llm.app, "llm.batch", {"lane": 1, "model": "m"}),
    ],
)
async def test_no_handler_of_a_pipeline_meets_a_state_that_is_not_its_own(
    move: Move, app: App, kind: str, payload: dict[str, Any]
) -> None:
    move.app = app
    rules = Rules(payload_column="payload", takeovers=app.import_states)
    for status in ("processing", "failed"):
        one = {"id": status, "type": kind, "tracking_id": status, "payload": payload, "status": status}
        await move.fill({**one, "stage": "processing", "pipeline_state": THEIRS}, rules=rules, strict=True)
        assert await stored(move, status) == (
            None,
            {"imported": {"stage": "processing", "pipeline_state": THEIRS}},
        )


async def test_a_staged_kind_starts_with_its_first_stage_and_can_read_what_the_row_had(tmp_path: Path) -> None:
    app, ran = App(), []
    page = app.pipeline("page")

    @page.stage("job_data")
    async def scrape(ctx: Context, payload: dict[str, Any]) -> dict[str, str]:
        ran.append("scrape")
        return {"read": ctx.state["imported"]["pipeline_state"]["job_data"]["title"]}

    @page.stage()
    async def save(ctx: Context, payload: dict[str, Any]) -> str:
        ran.append("save")
        return str(ctx.state["job_data"]["read"])

    path, store = tmp_path / "queue.jsonl", SqliteStore(tmp_path / "ramet.db", inline=True)
    path.write_text(json.dumps({"id": "a", "type": "page", "status": "processing", "pipeline_state": THEIRS}))
    await Importer(ImportSource(path, "jsonl", strict=True), app.registry, app.limits).fill(store, "tester")
    await store.close()
    async with app.client(tmp_path / "ramet.db") as client:
        await Worker(app, client, until_idle=True, poll_seconds=0.01).run()
        task = await client.get("a")
    assert task is not None
    assert (task.state, task.result, ran) == ("success", "Baker", ["scrape", "save"])
