"""One way to ask a model: cached, paid within the lineage's ceiling, answered in a shape, or not answered at all.

Calls go through the provider layer of the llm pipeline. Money is reserved before a call, as much as it can cost, and
settled after it; a reservation of a claim that died counts whole. Whatever goes wrong is :class:`NoAnswer`, which the
callers turn into what the rules found.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from ramet import Context, CostRefused, own_logger
from ramet.commands.errors import UserError, one_line
from ramet.jobs.ai.prompts import Reply, Step
from ramet.jobs.settings import ModelSettings
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.pricing.prices import Price, cost_of, price_of, reserve_amount
from ramet.llm.providers.base import Answer, AnswerState, Mode, Provider, Submission
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request

log = own_logger("ramet.jobs.model")

CACHED = "SELECT answer FROM jobs_model_answers WHERE request_key = ?"
KEEP = """
    INSERT INTO jobs_model_answers (request_key, step, model, answer, cost, answered_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (request_key) DO NOTHING"""
WAIT_SECONDS_MAX = 15.0
"""A longer wait for a provider is not worth holding a task up: the rules' answer is there."""
BACKOFF_SECONDS = 1.0
TOLD_MAX = 10_000
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n?```\s*", re.DOTALL)

Shape = TypeVar("Shape", bound=Reply)
Opener = Callable[[ModelSettings], Provider]


class NoAnswer(Exception):
    """The model said nothing that can be used. The message is short and says why."""


@dataclass(slots=True)
class _QuestionCost:
    """What one question has cost so far."""

    cost: int = 0


class ModelSession:
    """What the tasks of one process share."""

    def __init__(self) -> None:
        self.opener: Opener = open_from_environment
        """How a provider is opened; tests put their own here."""
        self._providers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str, str], Provider]]
        self._providers = WeakKeyDictionary()
        self._told: set[tuple[str, str]] = set()

    def provider(self, settings: ModelSettings) -> Provider:
        """The provider, opened once in an event loop.

        Raises:
            Unanswered: it cannot be opened here.
        """
        opened = self._providers.setdefault(asyncio.get_running_loop(), {})
        place = settings.provider, settings.base_url, settings.key_variable
        if place not in opened:
            try:
                opened[place] = self.opener(settings)
            except UserError as error:
                raise NoAnswer(one_line(error)) from error
        return opened[place]

    async def close(self) -> None:
        """Close what was opened in this event loop."""
        for provider in self._providers.pop(asyncio.get_running_loop(), {}).values():
            await provider.close()

    def tell(self, tracking_id: str, step: str, why: str) -> None:
        """Say once for each lineage and reason that the rules had to do."""
        if len(self._told) >= TOLD_MAX:
            self._told.clear()
        if (tracking_id, why) not in self._told:
            self._told.add((tracking_id, why))
            log.warning("lineage %s, %s: no answer from a model (%s): the rules' is taken", tracking_id, step, why)


def open_from_environment(settings: ModelSettings) -> Provider:
    """The provider that the settings name, with the key that is in the environment.

    Raises:
        UserError: it cannot be opened, or what opens it is not installed.
    """
    base_url = settings.base_url or None
    api_key = os.environ.get(settings.key_variable) or None
    return open_provider(settings.provider, Mode.CHAT, base_url=base_url, api_key=api_key)


asking = ModelSession()


async def ask(ctx: Context, step: Step, shape: type[Shape], *, model: str, data: str, settings: ModelSettings) -> Shape:
    """The model's answer about a text.

    Raises:
        Unanswered: there is none, for whatever reason; it was told in the log.
    """
    schema = shape.model_json_schema()
    messages = step.messages(data, settings)
    request = Request.of(model, messages, settings.output_tokens, {"temperature": 0}, schema)
    key = f"{step.version}:{request.key}"
    for (text,) in await ctx.read(CACHED, (key,)):
        return shape.model_validate_json(text)
    try:
        asked = _QuestionCost()
        found = await _answered(ctx, request, shape, settings, asked)
    except NoAnswer as why:
        asking.tell(ctx.tracking_id, step.name, str(why))
        raise
    ctx.write(KEEP, (key, step.name, model, found.model_dump_json(), asked.cost, ctx.now))
    return found


async def _answered(
    ctx: Context, request: Request, shape: type[Shape], settings: ModelSettings, asked: _QuestionCost
) -> Shape:
    """Ask; again without a schema where the server knows none, and again to mend an answer that does not fit."""
    try:
        text = await _text(ctx, request, settings, asked)
    except _NoSchema:
        request = replace(request, schema=None)
        text = await _text(ctx, request, settings, asked)
    try:
        return shape.model_validate(_json(text))
    except (ValidationError, ValueError) as error:
        why = _answer_text(error)
    wanted = json.dumps(shape.model_json_schema())
    mend = f"That was not as asked: {why}. Answer again, with one JSON object of this shape: {wanted}"
    again = replace(
        request,
        messages=(*request.messages, {"role": "assistant", "content": text[:4_000]}, {"role": "user", "content": mend}),
    )
    try:
        return shape.model_validate(_json(await _text(ctx, again, settings, asked)))
    except (ValidationError, ValueError) as error:
        raise NoAnswer(f"its answer does not fit: {_answer_text(error)}") from None


class _NoSchema(Exception):
    """The server refused the request, perhaps for its schema."""


async def _text(ctx: Context, request: Request, settings: ModelSettings, asked: _QuestionCost) -> str:
    """The words of one call, paid for."""
    provider, price = asking.provider(settings), _price(request.model, settings)
    amount = reserve_amount(request, price)
    try:
        reservation = await ctx.reserve(amount)
    except CostRefused as refused:
        raise NoAnswer("over budget") from refused
    cost = 0
    try:
        answer = (await _called(ctx, provider, request, settings)).answer
        assert answer is not None, "a chat call answers at once"
        cost = cost_of(answer.usage, price) if answer.usage_known else amount
    except Ambiguous as error:
        cost = amount  # It may have been answered and billed.
        raise NoAnswer(f"nobody knows whether it answered: {one_line(error)}") from None
    except Refused as refused:
        if request.schema is not None:
            raise _NoSchema from refused
        raise NoAnswer(one_line(refused)) from None
    except ProviderError as error:
        raise NoAnswer(one_line(error)) from None
    finally:
        asked.cost += cost
        await reservation.settle(cost)
    return _words(answer)


def _words(answer: Answer) -> str:
    if answer.state is not AnswerState.SUCCEEDED or not answer.text:
        raise NoAnswer(f"its answer is {answer.state}: {answer.error or answer.code or 'no text'}")
    return answer.text


def _price(model: str, settings: ModelSettings) -> Price:
    try:
        return price_of(model, settings.provider, settings.price or None, base_url=settings.base_url or None)
    except UserError as error:
        raise NoAnswer(f"no price, so no ceiling could hold: {one_line(error)} (jobs.model.price)") from None


async def _called(ctx: Context, provider: Provider, request: Request, settings: ModelSettings) -> Submission:
    """One call, tried again a few times while it certainly did not arrive."""
    resource = (
        f"jobs:model:{urlsplit(settings.base_url).netloc.rpartition('@')[2] or settings.provider}:{request.model}"[:300]
    )
    tries = 0
    while True:
        await _turn(ctx, resource)
        try:
            submission = await provider.submit([request], submit_key=ctx.token, seconds=ctx.call_seconds)
            for rate in submission.rates:
                if rate.of == "requests":
                    await ctx.adapt(
                        resource, limit_per_minute=rate.limit, remaining=rate.remaining,
                        reset_seconds=rate.reset_seconds,
                    )  # fmt: skip
            return submission
        except NotAllowed:
            raise
        except NotSent as error:
            seconds = (
                error.seconds
                if isinstance(error, TooBusy) and error.seconds is not None
                else BACKOFF_SECONDS * 2**tries
            )
            tries += 1
            if tries > settings.retries or seconds > min(WAIT_SECONDS_MAX, ctx.remaining_seconds / 10):
                raise
            await asyncio.sleep(seconds)


async def _turn(ctx: Context, resource: str) -> None:
    while (seconds := await ctx.take({resource: 1})) > 0:
        if seconds > min(WAIT_SECONDS_MAX, ctx.remaining_seconds / 10):
            raise NoAnswer(f"it is asked too often: {seconds:.0f} s to wait")
        await asyncio.sleep(seconds)


def _json(text: str) -> Any:
    fenced = _FENCED.fullmatch(text)
    return json.loads(fenced[1] if fenced else text)


def _answer_text(error: ValidationError | ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return one_line(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")[:300]
    return "no JSON"
