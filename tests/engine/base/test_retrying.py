"""A database that is away is told of once, asked less and less often, and never made to do a thing twice."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import pytest

from ramet import StoreError, StoreUncertain, StoreUnreachable
from ramet.engine.base.claims import WorkerClaims
from ramet.engine.base.retrying import PAUSE_SECONDS_MAX, DatabaseReachability, outage_log_level
from ramet.engine.context.supervisor_calls import SupervisorCalls
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from tests.support.fakes import Hands

Ask = Callable[[], Awaitable[str]]


class Clock(Hands):
    """Notes the pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await super().sleep(seconds)


def answers(*given: str | StoreError) -> Ask:
    left = list(given)

    async def ask() -> str:
        answer = left.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return answer

    return ask


AWAY = StoreUnreachable("no answer from db:5432")


async def test_an_answer_is_waited_for_with_growing_pauses_that_are_bounded() -> None:
    clock = Clock()
    reach = DatabaseReachability(clock, lambda: 1.0)
    assert await reach.insist(answers(*[AWAY] * 8, "it is back"), lambda: True) == "it is back"
    assert clock.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX]


async def test_it_is_given_up_when_it_is_not_worth_it_any_more() -> None:
    clock = Clock()
    with pytest.raises(StoreUnreachable):
        await DatabaseReachability(clock, lambda: 1.0).insist(answers(*[AWAY] * 100), lambda: clock.at < 1_002.0)
    assert clock.at < 1_002.0 + PAUSE_SECONDS_MAX


async def test_what_may_have_taken_effect_is_not_asked_again() -> None:
    with pytest.raises(StoreUncertain):
        await DatabaseReachability(Clock()).insist(answers(AWAY, StoreUncertain("who knows"), "twice"), lambda: True)


async def test_any_other_error_is_an_answer() -> None:
    with pytest.raises(StoreError, match="the disk is full"):
        await DatabaseReachability(Clock()).insist(answers(StoreError("the disk is full"), "no"), lambda: True)


def test_that_it_is_away_and_that_it_is_back_is_told_once_for_all_loops(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="ramet.worker")
    clock = Clock()
    reach = DatabaseReachability(clock)
    claims, settles = reach.tries(), reach.tries()
    for outage in (1, 2):
        for _ in range(5):
            claims.failed(AWAY, "could not claim", 1.0)
            settles.failed(AWAY, "could not settle", 1.0)
        clock.at += 42.0
        claims.succeeded()
        settles.succeeded()
        assert (
            caplog.messages
            == [
                "the database is away, trying again until it is back: no answer from db:5432",
                "the database is back after 42 s",
            ]
            * outage
        )


def test_a_busy_or_full_database_is_told_each_time_and_tried_at_the_usual_pace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tries = DatabaseReachability(Clock()).tries()
    for _ in range(3):
        assert tries.failed(StoreError("the disk is full"), "could not claim", 7.0) == 7.0
    assert caplog.messages == ["could not claim: the disk is full"] * 3
    assert (outage_log_level(StoreError("busy")), outage_log_level(AWAY)) == (logging.WARNING, logging.DEBUG)


class Desk:
    """A store of which only settlements matter."""

    def __init__(self, *given: SettleResult | StoreError) -> None:
        self.given = list(given)
        self.asked = 0

    async def settle(self, batch: list[Settlement]) -> list[SettleResult]:
        self.asked += 1
        answer = self.given.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return [answer]


CALL = Settlement(1, 10, ev.Progress(10, 300.0))
DONE = SettleResult(1, "processing", None)


@pytest.mark.parametrize(
    ("given", "answer", "asked"),
    [
        ([DONE], DONE, 1),
        ([AWAY, AWAY, DONE], DONE, 3),
        ([AWAY, StoreUncertain("who knows"), DONE], SettleResult(1, None, "stale"), 2),
    ],
)
async def test_a_handlers_call_waits_for_the_database_and_is_never_made_twice(
    given: list[SettleResult | StoreError], answer: SettleResult, asked: int
) -> None:
    clock, claims, store = Clock(), WorkerClaims(), Desk(*given)
    claims.take([(1, 10)], clock.at + 300.0)
    calls = SupervisorCalls(store, claims, clock, DatabaseReachability(clock, lambda: 1.0))  # type: ignore[arg-type]
    assert await calls.call(CALL) == answer
    assert store.asked == asked


async def test_a_handlers_call_waits_no_longer_than_its_lease() -> None:
    clock, claims, store = Clock(), WorkerClaims(), Desk(*[AWAY] * 1_000)
    claims.take([(1, 10)], clock.at + 300.0)
    calls = SupervisorCalls(store, claims, clock, DatabaseReachability(clock, lambda: 1.0))  # type: ignore[arg-type]
    assert (await calls.call(CALL)).refused == "stale"
    assert 1_300.0 <= clock.at <= 1_300.0 + PAUSE_SECONDS_MAX
