"""How many calls are in flight: one before the first answer, fewer after refusals, none of a job that is paused."""

from __future__ import annotations

import asyncio

import pytest

from ramet.llm import pace as paces
from ramet.llm import pipeline
from ramet.llm.errors import NotAllowed, NotSent, TooBusy
from ramet.llm.pace import AGAIN_SECONDS, CANARY_SECONDS, Pace
from ramet.llm.providers.base import Answer, AnswerState, Mode, Poll, PollState, TokenUsage
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from tests.llm.running.conftest import SLOT_SECONDS, Desk


class Calls:
    """Calls in one pace, each of which ends when the test says so."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.flying: dict[int, asyncio.Event] = {}
        self.sent_back = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, count: int) -> int:
        """So many more want a turn; how many have one now."""
        self._tasks += [asyncio.create_task(self._call()) for _ in range(count)]
        return await self.settled()

    async def settled(self) -> int:
        """How many are in flight when nothing moves any more."""
        for _ in range(10):
            await asyncio.sleep(0)
        return len(self.flying)

    async def _call(self) -> None:
        async with self.pace.turn(0.0) as turn:
            if not turn:
                self.sent_back += 1
                return
            self.flying[turn] = asyncio.Event()
            await self.flying[turn].wait()
            del self.flying[turn]

    async def end(self, turn: int) -> int:
        """That call is over; how many are in flight then."""
        self.flying[turn].set()
        return await self.settled()

    async def close(self) -> None:
        """End what is left."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_one_call_goes_first_and_the_rest_after_its_answer() -> None:
    calls = Calls(Pace(3))
    assert await calls.begin(5) == 1
    calls.pace.answered(0.0)
    assert await calls.end(1) == 3
    await calls.close()


async def test_a_call_that_was_not_sent_proves_nothing() -> None:
    calls = Calls(Pace(3))
    await calls.begin(5)
    calls.pace.failed(1, NotSent("no route"), 0.0)
    assert await calls.end(1) == 1
    await calls.close()


async def test_a_refusal_halves_once_for_the_calls_that_were_under_way_and_answers_raise_it_again() -> None:
    calls = Calls(Pace(8))
    calls.pace.answered(0.0)
    assert await calls.begin(8) == 8
    for turn in (3, 4, 5):
        calls.pace.failed(turn, TooBusy("slow down", 1.0), 0.0)
    assert calls.pace.allowed == 4
    await calls.begin(4)
    for turn in range(1, 6):
        await calls.end(turn)
    calls.pace.failed(9, TooBusy("slow down", 1.0), 0.0)
    assert calls.pace.allowed == 2, "a call that began after the cut was refused too"
    for _ in range(100):
        calls.pace.answered(0.0)
    assert calls.pace.allowed == 8
    await calls.close()


async def test_what_a_person_must_see_to_sends_back_what_waits_and_nothing_begins_for_a_while() -> None:
    calls = Calls(Pace(8))
    assert await calls.begin(4) == 1
    calls.pace.failed(1, NotAllowed("no such key"), 0.0)
    await calls.settled()
    assert calls.sent_back == 3
    await calls.begin(2)
    assert calls.sent_back == 5
    await calls.end(1)
    async with calls.pace.turn(AGAIN_SECONDS) as turn:
        assert turn
    await calls.close()


async def test_a_turn_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paces, "WAIT_HERE_SECONDS", 0.0)
    calls = Calls(Pace(8))
    await calls.begin(1)
    async with calls.pace.turn(0.0) as turn:
        assert not turn
    await calls.close()


# --- jobs ---------------------------------------------------------------------------------------------------------


def lavish(request: Request) -> Answer:
    """An answer of a server that ignores the limit of tokens."""
    return Answer(request.key, AnswerState.SUCCEEDED, "so", TokenUsage(10, 0, 5_000))


@pytest.mark.parametrize("mode", [Mode.CHAT])
async def test_a_wrong_key_is_found_by_one_call(desk: Desk) -> None:
    tried: list[object] = []

    def fault(verb: str, what: object) -> Exception | None:
        tried.append(what)
        return NotAllowed("the key is wrong")

    desk.provider.fault = fault
    await desk.submit([f"question {number}" for number in range(40)])
    await desk.slot()
    assert (len(tried), (await desk.status()).state) == (1, "paused")


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_server_that_ignores_the_limit_pauses_the_job_before_the_next_call(desk: Desk) -> None:
    desk.provider.answer = lavish
    await desk.submit([f"question {number}" for number in range(40)], batch_items=4)
    await desk.slot()
    for _ in range(5):
        desk.clock.advance(300.0)
        await desk.slot()
    [paused] = [entry for entry in await desk.client.acts("llm-job") if entry.act == "pause_lineage"]
    assert paused.reason is not None
    assert "times its bound of $" in paused.reason
    if desk.provider.mode is Mode.CHAT:
        assert len(desk.provider.taken) == 1
    assert (await desk.status()).state == "paused"
    await desk.client.resume_lineage("llm-job", by="ada")
    await desk.run()
    assert set(desk.provider.journal.values()) == {1}, "a person has decided: it is not paused again"
    assert (await desk.status()).state == "succeeded"


@pytest.mark.parametrize("mode", [Mode.CHAT])
async def test_an_answer_within_its_bound_pauses_nothing(desk: Desk) -> None:
    await desk.submit(["one", "two"])
    assert await desk.run() >= 1
    assert [entry for entry in await desk.client.acts("llm-job") if entry.act == "pause_lineage"] == []


@pytest.mark.parametrize("mode", [Mode.CHAT])
@pytest.mark.parametrize(
    ("presets", "calls"), [(["conservative"], 4), (["conservative", "aggressive"], 64), ([], None)]
)
async def test_a_poll_has_as_many_calls_in_flight_as_the_presets_of_its_jobs_allow(
    desk: Desk, presets: list[str], calls: int | None
) -> None:
    for number, preset in enumerate(presets):
        await desk.submit([f"question {number}"], name=f"job{number}", preset=preset)
    assert await pipeline._calls_at_once(desk.client) == calls


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_no_second_batch_goes_out_before_the_first_was_looked_into(desk: Desk) -> None:
    looked_into: dict[str, Poll] = {"remote-0": Poll(PollState.LIVE, "validating")}
    desk.provider.end = looked_into.get
    await desk.submit(["one", "two", "three"], batch_items=1)
    await desk.slot()
    assert list(desk.provider.taken) == ["remote-0"]
    looked_into["remote-0"] = Poll(
        PollState.FAILED, "failed", error="model_not_found: no such model", meaning=Meaning.ACCOUNT
    )
    desk.clock.advance(SLOT_SECONDS / 10)
    await desk.slot()
    assert ((await desk.status()).state, list(desk.provider.taken)) == ("paused", ["remote-0"])
    looked_into.clear()
    await desk.client.resume_lineage("llm-job", by="ada")
    await desk.run()
    assert (await desk.status()).state == "succeeded"
    assert len(desk.provider.taken) == 4


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_a_first_batch_that_nothing_is_heard_of_holds_the_others_up_for_a_while_only(desk: Desk) -> None:
    desk.provider.seconds = float("inf")
    desk.provider.fault = lambda verb, what: NotSent("connection refused") if verb == "poll" else None
    await desk.submit(["one", "two"], batch_items=1)
    await desk.slot()
    assert len(desk.provider.taken) == 1
    desk.clock.advance(CANARY_SECONDS)
    await desk.slot()
    assert len(desk.provider.taken) == 2
