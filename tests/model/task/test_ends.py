"""Ends that no handler chose (DESIGN §4): deadlines, cancel, on_end, settled by another task, exclude and revive."""

from itertools import product

import pytest

from ramet.model.lineage.limits import ENDING_SECONDS
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing, first_line
from ramet.model.task.transitions import Change
from tests.model.samples import FENCE, NOW, changed, claim, error, refused, standing

OUTSIDE: list[tuple[ev.Event, str, str | None]] = [
    (ev.DeadlinePassed(), "failed", "task_deadline"),
    (ev.LineageEnded("failed", "lineage_deadline"), "failed", "lineage_deadline"),
    (ev.LineageEnded("cancelled", "cancel_tree: x"), "cancelled", "cancel_tree: x"),
    (ev.Cancel("person", "enough"), "cancelled", "enough"),
    (ev.Cancel("person"), "cancelled", None),
]
"""Ends from outside, with the state and the reason they give."""


def overdue(state: str, **changes: object) -> Standing:
    """A task that every end from outside applies to: past its deadline and, when processing, past its lease."""
    lease_until = NOW if state == "processing" else 0.0
    return standing(state, deadline_at=NOW, lease_until=lease_until, **changes)


# --- deadlines


@pytest.mark.parametrize(("deadline_at", "overdue_now"), [(None, False), (NOW + 0.001, False), (NOW, True)])
def test_a_waiting_task_fails_at_its_deadline_and_not_before(deadline_at: float | None, overdue_now: bool) -> None:
    task = standing("pending", deadline_at=deadline_at)
    if not overdue_now:
        assert refused(task, ev.DeadlinePassed()) == "not_overdue"
        return
    change = changed(task, ev.DeadlinePassed())
    assert (change.after.state, change.reason, change.by) == ("failed", "task_deadline", "engine")
    assert change.outcome is None


def test_no_deadline_ends_a_task_while_a_fresh_attempt_is_in_hand() -> None:
    held = standing(deadline_at=NOW - 60.0, lease_until=NOW + 0.001)
    assert refused(held, ev.DeadlinePassed()) == "in_hand"
    for event in (ev.Heartbeat(FENCE, 300.0), ev.Progress(FENCE, 300.0), ev.Checkpoint(FENCE, 300.0)):
        assert changed(held, event).after.state == "processing"
    assert changed(held, ev.Complete(FENCE)).after.state == "success"
    assert changed(held, error()).reason == "task_deadline"


def test_a_task_past_its_deadline_whose_lease_lapsed_fails_and_the_attempt_is_told() -> None:
    change = changed(overdue("processing"), ev.DeadlinePassed())
    assert (change.after.state, change.outcome, change.after.fence) == ("failed", "ended", FENCE)


# --- cancel and the ends of a lineage


@pytest.mark.parametrize(("event", "state", "reason"), OUTSIDE)
@pytest.mark.parametrize("before", ["pending", "processing"])
def test_an_end_from_outside_is_final_at_once_and_recorded(
    before: str, event: ev.Event, state: str, reason: str | None
) -> None:
    change = changed(overdue(before, wait="lineage" if before == "pending" else None), event)
    assert (change.after.state, change.reason) == (state, reason)
    assert (change.after.wait, change.after.lease_until, change.after.worker) == (None, 0.0, None)
    assert change.outcome == ("ended" if before == "processing" else None)
    assert change.transition.recorded
    assert change.by in ("person", "engine")
    assert change.after.attempts == change.before.attempts


# --- on_end


@pytest.mark.parametrize(("event", "state", "reason"), OUTSIDE)
@pytest.mark.parametrize("before", ["pending", "processing"])
def test_a_kind_with_on_end_is_marked_ending_and_claimable_at_once(
    before: str, event: ev.Event, state: str, reason: str | None
) -> None:
    # The deadline of a bound task is another matter: it waits until its settler has looked.
    bound_to = "batch" if before == "pending" and not isinstance(event, ev.DeadlinePassed) else None
    change = changed(overdue(before, on_end=1, available_at=NOW + 50.0, bound_to=bound_to), event)
    after = change.after
    assert after.bound_to is None
    assert (after.state, after.wait, after.available_at) == ("pending", None, NOW)
    assert (after.ending, after.ending_reason) == (state, reason)
    assert (after.lease_until, after.worker) == (0.0, None)
    assert after.fence == FENCE + 1, "what the old claim still sends is stale"
    assert change.outcome == ("ended" if before == "processing" or bound_to else None)


