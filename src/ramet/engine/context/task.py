"""What a handler knows of its own task."""

from __future__ import annotations

import json

from ramet.engine.base.observe import traced
from ramet.engine.base.work import Work
from ramet.model.paths import PathRule
from ramet.model.task.task import TaskState
from ramet.model.tracing import attempt_span_id, traceparent


class OwnTask:
    """The part of a context that tells about the task in hand."""

    _work: Work

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
        """Where this task stands in line; empty when nothing constrains it. While it runs, nothing on a conflicting
        path does (promise I7)."""
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
        """How often this task has continued itself."""
        return self._work.chain_depth

    @property
    def snoozes(self) -> int:
        """How often this task was snoozed."""
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
        return self._work.ending_reason

    @property
    def token(self) -> str:
        """An idempotency token for calls to the outside: changes with every claim (promise I2)."""
        return f"{self._work.id}:{self._work.fence}"
