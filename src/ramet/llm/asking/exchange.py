"""One call to a model: looked up, or reserved, made, and kept with its price in one transaction.

A task's answers are rows of ``llm_asked``. An answer is written in the transaction that settles its reservation, so
that whatever is killed when, the next attempt finds an answer that was paid, and books in full a call of which it finds
none. The cache is rows of the same table under the name of a lineage, or of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ramet import ClaimLost, Context, Permanent, Reservation, StoreError, TransactionRefused, Transient, own_logger
from ramet.llm.asking.answer import AccountFault, AnswerLost, ProviderBusy, RequestRefused
from ramet.llm.asking.model import Model, connections
from ramet.llm.calls import BUSY_SECONDS, account_fault, learn_rates, pause, take_turn
from ramet.llm.errors import Ambiguous, LlmError, NotAllowed, ProviderError, Refused, TooBusy
from ramet.llm.pricing.prices import Price, cost_of, reserve_amount
from ramet.llm.pricing.tokens import estimated_tokens
from ramet.llm.providers.base import ANSWER_DETAILS, AnswerState, Provider, TokenUsage
from ramet.llm.providers.base import Answer as ProviderAnswer
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request

log = own_logger("ramet.llm")

Cache = Literal["lineage", "all"]
KEPT_SECONDS = 30 * 86_400.0
"""Lifetime of kept answers."""
CALL_SECONDS_MAX = 600.0
SWEEP = "00"
"""Prefix of the keys whose answers remove old rows: one of 256."""

TABLES = (
    # Answers that tasks have paid for, and those that others may take from the cache.
    """
    CREATE TABLE IF NOT EXISTS llm_asked (
        scope    TEXT NOT NULL,
        key      TEXT NOT NULL,
        answer   TEXT NOT NULL,
        cost     BIGINT NOT NULL,
        asked_at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (scope, key)
    )""",
    "CREATE INDEX IF NOT EXISTS llm_asked_by_time ON llm_asked (asked_at)",
)
_GET = "SELECT answer, cost FROM llm_asked WHERE scope = ? AND key = ?"
_PUT = (
    "INSERT INTO llm_asked (scope, key, answer, cost, asked_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (scope, key) DO NOTHING"
)
_REMOVE_OLD = "DELETE FROM llm_asked WHERE asked_at < ?"


class NotInstalled(Permanent):
    """The database has no table for answers: write ``llm.declare_models(app)`` below ``app = App(...)``."""

    def __init__(self) -> None:
        super().__init__("the database has no table for answers: write llm.declare_models(app) below app = App(...)")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call that was answered, now or before."""

    answer: ProviderAnswer
    message: Mapping[str, Any]
    """Message of the model, as the next call takes it back."""
    cost: int
    """Nano-dollars that this task has paid."""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Desk:
    """State that all calls of one ``ask`` share."""

    ctx: Context
    model: Model
    price: Price
    cache: Cache | None
    pauses: bool = True
    """False: a fault of the account pauses nothing."""

    @property
    def scope(self) -> str:
        """Under which the task's own answers are kept."""
        return f"task:{self.ctx.id}"

    @property
    def cache_scope(self) -> str | None:
        """Under which answers are kept for others; None for none."""
        return {"lineage": f"lineage:{self.ctx.tracking_id}", "all": "all", None: None}[self.cache]

    async def call(self, request: Request, key: str) -> Exchange:
        """Return the answer to a request; it is asked and paid for only where it is not kept.

        Args:
            request: what is asked.
            key: of the call within the task, the same in every attempt.

        Raises:
            CostRefused: a ceiling has no room for the most that it can cost.
            ProviderBusy, AccountFault, RequestRefused, Transient: as the provider meant it.
            NotInstalled: see :func:`ramet.llm.declare_models`.
            ClaimLost: the claim is not this handler's any more. The amount that was paid is booked.
        """
        kept = await self.kept(self.scope, key)
        if kept is not None:
            return _unpacked(*kept)
        shared = self.cache_scope
        # Answers of other places, prices apart, are other answers.
        cache_key = f"{self.model.place}:{self.model.api}:{request.key}"
        kept = await self.kept(shared, cache_key) if shared is not None else None
        if kept is not None:
            text = json.dumps({**json.loads(kept[0]), "cached": True}, ensure_ascii=False)
            await self.ctx.transaction([self._row(self.scope, key, text, 0)])
            return _unpacked(text, 0)
        provider = await self._opened()
        await self._take_turn(request)
        reservation = await self._reserve(request, key)
        answer = await self._made(provider, request, reservation)
        text = _packed(answer, _message(self.model, answer))
        cost = cost_of(answer.usage, self.price) if answer.usage_known else reservation.amount
        rows = [self._row(self.scope, key, text, cost)]
        if shared is not None and answer.state is AnswerState.SUCCEEDED:
            rows.append(self._row(shared, cache_key, text, cost))
        await self._keep(rows, reservation, cost)
        if request.key.startswith(SWEEP):
            await self.ctx.transaction([(_REMOVE_OLD, (self.ctx.now - KEPT_SECONDS,))])
        return _unpacked(text, cost)

    async def kept(self, scope: str, key: str) -> tuple[str, int] | None:
        """Return what is kept, and its cost; None for nothing."""
        try:
            rows = await self.ctx.read(_GET, (scope, key))
        except StoreError as error:
            if "llm_asked" in str(error):
                raise NotInstalled from error
            raise
        return None if not rows else (str(rows[0][0]), int(rows[0][1]))

    async def keep(self, key: str, text: str) -> None:
        """Keep a text under the task; it commits at once."""
        await self.ctx.transaction([self._row(self.scope, key, text, 0)])

    def _row(self, scope: str, key: str, text: str, cost: int) -> tuple[str, Sequence[Any]]:
        return _PUT, (scope, key, text, cost, self.ctx.now)

    async def _keep(self, rows: Sequence[tuple[str, Sequence[Any]]], reservation: Reservation, cost: int) -> None:
        try:
            await self.ctx.transaction(rows, settle=[(reservation, cost)])
        except (ClaimLost, TransactionRefused):
            await reservation.settle(cost)
            raise

    async def _opened(self) -> Provider:
        try:
            return connections.provider(self.model)
        except LlmError as error:
            raise await self._translated(NotAllowed(str(error))) from error

    async def _take_turn(self, request: Request) -> None:
        wanted = {"requests": 1.0, "tokens": float(estimated_tokens(request))}
        seconds = await take_turn(self.ctx, self.model.resource, wanted)
        if seconds > 0.0:
            raise ProviderBusy(f"the rate of {self.model.name} has no room", seconds, self.model.place)

    async def _reserve(self, request: Request, key: str) -> Reservation:
        amount, name, number = reserve_amount(request, self.price), f"ask.{key[-80:]}", 0
        reservation = await self.ctx.reserve(amount, name=name)
        while reservation.actual is not None:  # It was paid, and its answer was lost with the claim.
            number += 1
            reservation = await self.ctx.reserve(amount, name=f"{name}.{number}")
        return reservation

    async def _made(self, provider: Provider, request: Request, reservation: Reservation) -> ProviderAnswer:
        """Make the call.

        Raises:
            ProviderBusy, AccountFault, RequestRefused, Transient: there is no answer, and the reservation is settled.
        """
        ctx, place = self.ctx, self.model.place
        try:
            sent = await provider.submit(
                [request], submit_key=reservation.id, seconds=min(CALL_SECONDS_MAX, max(1.0, ctx.call_seconds))
            )
        except Ambiguous as error:
            await reservation.settle(reservation.amount)
            raise AnswerLost(f"it may have been answered, and is booked in full: {error}") from error
        except ProviderError as error:
            await reservation.settle(0)
            raise await self._translated(error) from error
        await learn_rates(ctx, self.model.resource, sent.rates)
        answer = sent.answer
        if answer is None:
            await reservation.settle(reservation.amount)
            raise AnswerLost(f"{place} took the request on and did not answer it")
        if answer.state in (AnswerState.SUCCEEDED, AnswerState.INCOMPLETE):
            return answer
        await reservation.settle(cost_of(answer.usage, self.price) if answer.usage_known else reservation.amount)
        words = f"{answer.code}: {answer.error}"
        if answer.meaning is Meaning.ACCOUNT:
            raise await self._translated(account_fault(place, words))
        if answer.meaning is Meaning.BUSY:
            raise await self._translated(TooBusy(f"{place} answered: {words}"))
        words = f"{place} answered with an error: {words}"
        raise Transient(words) if answer.retriable else RequestRefused(words)

    async def _translated(self, error: ProviderError) -> Exception:
        """Translate a fault for the task; the provider certainly has nothing of the request."""
        if isinstance(error, TooBusy):
            seconds = BUSY_SECONDS if error.seconds is None else error.seconds
            # The others that ask this model need not find out one by one.
            await self.ctx.adapt(self.model.resource("requests"), remaining=0, reset_seconds=seconds)
            return ProviderBusy(str(error), seconds, self.model.place)
        if isinstance(error, NotAllowed):
            if self.pauses:
                await pause(self.ctx, str(error))
            return AccountFault(str(error), self.model.place)
        return RequestRefused(str(error)) if isinstance(error, Refused) else Transient(str(error))


