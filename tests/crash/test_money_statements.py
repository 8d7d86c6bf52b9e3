"""A process that dies at any statement about money: whoever comes after it does the rest, and nothing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from ramet.model.money import ActualCost, ReserveRequest
from ramet.model.task import events as ev
from ramet.store.requests import Settlement
from tests.crash.test_guard_statements import FileGarden, Garden, ServerGarden, run
from tests.invariants.check import violations
from tests.postgres import database_pool
from tests.support.world import World

Build = Callable[[World], Awaitable[None]]
Verb = Callable[[World], Awaitable[object]]
FEW: dict[type, int] = {FileGarden: 5, ServerGarden: 65}
"""Every so-manieth moment is tried: one on a server costs more. An odd number: after statements, and before them."""
IN_FLIGHT = 7


async def build(world: World) -> None:
    """A lineage whose tasks have calls in flight; some wait for their provider, some cancel there at their end."""
    tasks = [world.task(f"t{n}", id=f"t{n}", on_end=n % 2) for n in range(IN_FLIGHT)]
    await world.submit(world.task("dear", id="dear"), *tasks, max_cost=100)
    await world.store.put_setting("cost.global_max", 150, "int", "")
    claims = await world.claim(IN_FLIGHT + 1)
    for item in claims:
        standing = item.standing
        await world.store.reserve([ReserveRequest(f"of {item.id}", standing.seq, standing.fence, 10)])
    later = [Settlement(item.standing.seq, item.standing.fence, ev.Snooze(item.standing.fence, 900.0))
             for item in claims if item.id in ("t0", "t1", "t2")]  # fmt: skip
    await world.store.settle(later)


async def book(world: World) -> None:
    """The dear call is told its price: more than the lineage, and than all, may spend."""
    await world.store.settle_reserved([ActualCost("of dear", 160), ActualCost("of t1", 3), ActualCost("of t4", 12)])


async def over_already(world: World) -> None:
    await build(world)
    await book(world)


async def reserve(world: World) -> None:
    """All for which there is room. A refusal that is asked for again is counted again, so there is none."""
    rows = await world.store.read("SELECT seq, fence FROM ramet_live WHERE state = 'processing' ORDER BY seq")
    wanted = [ReserveRequest(f"more {seq} {n}", seq, fence, 5) for seq, fence in rows[:2] for n in range(2)]
    await world.store.reserve(wanted)


VERBS: dict[str, tuple[Build, Verb]] = {
    "reserve": (build, reserve),
    "settle": (build, book),
    "end": (over_already, World.sweep),
}


@pytest.fixture(params=["postgres", "sqlite"])
def garden(request: pytest.FixtureRequest, name: str, tmp_path: Path) -> Iterator[Garden]:
    if request.param == "sqlite":
        yield FileGarden(tmp_path, VERBS[name][0])
        return
    garden = ServerGarden(VERBS[name][0])
    yield garden
    database_pool.give_back(garden.url, anew=True)


@pytest.mark.parametrize("often", [1, pytest.param(5, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", VERBS)
async def test_after_a_crash_at_any_statement_the_next_one_does_what_is_left_and_nothing_twice(
    name: str, often: int, garden: Garden
) -> None:
    verb = VERBS[name][1]
    await garden.renew()
    before = garden.rows()
    moments = await run(garden, verb)
    after = garden.rows()
    assert before != after
    assert moments > 6
    for moment in range(1, moments + 1, FEW[type(garden)] // often):
        await garden.renew()
        await run(garden, verb, moment)
        store = garden.open()
        assert await violations(store) == [], moment
        await store.close()
        await run(garden, verb)
        assert garden.rows() == after, f"{name} is another after a crash at moment {moment}"


@pytest.mark.parametrize("name", ["end"])
async def test_the_end_reaches_whoever_has_a_call_in_flight(name: str, garden: Garden) -> None:
    await garden.renew()
    await run(garden, World.sweep)
    store = garden.open()
    ended = [
        task_id for (task_id,) in await store.read("SELECT id FROM ramet_tasks WHERE state = 'failed' ORDER BY id")
    ]
    ending = await store.read("SELECT COUNT(*) FROM ramet_live WHERE ending = 'failed'")
    await store.close()
    assert ended == ["t0", "t2", "t6"]
    assert ending == [(2,)], "t3 and t5, which cancel at the provider first"
