"""A unique row that is taken: by somebody in this moment, or since long."""

from __future__ import annotations

import pytest

from ramet.store.errors import StoreError
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import Link
from tests.support.world import SettableClock, World


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(link: Link) -> bool:
        raise AssertionError("who took the row has committed: there is nothing to wait for")

    monkeypatch.setattr(Link, "_pause", pause)


@pytest.mark.usefixtures("no_pauses")
async def test_what_is_taken_is_looked_at_once_more_and_then_refused(ramet_postgres_url: str) -> None:
    told: list[str] = []
    store = PostgresStore(
        ramet_postgres_url, clock=SettableClock(), inline=True, hook=lambda when, sql: told.append(f"{when} {sql}")
    )
    world = World(store, SettableClock())
    await world.submit(world.task(id="mine"))
    told.clear()
    with pytest.raises(StoreError, match="ramet_tasks_p0_id"):
        await world.submit(world.task(id="mine"), tracking_id="other")
    assert sum(line.startswith("before INSERT INTO ramet_tasks") for line in told) == 2
    assert await world.state("mine") == "pending"
    await world.check()
    await store.close()
