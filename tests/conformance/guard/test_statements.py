"""However many lineages a batch is about, its tasks are created with as many statements as for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ramet.store.requests import NewLineage
from tests.support.backends import Backend
from tests.support.world import EFFECTS, SettableClock, World, settlement

LINEAGES, EACH = 50, 4
SORTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "staged": {"kind": "doc.fetch", "base": "doc", "places": 2},
    "unique": {"unique_seconds": 60.0},
    "trapped": {"shape": "key#"},
}
"""Of spawns, each with what the guard looks at besides."""


@pytest.fixture
def statements() -> list[str]:
    """Everything that the store ran."""
    return []


@pytest.fixture
async def world(backend: Backend, clock: SettableClock, statements: list[str]) -> AsyncIterator[World]:
    def hook(when: str, sql: str) -> None:
        if when == "before":
            statements.append(sql)

    world = World(backend.open(clock=clock, inline=True, hook=hook), clock)
    await world.store.ensure_tables([EFFECTS])
    yield world
    await world.check()
    await world.store.close()


async def submitted(world: World, lineages: int) -> None:
    """So many lineages with all their roots at once, of which half go through a resource."""
    roots = LINEAGES * EACH // lineages
    each = [[world.task(resource=f"host{n % 2}" if n % 2 else None) for n in range(roots)] for _ in range(lineages)]
    await world.store.submit([NewLineage(f"{lineages} {at}", news) for at, news in enumerate(each)])


@pytest.mark.parametrize("spawned", sorted(SORTS))
async def test_spawns_of_many_lineages_take_as_many_statements_as_those_of_one(
    world: World, statements: list[str], spawned: str
) -> None:
    more = SORTS[spawned]
    counts = []
    for lineages in (1, LINEAGES):
        await world.submit(*(world.task() for _ in range(1)), tracking_id=f"first of {lineages}")  # What is read once.
        await world.run_all()
        roots = [[world.task() for _ in range(LINEAGES * EACH // lineages)] for _ in range(lineages)]
        await world.store.submit([NewLineage(f"{lineages} {at}", news) for at, news in enumerate(roots)])
        claimed = await world.claim(LINEAGES * EACH)
        assert len(claimed) == LINEAGES * EACH
        statements.clear()
        answers = await world.store.settle([settlement(one, spawns=[world.task(**more)]) for one in claimed])
        counts.append(len(statements))
        assert all(answer.spawns[0].id for answer in answers)
        await world.run_all()
    assert counts[1] <= counts[0]
    assert counts[0] < 40


async def test_roots_of_many_lineages_take_as_many_statements_as_those_of_one(
    world: World, statements: list[str]
) -> None:
    counts = []
    for lineages in (1, LINEAGES):
        await submitted(world, lineages)
        statements.clear()
        roots = LINEAGES * EACH // lineages
        await world.store.submit(
            [
                NewLineage(f"again {lineages} {at}", [world.task(queue=f"queue{n % 3}") for n in range(roots)])
                for at in range(lineages)
            ]
        )
        counts.append(len(statements))
    assert counts[1] <= counts[0] < 20
