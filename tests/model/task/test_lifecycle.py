"""Every cell of the state table (DESIGN §4): 7 states, 27 events, and nothing reaches what the table does not show."""

import runpy
from collections import defaultdict
from functools import cache
from itertools import product
from typing import Any, get_args

import pytest

from ramet.model.task import events as ev
from ramet.model.task import transitions
from ramet.model.task.lifecycle import decide
from ramet.model.task.ordering import PULLED_RANK
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import LIVE, TERMINAL, Standing, TaskState
from ramet.model.task.transitions import TRANSITIONS, Change, Transition, TransitionRefused
from tests.model.samples import FENCE, LEASE_SECONDS, NOW, STATES, claim, error, standing

NO = "never"

# For each state in turn what an event can lead to: states, and with an exclamation mark reasons of refusal.
# NO: always refused, as is_<state>. Pending after a deadline, an end or a cancel is a task marked *ending*.
TABLE: dict[str, tuple[str, str, str, str, str, str, str]] = {
    # event: pending, processing, success, filtered, skipped, failed, cancelled
    "claim": ("processing !waits !not_due", NO, NO, NO, NO, NO, NO),
    "heartbeat": (NO, "processing !stale", NO, NO, NO, NO, NO),
    "progress": (NO, "processing !stale", NO, NO, NO, NO, NO),
    "checkpoint": (NO, "processing !stale", NO, NO, NO, NO, NO),
    "complete": (NO, "success failed cancelled !stale", NO, NO, NO, NO, NO),
    "filter": (NO, "filtered failed cancelled !stale", NO, NO, NO, NO, NO),
    "skip": (NO, "skipped failed cancelled !stale", NO, NO, NO, NO, NO),
    "fail": (NO, "failed cancelled !stale", NO, NO, NO, NO, NO),
    "error": (NO, "pending failed cancelled !stale", NO, NO, NO, NO, NO),
    "snooze": (NO, "pending failed cancelled !stale", NO, NO, NO, NO, NO),
    "join": (NO, "pending failed cancelled !stale", NO, NO, NO, NO, NO),
    "wake": ("pending !not_waiting", NO, NO, NO, NO, NO, NO),
    "continue": (NO, "pending success failed cancelled !stale", NO, NO, NO, NO, NO),
    "reclaim": (NO, "pending failed cancelled !lease_current", NO, NO, NO, NO, NO),
    "hand_back": (NO, "pending !stale", NO, NO, NO, NO, NO),
    "task_deadline": (
        "pending failed cancelled !not_overdue !in_hand !not_polled !at_resource",
        "pending failed cancelled !not_overdue !in_hand !not_polled",
        NO, NO, NO, NO, NO,
    ),
    "bind": ("pending !waits !not_due !ending !overdue", NO, NO, NO, NO, NO, NO),
    "settled_by": ("pending success failed cancelled !not_bound !stale", NO, NO, NO, NO, NO, NO),
    "lineage_ended": ("pending failed cancelled !ending", "pending failed cancelled !ending", NO, NO, NO, NO, NO),
    "over_ceiling": ("pending failed !ending", "pending failed !ending", NO, NO, NO, NO, NO),
    "cancel": ("pending cancelled !ending", "pending cancelled !ending", NO, NO, NO, NO, NO),
    "source_disabled": ("skipped !ending", NO, NO, NO, NO, NO, NO),
    "dependency_failed": ("skipped !ending !not_waiting", NO, NO, NO, NO, NO, NO),
    "exclude": ("skipped", NO, NO, NO, NO, "skipped", "skipped"),
    "reprioritise": ("pending !ending !pulled", NO, NO, NO, NO, NO, NO),
    "reschedule": ("pending !ending !held", NO, NO, NO, NO, NO, NO),
    "revive": (NO, NO, NO, "pending", "pending", "pending", "pending"),
}  # fmt: skip

ENDINGS: tuple[dict[str, Any], ...] = (
    {},
    {"ending": "failed", "ending_reason": "limit"},
    {"ending": "cancelled", "ending_reason": "person"},
)
DEADLINES = (None, NOW - 1.0, NOW, NOW + 1.0)


