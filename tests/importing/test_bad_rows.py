"""One bad row never blocks the good ones: each is named with file, line and id, and the others can go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet import Context
from ramet.engine.tools.import_files import BadRows
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.model.importing import Rules
from ramet.store.errors import StoreError
from ramet.store.requests import ImportRunResult
from ramet.store.sqlite.store import SqliteStore
from tests.importing.conftest import Move, row

EXPORT = {
    "id": "6EsA", "type": "source_discovery", "status": "failed", "url": "",
    "source_discovery_config": {"type_hint": "auto", "url": "https://jobs.example/board", "company_name": "Acme"},
    "ancestry_chain": [], "spawn_depth": 0, "retry_count": 0, "max_retries": 3, "tracking_id": "16de",
    "created_at": {"_seconds": 1_761_161_410, "_nanoseconds": 179_000_000},
}  # fmt: skip
COLUMNS = Rules(columns={"source_discovery_config.url": "url"})


def importer(move: Move, path: Path, rules: Rules = Rules(), **options: Any) -> Importer:  # noqa: B008
    return Importer(ImportSource(path, "jsonl", rules=rules, **options), move.app.registry, move.limits)


async def test_every_bad_row_is_named_and_none_is_written(move: Move) -> None:
    path = move.folder / "queue.jsonl"
    lines = [json.dumps(row("a")), "not JSON", json.dumps(row("b", status="odd")), json.dumps(row("a"))]
    path.write_text("\n".join(lines))
    with pytest.raises(BadRows, match="and 2 more; --skip-bad leaves them out") as refused:
        await importer(move, path).fill(move.store, "tester")
    first, second, third = refused.value.rows
    assert first.startswith(f"{path} line 2 is not valid JSON")
    assert second.startswith(f"{path} line 3 (id b): status is 'odd'")
    assert third.startswith(f"{path} line 4 (id a): its id is that of line 1 too")
    assert await move.store.get("a") is None


async def test_good_rows_arrive_where_bad_ones_are_skipped_and_a_later_run_takes_the_corrected_ones(
    move: Move,
) -> None:
    path = move.folder / "queue.jsonl"
    path.write_text("\n".join([json.dumps(row("a")), json.dumps(row("b", "a", status="odd")), "[1]"]))
    report = await importer(move, path, skip_bad=True).fill(move.store, "tester")
    assert (report.created, len(report.bad)) == (1, 2)
    path.write_text("\n".join([json.dumps(row("a")), json.dumps(row("b", "a"))]))
    later = await importer(move, path).fill(move.store, "tester")
    assert (later.created, later.there, later.bad) == (1, 1, ())
    await move.sound()


async def test_a_row_whose_kinds_own_code_raises_is_named(move: Move) -> None:
    @move.app.task("job", key=lambda payload: payload["nothing"])
    async def job(ctx: Context, payload: dict[str, Any]) -> None:
        """Nothing here runs."""

    with pytest.raises(BadRows, match=r"line 1 \(id a\): kind job cannot take the row, its own code raises KeyError"):
        await move.fill(row("a"))


@pytest.mark.parametrize("form", ["envelope", "pretty", "list", "lines"])
async def test_the_export_of_a_document_store_is_read_as_it_is(move: Move, form: str) -> None:
    path = move.folder / "export.json"
    rows = [EXPORT, {**EXPORT, "id": "7EsB", "tracking_id": "17df"}]
    path.write_text(
        {
            "envelope": json.dumps({"documents": rows}),
            "pretty": json.dumps({"count": 2, "documents": rows}, indent=2),
            "list": json.dumps(rows),
            "lines": "\n".join(map(json.dumps, rows)),
        }[form]
    )
    await importer(move, path, COLUMNS).fill(move.store, "tester")
    task, other = await move.tasks("6EsA", "7EsB")
    assert (task.key, task.state, task.created_at) == ("https://jobs.example/board", "failed", 1_761_161_410)
    assert task.payload["url"] == "https://jobs.example/board"
    assert other.tracking_id == "17df"


async def test_a_dotted_column_reads_json_text_and_may_be_the_payload(move: Move) -> None:
    inner = {"url": "https://jobs.example/1", "more": {"n": 1}}
    one = {"id": "a", "type": "job", "status": "pending", "input": json.dumps(inner), "output": None}
    path = move.folder / "queue.jsonl"
    path.write_text(json.dumps(one))
    rules = Rules(columns={"input.url": "url"}, payload_column="input.more")
    await importer(move, path, rules).fill(move.store, "tester")
    task = await move.task("a")
    assert (task.key, task.payload) == ("https://jobs.example/1", {"n": 1})


async def test_live_rows_of_a_lineage_that_was_cancelled_arrive_as_that(move: Move) -> None:
    await move.fill(row("a", tracking_id="T"))
    assert await move.store.cancel_lineage("T", by="ann")
    await move.store.sweep()
    await move.fill(row("b", "a", tracking_id="T"), row("c", "a", tracking_id="T", status="success"))
    b, c = await move.tasks("b", "c")
    assert (b.state, b.reason) == ("cancelled", "the lineage was cancelled before the import")
    assert c.state == "success"


async def test_nothing_is_written_to_an_import_that_was_closed_meanwhile(move: Move) -> None:
    """Another process closed it after this one had looked."""
    await move.fill(row("a"))
    await move.importer(row("a")).enforce(move.store, "tester")
    for late in (
        move.store.import_tasks("queue.jsonl", []),
        move.store.import_end("queue.jsonl", "tester", ImportRunResult(1, 1, 0), close=False),
    ):
        with pytest.raises(StoreError, match=r"the import queue\.jsonl is closed: give --name to import more"):
            await late


UNSOUND = [
    ("DELETE FROM ramet_tasks WHERE id = 'a'", "its parent a is not in the database: run the import again"),
    ("UPDATE ramet_tasks SET spawn_depth = 5 WHERE id = 'b'", "does not follow from its parent"),
    ("UPDATE ramet_identities SET seq = 99999 WHERE kind = 'job'", "its identity belongs to another task"),
    ("UPDATE ramet_lineages SET max_spawn_depth = 0", "it is at depth 1 of 0"),
    ("UPDATE ramet_lineages SET tasks = tasks + 1, live = live + 1", "counts 3 tasks, 3 live; it has 2, 2"),
]


@pytest.mark.parametrize(("sql", "said"), UNSOUND, ids=[said for _, said in UNSOUND])
async def test_each_kind_of_damage_is_found_and_named(tmp_path: Path, sql: str, said: str) -> None:
    store = SqliteStore(tmp_path / "ramet.db", inline=True)
    await Move(tmp_path, store).fill(row("a", tracking_id="T"), row("b", "a", tracking_id="T"))
    assert {**await store.import_verify(["a", "b"]), **await store.import_recount(["T"])} == {}
    await store.ensure_tables([sql])
    found = {**await store.import_recount(["T"]), **await store.import_verify(["b"])}
    assert said in " ".join(found.values())
    await store.close()
