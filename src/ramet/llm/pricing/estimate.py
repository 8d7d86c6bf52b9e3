"""Estimate of a job's cost and time, before anything is sent.

The worst cost is a bound: the sum of what is reserved. The lowest and the likely one rest on assumptions, which
:func:`lines` tells: how many tokens a text has, and how much of what it may a model answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ramet import Limits, as_usd
from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.pricing.mode_choice import Choice, choose_mode, span
from ramet.llm.pricing.prices import Price, bound, cost_of
from ramet.llm.pricing.tokens import estimated_tokens, likely_tokens
from ramet.llm.providers.base import Capabilities, Mode, TokenUsage
from ramet.llm.requests import Request

JOB_SECONDS = Limits().lineage_seconds
"""A job's longest life, unless it is given another."""
ANSWER_SHARE = 4
"""An answer is taken to be a quarter of the longest that it may be, where their length is not given."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a job or a part of it, in one mode; nano-dollars."""

    lowest: int = 0
    """All input from the provider's cache, and one token of answer each."""
    likely: int = 0
    worst: int = 0
    """Every answer as long as it may be: what is reserved, together."""
    largest: int = 0
    """The largest single reservation: under a ceiling below it that question cannot be asked."""

    def plus(self, other: Costs) -> Costs:
        """Both together."""
        return Costs(self.lowest + other.lowest, self.likely + other.likely, self.worst + other.worst,
                     max(self.largest, other.largest))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelPart:
    """Part of a job that asks one model."""

    model: str
    price: Price
    questions: int = 0
    input_tokens: int = 0
    """Likely."""
    input_tokens_max: int = 0
    output_tokens: int = 0
    """Likely."""
    output_tokens_max: int = 0
    costs: Mapping[Mode, Costs] = field(default_factory=dict)


CALL_SECONDS = 2.0
"""Assumed time of a call, where none was measured."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost and mode of a job."""

    rows: int
    questions: int
    """Distinct ones: each is asked and paid for once."""
    models: tuple[ModelPart, ...]
    choice: Choice
    ceiling: int | None
    """Nano-dollars; None when there is none."""
    seconds: float
    """The least that it takes at the rate there is; of batches without the provider's own hours."""
    job_seconds: float
    """Seconds after which the job ends, whatever is left."""
    calls_at_once: int | None = None
    """Calls in flight of one process, for a job whose calls answer at once; None where the rate alone counts."""

    def at_once(self, calls: int, per_minute: float | None) -> Estimate:
        """Return the estimate for ``calls`` in flight, under a bound of calls a minute if there is one."""
        if self.choice.mode is not Mode.CHAT:
            return self
        rate = calls / CALL_SECONDS if per_minute is None else min(calls / CALL_SECONDS, per_minute / 60.0)
        least = CALL_SECONDS if self.questions else 0.0
        return replace(self, seconds=max(least, self.questions / rate), calls_at_once=calls)

    @property
    def costs(self) -> Costs:
        """In the mode that was chosen."""
        found = Costs()
        for part in self.models:
            found = found.plus(part.costs[self.choice.mode])
        return found

    def as_json(self) -> dict[str, Any]:
        """JSON values; money in whole nano-dollars."""
        return {
            "rows": self.rows,
            "questions": self.questions,
            "mode": str(self.choice.mode),
            "why": self.choice.why,
            "in_flight_max": self.choice.in_flight_max,
            "sweep_seconds": self.choice.sweep_seconds,
            "seconds": self.seconds,
            "job_seconds": self.job_seconds,
            "ceiling": self.ceiling,
            "fits": self.costs.worst <= self.ceiling if self.ceiling is not None else None,
            "told": fit(self),
            **_costs(self.costs),
            "models": [
                {
                    "model": part.model,
                    "price": part.price.source,
                    "questions": part.questions,
                    "input_tokens": part.input_tokens,
                    "input_tokens_max": part.input_tokens_max,
                    "output_tokens": part.output_tokens,
                    "output_tokens_max": part.output_tokens_max,
                    **_costs(part.costs[self.choice.mode]),
                }
                for part in self.models
            ],
        }


def _costs(costs: Costs) -> dict[str, int]:
    return {"lowest": costs.lowest, "likely": costs.likely, "worst": costs.worst, "largest": costs.largest}


def estimate(
    requests: Iterable[Request],
    price_for: Callable[[str], Price],
    caps: Mapping[Mode, Capabilities],
    *,
    requests_per_second: float,
    ceiling: int | None = None,
    answer_tokens: int | None = None,
    answers_max: int = 1,
    latency_seconds: float | None = None,
    given: Mode | None = None,
    job_seconds: float = JOB_SECONDS,
) -> Estimate:
    """Price a job. Reads the requests once, and keeps of each only its identity.

    Args:
        requests: one for each row; equal ones (by key) count once.
        price_for: of a model, without discount; asked once for each.
        caps: of each mode that the provider has.
        requests_per_second: calls that may be made.
        ceiling: nano-dollars that the job may spend.
        answer_tokens: how long an answer is likely to be; None: a quarter of the longest.
        answers_max: how many answers to one question may have to be paid for, because some do not fit their schema.
        job_seconds: from the job's beginning to its end, whatever is left.

    Raises:
        UnknownModel: from ``price_for``.
        LlmError: the provider does not have the mode that was given.
    """
    rows, seen = 0, Fingerprints()
    parts: dict[str, _Sum] = {}
    for request in requests:
        rows += 1
        if seen.setdefault(request.key, rows) != rows:
            continue
        part = parts.get(request.model)
        if part is None:
            part = parts[request.model] = _Sum(request.model, price_for(request.model), caps, answers_max)
        part.add(request, answer_tokens)
    models = tuple(part.made() for part in parts.values())
    choice = choose_mode(
        len(seen), requests_per_second=requests_per_second, caps=caps, free=all(part.price.free for part in models),
        latency_seconds=latency_seconds, given=given,
    )  # fmt: skip
    seconds = _calls(models, choice.mode, caps[choice.mode]) / requests_per_second
    return Estimate(rows, len(seen), models, choice, ceiling, seconds, job_seconds)


