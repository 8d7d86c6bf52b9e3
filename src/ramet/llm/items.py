"""An item that makes its own calls: it submits one question, asks about it until it is answered, and keeps the answer.

Before anything is sent, its cost is reserved and the submit is written down (stage ``submitting``). A claim that finds
it there cannot know its fate: the process died, or the answer was lost. The money then counts as spent, the submit
is recorded as ambiguous, and the question may be asked again only so often as the limit ``call_retries`` says.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from ramet import Context, Outcome, Transient, own_logger
from ramet.llm import app as tables
from ramet.llm.app import ITEM_LIMITS, app
from ramet.llm.asking_again import asked_again, invalid_answers
from ramet.llm.calls import (
    INVALID,
    BookedAnswer,
    ClaimedJob,
    SubmitState,
    account_fault,
    busy,
    calling,
    judged,
    learn_rates,
    note_refusal,
    pause,
    request_of,
    reset,
    save,
    settle,
    stored_result,
    take_turn,
    unreached,
    whole_payload,
    write_answers,
)
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, ServerFault, TooBusy
from ramet.llm.known_answers import known_results, looks_up, writes_for
from ramet.llm.on_answer import HandlerFailed
from ramet.llm.pace import AGAIN_SECONDS
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.pricing.tokens import estimated_tokens
from ramet.llm.providers.base import Answer, AnswerState, PollState
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from ramet.llm.settings import ITEM, ITEMS, ItemPayload

log = own_logger("ramet.llm")

QUEUED, SUBMITTING, PROCESSING = "queued", "submitting", "processing"
POLL_SECONDS = 5.0
POLL_GROWTH = 1.6
POLL_SECONDS_MAX = 300.0
POLL_JITTER = 0.2
DELIVERIES_MAX = 5
"""Tries to commit what a job's own handler writes."""

UNKNOWN = "unknown: the fate of its submits is not known, and there were too many for another"

_chance = random.SystemRandom()


class ItemState(SubmitState):
    """State of an item's submits."""

    invalid: int = 0
    """Answers that did not fit."""
    deliveries: int = 0
    """Number of calls of the job's own handler with an answer that is kept."""


def poll_seconds(age_seconds: float, wanted: float | None = None) -> float:
    """Return the pause before the next poll: 5 s, then 1.6 times the last one, at most 5 minutes, a fifth more or less.

    Args:
        age_seconds: since the submit. The pauses so far add up to it, so it tells how many there were.
        wanted: what the provider asked for.
    """
    pause = min(POLL_SECONDS_MAX, POLL_SECONDS + (POLL_GROWTH - 1.0) * max(0.0, age_seconds))
    pause *= 1.0 + POLL_JITTER * (2.0 * _chance.random() - 1.0)
    return pause if wanted is None else max(pause, wanted)


@app.task(ITEM, queue=ITEMS, limits=ITEM_LIMITS, pulled=True)
async def item(ctx: Context, payload: ItemPayload) -> Outcome | dict[str, Any]:
    job = await calling.job(ctx.client, ctx.tracking_id)
    state = ItemState.model_validate(ctx.state)
    request = request_of(ctx.key, await whole_payload(ctx, payload))
    if state.invalid:
        request = asked_again(job, request, (await invalid_answers(ctx, [ctx.id])).get(ctx.id))
    try:
        if ctx.stage == PROCESSING:
            return await _poll(ctx, job, request, state)
        if ctx.stage == SUBMITTING and not await _given_up(ctx, job, state, "the process did not come back"):
            return Outcome.fail(UNKNOWN)
        async with calling.pace(job, request.model).turn(ctx.now) as turn:
            if not turn:
                return Outcome.snooze(AGAIN_SECONDS, "concurrency", uses_time=False)
            return await _submit(ctx, job, request, state, turn)
    except NotAllowed as error:
        return await hold_job(ctx, error)


async def hold_job(ctx: Context, error: ProviderError) -> Outcome:
    """Pause the job: whatever it sent now would be refused, until a person has acted."""
    await pause(ctx, str(error))
    return Outcome.snooze(POLL_SECONDS, f"not allowed: {error}", uses_time=False)


# --- submitting


