"""One run per slot, over all workers, crashes and clocks; what is not run is recorded with its reason."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import partial
from typing import Any

import pytest

from ramet import App, Context
from ramet.engine.client.schedules import ScheduleDeclaration, Schedules, check_declaration, lineage_of_slot
from ramet.engine.kinds.registry import Registry
from ramet.engine.settings.live import LiveSettings
from ramet.engine.worker.loops import tick
from ramet.model.lineage.limits import Limits
from ramet.model.schedule import ScheduleSlot
from ramet.store.errors import StoreError
from ramet.store.requests import SlotPlan
from ramet.store.store import Store
from tests.support.backends import Backend
from tests.support.world import World, failing, in_threads

START = 1_800_000_000.0
"""The world's clock begins here: a multiple of 300 s."""


@pytest.fixture
def schedules(store: Store) -> Schedules:
    return Schedules(Registry(Limits()), store, Limits())


async def look(world: World) -> None:
    """What a worker's schedule loop does, until nothing is left to do."""
    for _ in range(5):
        await tick(world.store, 300.0, Limits())


async def outcomes(world: World, name: str = "page") -> list[tuple[float, str, int, str | None]]:
    """(seconds after the start, outcome, slots, reason) of every slot, oldest first."""
    slots = await world.store.slots(name)
    return [(slot.slot_at - START, slot.outcome, slot.slots, slot.reason) for slot in reversed(slots)]


async def runs(world: World) -> list[str]:
    return sorted(row.tracking_id for row in await world.store.lineages(limit=1_000))


async def test_each_slot_is_a_lineage_of_its_own_named_by_schedule_and_slot(world: World, schedules: Schedules) -> None:
    made = await schedules.add("page", {"n": 1}, key="front", every_seconds=300.0, limits=Limits(max_tasks=7))
    assert (made.next_at, made.state, made.declared_by) == (START + 300, "active", "person")
    for _ in range(3):
        await look(world)
        await world.run_all()
        world.clock.advance(300.0)
    assert await runs(world) == ["page@2027-01-15T08:05:00Z", "page@2027-01-15T08:10:00Z"]
    [root] = await world.store.roots("page@2027-01-15T08:05:00Z")
    assert (root.kind, root.key, root.payload, root.spawn_depth) == ("page", "front", {"n": 1}, 0)
    lineage = await world.store.lineage(root.tracking_id)
    assert lineage is not None
    assert lineage.max_tasks == 7
    [told] = await schedules.all()
    assert (told.runs, told.skipped, told.missed, told.last_slot) == (2, 0, 0, START + 600)
    assert told.last_tracking_id == "page@2027-01-15T08:10:00Z"


async def test_a_slot_is_skipped_and_recorded_while_the_previous_run_is_not_over(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(300.0)
    await look(world)
    claimed = await world.claim_one()
    for _ in range(2):
        world.clock.advance(150.0)
        await world.store.heartbeat([(claimed.standing.seq, claimed.standing.fence)], 300.0)
        await look(world)
    assert await outcomes(world) == [(300, "run", 1, None), (600, "skipped", 1, "previous_running")]
    [skipped, run] = await world.store.slots("page")
    assert skipped.tracking_id == run.tracking_id == claimed.standing.tracking_id
    await world.settle(claimed)
    world.clock.advance(300.0)
    await look(world)
    assert (await outcomes(world))[-1] == (900, "run", 1, None)
    [told] = await schedules.all()
    assert (told.runs, told.skipped) == (2, 1)


async def test_runs_overlap_where_that_is_allowed(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0, overlap="allow")
    for _ in range(3):
        world.clock.advance(300.0)
        await look(world)
    assert [outcome for _, outcome, _, _ in await outcomes(world)] == ["run"] * 3
    assert len(await world.claim(10)) == 3


async def test_a_failing_slot_never_stops_the_next(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    for _ in range(3):
        world.clock.advance(300.0)
        await look(world)
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed))
    assert [outcome for _, outcome, _, _ in await outcomes(world)] == ["run"] * 3