def _calls(models: Iterable[ModelPart], mode: Mode, caps: Capabilities) -> int:
    """Return the fewest calls that a job takes; a batch asks one model."""
    if mode is Mode.CHAT:
        return sum(part.questions for part in models)
    return sum(2 * math.ceil(part.questions / caps.items_max) for part in models)


class _Sum:
    """Adds requests to one model up, in every mode at once, as the mode is known only at the end."""

    def __init__(self, model: str, price: Price, caps: Mapping[Mode, Capabilities], answers_max: int) -> None:
        self._part = ModelPart(model, price)
        self._answers_max = answers_max
        self._tokens = [0, 0, 0, 0]
        self._questions = 0
        self._factors = {mode: caps[mode].discount for mode in caps}
        self._costs = {factor: [0, 0, 0, 0] for factor in self._factors.values()}

    def add(self, request: Request, answer_tokens: int | None) -> None:
        most, output = estimated_tokens(request), request.max_output_tokens * request.answers
        likely = min(likely_tokens(request), most)
        answer = max(1, min(output, answer_tokens if answer_tokens is not None else output // ANSWER_SHARE))
        self._questions += 1
        for place, tokens in enumerate((likely, most, answer, output)):
            self._tokens[place] += tokens
        price = self._part.price.of(request)
        for factor, sums in self._costs.items():
            reserved = bound(most, output, price, factor)
            sums[0] += min(cost_of(TokenUsage(likely, cached, 1), price, factor) for cached in (0, likely))
            sums[1] += min(cost_of(TokenUsage(likely, 0, answer), price, factor), reserved)
            sums[2] += reserved * self._answers_max
            sums[3] = max(sums[3], reserved)

    def made(self) -> ModelPart:
        costs = {mode: Costs(*self._costs[factor]) for mode, factor in self._factors.items()}
        return replace(
            self._part, questions=self._questions, input_tokens=self._tokens[0], input_tokens_max=self._tokens[1],
            output_tokens=self._tokens[2], output_tokens_max=self._tokens[3], costs=costs,
        )  # fmt: skip


def fit(found: Estimate) -> str:
    """Return one line: whether the job fits its ceiling, and what comes where it does not."""
    costs, ceiling = found.costs, found.ceiling
    if ceiling is None:
        return "no ceiling is set"
    limit = as_usd(ceiling)
    if costs.worst <= ceiling:
        return f"fits: even at worst it stays below the ceiling of {limit}"
    if costs.largest > ceiling:
        return f"does not fit: a single prompt reserves {as_usd(costs.largest)}, the ceiling is {limit}"
    if costs.likely > ceiling:
        answered = found.questions * ceiling // costs.likely
        return f"does not fit: at {limit} it is likely to stop after about {answered:,} of {found.questions:,} prompts"
    sent = max(1, found.questions * ceiling // costs.worst)
    return f"likely to fit {limit}, which reserves for about {sent:,} prompts at once; at worst it stops after as many"


def in_time(found: Estimate) -> str:
    """Return one line: the least time that a job takes, and whether it ends before it is done."""
    flying = min(found.questions, found.choice.in_flight_max)
    text = f"the calls alone take {span(found.seconds)}; {flying:,} in flight are asked about in " + span(
        found.choice.sweep_seconds
    )
    if found.calls_at_once is not None:
        text = (
            f"the calls take {span(found.seconds)} if each takes {CALL_SECONDS:g} s, {found.calls_at_once:,} at a time"
        )
    if found.seconds <= found.job_seconds:
        return text
    done = math.floor(found.questions * found.job_seconds / found.seconds)
    return f"{text}. Too long: the job ends after {span(found.job_seconds)}, when about {done:,} are asked"


def lines(found: Estimate) -> list[str]:
    """Return an estimate in words: assumptions last."""
    costs = found.costs
    same = "" if found.rows == found.questions else f", {found.questions:,} different: each is asked once"
    told = [f"{found.rows:,} rows{same}"]
    for part in found.models:
        own = part.costs[found.choice.mode]
        told.append(
            f"{part.model}: {part.questions:,} prompts, about {part.input_tokens:,} tokens in and "
            f"{part.output_tokens:,} out, at most {part.input_tokens_max:,} and {part.output_tokens_max:,}: "
            f"likely {as_usd(own.likely)}, "
            f"at worst {as_usd(own.worst)} (price: {part.price.source})"
        )
    return [
        *told,
        f"mode {found.choice.why}",
        f"time: {in_time(found)}",
        f"cost: lowest {as_usd(costs.lowest)}, likely {as_usd(costs.likely)}, at worst {as_usd(costs.worst)}",
        f"ceiling: {fit(found)}",
    ]
