"""A process that dies while it takes a slot leaves the slot whole or untaken."""

from __future__ import annotations

from pathlib import Path

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.lineage.limits import Limits
from tests.crash.statements import Ticking, crash_everywhere
from tests.invariants.check import violations


async def prepare(ticking: Ticking) -> None:
    schedules = Schedules(Registry(Limits()), ticking.store, Limits())
    await schedules.add("page", every_seconds=300.0, name="one")
    await schedules.add("page", every_seconds=60.0, name="two")
    ticking.clock.advance(600.0)


async def act(ticking: Ticking) -> None:
    await tick(ticking.store, 300.0, Limits())


async def check(ticking: Ticking) -> None:
    for name, missed in (("one", 1), ("two", 9)):
        run, late = await ticking.store.slots(name)
        assert (run.outcome, run.slot_at, late.outcome, late.slots) == ("run", ticking.clock.now, "missed", missed)
    assert [(row.runs, row.missed) for row in await ticking.store.schedules()] == [(1, 1), (1, 9)]
    assert len(await ticking.store.lineages()) == 2
    assert await violations(ticking.store) == []


async def test_a_crash_at_any_statement_of_taking_slots_leaves_one_run_per_slot(tmp_path: Path) -> None:
    assert await crash_everywhere(tmp_path, prepare, act, check) > 30
