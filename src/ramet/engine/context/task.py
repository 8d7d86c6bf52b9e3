"""A handler's own task: its record, the time it has left, and the state its stages gathered."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ramet.engine.base.clock import Clock, SystemClock
from ramet.engine.base.observe import traced
from ramet.engine.base.work import Work, state_json
from ramet.model.paths import PathRule
from ramet.model.reasons import restored
from ramet.model.task.task import TaskState
from ramet.model.tracing import attempt_span_id, traceparent

if TYPE_CHECKING:
    from ramet.engine.kinds.registry import Kind


class OwnTask:
    """The part of a context that describes its task."""

    _work: Work
    lifespan: Any = None
    """Value that the app's :meth:`lifespan` yielded in this process; None without one, and in the pull API."""
    returned: Any = None
    """Value that the handler returned, a result or an :class:`Outcome`, for middleware after its ``yield``."""

    @property
    def id(self) -> str:
        """The task's id."""
        return self._work.id

    @property
    def tracking_id(self) -> str:
        """The lineage's id."""
        return self._work.tracking_id

    @property
    def kind(self) -> str:
        """The task's kind."""
        return self._work.kind

    @property
    def key(self) -> str:
        """The task's canonical key."""
        return self._work.key

    @property
    def parent_id(self) -> str | None:
        """Id of the task that spawned this one."""
        return self._work.parent_id

    @property
    def ancestry_chain(self) -> tuple[str, ...]:
        """Task ids from the root to the parent."""
        return tuple(json.loads(self._work.ancestry_chain))

    @property
    def traceparent(self) -> str:
        """The ``traceparent`` header (W3C Trace Context) for calls outward: one lineage is one trace.

        Sampled only where this process traces (``RAMET_TRACES``); the ids are the same everywhere.
        """
        work = self._work
        span_id = attempt_span_id(work.id, work.fence)
        return traceparent(work.tracking_id, span_id, traced=traced(work.tracking_id))

    @property
    def spawn_depth(self) -> int:
        """0 for a root."""
        return self._work.spawn_depth

    @property
    def path(self) -> tuple[str, ...]:
        """Path on which this task waits in line; empty when nothing constrains it. While it runs, nothing on a
        conflicting path does (promise I7).
        """
        rule = self.path_rule
        return () if rule is None else rule.elements

    @property
    def path_rule(self) -> PathRule | None:
        """For the engine: what a later stage of this task takes over."""
        text = self._work.path
        return None if text is None else PathRule.restored(json.loads(text))

    @property
    def attempt(self) -> int:
        """1 on the first run; snoozed and lost attempts do not count."""
        return self._work.attempts

    @property
    def chain_depth(self) -> int:
        """Number of times that this task has continued itself."""
        return self._work.chain_depth

    @property
    def snoozes(self) -> int:
        """Number of times that this task was snoozed."""
        return self._work.snoozes

    @property
    def deadline_at(self) -> float | None:
        """When this task's time is over, Unix seconds."""
        return self._work.deadline_at

    @property
    def ending(self) -> TaskState | None:
        """In an ``on_end`` handler, what the task ends as: failed or cancelled. None in every other."""
        return None if self._work.ending is None else TaskState(self._work.ending)

    @property
    def ending_reason(self) -> str | None:
        """In an ``on_end`` handler, why the task ends."""
        return restored(self._work.ending_reason, self._work.ending_facts)

    @property
    def token(self) -> str:
        """An idempotency token for calls to the outside: changes with every claim (promise I2)."""
        return f"{self._work.id}:{self._work.fence}"


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
    """This claim began after the deadline that its outcome decides (:mod:`ramet.model.task.lifecycle`)."""

    @property
    def cancelled(self) -> bool:
        """True once this handler is to stop: its task was ended, its claim is lost, or its time is over.

        An ``async def`` handler is cancelled where it awaits; a plain function asks here, between its steps. One that
        does not end within some seconds is ended with its process.
        """
        return self._cancelled

    @property
    def now(self) -> float:
        """Time of the engine's clock, Unix seconds; in tests that of the test's clock."""
        return self._clock.now()

    @property
    def remaining_seconds(self) -> float:
        """Seconds left for this call, at least 0: of its invocation limit, and of the task's and lineage's deadlines.

        A task that only time ends (``max_attempts=None``) is asked once more after its deadline: that claim has its
        invocation limit. Give calls to the outside :attr:`call_seconds` as their time-out.
        """
        left = self._overdue_at - self._clock.monotonic()
        if self._work.deadline_at is not None and not self._asked_once_more:
            left = min(left, self._work.deadline_at - self._clock.now())
        return max(0.0, left)

    @property
    def call_seconds(self) -> float:
        """Seconds that one call to the outside may take now: ``Limits.call_seconds``, or less where less is left."""
        return min(self._kind.limits.call_seconds, self.remaining_seconds)

    @property
    def draining(self) -> bool:
        """True once the worker is to end: it waits for this handler, which had better not begin anything long."""
        return self._draining

    # --- for the engine

    def drain(self) -> None:
        """Drain: the worker is to end."""
        self._draining = True
        if self._on_drain is not None:
            self._on_drain()

    def on_drain(self, call: Callable[[], None] | None) -> None:
        """Have this called, in the handler's loop, when the worker is to end."""
        self._on_drain = call

    def begin(self, clock: Clock, overdue_at: float) -> None:
        """Begin the call of the handler; its time is over at this moment, in monotonic seconds."""
        self._clock, self._overdue_at = clock, overdue_at
        work = self._work
        by_time = work.max_attempts is None and work.ending is None
        self._asked_once_more = by_time and work.deadline_at is not None and clock.now() >= work.deadline_at

    def cancel(self) -> None:
        """Tell the handler to stop."""
        self._cancelled = True


