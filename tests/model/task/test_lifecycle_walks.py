"""What no order of events can break: fences, attempts, ends and leases, over random walks; and that walks end."""

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.model.lineage.limits import ENDING_SECONDS, LOSSES_MAX
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.newborn import new_standing
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import NewTask, Standing, TaskState
from ramet.model.task.transitions import Change, TransitionRefused
from tests.model.samples import NOW

LINEAGE_SECONDS = 500.0
TERMINAL = {state.value for state in TaskState if state.terminal}
REASONS = {f"is_{state.value}" for state in TaskState} | {
    "stale", "waits", "not_due", "in_hand", "not_overdue", "lease_current", "ending", "not_bound",
    "not_waiting", "overdue", "not_polled", "held", "pulled",
}  # fmt: skip
OUTSIDE = st.one_of(
    st.just(ev.DeadlinePassed()),
    st.builds(
        ev.SettledBy,
        st.sampled_from(["batch", "other"]),
        st.just(0),
        st.sampled_from(["success", "failed", "pending"]),
        st.none(),
        st.sampled_from([0.0, 3.0]),
    ),
    st.builds(ev.DeadlinePassed, st.booleans()),
    st.just(ev.Bind("batch", NOW + LINEAGE_SECONDS)),
    st.builds(ev.LineageEnded, st.sampled_from(["failed", "cancelled"]), st.just("why")),
    st.builds(ev.Cancel, st.just("person")),
    st.builds(ev.OverCeiling, st.just("cost: too much")),
    st.builds(ev.SourceDisabled, st.just("source_disabled: host")),
    st.builds(ev.Wake, st.just(NOW + LINEAGE_SECONDS), st.sampled_from([None, 50.0])),
    st.builds(ev.DependencyFailed, st.just("dependency_failed: task-1")),
    st.builds(ev.Exclude, st.just("person")),
    st.builds(ev.Revive, st.just("person")),
    st.builds(ev.Reprioritise, st.just("person"), st.sampled_from([-5, 0])),
    st.builds(ev.Reschedule, st.just("person"), st.sampled_from([NOW, NOW + 7.0])),
    st.builds(ev.LeaseExpired, st.booleans(), st.booleans()),
)
CLAIM = ev.Claim("worker", 30.0, NOW + LINEAGE_SECONDS)


def worker_events(fence: st.SearchStrategy[int]) -> st.SearchStrategy[ev.Event]:
    """What a worker may send; the fence is filled in relative to the task's."""
    return st.one_of(
        st.builds(ev.Heartbeat, fence, st.just(30.0)),
        st.builds(ev.Progress, fence, st.just(30.0)),
        st.builds(ev.Checkpoint, fence, st.just(30.0), st.sampled_from([None, "parse"])),
        st.builds(ev.Complete, fence),
        st.builds(ev.Filter, fence, st.just("no")),
        st.builds(ev.Skip, fence, st.just("no")),
        st.builds(ev.Fail, fence, st.just("no")),
        st.builds(
            ev.Error,
            fence,
            st.just("bad"),
            st.sampled_from([item.value for item in ErrorClass]),
            st.just("f"),
            st.floats(0.0, 0.99),
            st.sampled_from([None, "twin"]),
            st.sampled_from([None, NOW + 40.0]),
        ),
        st.builds(ev.Snooze, fence, st.floats(-5.0, 60.0)),
        st.builds(ev.Join, fence, st.booleans(), st.booleans(), st.sampled_from([0, 3]), st.sampled_from([0, 1, 2])),
        st.builds(ev.Continue, fence, st.booleans()),
        st.builds(ev.HandBack, fence),
    )


Step = tuple[ev.Event, float, bool]
STEPS = st.lists(
    st.tuples(
        # Claims and current fences weigh more: a walk should mostly get somewhere.
        st.one_of(
            st.just(CLAIM), worker_events(st.just(0)), st.just(CLAIM), worker_events(st.integers(-1, 0)), OUTSIDE
        ),
        st.sampled_from([0.0, 0.5, 5.0, 31.0]),
        st.booleans(),
    ),
    min_size=5,
    max_size=60,
)
NEW = st.builds(
    lambda attempts, delay, links, on_end: NewTask(
        "id", "job", "key", "null", "default", 0, delay, attempts, 200.0, links, "key", on_end
    ),
    st.sampled_from([1, 3, 4, None]),
    st.sampled_from([0.0, 3.0]),
    st.integers(0, 2),
    st.integers(0, 1),
)


def under_fence(event: ev.Event, task: Standing) -> ev.Event:
    """The event with its relative fence made absolute."""
    if isinstance(event, ev.SettledBy):
        return replace(event, binding=task.fence + event.binding)
    if not hasattr(event, "fence"):
        return event
    fields = {name: getattr(event, name) for name in event.__dataclass_fields__}
    return type(event)(**{**fields, "fence": task.fence + fields["fence"]})


def prepared(task: Standing, event: ev.Event, now: float) -> Standing:
    """What other parts do to a waiting task: maintenance when it is due, a settler that binds it."""
    if task.wait == "due" and task.available_at <= now:
        return task._replace(wait=None)
    if task.state == "pending" and task.wait is None and task.ending is None and isinstance(event, ev.SettledBy):
        return task._replace(wait="bound", bound_to="batch")
    return task