def _message(model: Model, answer: ProviderAnswer) -> dict[str, Any]:
    """Return the model's answer as a message of the conversation."""
    body = answer.body or {}
    if model.provider == "anthropic" and isinstance(body.get("content"), list):
        # As it came: a thinking block has to be sent back as it was, before the use of a tool.
        return {"role": "assistant", "content": body["content"]}
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message["tool_calls"] = [dict(call) for call in answer.tool_calls]
    return message


def _packed(answer: ProviderAnswer, message: Mapping[str, Any]) -> str:
    usage = answer.usage
    told = {
        "key": answer.key, "state": answer.state.value, "text": answer.text, "code": answer.code,
        "error": answer.error, "response_id": answer.response_id, "model": answer.model, "message": message,
        "usage": [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.written_tokens],
    }  # fmt: skip
    return json.dumps({**told, **answer.details()}, ensure_ascii=False)


def _unpacked(text: str, cost: int) -> Exchange:
    told = json.loads(text)
    details = {name: told[name] for name in ANSWER_DETAILS if name in told}
    for name in ("tool_calls", "choices"):
        if name in details:
            details[name] = tuple(details[name])
    answer = ProviderAnswer(
        told["key"], AnswerState(told["state"]), text=told["text"], usage=TokenUsage(*told["usage"]),
        code=told["code"], error=told["error"], response_id=told["response_id"], model=told["model"], **details,
    )  # fmt: skip
    return Exchange(answer, told["message"], cost, told.get("cached", False))
