"""How long a handler may still take, and whether it is to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ramet.engine.base.clock import Clock, SystemClock
from ramet.engine.base.work import Work

if TYPE_CHECKING:
    from ramet.engine.kinds.registry import Kind


class CallTime:
    """The part of a handler's context that is about time."""

    _work: Work
    _clock: Clock = SystemClock()
    _overdue_at = math.inf
    _cancelled = False
    _draining = False
    _on_drain: Callable[[], None] | None = None
    _kind: Kind
    _asked_once_more = False
    """This claim began after the deadline that its outcome decides (:mod:`ramet.model.task.deadlines`)."""

    @property
    def cancelled(self) -> bool:
        """True once this handler is to stop: its task was ended, its claim is lost, or its time is over.

        An ``async def`` handler is cancelled where it awaits; a plain function asks here, between its steps. One that
        does not end within some seconds is ended with its process.
        """
        return self._cancelled

    @property
    def now(self) -> float:
        """What the engine's clock says, Unix seconds; in tests that is the test's clock."""
        return self._clock.now()

    @property
    def remaining_seconds(self) -> float:
        """What is left for this call, at least 0: of its invocation limit, and of the task's and lineage's deadlines.

        A task that only time ends (``max_attempts=None``) is asked once more after its deadline: that claim has its
        invocation limit. Give calls to the outside :attr:`call_seconds` as their time-out.
        """
        left = self._overdue_at - self._clock.monotonic()
        if self._work.deadline_at is not None and not self._asked_once_more:
            left = min(left, self._work.deadline_at - self._clock.now())
        return max(0.0, left)

    @property
    def call_seconds(self) -> float:
        """How long one call to the outside may take now: ``Limits.call_seconds``, or less where less is left."""
        return min(self._kind.limits.call_seconds, self.remaining_seconds)

    @property
    def draining(self) -> bool:
        """True once the worker is to end: it waits for this handler, which had better not begin anything long."""
        return self._draining

    # --- for the engine

    def drain(self) -> None:
        """The worker is to end."""
        self._draining = True
        if self._on_drain is not None:
            self._on_drain()

    def on_drain(self, call: Callable[[], None] | None) -> None:
        """Have this called, in the handler's loop, when the worker is to end."""
        self._on_drain = call

    def begin(self, clock: Clock, overdue_at: float) -> None:
        """The handler is called now; its time is over at this moment, in monotonic seconds."""
        self._clock, self._overdue_at = clock, overdue_at
        deadline_at = self._work.deadline_at
        by_time = self._kind.limits.max_attempts is None and self._work.ending is None
        self._asked_once_more = by_time and deadline_at is not None and clock.now() >= deadline_at

    def cancel(self) -> None:
        """Tell the handler to stop."""
        self._cancelled = True
