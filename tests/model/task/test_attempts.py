"""How an attempt begins and ends (DESIGN §4, §6, §10): what it costs, when the next one comes, when there is none."""

import pytest

from ramet.model.reasons import restored
from ramet.model.task import events as ev
from ramet.model.task.newborn import new_standing
from ramet.model.task.retry import ErrorClass, Retry
from ramet.model.task.task import NewTask, Standing
from tests.model.samples import FENCE, LEASE_SECONDS, LINEAGE_DEADLINE_AT, NOW, changed, claim, error, refused, standing

PERMANENT, UNCLASSIFIED = ErrorClass.PERMANENT, ErrorClass.UNCLASSIFIED


# --- created and claimed


def test_a_new_task_is_pending_and_claimable_at_once() -> None:
    task = new_standing(5, "lineage", NewTask("id", "job", "key", "null"), 3, NOW)
    assert (task.seq, task.tracking_id, task.kind, task.spawn_depth) == (5, "lineage", "job", 3)
    assert (task.state, task.wait, task.available_at) == ("pending", None, NOW)
    for (
        counter
    ) in "attempts fence losses losses_alone snoozes chain_depth progressed fan_out on_end claimed_at".split():
        assert getattr(task, counter) == 0, counter
    assert (task.started_at, task.deadline_at, task.lease_until, task.worker) == (None, None, 0.0, None)
    assert changed(task, claim()).after.state == "processing"


def test_a_new_task_carries_what_was_asked_for() -> None:
    new = NewTask("id", "job", "key", "null", "slow", 5, 0.0, None, 60.0, 1, "kind+key", 1)
    task = new_standing(5, "lineage", new, 0, NOW)
    assert (task.queue, task.rank, task.max_attempts, task.task_seconds) == ("slow", -5, None, 60.0)
    assert (task.max_chain_depth, task.on_end) == (1, 1)


@pytest.mark.parametrize("delay_seconds", [0.0, -5.0])
def test_a_delay_that_is_over_is_none(delay_seconds: float) -> None:
    task = new_standing(5, "lineage", NewTask("id", "job", "key", "null", delay_seconds=delay_seconds), 0, NOW)
    assert (task.wait, task.available_at) == (None, NOW)


def test_the_shortest_delay_is_one() -> None:
    task = new_standing(5, "lineage", NewTask("id", "job", "key", "null", delay_seconds=0.5), 0, NOW)
    assert (task.wait, task.available_at) == ("due", NOW + 0.5)


def test_a_delayed_task_is_claimed_when_it_is_due_and_not_before() -> None:
    task = new_standing(5, "lineage", NewTask("id", "job", "key", "null", delay_seconds=9.0), 0, NOW)
    assert (task.wait, task.available_at) == ("due", NOW + 9.0)
    assert refused(task, claim(), NOW + 9.0) == "waits", "maintenance has to make it claimable first"
    due = task._replace(wait=None)
    assert refused(due, claim(), NOW + 8.999) == "not_due"
    assert changed(due, claim(), NOW + 9.0).after.state == "processing"


def test_a_claim_raises_the_fence_takes_an_attempt_and_a_lease() -> None:
    change = changed(standing("pending", attempts=1, progressed=1), claim())
    after = change.after
    assert (after.fence, after.attempts, after.progressed) == (FENCE + 1, 2, 0)
    assert (after.worker, after.claimed_at, after.lease_until) == ("worker-2", NOW, NOW + LEASE_SECONDS)
    assert change.outcome is None, "no attempt has ended"


@pytest.mark.parametrize(
    ("task_seconds", "lineage_deadline_at", "deadline_at"),
    [
        (7_200.0, NOW + 172_800.0, NOW + 7_200.0),
        (7_200.0, NOW + 7_200.0, NOW + 7_200.0),
        (7_200.0, NOW + 60.0, NOW + 60.0),
        (None, NOW + 60.0, NOW + 60.0),
    ],
)
def test_the_first_claim_sets_the_deadline_never_later_than_the_lineages(
    task_seconds: float | None, lineage_deadline_at: float, deadline_at: float
) -> None:
    task = standing("pending", started_at=None, deadline_at=None, task_seconds=task_seconds)
    after = changed(task, claim(lineage_deadline_at=lineage_deadline_at)).after
    assert (after.started_at, after.deadline_at) == (NOW, deadline_at)


