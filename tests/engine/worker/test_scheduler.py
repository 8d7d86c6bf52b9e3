"""Schedules end to end: a worker that comes back at every slot, whatever the run before it did."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Outcome, Retry, UnknownKind, Worker, schedule_slot
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run
from tests.support.waiting import until, working


def season(app: App, path: Path, seconds: float) -> dict[str, Any]:
    """A worker in virtual time for so long; returns the tasks, the slots and the lineages that are left."""
    loop = VirtualLoop()
    clock = VirtualClock(loop)

    async def live() -> dict[str, Any]:
        store = SqliteStore(path, clock=clock.now, inline=True)
        client = Client(app.registry, store, app.limits)
        worker = Worker(app, client, clock=clock, poll_seconds=30.0, sweep_seconds=30.0)
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(seconds)
        worker.stop()
        await working
        told = {
            "tasks": [task async for task in client.all_tasks()],
            "slots": [
                slot for item in await client.schedules.all() for slot in await client.schedules.slots(item.name)
            ],
            "lineages": await client.lineages(limit=1_000),
        }
        assert await violations(store) == []
        await client.close()
        return told

    return run(live(), loop)


def test_a_chain_of_continuations_ends_at_its_depth_and_then_the_schedule_has_to_come(tmp_path: Path) -> None:
    """seeds/003, layers 1 and 2 and its scenario 5: 2,000 items and more wait, 1,000 are polled an invocation."""
    app = App(retry=Retry.SEED)
    pending = list(range(10_000))
    polled: list[tuple[float, int, int]] = []

    @app.schedule()
    @app.task("poll")
    async def poll(ctx: Context) -> Outcome:
        items = pending[: Limits().invocation_items]
        del pending[: len(items)]
        found = schedule_slot(ctx.tracking_id)
        assert found is not None
        polled.append((found[1].timestamp(), ctx.chain_depth, len(items)))
        await ctx.checkpoint("polled", {"left": len(pending)})
        return ctx.continue_later()

    told = season(app, tmp_path / "ramet.db", 700.0)
    first, second = sorted({slot for slot, _, _ in polled})
    assert second - first == Limits().schedule_seconds == 300.0
    # The first invocation and two of its own making; then the schedule, which begins at depth 0 again.
    assert polled == [(slot, depth, 1_000) for slot in (first, second) for depth in (0, 1, 2)]
    assert [(task.state, task.chain_depth, task.reason) for task in told["tasks"]] == [
        ("success", 2, "chain_depth: 2")
    ] * 2
    assert [slot.outcome for slot in told["slots"]] == ["run", "run"]


def test_a_run_that_always_fails_comes_back_at_every_slot(tmp_path: Path) -> None:
    app = App(retry=Retry.SEED)

    @app.schedule(every_seconds=600.0)
    @app.task("broken", limits=Limits(max_attempts=2))
    async def broken(ctx: Context) -> None:
        raise RuntimeError(f"at {ctx.tracking_id}")

    told = season(app, tmp_path / "ramet.db", 2_000.0)
    # What failed in an earlier run takes no attempt away from a later one (DESIGN §6).
    assert [(task.state.value, task.attempts) for task in told["tasks"]] == [("failed", 2)] * 3
    assert [slot.outcome for slot in told["slots"]] == ["run"] * 3


def test_while_a_run_is_not_over_its_slots_are_skipped(tmp_path: Path) -> None:
    app = App(retry=Retry.SEED)

    @app.schedule("*/5 * * * *", timezone="Europe/Berlin")
    @app.task("slow")
    async def slow(ctx: Context) -> None:
        await asyncio.sleep(400.0)

    told = season(app, tmp_path / "ramet.db", 1_000.0)
    assert [slot.outcome for slot in reversed(told["slots"])] == ["run", "skipped", "run"]
    assert len(told["lineages"]) == 2


async def test_a_slot_is_met_on_time_between_two_rounds_of_maintenance(app: App, client: Client) -> None:
    @app.task("beat")
    async def beat(ctx: Context) -> None:
        return None

    await client.schedules.add(beat, every_seconds=1.0)
    async with working(app, client, sweep_seconds=3_600.0):
        slots = await until(lambda: _many(client), "three slots")
    # On a busy machine whole seconds go by, and their slots are missed.
    assert {slot.outcome for slot in slots} <= {"run", "skipped", "missed"}
    assert "run" in {slot.outcome for slot in slots}


async def _many(client: Client) -> list[Any]:
    found = await client.schedules.slots("beat")
    return found if len(found) >= 3 else []


async def test_what_an_app_declares_is_stored_when_its_worker_starts(app: App, client: Client) -> None:
    app.schedule(
        "@daily", kind="elsewhere", payload={"a": 1}, key="k", name="nightly", timezone="Asia/Tokyo", catch_up=0
    )

    @app.task("here")
    async def here(ctx: Context) -> None:
        return None

    async with working(app, client):
        [told] = await until(client.schedules.all, "the declaration")
    assert (told.name, told.kind, told.timezone, told.declared_by) == ("nightly", "elsewhere", "Asia/Tokyo", "app")
    assert (told.catch_up, told.overlap) == (0, "skip")


def test_a_declaration_that_cannot_be_read_is_refused_where_it_stands(app: App) -> None:
    with pytest.raises(ValueError, match="cannot read the cron expression 'often'"):
        app.schedule("often", kind="x")
    with pytest.raises(ValueError, match="overlap is 'queue': give 'skip' or 'allow'"):
        app.schedule("@daily", kind="x", overlap="queue")
    with pytest.raises(ValueError, match="catch_up is 1000"):
        app.schedule("@daily", kind="x", catch_up=1_000)
    app.schedule("@daily", kind="x")
    with pytest.raises(ValueError, match="schedule 'x' is declared twice"):
        app.schedule("@hourly", kind="x")
    with pytest.raises(UnknownKind):
        app.schedule("@daily")(lambda ctx: None)
