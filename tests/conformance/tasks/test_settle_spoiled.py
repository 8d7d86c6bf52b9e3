"""A settlement that spoils the transaction it is in becomes that error; whoever was in it too is settled all the same.

Some writes are refused when it is too late to tell whose they were: at the end of the transaction, or by undoing it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from ramet.model.task import events as ev
from ramet.store.errors import StoreError
from ramet.store.postgres import session
from ramet.store.requests import ClaimRequest, NewLineage, Settlement, Statement, Write
from ramet.store.sqlite import session as sqlite_session
from ramet.store.store import Store
from tests.support.backends import Backend
from tests.support.world import KINDS, SettableClock, World, effect, settlement

TABLES = {
    "postgres": [
        "CREATE TABLE IF NOT EXISTS author (id INTEGER PRIMARY KEY)",
        "CREATE TABLE IF NOT EXISTS book (id INTEGER, author INTEGER REFERENCES author (id) "
        "DEFERRABLE INITIALLY DEFERRED)",
    ],
    "sqlite": [
        "CREATE TABLE IF NOT EXISTS book (id INTEGER UNIQUE ON CONFLICT ROLLBACK, author INTEGER)",
        "CREATE TABLE IF NOT EXISTS shelf (id INTEGER UNIQUE)",
    ],
}
WRITES = {
    "postgres": {
        "a reference that is looked at when all is written": [Write("INSERT INTO book VALUES (1, 4711)")],
    },
    "sqlite": {
        "a conflict that undoes everything": [Write("INSERT INTO book VALUES (1, 1)")] * 2,
        "a statement that undoes everything": [
            Write("INSERT INTO shelf VALUES (1)"),
            Write("WITH one AS (SELECT 1) INSERT OR ROLLBACK INTO shelf SELECT 1 FROM one"),
        ],
    },
}
SPOILING = [pytest.param(name, write, id=f"{name}-{write}") for name, all in WRITES.items() for write in all]


@pytest.mark.parametrize(("backend", "how"), SPOILING, indirect=["backend"])
async def test_only_the_culprit_of_a_refused_transaction_is_an_error(
    world: World, request: pytest.FixtureRequest, how: str
) -> None:
    kind = request.node.callspec.params["backend"]
    await world.store.ensure_tables(TABLES[kind])
    ids = await world.submit(*(world.task() for _ in range(9)))
    claims = await world.claim(9)
    bad = claims[4]
    batch = [
        settlement(claim, writes=WRITES[kind][how] if claim is bad else [effect(claim.id)], spawns=[world.task()])
        for claim in claims
    ]
    answers = await world.store.settle(batch)
    assert [answer.state for answer in answers] == ["pending" if claim is bad else "success" for claim in claims]
    assert await world.effects() == sorted(claim.id for claim in claims if claim is not bad)
    history = await world.store.history(bad.id)
    assert history is not None
    assert history.attempts[0].outcome == "error"
    assert len(ids) == 9


@pytest.mark.parametrize(("backend", "how"), SPOILING, indirect=["backend"])
async def test_who_writes_at_the_same_time_is_not_undone_with_it(
    shared: Store, request: pytest.FixtureRequest, how: str
) -> None:
    kind = request.node.callspec.params["backend"]
    await shared.ensure_tables(TABLES[kind])
    world = World(shared, SettableClock())
    await world.submit(*(world.task() for _ in range(2)))
    bad, good = await shared.claim(ClaimRequest("w", ("default",), KINDS, 2, 300.0))
    lineages = [NewLineage(f"other{n}", (world.task(),)) for n in range(20)]
    submits = [asyncio.create_task(shared.submit([lineage])) for lineage in lineages[:10]]
    spoiling = asyncio.create_task(shared.settle([settlement(bad, writes=WRITES[kind][how])]))
    settling = asyncio.create_task(shared.settle([settlement(good)]))
    submits += [asyncio.create_task(shared.submit([lineage])) for lineage in lineages[10:]]
    [spoiled], [settled] = await asyncio.gather(spoiling, settling)
    assert [spoiled.state, settled.state] == ["pending", "success"]
    assert len({answer.id for [answer] in await asyncio.gather(*submits)}) == len(lineages)


@pytest.mark.parametrize(("backend", "how"), SPOILING, indirect=["backend"])
async def test_a_refused_transaction_of_a_handlers_own_leaves_its_claim_current(
    world: World, request: pytest.FixtureRequest, how: str
) -> None:
    kind = request.node.callspec.params["backend"]
    await world.store.ensure_tables(TABLES[kind])
    await world.submit()
    claimed = await world.claim_one()
    going_on = Settlement(claimed.standing.seq, claimed.standing.fence, ev.Checkpoint(claimed.standing.fence, 300.0))
    statements = [Statement(write.sql, write.parameters) for write in WRITES[kind][how]]
    with pytest.raises(StoreError):
        await world.store.transact(going_on, statements)
    assert (await world.settle(claimed)).state == "success"


# --- values that no settlement can have ------------------------------------------------------------------------


ODD: dict[str, dict[str, Any]] = {
    "seconds that are text": {"event": ev.Snooze(1, "120")},  # type: ignore[arg-type]
    "a delay that is text": {"spawns": "delay_seconds"},
    "a priority that is text": {"spawns": "priority"},
    "an item that is none": {"items": [{"a": 1}]},
}


@pytest.mark.parametrize("name", ODD)
async def test_a_value_that_none_can_have_is_an_error_of_its_own_task(world: World, name: str) -> None:
    await world.submit(*(world.task() for _ in range(5)))
    claims = await world.claim(5)
    odd = dict(ODD[name])
    if "spawns" in odd:
        odd["spawns"] = [world.task(**{odd["spawns"]: "5 minutes"})]
    event = odd.pop("event", None)
    batch = [settlement(claim, event, **odd) if at == 2 else settlement(claim) for at, claim in enumerate(claims)]
    answers = await world.store.settle(batch)
    assert [answer.state for answer in answers] == ["success", "success", "pending", "success", "success"]


# --- statements that keep others waiting -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)  # SQLite holds no rows.
async def test_a_row_that_somebody_holds_keeps_nobody_else_waiting(
    world: World, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOCK_MILLISECONDS", 50)
    await world.store.ensure_tables(["CREATE TABLE IF NOT EXISTS book (id INTEGER PRIMARY KEY, author INTEGER)"])
    await world.submit(*(world.task() for _ in range(4)))
    claims = await world.claim(4)
    with psycopg.connect(backend.address) as somebody:
        somebody.execute("INSERT INTO book VALUES (1, 1)")
        waits = [Write("INSERT INTO book VALUES (1, 2)")]
        answers = await world.store.settle(
            [settlement(claim, writes=waits if at in (1, 2) else []) for at, claim in enumerate(claims)]
        )
        somebody.rollback()
    assert [answer.state for answer in answers] == ["success", "pending", "pending", "success"]
    history = await world.store.history(claims[1].id)
    assert history is not None
    assert "waited too long" in str(history.attempts[0].error)


async def test_a_statement_without_end_is_its_tasks_error(
    world: World, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "OWN_MILLISECONDS", 100)
    monkeypatch.setattr(sqlite_session, "OWN_SECONDS_MAX", 0.1)
    await world.submit(*(world.task() for _ in range(3)))
    claims = await world.claim(3)
    endless = Write(
        "INSERT INTO effects SELECT CAST(n AS TEXT), 1 FROM (WITH RECURSIVE a(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 2000000000) SELECT count(*) AS n FROM a) AS counted"
    )
    answers = await world.store.settle(
        [settlement(claim, writes=[endless] if at == 1 else [effect(claim.id)]) for at, claim in enumerate(claims)]
    )
    assert [answer.state for answer in answers] == ["success", "pending", "success"]
    assert await world.effects() == sorted([claims[0].id, claims[2].id])
