"""Blobs and transactions of handlers that run in a child process: the supervisor writes, under the claim's fence."""

from __future__ import annotations

from pathlib import Path

from ramet import Blob
from tests.engine.apps.data_app import LARGE, app
from tests.invariants.check import violations
from tests.support.waiting import worked_off

TARGET = "tests.engine.apps.data_app:app"


async def test_a_child_keeps_reads_and_hands_on_blobs(tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("keeps", Blob.of("ein Käuzchen"))
        await worked_off(app, client, target=TARGET)
        result = await client.result(submitted.id)
        assert result["given"] == "ein Käuzchen"
        assert await client.blob(result["kept"], submitted.tracking_id) == LARGE
        [child] = (await client.tasks(kind="reads")).tasks
        assert child.result == len(LARGE)
        assert await violations(client.store) == []


async def test_a_child_runs_a_transaction_and_learns_why_another_was_refused(tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("takes")
        await worked_off(app, client, target=TARGET)
        assert await client.result(submitted.id) == [0, "statement 0 met 0 rows, not 1", 2]
        assert await client.read("SELECT * FROM stock") == [("owl", 2, b"\x00\xff")]
