"""What each event changes of a task, and that it leaves all else as it was: whole standings (DESIGN §4)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage.limits import ENDING_SECONDS
from ramet.model.paths import PathRule
from ramet.model.reasons import facts_of
from ramet.model.task import events as ev
from ramet.model.task.newborn import new_standing
from ramet.model.task.ordering import BY_DUE, PULLED_RANK
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import NewTask, Standing
from ramet.model.task.transitions import Change
from tests.model.samples import FENCE, LEASE_SECONDS, NOW, changed, claim, error, refused, standing


def due(seconds: float) -> int:
    """The rank of a pulled task that is due so much later."""
    return PULLED_RANK + int((NOW + seconds) * 1_000)


OWN: dict[str, Any] = {
    "rank": due(-20.0),
    "losses": 1,
    "snoozes": 3,
    "chain_depth": 1,
    "progressed": 1,
    "fan_out": 2,
    "stage": "old",
    "turn": 9,
    "unique_seconds": 60.0,
    "resource": "api",
    "holds_path": 1,
}
"""Something in every field that an event might lose."""
WAITING: dict[str, Any] = {**OWN, "wait": "resource"}
DELAYED: dict[str, Any] = {**OWN, "wait": "due"}
BOUND: dict[str, Any] = {**OWN, "wait": "bound", "bound_to": "batch"}
IN_LINE: dict[str, Any] = {**OWN, "wait": "path", "holds_path": 0}
JOINED: dict[str, Any] = {**OWN, "wait": "tasks", "holds_path": 0}
ENDING: dict[str, Any] = {**OWN, "on_end": 1, "ending": "cancelled", "ending_reason": "by ann"}

OVER: dict[str, Any] = {"wait": None, "worker": None, "lease_until": 0.0, "bound_to": None} | dict.fromkeys(
    ("ending", "ending_reason")
)
"""What is left of no claim."""
FREE: dict[str, Any] = {"state": "pending", "worker": None, "lease_until": 0.0}
LAST: dict[str, Any] = FREE | {
    "rank": 0,
    "wait": None,
    "available_at": NOW,
    "fence": FENCE + 1,
    "deadline_at": NOW + ENDING_SECONDS,
    "bound_to": None,
}
"""Of a task that is claimed once more, for its ``on_end`` handler."""
TIMED_OUT = {"outcome": "error", "error": "timed out", "error_class": "transient", "fingerprint": "f" * 16}
LATE: dict[str, Any] = {"deadline_at": NOW, "on_end": 1}

Case = tuple[Standing, ev.Event, dict[str, Any], dict[str, Any]]
CLAIMS: dict[str, Case] = {
    "claim": (
        standing("pending", **WAITING),
        claim(),
        {
            "state": "processing", "fence": FENCE + 1, "lease_until": NOW + LEASE_SECONDS, "worker": "worker-2",
            "claimed_at": NOW, "attempts": 3, "progressed": 0,
            # It was its turn 20 s late.
            "started_at": NOW - 3_580.0, "deadline_at": NOW + 3_620.0,
        },
        {},
    ),
    "heartbeat": (standing(**OWN), ev.Heartbeat(FENCE, 9.0), {"lease_until": NOW + 9.0}, {}),
    "progress": (standing(**OWN), ev.Progress(FENCE, 9.0), {"lease_until": NOW + 9.0}, {}),
    "checkpoint": (
        standing(**{**OWN, "progressed": 0}),
        ev.Checkpoint(FENCE, 9.0, "new"),
        {"lease_until": NOW + 9.0, "stage": "new", "progressed": 1},
        {},
    ),
    "checkpoint in its stage": (standing(**OWN), ev.Checkpoint(FENCE, 9.0), {"lease_until": NOW + 9.0}, {}),
    "bind": (
        standing("pending", **WAITING),
        ev.Bind("batch", NOW + 60.0),
        {"wait": "bound", "bound_to": "batch", "fence": FENCE + 1, "claimed_at": NOW},
        {},
    ),
}  # fmt: skip
OUTCOMES: dict[str, Case] = {
    "complete": (
        standing(**OWN), ev.Complete(FENCE, "so"), {**OVER, "state": "success"}, {"outcome": "success", "reason": "so"},
    ),
    "filter": (
        standing(**OWN), ev.Filter(FENCE, "so"), {**OVER, "state": "filtered"},
        {"outcome": "filtered", "reason": "so"},
    ),
    "skip": (
        standing(**OWN), ev.Skip(FENCE, "so"), {**OVER, "state": "skipped"}, {"outcome": "skipped", "reason": "so"},
    ),
    "fail": (
        standing(**OWN), ev.Fail(FENCE, "so"), {**OVER, "state": "failed"},
        {"outcome": "error", "reason": "so", "error": "so"},
    ),
    "permanent error": (
        standing(**OWN), error(ErrorClass.PERMANENT), {**OVER, "state": "failed"},
        {**TIMED_OUT, "error_class": "permanent", "reason": "permanent_error"},
    ),
    "repeated error": (
        standing(**OWN), error(ErrorClass.UNCLASSIFIED, repeats="t9"), {**OVER, "state": "failed"},
        {**TIMED_OUT, "error_class": "unclassified", "reason": "repeated_error: as task t9"},
    ),
    "last error": (
        standing(**OWN, attempts=4), error(), {**OVER, "state": "failed"},
        {**TIMED_OUT, "reason": "attempts_exhausted: 4"},
    ),
    "error": (
        standing(**OWN), error(), {**FREE, "wait": "due", "available_at": NOW + 2.0, "rank": due(2.0)},
        {**TIMED_OUT, "reason": "retry_in: 2.000 s"},
    ),
    "error in a storm": (
        standing(**OWN), error(not_before_at=NOW + 30.0),
        {**FREE, "wait": "due", "available_at": NOW + 30.0, "rank": due(30.0)}, {**TIMED_OUT, "reason": "retry_storm"},
    ),
    "error before the storm is over": (
        standing(**OWN), error(not_before_at=NOW + 2.0),
        {**FREE, "wait": "due", "available_at": NOW + 2.0, "rank": due(2.0)},
        {**TIMED_OUT, "reason": "retry_in: 2.000 s"},
    ),
    "snooze": (
        standing(**OWN), ev.Snooze(FENCE, 30.0, "not yet"),
        {**FREE, "wait": "due", "available_at": NOW + 30.0, "rank": due(30.0), "attempts": 1, "snoozes": 4},
        {"outcome": "snooze", "reason": "not yet"},
    ),
    "join": (
        standing(**OWN), ev.Join(FENCE, live=2),
        {
            **FREE, "wait": "tasks", "available_at": NOW, "rank": due(0.0), "attempts": 1, "deadline_at": None,
            "holds_path": 0,
        },
        {"outcome": "snooze", "reason": "joined: 2 tasks"},
    ),
    "join with nothing to wait for": (
        standing(**OWN), ev.Join(FENCE, idle_rounds=1),
        {**FREE, "wait": "resource", "available_at": NOW, "rank": due(0.0), "attempts": 1},
        {"outcome": "snooze", "reason": "joined: 0 tasks"},
    ),
    "join with nothing to wait for, again": (
        standing(**OWN), ev.Join(FENCE, idle_rounds=2), {**OVER, "state": "failed"},
        {
            "outcome": "error", "reason": "no_progress",
            "error": "a join with nothing to wait for, again",
        },
    ),
    "join of what waits for it": (
        standing(**OWN), ev.Join(FENCE, live=2, circle="t9"), {**OVER, "state": "failed"},
        {
            "outcome": "error", "reason": "wait_cycle: task t9 waits for this one",
            "error": "a join that would wait for itself: wait_cycle: task t9 waits for this one",
        },
    ),
    "join without a path": (
        standing(**{**OWN, "holds_path": None}), ev.Join(FENCE, live=2),
        {**FREE, "wait": "tasks", "available_at": NOW, "rank": due(0.0), "attempts": 1, "deadline_at": None},
        {"outcome": "snooze", "reason": "joined: 2 tasks"},
    ),
    "its tasks have ended": (
        standing("pending", **{**JOINED, "holds_path": None}), ev.Wake(NOW + 900.0, 30.0),
        {"wait": "resource", "available_at": NOW, "deadline_at": NOW + 30.0}, {},
    ),
    "its tasks have ended, and it has a path": (
        standing("pending", **JOINED), ev.Wake(NOW + 20.0, 30.0),
        {"wait": "ticket", "available_at": NOW, "deadline_at": NOW + 20.0}, {},
    ),
    "its tasks have ended, and it has no time of its own": (
        standing("pending", **{**JOINED, "holds_path": None}), ev.Wake(NOW + 900.0),
        {"wait": "resource", "available_at": NOW, "deadline_at": NOW + 900.0}, {},
    ),
    "its tasks have ended before it is due and before it ever ran": (
        standing("pending", **{**JOINED, "holds_path": None}, available_at=NOW + 0.5, started_at=None),
        ev.Wake(NOW + 900.0, 30.0), {"wait": "due"}, {},
    ),
    "its tasks have ended when it is due": (
        standing("pending", **{**JOINED, "holds_path": None, "resource": None}, available_at=NOW, started_at=None),
        ev.Wake(NOW + 900.0, 30.0), {"wait": None}, {},
    ),
    "continue": (
        standing(**OWN), ev.Continue(FENCE, progressed=False),
        {**FREE, "wait": "resource", "available_at": NOW, "rank": due(0.0), "attempts": 0, "chain_depth": 2},
        {"outcome": "continue"},
    ),
    "continue without progress": (
        standing(**{**OWN, "progressed": 0}), ev.Continue(FENCE, progressed=False), {**OVER, "state": "success"},
        {"outcome": "success", "reason": "no_progress"},
    ),
    "continue at the end of the chain": (
        standing(**{**OWN, "chain_depth": 2}), ev.Continue(FENCE, progressed=True), {**OVER, "state": "success"},
        {"outcome": "success", "reason": "chain_depth: 2"},
    ),
    "reclaim": (
        standing(**OWN), ev.LeaseExpired(alone=True, worker_dead=True),
        {
            **FREE, "wait": "resource", "available_at": NOW, "rank": due(0.0), "attempts": 1, "losses": 2,
            "losses_alone": 1,
        },
        {"outcome": "lost", "reason": "lease_expired"},
    ),
    "poison": (
        standing(**{**OWN, "losses": 9}, losses_alone=1), ev.LeaseExpired(worker_dead=True),
        {**OVER, "state": "failed", "attempts": 1, "losses": 10, "losses_alone": 1},
        {"outcome": "lost", "reason": "poison: 10 claims lost, 1 of them alone"},
    ),
    "poison, with what was seen": (
        standing(**OWN, losses_alone=2), ev.LeaseExpired(alone=True, worker_dead=True, error="signal 9"),
        {**OVER, "state": "failed", "attempts": 1, "losses": 2, "losses_alone": 3},
        {"outcome": "lost", "reason": "poison: 2 claims lost, 3 of them alone", "error": "signal 9"},
    ),
    "hand back": (
        standing(**OWN), ev.HandBack(FENCE), {**FREE, "wait": "resource", "attempts": 1},
        {"outcome": "returned", "reason": "handed_back"},
    ),
    "hand back for a while": (
        standing(**OWN), ev.HandBack(FENCE, 9.0), {**FREE, "wait": "due", "available_at": NOW + 9.0, "attempts": 1},
        {"outcome": "returned", "reason": "handed_back"},
    ),
    "hand back of a last claim": (
        standing(**ENDING), ev.HandBack(FENCE), {**FREE, "wait": None},
        {"outcome": "returned", "reason": "handed_back"},
    ),
    "settled": (
        standing("pending", **BOUND), ev.SettledBy("batch", FENCE, "success", "so"), {**OVER, "state": "success"},
        {"outcome": "success", "reason": "so", "by": "batch"},
    ),
    "settled as failed": (
        standing("pending", **BOUND), ev.SettledBy("batch", FENCE, "failed", "so"), {**OVER, "state": "failed"},
        {"outcome": "error", "reason": "so", "error": "so", "by": "batch"},
    ),
    "settled as cancelled": (
        standing("pending", **BOUND), ev.SettledBy("batch", FENCE, "cancelled", "so"), {**OVER, "state": "cancelled"},
        {"outcome": "ended", "reason": "so", "by": "batch"},
    ),
    "let go": (
        standing("pending", **BOUND), ev.SettledBy("batch", FENCE, "pending", "so", 5.0),
        {**FREE, "wait": "due", "available_at": NOW + 5.0, "rank": due(5.0), "bound_to": None},
        {"outcome": "returned", "reason": "so", "by": "batch"},
    ),
    "let go at once": (
        standing("pending", **BOUND), ev.SettledBy("batch", FENCE, "pending", "so", -5.0),
        {**FREE, "wait": "resource", "available_at": NOW, "rank": due(0.0), "bound_to": None},
        {"outcome": "returned", "reason": "so", "by": "batch"},
    ),
}  # fmt: skip
ENDS: dict[str, Case] = {
    "cancel": (
        standing(**OWN), ev.Cancel("ann", "so"), {**OVER, "state": "cancelled"},
        {"outcome": "ended", "reason": "so", "by": "ann"},
    ),
    "cancel of what waits": (
        standing("pending", **IN_LINE), ev.Cancel("ann", "so"), {**OVER, "state": "cancelled"},
        {"reason": "so", "by": "ann"},
    ),
    "cancel of what is bound": (
        standing("pending", **BOUND), ev.Cancel("ann", "so"), {**OVER, "state": "cancelled"},
        {"outcome": "ended", "reason": "so", "by": "ann"},
    ),
    "cancel with a last handler": (
        standing(**OWN, on_end=1), ev.Cancel("ann", "so"),
        {**LAST, "ending": "cancelled", "ending_reason": "so"}, {"outcome": "ended", "reason": "so", "by": "ann"},
    ),
    "cancel in line with a last handler": (
        standing("pending", **{**IN_LINE, "rank": -7}, on_end=1), ev.Cancel("ann", "so"),
        {**LAST, "rank": -7, "wait": "path", "ending": "cancelled", "ending_reason": "so"},
        {"reason": "so", "by": "ann"},
    ),
    "the lineage's end": (
        standing(**OWN), ev.LineageEnded("failed", "so", "bob"), {**OVER, "state": "failed"},
        {"outcome": "ended", "reason": "so", "by": "bob"},
    ),
    "too much spent": (
        standing(**OWN), ev.OverCeiling("so"), {**OVER, "state": "failed"},
        {"outcome": "ended", "reason": "so", "by": "engine"},
    ),
    "its deadline": (
        standing("pending", **DELAYED, deadline_at=NOW), ev.DeadlinePassed(), {**OVER, "state": "failed"},
        {"reason": "task_deadline", "by": "engine"},
    ),
    "its deadline with a last handler": (
        standing("pending", **DELAYED, **LATE), ev.DeadlinePassed(),
        {**LAST, "ending": "failed", "ending_reason": "task_deadline", "ending_facts": "{}"},
        {"reason": "task_deadline", "by": "engine"},
    ),
    "the deadline of its last handler": (
        standing("pending", **ENDING, deadline_at=NOW), ev.DeadlinePassed(), {**OVER, "state": "cancelled"},
        {"reason": "by ann; on_end: not done within 3600 s", "by": "engine"},
    ),
    "a snooze past the deadline": (
        standing(**OWN, **LATE), ev.Snooze(FENCE, 5.0, "not yet"),
        {
            **LAST, "ending": "failed", "ending_reason": "task_deadline", "ending_facts": '{"own":"not yet"}',
            "attempts": 1, "snoozes": 4,
        },
        {"outcome": "snooze", "reason": "task_deadline: not yet"},
    ),
    "an error past the deadline": (
        standing(**OWN, deadline_at=NOW), error(), {**OVER, "state": "failed"},
        {**TIMED_OUT, "reason": "task_deadline"},
    ),
    "let go past the deadline": (
        standing("pending", **BOUND, deadline_at=NOW), ev.SettledBy("batch", FENCE, "pending", "so"),
        {**OVER, "state": "failed"}, {"outcome": "returned", "reason": "task_deadline: so", "by": "batch"},
    ),
    "lost past the deadline": (
        standing(**OWN, deadline_at=NOW), ev.LeaseExpired(worker_dead=True),
        {**OVER, "state": "failed", "attempts": 1, "losses": 2}, {"outcome": "lost", "reason": "task_deadline"},
    ),
    "its last handler": (
        standing(**ENDING), ev.Complete(FENCE, "so"), {**OVER, "state": "cancelled"},
        {"outcome": "success", "reason": "by ann"},
    ),
    "an error of its last handler": (
        standing(**ENDING), error(ErrorClass.PERMANENT), {**OVER, "state": "cancelled"},
        {**TIMED_OUT, "error_class": "permanent", "reason": "by ann; on_end: timed out"},
    ),
    "a retry of its last handler": (
        standing(**ENDING), error(), {**OVER, "state": "cancelled"},
        {**TIMED_OUT, "reason": "by ann; on_end: timed out"},
    ),
    "a failure of its last handler, beside what a handler said before": (
        standing(**{**ENDING, "ending_reason": "task_deadline", "ending_facts": '{"own":"not yet"}'}),
        ev.Fail(FENCE, "so"), {**OVER, "ending_facts": None, "state": "cancelled"},
        {"outcome": "error", "error": "so", "reason": "task_deadline: not yet; on_end: so"},
    ),
    "a failure of its last handler without a reason of its own": (
        standing(**{**ENDING, "ending_reason": None}), ev.Fail(FENCE, "so"), {**OVER, "state": "cancelled"},
        {"outcome": "error", "error": "so", "reason": "cancelled; on_end: so"},
    ),
    "a loss of its last handler": (
        standing(**ENDING), ev.LeaseExpired(worker_dead=True), {**OVER, "state": "cancelled", "losses": 2},
        {"outcome": "lost", "reason": "by ann; on_end: lease_expired"},
    ),
    "a join past the deadline": (
        standing(**OWN, **LATE), ev.Join(FENCE, live=2),
        {**LAST, "ending": "failed", "ending_reason": "task_deadline", "attempts": 1,
         "ending_facts": '{"own":{"code":"joined","tasks":2}}'},
        {"outcome": "snooze", "reason": "task_deadline: joined: 2 tasks"},
    ),
    "a join past the deadline without a last handler": (
        standing(**OWN, deadline_at=NOW), ev.Join(FENCE, live=2), {**OVER, "state": "failed", "attempts": 1},
        {"outcome": "snooze", "reason": "task_deadline: joined: 2 tasks"},
    ),
    "an idle join of its last handler": (
        standing(**ENDING), ev.Join(FENCE, idle_rounds=2), {**OVER, "state": "cancelled"},
        {"outcome": "snooze", "reason": "by ann"},
    ),
    "a join of its last handler": (
        standing(**ENDING), ev.Join(FENCE, live=2, circle="t9"), {**OVER, "state": "cancelled"},
        {"outcome": "snooze", "reason": "by ann"},
    ),
    "a loss past the deadline, with what was seen": (
        standing(**OWN, deadline_at=NOW), ev.LeaseExpired(worker_dead=True, error="signal 9"),
        {**OVER, "state": "failed", "attempts": 1, "losses": 2},
        {"outcome": "lost", "reason": "task_deadline", "error": "signal 9"},
    ),
    "a snooze of its last handler": (
        standing(**ENDING), ev.Snooze(FENCE, 5.0, "not yet"), {**OVER, "state": "cancelled", "snoozes": 4},
        {"outcome": "snooze", "reason": "by ann"},
    ),
    "a disabled source": (
        standing("pending", **WAITING), ev.SourceDisabled("so"), {**OVER, "state": "skipped"},
        {"reason": "so", "by": "engine"},
    ),
    "a failed dependency": (
        standing("pending", **IN_LINE), ev.DependencyFailed("so"), {**OVER, "state": "skipped"},
        {"reason": "so", "by": "engine"},
    ),
    "exclude": (
        standing("pending", **BOUND), ev.Exclude("ann", "so"), {"state": "skipped", "wait": None, "bound_to": None},
        {"outcome": "ended", "reason": "excluded: so", "by": "ann"},
    ),
    "exclude of what ended": (
        standing("failed", **OWN), ev.Exclude("ann"), {"state": "skipped"}, {"reason": "excluded", "by": "ann"},
    ),
}  # fmt: skip
MOVED: dict[str, Case] = {
    "another priority": (
        standing("pending", rank=-1), ev.Reprioritise("ann", -9, "so"), {"rank": -9}, {"reason": "so", "by": "ann"},
    ),
    "later": (
        standing("pending"), ev.Reschedule("ann", NOW + 9.0, "so"), {"wait": "due", "available_at": NOW + 9.0},
        {"reason": "so", "by": "ann"},
    ),
    "sooner": (
        standing("pending", wait="due", available_at=NOW + 9.0, resource="host"), ev.Reschedule("ann", NOW - 9.0),
        {"wait": "resource", "available_at": NOW}, {"by": "ann"},
    ),
    "later, of a pulled kind": (
        standing("pending", **DELAYED), ev.Reschedule("ann", NOW + 9.0),
        {"available_at": NOW + 9.0, "rank": due(9.0)}, {"by": "ann"},
    ),
    "set aside with its lineage": (
        standing("pending", wait="lineage"), ev.Reschedule("ann", NOW + 9.0), {"available_at": NOW + 9.0},
        {"by": "ann"},
    ),
}  # fmt: skip
ANEW: dict[str, Any] = {
    "state": "pending", "rank": due(0.0), "available_at": NOW, "started_at": None, "deadline_at": None, "attempts": 0,
    "losses": 0, "losses_alone": 0, "chain_depth": 0,
}  # fmt: skip
REVIVED: dict[str, Case] = {
    "in line again": (
        standing("failed", **OWN, losses_alone=2), ev.Revive("ann", "so"), {**ANEW, "wait": "ticket", "holds_path": 0},
        {"reason": "so", "by": "ann"},
    ),
    "waiting again": (
        standing("skipped", **{**OWN, "holds_path": None}), ev.Revive("ann", waits=True), {**ANEW, "wait": "tasks"},
        {"by": "ann"},
    ),
    "waiting again with a path": (
        standing("skipped", **OWN), ev.Revive("ann", waits=True), {**ANEW, "wait": "tasks", "holds_path": 0},
        {"by": "ann"},
    ),
    "free again": (
        standing("cancelled", **{**OWN, "holds_path": None}), ev.Revive("ann", "so"), {**ANEW, "wait": "resource"},
        {"reason": "so", "by": "ann"},
    ),
}  # fmt: skip
CASES = CLAIMS | OUTCOMES | ENDS | MOVED | REVIVED


@pytest.mark.parametrize("name", CASES)
def test_an_event_changes_what_it_should_and_nothing_else(name: str) -> None:
    task, event, fields, told = CASES[name]
    change = changed(task, event)
    assert change.after._asdict() == task._replace(**fields)._asdict()
    assert change.transition.event is type(event)
    assert change == Change(task, change.after, change.transition, **told)


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        (ev.Join(FENCE, idle_rounds=3), {"rounds": 3}),
        (ev.Join(FENCE, circle="t9"), {"task": "t9"}),
        (ev.Join(FENCE, live=2), {"tasks": 2}),
        (error(), {"seconds": 2.0}),
        (error(not_before_at=NOW + 30.0), {}),
    ],
)
def test_a_reason_carries_its_facts(event: ev.Event, facts: dict[str, Any]) -> None:
    assert facts_of(changed(standing(**OWN), event).reason) == facts


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"holds_path": 0}, "waits"), ({"wait": "due"}, "waits"), ({"wait": "bound"}, "waits"), ({}, None)],
)
def test_a_claim_needs_a_task_that_is_free_and_first_on_its_path(fields: dict[str, Any], reason: str | None) -> None:
    for free in (None, "resource"):
        task = standing("pending", **{**OWN, "wait": free, **fields})
        if reason is not None:
            assert refused(task, claim()) == reason
        else:
            assert changed(task, claim()).after.state == "processing"


@pytest.mark.parametrize(
    ("new", "turn", "fields"),
    [
        (NewTask("id", "job", "key", "null"), 0, {}),
        (NewTask("id", "job", "key", "null", delay_seconds=9.0), 4, {"wait": "due", "available_at": NOW + 9.0}),
        (NewTask("id", "job", "key", "null", resource="api"), 4, {"wait": "resource", "resource": "api"}),
        (
            NewTask("id", "job", "key", "null", resource="api", delay_seconds=9.0),
            4,
            {"wait": "due", "available_at": NOW + 9.0, "resource": "api"},
        ),
        (
            NewTask("id", "job", "key", "null", path=PathRule(("a",)), resource="api"),
            4,
            {"wait": "ticket", "holds_path": 0, "resource": "api"},
        ),
        (
            NewTask("id", "job", "key", "null", path=PathRule(("a",)), delay_seconds=9.0),
            4,
            {"wait": "ticket", "holds_path": 0, "available_at": NOW + 9.0},
        ),
        (NewTask("id", "job", "key", "null", priority=5, unique_seconds=6.0), 4, {"rank": -5, "unique_seconds": 6.0}),
        (NewTask("id", "job", "key", "null", priority=5, breadth=1), 4, {"rank": 3 * 1_000_000 - 5}),
        (NewTask("id", "job", "key", "null", breadth=BY_DUE), 4, {"rank": due(0.0)}),
        (NewTask("id", "job", "key", "null", breadth=BY_DUE), 10_000_050, {"rank": due(5.0)}),
    ],
)
def test_a_new_task_stands_where_what_was_asked_for_puts_it(new: NewTask, turn: int, fields: dict[str, Any]) -> None:
    blank = standing(
        "pending", seq=5, spawn_depth=3, available_at=NOW, fence=0, claimed_at=0.0, started_at=None, deadline_at=None,
        attempts=0, turn=turn,
    )  # fmt: skip
    assert new_standing(5, "lineage", new, 3, NOW, turn=turn)._asdict() == blank._replace(**fields)._asdict()
    if turn == 0:
        assert new_standing(5, "lineage", new, 3, NOW) == blank


def test_a_new_task_has_the_time_the_queue_and_the_last_handler_that_were_asked_for() -> None:
    new = NewTask(
        "id", "page", "key", "null", queue="slow", max_attempts=7, task_seconds=8.0, max_chain_depth=9, on_end=1
    )
    task = new_standing(5, "lineage", new, 3, NOW)
    assert (task.kind, task.queue, task.max_attempts, task.task_seconds) == ("page", "slow", 7, 8.0)
    assert (task.max_chain_depth, task.on_end, task.turn) == (9, 1, 0)
