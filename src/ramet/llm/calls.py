"""State of a submit that items and lanes keep: its name, its reservation, and its id at the provider."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from ramet import Client, Context, Outcome, Permanent, RetryAfter, as_usd
from ramet.llm import app
from ramet.llm.answers import Check, InvalidAnswer, open_check, read_json
from ramet.llm.errors import LlmError, NotAllowed, NotSent, ProviderError, TooBusy
from ramet.llm.pace import Pace
from ramet.llm.pricing.prices import cost_of, reserve_amount
from ramet.llm.providers.base import Answer, AnswerState, Capabilities, Gateway, Provider, RateLimit, Submission
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request
from ramet.llm.settings import JOB, JOB_KEY, ItemPayload, JobSettings


class SubmitState(BaseModel):
    """State of a task's last submit; the pipeline_state of items and lanes."""

    submits: int = 0
    """Number of submits so far, which is the number of the last one."""
    reservation: str | None = None
    """Reservation of the last submit, while it is open."""
    amount: int = 0
    """Amount of that reservation, nano-dollars."""
    remote_id: str | None = None
    submitted_at: float = 0.0
    ambiguous: int = 0
    """Submits of unknown fate."""
    unreached: int = 0
    """Submits in a row that did not reach the provider."""

    def submit_key(self, task_id: str) -> str:
        """Return the name of the last submit, for ever."""
        return f"{task_id}.{self.submits}"


async def save(ctx: Context, stage: str, state: SubmitState) -> None:
    """Commit the stage of the submit and its state."""
    await ctx.checkpoint(stage, state.model_dump())


async def settle(ctx: Context, state: SubmitState, actual: int) -> None:
    """Book what the last submit cost, nano-dollars; nothing where that was done.

    A call that cost more than its bound pauses the job, once: no ceiling holds with a server that ignores the limit of
    output tokens. A person who resumes the job has decided.
    """
    if state.reservation is None:
        return
    await ctx.reservation(state.reservation, state.amount).settle(actual)
    state.reservation = None
    if actual <= state.amount:
        return
    if not any(entry.by == OVER_BOUND for entry in await ctx.client.acts(ctx.tracking_id, limit=1_000)):
        await pause(ctx, over_bound(state.amount, actual), by=OVER_BOUND)


async def pause(ctx: Context, reason: str, *, by: str = "llm") -> None:
    """Pause the lineage of a task until a person has acted, and begin no more of its calls here."""
    calling.stop(ctx.tracking_id, ctx.now)
    await ctx.client.pause_lineage(ctx.tracking_id, by=by, reason=reason)


def account_fault(place: str, words: str) -> NotAllowed:
    """Return the error for an answer that says that the account is at fault."""
    return NotAllowed(f"{place} does not let this account do it: {words}")


OVER_BOUND = "llm:over_bound"
"""Name in the audit log for the pause of a job whose calls cost more than their bound."""


def over_bound(bound: int, actual: int) -> str:
    """Return the reason why such a job is paused, and what to do."""
    factor = f"{actual / bound:,.3g} times its bound of {as_usd(bound)}" if bound else "and was to cost nothing"
    return (
        f"a call cost {as_usd(actual)}, {factor}: does the server ignore the limit of output tokens, or its name "
        "(--limit-name)? no ceiling holds so; resume the job to go on all the same"
    )


async def reset(ctx: Context, stage: str, state: SubmitState) -> None:
    """Prepare the state for a revive: it submits again, under a name that no claim can have reserved under."""
    state.submits, state.remote_id, state.reservation = state.submits + 1, None, None
    await save(ctx, stage, state)


def note_refusal(ctx: Context, state: SubmitState, items: int, why: str) -> None:
    """Count a submit that the provider refused for now, or ``count`` lines of it, with the task's next commit."""
    row = (state.submit_key(ctx.id), ctx.tracking_id, ctx.id, items, why, ctx.now)
    ctx.write(app.ADD_REFUSAL, row)


BUSY_SECONDS = 30.0
"""Wait for a provider that is busy and does not say for how long."""
UNREACHED_SECONDS_MAX = 300.0


