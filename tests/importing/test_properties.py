"""Whatever rows refer to: every one arrives, once, in a sound database, and a second run changes nothing."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet import App, Context, Limits
from ramet.engine.tools.import_tasks import Importer, ImportReport, ImportSource
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations

APP = App()


@APP.task("company", key=lambda payload: payload.get("url") or "none", unique="global", unique_seconds=3_600)
async def company(ctx: Context, payload: dict[str, Any]) -> None:
    """Nothing here runs."""


NAMES = [f"t{n}" for n in range(9)]
STATUSES = ["pending", "processing", "success", "failed", "cancelled", "filtered"]

rows = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["job", "company"]),
        "url": st.sampled_from(["https://x.example/1", "https://x.example/2", "three", ""]),
        "status": st.sampled_from(STATUSES),
        "parent_item_id": st.sampled_from([*NAMES, None, None, "nowhere"]),
        "tracking_id": st.sampled_from([None, None, None, "T", "U"]),
        "ancestry_chain": st.sampled_from([None, None, [], ["T"], ["T", "t1"], ["t0"]]),
        "max_spawn_depth": st.sampled_from([None, None, 1, 3]),
        "spawn_depth": st.sampled_from([None, None, 0, 2, 12]),
        "company_sub_task": st.sampled_from([None, None, "fetch", "save"]),
        "pipeline_state": st.sampled_from([None, {"page": 1}, [1]]),
        "retry_count": st.integers(0, 5),
        "max_retries": st.sampled_from([None, 0, 3]),
    }
)
files = st.lists(st.sampled_from(NAMES), unique=True, min_size=1).flatmap(
    lambda names: st.tuples(st.just(names), st.lists(rows, min_size=len(names), max_size=len(names)), st.integers(0, 9))
)


async def bring(folder: Path, store: SqliteStore, content: list[dict[str, Any]]) -> ImportReport:
    path = folder / "queue.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in content))
    report = await Importer(ImportSource(path, "jsonl"), APP.registry, Limits()).fill(store, "tester")
    found = await violations(store)
    assert found == [], "\n".join(found)
    return report


async def everything(store: SqliteStore) -> list[tuple[Any, ...]]:
    return await store.read(
        "SELECT t.id, t.tracking_id, t.parent_id, t.key, t.ancestry_chain, t.state, t.reason, l.attempts, l.fan_out "
        "FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq ORDER BY 1"
    )


async def check(content: list[dict[str, Any]], cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = SqliteStore(folder / "ramet.db", inline=True)
        try:
            first = content[:cut] or content
            await bring(folder, store, first)
            report = await bring(folder, store, content)
            assert report.created + report.there == len(content)
            assert report.there == len(first)
            before = await everything(store)
            assert [row[0] for row in before] == sorted(row["id"] for row in content)
            again = await bring(folder, store, content)
            assert (again.created, again.there) == (0, len(content))
            assert await everything(store) == before
            for row in content:
                task = await store.get(row["id"])
                assert task is not None
                if row["tracking_id"] is not None:
                    assert task.tracking_id == row["tracking_id"], "a lineage that was given is kept"
                if row["status"] in ("pending", "processing"):
                    assert task.state == "pending" or str(task.reason).startswith("import_"), task
                else:
                    assert task.state == row["status"]
            await Importer(ImportSource(folder / "queue.jsonl", "jsonl"), APP.registry, Limits()).enforce(
                store, "tester"
            )
        finally:
            await store.close()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files)
def test_any_rows_arrive_whole_and_once(file: tuple[list[str], list[dict[str, Any]], int]) -> None:
    names, found, cut = file
    asyncio.run(check([{"id": name, **row} for name, row in zip(names, found, strict=True)], cut))


def test_a_row_that_is_its_own_parent_gives_a_lineage_that_is_there_no_other_depth() -> None:
    of = {"type": "job", "url": "three", "status": "pending"}
    rows: list[dict[str, Any]] = [
        {**of, "id": "t2", "parent_item_id": "t0"},
        {**of, "id": "t0", "parent_item_id": "t0", "tracking_id": "T"},
        {**of, "id": "t1", "parent_item_id": "t1", "tracking_id": "T", "max_spawn_depth": 1},
        {**of, "id": "t8", "parent_item_id": "t2", "spawn_depth": 2},
    ]
    every: dict[str, Any] = {
        **dict.fromkeys(("tracking_id", "max_spawn_depth", "spawn_depth", "retry_count"), None),
        "retry_count": 0,
    }
    asyncio.run(check([{**every, **row} for row in rows], 2))
