"""``ask``: a model's answer in any handler, under the ceilings of money, paid once, checked, with tools."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast, overload
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter, ValidationError

from ramet import Claim, Context, Permanent, SyncClaim, SyncContext
from ramet.llm.answers import Check, InvalidAnswer, error_line, open_check, read_json
from ramet.llm.asking.answer import (
    Answer,
    AnswerCutOff,
    AnswerInvalid,
    AnswerRefused,
    RequestRefused,
    TooManyRounds,
    total,
)
from ramet.llm.asking.exchange import Cache, Desk, Exchange
from ramet.llm.asking.model import Connections, Model, connections
from ramet.llm.asking.tools import Kind, ToolContext, run_tool, tools_of
from ramet.llm.errors import InputError, LlmError, Refused
from ramet.llm.providers.base import AnswerState, Mode
from ramet.llm.providers.registry import check_request
from ramet.llm.requests import Request, digest

Message = Mapping[str, Any]
Value = TypeVar("Value")
Schema = type[Any] | Mapping[str, Any]
Handler = Context | Claim
PlainHandler = SyncContext | SyncClaim

MAX_OUTPUT_TOKENS = 1_024
REPAIRS = 2
"""Times that an answer that does not fit is asked for again, with the error."""
ROUNDS = 8
"""Rounds of tool calls that the model has."""
_REPAIR = "Your answer cannot be used: {}. Answer again, with nothing but JSON that fits the schema."
_REFUSALS = frozenset({"refusal", "content_filter"})
numbers: WeakKeyDictionary[object, Counter[str]] = WeakKeyDictionary()
"""How often each question was asked in this run of the handler, by context."""


@dataclass
class Conversation:
    """One ``ask`` on its way to an answer."""

    desk: Desk
    messages: list[Message]
    parameters: dict[str, Any]
    schema: Mapping[str, Any] | None
    check: Callable[[str], Any] | None
    max_output_tokens: int
    name: str | None
    exchanges: list[Exchange] = field(default_factory=list)
    tool_calls: list[Mapping[str, Any]] = field(default_factory=list)

    async def next(self) -> tuple[Exchange, str]:
        """Make the next call; return what came, and the key of the call."""
        model = self.desk.model
        asked = Request.of(model.name, self.messages, self.max_output_tokens, self.parameters, self.schema)
        try:
            check_request(model.provider, Mode.BACKGROUND if model.api == "responses" else Mode.CHAT, asked)
        except Refused as error:
            raise RequestRefused(str(error)) from error
        counts = numbers.setdefault(self.desk.ctx, Counter())
        counts[asked.key] += 1
        # The same question once more in one run is another call; in the next attempt it is the same one.
        number = counts[asked.key] if self.name is None else digest(self.name)[:16]
        key = f"{asked.key}.{number}"
        exchange = await self.desk.call(asked, key)
        self.exchanges.append(exchange)
        self.messages.append(exchange.message)
        return exchange, key

    def answer(self, value: Any) -> Answer[Any]:
        """Return the answer as it is now."""
        last = self.exchanges[-1].answer
        refused = last.state is AnswerState.INCOMPLETE and last.code in _REFUSALS
        return Answer(
            text="" if refused else last.text or "",
            value=value,
            cost=sum(exchange.cost for exchange in self.exchanges),
            usage=total([exchange.answer.usage for exchange in self.exchanges]),
            model=last.model or self.desk.model.name,
            finish_reason=last.finish_reason,
            reasoning=last.reasoning,
            refusal=(last.text or last.error) if refused else None,
            tool_calls=tuple(self.tool_calls),
            response_id=last.response_id,
            cached=all(exchange.cached for exchange in self.exchanges),
            messages=tuple(self.messages),
        )

    async def use_tools(self, exchange: Exchange, key: str, run: Callable[[Mapping[str, Any]], Any]) -> None:
        """Run the tools that the model calls, in their order, and take down what they returned."""
        kept = await self.desk.kept(self.desk.scope, f"{key}.tools")
        calls = exchange.answer.tool_calls
        if kept is not None:
            results = json.loads(kept[0])
        else:
            results = [await run(call) for call in calls]
            await self.desk.keep(f"{key}.tools", json.dumps(results, ensure_ascii=False))
        for call, result in zip(calls, results, strict=True):
            function = call.get("function") or call.get("custom") or {}
            self.tool_calls.append(
                {"name": function.get("name"), "arguments": function.get("arguments"), "result": result}
            )
            self.messages.append({"role": "tool", "tool_call_id": call.get("id"), "content": result})


@overload
async def ask(
    ctx: Handler, model: Model | str, messages: str | Sequence[Message], *, schema: type[Value],
    tools: Sequence[Callable[..., Any]] = ..., spawns: Sequence[Kind] = ..., max_output_tokens: int = ...,
    parameters: Mapping[str, Any] | None = ..., cache: Cache | None = ..., name: str | None = ..., repairs: int = ...,
    rounds: int = ..., pause: bool = ...,
) -> Answer[Value]: ...  # fmt: skip
@overload
async def ask(
    ctx: Handler, model: Model | str, messages: str | Sequence[Message], *, schema: Mapping[str, Any] | None = ...,
    tools: Sequence[Callable[..., Any]] = ..., spawns: Sequence[Kind] = ..., max_output_tokens: int = ...,
    parameters: Mapping[str, Any] | None = ..., cache: Cache | None = ..., name: str | None = ..., repairs: int = ...,
    rounds: int = ..., pause: bool = ...,
) -> Answer[Any]: ...  # fmt: skip
async def ask(
    ctx: Handler,
    model: Model | str,
    messages: str | Sequence[Message],
    *,
    schema: Schema | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    spawns: Sequence[Kind] = (),
    max_output_tokens: int = MAX_OUTPUT_TOKENS,
    parameters: Mapping[str, Any] | None = None,
    cache: Cache | None = None,
    name: str | None = None,
    repairs: int = REPAIRS,
    rounds: int = ROUNDS,
    pause: bool = True,
) -> Answer[Any]:
    """Ask a model in a handler, and pay once, whatever is killed when.

    The most that a call can cost is reserved before it, under the ceilings of the lineage, its branches, the day and
    the database, and what it cost is booked in the transaction that keeps the answer. A next attempt of the task finds
    the answers that were paid. The same question asked again in one run is another call.

    Args:
        ctx: of the handler, whose app has had :func:`ramet.llm.declare_models`.
        model: such as ``"gpt-5-mini"`` or ``"anthropic:claude-sonnet-4-5"``; a :class:`ramet.llm.Model` for other
            servers and prices.
        messages: the user's words, or a conversation in the form of chat completions, with roles ``system``, ``user``,
            ``assistant`` and ``tool``.
        schema: a pydantic model or other type, or a JSON Schema, that the answer has to fit: ``answer.value``.
        tools: functions that the model may call; they run here, one after the other. Only arguments that fit reach
            them; the model gets their result as text or JSON.
        spawns: kinds of which the model may spawn children of this task, and nothing else.
        max_output_tokens: of each call, reasoning included; it bounds the price.
        parameters: ``temperature``, ``reasoning_effort``, ``thinking``, ...: sent on.
        cache: take the answer to the same request where a task of this ``lineage``, or of ``all``, has paid for it.
        name: another call than that of the same question without it, or with another name.
        repairs: how often an answer that does not fit is asked for again, with the error.
        rounds: how often the model may call tools before the answer.
        pause: False leaves the lineage running at a fault of the account, for handlers that go on without an answer.

    Raises:
        CostRefused: a ceiling has no room. A handler that lets it through is put off, or fails with ``cost``.
        ProviderBusy, AccountFault: put off; the latter pauses the lineage with the provider's words.
        AnswerLost, Transient: tried again, by the kind's rule.
        AnswerError: there is no answer that could be used: refused, cut off, invalid, or too many rounds.
        NotInstalled, ValueError: the app has no table for answers; an argument is not valid.
    """
    asked = _conversation(
        cast(Context, ctx), model, messages, schema=schema, tools=tools, spawns=spawns,
        max_output_tokens=max_output_tokens, parameters=parameters, cache=cache, name=name, pauses=pause,
    )  # fmt: skip
    return await _answered(asked, tools, spawns, repairs, rounds)


async def _answered(
    asked: Conversation, tools: Sequence[Callable[..., Any]], spawns: Sequence[Kind], repairs: int, rounds: int
) -> Answer[Any]:
    """Go on with a conversation until it has an answer."""
    known = tools_of(tools, spawns)
    at_tools = ToolContext(asked.desk.ctx, spawns)
    while True:
        exchange, key = await asked.next()
        if exchange.answer.state is AnswerState.INCOMPLETE:
            raise _incomplete(asked, exchange)
        if exchange.answer.tool_calls and known:
            if rounds <= 0:
                raise TooManyRounds("the model still calls tools: allow more rounds", asked.answer(None))
            rounds -= 1
            await asked.use_tools(exchange, key, lambda call: run_tool(known, call, at_tools))
            continue
        if asked.check is None:
            return asked.answer(None)
        try:
            return asked.answer(asked.check(exchange.answer.text or ""))
        except InvalidAnswer as error:
            if repairs <= 0:
                raise AnswerInvalid(f"the answer does not fit: {error}", asked.answer(None)) from error
            repairs -= 1
            asked.messages.append({"role": "user", "content": _REPAIR.format(error)})


def _incomplete(asked: Conversation, exchange: Exchange) -> Exception:
    answer = exchange.answer
    if answer.code in _REFUSALS:
        return AnswerRefused(f"{answer.code}: {answer.text or answer.error}", asked.answer(None))
    return AnswerCutOff(f"{answer.code}: {answer.error}", asked.answer(None))


def _conversation(
    ctx: Context, model: Model | str, messages: str | Sequence[Message], *, schema: Schema | None,
    tools: Sequence[Callable[..., Any]], spawns: Sequence[Kind], max_output_tokens: int,
    parameters: Mapping[str, Any] | None, cache: Cache | None, name: str | None, pauses: bool,
) -> Conversation:  # fmt: skip
    if cache not in (None, "lineage", "all"):
        raise ValueError(f"cache is {cache!r}: give 'lineage', 'all' or None")
    told: list[Message] = [{"role": "user", "content": messages}] if isinstance(messages, str) else [*messages]
    chosen, json_schema, check = checked_model(model, schema, told, max_output_tokens)
    sent = dict(parameters or {})
    if declared := [tool.declaration for tool in tools_of(tools, spawns).values()]:
        sent["tools"] = declared
    return Conversation(
        Desk(ctx, chosen, chosen.priced(), cache, pauses), told, sent, json_schema, check, max_output_tokens, name
    )


def checked_model(
    model: Model | str, schema: Schema | None, messages: Sequence[Message], max_output_tokens: int
) -> tuple[Model, Mapping[str, Any] | None, Callable[[str], Any] | None]:
    """Return the model, the JSON Schema that is sent, and what makes a value of an answer's text.

    Raises:
        Permanent: the model has no price, or the schema cannot be used.
        ValueError: there is no message, or a number of tokens that is not valid.
    """
    if type(max_output_tokens) is not int or max_output_tokens < 1:
        raise ValueError(f"max_output_tokens is {max_output_tokens!r}: give a whole number of at least 1")
    if not messages:
        raise ValueError("messages is empty: give the user's words, or a conversation")
    chosen = Model.of(model)
    try:
        chosen.priced()
        return chosen, *_checked(schema)
    except LlmError as error:
        raise Permanent(str(error)) from error


def _checked(schema: Schema | None) -> tuple[Mapping[str, Any] | None, Callable[[str], Any] | None]:
    """Return the JSON Schema that is sent, and what makes a value of the text."""
    if schema is None:
        return None, None
    if isinstance(schema, Mapping):
        check: Check | None = open_check(schema, None)
        return schema, check
    adapter: TypeAdapter[Any] = TypeAdapter(schema)
    try:
        json_schema = adapter.json_schema()
    except Exception as error:
        raise InputError(f"no JSON Schema can be made of {schema!r:.100}: {error}") from error

    def value_of(text: str) -> Any:
        value = read_json(text)
        try:
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            raise InvalidAnswer(error_line(first["loc"], first["msg"])) from error

    return json_schema, value_of


class BlockingContext:
    """A plain handler's context as an async one: its methods block the handler's own thread, which waits for nothing
    else."""

    def __init__(self, ctx: PlainHandler) -> None:
        self._ctx = ctx
        numbers[self] = numbers.setdefault(ctx, Counter())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ctx, name)
        if name not in _VERBS:
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            result = found(*arguments, **options)
            return _BlockingReservation(result) if name == "reserve" else result

        return call


class _BlockingReservation:
    def __init__(self, reservation: Any) -> None:
        self._reservation = reservation
        self.id, self.amount, self.actual = reservation.id, reservation.amount, reservation.actual

    async def settle(self, actual: int) -> None:
        self._reservation.settle(actual)


_VERBS = frozenset({"adapt", "blob", "read", "read_blob", "reserve", "spawn_now", "take", "transaction"})


@overload
def ask_sync(
    ctx: PlainHandler, model: Model | str, messages: str | Sequence[Message], *, schema: type[Value], **options: Any
) -> Answer[Value]: ...
@overload
def ask_sync(
    ctx: PlainHandler, model: Model | str, messages: str | Sequence[Message], *,
    schema: Mapping[str, Any] | None = ..., **options: Any,
) -> Answer[Any]: ...  # fmt: skip
def ask_sync(
    ctx: PlainHandler, model: Model | str, messages: str | Sequence[Message], *, schema: Any = None, **options: Any
) -> Answer[Any]:
    """Ask a model in a plain ``def`` handler; see :func:`ask`.

    Args:
        ctx, model, messages, schema: as for :func:`ask`.
        options: the others of :func:`ask`.
    """

    async def asked() -> Answer[Any]:
        opened: Connections = connections
        async with opened:
            answer: Answer[Any] = await ask(
                cast(Context, BlockingContext(ctx)), model, messages, schema=schema, **options
            )
            return answer

    return asyncio.run(asked())
