"""``ask_later``: a handler's question goes into a provider's batch, the task sleeps, and its next run has the answer.

A question is a task below the one that asks (an item of a batch), which a lane of the same lineage binds, sends and
settles as those of a job are. A join waits for the question, not for the lane: that is a child of a task that only
starts it. The lane reserves and settles the money, so the ceilings of the lineage bound it like any other call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from ramet import App, Claim, Context, Limits, Outcome, SpawnHandle, Task, TaskState
from ramet.llm import app as tables
from ramet.llm.answers import InvalidAnswer
from ramet.llm.app import BATCH_ITEM_LIMITS
from ramet.llm.asking.answer import Answer, AnswerError, AnswerInvalid, RequestRefused, total
from ramet.llm.asking.ask import (
    MAX_OUTPUT_TOKENS,
    REPAIRS,
    BlockingContext,
    Message,
    PlainHandler,
    Schema,
    checked_model,
    numbers,
)
from ramet.llm.asking.exchange import TABLES
from ramet.llm.asking.model import Connections, Model
from ramet.llm.batches import batch_item, end_lane, run_lane
from ramet.llm.calls import ClaimedJob
from ramet.llm.errors import Refused
from ramet.llm.items import QUEUED
from ramet.llm.providers.base import Mode, Provider, TokenUsage
from ramet.llm.providers.registry import caps_of, check_request, open_provider
from ramet.llm.requests import Request, digest
from ramet.llm.settings import BATCH_ITEM, JobSettings, LanePayload, item_payload, lane_queue

STARTER = "llm.later"
LANE = "llm.later_lane"
GATHER_SECONDS = 10.0
"""Time for which questions are gathered before a batch is sent."""
DAY_SECONDS = 86_400.0
_PAID = "SELECT input_tokens, cached_tokens, output_tokens, cost FROM llm_answers WHERE task_id = ?"
LANE_LIMITS = Limits(max_attempts=20, task_seconds=30 * DAY_SECONDS)


class LaterPayload(BaseModel):
    """Model that a lane asks."""

    model: str
    provider: str
    base_url: str | None
    price: str | None
    key_variable: str | None

    @property
    def asked(self) -> Model:
        """The model."""
        return Model(
            self.model, self.provider, base_url=self.base_url, price=self.price, key_variable=self.key_variable
        )


def open_batches(model: Model) -> Provider:
    """Return the provider of a model's batches, ready for calls; see :func:`ramet.llm.asking.model.open_model`."""
    return open_provider(model.provider, Mode.BATCH, base_url=model.base_url, api_key=model.key)


batch_connections = Connections(open_batches)


async def start_lane(ctx: Context, payload: LaterPayload) -> None:
    """Start the lane that sends a question; questions of the same model that wait by then go with it."""
    ctx.spawn(LANE, payload, key=ctx.key, delay_seconds=GATHER_SECONDS)


async def lane(ctx: Context, payload: LaterPayload) -> Outcome | dict[str, Any] | None:
    """Send the questions that wait, and settle them; it ends when there are none."""
    queue = lane_queue(ctx.tracking_id, payload.model)
    idle = ctx.stage in (None, QUEUED) and not await ctx.bound()
    if idle and not await ctx.client.claimable(BATCH_ITEM, queue=queue, limit=1):
        return None
    return await run_lane(ctx, _job(ctx, payload), LanePayload(lane=0, model=payload.model))


async def end_later_lane(ctx: Context, payload: LaterPayload) -> None:
    """Cancel at the provider what a limit or a person ended here."""
    await end_lane(ctx, _job(ctx, payload))


def _job(ctx: Context, payload: LaterPayload) -> ClaimedJob:
    """Return the settings of the lane's job, which is its lineage."""
    model = payload.asked
    discount = 1.0 if model.base_url is not None else caps_of(model.provider)[Mode.BATCH].discount
    settings = JobSettings(
        provider=model.provider, mode=Mode.BATCH, base_url=model.base_url, prices={model.name: model.priced()},
        discount=discount, invalid_max=0, rows=0, items=0,
    )  # fmt: skip
    return ClaimedJob(ctx.tracking_id, settings, batch_connections.provider(model), None)


def declare_models(app: App, *, batches: bool = False) -> App:
    """Give an app the table in which ``ask`` keeps answers; once, before a client or worker opens the database.

    Args:
        batches: also the kinds and tables with which ``ask_later`` works.

    Returns:
        The app: ``app = llm.declare_models(App(...))``.
    """
    app.tables = (*app.tables, *(table for table in TABLES if table not in app.tables))
    if batches:
        _declare_batches(app)
    return app


def _declare_batches(app: App) -> None:
    """Register the kinds with which ``ask_later`` works, and their tables."""
    app.tables = (*app.tables, *(table for table in tables.DEFINITIONS if table not in app.tables))
    app.task(BATCH_ITEM, limits=BATCH_ITEM_LIMITS, pulled=True)(batch_item)
    app.task(STARTER)(start_lane)
    app.task(LANE, limits=LANE_LIMITS)(lane)
    app.on_end(LANE)(end_later_lane)


