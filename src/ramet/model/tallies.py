"""Tallies: how many tasks were created and ended, how often and how long they were tried, by kind and time.

The store counts in the transaction that changes what is counted, so no tally is ever wrong, whatever crashed; what is
here says which numbers there are and what they mean (docs/decisions/0050).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import add
from typing import NamedTuple

from ramet.model.reasons import code_of

BUCKETS_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0
)  # fmt: skip
"""Upper bounds of the buckets of a histogram, each belonging to its bucket; one more bucket takes what is beyond."""
DEPTHS = 10
"""``depths`` has one number for each spawn depth up to this, and one for all that are deeper."""
CHAINS = 5
"""``chains`` has one number for each chain depth up to this, and one for all that are deeper."""
RETRIES = 5
"""``retried`` has one number for each retry count below this, and one for this and more."""
ENDS = ("success", "filtered", "skipped", "failed", "cancelled")
"""Terminal states, in the order of their columns."""
OUTCOMES = ("success", "filtered", "skipped", "error", "snooze", "continue", "lost", "returned", "ended")
"""Values of :attr:`ramet.model.task.task.Attempt.outcome`, in the order of the columns."""
RETRIED = ("success", "error")
"""Outcomes that are counted by retry count."""
WORDS_MAX = 50
"""Most reasons of one sort that are counted apart; later ones count as :data:`OTHER`."""
OTHER = "other"

_RESERVE = "reserve"
_BUCKETS = tuple(range(len(BUCKETS_SECONDS) + 1))
COLUMNS: tuple[str, ...] = (
    "created",
    *(f"depth_{at}" for at in range(DEPTHS + 2)),
    "revived",
    *(f"ended_{state}" for state in ENDS),
    *(f"attempts_{outcome}" for outcome in OUTCOMES),
    *(f"retried_{outcome}_{at}" for outcome in RETRIED for at in range(RETRIES + 1)),
    *(f"chain_{at}" for at in range(CHAINS + 2)),
    *(f"waited_{at}" for at in _BUCKETS),
    "waited_microseconds",
    *(f"ran_{at}" for at in _BUCKETS),
    "ran_microseconds",
)
"""Every number of a tally, by name. Those of creation come first."""
PLACE: Mapping[str, int] = {name: at for at, name in enumerate(COLUMNS)}
CREATION = PLACE["revived"]
"""Number of columns that are about creation."""
ZERO: tuple[int, ...] = (0,) * len(COLUMNS)

_END = {state: PLACE[f"ended_{state}"] for state in ENDS}
_ATTEMPTS = {outcome: PLACE[f"attempts_{outcome}"] for outcome in OUTCOMES}
_RETRIED = {outcome: PLACE[f"retried_{outcome}_0"] for outcome in RETRIED}
_REVIVED, _CHAIN, _WAITED, _RAN = (PLACE[name] for name in ("revived", "chain_0", "waited_0", "ran_0"))
_WAITED_SUM, _RAN_SUM = PLACE["waited_microseconds"], PLACE["ran_microseconds"]
_UNTRIED = "returned"
_MICROSECONDS = 1_000_000


class Histogram(NamedTuple):
    """Durations in buckets, with the number of cases in each."""

    counts: tuple[int, ...]
    """One for each of :data:`BUCKETS_SECONDS`, then one for what is beyond the last. Not cumulative."""
    seconds: float
    """The sum of all."""

    @property
    def count(self) -> int:  # type: ignore[override]  # the word for it; a tuple's own is not needed
        """Number of cases."""
        return sum(self.counts)


class Tally(NamedTuple):
    """Counts of what happened to the tasks of one kind in one span of time."""

    kind: str
    """Empty for the sum of all kinds."""
    at: float
    """Begin of the span, Unix seconds; 0.0, with ``seconds`` 0.0, for all time."""
    seconds: float
    """Length of the span in seconds."""
    created: int
    revived: int
    ended: Mapping[str, int]
    """Terminal state -> tasks that entered it from a live state. One that was revived and ended again counts twice."""
    attempts: Mapping[str, int]
    """Outcome (:attr:`ramet.model.task.task.Attempt.outcome`) -> attempts."""
    retried: Mapping[str, tuple[int, ...]]
    """``success`` and ``error`` -> attempts by retry count, from 0 to :data:`RETRIES` and more."""
    depths: tuple[int, ...]
    """Tasks created by spawn depth, from 0 to :data:`DEPTHS`, then deeper."""
    chains: tuple[int, ...]
    """Tasks ended by the chain depth that they reached, from 0 to :data:`CHAINS`, then deeper."""
    waited: Histogram
    """Seconds from the moment that an attempt was due to its claim. Attempts that were handed back are in neither
    histogram.
    """
    ran: Histogram
    """Seconds from an attempt's claim to its outcome."""

    @property
    def live(self) -> int:
        """Of all time: how many tasks are live now."""
        return self.created + self.revived - sum(self.ended.values())


class ReasonTally(NamedTuple):
    """Count of one reason, for one kind in one span of time."""

    what: str
    """``failed``, ``skipped``, ``filtered``, ``cancelled``: tasks that ended so; ``retry``: attempts that are followed
    by another; ``blocked``: spawns that the guard refused."""
    kind: str
    reason: str
    """The first word (:func:`first_word`); at most :data:`WORDS_MAX` are counted apart for each ``what``."""
    at: float
    seconds: float
    count: int  # type: ignore[assignment]  # the word for it; a tuple's own is not needed


