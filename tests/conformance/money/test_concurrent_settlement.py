"""Settling is never refused and counts once: several processes tell different prices while everything around ends."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ramet.model.money import ReserveRequest
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import Backend
from tests.support.processes import PROJECT

TASKS = 80
RESERVED = 10
PRICES = (4, 13)
"""What the two processes say that every call cost; one is above what was reserved."""


@contextmanager
def settlers(address: str) -> Iterator[list[subprocess.Popen[str]]]:
    """A process for each price, ready to settle; what is left of them at the end is killed."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.money.settling_process", address, f"settler{price}", str(price)],
            cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for price in PRICES
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


async def settled(processes: list[subprocess.Popen[str]], names: list[str]) -> dict[str, int]:
    """Both settle all of these at once; what was booked, which both must have been told."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(json.dumps(names) + "\n")
        process.stdin.flush()
    lines = [await asyncio.to_thread(process.stdout.readline) for process in processes if process.stdout is not None]
    first, second = (json.loads(line) for line in lines)
    assert first == second
    assert set(first) == set(names)
    return dict(first)


async def calling(store: Store) -> list[str]:
    """Tasks of one lineage that are claimed, each with a call in flight; the names of their reservations."""
    roots = [NewTask(f"task{n}", "page", f"key{n}", "null") for n in range(TASKS)]
    await store.submit([NewLineage("line", roots, max_cost=TASKS * RESERVED)])
    claimed = await store.claim(ClaimRequest("w", ("default",), ("page",), TASKS, 300.0))
    wanted = [
        ReserveRequest(f"of {item.id}", item.standing.seq, item.standing.fence, RESERVED)
        for item in claimed
    ]  # fmt: skip
    assert all(answer.refused is None for answer in await store.reserve(wanted))
    return [item.id for item in wanted]


async def end_all(store: Store) -> None:
    """Cancel the lineage and let its tasks follow, a few at a time, while others settle."""
    await store.cancel_lineage("line", by="ann")
    while (await store.sweep(limit=3)).changed:
        pass


async def test_what_two_processes_settle_while_a_lineage_ends_is_booked_once_by_whoever_came_first(
    backend: Backend,
) -> None:
    store = backend.open()
    names = await calling(store)
    early, late = names[: TASKS // 2], names[TASKS // 2 :]
    with settlers(backend.address) as processes:
        booked, _ = await asyncio.gather(settled(processes, early), end_all(store))
        assert set(booked.values()) <= set(PRICES)
        line = await store.lineage("line")
        assert line is not None
        assert (line.spent, line.reserved) == (sum(booked.values()) + len(late) * RESERVED, 0)
        assert line.under_reserved == sum(max(0, price - RESERVED) for price in booked.values())
        assert await violations(store) == []
        assert await store.prune(await store.now() + 1.0) == 1
        assert await store.lineage("line") is None
        booked |= await settled(processes, late)
    total = (await store.costs()).total
    assert (total.spent, total.reserved) == (sum(booked.values()), 0)
    assert await violations(store) == []
    await store.close()
