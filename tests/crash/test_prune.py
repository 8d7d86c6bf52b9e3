"""A process that dies while it prunes leaves the lineage for the next one to go on with, and every other alone."""

from __future__ import annotations

from pathlib import Path

from tests.crash.statements import Ticking, crash_everywhere
from tests.invariants.check import violations
from tests.support.world import EFFECTS, World, failing


async def prepare(ticking: Ticking) -> None:
    world = World(ticking.store, ticking.clock)
    await ticking.store.ensure_tables([EFFECTS])
    for name in ("old", "young"):
        await world.submit(*(world.task(f"{name}{n}") for n in range(6)), tracking_id=name)
        broken = await world.claim_one()
        await world.settle(broken, failing(broken))
        await world.run_all()
        ticking.clock.advance(100.0)


async def act(ticking: Ticking) -> None:
    before = ticking.clock.now - 150.0
    while (await ticking.store.prunable(before)).lineages:
        await ticking.store.prune(before, rows=4)
        assert await violations(ticking.store) == []


async def check(ticking: Ticking) -> None:
    assert [row.tracking_id for row in await ticking.store.lineages()] == ["young"]
    assert await ticking.store.read("SELECT COUNT(*) FROM ramet_identities") == [(6,)]
    assert await violations(ticking.store) == []


async def test_a_crash_at_any_statement_of_pruning_is_gone_on_from(tmp_path: Path) -> None:
    assert await crash_everywhere(tmp_path, prepare, act, check) > 30
