"""However many pulled tasks are in flight, a claim and a sweep look at those only that have come due."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ramet.model.task import events as ev
from ramet.model.task.ordering import BY_DUE
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock, World, settlement

FEW, MANY, DUE = 200, 2_000, 5
SECONDS = 60.0
LATER_SECONDS = 3_000.0


def steps_of(store: SqliteStore) -> Callable[[], int]:
    """Counts the steps of SQLite's machine from now on: each looks at a row or less."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._connection.set_progress_handler(step, 1)
    return lambda: steps


async def in_flight(world: World, count: int) -> None:
    """So many submitted questions whose answers are to be asked for, a few of them sooner."""
    for start in range(0, count, 1_000):
        part = min(1_000, count - start)
        await world.submit(*(world.task(breadth=BY_DUE) for _ in range(part)), tracking_id=f"job {start}")
    claimed = await world.claim(count, pulled=True)
    assert len(claimed) == count
    seconds = [SECONDS if number < DUE else LATER_SECONDS for number in range(count)]
    await world.store.settle(
        [settlement(one, ev.Snooze(one.standing.fence, pause)) for one, pause in zip(claimed, seconds, strict=True)]
    )


async def touched(database: Path, count: int) -> tuple[int, int]:
    """What a claim of all that is due reads beside so many in flight, and what a sweep does."""
    clock = SettableClock()
    store = SqliteStore(database, clock=clock, inline=True)
    world = World(store, clock)
    await in_flight(world, count)
    clock.now += SECONDS + 1
    read = steps_of(store)
    claimed = await world.claim(1_000, pulled=True)
    of_claim = read()
    swept = await store.sweep()
    of_sweep = read() - of_claim
    assert len(claimed) == DUE
    assert not any(swept)
    await store.close()
    return of_claim, of_sweep


async def test_a_claim_and_a_sweep_read_what_is_due_and_not_what_is_in_flight(tmp_path: Path) -> None:
    few = await touched(tmp_path / "few.db", FEW)
    many = await touched(tmp_path / "many.db", MANY)
    # A deeper index takes a step more; twenty times as many tasks do not.
    assert many[0] <= few[0] * 1.5 + 50
    assert many[1] <= few[1] * 1.5 + 50
