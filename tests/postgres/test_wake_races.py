"""Two claims let tasks go on at once: what one brings back, the other neither lets run nor leaves skipped."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ramet.model.task.task import After
from ramet.store.postgres.store import PostgresStore
from ramet.store.rows import waits
from ramet.store.session import Session
from ramet.store.verbs import wake
from tests.support.world import LEASE_SECONDS, SettableClock, World, failing


async def to_be_brought_back(world: World) -> dict[str, str]:
    """``merge`` comes after ``middle``, which was skipped for ``first``, and after ``other``; ``first`` was revived.

    Nothing has followed the revival yet: ``merge`` waits, and is to be skipped.
    """
    await world.submit(world.task("root"))
    root = await world.claim_one()
    first, other, middle, merge = (world.task(key) for key in ("first", "other", "middle", "merge"))
    middle = middle._replace(after=After((("page", "first"),)))
    merge = merge._replace(after=After((("page", "middle"), ("page", "other"))))
    await world.grow(root, first, other, middle, merge)
    claimed = await world.claim_task(first.id)
    await world.settle(claimed, failing(claimed))
    await world.claim(limit=1)  # ``middle`` is skipped, and ``other`` runs.
    assert await world.states(middle.id, merge.id) == ["skipped", "pending"]
    assert await world.store.revive([first.id], by="me") == [first.id]
    return {new.key: new.id for new in (first, other, middle, merge)}


@pytest.mark.parametrize("at", ["load", "load_parents"])
async def test_a_claim_looks_again_at_those_that_another_brings_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """It read that ``merge`` is to be skipped while another transaction had the lineage, which then brought its cause
    back: before the row was read again, or after that.
    """
    clock = SettableClock()
    world, beside = (World(PostgresStore(postgres_url, clock=clock), clock) for _ in range(2))
    try:
        await race(world, beside, monkeypatch, at)
    finally:
        await world.store.close()
        await beside.store.close()


async def race(world: World, beside: World, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    ids = await to_be_brought_back(world)
    follow = wake._follow_wake
    where: Any = waits if at == "load" else wake
    read = getattr(where, at)

    def held(session: Session) -> int:
        monkeypatch.setattr(wake, "_follow_wake", follow)
        return 0

    def late(session: Session, seqs: Any) -> Any:
        monkeypatch.setattr(where, at, read)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, beside.claim(limit=1, kinds=("image",))).result()
        return read(session, seqs)

    monkeypatch.setattr(wake, "_follow_wake", held)
    monkeypatch.setattr(where, at, late)
    taken = await world.claim(limit=10)
    assert [claimed.id for claimed in taken] == [ids["first"]]
    await world.settle(taken[0])
    await world.run_all()
    assert await world.states(ids["middle"], ids["merge"]) == ["success", "pending"]
    world.clock.advance(LEASE_SECONDS + 1.0)  # Of the claim on ``other``.
    await world.sweep()
    await world.run_all()
    assert await world.state(ids["merge"]) == "success"
    await world.check()