class Tallies(NamedTuple):
    """Tallies of all kinds, in order of time and kind, with the reasons."""

    rows: tuple[Tally, ...]
    reasons: tuple[ReasonTally, ...]

    def total(self, kind: str | None = None) -> Tally:
        """Return the sum of all spans, of one kind or of all."""
        chosen = [row for row in self.rows if kind is None or row.kind == kind]
        at = min((row.at for row in chosen), default=0.0)
        end = max((row.at + row.seconds for row in chosen), default=0.0)
        return tally_of(kind or "", at, end - at, added(map(numbers_of, chosen)))

    def refused(self, kind: str | None = None) -> Counter[str]:
        """Return the number of spawns that the guard refused, by reason, of one kind or of all; a refused
        ``ctx.reserve`` does not count.
        """
        found: Counter[str] = Counter()
        for reason in self.reasons:
            if reason.what == "blocked" and reason.reason != _RESERVE and kind in (None, reason.kind):
                found[reason.reason] += reason.count
        return found


def tally_of(kind: str, at: float, seconds: float, numbers: Sequence[int]) -> Tally:
    """Return a tally from its numbers, in the order of :data:`COLUMNS`."""
    return Tally(
        kind, at, seconds,
        created=numbers[0],
        revived=numbers[_REVIVED],
        ended={state: numbers[place] for state, place in _END.items()},
        attempts={outcome: numbers[place] for outcome, place in _ATTEMPTS.items()},
        retried={outcome: tuple(numbers[place : place + RETRIES + 1]) for outcome, place in _RETRIED.items()},
        depths=tuple(numbers[1 : DEPTHS + 3]),
        chains=tuple(numbers[_CHAIN : _CHAIN + CHAINS + 2]),
        waited=Histogram(tuple(numbers[_WAITED:_WAITED_SUM]), numbers[_WAITED_SUM] / _MICROSECONDS),
        ran=Histogram(tuple(numbers[_RAN:_RAN_SUM]), numbers[_RAN_SUM] / _MICROSECONDS),
    )  # fmt: skip


def numbers_of(tally: Tally) -> list[int]:
    """Return the numbers of a tally: the inverse of :func:`tally_of`."""
    return [
        tally.created, *tally.depths, tally.revived,
        *(tally.ended[state] for state in ENDS),
        *(tally.attempts[outcome] for outcome in OUTCOMES),
        *(count for outcome in RETRIED for count in tally.retried[outcome]),
        *tally.chains,
        *tally.waited.counts, round(tally.waited.seconds * _MICROSECONDS),
        *tally.ran.counts, round(tally.ran.seconds * _MICROSECONDS),
    ]  # fmt: skip


def added(several: Iterable[Sequence[int]]) -> list[int]:
    """Return the sum of such rows of numbers."""
    total: list[int] = [*ZERO]
    for numbers in several:
        total = [*map(add, total, numbers)]
    return total


# --- counting


def count_created(numbers: list[int], depth: int, times: int) -> None:
    """Tasks were created at this depth."""
    numbers[0] += times
    numbers[1 + min(depth, DEPTHS + 1)] += times


def count_revived(numbers: list[int], times: int) -> None:
    """Count ended tasks that live again."""
    numbers[_REVIVED] += times


def count_ended(numbers: list[int], state: str, chain_depth: int, times: int) -> None:
    """Live tasks entered this terminal state."""
    numbers[_END[state]] += times
    numbers[_CHAIN + min(chain_depth, CHAINS + 1)] += times


def count_attempt(
    numbers: list[int], outcome: str, retry_count: int, times: int, *, waited_seconds: float, ran_seconds: float
) -> None:
    """Count attempts that ended with this outcome. One that was handed back does not count: its time would mean
    nothing.
    """
    numbers[_ATTEMPTS[outcome]] += times
    if outcome == _UNTRIED:
        return
    if outcome in _RETRIED:
        numbers[_RETRIED[outcome] + min(max(retry_count, 0), RETRIES)] += times
    _count_time(numbers, _WAITED, _WAITED_SUM, waited_seconds, times)
    _count_time(numbers, _RAN, _RAN_SUM, ran_seconds, times)


def _count_time(numbers: list[int], first: int, total: int, seconds: float, times: int) -> None:
    seconds = max(seconds, 0.0)  # A clock that was set back made nothing run for less than no time.
    numbers[first + bisect_left(BUCKETS_SECONDS, seconds)] += times
    numbers[total] += round(seconds * _MICROSECONDS) * times


# --- reasons

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}")


def first_word(reason: str | None) -> str:
    """Return the part of a reason that is counted: its code, and of a handler's or a person's text the part before the
    first colon, where that is one word of at most 40 ASCII letters, digits, ``_``, ``.`` and ``-``. Anything else is
    :data:`OTHER`: free text may say anything at all.
    """
    return code_of(reason) or _word((reason or "").partition(":")[0])


@lru_cache(maxsize=1_000)
def _word(text: str) -> str:
    return text if _WORD.fullmatch(text) else OTHER