@pytest.mark.parametrize(("event", "state"), [(event, state) for event, state, _ in OUTSIDE])
def test_a_task_that_never_ran_has_nothing_to_clean_up(event: ev.Event, state: str) -> None:
    assert changed(overdue("pending", on_end=1, started_at=None), event).after.state == state


def ending(state: str = "processing", into: str = "cancelled", **changes: object) -> Standing:
    """A task that waits for, or is in, its on_end handler."""
    deadline_at = NOW + ENDING_SECONDS
    return standing(
        state, on_end=1, ending=into, ending_reason="because", **{"deadline_at": deadline_at, "attempts": 4, **changes}
    )


def test_the_last_claim_costs_no_attempt_and_needs_no_open_lineage() -> None:
    after = changed(ending("pending"), claim(lineage_deadline_at=NOW - 60.0)).after
    assert (after.state, after.attempts, after.fence, after.ending) == ("processing", 4, FENCE + 1, "cancelled")
    assert after.deadline_at == NOW + ENDING_SECONDS


WHATEVER: list[ev.Event] = [
    ev.Complete(FENCE),
    ev.Filter(FENCE, "no"),
    ev.Skip(FENCE, "no"),
    ev.Fail(FENCE, "no"),
    error(),
    ev.Snooze(FENCE, 60.0),
    ev.Continue(FENCE, True),
    ev.Continue(FENCE, False),
    ev.LeaseExpired(worker_dead=True),
]


@pytest.mark.parametrize(("event", "into"), list(product(WHATEVER, ("failed", "cancelled"))))
def test_after_its_last_handler_a_task_ends_as_it_was_ending_whatever_that_one_says(event: ev.Event, into: str) -> None:
    change = changed(ending(into=into), event)
    wrong = change.error or ("lease_expired" if change.outcome == "lost" else None)
    assert (change.after.state, change.reason) == (into, f"because; on_end: {wrong}" if wrong else "because")
    assert (change.after.ending, change.after.ending_reason, change.after.attempts) == (None, None, 4)
    assert change.outcome is not None


def test_the_last_handler_is_kept_alive_and_handed_back_like_any_other() -> None:
    assert changed(ending(), ev.Heartbeat(FENCE, 300.0)).after.lease_until == NOW + 300.0
    after = changed(ending(), ev.HandBack(FENCE)).after
    assert (after.state, after.ending, after.attempts) == ("pending", "cancelled", 4)
    assert changed(after, claim()).after.state == "processing"
    later = changed(ending(), ev.HandBack(FENCE, 30.0)).after
    assert (later.wait, later.available_at, later.deadline_at) == ("due", NOW + 30.0, NOW + ENDING_SECONDS)


@pytest.mark.parametrize("state", ["pending", "processing"])
@pytest.mark.parametrize("event", [ev.Cancel("person"), ev.LineageEnded("failed", "lineage_deadline")])
def test_a_task_that_is_ending_is_not_ended_again(state: str, event: ev.Event) -> None:
    assert refused(ending(state), event) == "ending"


def test_the_deadline_that_began_an_end_leaves_the_last_handler_its_time() -> None:
    marked = changed(overdue("pending", on_end=1), ev.DeadlinePassed()).after
    assert refused(marked, ev.DeadlinePassed(), NOW + 1.0) == "not_overdue"
    assert changed(marked, claim(), NOW + 1.0).after.state == "processing"


