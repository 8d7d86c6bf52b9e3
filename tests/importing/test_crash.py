"""A process that dies at any statement of an import leaves a sound database, and the next run finishes it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Limits
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.store.sqlite.store import SqliteStore
from tests.importing.conftest import row
from tests.invariants.check import violations

ROWS = [
    *(row(f"a{n}", None if n == 0 else "a0", status=("pending", "success")[n % 2]) for n in range(12)),
    row("b", pipeline_state={"n": 1}, error_details="slow", queueHint=["A"]), row("c", "c"), row("d", "b"),
    row("g", queueHint=["A", "B"]), row("h", "a3", documentId="A"),
    row("e", url="https://x.example/b", tracking_id="T"), row("f", url="https://x.example/b", tracking_id="T"),
]  # fmt: skip
QUERY = (
    "SELECT t.id, t.tracking_id, t.parent_id, t.key, t.ancestry_chain, COALESCE(t.state, l.state), t.reason, "
    "COALESCE(l.fan_out, t.fan_out), g.tasks, g.live, g.state, i.state, i.created, t.path, "
    # Who is on a path stands in the order of the file.
    "(SELECT COUNT(*) FROM ramet_live o WHERE o.wait = 'ticket' AND l.wait = 'ticket' "
    "AND o.available_at < l.available_at) FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq "
    "JOIN ramet_lineages g ON g.tracking_id = t.tracking_id, ramet_imports i ORDER BY 1"
)


class Died(BaseException):
    """The end of the process. Nothing may catch it."""


class Counting:
    """Counts statements, and dies before one of them."""

    def __init__(self, die_at: int = -1) -> None:
        self.count = 0
        self.die_at = die_at
        self.connection: sqlite3.Connection | None = None

    def __call__(self, when: str, sql: str) -> None:
        if when == "before":
            self.count += 1
            if self.count == self.die_at:
                raise Died(sql)


async def run(path: Path, queue: Path, hook: Callable[[str, str], None]) -> list[tuple[Any, ...]]:
    """Import the file in a process of its own, as far as it gets."""
    store = SqliteStore(path, inline=True, hook=hook)
    try:
        await Importer(ImportSource(queue, "jsonl"), App().registry, Limits()).fill(store, "tester")
        found = await violations(store)
        assert found == [], "\n".join(found)
        return await store.read(QUERY)
    except Died:
        return []
    finally:
        # Closing without a commit is what the operating system does to a process that dies.
        store._connection.rollback()
        store.close_now()


async def test_any_statement_may_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.store.imports.staging.CHUNK", 5)
    monkeypatch.setattr("ramet.engine.tools.import_tasks.CHUNK", 5)
    queue = tmp_path / "queue.jsonl"
    queue.write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    whole = Counting()
    expected = await run(tmp_path / "whole.db", queue, whole)
    assert len(expected) == len(ROWS)
    opened = Counting()
    SqliteStore(tmp_path / "opened.db", inline=True, hook=opened).close_now()
    assert whole.count - opened.count > 60
    for number in range(opened.count + 1, whole.count, 3):
        path = tmp_path / f"{number}.db"
        await run(path, queue, Counting(number))
        assert await run(path, queue, Counting()) == expected, f"after a crash at statement {number}"
        path.unlink()
