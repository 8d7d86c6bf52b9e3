"""How long a key stays held over all lineages, for every way in which a task can end."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage.guard import FAILED_HELD_SECONDS, held_seconds, imported_seconds
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import Standing
from tests.model.samples import FENCE, NOW, changed, error, standing

WINDOW = 3_600.0
DAY = FAILED_HELD_SECONDS


def unique(state: str = "processing", **changes: Any) -> Standing:
    return standing(state, unique_seconds=WINDOW, **changes)


LATE: dict[str, Any] = {"deadline_at": NOW - 1.0}
ENDS: dict[str, tuple[Standing, ev.Event, float | None]] = {
    "success": (unique(), ev.Complete(FENCE), WINDOW),
    "filtered": (unique(), ev.Filter(FENCE, "no"), WINDOW),
    "a skip that the handler asked for": (unique(), ev.Skip(FENCE, "no need"), WINDOW),
    "excluded while pending": (unique("pending"), ev.Exclude("ann"), WINDOW),
    "excluded after a failure": (unique("failed"), ev.Exclude("ann"), WINDOW),
    "excluded after a cancel": (unique("cancelled"), ev.Exclude("ann"), WINDOW),
    "the handler's own failure": (unique(), ev.Fail(FENCE, "no"), DAY),
    "a permanent error": (unique(), error(ErrorClass.PERMANENT), DAY),
    "the last attempt": (unique(attempts=4), error(), DAY),
    "poison": (unique(losses=9, lease_until=0.0), ev.LeaseExpired(), DAY),
    "settled as success": (unique("pending", bound_to="s"), ev.SettledBy("s", FENCE, "success"), WINDOW),
    "settled as failed": (unique("pending", bound_to="s"), ev.SettledBy("s", FENCE, "failed"), DAY),
    "settled as cancelled": (unique("pending", bound_to="s"), ev.SettledBy("s", FENCE, "cancelled"), None),
    "cancelled": (unique(), ev.Cancel("ann"), None),
    "the task's deadline": (unique("pending", **LATE), ev.DeadlinePassed(), None),
    "the task's deadline at the end of an attempt": (unique(**LATE), error(), None),
    "the task's deadline at a snooze": (unique(**LATE), ev.Snooze(FENCE, 5.0), None),
    "the lineage's deadline": (unique(), ev.LineageEnded("failed", "lineage_deadline"), None),
    "the lineage's end for any other reason": (unique(), ev.LineageEnded("failed", "guard: too deep"), None),
    "more was spent than is allowed": (unique(), ev.OverCeiling("$2 of $1 are spent"), None),
    "no reason is told": (unique("pending", bound_to="s"), ev.SettledBy("s", FENCE, "failed", reason=None), DAY),
    "the lineage's cancel": (unique(), ev.LineageEnded("cancelled", "cancelled by ann"), None),
    "after the on_end handler of a deadline": (
        unique(ending="failed", ending_reason="task_deadline"),
        ev.Complete(FENCE),
        None,
    ),
    "no progress": (unique(), ev.Continue(FENCE, progressed=False), WINDOW),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_key_stays_held_as_its_holder_ended(name: str) -> None:
    task, event, expected = ENDS[name]
    assert held_seconds(changed(task, event)) == expected


@pytest.mark.parametrize(("own", "held"), [(5.0, 5.0), (WINDOW + 1.0, WINDOW), (0.0, None), (0.5, 0.5)])
def test_an_end_may_hold_its_key_for_less_than_its_kind_does(own: float, held: float | None) -> None:
    assert held_seconds(changed(unique(), ev.Complete(FENCE))._replace(hold_seconds=own)) == held
    assert held_seconds(changed(unique(), ev.Fail(FENCE, "no"))._replace(hold_seconds=own)) == DAY


def test_a_skip_by_the_engine_frees_the_key() -> None:
    change = changed(unique(), ev.Skip(FENCE, "dependency"))
    by_engine = change._replace(transition=changed(unique(), ev.Cancel("engine")).transition)
    assert held_seconds(by_engine) is None


def test_a_failure_that_names_the_cost_budget_is_an_end_by_a_limit() -> None:
    over = Reason("cost", ceiling="day", limit=5, spent=6)
    assert held_seconds(changed(unique(), ev.Fail(FENCE, over))) is None
    assert held_seconds(changed(unique(), ev.Fail(FENCE, "costly page"))) == DAY
    assert held_seconds(changed(unique(), ev.Fail(FENCE, str(over)))) == DAY, "a handler's own words are only words"


def test_a_task_that_is_not_unique_holds_no_key() -> None:
    with pytest.raises(AssertionError, match=r"^only unique tasks hold a key$"):
        held_seconds(changed(standing(), ev.Complete(FENCE)))


@pytest.mark.parametrize(
    ("state", "seconds"),
    [("success", WINDOW), ("filtered", WINDOW), ("skipped", WINDOW), ("failed", DAY), ("cancelled", None)],
)
def test_an_imported_end_holds_its_key_as_an_end_here_does(state: str, seconds: float | None) -> None:
    assert imported_seconds(state, WINDOW) == seconds
