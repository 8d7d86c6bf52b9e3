"""Pauses between tries of a database that cannot be reached: no clock and no sleep, only the next pause."""

from __future__ import annotations

import random
from collections.abc import Callable

FIRST_SECONDS = 0.1
SECONDS_MAX = 10.0
_DOUBLINGS_MAX = 60
"""More would leave what a float can hold, and no bound is that far away."""


class Backoff:
    """Exponential back-off with full jitter, bounded; a success starts it over (DESIGN §6).

    The n-th pause in a row is drawn evenly from [0, min(``seconds_max``, ``first_seconds`` 2^(n-1))): many programs
    that lost one database at the same moment come back spread out and not together. It may be 0; a program that tries
    twice at once does no harm, since the next pause is drawn from twice the span.

    Not to be shared by threads: each has one of its own.
    """

    def __init__(
        self,
        *,
        first_seconds: float = FIRST_SECONDS,
        seconds_max: float = SECONDS_MAX,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Begin without failures.

        Args:
            first_seconds: bound of the first pause.
            seconds_max: bound of every pause.
            draw: evenly from [0, 1).

        Raises:
            ValueError: a bound is not over 0, or the first is over the other.
        """
        if not 0 < first_seconds <= seconds_max:
            raise ValueError(f"a back-off needs 0 < first_seconds <= seconds_max, not {first_seconds}, {seconds_max}")
        self._first_seconds = first_seconds
        self._seconds_max = seconds_max
        self._draw = draw
        self._failures = 0

    @property
    def failures(self) -> int:
        """Failures since the last success. At 1 it is the first, the only one worth a message."""
        return self._failures

    def failed(self) -> float:
        """Note a failure; returns for how many seconds to wait before the next try."""
        ceiling = min(self._seconds_max, self._first_seconds * 2.0 ** min(self._failures, _DOUBLINGS_MAX))
        self._failures += 1
        return self._draw() * ceiling

    def succeeded(self) -> int:
        """Note a success: the next failure waits as the first one does. Returns how many failures it ended."""
        failures, self._failures = self._failures, 0
        return failures
