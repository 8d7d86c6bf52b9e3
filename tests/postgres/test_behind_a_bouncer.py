"""ramet behind a pooler in transaction mode: the same answers, by many threads and processes, and when it is killed."""

from __future__ import annotations

import asyncio

from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest
from tests.invariants.check import violations
from tests.postgres.bouncer import Bouncer
from tests.postgres.test_terminated_sessions import Ender, database, left, live, opened
from tests.store.sqlite.test_full_disk import lineage
from tests.support.world import EFFECTS, KINDS, LEASE_SECONDS, settlement


async def test_every_verb_answers_as_it_does_without_a_pooler(bouncer: Bouncer) -> None:
    found = []
    for through in (False, True):
        with database() as url:
            address = bouncer.through(url) if through else url
            async with opened(address, Ender(url, None)) as world:
                found.append([await live(world), await left(world)])
    assert found[0] == found[1]


async def test_several_stores_of_many_threads_share_a_few_sessions(bouncer: Bouncer, ramet_postgres_url: str) -> None:
    through = bouncer.through(ramet_postgres_url)
    stores = [PostgresStore(through) for _ in range(8)]
    await stores[0].ensure_tables([EFFECTS])
    await asyncio.gather(
        *(store.submit([lineage(at * 10 + n, 7)]) for at, store in enumerate(stores) for n in range(5))
    )
    done: set[str] = set()

    async def work(store: PostgresStore) -> None:
        while taken := await store.claim(ClaimRequest("w", ("default",), KINDS, 10, LEASE_SECONDS)):
            answers = await store.settle([settlement(item) for item in taken])
            assert [answer.refused for answer in answers] == [None] * len(taken)
            assert not done.intersection(item.id for item in taken), "two stores had one task"
            done.update(item.id for item in taken)

    await asyncio.gather(*map(work, stores))
    assert len(done) == 8 * 5 * 7
    assert await violations(stores[0]) == []
    for store in stores:
        await store.close()


async def test_a_verb_waits_for_a_pooler_that_was_killed_and_happens_once(
    bouncer: Bouncer, ramet_postgres_url: str
) -> None:
    store = PostgresStore(bouncer.through(ramet_postgres_url))
    await store.submit([lineage(0)])
    submitting = [asyncio.create_task(store.submit([lineage(number)])) for number in range(1, 20)]
    await asyncio.to_thread(bouncer.kill)
    asked = asyncio.create_task(store.lineages(limit=100))
    await asyncio.to_thread(bouncer.start)
    await asyncio.gather(*submitting, asked)
    assert {row.tracking_id for row in await store.lineages(limit=100)} == {f"line{number}" for number in range(20)}
    assert await violations(store) == []
    await store.close()
