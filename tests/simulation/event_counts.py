"""What happened in runs: so that nothing stops happening in them without anybody noticing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ramet.model.lineage.guard import BlockReason
from ramet.model.task import lifecycle
from ramet.model.task.task import Standing, TaskState, Wait
from ramet.model.task.transitions import TRANSITIONS, Change

if TYPE_CHECKING:
    from tests.simulation.database import SimulatedStore
    from tests.simulation.observed_answers import Witness

OUTCOMES = ("success", "filtered", "skipped", "error", "snooze", "continue", "lost", "returned", "ended")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count every change of a task that the model decides, by its transition and where it leads."""
    events: Counter[str] = Counter()

    def counting(rule: Any) -> Any:
        def decide(row: Any, task: Standing, event: Any, now: float) -> Any:
            found = rule(row, task, event, now)
            if isinstance(found, Change):
                events[f"transition {found.transition.name}"] += 1
                if found.after.state != task.state:
                    events[f"{found.transition.name} -> {found.after.state}"] += 1
            return found

        return decide

    with ExitStack() as stack:
        rules = {event: (row, counting(rule)) for event, (row, rule) in lifecycle._RULES.items()}
        stack.enter_context(patch.dict(lifecycle._RULES, rules))
        yield events


def happened(store: SimulatedStore, witness: Witness) -> Counter[str]:
    """What is left of a run in its rows, and what was refused in it."""
    events: Counter[str] = Counter()
    for sql, name in (
        ("SELECT state, COUNT(*) FROM ramet_tasks GROUP BY 1", "task"),
        ("SELECT state, COUNT(*) FROM ramet_lineages GROUP BY 1", "lineage"),
        ("SELECT outcome, COUNT(*) FROM ramet_attempts GROUP BY 1", "outcome"),
        ("SELECT reason, SUM(count) FROM ramet_blocks GROUP BY 1", "block"),
    ):
        events.update({f"{name} {value}": int(count) for value, count in store.rows(sql)})
    events.update({f"refused {reason}": count for reason, count in witness.refused.items()})
    return events


NEVER: dict[str, str] = {}
"""What no run can reach, and why."""
REQUIRED = frozenset(
    [
        *(f"transition {row.name}" for row in TRANSITIONS if row.name not in ("submit", "spawn")),
        *(f"task {state}" for state in TaskState if state.terminal),
        *(f"lineage {state}" for state in ("finished", "failed", "cancelled")),
        *(f"outcome {outcome}" for outcome in OUTCOMES),
        *(f"block {reason}" for reason in BlockReason),
        *(f"wait {wait}" for wait in Wait),
        "slot run", "slot skipped", "slot missed", "claimed on a path", "path conflict", "claimed half open",
        "failure at mill", "failure at host 0", "at the size limit", "clock stood still", "cancelled a tree",
        "pruned a lineage", "upgraded", "upgraded under claims", "restored", "claimed to end",
        "reoffer done", "raise_limits done", "exclude done", "revive done", "cancel done", "cancel_lineage done",
        "pause_lineage done", "pause_queue done", "open_breaker done", "close_breaker done", "stop done",
        "joined", "joined a branch", "a branch grew", "came after", "went on", "waits again", "branch at its size",
        "verb add", "verb bind", "verb reserve", "verb settle_reserved",
    ]
) - NEVER.keys()  # fmt: skip
