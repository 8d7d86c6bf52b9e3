"""A file of rows on its way into a database."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Limits, Task
from ramet.engine.tools.import_tasks import Importer, ImportReport, ImportSource
from ramet.model.importing import Rules
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import BACKENDS


def row(own: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """A row of the old queue."""
    more = {} if parent is None else {"parent_item_id": parent}
    return {"id": own, "type": "job", "url": f"https://x.example/{own}", "status": "pending", **more, **fields}


PLAIN = Rules()


class Move:
    """Rows to import into one database; everything it says is true of the database is checked."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self.store = store
        self.app = App()
        self.limits = Limits()

    def importer(self, *rows: dict[str, Any], rules: Rules = PLAIN, strict: bool = False) -> Importer:
        """An import of these rows as JSON lines."""
        path = self.folder / "queue.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return Importer(ImportSource(path, "jsonl", rules=rules, strict=strict), self.app.registry, self.limits)

    async def fill(self, *rows: dict[str, Any], **options: Any) -> ImportReport:
        """Import rows; the database is sound afterwards."""
        report = await self.importer(*rows, **options).fill(self.store, "tester")
        await self.sound()
        return report

    async def sound(self) -> None:
        found = await violations(self.store, place_kinds={"job", "company"})
        assert found == [], "\n".join(found)

    async def task(self, own: str) -> Task:
        task = await self.store.get(own)
        assert task is not None, own
        return task

    async def tasks(self, *own: str) -> list[Task]:
        return [await self.task(one) for one in own]

    async def everything(self) -> list[tuple[Any, ...]]:
        """All that an import writes, but for moments and numbers."""
        return await self.store.read(
            "SELECT t.id, t.tracking_id, t.parent_id, t.kind, t.key, t.payload, t.ancestry_chain, t.spawn_depth, "
            "COALESCE(t.state, l.state), t.reason, t.reason_facts, COALESCE(l.attempts, t.attempts), "
            "COALESCE(l.fan_out, t.fan_out), COALESCE(l.stage, t.stage), t.path, g.state, g.tasks, g.live "
            "FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq "
            "JOIN ramet_lineages g ON g.tracking_id = t.tracking_id ORDER BY 1"
        )


@pytest.fixture(params=sorted(BACKENDS))
async def move(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Move]:
    backend = BACKENDS[request.param](tmp_path)
    store = backend.open(inline=True)
    yield Move(tmp_path, store)
    found = await violations(store, place_kinds={"job", "company"})
    await store.close()
    backend.close()
    assert found == [], "\n".join(found)
