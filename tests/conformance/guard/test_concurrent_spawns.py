"""Two processes of eight threads each want the same thousand tasks: none is made twice, none beyond the budget."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task.task import NewTask
from ramet.store.answers import SpawnResult
from ramet.store.requests import NewLineage, TaskQuery
from ramet.store.store import Store
from tests.conformance.guard.spawning_process import KEYS, KIND, THREADS, spawn_from_threads
from tests.support.backends import Backend

PROJECT = Path(__file__).parents[3]
SPAWNERS = 2 * THREADS


@contextmanager
def rival(address: str, module: str = "spawning_process") -> Iterator[subprocess.Popen[str]]:
    """A second process on the same database, ready to start."""
    command = [sys.executable, "-m", f"tests.conformance.guard.{module}", address]
    process = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


async def race(store: Store, address: str, **limits: Any) -> list[SpawnResult]:
    """All spawners of both processes at once; returns every answer of the guard."""
    roots = [NewTask(f"root{n}", KIND, f"root{n}", "null") for n in range(SPAWNERS)]
    await store.submit([NewLineage("line", roots, **limits)])
    with rival(address) as process:
        telling = asyncio.create_task(asyncio.to_thread(process.communicate, "go\n"))
        told = await spawn_from_threads(store, "ours")
        text, _ = await telling
        assert process.returncode == 0
    return told + [SpawnResult(*row) for row in json.loads(text)]


async def created(store: Store) -> Counter[str]:
    keys = Counter[str]()
    after: int | None = 0
    while after is not None:
        page = await store.tasks(TaskQuery(kind="page", limit=1_000, after=after))
        keys.update(task.key for task in page.tasks)
        after = page.next_after
    return keys


async def test_a_thousand_keys_wanted_sixteen_times_are_a_thousand_tasks(shared: Store, backend: Backend) -> None:
    told = await race(shared, backend.address)
    assert Counter(str(answer.reason) for answer in told) == {"None": KEYS, "in_flight": (SPAWNERS - 1) * KEYS}
    assert await created(shared) == Counter({f"key{n}": 1 for n in range(KEYS)})
    lineage = await shared.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.blocks) == (SPAWNERS + KEYS, KEYS)
    assert sum(block.count for block in await shared.blocks("line")) == (SPAWNERS - 1) * KEYS


async def test_a_budget_of_700_is_never_passed_and_the_rest_is_blocked_as_budget(
    shared: Store, backend: Backend
) -> None:
    told = await race(shared, backend.address, max_tasks=700)
    granted = [answer for answer in told if answer.reason is None]
    made = await created(shared)
    assert len(granted) == sum(made.values()) == len(made) == 700 - SPAWNERS
    assert {str(answer.reason) for answer in told} == {"None", "in_flight", "budget"}
    over = {answer.key for answer in told if answer.reason == "budget"}
    assert over == {f"key{n}" for n in range(KEYS)} - made.keys()
    lineage = await shared.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.max_tasks) == (700, 700)


@pytest.mark.parametrize("fan_out", [pytest.param(0, marks=pytest.mark.nightly), 37])
async def test_fan_out_is_exact_for_every_parent(shared: Store, backend: Backend, fan_out: int) -> None:
    told = await race(shared, backend.address, max_fan_out=fan_out)
    counts = await shared.child_counts([f"root{n}" for n in range(SPAWNERS)])
    assert set(counts.values()) == ({fan_out} if fan_out else set())
    assert sum(1 for answer in told if answer.reason is None) == fan_out * SPAWNERS