NOTE = "$claims"
"""Name in pipeline_state of [chain depth, claims]: the number of tasks that the task's invocations may have claimed in
this link of its chain. Handlers do not see it, and cannot lose it.
"""


class PipelineStateMixin:
    """The part of a context that holds its pipeline_state."""

    _work: Work
    _gathered: dict[str, Any] | None = None
    _note: tuple[int, int] | None = None
    _credit = 0

    @property
    def state(self) -> dict[str, Any]:
        """The pipeline_state of the last checkpoint; empty before the first."""
        return self._read()[0]

    def _read(self) -> tuple[dict[str, Any], tuple[int, int] | None]:
        """Return the state, and the note."""
        if self._gathered is None:
            text = self._work.pipeline_state
            gathered: dict[str, Any] = json.loads(text) if text else {}
            note = gathered.pop(NOTE, None)
            self._note = None if note is None else (note[0], note[1])
            self._gathered = gathered
        return self._gathered, self._note

    # --- for the engine

    def state_text(self, state: dict[str, Any], bytes_max: int) -> str:
        """Return the text to be stored for a handler's new state.

        Raises:
            ValueError: it is over the limit, or uses the engine's own name.
        """
        text = state_json(state, bytes_max)
        if NOTE in state:
            raise ValueError(f"{NOTE!r} in a pipeline_state is the engine's own: give it another name")
        _, note = self._read()
        return text if note is None else json.dumps({**json.loads(text), NOTE: note}, ensure_ascii=False)

    def state_stored(self, text: str) -> None:
        """Note that this is the task's stored state now."""
        self._gathered = {name: value for name, value in json.loads(text).items() if name != NOTE}

    def claims_noted(self) -> int:
        """Return the number of tasks that this link of the chain may have claimed, by what is stored."""
        _, note = self._read()
        return note[1] if note is not None and note[0] == self._work.chain_depth else 0

    def note_text(self, claims: int) -> str:
        """Return the text to be stored before that many are claimed, all of them together."""
        return json.dumps({**self.state, NOTE: (self._work.chain_depth, claims)}, ensure_ascii=False)

    def note_stored(self, claims: int) -> None:
        """Set the number that is noted now."""
        self._credit += claims - self.claims_noted()
        self._note = (self._work.chain_depth, claims)

    def claims_left_over(self) -> int:
        """Return how many of those noted by this very call of the handler were not claimed so far."""
        return self._credit

    def claims_taken(self, claims: int) -> None:
        """Add tasks that may have been claimed; a negative number was not."""
        self._credit -= claims
        assert self._credit >= 0, "more was claimed than noted"