@pytest.mark.parametrize("into", ["failed", "cancelled"])
def test_a_last_claim_that_nobody_makes_is_not_waited_for_for_ever(into: str) -> None:
    task = ending("pending", into)
    assert refused(task, ev.DeadlinePassed(), NOW + ENDING_SECONDS - 0.001) == "not_overdue"
    change = changed(task, ev.DeadlinePassed(), NOW + ENDING_SECONDS)
    assert (change.after.state, change.reason) == (into, "because; on_end: not done within 3600 s")
    assert (change.outcome, change.by) == (None, "engine")
    lapsed = changed(ending(into=into, deadline_at=NOW, lease_until=NOW), ev.DeadlinePassed())
    assert (lapsed.after.state, lapsed.outcome) == (into, "ended")


@pytest.mark.parametrize(
    "event", [error(), ev.Snooze(FENCE, 60.0), ev.Continue(FENCE, True), ev.LeaseExpired(worker_dead=True)]
)
def test_an_outcome_past_the_deadline_leads_to_the_last_handler_too(event: ev.Event) -> None:
    change = changed(standing(on_end=1, deadline_at=NOW), event)
    after = change.after
    assert (after.state, after.ending, after.ending_reason) == ("pending", "failed", "task_deadline")
    assert (after.fence, after.wait, after.deadline_at) == (FENCE + 1, None, NOW + ENDING_SECONDS)
    assert (change.reason, change.outcome is not None) == ("task_deadline", True)


# --- settled by another task


@pytest.mark.parametrize("state", ["success", "failed", "cancelled"])
def test_a_bound_task_ends_as_its_settler_says(state: str) -> None:
    event = ev.SettledBy("batch", FENCE, state, "provider")
    change = changed(standing("pending", wait="bound", bound_to="batch"), event)
    assert change.outcome == {"success": "success", "failed": "error", "cancelled": "ended"}[state]
    assert (change.after.state, change.reason, change.by) == (state, "provider", "batch")
    assert (change.after.bound_to, change.after.wait) == (None, None)


def test_a_settler_can_let_a_bound_task_go() -> None:
    task = standing("pending", wait="bound", bound_to="batch")
    change = changed(task, ev.SettledBy("batch", FENCE, "pending", "once more"))
    after = change.after
    assert after == task._replace(wait=None, bound_to=None, available_at=NOW)
    assert (change.reason, change.by, change.outcome) == ("once more", "batch", "returned")
    later = changed(task, ev.SettledBy("batch", FENCE, "pending", delay_seconds=5.0)).after
    assert (later.wait, later.available_at, later.bound_to) == ("due", NOW + 5.0, None)
    assert changed(after, claim()).after.state == "processing"


@pytest.mark.parametrize("bound_to", [None, "another batch"])
def test_only_the_task_that_it_is_bound_to_settles_a_task(bound_to: str | None) -> None:
    assert refused(standing("pending", bound_to=bound_to), ev.SettledBy("batch", FENCE, "success")) == "not_bound"


def test_what_was_meant_for_an_earlier_binding_is_refused() -> None:
    task = standing("pending", wait="bound", bound_to="batch")
    assert refused(task, ev.SettledBy("batch", FENCE - 1, "success")) == "stale"


def test_binding_is_a_claim_without_an_attempt_and_starts_the_tasks_time() -> None:
    change = changed(
        standing("pending", started_at=None, deadline_at=None, task_seconds=50.0), ev.Bind("batch", NOW + 60.0)
    )
    after = change.after
    assert (after.state, after.wait, after.bound_to, after.fence) == ("pending", "bound", "batch", FENCE + 1)
    assert (after.attempts, after.started_at, after.deadline_at) == (change.before.attempts, None, NOW + 50.0)
    short = changed(standing("pending", deadline_at=None, task_seconds=90.0), ev.Bind("batch", NOW + 60.0))
    assert short.after.deadline_at == NOW + 60.0


def test_a_bound_task_without_a_time_of_its_own_has_its_lineages() -> None:
    timeless = standing("pending", started_at=None, deadline_at=None, task_seconds=None)
    assert changed(timeless, ev.Bind("batch", NOW + 60.0)).after.deadline_at == NOW + 60.0


def test_a_bound_task_is_not_claimed_and_still_ends_by_cancel() -> None:
    task = standing("pending", wait="bound", bound_to="batch", deadline_at=NOW)
    assert refused(task, claim()) == "waits"
    change = changed(task, ev.Cancel("person"))
    assert (change.after.bound_to, change.after.wait, change.outcome) == (None, None, "ended")