def test_later_claims_move_neither_start_nor_deadline() -> None:
    task = standing("pending", started_at=NOW - 50.0, deadline_at=NOW + 50.0)
    after = changed(task, claim(lineage_deadline_at=LINEAGE_DEADLINE_AT + 1.0)).after
    assert (after.started_at, after.deadline_at) == (NOW - 50.0, NOW + 50.0)


# --- kept


def test_heartbeat_and_progress_extend_the_lease_and_nothing_else() -> None:
    task = standing(lease_until=NOW + 5.0)
    for event in (ev.Heartbeat(FENCE, 300.0), ev.Progress(FENCE, 300.0)):
        assert changed(task, event).after == task._replace(lease_until=NOW + 300.0)


def test_a_checkpoint_moves_the_stage_and_counts_as_progress() -> None:
    task = standing(stage="fetch", lease_until=NOW + 5.0)
    moved = changed(task, ev.Checkpoint(FENCE, 300.0, "parse")).after
    assert moved == task._replace(stage="parse", lease_until=NOW + 300.0, progressed=1)
    assert changed(task, ev.Checkpoint(FENCE, 300.0)).after.stage == "fetch"


# --- ended by the handler


@pytest.mark.parametrize(
    ("event", "state", "outcome", "reason"),
    [
        (ev.Complete(FENCE), "success", "success", None),
        (ev.Complete(FENCE, "partly"), "success", "success", "partly"),
        (ev.Filter(FENCE, "not wanted"), "filtered", "filtered", "not wanted"),
        (ev.Skip(FENCE, "known"), "skipped", "skipped", "known"),
        (ev.Fail(FENCE, "no data"), "failed", "error", "no data"),
    ],
)
def test_a_handlers_end_is_final_and_says_why(event: ev.Event, state: str, outcome: str, reason: str | None) -> None:
    change = changed(standing(), event)
    assert (change.after.state, change.outcome, change.reason) == (state, outcome, reason)
    assert (change.after.lease_until, change.after.worker, change.after.fence) == (0.0, None, FENCE)
    assert change.after.attempts == 2
    assert change.error == ("no data" if state == "failed" else None)


# --- errors


def runs_until_failed(task: Standing, event: ev.Error) -> int:
    """Claim and fail, when due, until the task is failed; how many runs that took."""
    for runs in range(1, 100):
        now = max(NOW, task.available_at)
        task = changed(task._replace(wait=None), claim(lineage_deadline_at=float("inf")), now).after
        task = changed(task, ev.Error(task.fence, event.message, event.error_class, event.fingerprint, 0.5), now).after
        if task.state == "failed":
            return runs
    return -1


@pytest.mark.parametrize("max_attempts", [1, 3, 4])
@pytest.mark.parametrize("error_class", [ErrorClass.TRANSIENT, UNCLASSIFIED])
def test_attempts_run_out_at_exactly_max_attempts(max_attempts: int, error_class: ErrorClass) -> None:
    task = standing(
        "pending", attempts=0, max_attempts=max_attempts, started_at=None, deadline_at=None, task_seconds=None
    )
    assert runs_until_failed(task, error(error_class)) == max_attempts


def test_without_max_attempts_only_time_ends_the_retries() -> None:
    task = standing("pending", attempts=0, max_attempts=None, started_at=None, deadline_at=None, task_seconds=None)
    assert runs_until_failed(task, error()) == -1
    late = standing(attempts=500, max_attempts=None, deadline_at=NOW, claimed_at=NOW)
    assert (changed(late, error()).after.state, changed(late, error()).reason) == ("failed", "task_deadline")


def test_the_last_attempt_fails_with_its_error_and_the_count() -> None:
    change = changed(standing(attempts=4), error())
    assert (change.after.state, change.reason) == ("failed", "attempts_exhausted: 4")
    assert (change.outcome, change.error, change.error_class) == ("error", "timed out", "transient")
    assert change.fingerprint == "f" * 16
    assert changed(standing(attempts=3), error()).after.state == "pending"


def test_a_permanent_error_fails_at_the_first_attempt() -> None:
    change = changed(standing(attempts=1), error(PERMANENT))
    assert (change.after.state, change.reason, change.after.attempts) == ("failed", "permanent_error", 1)


