"""A process that dies while it prunes leaves the lineage for the next one to go on with, and every other alone."""

from __future__ import annotations

from pathlib import Path

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.lineage.limits import Limits
from tests.crash.statements import Ticking, crash_everywhere
from tests.invariants.check import violations
from tests.support.world import EFFECTS, World, failing


async def prepare_prune(ticking: Ticking) -> None:
    world = World(ticking.store, ticking.clock)
    await ticking.store.ensure_tables([EFFECTS])
    for name in ("old", "young"):
        await world.submit(*(world.task(f"{name}{n}") for n in range(6)), tracking_id=name)
        broken = await world.claim_one()
        await world.settle(broken, failing(broken))
        await world.run_all()
        ticking.clock.advance(100.0)


async def prune(ticking: Ticking) -> None:
    before = ticking.clock.now - 150.0
    while (await ticking.store.prunable(before)).lineages:
        await ticking.store.prune(before, rows=4)
        assert await violations(ticking.store) == []


async def check_prune(ticking: Ticking) -> None:
    assert [row.tracking_id for row in await ticking.store.lineages()] == ["young"]
    assert await ticking.store.read("SELECT COUNT(*) FROM ramet_identities") == [(6,)]
    assert await violations(ticking.store) == []


async def test_a_crash_at_any_statement_of_pruning_is_gone_on_from(tmp_path: Path) -> None:
    assert await crash_everywhere(tmp_path, prepare_prune, prune, check_prune) > 30


async def prepare_schedule(ticking: Ticking) -> None:
    schedules = Schedules(Registry(Limits()), ticking.store, Limits())
    await schedules.add("page", every_seconds=300.0, name="one")
    await schedules.add("page", every_seconds=60.0, name="two")
    ticking.clock.advance(600.0)


async def take_slots(ticking: Ticking) -> None:
    await tick(ticking.store, 300.0, Limits())


async def check_schedule(ticking: Ticking) -> None:
    for name, missed in (("one", 1), ("two", 9)):
        run, late = await ticking.store.slots(name)
        assert (run.outcome, run.slot_at, late.outcome, late.slots) == ("run", ticking.clock.now, "missed", missed)
    assert [(row.runs, row.missed) for row in await ticking.store.schedules()] == [(1, 1), (1, 9)]
    assert len(await ticking.store.lineages()) == 2
    assert await violations(ticking.store) == []


async def test_a_crash_at_any_statement_of_taking_slots_leaves_one_run_per_slot(tmp_path: Path) -> None:
    assert await crash_everywhere(tmp_path, prepare_schedule, take_slots, check_schedule) > 30
