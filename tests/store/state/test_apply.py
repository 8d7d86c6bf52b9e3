"""Applying decided changes: a row that no longer stands as the decision saw it is left alone and reported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import TRANSITIONS, Change, Transition
from ramet.store.session import Session
from ramet.store.sqlite.store import SqliteStore
from ramet.store.state.apply import ApplyResult, apply
from tests.model.samples import NOW, standing
from tests.support.world import SettableClock, World, failing, hand_back


@dataclass
class Place:
    """A world, and a way to apply changes that were decided some time ago."""

    world: World
    store: SqliteStore

    async def apply(self, *changes: Change) -> ApplyResult:
        def run(session: Session) -> ApplyResult:
            return apply(session, changes)

        return await self.store._writer.run(run)

    async def rows(self) -> list[Any]:
        found: list[Any] = []
        for table in ("live", "tasks", "attempts", "transitions", "lineages"):
            found += await self.store.read(f"SELECT * FROM ramet_{table}")
        return found


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    clock = SettableClock()
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True)
    place = Place(World(store, clock), store)
    yield place
    await place.world.check()
    await store.close()


def decided(standing: Standing, event: ev.Event, now: float) -> Change:
    change = decide(standing, event, now)
    assert isinstance(change, Change)
    return change


async def old_claim(place: Place) -> Standing:
    """The standing of a claim that has been handed back and taken again since it was read."""
    await place.world.submit()
    claimed = await place.world.claim_one()
    await place.world.settle(claimed, hand_back(claimed))
    await place.world.claim_one()
    return claimed.standing


@pytest.mark.parametrize(
    "event",
    [ev.Complete(1), ev.Snooze(1, 5.0), ev.Heartbeat(1, 60.0), ev.Cancel("ann"), ev.HandBack(1), ev.Fail(1, "x")],
    ids=lambda event: type(event).__name__,
)
async def test_a_decision_about_an_older_claim_changes_nothing(place: Place, event: ev.Event) -> None:
    standing = await old_claim(place)
    before = await place.rows()
    applied = await place.apply(decided(standing, event, place.world.clock.now))
    assert applied.lost == {standing.seq}
    assert await place.rows() == before


async def test_a_decision_about_another_state_changes_nothing(place: Place) -> None:
    await place.world.submit()
    claimed = await place.world.claim_one()
    pending = claimed.standing._replace(state="pending", lease_until=0.0, worker=None)
    before = await place.rows()
    applied = await place.apply(decided(pending, ev.Cancel("ann", "why"), place.world.clock.now))
    assert applied.lost == {claimed.standing.seq}
    assert await place.rows() == before


async def test_only_what_was_lost_is_left_out_of_a_batch(place: Place) -> None:
    old = await old_claim(place)
    await place.world.submit(place.world.task(), place.world.task(), tracking_id="second")
    fine = [claimed.standing for claimed in await place.world.claim(2)]
    changes = [decided(s, ev.Complete(1), place.world.clock.now) for s in (fine[0], old, fine[1])]
    assert (await place.apply(*changes)).lost == {old.seq}
    lineage = await place.store.lineage("second")
    assert lineage is not None
    assert (lineage.success, lineage.state) == (2, "finished")


async def test_reviving_what_was_revived_meanwhile_changes_nothing(place: Place) -> None:
    [task_id] = await place.world.submit()
    claimed = await place.world.claim_one()
    await place.world.settle(claimed, failing(claimed))
    ended = claimed.standing._replace(state="failed", lease_until=0.0, worker=None)
    change = decided(ended, ev.Revive("ann"), place.world.clock.now)
    await place.store.revive([task_id], by="bob")
    before = await place.rows()
    assert (await place.apply(change)).lost == {claimed.standing.seq}
    assert await place.rows() == before


async def test_no_changes_are_no_work(place: Place) -> None:
    assert (await place.apply()).lost == frozenset()


@pytest.mark.parametrize("transition", [row for row in TRANSITIONS if row.fields], ids=lambda row: row.name)
def test_a_transition_that_names_its_fields_changes_no_other(transition: Transition) -> None:
    """Only these are written: a field that a rule began to change beside them would never reach the database."""
    events: dict[type[Any], ev.Event] = {
        ev.Claim: ev.Claim("w", 300.0, 9_000.0), ev.Heartbeat: ev.Heartbeat(3, 600.0), ev.Wake: ev.Wake(9_000.0, 5.0),
        ev.Bind: ev.Bind("settler", 9_000.0),
    }  # fmt: skip
    event = events[transition.event]
    wait = "tasks" if transition.event is ev.Wake else None
    [state] = transition.sources
    for ending, started_at in ((None, None), (None, 5.0), ("failed", 5.0)):
        if ending is not None and transition.event is ev.Bind:
            continue  # A task that is ending is bound to none.
        before = standing(
            state, wait=wait, fence=3, ending=ending, started_at=started_at, deadline_at=None, progressed=1
        )
        change = decide(before, event, NOW)
        assert isinstance(change, Change)
        touched = {name for name in Standing._fields if getattr(before, name) != getattr(change.after, name)}
        assert touched
        assert touched <= set(transition.fields)


async def test_excluding_what_was_revived_meanwhile_changes_nothing(place: Place) -> None:
    [task_id] = await place.world.submit()
    claimed = await place.world.claim_one()
    await place.world.settle(claimed, failing(claimed))
    ended = claimed.standing._replace(state="failed", lease_until=0.0, worker=None)
    change = decided(ended, ev.Exclude("ann"), place.world.clock.now)
    await place.store.revive([task_id], by="bob")
    before = await place.rows()
    assert (await place.apply(change)).lost == {claimed.standing.seq}
    assert await place.rows() == before