def test_a_repeated_error_is_final_unless_it_is_transient() -> None:
    change = changed(standing(attempts=1), error(UNCLASSIFIED, repeats="twin"))
    assert (change.after.state, change.reason) == ("failed", "repeated_error: as task twin")
    assert changed(standing(attempts=1), error(repeats="twin")).after.state == "pending"
    assert changed(standing(attempts=1), error(UNCLASSIFIED)).after.state == "pending"


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (12, 2_048.0), (13, 3_600.0)]
)
def test_the_next_try_comes_within_two_to_the_retry_count_seconds(attempts: int, seconds: float) -> None:
    task = standing(attempts=attempts, max_attempts=None)
    for jitter in (0.25, 0.5, 1.0):
        after = changed(task, error(jitter=jitter)).after
        assert (after.state, after.wait, after.available_at) == ("pending", "due", NOW + seconds * jitter)
        assert after.attempts == attempts, "an error costs its attempt"
    at_once = changed(task, error(jitter=0.0)).after
    assert (at_once.wait, at_once.available_at) == (None, NOW)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1.0), (2, 10.0), (3, 60.0)])
def test_by_default_the_waits_outlast_a_restart_and_are_drawn_from_their_second_half(
    attempts: int, seconds: float
) -> None:
    for draw in (0.0, 0.5, 1.0):
        event = error(jitter=draw, waits=Retry().waits)
        assert changed(standing(attempts=attempts), event).after.available_at == NOW + seconds * (0.5 + 0.5 * draw)


def test_a_retry_over_the_lineages_rate_is_put_off_with_its_reason() -> None:
    put_off = changed(standing(), error(jitter=0.5, not_before_at=NOW + 42.0))
    assert (put_off.after.available_at, put_off.after.wait, put_off.reason) == (NOW + 42.0, "due", "retry_storm")
    same_moment = changed(standing(attempts=3), error(jitter=1.0, not_before_at=NOW + 4.0))
    assert same_moment.reason == "retry_in: 4.000 s"
    later_anyway = changed(standing(attempts=3), error(jitter=1.0, not_before_at=NOW + 3.0))
    assert (later_anyway.after.available_at, later_anyway.reason) == (NOW + 4.0, "retry_in: 4.000 s")


# --- snooze


@pytest.mark.parametrize(("asked", "seconds"), [(60.0, 60.0), (1.0, 1.0), (0.0, 1.0), (-5.0, 1.0), (float("nan"), 1.0)])
def test_a_snooze_gives_its_attempt_back_is_counted_and_lasts_a_second_at_least(asked: float, seconds: float) -> None:
    change = changed(standing(attempts=2, snoozes=3), ev.Snooze(FENCE, asked, "busy"))
    after = change.after
    assert (after.state, after.wait, after.available_at) == ("pending", "due", NOW + seconds)
    assert (after.attempts, after.snoozes, change.outcome, change.reason) == (1, 4, "snooze", "busy")


def test_the_first_attempt_can_be_given_back_too() -> None:
    for event in (ev.Snooze(FENCE, 1.0), ev.LeaseExpired(worker_dead=True), ev.HandBack(FENCE)):
        assert changed(standing(attempts=1), event).after.attempts == 0


@pytest.mark.parametrize(("deadline_at", "state"), [(NOW + 0.001, "pending"), (NOW, "failed"), (NOW - 1.0, "failed")])
def test_a_snooze_past_the_deadline_fails(deadline_at: float, state: str) -> None:
    change = changed(standing(deadline_at=deadline_at), ev.Snooze(FENCE, 60.0))
    assert change.after.state == state
    assert change.reason == ("task_deadline" if state == "failed" else None)
    assert change.outcome == "snooze"


def test_a_snooze_past_the_deadline_keeps_its_own_reason_too() -> None:
    for on_end in (0, 1):
        change = changed(standing(deadline_at=NOW, on_end=on_end), ev.Snooze(FENCE, 60.0, "the batch is not done"))
        assert (change.reason, change.outcome) == ("task_deadline: the batch is not done", "snooze")
        assert restored(change.after.ending_reason, change.after.ending_facts) == (change.reason if on_end else None)


def test_a_snooze_that_would_last_past_the_deadline_is_ended_by_it() -> None:
    after = changed(standing(deadline_at=NOW + 30.0), ev.Snooze(FENCE, 3_600.0)).after
    assert refused(after, ev.DeadlinePassed(), NOW + 29.9) == "not_overdue"
    assert changed(after, ev.DeadlinePassed(), NOW + 30.0).after.state == "failed"


# --- continue


