"""Heartbeats keep claims, let go of lost ones, and never mistake a newer claim for a lost older one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ramet import StoreError, StoreUnreachable
from ramet.engine.base.claims import BATCH, WorkerClaims, keep_alive
from ramet.engine.base.retrying import DatabaseReachability
from tests.support.waiting import until

LEASE = 300.0


class StepClock:
    """Sleepers wake only when the test lets time pass."""

    def __init__(self) -> None:
        self.at = 0.0
        self.asked: list[float] = []
        self._go = asyncio.Event()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._go.clear()
        await self._go.wait()

    async def beat(self, at: float) -> None:
        """Let the sleeper go on at this moment, and wait until it sleeps again."""
        beats = len(self.asked)
        self.at = at
        self._go.set()
        await until(lambda: len(self.asked) > beats, "the next sleep")


class HeartOfStore:
    """A store of which only heartbeats matter."""

    def __init__(self) -> None:
        self.sent: list[list[tuple[int, int]]] = []
        self.answer: Callable[[Sequence[tuple[int, int]]], Awaitable[frozenset[int]]] = self.all_well

    async def all_well(self, held: Sequence[tuple[int, int]]) -> frozenset[int]:
        return frozenset()

    async def heartbeat(self, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
        assert lease_seconds == LEASE
        self.sent.append(list(held))
        return await self.answer(held)


@asynccontextmanager
async def beating(claims: WorkerClaims) -> AsyncIterator[tuple[StepClock, Any, list[frozenset[int]]]]:
    clock, store, lost = StepClock(), HeartOfStore(), list[frozenset[int]]()

    def on_lost(seqs: frozenset[int]) -> None:
        lost.append(seqs)
        claims.drop(claims.pairs(sorted(seqs)))

    loop = asyncio.create_task(
        keep_alive(
            store,  # type: ignore[arg-type]
            claims,
            clock,
            lease_seconds=LEASE,
            heartbeat_seconds=30.0,
            on_lost=on_lost,
            reach=DatabaseReachability(clock, lambda: 1.0),
        )
    )
    await until(lambda: clock.asked, "the first sleep")
    try:
        yield clock, store, lost
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)


def hand(count: int = 3, lapses_at: float = LEASE) -> WorkerClaims:
    claims = WorkerClaims()
    claims.take([(seq, seq * 10) for seq in range(1, count + 1)], lapses_at)
    return claims


async def test_every_claim_is_kept_for_a_lease_from_before_the_request() -> None:
    claims = hand()
    async with beating(claims) as (clock, store, lost):

        async def slow(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            clock.at += 7.0
            return frozenset()

        store.answer = slow
        await clock.beat(30.0)
        assert store.sent == [[(1, 10), (2, 20), (3, 30)]]
        assert claims.lapsed(30.0 + LEASE - 0.1) == frozenset()
        assert claims.lapsed(30.0 + LEASE) == {1, 2, 3}, "not from when the answer came"
        assert lost == []
        assert clock.asked == [30.0, 30.0]


async def test_a_claim_that_the_store_calls_lost_is_given_up() -> None:
    claims = hand()
    async with beating(claims) as (clock, store, lost):

        async def second_is_lost(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            return frozenset({2})

        store.answer = second_is_lost
        await clock.beat(30.0)
        assert lost == [{2}]
        assert claims.pairs() == [(1, 10), (3, 30)]


async def test_a_claim_settled_and_claimed_anew_while_the_heartbeat_was_under_way_is_not_given_up() -> None:
    claims = hand()
    async with beating(claims) as (clock, store, lost):

        async def meanwhile(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            claims.drop([(2, 20)])
            claims.take([(2, 21)], 30.0 + LEASE)
            return frozenset({2})

        store.answer = meanwhile
        await clock.beat(30.0)
        assert lost == []
        assert claims.holds(2, 21)


async def test_a_heartbeat_that_fails_is_tried_again_soon_and_gives_nothing_up() -> None:
    claims = hand()
    async with beating(claims) as (clock, store, lost):

        async def busy(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            raise StoreError("busy")

        store.answer = busy
        await clock.beat(30.0)
        assert clock.asked[-1] == 1.0
        assert (len(claims), lost) == (3, [])
        store.answer = store.all_well
        await clock.beat(31.0)
        assert clock.asked[-1] == 30.0
        assert claims.lapsed(LEASE) == frozenset(), "the second one counted"


async def test_an_unanswered_heartbeat_does_not_keep_a_claim_beyond_its_lease() -> None:
    claims = hand(2)
    claims.take([(9, 90)], lapses_at=1_000.0)
    async with beating(claims) as (clock, store, lost):
        answer: asyncio.Future[frozenset[int]] = asyncio.get_running_loop().create_future()

        async def silent(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            return await answer

        store.answer = silent
        await clock.beat(30.0)
        assert clock.asked[-1] == LEASE - 30.0, "it wakes when the first lapses"
        assert lost == []
        await clock.beat(LEASE)
        assert lost == [{1, 2}]
        assert clock.asked[-1] == 1_000.0 - LEASE
        assert len(store.sent) == 1, "no second one is sent while the first is on its way"
        answer.set_result(frozenset())
        await until(lambda: clock.asked[-1] == 30.0, "the round is over")
        assert claims.pairs() == [(9, 90)], "an answer that comes too late revives nothing"


async def test_a_database_that_is_away_is_asked_ever_less_often_but_before_the_lease_ends() -> None:
    claims = hand()
    async with beating(claims) as (clock, store, lost):

        async def away(held: Sequence[tuple[int, int]]) -> frozenset[int]:
            raise StoreUnreachable("away")

        store.answer = away
        for _ in range(8):
            await clock.beat(30.0)
        assert clock.asked == [30.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
        await clock.beat(LEASE - 2.0)
        assert clock.asked[-1] == 2.0
        assert lost == []
        await clock.beat(LEASE)
        assert lost == [{1, 2, 3}]
        store.answer = store.all_well
        claims.take([(4, 40)], 2 * LEASE)
        await clock.beat(LEASE + 5.0)
        assert clock.asked[-1] == 30.0


async def test_claims_that_lapsed_unheard_are_given_up_without_asking() -> None:
    claims = hand(2)
    claims.take([(9, 90)], lapses_at=1_000.0)
    async with beating(claims) as (clock, store, lost):
        await clock.beat(LEASE)
        assert lost == [{1, 2}]
        assert store.sent == [[(9, 90)]]


async def test_nothing_is_asked_when_nothing_is_in_hand() -> None:
    async with beating(WorkerClaims()) as (clock, store, _):
        await clock.beat(30.0)
        assert store.sent == []


async def test_many_claims_are_kept_in_batches() -> None:
    claims = hand(BATCH + 1)
    async with beating(claims) as (clock, store, _):
        await clock.beat(30.0)
        assert [len(part) for part in store.sent] == [BATCH, 1]
        assert claims.lapsed(30.0 + LEASE - 0.1) == frozenset()
