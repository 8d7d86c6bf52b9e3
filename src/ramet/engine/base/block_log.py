"""Telling people about blocked spawns without drowning them (DESIGN §5)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.engine.base.clock import Clock
from ramet.model.keys import shown_key
from ramet.model.lineage.guard import ORDINARY
from ramet.model.task.binding import ItemAnswer
from ramet.store.answers import SpawnAnswer
from ramet.store.loggers import own_logger

guard_log = own_logger("ramet.guard")

WARN_SECONDS = 60.0
REMEMBERED_MAX = 10_000
NAMED_MAX = 5
"""Refused items that one line names."""


class RefusalLog:
    """Warns once per (lineage, reason) a minute, with the count since; everyday duplicates go to debug."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], tuple[float, int]] = {}

    def note(
        self,
        tracking_id: str,
        task_id: str,
        spawn_depth: int,
        answers: Sequence[SpawnAnswer],
        items: Sequence[ItemAnswer] = (),
    ) -> None:
        """Log the blocked ones among the guard's answers to one task, and its items that were not its own."""
        refused = [item for item in items if item.refused is not None]
        if refused:
            named = ", ".join(f"{item.task_id} ({item.refused})" for item in refused[:NAMED_MAX])
            more = f" and {len(refused) - NAMED_MAX} more" if len(refused) > NAMED_MAX else ""
            guard_log.warning("task %s settled %d tasks that are not (or no longer) bound to it: %s%s",
                        task_id, len(refused), named, more)  # fmt: skip
        for answer in answers:
            if answer.reason is None:
                continue
            fields = {
                "task_id": task_id,
                "tracking_id": tracking_id,
                "spawn_depth": spawn_depth,
                "chain_length": spawn_depth + 1,
                "reason": answer.reason.value,
            }
            if answer.reason in ORDINARY:
                guard_log.debug("spawn of %s %r blocked: %s", answer.kind, shown_key(answer.key), answer.detail, extra=fields)
            else:
                self._warn(tracking_id, answer, fields)

    def _warn(self, tracking_id: str, answer: SpawnAnswer, fields: dict[str, object]) -> None:
        assert answer.reason is not None
        name, now = (tracking_id, answer.reason.value), self._clock.monotonic()
        warned_at, count = self._since.get(name, (float("-inf"), 0))
        if now - warned_at < WARN_SECONDS:
            self._since[name] = (warned_at, count + 1)
            return
        if len(self._since) >= REMEMBERED_MAX:
            self._since.clear()
        self._since[name] = (now, 0)
        more = f" (and {count} more since the last warning)" if count else ""
        guard_log.warning(
            "spawn of %s %r blocked, %s: %s%s (task %s, lineage %s, depth %s)",
            answer.kind,
            shown_key(answer.key),
            answer.reason.value,
            answer.detail,
            more,
            fields["task_id"],
            tracking_id,
            fields["spawn_depth"],
            extra={**fields, "count": count + 1},
        )
