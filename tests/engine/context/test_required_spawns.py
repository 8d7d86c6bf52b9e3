"""However a handler runs: a refused spawn that it requires fails its task, and nothing it asked for is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import Client, Spawn, TaskState
from ramet.engine.client.claim import ClaimResult
from tests.engine.apps.required_app import app
from tests.invariants.check import violations
from tests.support.waiting import worked_off

KINDS = ["async", "thread", "process", "checkpoint", "at once"]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.mark.process
async def test_in_a_worker_with_processes(client: Client) -> None:
    asking = [await client.submit(kind) for kind in KINDS]
    asking.append(await client.submit("batch", "ask"))
    calm = await client.submit("batch", "nothing")
    await worked_off(app, client, target="tests.engine.apps.required_app:app")
    for submitted in asking:
        task = await client.get(submitted.id)
        assert task is not None
        assert (task.kind, task.state, task.reason) == (task.kind, "failed", "spawn_refused: depth")
        assert task.error == (
            "spawn_refused: required spawn of child 'child' refused, depth: depth 1 is over max_spawn_depth 0"
        )
        assert (task.result, task.attempts) == (None, 1)
        explanation = await client.explain(task.id)
        assert explanation is not None
        assert "spawn_refused" in {cause.code for cause in explanation.why}
        assert [(block.kind, block.reason, block.count) for block in await client.blocks(task.tracking_id)] == [
            ("child", "depth", 1)
        ]
    assert await client.read("SELECT name FROM effects") == []
    assert await client.result(calm.id) == "asked for nothing"


async def test_with_claims_of_ones_own(client: Client) -> None:
    await client.submit("async", tracking_id="one")
    [claim] = await client.claim("async")
    claim.write("INSERT INTO effects (name) VALUES ('kept')")
    ended = await claim.complete("done", spawns=[Spawn("child", required=True)])
    assert (ended.state, ended.reason, ended.spawns) == (TaskState.FAILED, "spawn_refused: depth", ())
    await client.submit("async", tracking_id="two")
    [claim] = await client.claim("async")
    claim.spawn("child", required=True)
    [second] = await client.settle_many([(claim, "done")])
    assert isinstance(second, ClaimResult)
    assert (second.state, second.reason) == (TaskState.FAILED, "spawn_refused: depth")
    assert await client.read("SELECT name FROM effects") == []
