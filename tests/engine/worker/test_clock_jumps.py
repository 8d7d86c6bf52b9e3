"""A worker whose machine is given another time: leases go by the store's clock, and no effect comes twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from ramet import App, Client, Context, TaskState, Worker
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run

TABLE = "CREATE TABLE IF NOT EXISTS effects (name TEXT NOT NULL)"
TASKS = 24
app = App(tables=[TABLE])


@app.task("work")
async def work(ctx: Context, number: int) -> None:
    ctx.write("INSERT INTO effects (name) VALUES (?)", (str(number),))
    await asyncio.sleep(5.0)


@app.schedule(every_seconds=60.0, payload={"a": 1})
@app.task("beat")
async def beat(ctx: Context, payload: dict[str, int]) -> None:
    ctx.write("INSERT INTO effects (name) VALUES (?)", (ctx.tracking_id,))


def effects_after(path: Path, jump_seconds: float) -> tuple[Counter[str], Counter[str]]:
    """Effects by name and attempts by outcome, when the clock jumps while four handlers run."""
    loop = VirtualLoop()
    clock = VirtualClock(loop)

    async def live() -> tuple[Counter[str], Counter[str]]:
        store = SqliteStore(path, clock=clock.now, inline=True)
        client = Client(app.registry, store, app.limits, tables=app.tables)
        await client.ensure_tables()
        submitted = await client.submit_many([("work", number) for number in range(TASKS)], one_lineage=True)
        worker = Worker(app, client, clock=clock, concurrency=4, poll_seconds=5.0, sweep_seconds=5.0)
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(7.0)
        clock.offset = jump_seconds
        # Set back, tasks that waited to be claimed are early again, and wait until it is their time once more.
        await asyncio.sleep(600.0 + max(0.0, -jump_seconds))
        worker.stop()
        await working
        assert {(await store.get(item.id)).state for item in submitted} == {TaskState.SUCCESS}  # type: ignore[union-attr]
        effects = Counter(name for (name,) in await store.read("SELECT name FROM effects"))
        outcomes = Counter(
            name for (name,) in await store.read("SELECT outcome FROM ramet_attempts a WHERE a.seq IN "
                                                 "(SELECT seq FROM ramet_tasks WHERE kind = 'work')")
        )  # fmt: skip
        assert await violations(store, clock_set_back=jump_seconds < 0) == []
        await client.close()
        return effects, outcomes

    return run(live(), loop)


@pytest.mark.parametrize("hours", [-2.0, -0.1, 0.0, 0.05, 1.0])
def test_no_effect_comes_twice_and_none_is_missing(hours: float, tmp_path: Path) -> None:
    effects, outcomes = effects_after(tmp_path / "ramet.db", hours * 3_600.0)
    assert set(effects.values()) == {1}
    assert {str(number) for number in range(TASKS)} <= effects.keys()
    assert outcomes["success"] == TASKS
    if hours <= 0:
        assert outcomes.keys() == {"success"}, "a clock set back takes no lease away"
    elif hours == 1.0:
        assert outcomes["lost"] >= 4, "what ran when the leases lapsed runs again, and only one of the two counts"
    beats = sum(name.startswith("beat@") for name in effects)
    # Set back, the schedule goes on with the slots of the time it is now; set forward, it runs one of all it passed.
    assert beats >= 8
    assert hours < 0 or beats <= 12
