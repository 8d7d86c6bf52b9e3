"""What is wrong with an import is told before it is closed, and into what is over nothing is imported that lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.store.base_import import ImportDone
from ramet.store.errors import StoreError
from ramet.store.sqlite.store import SqliteStore
from tests.importing.conftest import Move, row


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
        move.store.import_end("queue.jsonl", "tester", ImportDone(1, 1, 0), close=False),
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