def check_change(change: Change, event: ev.Event, now: float) -> None:
    before, after = change.before, change.after
    row = change.transition
    assert before.state in row.sources
    assert after.state in row.targets
    assert isinstance(event, row.event)
    assert after.fence >= before.fence, "a fence never falls"
    claimed = isinstance(event, ev.Claim | ev.Bind)
    assert after.fence == before.fence + (claimed or after.ending != before.ending is None)
    if before.state in TERMINAL:
        assert isinstance(event, ev.Revive | ev.Exclude), "an end is left by a person only"
        assert before.state != "success"
    if isinstance(event, ev.Revive):
        assert (after.losses, after.attempts, after.chain_depth) == (0, 0, 0)
    else:
        assert after.losses >= before.losses
    assert after.rank == before.rank or isinstance(event, ev.Reprioritise)
    for name in ("seq", "tracking_id", "kind", "queue", "turn", "spawn_depth", "fan_out", "task_seconds"):
        assert getattr(after, name) == getattr(before, name)
    if change.outcome is not None:
        assert before.state == "processing" or before.bound_to, "only an attempt in hand has an outcome"
    if before.state == "processing" and after.state != "processing":
        assert change.outcome is not None, "every claim's end is told"


def check_standing(task: Standing) -> None:
    assert task.attempts >= 0
    assert task.max_attempts is None or task.attempts <= task.max_attempts
    assert task.chain_depth <= task.max_chain_depth
    assert task.losses <= LOSSES_MAX
    assert task.losses_alone <= task.losses
    if task.state != "pending":
        assert task.wait is None
    if task.wait == "due":
        assert task.ending is None
    held = task.state == "processing"
    assert held == (task.lease_until > 0.0) == (task.worker is not None)
    if task.state in TERMINAL:
        assert (task.ending, task.ending_reason, task.bound_to) == (None, None, None)
    if task.ending is not None:
        assert task.on_end
    elif task.deadline_at is not None and task.state not in TERMINAL:
        assert task.deadline_at <= NOW + LINEAGE_SECONDS, "never later than the lineage's"


@settings(max_examples=300)
@given(new=NEW, steps=STEPS)
def test_no_walk_breaks_an_invariant(new: NewTask, steps: list[Step]) -> None:
    task, now = new_standing(1, "lineage", new, 0, NOW), NOW
    check_standing(task)
    for relative, seconds, maintained in steps:
        now += seconds
        event = under_fence(relative, task)
        if maintained:
            task = prepared(task, event, now)
        answer = decide(task, event, now)
        if isinstance(answer, TransitionRefused):
            assert answer.reason in REASONS
            continue
        check_change(answer, event, now)
        task = answer.after
        check_standing(task)


def test_the_walks_know_every_event() -> None:
    made: set[type[object]] = set()

    @given(st.one_of(st.just(CLAIM), OUTSIDE, worker_events(st.just(0))))
    def collect(event: ev.Event) -> None:
        made.add(type(event))

    collect()
    assert made == set(get_args(ev.Event))


Outcome = Callable[[int], ev.Event]
STUBBORN: dict[str, Outcome] = {
    "error": lambda fence: ev.Error(fence, "bad", "transient", "f", 0.0),
    "snooze": lambda fence: ev.Snooze(fence, 0.0),
    "continue": lambda fence: ev.Continue(fence, True),
    "lost": lambda fence: ev.LeaseExpired(worker_dead=True),
}
"""Outcomes that ask for another run, each as soon as it can be had."""


@given(
    outcomes=st.lists(st.sampled_from(sorted(STUBBORN)), min_size=1, max_size=40),
    max_attempts=st.sampled_from([1, 4, None]),
    on_end=st.integers(0, 1),
)
def test_every_task_ends_however_stubborn_its_handler(
    outcomes: list[str], max_attempts: int | None, on_end: int
) -> None:
    """Each run takes a tenth of a second: what nothing else ends, the deadline of 30 s does, and the run after it."""
    new = NewTask("id", "job", "key", "null", max_attempts=max_attempts, task_seconds=30.0, on_end=on_end)
    task, now, runs = new_standing(1, "lineage", new, 0, NOW), NOW, 0
    while task.state == "pending":
        now = max(now, task.available_at)
        expired = decide(task, ev.DeadlinePassed(), now)
        task = expired.after if isinstance(expired, Change) else task._replace(wait=None)
        if task.state != "pending":
            break
        claimed = decide(task, ev.Claim("worker", 300.0, NOW + LINEAGE_SECONDS), now)
        assert isinstance(claimed, Change)
        now += 0.1
        settled = decide(claimed.after, STUBBORN[outcomes[runs % len(outcomes)]](claimed.after.fence), now)
        assert isinstance(settled, Change)
        task, runs = settled.after, runs + 1
        assert runs <= 303, "it runs on past its deadline"
    assert task.state in {"failed", "success"}
    assert now <= NOW + 30.0 + 0.3 + ENDING_SECONDS