def test_the_deadline_of_a_bound_task_is_looked_at_after_its_settler_did() -> None:
    task = standing("pending", wait="bound", bound_to="batch", deadline_at=NOW)
    assert refused(task, ev.DeadlinePassed()) == "in_hand"
    assert changed(task, ev.DeadlinePassed(polled=True)).after.state == "failed"
    assert changed(task, ev.SettledBy("batch", FENCE, "success")).after.state == "success"
    change = changed(task, ev.SettledBy("batch", FENCE, "pending"))
    assert (change.after.state, change.reason) == ("failed", "task_deadline")
    change = changed(task, ev.SettledBy("batch", FENCE, "pending", reason="the provider dropped it"))
    assert (change.after.state, change.reason) == ("failed", "task_deadline: the provider dropped it")


# --- exclude and revive


@pytest.mark.parametrize("state", ["pending", "failed", "cancelled"])
@pytest.mark.parametrize(("given", "reason"), [("spam", "excluded: spam"), (None, "excluded")])
def test_exclude_skips_for_good_and_says_so(state: str, given: str | None, reason: str) -> None:
    change = changed(standing(state), ev.Exclude("person", given))
    assert (change.after.state, change.reason, change.by) == ("skipped", reason, "person")
    assert (change.after.wait, change.after.bound_to, change.outcome) == (None, None, None)


def test_exclude_takes_out_a_task_that_is_ending_too() -> None:
    change = changed(ending("pending"), ev.Exclude("person"))
    assert (change.after.state, change.reason) == ("skipped", "excluded")
    assert (change.after.ending, change.after.ending_reason) == (None, None)


@pytest.mark.parametrize("state", ["filtered", "skipped", "failed", "cancelled"])
def test_revive_gives_new_attempts_and_time_under_the_same_fence(state: str) -> None:
    spent = standing(state, attempts=4, losses=9, losses_alone=2, chain_depth=2, snoozes=5, fan_out=8, stage="parse")
    change = changed(spent, ev.Revive("person", "mended"))
    after = change.after
    assert (after.state, after.wait, after.available_at) == ("pending", None, NOW)
    assert (after.attempts, after.losses, after.losses_alone, after.chain_depth) == (0, 0, 0, 0)
    assert (after.started_at, after.deadline_at) == (None, None)
    assert (after.fence, after.snoozes, after.fan_out, after.stage) == (FENCE, 5, 8, "parse")
    assert (change.by, change.reason) == ("person", "mended")
    assert changed(after, claim()).after.fence == FENCE + 1


def test_success_is_never_left() -> None:
    for event in (ev.Revive("person"), ev.Exclude("person"), ev.Cancel("person"), claim()):
        assert refused(standing("success"), event) == "is_success"


def test_whatever_ends_a_task_leaves_nothing_of_a_claim_behind() -> None:
    events = [
        *(event for event, _, _ in OUTSIDE),
        *WHATEVER,
        ev.Exclude("person"),
        ev.SettledBy("batch", FENCE, "failed"),
    ]
    tasks = [overdue(state, on_end=on_end, **more) for state, on_end, more in product(
        ("pending", "processing"), (0, 1), ({}, {"ending": "failed"}, {"bound_to": "batch"}))]  # fmt: skip
    ends = [answer for task, event in product(tasks, events) if isinstance(answer := decide(task, event, NOW), Change)]
    ends = [change for change in ends if change.after.state not in ("pending", "processing")]
    assert len(ends) > 40
    for change in ends:
        after = change.after
        left = (after.wait, after.lease_until, after.worker, after.ending, after.ending_reason, after.bound_to)
        assert left == (None, 0.0, None, None, None, None)


@pytest.mark.parametrize(
    ("text", "line"),
    [(None, None), ("", None), (" \n\t\n", None), ("boom", "boom"), ("\n  boom \nmore", "boom")],
)
def test_an_error_is_told_by_its_first_line_with_anything_on_it(text: str | None, line: str | None) -> None:
    assert first_line(text) == line
