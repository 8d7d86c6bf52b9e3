"""What came of an answer, as it is kept: the item's result, a row for tokens and cost, and the words of a failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ramet import Context
from ramet.llm import tables
from ramet.llm.answers import Check, InvalidAnswer, open_check
from ramet.llm.calls import Job
from ramet.llm.pricing.prices import cost_of, reserve_amount
from ramet.llm.providers.base import Answer, AnswerState
from ramet.llm.requests import Request

INVALID = "invalid"
"""State of an answer that the model gave and that does not fit what was wanted."""


class Judged(NamedTuple):
    """An answer after it was looked at."""

    answer: Answer
    state: str
    """One of :class:`AnswerState`, or ``invalid``."""
    cost: int
    """Nano-dollars."""
    result: dict[str, Any] | None
    """What the item keeps; None but for ``succeeded``."""
    reason: str | None
    """Why it failed, ``kind: words``."""

    @property
    def succeeded(self) -> bool:
        """Whether the item has its answer."""
        return self.state == AnswerState.SUCCEEDED


def judged(job: Job, request: Request, answer: Answer) -> Judged:
    """Look at an answer: what it cost, whether it fits, what becomes of its item."""
    model, schema, price = request.model, request.schema, job.settings.prices[request.model]
    cost = cost_of(answer.usage, price, job.settings.discount)
    if not answer.usage_known:
        cost = reserve_amount(request, price, job.settings.discount)
    if answer.state != AnswerState.SUCCEEDED:
        told = ": ".join(part for part in (str(answer.state), answer.code, answer.error) if part)
        return Judged(answer, answer.state, cost, None, told)
    check: Check | None = job.check or (open_check(dict(schema), None) if schema is not None else None)
    value = None
    if check is not None:
        try:
            value = check(answer.text or "")
        except InvalidAnswer as error:
            return Judged(answer, INVALID, cost, None, f"invalid_answer: {error}")
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
    if answer.raw:
        result["raw"] = answer.raw
    return Judged(answer, AnswerState.SUCCEEDED, cost, result, None)


class Booked(NamedTuple):
    """One answer to be written down."""

    task_id: str
    submit_key: str
    judged: Judged
    late: bool = False
    """Its item had ended before it came: it is kept, and changes nothing."""


def write_answers(ctx: Context, job_id: str, booked: Sequence[Booked], now: float) -> None:
    """Write answers down with the task's next commit."""
    for start in range(0, len(booked), tables.ANSWERS_AT_ONCE):
        part = booked[start : start + tables.ANSWERS_AT_ONCE]
        ctx.write(tables.add_answers(len(part)), [value for one in part for value in _row(job_id, one, now)])


def _row(job_id: str, booked: Booked, now: float) -> tuple[Any, ...]:
    task_id, submit_key, (answer, state, cost, result, _), late = booked
    usage = answer.usage
    # An item that succeeded keeps its words itself.
    kept = late or result is None
    words = json.dumps({"text": answer.text, "raw": answer.raw}) if kept and (answer.text or answer.raw) else None
    return (
        job_id, task_id, submit_key, state, int(late), usage.input_tokens, usage.cached_tokens, usage.output_tokens,
        cost, answer.code, answer.error, words, now,
    )  # fmt: skip
