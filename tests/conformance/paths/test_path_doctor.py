"""The doctor recounts paths: quiet about whatever the engine wrote, and each kind of damage is named."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ramet.engine.tools.doctor import doctor
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.store.answers import Finding
from ramet.store.rows.paths import REPAIRS_COUNTER
from tests.support.backends import Backend
from tests.support.world import SettableClock, World, failing

Told = Callable[[], list[Finding]]


@pytest.fixture
async def spoilt(backend: Backend, clock: SettableClock) -> World:
    """A line that a test damages: no check of invariants follows. ``a`` runs, two wait for it, ``b/x`` is free."""
    world = World(backend.open(clock=clock, inline=True), clock)
    paths = (("a",), ("a", "x"), ("a",), ("b", "x"))
    await world.submit(*(world.task(path=PathRule(path)) for path in paths))
    await world.submit(tracking_id="pathless")
    await world.claim_one()
    return world


@pytest.fixture
def told(backend: Backend) -> Told:
    """What the doctor says about paths."""
    return lambda: [item for item in doctor(backend.address) if item.check == "paths"]


async def damage(world: World, sql: str) -> None:
    await world.store.ensure_tables([sql])
    await world.store.close()


async def test_a_line_in_order_is_no_finding(spoilt: World, told: Told) -> None:
    await spoilt.store.close()
    assert told() == []


_FIRST = "(SELECT MIN(seq) FROM ramet_paths)"
_LAST = "(SELECT MAX(seq) FROM ramet_paths)"
DAMAGE = [
    ("not live", f"DELETE FROM ramet_live WHERE seq = {_LAST}"),
    ("not live", f"UPDATE ramet_paths SET ended = 'failed' WHERE seq = {_LAST}"),
    ("no place in line", f"DELETE FROM ramet_paths WHERE seq = {_FIRST}"),
    ("disagree with the places", "DELETE FROM ramet_path_tickets WHERE ticket = (SELECT MAX(ticket) FROM ramet_paths)"),
    ("disagree with the places", "INSERT INTO ramet_path_tickets VALUES (5, 0, 77, 77)"),
    ("disagree with the places", "UPDATE ramet_path_tickets SET seq = seq + 1"),
    ("differ from a recount", "UPDATE ramet_path_holders SET below = below + 1 WHERE holders = 0"),
    ("differ from a recount", "DELETE FROM ramet_path_holders WHERE holders = 1"),
    ("differ from a recount", "INSERT INTO ramet_path_holders VALUES (5, 1, 0)"),
    ("or wait for another", "UPDATE ramet_live SET holds_path = 1 WHERE wait = 'path'"),
    ("one before them conflicts", "UPDATE ramet_live SET holds_path = 1 WHERE wait = 'path'"),
    ("wait for one that is gone", "UPDATE ramet_paths SET waits_on = 0 WHERE waits_on IS NOT NULL"),
    ("wait for one that is gone", "UPDATE ramet_paths SET waits_on = NULL"),
]


@pytest.mark.parametrize(("what", "sql"), DAMAGE, ids=[f"{n}-{what}" for n, (what, _) in enumerate(DAMAGE)])
async def test_each_kind_of_damage_is_found(spoilt: World, told: Told, what: str, sql: str) -> None:
    await damage(spoilt, sql)
    findings = told()
    assert any(what in item.what for item in findings), findings
    assert all(item.do and "\n" not in item.what + item.do for item in findings)


async def test_a_task_that_waits_for_one_that_is_gone_is_mended_and_counted(spoilt: World, told: Told) -> None:
    store = spoilt.store
    await store.ensure_tables(["UPDATE ramet_paths SET waits_on = 0 WHERE waits_on IS NOT NULL"])
    [lost] = told()
    assert lost.severity == "warning"
    assert lost.what.startswith("2 tasks wait for one that is gone")
    assert "start a worker" in lost.do
    await spoilt.sweep()
    [counted] = told()
    assert (counted.severity, counted.what.split()[0]) == ("note", "2")
    [(repairs,)] = await store.read("SELECT value FROM ramet_counters WHERE name = ?", (REPAIRS_COUNTER,))
    assert repairs == 2
    await store.close()


@pytest.mark.parametrize("seed", range(2))
async def test_whatever_happened_the_recount_agrees(world: World, told: Told, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(15):
        path = tuple(rng.choice(("a", "b", ":", "")) for _ in range(rng.randint(1, 4)))
        rule = PathRule(path, rng.choice(["queue", "lineage"]), rng.choice(["skip", "run"]), rng.random() < 0.5)
        tasks = [world.task(path=rule, delay_seconds=rng.choice([0.0, 0.0, 9.0])) for _ in range(rng.randint(1, 4))]
        ids = await world.submit(*tasks, tracking_id=f"line {number}")
        if rng.random() < 0.2:
            await world.store.cancel(rng.choice(ids), tree=False, by="test")
        for claimed in await world.claim(rng.randint(0, 3)):
            fence = claimed.standing.fence
            fates = [None, failing(claimed), ev.Snooze(fence, 5.0), ev.Snooze(fence, 2_000.0), ev.Filter(fence, "x")]
            if rng.random() < 0.2:
                await world.store.cancel(claimed.id, tree=False, by="test")
            await world.settle(claimed, rng.choice(fates))
        # Also in the middle of what follows an end.
        assert told() == [], number
        if rng.random() < 0.5:
            await world.store.sweep(limit=2)
            assert told() == [], number
        world.clock.advance(rng.choice([1.0, 20.0, 400.0]))
