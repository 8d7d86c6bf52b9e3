"""Who looks for lost wake-ups does so beside everybody else: what it read a moment ago may be gone."""

from __future__ import annotations

import pytest

from ramet.model.paths import PathRule
from ramet.store.errors import StoreError
from ramet.store.postgres.session import connect
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import WriterConnection
from tests.support.world import SettableClock, World


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE ramet_paths SET waits_on = NULL",
        "UPDATE ramet_paths SET waits_on = (SELECT MIN(waits_on) - 1 FROM ramet_paths) WHERE waits_on IS NOT NULL",
    ],
)
async def test_those_who_wait_may_go_on_between_any_two_looks(ramet_postgres_url: str, meanwhile: str) -> None:
    looked: list[str] = []
    with connect(ramet_postgres_url) as other:

        def hook(when: str, sql: str) -> None:
            if when == "after" and "(waits_on)" in sql:
                looked.append(sql)
                other.execute(meanwhile.encode())

        clock = SettableClock()
        store = PostgresStore(ramet_postgres_url, clock=clock, inline=True, hook=hook)
        world = World(store, clock)
        await world.submit(*(world.task(path=PathRule(("a",))) for _ in range(3)))
        await world.claim_one()
        await store.sweep()
        assert looked, "nobody looked at those who wait"
        await store.close()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(link: WriterConnection) -> bool:
        raise AssertionError("who took the row has committed: there is nothing to wait for")

    monkeypatch.setattr(WriterConnection, "_pause", pause)


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