def busy(error: TooBusy, place: str) -> RetryAfter:
    """Return what a task raises for it: it waits until the provider's time, which uses none of its own."""
    later = RetryAfter(BUSY_SECONDS if error.seconds is None else error.seconds, place)
    later.args = (f"busy: {error}",)
    return later


def unreached(state: SubmitState, error: NotSent) -> Outcome:
    """Ask again what the provider did not accept, in 5 s, 10 s, ..., at most 5 minutes. Uses none of the task's time.

    Args:
        state: counts it already.
        error: why it was not reached.
    """
    seconds = min(UNREACHED_SECONDS_MAX, 2.5 * 2.0 ** min(state.unreached, 20))
    return Outcome.snooze(seconds, f"not reached: {error}", uses_time=False)


KEYS = {"openai": ("OPENAI_API_KEY",), "anthropic": ("ANTHROPIC_API_KEY",)}
ANY_KEY = "RAMET_LLM_API_KEY"
"""The key to the provider of an llm job; goes before the provider's own variable, `OPENAI_API_KEY` or
`ANTHROPIC_API_KEY`."""
JOBS_KEPT = 1_000
WAIT_HERE_SECONDS = 20.0
"""A shorter wait for a rate is not worth giving the claim back."""

Opened = dict[tuple[Any, ...], Provider]
Paces = dict[tuple[str, str], Pace]
Opener = Callable[[JobSettings], Provider]


class JobGone(Permanent):
    """The job's first task is not there any more: its lineage was pruned under it."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job in the hands of a task."""

    job_id: str
    settings: JobSettings
    provider: Provider
    check: Check | None

    @property
    def caps(self) -> Capabilities:
        """Capabilities of the provider."""
        return self.provider.caps


class CallSession:
    """State that the tasks of one process share."""

    def __init__(self) -> None:
        self.opener: Opener = open_from_environment
        """Function that opens providers; tests put their own here."""
        self._settings: WeakKeyDictionary[object, dict[str, JobSettings]] = WeakKeyDictionary()
        """Settings of jobs by the store of their database: another database may have a job of the same id."""
        self._providers: WeakKeyDictionary[asyncio.AbstractEventLoop, Opened] = WeakKeyDictionary()
        self._paces: WeakKeyDictionary[asyncio.AbstractEventLoop, Paces] = WeakKeyDictionary()

    def pace(self, job: ClaimedJob, model: str) -> Pace:
        """Return the pace of a job's calls to a model, in this process."""
        paces = self._paces.setdefault(asyncio.get_running_loop(), {})
        if len(paces) >= JOBS_KEPT:
            paces.clear()
        return paces.setdefault((job.job_id, model), Pace(job.settings.concurrency))

    def stop(self, job_id: str, now: float) -> None:
        """Begin nothing more of a job that is paused."""
        for (known, _), pace in self._paces.get(asyncio.get_running_loop(), {}).items():
            if known == job_id:
                pace.stop(now)

    async def submit(self, ctx: Context, job: ClaimedJob, request: Request, turn: int, submit_key: str) -> Submission:
        """Hand one request over within its turn, and let the pace know what came of it.

        Raises:
            ProviderError: as for `Provider.submit`.
        """
        pace = self.pace(job, request.model)
        try:
            sent = await job.provider.submit([request], submit_key=submit_key, seconds=ctx.call_seconds)
        except ProviderError as error:
            pace.failed(turn, error, ctx.now)
            raise
        if sent.answer is None:
            pace.answered(ctx.now)
        return sent

    async def job(self, client: Client, job_id: str) -> ClaimedJob:
        """Return the job of a lineage.

        Raises:
            JobGone: there is no such job.
            LlmError: its provider cannot be opened here.
        """
        known = self._settings.setdefault(client.store, {})
        settings = known.get(job_id)
        if settings is None:
            if len(known) >= JOBS_KEPT:
                known.clear()
            settings = known[job_id] = await settings_of(client, job_id)
        wanted = settings.limit_name, *settings.headers.items(), *settings.query.items()
        place = settings.provider, settings.mode, settings.base_url, wanted
        opened = self._providers.setdefault(asyncio.get_running_loop(), {})
        provider = opened.get(place)
        if provider is None:
            provider = opened[place] = self.opener(settings)
        return ClaimedJob(job_id, settings, provider, open_check(None, settings.check))

    async def close(self) -> None:
        """Close what was opened in this event loop."""
        for provider in self._providers.pop(asyncio.get_running_loop(), {}).values():
            await provider.close()
        self._settings.clear()