async def ask_later(
    ctx: Context | Claim,
    model: Model | str,
    messages: str | Sequence[Message],
    *,
    schema: Schema | None = None,
    max_output_tokens: int = MAX_OUTPUT_TOKENS,
    parameters: Mapping[str, Any] | None = None,
    name: str | None = None,
    repairs: int = REPAIRS,
) -> Answer[Any] | None:
    """Ask a model through a provider's batch, hours later and usually at half the price.

    In the first run it asks for the question's task and returns None: ask all questions, then ``return ctx.join()``.
    The run after the join has the answers. Questions to one model that wait at once share a batch.

    Args:
        ctx: of the handler, whose app has had ``declare_models(app, batches=True)``.
        model: as for :func:`ramet.llm.ask`.
        messages: likewise.
        schema: a type or JSON Schema that the answer has to fit.
        max_output_tokens: reasoning included; it bounds the price.
        parameters: sent on.
        name: another question than the same one without it, or with another name.
        repairs: how often an answer that does not fit the JSON Schema is asked for again, with the error, in a later
            batch. A type's own validators judge the last answer only.

    Raises:
        AnswerError: there is no answer that could be used; ``AnswerInvalid`` and ``RequestRefused`` among them.
        Permanent, ValueError: the price list does not know the model; an argument is not valid.
        UnknownKind: the app does not have the kinds of batches.
    """
    told: list[Message] = [{"role": "user", "content": messages}] if isinstance(messages, str) else [*messages]
    chosen, json_schema, check = checked_model(model, schema, told, max_output_tokens)
    asked = Request.of(chosen.name, told, max_output_tokens, parameters, json_schema)
    try:
        check_request(chosen.provider, Mode.BATCH, asked)
    except Refused as error:
        raise RequestRefused(str(error)) from error
    counts = numbers.setdefault(ctx, Counter())
    counts[asked.key] += 1
    number = counts[asked.key] if name is None else name
    # One task for each question of each task: the task that asks has to be its parent, to wait for it.
    key = digest(f"{ctx.id} {asked.key} {number}")
    page = await ctx.client.tasks(tracking_id=ctx.tracking_id, kind=BATCH_ITEM, key=key, exact=True, limit=1)
    if not page.tasks:
        _spawn(ctx, chosen, asked._replace(key=key), repairs)
        return None
    [task] = page.tasks
    if not TaskState(task.state).terminal:
        return None
    return await _answer(ctx, chosen, task, told, check)


def ask_later_sync(
    ctx: PlainHandler, model: Model | str, messages: str | Sequence[Message], *, schema: Any = None, **options: Any
) -> Answer[Any] | None:
    """Ask a model through a provider's batch in a plain ``def`` handler; see :func:`ask_later`.

    Args:
        ctx, model, messages, schema: as for :func:`ask_later`.
        options: the others of :func:`ask_later`.
    """
    context = cast(Context, BlockingContext(ctx))
    return asyncio.run(ask_later(context, model, messages, schema=schema, **options))


def _spawn(ctx: Context | Claim, model: Model, request: Request, repairs: int) -> SpawnHandle:
    payload = LaterPayload(
        model=model.name, provider=model.provider, base_url=model.base_url, price=model.price,
        key_variable=model.key_variable,
    )  # fmt: skip
    queue = lane_queue(ctx.tracking_id, model.name)
    item = ctx.spawn(BATCH_ITEM, item_payload(request, repairs), key=request.key, queue=queue, required=True)
    ctx.spawn(STARTER, payload, key=request.key, required=True)
    return item


async def _answer(ctx: Context | Claim, model: Model, task: Task, asked: Sequence[Message], check: Any) -> Answer[Any]:
    """Return the answer that the question's task has.

    Raises:
        AnswerError: it has none.
    """
    if task.state != TaskState.SUCCESS:
        reason = task.reason or task.error or str(task.state)
        kind = {"invalid_answer": AnswerInvalid, "refused": RequestRefused}.get(reason.partition(":")[0], AnswerError)
        raise kind(reason)
    result: dict[str, Any] = task.result or {}
    if "blob" in result:
        result = await ctx.read_blob(result["blob"])
    text = str(result.get("text") or "")
    try:
        value = None if check is None else check(text)
    except InvalidAnswer as error:
        raise AnswerInvalid(f"the answer does not fit: {error}") from error
    said = {"role": "assistant", "content": text}
    paid = await ctx.read(_PAID, (task.id,))
    return Answer(
        text=text, value=value, cost=sum(int(cost) for *_, cost in paid),
        usage=total([TokenUsage(*tokens) for *tokens, _ in paid]),
        model=result.get("model") or model.name, finish_reason=result.get("finish_reason"),
        reasoning=result.get("reasoning"), tool_calls=tuple(result.get("tool_calls", ())),
        response_id=result.get("response_id"), messages=(*asked, said),
    )  # fmt: skip
