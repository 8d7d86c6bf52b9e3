"""What the provider refuses pauses a job or is waited for, whichever place says it; each repeat is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

import pytest

from ramet.llm.errors import NotAllowed, TooBusy
from ramet.llm.providers.base import Answer, AnswerState, Mode, Poll, PollState
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from tests.llm.fake_provider import echo
from tests.llm.running.conftest import SLOT_SECONDS, Desk

TEXTS = ["owl", "finch", "wren", "tit"]
ANSWERED = {text: text.upper() for text in TEXTS}
WORDS = "you exceeded your current quota"
HTTP, BATCH, LINE = "http", "batch", "line"
EVERYWHERE = [(Mode.CHAT, HTTP), (Mode.CHAT, LINE), (Mode.BACKGROUND, HTTP), (Mode.BACKGROUND, LINE),
              (Mode.BATCH, HTTP), (Mode.BATCH, BATCH), (Mode.BATCH, LINE)]  # fmt: skip
places = pytest.mark.parametrize(("mode", "place"), EVERYWHERE)


def refuses(desk: Desk, place: str, meaning: Meaning, times: int | None) -> None:
    """Let the provider say it in a place, for every prompt or batch `times` times, or until it is let go (None)."""
    seen: Counter[object] = Counter()
    code = "insufficient_quota" if meaning is Meaning.ACCOUNT else "rate_limit_exceeded"

    def says(what: object) -> bool:
        seen[what] += 1
        return times is None or seen[what] <= times

    def fault(verb: str, what: object) -> Exception | None:
        if place != HTTP or verb != "submit":
            return None
        first = "batch" if desk.provider.mode is Mode.BATCH else cast(Sequence[Request], what)[0].key
        if not says(first):
            return None
        return NotAllowed(WORDS) if meaning is Meaning.ACCOUNT else TooBusy(WORDS, 60.0)

    def end(remote_id: str) -> Poll | None:
        if place != BATCH or not says("batch"):
            return None
        return Poll(PollState.FAILED, "failed", error=f"{code}: {WORDS}", meaning=meaning)

    told: dict[str, bool] = {}

    def answer(request: Request) -> Answer:
        key = desk.provider.name + str(len(desk.provider.taken)) + request.key
        if key not in told:
            told[key] = place == LINE and says(request.key)
        if not told[key]:
            return echo(request)
        return Answer(request.key, AnswerState.FAILED, error=WORDS, code=code, meaning=meaning)

    desk.provider.fault, desk.provider.end, desk.provider.answer = fault, end, answer


@places
async def test_a_fault_of_the_account_pauses_the_job_with_the_providers_words(desk: Desk, place: str) -> None:
    refuses(desk, place, Meaning.ACCOUNT, None)
    job = await desk.submit(TEXTS)
    for _ in range(3):
        await desk.slot()
        desk.clock.advance(SLOT_SECONDS)
    paused = await desk.status()
    assert paused.state == "paused"
    assert WORDS in str(paused.reason)
    asked = len(desk.provider.taken)
    await desk.slot()
    assert len(desk.provider.taken) == asked
    refuses(desk, "nowhere", Meaning.ACCOUNT, 0)
    await desk.client.resume_lineage(job.job_id, by="test")
    await desk.run()
    assert await desk.results() == ANSWERED
    assert (await desk.status()).state == "succeeded"


@places
async def test_a_full_queue_is_waited_for_and_every_repeat_is_counted(desk: Desk, place: str) -> None:
    refuses(desk, place, Meaning.BUSY, 3)
    await desk.submit(TEXTS)
    await desk.run()
    assert await desk.results() == ANSWERED
    after = await desk.status()
    assert (after.state, after.reason) == ("succeeded", None)
    # Each refusal was of each item, alone or with the others of its batch.
    assert after.refused == 3 * len(TEXTS)
    sizes = [len(taken.requests) for taken in desk.provider.taken.values()]
    assert set(sizes) == ({4} if desk.provider.mode is Mode.BATCH else {1})
    assert after.job.lineage.reserved == 0


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_a_batch_that_is_larger_than_the_queue_gets_smaller_and_loses_no_item(desk: Desk) -> None:
    def end(remote_id: str) -> Poll | None:
        if len(desk.provider.taken[remote_id].requests) <= 2:
            return None
        return Poll(PollState.FAILED, "failed", error="token_limit_exceeded: the queue is full", meaning=Meaning.BUSY)

    desk.provider.end = end
    await desk.submit(TEXTS, call_retries=2)
    await desk.run()
    assert await desk.results() == ANSWERED
    assert [len(taken.requests) for taken in desk.provider.taken.values()] == [4, 4, 4, 2, 2]


@pytest.mark.parametrize("mode", [Mode.BATCH])
@pytest.mark.parametrize("meaning", [Meaning.BATCH, None])
async def test_a_batch_at_fault_is_halved_until_the_bad_item_is_found(desk: Desk, meaning: Meaning | None) -> None:
    def end(remote_id: str) -> Poll | None:
        asked = [request.messages[-1]["content"] for request in desk.provider.taken[remote_id].requests]
        return Poll(PollState.FAILED, "failed", error="odd: no", meaning=meaning) if "wren" in asked else None

    desk.provider.end = end
    await desk.submit(TEXTS, call_retries=1)
    await desk.run()
    found = await desk.results()
    assert found.pop("wren").startswith("refused: failed: odd: no")
    assert found == {text: text.upper() for text in TEXTS if text != "wren"}
    sizes = [len(taken.requests) for taken in desk.provider.taken.values()]
    # A code that nobody knows is sent again once before it is halved.
    assert sizes[:2] == ([4, 2] if meaning is Meaning.BATCH else [4, 4])