async def test_a_run_that_hangs_is_ended_by_its_deadline_and_the_schedule_comes_back(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", every_seconds=300.0, limits=Limits(lineage_seconds=400.0))
    world.clock.advance(300.0)
    await look(world)
    for _ in range(2):
        world.clock.advance(300.0)
        await world.sweep()
        await look(world)
    told = [outcome for _, outcome, _, _ in await outcomes(world)]
    assert told == ["run", "skipped", "run"]


async def test_a_slot_whose_name_is_taken_is_skipped_with_the_reason_and_the_next_one_runs(
    world: World, schedules: Schedules
) -> None:
    await world.submit(world.task("other", kind="image"), tracking_id="page@2027-01-15T08:05:00Z")
    await schedules.add("page", every_seconds=300.0)
    for _ in range(2):
        world.clock.advance(300.0)
        await look(world)
    [(_, first, _, reason), (_, second, _, _)] = await outcomes(world)
    assert (first, second) == ("skipped", "run")
    assert "exists and has no page" in str(reason)


async def test_slots_that_no_worker_ran_are_one_late_run_and_the_rest_is_recorded_as_missed(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", cron="*/5 * * * *")
    world.clock.advance(86_400.0 + 10)
    await look(world)
    assert await outcomes(world) == [(300, "missed", 287, "no_worker"), (86_400, "run", 1, None)]
    [told] = await schedules.all()
    assert (told.runs, told.missed, told.next_at) == (1, 287, START + 86_700)


async def test_a_clock_set_back_runs_no_slot_twice(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    for _ in range(4):
        world.clock.advance(300.0)
        await look(world)
        await world.run_all()
    before = await runs(world)
    world.clock.advance(-750.0)
    for _ in range(15):
        await look(world)
        await world.run_all()
        world.clock.advance(50.0)
    assert await runs(world) == before
    for _ in range(6):
        world.clock.advance(50.0)
        await look(world)
    assert len(await runs(world)) == 5


async def test_a_clock_that_was_far_ahead_for_a_moment_does_not_silence_a_schedule(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(1e8)
    await look(world)
    await world.run_all()
    assert len(await runs(world)) == 1
    world.clock.advance(-1e8)
    for _ in range(7):
        await look(world)
        await world.run_all()
        world.clock.advance(100.0)
    assert [at for at, outcome, _, _ in await outcomes(world) if outcome == "run"] == [300, 600, 1e8 // 300 * 300]


async def test_a_paused_schedule_runs_nothing_and_goes_on_with_its_next_slot(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", every_seconds=300.0)
    assert await schedules.pause("page", by="ada", reason="too dear")
    assert not await schedules.pause("page", by="ada")
    world.clock.advance(1_000.0)
    await look(world)
    assert await outcomes(world) == []
    assert (await schedules.all())[0].reason == "too dear"
    assert await schedules.resume("page", by="ada")
    assert not await schedules.resume("page", by="ada")
    await look(world)
    world.clock.advance(200.0)
    await look(world)
    assert await outcomes(world) == [(1_200, "run", 1, None)]
    acts = [(act.act, act.by, act.subject) for act in reversed(await world.store.acts())]
    assert acts == [("put_schedule", "client", "page"), ("pause_schedule", "ada", "page"),
                    ("resume_schedule", "ada", "page")]  # fmt: skip


async def test_a_person_runs_it_now_and_never_two_at_once(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    await schedules.pause("page")
    world.clock.advance(10.0)
    slot = await schedules.run("page", by="ada", reason="to see")
    assert (slot.outcome, slot.tracking_id, slot.reason) == ("manual", "page@2027-01-15T08:00:10Z", "to see")
    with pytest.raises(StoreError, match=r"the last run of 'page' is not over .*: wait for it, or cancel it first"):
        await schedules.run("page")
    await schedules.resume("page")
    world.clock.advance(290.0)
    await look(world)
    assert (await outcomes(world))[-1] == (300, "skipped", 1, "previous_running")
    with pytest.raises(StoreError, match="no schedule 'nobody'"):
        await schedules.run("nobody")


async def test_a_removed_schedule_is_forgotten_and_its_runs_stay(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(300.0)
    await look(world)
    assert await schedules.remove("page")
    assert not await schedules.remove("page")
    assert (await schedules.all(), await world.store.slots("page")) == ([], [])
    # Made again within the same slot: its lineage is there, so it is not run twice.
    world.clock.advance(-1.0)
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(1.0)
    await look(world)
    assert await outcomes(world) == [(300, "run", 1, None)]
    assert await runs(world) == ["page@2027-01-15T08:05:00Z"]
    assert len(await world.claim(10)) == 1


async def test_a_declaration_keeps_what_a_person_decided(world: World, schedules: Schedules) -> None:
    def wanted(**more: Any) -> ScheduleDeclaration:
        return check_declaration(
            "page", "page", cron=None, every_seconds=300.0, timezone="UTC", default_seconds=1.0, **more
        )

    assert await schedules.declare(wanted())
    assert not await schedules.declare(wanted())
    await schedules.pause("page")
    assert await schedules.declare(wanted(catch_up=3))
    [told] = await schedules.all()
    assert (told.state, told.catch_up, told.declared_by) == ("paused", 3, "app")
    await schedules.add("page", cron="@daily", replace=True)
    assert not await schedules.declare(wanted())
    [told] = await schedules.all()
    assert (told.cron, told.declared_by, told.state) == ("@daily", "person", "paused")
    with pytest.raises(StoreError, match="there is a schedule 'page' already: remove it first"):
        await schedules.add("page")


async def test_new_times_find_the_next_slot_anew_and_other_changes_keep_it(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(250.0)
    await schedules.add("page", {"n": 2}, every_seconds=300.0, replace=True)
    assert (await schedules.all())[0].next_at == START + 300
    await schedules.add("page", every_seconds=3_600.0, replace=True)
    assert (await schedules.all())[0].next_at == START + 3_600
    assert json.loads((await schedules.all())[0].task)["kind"] == "page"


async def test_one_schedule_that_cannot_be_read_keeps_no_other_from_its_slots(
    world: World, schedules: Schedules, caplog: pytest.LogCaptureFixture
) -> None:
    await schedules.add("page", every_seconds=300.0, name="good")
    await schedules.add("page", every_seconds=300.0, name="bad")
    await world.store.ensure_tables(["UPDATE ramet_schedules SET timezone = 'Nowhere', cron = '* * * * *', "
                                     "every_seconds = NULL WHERE name = 'bad'"])  # fmt: skip
    world.clock.advance(300.0)
    await look(world)
    assert await outcomes(world, "good") == [(300, "run", 1, None)]
    assert "schedule bad cannot be planned: unknown time zone 'Nowhere'" in caplog.text


async def test_many_workers_that_look_at_once_make_one_run_per_slot(backend: Backend) -> None:
    stores = [backend.open() for _ in range(4)]
    schedules = Schedules(Registry(Limits()), stores[0], Limits())
    for n in range(20):
        await schedules.add("page", name=f"s{n}", every_seconds=3_600.0)
    await stores[0].ensure_tables(["UPDATE ramet_schedules SET next_at = next_at - 3600"])
    told: list[ScheduleSlot] = []
    lock = threading.Lock()

    async def race(store: Store) -> None:
        for _ in range(5):
            await tick(store, 300.0, Limits())
        found = [slot for n in range(20) for slot in await store.slots(f"s{n}")]
        with lock:
            told.extend(found)

    await in_threads(*(partial(race, store) for store in stores))
    assert {(slot.schedule, slot.outcome) for slot in told} == {(f"s{n}", "run") for n in range(20)}
    assert len(await stores[0].lineages(limit=1_000)) == 20
    assert [found.runs for found in await schedules.all()] == [1] * 20
    for store in stores:
        await store.close()


async def test_the_loop_run_twice_at_once_changes_nothing(world: World, schedules: Schedules) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(300.0)
    due = [await world.store.due_schedules() for _ in range(2)]
    assert due[0] == due[1]
    await asyncio.gather(look(world), look(world))
    assert await outcomes(world) == [(300, "run", 1, None)]
    assert (await schedules.all())[0].runs == 1


async def test_a_plan_is_dropped_when_the_schedule_changed_since_it_was_read(
    world: World, schedules: Schedules
) -> None:
    await schedules.add("page", every_seconds=300.0)
    world.clock.advance(300.0)
    [seen] = (await world.store.due_schedules()).schedules
    run = [(START + 300, lineage_of_slot(seen, START + 300, Limits(), LiveSettings()))]
    old = SlotPlan(seen, run, 0, None, START + 600)
    await schedules.pause("page")
    assert await world.store.take_slots([old]) == []
    assert (await outcomes(world), await runs(world)) == ([], [])
    await schedules.resume("page")
    for _ in range(2):
        world.clock.advance(300.0)
        await look(world)
        await world.run_all()
    assert await world.store.take_slots([old]) == []
    assert (await schedules.all())[0].next_at == START + 1_200


async def test_what_another_lineage_does_already_is_told_and_not_run(world: World) -> None:
    app = App()

    @app.task("page", unique="global")
    async def page(ctx: Context) -> None: ...

    schedules = Schedules(app.registry, world.store, Limits())
    await schedules.add("page", key="front", every_seconds=300.0)
    await world.submit(world.task("front", unique_seconds=3_600.0, id="there"), tracking_id="elsewhere")
    with pytest.raises(StoreError, match="schedule 'page' could not be run: elsewhere: there"):
        await schedules.run("page", by="ada")
    world.clock.advance(300.0)
    await look(world)
    assert await outcomes(world) == [(300, "skipped", 1, "elsewhere: there")]
    assert await runs(world) == ["elsewhere"]