async def settings_of(client: Client, job_id: str) -> JobSettings:
    """Return the settings of a job.

    Raises:
        JobGone: there is no such job.
    """
    page = await client.tasks(tracking_id=job_id, kind=JOB, key=JOB_KEY, limit=1)
    if not page.tasks:
        raise JobGone(f"job {job_id} has no settings any more: was it pruned?")
    return JobSettings.model_validate(page.tasks[0].payload)


def key_for(provider: str) -> str | None:
    """Return the key to a provider, from the worker's environment."""
    for name in (ANY_KEY, *KEYS.get(provider, ())):
        if os.environ.get(name):
            return os.environ[name]
    return None


def open_from_environment(settings: JobSettings) -> Provider:
    """Return the provider of a job, with the key that is in the environment.

    Raises:
        LlmError: it cannot be opened.
    """
    return open_provider(
        settings.provider, settings.mode, base_url=settings.base_url, api_key=key_for(settings.provider),
        gateway=gateway_of(settings),
    )  # fmt: skip


ENVIRONMENT = "env:"
"""Prefix of a header's value that names a variable."""


def gateway_of(settings: JobSettings) -> Gateway:
    """Return the gateway before the provider of a job, with the secrets of the environment.

    Raises:
        LlmError: a variable is not set.
    """
    headers = {}
    for name, value in settings.headers.items():
        variable = value.removeprefix(ENVIRONMENT)
        if variable != value and not os.environ.get(variable):
            raise LlmError(
                f"the header {name} is the variable {variable}, and the environment has none: set {variable}"
            )
        headers[name] = value if variable == value else os.environ[variable]
    return Gateway(settings.limit_name, headers, settings.query)


# A line for each of a hundred thousand requests is noise.
logging.getLogger("httpx2").setLevel(logging.WARNING)

calling = CallSession()


def request_of(key: str, payload: ItemPayload) -> Request:
    """Return the request of a task; of a question in a blob, with the payload that :func:`whole_payload` read."""
    return Request(
        key, payload.model, payload.messages, payload.max_output_tokens, payload.parameters, payload.answer_schema,
        payload.endpoint, payload.row,
    )  # fmt: skip


async def whole_payload(ctx: Context, payload: ItemPayload) -> ItemPayload:
    """Return the payload of an item, read from its blob where the question was too large for a payload."""
    if payload.request is None:
        return payload
    return ItemPayload.model_validate(await ctx.read_blob(payload.request))


Resource = Callable[[str], str]
"""Names the resource of a model for ``requests``, ``tokens``, ``polls`` or ``batches``."""


async def learn_rates(ctx: Context, resource: Resource, rates: Sequence[RateLimit]) -> None:
    """Adapt the rates of a model to what an answer's headers say."""
    for rate in rates:
        await ctx.adapt(
            resource(rate.of),
            limit_per_minute=rate.limit,
            remaining=rate.remaining,
            reset_seconds=rate.reset_seconds,
        )


async def take_turn(ctx: Context, resource: Resource, wanted: Mapping[str, float]) -> float:
    """Take from the rates of a model, as ``{"requests": 1, "tokens": n}``; waits here only where that is short.

    Returns:
        0.0 when they were taken, else seconds until there may be room.
    """
    named = {resource(of): amount for of, amount in wanted.items()}
    # Asking again at the moment that was named keeps the lineage's place; a snooze would be back at the next poll only.
    while (seconds := await ctx.take(named)) > 0.0:
        if seconds > min(WAIT_HERE_SECONDS, ctx.remaining_seconds / 10.0):
            return seconds
        await asyncio.sleep(seconds)
    return 0.0


INVALID = "invalid"
"""State of an answer that the model gave and that does not fit what was wanted."""


class JudgedAnswer(NamedTuple):
    """An answer after it was looked at."""

    answer: Answer
    state: str
    """One of :class:`AnswerState`, or ``invalid``."""
    cost: int
    """Nano-dollars."""
    result: dict[str, Any] | None
    """Result that the item keeps; None but for ``succeeded``."""
    reason: str | None
    """Reason why it failed, ``kind: words``."""

    @property
    def succeeded(self) -> bool:
        """True if the item has its answer."""
        return self.state == AnswerState.SUCCEEDED