async def _submit(
    ctx: Context, job: ClaimedJob, request: Request, state: ItemState, turn: int
) -> Outcome | dict[str, Any]:
    known = await known_results(ctx, job, [(ctx.id, request)]) if looks_up(job) else {}
    if known:
        return await _deliver(ctx, job, request, state, known[ctx.id])
    if ctx.deadline_at is not None and ctx.now >= ctx.deadline_at:
        # Claimed once more for what it may have been answered: there is nothing out, and nothing is begun any more.
        return Outcome.snooze(POLL_SECONDS, "not submitted again")
    resource = partial(job.settings.resource, request.model)
    seconds = await take_turn(ctx, resource, {"requests": 1, "tokens": estimated_tokens(request)})
    if seconds > 0.0:
        return Outcome.snooze(seconds, f"the rate of {request.model}", uses_time=False)
    price = job.settings.prices[request.model]
    state.submits += 1
    # Nothing is sent before the next checkpoint: what an earlier claim left open under the name cost nothing.
    reservation = await ctx.reserve(
        reserve_amount(request, price, job.settings.discount),
        name=f"submit{state.submits}",
        provider_deduplicates=True,
    )
    state.reservation, state.amount, state.remote_id, state.submitted_at = (
        reservation.id, reservation.amount, None, ctx.now
    )  # fmt: skip
    await save(ctx, SUBMITTING, state)
    try:
        sent = await calling.submit(ctx, job, request, turn, state.submit_key(ctx.id))
    except Ambiguous as error:
        if not await _given_up(ctx, job, state, str(error)):
            return Outcome.fail(UNKNOWN)
        raise Transient(f"ambiguous: {error}") from error
    except ProviderError as error:
        await settle(ctx, state, 0)
        if isinstance(error, NotSent):
            note_refusal(ctx, state, 1, str(error))
            state.unreached += not isinstance(error, TooBusy)
        await save(ctx, QUEUED, state)
        return await _not_taken(ctx, job, request.model, state, error)
    state.unreached = 0
    await learn_rates(ctx, resource, sent.rates)
    if sent.answer is not None:
        return await _answered(ctx, job, request, state, sent.answer)
    state.remote_id = sent.remote_id
    await save(ctx, PROCESSING, state)
    return Outcome.snooze(poll_seconds(0.0))


async def _not_taken(ctx: Context, job: ClaimedJob, model: str, state: ItemState, error: ProviderError) -> Outcome:
    """Return the outcome after a submit that the provider certainly did not accept."""
    if isinstance(error, Refused):
        return Outcome.fail(f"refused: {error.code}: {error}")
    if isinstance(error, TooBusy):
        later = busy(error, job.settings.place)
        # The others of this model need not find out one by one.
        await ctx.adapt(job.settings.resource(model, "requests"), remaining=0, reset_seconds=later.seconds)
        raise later from error
    if isinstance(error, NotSent):
        put_off = unreached(state, error)
        if isinstance(error, ServerFault):  # A request that the provider fails at each time ends in its own time.
            return Outcome.snooze(put_off.seconds, f"failed there: {error}")
        return put_off
    raise error


async def _given_up(ctx: Context, job: ClaimedJob, state: ItemState, why: str) -> bool:
    """Book a submit of unknown fate: its money counts as spent, and it is written down.

    Returns:
        Whether it may be submitted once more.
    """
    assert state.reservation is not None
    await settle(ctx, state, state.amount)
    _note(ctx, state, why)
    state.ambiguous += 1
    await save(ctx, QUEUED, state)
    return state.ambiguous <= job.settings.call_retries


# --- polling


async def _poll(ctx: Context, job: ClaimedJob, request: Request, state: ItemState) -> Outcome | dict[str, Any]:
    assert state.remote_id is not None
    age = ctx.now - state.submitted_at
    try:
        poll = await job.provider.poll(state.remote_id, seconds=ctx.call_seconds)
        if poll.state is PollState.LIVE:
            return Outcome.snooze(poll_seconds(age, poll.retry_seconds))
        if poll.answer is not None:
            return await _answered(ctx, job, request, state, poll.answer)
        if poll.state is PollState.ENDED:
            async for answer in job.provider.results(state.remote_id, seconds=ctx.call_seconds):
                return await _answered(ctx, job, request, state, answer)
    except TooBusy as error:
        return Outcome.snooze(poll_seconds(age, error.seconds), f"busy: {error}", uses_time=False)
    except NotSent as error:
        return Outcome.snooze(poll_seconds(age), f"not reached: {error}", uses_time=False)
    if poll.state is PollState.FAILED:
        failed = Answer(ctx.key, AnswerState.FAILED, error=poll.error, code=poll.provider_state, meaning=poll.meaning)
        return await _answered(ctx, job, request, state, failed)
    # Lost, or ended without a word: it may have been billed, so it counts as that, and is never asked again unasked.
    await settle(ctx, state, state.amount)
    await save(ctx, QUEUED, state)
    return Outcome.fail(f"lost: the provider does not know {state.remote_id} any more")


