"""What a handler asks for beyond its own lineage: how long its key stays held, and its resource switched off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ramet.engine.context.outcome import ERROR_CHARACTERS_MAX
from ramet.model.task import events as ev
from ramet.model.values import storable

if TYPE_CHECKING:
    from ramet.engine.base.work import Work
    from ramet.engine.kinds.registry import Kind


NOTHING = (None, None)


class Beyond:
    """The part of a context that asks for it; buffered, and under the claim's fence as everything else."""

    _work: Work
    _kind: Kind
    _held_for: float | None = None
    _switched_off: str | None = None

    def hold_key(self, seconds: float) -> None:
        """For a kind with ``unique="global"``: how long this task's key stays held after its end, at most the kind's
        ``unique_seconds``; 0 frees it at once. The last call counts.

        It holds when this claim of the task ends it as success, filtered or skipped. After a failure, an end from
        outside or another claim the usual rule holds, and of a kind with a task per stage the last stage's word.

        Raises:
            ValueError: the kind's keys are a lineage's own matter, or not a number of at least 0.
        """
        if self._work.unique_seconds is None and self._kind.unique_seconds is None:
            raise ValueError(f"kind {self._work.kind!r} is not unique over all lineages: register it unique='global'")
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"a key is to be held for {seconds!r}: give a number of seconds, 0 or more")
        self._held_for = float(seconds)

    def switch_off(self, reason: str) -> None:
        """Open the breaker of this task's resource, as its last failure would: it is gone, say. Commits with the task's
        next checkpoint or its end; an exception drops it.

        Without a cool-down only a person closes it, and what waits for the resource is skipped
        (``source_disabled``); with one, a task is let through again after it.

        Raises:
            ValueError: the task has no resource, or the reason is empty.
        """
        if self._work.resource is None:
            raise ValueError(f"task {self._work.id} has no resource to switch off: register its kind with resource=")
        if not reason.strip():
            raise ValueError("a resource is switched off without a reason: give one, people will ask")
        self._switched_off = storable(reason, ERROR_CHARACTERS_MAX)

    def take_beyond(self, event: ev.Event) -> tuple[float | None, str | None]:
        """For the engine: both, as they go with a settlement; the hold only with an end."""
        held_for, reason = self._held_for, self._switched_off
        self._switched_off = None
        if type(event) is ev.Checkpoint:
            return None, reason
        self._held_for = None
        return held_for, reason
