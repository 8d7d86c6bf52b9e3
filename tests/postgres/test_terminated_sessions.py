"""An administrator, or a server that runs short, ends sessions at any statement: every verb still happens, and once.

Before each statement of a life in turn, and after it, every session of the database is ended. The store must go on by
itself, give the same answers, and leave what it leaves when nobody interferes.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from psycopg import generators, pq

from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError
from ramet.store.postgres import writer
from ramet.store.postgres.session import PostgresSession
from ramet.store.postgres.store import PostgresStore
from ramet.store.session import Session, Update
from ramet.testing.postgres import terminate_backends
from ramet.testing.postgres_server.server import connect, value
from tests.postgres.servers import databases
from tests.support.waiting import until_now
from tests.support.world import EFFECTS, LEASE_SECONDS, SettableClock, World, checkpoint, effect, failing, settlement

PLACES_APART = 83
"""An ordinary run takes every so manieth place; the number is a prime, so that no place is always passed over."""


WAITS_FOR_A_LOCK = "SELECT MAX(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


class Ender:
    """Ends every session of a database at the n-th thing that the store's hook tells of."""

    def __init__(self, url: str, at: int | None) -> None:
        self._url = url
        self._at = at
        self.armed = False
        self.count = 0
        self.ended: tuple[int, str, str] | None = None
        """How many sessions, and where."""

    def __call__(self, when: str, sql: str) -> None:
        self.count += self.armed
        if self.armed and self.count == self._at and self.ended is None:
            self.ended = (terminate_backends(self._url), when, sql)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a server that is there."""
    monkeypatch.setattr(writer, "Backoff", lambda **more: Backoff(**more, draw=lambda: 0.0))


async def live(world: World) -> list[Any]:
    """What a worker writes, and a person; and what was answered."""
    store = world.store
    told: list[Any] = [await world.submit(world.task("r"), world.task("s"), max_tasks=20)]
    root, second = await world.claim(2)
    held = [(item.standing.seq, item.standing.fence) for item in (root, second)]
    told += [root.id, second.id, await store.heartbeat(held, LEASE_SECONDS)]
    answer = await world.settle(root, checkpoint(root), spawns=[world.task("a")], pipeline_state="{}")
    told += [answer.state, answer.refused, await world.spawn(root, world.task("a"), world.task("b"))]
    answer = await world.settle(root, spawns=[world.task("c"), world.task("r")], writes=[effect("one")])
    told += [answer.state, answer.refused, [spawn.reason for spawn in answer.spawns]]
    told.append((await world.settle(second, failing(second, error_class="transient"))).state)
    taken = await world.claim(2)
    settled = await store.settle([settlement(item, writes=[effect(item.id)]) for item in taken])
    told += [[item.id for item in taken], [(one.state, one.refused) for one in settled]]
    world.clock.advance(LEASE_SECONDS * 2)
    told.append([item.id for item in await world.claim(5)])
    world.clock.advance(LEASE_SECONDS * 2)
    told.append((await store.sweep()).reclaimed)
    told.append(await store.cancel("t2", tree=True, by="test"))
    await world.sweep()
    return told


async def left(world: World) -> list[Any]:
    """What is in the database, but for numbers that are never given twice."""
    await world.check()
    rows: list[Any] = [await world.effects(), await world.store.lineages(limit=100)]
    for (task_id,) in await world.store.read("SELECT id FROM ramet_tasks ORDER BY id"):
        task = await world.get(task_id)
        rows.append((task.id, task.state, task.parent_id, task.retry_count, await world.outcomes(task_id)))
    return rows


@contextmanager
def database() -> Iterator[str]:
    url = databases().create(migrated=True)
    yield url
    databases().drop(url)


@asynccontextmanager
async def opened(url: str, ender: Ender) -> AsyncIterator[World]:
    clock = SettableClock()
    store = PostgresStore(url, clock=clock, inline=True, hook=ender)
    try:
        await store.ensure_tables([EFFECTS])
        ender.armed = True
        yield World(store, clock)
    finally:
        await store.close()


async def lived(at: int | None) -> tuple[list[Any], Ender]:
    """One life, with the sessions ended at one place of it: what was answered and what is left, and the ender."""
    with database() as url:
        ender = Ender(url, at)
        async with opened(url, ender) as world:
            told = await live(world)
            ender.armed = False
            return [told, await left(world)], ender


async def compare(first: int, step: int) -> int:
    """End the sessions at every ``step``-th place, from the first; how many places there were."""
    expected, quiet = await lived(None)
    for place in range(first, quiet.count + 1, step):
        found, ender = await lived(place)
        assert ender.ended is not None
        assert ender.ended[0] >= 1
        assert found == expected, ender.ended
    return quiet.count


async def test_a_session_that_ends_at_a_statement_costs_no_verb_and_repeats_none() -> None:
    assert await compare(1, PLACES_APART) > 100


async def test_a_session_that_ends_while_types_are_asked_for_costs_no_verb(ramet_postgres_url: str) -> None:
    """Below the driver's own verbs: the server's last words are one answer, the end of the connection is another."""
    store = PostgresStore(ramet_postgres_url, inline=True)
    tries = 0

    def verb(session: Session) -> tuple[int, ...]:
        nonlocal tries
        tries += 1
        assert isinstance(session, PostgresSession)
        return session._value_types(Update("ramet_live", ("rank",), ("seq",)))

    def end_who_waits() -> None:
        until_now(lambda: value(ramet_postgres_url, WAITS_FOR_A_LOCK), "it waits")
        value(ramet_postgres_url, f"SELECT pg_terminate_backend(({WAITS_FOR_A_LOCK}))")
        other.rollback()

    with connect(ramet_postgres_url) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE ramet_live IN ACCESS EXCLUSIVE MODE")
        ending = threading.Thread(target=end_who_waits)
        ending.start()
        assert len(await store._write(verb)) == 2
        ending.join()
    assert tries == 2
    await store.close()


async def test_of_two_answers_to_one_request_the_first_tells_what_happened(
    ramet_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server says why it ends a session, and then the connection ends: at some moments those are two answers."""
    really = generators.execute

    def twice(connection: Any) -> Any:
        answers = yield from really(connection)
        return [*answers, *answers] if answers[0].status == pq.ExecStatus.FATAL_ERROR else answers

    monkeypatch.setattr(generators, "execute", twice)
    store = PostgresStore(ramet_postgres_url, inline=True)

    def verb(session: Session) -> Any:
        assert isinstance(session, PostgresSession)
        return session._value_types(Update("nowhere", ("nothing",), ("seq",)))

    with pytest.raises(StoreError, match='"nowhere" does not exist'):
        await store._write(verb)
    await store.close()


@pytest.mark.nightly
@pytest.mark.timeout(1800)
async def test_a_session_that_ends_at_any_statement_costs_no_verb_and_repeats_none() -> None:
    await compare(1, 1)