def pending() -> list[Standing]:
    """Tasks that wait for nothing, for a moment, or for another task; new ones, retried ones and ending ones."""
    waits: tuple[dict[str, Any], ...] = (
        {},
        {"available_at": NOW + 1.0},
        {"wait": "due", "available_at": NOW + 1.0},
        {"wait": "lineage"},
        {"wait": "resource", "resource": "host"},
        {"wait": "bound", "bound_to": "settler"},
        {"wait": "path", "holds_path": 0},
        {"wait": "ticket", "holds_path": 0, "available_at": NOW + 1.0},
        {"wait": "tasks"},
        {"wait": "tasks", "holds_path": 0},
        {"holds_path": 1},
        {"rank": PULLED_RANK},
        {"max_attempts": None},
    )
    return [
        standing("pending", on_end=on_end, started_at=started_at, deadline_at=deadline_at, **wait, **ending)
        for on_end, started_at, deadline_at, wait, ending in product(
            (0, 1), (None, NOW - 60.0), DEADLINES, waits, ENDINGS
        )
    ]


def processing() -> list[Standing]:
    """Claimed tasks on both sides of every limit."""
    samples = product(
        (0, 1),
        (NOW - 1.0, NOW, NOW + 1.0),
        DEADLINES,
        ({"attempts": 1}, {"attempts": 4}, {"attempts": 9, "max_attempts": None}),
        ({}, {"losses": 2, "losses_alone": 2}, {"losses": 9}),
        (1, 2),
        (0, 1),
        ENDINGS,
    )
    return [
        standing(
            on_end=on_end,
            lease_until=lease_until,
            deadline_at=deadline_at,
            chain_depth=chain_depth,
            progressed=progressed,
            **attempts,
            **losses,
            **ending,
        )
        for on_end, lease_until, deadline_at, attempts, losses, chain_depth, progressed, ending in samples
    ]


@cache
def standings(state: str) -> tuple[Standing, ...]:
    """Samples of one state."""
    if state == "pending":
        return tuple(pending())
    if state == "processing":
        return tuple(processing())
    return tuple(standing(state, on_end=on_end) for on_end in (0, 1))


def events() -> dict[str, list[ev.Event]]:
    """Every event in its variants; those with a fence also under the one before."""
    found: dict[str, list[ev.Event]] = {
        "claim": [claim(), claim(lineage_deadline_at=NOW - 1.0)],
        "reclaim": [ev.LeaseExpired(alone, dead) for alone, dead in product((False, True), repeat=2)],
        "task_deadline": [ev.DeadlinePassed(), ev.DeadlinePassed(polled=True)],
        "bind": [ev.Bind("settler", NOW + 60.0)],
        "settled_by": [
            ev.SettledBy(settler, binding, state)
            for settler, binding, state in product(
                ("settler", "somebody"), (FENCE, FENCE - 1), ("success", "failed", "cancelled", "pending")
            )
        ],
        "lineage_ended": [ev.LineageEnded("failed", "lineage_deadline"), ev.LineageEnded("cancelled", "cancel_tree")],
        "wake": [ev.Wake(NOW + 60.0), ev.Wake(NOW + 60.0, 30.0)],
        "over_ceiling": [ev.OverCeiling("cost: too much")],
        "cancel": [ev.Cancel("person", "enough"), ev.Cancel("person")],
        "source_disabled": [ev.SourceDisabled("source_disabled: host")],
        "dependency_failed": [ev.DependencyFailed("dependency_failed: task-1")],
        "exclude": [ev.Exclude("person", "spam"), ev.Exclude("person")],
        "reprioritise": [ev.Reprioritise("person", -7, "urgent")],
        "reschedule": [ev.Reschedule("person", NOW + 9.0, "later"), ev.Reschedule("person", NOW - 9.0)],
        "revive": [ev.Revive("person", "mended")],
    }
    for fence in (FENCE, FENCE - 1, FENCE + 1):
        for name, event in fenced(fence):
            found.setdefault(name, []).append(event)
    return found


