"""Choice of a job's mode: one call, a call asked about later, or a batch.

A sweep asks once about everything in flight. One call asks about one background response, or about a whole batch of
thousands. So a backlog that cannot be swept one by one in time goes in batches, unless a caller waits for the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ramet import Limits
from ramet.llm.errors import LlmError
from ramet.llm.providers.base import Capabilities, Mode

SWEEP_SECONDS = 600.0
"""A sweep may take so long: providers keep a finished background response for as little, where nothing else is said."""
ITEM_SECONDS = 7_200.0
"""Seconds from an item's first claim to its end, unless the job says otherwise."""


class Choice(NamedTuple):
    """A mode, and what comes with it."""

    mode: Mode
    why: str
    """One sentence, for people."""
    in_flight_max: int
    """Prompts that may be at the provider at once; more of them wait here."""
    sweep_seconds: float
    """Seconds to ask once about everything in flight, at the present rate."""


def rate_of(limits: Limits, requests_per_minute: float | None = None) -> float:
    """Return the calls a second that may be made: the lower of the given rate and of what these limits allow."""
    cycles = (limits.max_chain_depth + 1) * limits.invocation_items / max(limits.schedule_seconds, 1.0)
    return cycles if requests_per_minute is None else min(cycles, requests_per_minute / 60)


def in_flight_max(requests_per_second: float, caps: Capabilities, item_seconds: float = ITEM_SECONDS) -> int:
    """Return the number of prompts that may be at the provider at once, so that each is asked about in time.

    A call asks about one background response. Each must be asked about while its result is kept, and at least twice
    before its deadline. A batch is one call however many prompts it holds.
    """
    kept = math.inf if caps.result_seconds is None else caps.result_seconds
    calls = _rate(requests_per_second) * min(kept, item_seconds / 2)
    return max(1, math.floor(min(calls * caps.items_max, 1e15)))


def sweep_seconds(in_flight: int, requests_per_second: float, caps: Capabilities) -> float:
    """Return the seconds to ask once about ``count`` prompts at the provider."""
    return math.ceil(in_flight / caps.items_max) / _rate(requests_per_second)


def choose_mode(
    backlog: int,
    *,
    requests_per_second: float,
    caps: Mapping[Mode, Capabilities],
    free: bool = False,
    latency_seconds: float | None = None,
    item_seconds: float = ITEM_SECONDS,
    given: Mode | None = None,
) -> Choice:
    """Choose the mode of a job.

    Args:
        backlog: prompts to ask, each once.
        requests_per_second: calls that may be made, the lower of the provider's rate and that of the cycles.
        caps: of each mode that the provider has.
        free: a call costs nothing (:attr:`Price.free`).
        latency_seconds: within which the answers are wanted; None: whenever they come.
        item_seconds: from an item's first claim to its end, in modes other than batch.
        given: the user's choice; it wins.

    Raises:
        LlmError: the provider does not have the mode that was given.
        ValueError: no mode at all, or a rate that is none.
    """
    if not caps:
        raise ValueError("a provider without any mode")
    rate = _rate(requests_per_second)
    if given is not None and given not in caps:
        raise LlmError(f"this provider has no mode {given}: give {' or '.join(caps)}")
    mode, why = (given, f"{given}, as given") if given else _chosen(backlog, rate, caps, free, latency_seconds)
    most = in_flight_max(rate, caps[mode], _item_seconds(mode, caps[mode], item_seconds))
    flying = min(backlog, most)
    sweep = sweep_seconds(flying, rate, caps[mode])
    if backlog > most:
        why += f"; {most:,} at most are in flight at once, so that each is asked about in time, the others wait"
    return Choice(mode, why, most, sweep)


def _item_seconds(mode: Mode, caps: Capabilities, seconds: float) -> float:
    return max(caps.window_seconds, seconds) if mode is Mode.BATCH else seconds


def _chosen(
    backlog: int, rate: float, caps: Mapping[Mode, Capabilities], free: bool, latency_seconds: float | None
) -> tuple[Mode, str]:
    """Return the mode, and why."""
    if len(caps) == 1:
        [only] = caps
        return only, f"{only}: this provider has no other mode"
    alone = Mode.BACKGROUND if Mode.BACKGROUND in caps else Mode.CHAT
    if free and Mode.CHAT in caps:
        return Mode.CHAT, "chat: a call costs nothing, so there is nothing to save by waiting"
    sweep = backlog / rate
    slow = f"one by one, asking about all {backlog:,} once takes {span(sweep)}"
    if Mode.BATCH not in caps:
        return alone, f"{alone}: this provider has no batches; {slow}"
    window = caps[Mode.BATCH].window_seconds
    if latency_seconds is not None and latency_seconds < window:
        return alone, f"{alone}: answers are wanted within {span(latency_seconds)}, a batch may take {span(window)}"
    saved = _saved(caps[Mode.BATCH])
    if sweep > SWEEP_SECONDS:
        return Mode.BATCH, f"batch: {slow}, more than {span(SWEEP_SECONDS)}{saved and f', and batches {saved}'}"
    return (
        alone,
        f"{alone}: {slow}, within {span(SWEEP_SECONDS)}{saved and f'; batches would {saved}, but take hours'}",
    )


def _saved(caps: Capabilities) -> str:
    """Return the saving of a batch, as a verb; empty where it is nothing."""
    return f"save {1 - caps.discount:.0%}" if caps.discount < 1 else ""


def _rate(requests_per_second: float) -> float:
    if not 0 < requests_per_second < math.inf:
        raise ValueError(f"{requests_per_second} requests a second: give a number above 0")
    return requests_per_second


def span(seconds: float) -> str:
    """Return a duration in its largest fitting unit."""
    for size, unit, under in ((1, "s", 120), (60, "min", 7_200), (3_600, "h", 259_200)):
        if seconds < under:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds / 86_400:,.0f} d"