@pytest.mark.parametrize(("before", "now_progressed"), [(1, False), (0, True), (1, True)])
def test_continue_after_progress_gives_fresh_attempts_one_link_deeper(before: int, now_progressed: bool) -> None:
    change = changed(standing(progressed=before, chain_depth=1, attempts=3), ev.Continue(FENCE, now_progressed))
    after = change.after
    assert (after.state, after.wait, after.available_at) == ("pending", None, NOW)
    assert (after.attempts, after.chain_depth, change.outcome) == (0, 2, "continue")
    assert after.deadline_at == change.before.deadline_at, "the task's time runs on"


def test_continue_without_progress_is_success() -> None:
    change = changed(standing(progressed=0), ev.Continue(FENCE, False))
    assert (change.after.state, change.reason, change.outcome) == ("success", "no_progress", "success")


@pytest.mark.parametrize(("chain_depth", "limit", "state"), [(1, 2, "pending"), (2, 2, "success"), (0, 0, "success")])
def test_a_chain_has_at_most_max_chain_depth_links(chain_depth: int, limit: int, state: str) -> None:
    task = standing(progressed=1, chain_depth=chain_depth, max_chain_depth=limit)
    change = changed(task, ev.Continue(FENCE, False))
    assert change.after.state == state
    if state == "success":
        assert (change.reason, change.after.chain_depth) == (f"chain_depth: {limit}", limit)
        assert change.outcome == "success"


def test_continue_past_the_deadline_fails() -> None:
    change = changed(standing(progressed=1, deadline_at=NOW), ev.Continue(FENCE, False))
    assert (change.after.state, change.reason) == ("failed", "task_deadline")
    assert (change.after.attempts, change.after.chain_depth) == (2, 0), "there is no further invocation to count"


# --- lost and handed back


def test_a_lease_that_runs_is_not_taken_away_unless_the_worker_is_proven_dead() -> None:
    task = standing(lease_until=NOW + 0.001)
    assert refused(task, ev.LeaseExpired()) == "lease_current"
    assert changed(task, ev.LeaseExpired(worker_dead=True)).after.state == "pending"
    assert changed(task._replace(lease_until=NOW), ev.LeaseExpired()).after.state == "pending"


def test_a_lost_attempt_uses_up_no_attempt_and_keeps_fence_and_ticket_order() -> None:
    change = changed(standing(attempts=4, lease_until=NOW), ev.LeaseExpired())
    after = change.after
    assert (after.state, after.wait, after.available_at) == ("pending", None, NOW)
    assert (after.attempts, after.losses, after.losses_alone) == (3, 1, 0)
    assert (after.fence, after.lease_until, after.worker) == (FENCE, 0.0, None)
    assert (change.outcome, change.reason) == ("lost", "lease_expired")


@pytest.mark.parametrize(
    ("losses", "losses_alone", "alone", "state"),
    [
        (1, 1, True, "pending"),
        (2, 2, True, "failed"),
        (8, 2, False, "pending"),
        (8, 0, False, "pending"),
        (9, 0, False, "failed"),
        (9, 0, True, "failed"),
    ],
)
def test_poison_is_three_losses_alone_or_ten_of_any_kind(
    losses: int, losses_alone: int, alone: bool, state: str
) -> None:
    task = standing(lease_until=NOW, losses=losses, losses_alone=losses_alone)
    change = changed(task, ev.LeaseExpired(alone=alone))
    assert (change.after.state, change.after.losses) == (state, losses + 1)
    assert change.after.losses_alone == losses_alone + alone
    assert change.outcome == "lost"
    if state == "failed":
        assert change.reason == f"poison: {losses + 1} claims lost, {losses_alone + alone} of them alone"


def test_a_lease_that_expires_past_the_deadline_fails_the_task() -> None:
    change = changed(standing(lease_until=NOW, deadline_at=NOW), ev.LeaseExpired())
    assert (change.after.state, change.reason, change.outcome) == ("failed", "task_deadline", "lost")


def test_a_claim_handed_back_unstarted_keeps_its_attempt_and_its_place() -> None:
    task = standing(attempts=4, available_at=NOW - 20.0)
    change = changed(task, ev.HandBack(FENCE))
    after = change.after
    assert (after.state, after.wait, after.available_at) == ("pending", None, NOW - 20.0)
    assert (after.attempts, after.losses, after.fence) == (3, 0, FENCE)
    assert (after.lease_until, after.worker) == (0.0, None)
    assert (change.outcome, change.reason) == ("returned", "handed_back")