def fenced(fence: int) -> list[tuple[str, ev.Event]]:
    """Events of a worker."""
    told: list[tuple[str, ev.Event]] = [
        ("heartbeat", ev.Heartbeat(fence, LEASE_SECONDS)),
        ("progress", ev.Progress(fence, LEASE_SECONDS)),
        ("checkpoint", ev.Checkpoint(fence, LEASE_SECONDS, "parsed")),
        ("checkpoint", ev.Checkpoint(fence, LEASE_SECONDS)),
        ("complete", ev.Complete(fence)),
        ("filter", ev.Filter(fence, "not wanted")),
        ("skip", ev.Skip(fence, "known")),
        ("fail", ev.Fail(fence, "no data")),
        ("snooze", ev.Snooze(fence, 60.0, "busy")),
        ("join", ev.Join(fence, live=3)),
        ("join", ev.Join(fence, idle_rounds=1)),
        ("join", ev.Join(fence, idle_rounds=2)),
        ("continue", ev.Continue(fence, progressed=True)),
        ("continue", ev.Continue(fence, progressed=False)),
        ("hand_back", ev.HandBack(fence)),
    ]
    for error_class, repeats, not_before_at in product(ErrorClass, (None, "twin"), (None, NOW + 60.0)):
        told.append(("error", error(error_class, fence=fence, repeats=repeats, not_before_at=not_before_at)))
    return told


@cache
def reached(name: str) -> dict[str, frozenset[str]]:
    """State -> what deciding every sample of it on every variant of this event gave."""
    seen: dict[str, set[str]] = defaultdict(set)
    for state, event in product(STATES, events()[name]):
        for task in standings(state):
            answer = decide(task, event, NOW)
            seen[state].add(f"!{answer.reason}" if isinstance(answer, TransitionRefused) else answer.after.state)
    return {state: frozenset(answers) for state, answers in seen.items()}


def test_the_table_has_every_state_and_every_event() -> None:
    assert list(STATES) == [state.value for state in TaskState]
    assert {"pending", "processing"} == LIVE
    assert set(STATES) - LIVE == TERMINAL
    assert len(TABLE) == len(get_args(ev.Event)) == 27
    assert set(TABLE) == set(events()) == {row.name for row in TRANSITIONS}
    assert {type(variants[0]) for variants in events().values()} == set(get_args(ev.Event))


@pytest.mark.parametrize(
    ("event", "state", "cell"),
    [(event, state, cell) for event, row in TABLE.items() for state, cell in zip(STATES, row, strict=True)],
)
def test_each_cell_leads_where_the_table_says_and_nowhere_else(event: str, state: str, cell: str) -> None:
    expected = {f"!is_{state}"} if cell == NO else set(cell.split())
    assert reached(event)[state] == expected


@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: row.name)
def test_each_transition_names_exactly_the_states_it_reaches(row: Transition) -> None:
    cells = reached(row.name)
    went = {state: {answer for answer in answers if answer[0] != "!"} for state, answers in cells.items()}
    assert {state for state in STATES if went[state]} == row.sources
    assert set().union(*went.values()) == row.targets


def test_each_event_belongs_to_one_transition_and_the_change_carries_it() -> None:
    by_event = {row.event: row for row in TRANSITIONS}
    assert len(by_event) == len(TRANSITIONS)
    for event in (variant for variants in events().values() for variant in variants):
        for state in STATES:
            for task in standings(state)[::17]:
                answer = decide(task, event, NOW)
                if isinstance(answer, Change):
                    assert answer.transition is by_event[type(event)]
                    assert answer.before is task


def test_only_changes_that_no_attempt_tells_get_a_row_of_their_own() -> None:
    recorded = {row.name for row in TRANSITIONS if row.recorded}
    named = "task_deadline lineage_ended over_ceiling cancel source_disabled dependency_failed exclude revive "
    named += "reprioritise reschedule"
    assert recorded == set(named.split())


def test_every_event_of_a_worker_is_refused_under_any_other_fence() -> None:
    task = standing()
    for fence in (FENCE - 1, FENCE + 1, 0):
        for name, event in fenced(fence):
            assert decide(task, event, NOW) == TransitionRefused("stale"), name


def test_the_table_names_the_states_that_exist() -> None:
    """As the module works it out when it is imported, which is before any test."""
    table = runpy.run_path(transitions.__file__, run_name=transitions.__name__)["TRANSITIONS"]
    assert [(row.name, row.sources, row.targets) for row in table] == [
        (row.name, row.sources, row.targets) for row in TRANSITIONS
    ]
    assert {state for row in table for state in row.sources | row.targets} == {*STATES}
