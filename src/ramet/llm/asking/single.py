"""A single question of a command: in a task of its own, claimed and settled here while the person waits.

The ceiling, the books and the kept answers are those of every other task of the database.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ramet import App, Client, CostRefused, Permanent, Transient, as_usd
from ramet.commands.errors import one_line
from ramet.commands.extras import need_modules
from ramet.llm.asking.answer import AccountFault, Answer, ProviderBusy
from ramet.llm.asking.ask import Message, Schema, ask, checked_model
from ramet.llm.asking.later import declare_models
from ramet.llm.asking.model import Model, connections
from ramet.llm.calls import KEYS
from ramet.llm.errors import LLM_EXTRA, LLM_MODULES, LlmError
from ramet.llm.pricing.prices import cost_of, reserve_amount
from ramet.llm.pricing.tokens import likely_tokens
from ramet.llm.providers.base import TokenUsage
from ramet.llm.requests import Request

WAIT_SECONDS_MAX = 30.0
"""Time that a busy provider is waited for, altogether; a person is there, and may ask again."""
TASK_SECONDS = 900.0
"""A question whose process was killed ends after this time at the latest."""


def check_model(model: Model) -> None:
    """Refuse a model that could not be asked here, before anything is written.

    Raises:
        ExtraMissing: the extra `[llm]` is not installed.
        LlmError: its price is not known (`UnknownModel`) or not valid, or its key is not in the environment.
    """
    need_modules(LLM_MODULES, LLM_EXTRA)
    model.priced()
    variable = model.key_variable or next(iter(KEYS.get(model.provider, ())), None)
    if model.key is None and variable is not None and (model.base_url is None or model.key_variable is not None):
        raise LlmError(f"{model.provider} asks for a key and the environment has none: set {variable}")


def check_ceiling(
    model: Model, messages: Sequence[Message], *, schema: Schema | None, max_output_tokens: int, max_cost: int | None
) -> None:
    """Refuse a ceiling that does not let the question be asked.

    Raises:
        LlmError: it is too low, or missing where the model costs money.
    """
    _, json_schema, _ = checked_model(model, schema, messages, max_output_tokens)
    asked = Request.of(model.name, messages, max_output_tokens, {}, json_schema)
    most = reserve_amount(asked, model.priced())
    if max_cost is None and most:
        raise LlmError(f"--max-cost is missing: this question costs up to {as_usd(most)}; say how many dollars it may")
    if max_cost is not None and most > max_cost:
        raise LlmError(
            f"--max-cost {as_usd(max_cost)} is too low: this question reserves up to {as_usd(most)}; "
            "give more, or a lower --max-output-tokens"
        )


class Bill:
    """Cost of asking many questions, in nano-dollars. Repairs of answers that do not fit are not counted."""

    def __init__(self, model: Model, schema: Schema | None, max_output_tokens: int, likely_output_tokens: int) -> None:
        """Count nothing yet.

        Args:
            model: that is asked.
            schema, max_output_tokens: of each question.
            likely_output_tokens: of an answer, about.
        """
        self._model, self._schema = model, schema
        self._output_max, self._output_likely = max_output_tokens, min(likely_output_tokens, max_output_tokens)
        self.questions = 0
        self.likely = 0
        """About what all of them cost."""
        self.most = 0
        """Upper bound of their cost."""
        self.largest = 0
        """The most that one of them reserves."""

    def add(self, messages: Sequence[Message]) -> None:
        """Count a question."""
        _, json_schema, _ = checked_model(self._model, self._schema, messages, self._output_max)
        asked = Request.of(self._model.name, messages, self._output_max, {}, json_schema)
        most = reserve_amount(asked, self._model.priced())
        usage = TokenUsage(input_tokens=likely_tokens(asked), output_tokens=self._output_likely)
        self.questions += 1
        self.likely += cost_of(usage, self._model.priced())
        self.most += most
        self.largest = max(self.largest, most)


async def ask_once(
    database: str,
    kind: str,
    payload: Mapping[str, Any],
    model: Model,
    messages: Sequence[Message],
    *,
    schema: Schema | None,
    max_output_tokens: int,
    max_cost: int | None,
    repairs: int,
) -> Answer[Any]:
    """Ask a question in a task of its own, and return the answer; an equal one that was paid before is not paid again.

    Args:
        database: where the task, its cost and the answer are kept; made if it is not there.
        kind: of the task; no worker need know it.
        payload: of the task, for people who look at it.
        model, messages, schema, max_output_tokens, repairs: as for :func:`ramet.llm.ask`.
        max_cost: nano-dollars that its lineage may cost, repairs included; None: nothing.

    Raises:
        LlmError: there is no answer; one line says why. The task has failed with it.
        StoreError: the database cannot be used.
    """
    # A queue of its own: no other process takes the task.
    queue = f"{kind}:{secrets.token_hex(8)}"
    async with declare_models(App()).client(database) as client, connections:
        await _end_killed(client, kind)
        task = await client.submit(
            kind, dict(payload), queue=queue, max_attempts=1, task_seconds=TASK_SECONDS,
            limits={"max_cost": max_cost or 0},
        )  # fmt: skip
        claims = await client.claim(kind, queues=[queue])
        if not claims:
            await client.cancel(task.id, by=kind, reason="nothing may begin now")
            raise LlmError("the database lets no task begin now: `ramet status` says what is blocked or paused")
        async with claims[0] as claim:
            try:
                answer = await _patiently(
                    lambda: ask(
                        claim, model, list(messages), schema=schema, max_output_tokens=max_output_tokens, cache="all",
                        repairs=repairs,
                    )
                )  # fmt: skip
            except (AccountFault, CostRefused, Permanent, ProviderBusy, Transient) as error:
                words = one_line(error)
                if isinstance(error, ProviderBusy | Transient):
                    words = f"{words}; give the same command again in a while"
                await claim.fail(Permanent(words))
                raise LlmError(words) from error
            except asyncio.CancelledError:
                # Handed back, it would wait for ever: no other process takes it.
                await asyncio.shield(claim.fail(Permanent("the command was stopped")))
                raise
            await claim.complete({"text": answer.text, "cost": answer.cost, "model": answer.model})
            return answer


async def _patiently(asking: Callable[[], Awaitable[Answer[Any]]]) -> Answer[Any]:
    """Ask again after each wait that a busy provider names, for `WAIT_SECONDS_MAX` altogether."""
    waited = 0.0
    while True:
        try:
            return await asking()
        except ProviderBusy as busy:
            waited += busy.seconds
            if waited > WAIT_SECONDS_MAX:
                raise
            await asyncio.sleep(busy.seconds)


async def _end_killed(client: Client, kind: str) -> None:
    """End the questions whose process was killed: nothing else would, and what they reserved stays booked."""
    await client.reclaim()
    # One that was claimed before and waits again lost its process; a new one was not claimed yet.
    async for task in client.all_tasks(kind=kind, states=["pending"]):
        if task.fence:
            await client.cancel(task.id, by=kind, reason="its process was killed")
