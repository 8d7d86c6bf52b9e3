"""What a person does is recorded in the transaction that does it, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from ramet.model.operations import AuditEntry
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = SettableClock(1_000.0)
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True)
    yield World(store, clock)
    await store.close()


async def act(world: World, name: str, tracking_id: str | None = None) -> None:
    assert isinstance(world.store, SqliteStore)
    world.clock.advance(1.0)
    detail = {"from": 1, "to": [None, "ü"]}
    await world.store._write(
        partial(
            record_audit_entry, by="ann", act=name, subject="s", tracking_id=tracking_id, reason="why", detail=detail
        )
    )


async def test_an_act_is_told_as_it_was_recorded(world: World) -> None:
    await act(world, "raise_limits", "line")
    expected = AuditEntry(1, 1_001.0, "ann", "raise_limits", "s", "line", "why", {"from": 1, "to": [None, "ü"]})
    assert await world.store.acts() == [expected]


async def test_acts_are_told_newest_first_by_lineage_and_page(world: World) -> None:
    for name, tracking_id in (("a", "line"), ("b", None), ("c", "other"), ("d", "line")):
        await act(world, name, tracking_id)
    assert [found.act for found in await world.store.acts()] == ["d", "c", "b", "a"]
    assert [found.act for found in await world.store.acts("line")] == ["d", "a"]
    assert [found.act for found in await world.store.acts(limit=2, before=4)] == ["c", "b"]


async def test_an_act_goes_with_what_it_records(world: World) -> None:
    def half(session: Session) -> None:
        record_audit_entry(session, by="ann", act="raise_limits", subject="s")
        raise LookupError("nothing to raise")

    assert isinstance(world.store, SqliteStore)
    with pytest.raises(LookupError):
        await world.store._write(half)
    assert await world.store.acts() == []


async def test_acts_on_a_lineage_are_pruned_with_it(world: World) -> None:
    await world.submit()
    await act(world, "on it", "line")
    await act(world, "on all")
    await world.run_all()
    assert await world.store.prune(world.clock.now + 1.0) == 1
    assert [found.act for found in await world.store.acts()] == ["on all"]
