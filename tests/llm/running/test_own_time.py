"""The two hours of a prompt are of work at the provider: other waits use none of them, and status names them."""

from __future__ import annotations

import pytest

from ramet import testing
from ramet.llm import pipeline
from ramet.llm.errors import NotAllowed, NotSent, ServerFault, TooBusy
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from ramet.llm.settings import SCHEDULE
from ramet.llm.status import JobWait
from tests.llm.running.conftest import DEAR, SLOT_SECONDS, Desk, question
from tests.llm.running.test_jobs import PRICE_OF_ONE

TEXTS = ["owl", "finch", "wren", "tit"]
ANSWERED = {text: text.upper() for text in TEXTS}
HOUR = 3_600.0
ONE_BY_ONE = [Mode.CHAT, Mode.BACKGROUND]


async def slots_for(desk: Desk, seconds: float, step: float = SLOT_SECONDS) -> None:
    """Slots and sweeps over so many seconds."""
    until = desk.clock.now() + seconds
    while desk.clock.now() < until:
        await desk.slot()
        await testing.drain(pipeline.app, desk.client, advance=False)
        desk.clock.advance(step)
    await desk.slot()


@pytest.mark.parametrize("mode", ONE_BY_ONE)
async def test_a_days_ceiling_puts_prompts_off_until_the_next_day(desk: Desk) -> None:
    amount = reserve_amount(question(TEXTS[0]), DEAR, 1.0)
    # Once one was asked there is no room for another.
    await desk.client.settings.set("cost.day_max", amount + PRICE_OF_ONE // 2)
    await desk.submit(TEXTS)
    await slots_for(desk, 4 * HOUR, HOUR)
    waiting = await desk.status()
    assert (waiting.state, waiting.done) == ("running", 1)
    assert waiting.wait is not None
    assert waiting.wait.what == "the day's ceiling"
    assert waiting.wait.until % 86_400.0 == 0.0
    await desk.client.settings.unset("cost.day_max")
    await slots_for(desk, 24 * HOUR, HOUR)
    assert await desk.results() == ANSWERED


@pytest.mark.parametrize("mode", [*ONE_BY_ONE, Mode.BATCH])
async def test_a_retry_after_of_any_size_is_waited_for(desk: Desk) -> None:
    until = desk.clock.now() + 30 * HOUR

    def fault(verb: str, what: object) -> Exception | None:
        return TooBusy("slow down", 10 * HOUR) if verb == "submit" and desk.clock.now() < until else None

    desk.provider.fault = fault
    await desk.submit(TEXTS)
    await slots_for(desk, 5 * HOUR, HOUR)
    waiting = await desk.status()
    assert waiting.wait is not None
    assert "slow down" in waiting.wait.what
    assert waiting.wait.until > desk.clock.now()
    await slots_for(desk, 36 * HOUR, HOUR)
    assert await desk.results() == ANSWERED


@pytest.mark.parametrize("mode", [*ONE_BY_ONE, Mode.BATCH])
async def test_a_provider_that_cannot_be_reached_for_hours_loses_no_prompt(desk: Desk) -> None:
    until = desk.clock.now() + 10 * HOUR

    def fault(verb: str, what: object) -> Exception | None:
        return NotSent("connection refused") if desk.clock.now() < until else None

    desk.provider.fault = fault
    await desk.submit(TEXTS)
    await slots_for(desk, 3 * HOUR)
    waiting = await desk.status()
    assert waiting.wait is not None
    assert waiting.wait.what == "not reached: connection refused"
    await slots_for(desk, 8 * HOUR)
    await desk.run()
    assert await desk.results() == ANSWERED


@pytest.mark.parametrize("mode", ONE_BY_ONE)
async def test_a_paused_job_loses_no_prompt(desk: Desk) -> None:
    refused = True
    desk.provider.fault = lambda verb, what: NotAllowed("no quota") if refused and verb == "submit" else None
    job = await desk.submit(TEXTS)
    await slots_for(desk, 5 * HOUR, HOUR)
    assert (await desk.status()).state == "paused"
    refused = False
    await desk.client.resume_lineage(job.job_id, by="test")
    await desk.run()
    assert await desk.results() == ANSWERED


@pytest.mark.parametrize("mode", [Mode.BACKGROUND])
async def test_a_prompt_that_is_polled_and_not_answered_still_fails_in_its_time(desk: Desk) -> None:
    desk.provider.seconds = float("inf")
    await desk.submit(TEXTS, item_seconds=2 * HOUR)
    await slots_for(desk, 3 * HOUR)
    await desk.run()
    assert {str(reason).partition(":")[0] for reason in (await desk.results()).values()} == {"task_deadline"}


@pytest.mark.parametrize("mode", [Mode.CHAT])
async def test_between_the_slots_of_the_poller_the_job_waits_for_the_next(desk: Desk) -> None:
    [declared] = [one for one in pipeline.app.schedules if one.name == SCHEDULE]
    await desk.client.schedules.declare(declared)
    schedule = await desk.client.schedules.get(SCHEDULE)
    assert schedule is not None
    await desk.submit(TEXTS)
    waiting = await desk.status()
    assert waiting.wait == JobWait("the next slot of the poller", schedule.next_at)
    await desk.client.submit(pipeline.poll, {"wait": False}, tracking_id="slot")
    assert (await desk.status()).wait is None, "a run of the poller is about to take them"
    await testing.drain(pipeline.app, desk.client, advance=False)
    assert await desk.results() == ANSWERED


@pytest.mark.parametrize("mode", ONE_BY_ONE)
async def test_a_prompt_that_the_provider_fails_at_each_time_ends_in_its_time_and_the_others_do_not(desk: Desk) -> None:
    def fault(verb: str, what: object) -> Exception | None:
        return ServerFault("answered 500: it failed") if verb == "submit" and TEXTS[0] in str(what) else None

    desk.provider.fault = fault
    await desk.submit(TEXTS, item_seconds=2 * HOUR)
    await slots_for(desk, 3 * HOUR)
    await desk.run()
    results = await desk.results()
    assert str(results.pop(TEXTS[0])).partition(":")[0] == "task_deadline"
    assert results == {text: ANSWERED[text] for text in TEXTS[1:]}
