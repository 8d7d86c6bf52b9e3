"""Whatever handlers raise, their tasks end, their slots come back, and the same worker then does good work.

The objects are random, with random broken parts (tests/engine/apps/raised_objects.py); a failure names the seed of its
task.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import Client, TaskState, Worker
from tests.engine.apps.misbehaving_app import app
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.support.waiting import HANG_SECONDS, until, working

TARGET = "tests.engine.apps.misbehaving_app:app"
KINDS = ("raise-async", "raise-thread", "raise-process", "raise-batch")


@pytest.fixture(params=sorted(BACKENDS))
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    backend = BACKENDS[request.param](tmp_path)
    async with app.client(backend.address) as client:
        yield client
        assert await violations(client.store) == []
    backend.close()


async def all_end(client: Client, worker: Worker, evil: int, good: int, hang_seconds: float = HANG_SECONDS) -> None:
    """So many that raise, a part of them in each way of running, and then so many that do not."""
    wanted = [(KINDS[seed % len(KINDS)], seed) for seed in range(evil)]
    raised = await client.submit_many(wanted, one_lineage=True, tracking_id="raise")

    async def none_is_live() -> bool:
        return not await client.store.any_live(KINDS)

    await until(none_is_live, "all end", hang_seconds)
    await until(lambda: not worker.in_hand, "all slots come back")
    seeds = {each.id: seed for each, (_, seed) in zip(raised, wanted, strict=True)}
    odd = {}
    async for task in client.all_tasks(tracking_id="raise"):
        if task.state is not TaskState.FAILED or not task.error:
            odd[seeds[task.id]] = (task.kind, task.state, task.reason, task.error)
    assert odd == {}
    await client.submit_many([("good", n) for n in range(good)], one_lineage=True, tracking_id="good")

    async def good_is_done() -> bool:
        return not await client.store.any_live(["good"])

    await until(good_is_done, "good work is done", hang_seconds)
    counted = [task.state async for task in client.all_tasks(tracking_id="good")]
    assert counted.count(TaskState.SUCCESS) == good


@pytest.mark.process
@pytest.mark.parametrize("target", [None, TARGET], ids=["in-process", "child"])
async def test_a_few_hundred_tasks_that_raise_anything_all_end(client: Client, target: str | None) -> None:
    async with working(app, client, target=target, concurrency=4) as worker:
        await all_end(client, worker, evil=80, good=100)


NIGHTLY_SECONDS = 3_600.0


@pytest.mark.process
@pytest.mark.nightly
@pytest.mark.timeout(2 * NIGHTLY_SECONDS)
@pytest.mark.parametrize("target", [None, TARGET], ids=["in-process", "child"])
async def test_ten_thousand_tasks_that_raise_anything_all_end(client: Client, target: str | None) -> None:
    async with working(app, client, target=target, concurrency=16) as worker:
        await all_end(client, worker, evil=10_000, good=1_000, hang_seconds=NIGHTLY_SECONDS)