async def _answered(
    ctx: Context, job: ClaimedJob, request: Request, state: ItemState, answer: Answer
) -> Outcome | dict[str, Any]:
    one = judged(job, request, answer)
    await settle(ctx, state, one.cost)
    calling.pace(job, request.model).answered(ctx.now)
    result = None if one.result is None else await stored_result(ctx, one.result)
    kept = result if job.settings.on_answer is not None else None
    write_answers(ctx, ctx.tracking_id, [BookedAnswer(ctx.id, state.submit_key(ctx.id), one, kept=kept)], ctx.now)
    if result is not None:
        return await _deliver(ctx, job, request, state, result)
    again = answer.state is AnswerState.FAILED and answer.retriable
    if one.state == INVALID and state.invalid < job.settings.invalid_max:
        state.invalid, again = state.invalid + 1, True
    state.remote_id = None
    if answer.retriable:
        note_refusal(ctx, state, 1, one.reason or one.state)
    await save(ctx, QUEUED, state)  # Also before it fails: a person may revive it.
    if answer.meaning is Meaning.ACCOUNT:
        raise account_fault(job.settings.place, f"{answer.code}: {answer.error}")
    if answer.meaning is Meaning.BUSY:
        return await _not_taken(ctx, job, request.model, state, TooBusy(one.reason or one.state))
    if not again:
        return Outcome.fail(one.reason or one.state)
    raise Transient(one.reason)


async def _deliver(
    ctx: Context, job: ClaimedJob, request: Request, state: ItemState, result: dict[str, Any]
) -> Outcome | dict[str, Any]:
    """End with an answer, and with what the job's own handler writes for it: in one commit."""
    if job.settings.on_answer is not None:
        # The answer is paid: it is kept before a handler may fail, and the number of its tries with it.
        state.remote_id, state.deliveries = None, state.deliveries + 1
        await save(ctx, QUEUED, state)
        if state.deliveries > DELIVERIES_MAX:
            return Outcome.fail(f"on_answer: its writes failed {DELIVERIES_MAX} times; the answer is kept")
    try:
        for sql, parameters in await writes_for(ctx, job, ctx.id, request, result):
            ctx.write(sql, parameters)
    except HandlerFailed as error:
        return Outcome.fail(f"on_answer: {error}")
    return result


# --- ending


@app.on_end(item)
async def end_item(ctx: Context, payload: ItemPayload) -> None:
    """Cancel at the provider what a limit or a person ended here; keep what it answered all the same."""
    state = ItemState.model_validate(ctx.state)
    if ctx.stage == PROCESSING and state.remote_id is not None:
        await _cancel(ctx, payload, state)
    if ctx.stage == SUBMITTING:
        _note(ctx, state, f"it was ended while its fate was unknown: {ctx.ending_reason}")
    await reset(ctx, QUEUED, state)


async def _cancel(ctx: Context, payload: ItemPayload, state: ItemState) -> None:
    job = await calling.job(ctx.client, ctx.tracking_id)
    try:
        assert state.remote_id is not None
        if job.caps.can_cancel:
            await job.provider.cancel(state.remote_id, seconds=ctx.call_seconds)
        poll = await job.provider.poll(state.remote_id, seconds=ctx.call_seconds)
        answers = [poll.answer] if poll.answer is not None else []
        if poll.state is PollState.ENDED and not answers:
            answers = [answer async for answer in job.provider.results(state.remote_id, seconds=ctx.call_seconds)]
        for answer in answers:
            one = judged(job, request_of(ctx.key, await whole_payload(ctx, payload)), answer)
            await settle(ctx, state, one.cost)
            write_answers(
                ctx, ctx.tracking_id, [BookedAnswer(ctx.id, state.submit_key(ctx.id), one, late=True)], ctx.now
            )
        if not answers:
            _note(ctx, state, f"it was ended, and {state.remote_id} is {poll.provider_state} at the provider")
    except ProviderError as error:
        # It ends without; what is open counts as spent.
        log.warning("task %s could not be cancelled at the provider: %s", ctx.id, error)
        _note(ctx, state, f"it was ended, and {state.remote_id} could not be cancelled: {error}")


# --- small parts


def _note(ctx: Context, state: ItemState, why: str) -> None:
    """Write an ambiguous submit down, with the task's next commit."""
    row = (state.submit_key(ctx.id), ctx.tracking_id, ctx.id, 1, state.amount, why, "unknown", None, ctx.now)
    ctx.write(tables.ADD_AMBIGUOUS, row)
