"""The wall clock of this machine, as the engine believes it.

Deadlines, leases and schedules are stored as Unix seconds, so a clock that is set wrong for a moment would end every
open lineage at once. A jump is believed when it has lasted; small corrections are followed as they come.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ramet.store.loggers import own_logger

log = own_logger("ramet.clock")

JUMP_SECONDS = 60.0
"""Seconds; a larger move of the wall clock at once, against the steady one, is a jump."""
BELIEVED_SECONDS = 300.0
"""A jump that lasts so long is the truth: a machine that started without the time has it now."""


def steady_seconds() -> float:
    """Return seconds of a clock that cannot be set; where the system has one, it includes the time the machine
    slept.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class SteadyWallClock:
    """Unix seconds, without jumps that do not last.

    Args:
        wall: the clock that can be set.
        steady: the one that cannot.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady_seconds) -> None:
        self._wall, self._steady = wall, steady
        self._offset = wall() - steady()
        self._since: float | None = None
        """Since when, by the steady clock, the two disagree."""

    def __call__(self) -> float:
        wall, steady = self._wall(), self._steady()
        expected = steady + self._offset
        jump = wall - expected
        if abs(jump) > JUMP_SECONDS:
            if self._since is None:
                self._since = steady
                log.warning(
                    "the clock jumped by %.0f s: times go on as before, until it has said so for %.0f s",
                    jump, BELIEVED_SECONDS,
                )  # fmt: skip
            if steady - self._since < BELIEVED_SECONDS:
                return expected
            log.warning("the clock is still off by %.0f s: from now on it is believed", jump)
        self._since = None
        self._offset = wall - steady
        return wall


now = SteadyWallClock()
"""Clock of this process."""
