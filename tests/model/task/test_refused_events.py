"""When an event does not apply to a task, to the moment, and by which name it is refused (DESIGN §4)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage.limits import ENDING_SECONDS
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.ordering import PULLED_RANK
from ramet.model.task.task import Standing
from ramet.model.task.transitions import TransitionRefused
from tests.model.samples import FENCE, NOW, changed, claim, error, standing

POLLS: dict[str, Any] = {"max_attempts": None}
LEASED: dict[str, Any] = {"lease_until": NOW + 0.1}
LAPSED: dict[str, Any] = {"lease_until": NOW}
BOUND: dict[str, Any] = {"wait": "bound", "bound_to": "batch"}
ENDING: dict[str, Any] = {"ending": "failed"}
bind = ev.Bind("batch", NOW + 60.0)
settled = ev.SettledBy("batch", FENCE, "success")


def waiting(**changes: Any) -> Standing:
    return standing("pending", **changes)


CASES: list[tuple[Standing, ev.Event, str | None]] = [
    (standing("success"), claim(), "is_success"),
    (standing(), ev.Complete(FENCE - 1), "stale"),
    (standing(), ev.Complete(FENCE + 1), "stale"),
    (standing(), ev.Complete(FENCE), None),
    (waiting(available_at=NOW), claim(), None),
    (waiting(available_at=NOW + 0.1), claim(), "not_due"),
    (waiting(wait="due"), claim(), "waits"),
    (waiting(wait="due", available_at=NOW + 0.1), claim(), "waits"),
    (waiting(available_at=NOW), bind, None),
    (waiting(available_at=NOW + 0.1), bind, "not_due"),
    (waiting(wait="due"), bind, "waits"),
    (waiting(resource="api"), bind, "waits"),
    (waiting(**BOUND), bind, "waits"),
    (waiting(**ENDING), bind, "ending"),
    (waiting(deadline_at=NOW + 0.1), bind, None),
    (waiting(deadline_at=NOW), bind, "overdue"),
    (waiting(deadline_at=None), bind, None),
    (standing(**LEASED), ev.LeaseExpired(), "lease_current"),
    (standing(**LEASED), ev.LeaseExpired(worker_dead=True), None),
    (standing(**LAPSED), ev.LeaseExpired(), None),
    (waiting(deadline_at=None), ev.DeadlinePassed(), "not_overdue"),
    (waiting(deadline_at=NOW + 0.1), ev.DeadlinePassed(), "not_overdue"),
    (waiting(deadline_at=NOW), ev.DeadlinePassed(), None),
    (standing(deadline_at=NOW, **LEASED), ev.DeadlinePassed(), "in_hand"),
    (standing(deadline_at=NOW, **LEASED), ev.DeadlinePassed(polled=True), "in_hand"),
    (standing(deadline_at=NOW, **LAPSED), ev.DeadlinePassed(), None),
    (waiting(deadline_at=NOW, **LEASED), ev.DeadlinePassed(), None),
    (waiting(deadline_at=NOW, **BOUND), ev.DeadlinePassed(), "in_hand"),
    (waiting(deadline_at=NOW, **BOUND), ev.DeadlinePassed(polled=True), None),
    (waiting(deadline_at=NOW, **POLLS), ev.DeadlinePassed(), "not_polled"),
    (waiting(deadline_at=NOW, **POLLS), ev.DeadlinePassed(polled=True), None),
    (waiting(deadline_at=NOW, **POLLS, **ENDING), ev.DeadlinePassed(), None),
    (waiting(), settled, "not_bound"),
    (waiting(**{**BOUND, "bound_to": "other"}), settled, "not_bound"),
    (waiting(**BOUND, fence=FENCE + 1), settled, "stale"),
    (waiting(**BOUND), settled, None),
    (waiting(**ENDING), ev.Cancel("ann"), "ending"),
    (waiting(**ENDING), ev.LineageEnded("failed", "so"), "ending"),
    (waiting(**ENDING), ev.OverCeiling("so"), "ending"),
    (waiting(**ENDING), ev.SourceDisabled("so"), "ending"),
    (waiting(**ENDING, holds_path=0), ev.DependencyFailed("so"), "ending"),
    (waiting(holds_path=1), ev.DependencyFailed("so"), "not_waiting"),
    (waiting(holds_path=None), ev.DependencyFailed("so"), "not_waiting"),
    (waiting(holds_path=0), ev.DependencyFailed("so"), None),
    (waiting(wait="tasks"), ev.DependencyFailed("so"), None),
    (waiting(), ev.Wake(NOW + 60.0), "not_waiting"),
    (waiting(wait="path"), ev.Wake(NOW + 60.0), "not_waiting"),
    (waiting(wait="tasks"), ev.Wake(NOW + 60.0), None),
    (waiting(wait="resource", deadline_at=NOW), ev.DeadlinePassed(), "at_resource"),
    (waiting(wait="resource", deadline_at=NOW, **ENDING), ev.DeadlinePassed(), None),
    (waiting(**ENDING), ev.Reprioritise("ann", 5), "ending"),
    (waiting(rank=PULLED_RANK), ev.Reprioritise("ann", 5), "pulled"),
    (waiting(rank=PULLED_RANK - 1), ev.Reprioritise("ann", 5), None),
    (waiting(**ENDING), ev.Reschedule("ann", NOW), "ending"),
    (waiting(**BOUND), ev.Reschedule("ann", NOW), "held"),
    (waiting(wait="tasks"), ev.Reschedule("ann", NOW), "held"),
    (waiting(wait="path"), ev.Reschedule("ann", NOW), "held"),
    (waiting(wait="ticket"), ev.Reschedule("ann", NOW), None),
]


@pytest.mark.parametrize("at", range(len(CASES)))
def test_an_event_that_does_not_apply_is_refused_by_name(at: int) -> None:
    task, event, reason = CASES[at]
    if reason is not None:
        assert decide(task, event, NOW) == TransitionRefused(reason)
    else:
        assert changed(task, event).transition.event is type(event)


@pytest.mark.parametrize(
    ("task_seconds", "lineage_at", "deadline_at"),
    [(None, NOW + 60.0, NOW + 60.0), (50.0, NOW + 60.0, NOW + 50.0), (90.0, NOW + 60.0, NOW + 60.0)],
)
@pytest.mark.parametrize("started_at", [None, NOW - 10.0])
def test_the_time_of_a_task_begins_with_its_first_claim_and_never_outlasts_its_lineage(
    task_seconds: float | None, lineage_at: float, deadline_at: float, started_at: float | None
) -> None:
    task = waiting(deadline_at=None, started_at=started_at, task_seconds=task_seconds)
    bound = changed(task, ev.Bind("batch", lineage_at)).after
    assert (bound.deadline_at, bound.started_at) == (deadline_at, started_at)
    began = NOW if started_at is None else started_at
    claimed = changed(task, claim(lineage_deadline_at=lineage_at)).after
    own = lineage_at if task_seconds is None else min(began + task_seconds, lineage_at)
    assert (claimed.deadline_at, claimed.started_at) == (own, began)
    kept = changed(task._replace(deadline_at=NOW + 5.0), bind).after
    assert kept.deadline_at == NOW + 5.0


@pytest.mark.parametrize(
    "event",
    [
        error(),
        ev.Snooze(FENCE, 60.0),
        ev.HandBack(FENCE, 60.0),
        ev.SettledBy("batch", FENCE, "pending", delay_seconds=60.0, known=False),
    ],
)
def test_a_poll_whose_deadline_passed_meanwhile_is_claimed_once_more_at_once(event: ev.Event) -> None:
    held = standing("pending", **BOUND) if isinstance(event, ev.SettledBy) else standing()
    change = changed(held._replace(**POLLS, deadline_at=NOW - 1.0, claimed_at=NOW - 9.0), event)
    assert (change.after.state, change.after.available_at, change.after.wait) == ("pending", NOW, None)


def test_what_nobody_knows_of_a_poll_after_its_deadline_is_not_its_last_word() -> None:
    late: dict[str, Any] = {**POLLS, "deadline_at": NOW - 5.0, "claimed_at": NOW - 1.0}
    assert changed(standing(**late), ev.LeaseExpired(worker_dead=True)).after.state == "pending"
    assert changed(standing(**late), ev.Snooze(FENCE, 5.0)).after.state == "failed"
    bound = standing("pending", **BOUND, **late)
    assert changed(bound, ev.SettledBy("batch", FENCE, "pending", known=False)).after.state == "pending"
    assert changed(bound, ev.SettledBy("batch", FENCE, "pending")).after.state == "failed"


def test_a_claim_may_be_handed_back_for_less_than_a_second_and_one_that_is_due_now_is_free() -> None:
    for task, seconds, wait in ((standing(), 0.5, "due"), (standing(available_at=NOW), 0.0, None)):
        after = changed(task, ev.HandBack(FENCE, seconds)).after
        assert (after.wait, after.available_at) == (wait, NOW + seconds)


def test_over_a_ceiling_a_last_handler_has_its_time_too() -> None:
    after = changed(standing(on_end=1), ev.OverCeiling("so")).after
    assert (after.available_at, after.deadline_at) == (NOW, NOW + ENDING_SECONDS)


def test_a_last_handler_that_did_not_end_in_time_while_it_ran_is_told_with_its_outcome() -> None:
    change = changed(standing(**ENDING, ending_reason="so", deadline_at=NOW, **LAPSED), ev.DeadlinePassed())
    assert (change.outcome, change.reason) == ("ended", "so; on_end: not done within 3600 s")


def test_a_revived_task_has_nothing_of_an_earlier_claim_or_end() -> None:
    damaged = standing("failed", lease_until=NOW, worker="w", ending="failed", ending_reason="so")
    after = changed(damaged, ev.Revive("ann")).after
    assert (after.lease_until, after.worker, after.ending, after.ending_reason) == (0.0, None, None, None)