def check_of(job: ClaimedJob, request: Request) -> Check | None:
    """Return the check of answers to a question; None where any words will do."""
    if job.check is not None:
        return job.check
    if request.schema is not None:
        return open_check(dict(request.schema), None)
    return read_json if request.wants_json else None


def judged(job: ClaimedJob, request: Request, answer: Answer) -> JudgedAnswer:
    """Look at an answer: what it cost, whether it fits, what becomes of its item."""
    model, price = request.model, job.settings.prices[request.model].of(request)
    cost = cost_of(answer.usage, price, job.settings.discount)
    if not answer.usage_known:
        cost = reserve_amount(request, price, job.settings.discount)
    if answer.state != AnswerState.SUCCEEDED:
        told = ": ".join(part for part in (str(answer.state), answer.code, answer.error) if part)
        return JudgedAnswer(answer, answer.state, cost, None, told)
    check = check_of(job, request)
    value = None
    # A model that calls a tool answers later: its words, if there are any, are no answer yet.
    if check is not None and not answer.tool_calls:
        try:
            value = check(answer.text or "")
        except InvalidAnswer as error:
            return JudgedAnswer(answer, INVALID, cost, None, f"invalid_answer: {error}")
    usage = answer.usage
    result: dict[str, Any] = {
        "text": answer.text,
        "usage": [usage.input_tokens, usage.cached_tokens, usage.output_tokens],
        "cost": cost,
        "model": answer.model or model,
    }
    if value is not None:
        result["value"] = value
    if answer.response_id:
        result["response_id"] = answer.response_id
    result |= answer.details()
    if job.settings.raw and answer.body is not None:
        result["raw"] = answer.body
    return JudgedAnswer(answer, AnswerState.SUCCEEDED, cost, result, None)


RESULT_BYTES_MAX = 200_000
"""Most bytes of a result that its task keeps itself; a larger one is a blob."""


async def stored_result(ctx: Context, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as its task can keep it."""
    if _surely_small(result) or len(json.dumps(result)) <= RESULT_BYTES_MAX:
        return result
    blob = await ctx.blob(result)
    return {"usage": result["usage"], "cost": result["cost"], "model": result["model"], "blob": blob.reference}


def _surely_small(result: Mapping[str, Any]) -> bool:
    """Return whether a result is within the bound however its text is escaped; false where that takes a closer look."""
    left = RESULT_BYTES_MAX // 2  # The rest is for what has no text.
    for name, value in result.items():
        if isinstance(value, str):
            left -= 6 * len(value)
        elif name not in _OF_NUMBERS:
            return False
    return left > 0


_OF_NUMBERS = frozenset({"usage", "cost"})


class BookedAnswer(NamedTuple):
    """One answer to be written down."""

    task_id: str
    submit_key: str
    judged: JudgedAnswer
    late: bool = False
    """Its item had ended before it came: it is kept, and changes nothing."""
    kept: dict[str, Any] | None = None
    """Result that its item will keep, where that is not in the same commit or may be refused."""


def write_answers(ctx: Context, job_id: str, booked: Sequence[BookedAnswer], now: float) -> None:
    """Write answers down with the task's next commit."""
    for start in range(0, len(booked), app.ANSWERS_AT_ONCE):
        part = booked[start : start + app.ANSWERS_AT_ONCE]
        ctx.write(app.add_answers(len(part)), [value for one in part for value in _row(job_id, one, now)])


def _row(job_id: str, booked: BookedAnswer, now: float) -> tuple[Any, ...]:
    task_id, submit_key, (answer, state, cost, result, _), late, own = booked
    usage = answer.usage
    # An item that succeeded keeps its words itself.
    kept = late or result is None
    told: dict[str, Any] = {} if not kept else answer.details()
    if kept and answer.text:
        told["text"] = answer.text
    if own is not None:
        told["result"] = own
    words = json.dumps(told) if told else None
    return (
        job_id, task_id, submit_key, state, int(late), usage.input_tokens, usage.cached_tokens, usage.output_tokens,
        cost, answer.code, answer.error, words, now,
    )  # fmt: skip
