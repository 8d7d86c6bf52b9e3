"""What looks wrong over many lineages at once, and what is nearly used up: findings and their words."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.alerts.rules import (
    LIVE,
    WORST_MAX,
    AlertFinding,
    AlertShare,
    FailedRuns,
    MonitorLimits,
    Pattern,
    budget_finding,
    deadline_findings,
    judge_chains,
    judge_failed_runs,
    judge_invocations,
    judge_lineages,
    judge_lost,
    judge_timeouts,
    subject_of_live,
)
from tests.model.samples import NOW

LIMITS = MonitorLimits(window_seconds=3_600.0)
WINDOW = {"window_seconds": 3_600.0}


def found(pattern: Pattern, **entry: Any) -> AlertFinding:
    """What is about no lineage."""
    return AlertFinding(pattern, "", entry)


def test_a_schedule_whose_runs_stop_with_work_left_more_often_than_tolerated_is_named() -> None:
    runs = {"a": AlertShare(2, 12), "b": AlertShare(3, 12), "c": AlertShare(4, 5)}
    assert judge_chains(runs, LIMITS) == [
        found(Pattern.CHAIN_LIMIT, name="b", weight=3, limit=2, runs=12),
        found(Pattern.CHAIN_LIMIT, name="c", weight=4, limit=2, runs=5),
    ]


def test_a_schedule_whose_newest_runs_failed_as_often_as_is_worth_an_alert_is_named() -> None:
    runs = {"a": FailedRuns(2, "a@2"), "b": FailedRuns(3, "b@3"), "c": FailedRuns(0, ""), "d": FailedRuns(1, "d@1")}
    assert judge_failed_runs(runs, LIMITS) == [found(Pattern.FAILED_RUNS, name="b", weight=3, limit=2, newest="b@3")]
    for one in (1, 0):  # None at all is not a failure.
        found_runs = [(each.entry["name"], each.entry["limit"]) for each in judge_failed_runs(
            runs, LIMITS._replace(failed_runs=one))]  # fmt: skip
        assert found_runs == [("a", 0), ("b", 0), ("d", 0)]


def test_kinds_over_a_count_are_named_else_all_of_them_together() -> None:
    assert judge_timeouts({"a": 100}, LIMITS) == []
    assert judge_timeouts({"a": 50, "b": 50}, LIMITS) == []
    assert judge_timeouts({"a": 101, "b": 100}, LIMITS) == [
        found(Pattern.TASK_TIMEOUTS, name="a", weight=101, limit=100, **WINDOW)
    ]
    assert judge_timeouts({"a": 51, "b": 50}, LIMITS) == [
        found(Pattern.TASK_TIMEOUTS, name="all kinds", weight=101, limit=100, **WINDOW)
    ]
    assert judge_lost({"a": 20}, LIMITS) == []
    assert judge_lost({"a": 21}, LIMITS) == [found(Pattern.EXPIRED_LEASES, name="a", weight=21, limit=20, **WINDOW)]


def test_a_share_of_failed_lineages_counts_from_ten_on_and_a_count_whatever_the_share() -> None:
    assert judge_lineages({"a": AlertShare(9, 9)}, LIMITS) == []
    assert judge_lineages({"a": AlertShare(1, 10)}, LIMITS) == []
    assert judge_lineages({"a": AlertShare(2, 10)}, LIMITS) == [
        found(Pattern.FAILED_LINEAGES, name="a", weight=2, of=10, limit=1.0, tolerated="10% of 10 or more", **WINDOW)
    ]
    assert judge_lineages({"a": AlertShare(100, 10_000)}, LIMITS) == []
    few = LIMITS._replace(failed_max=3)
    assert judge_lineages({"a": AlertShare(3, 9)}, few) == []
    assert judge_lineages({"a": AlertShare(4, 9)}, few) == [
        found(Pattern.FAILED_LINEAGES, name="a", weight=4, of=9, limit=3, tolerated="3, however many there were",
              **WINDOW)
    ]  # fmt: skip


def test_lineages_of_several_kinds_are_judged_together_as_well() -> None:
    assert [each.entry["name"] for each in judge_lineages({"a": AlertShare(1, 5), "b": AlertShare(1, 5)}, LIMITS)] == [
        "all kinds"
    ]
    both = judge_lineages({"a": AlertShare(2, 10), "b": AlertShare(0, 5)}, LIMITS)
    assert [(each.entry["name"], each.entry["weight"], each.entry["of"]) for each in both] == [
        ("a", 2, 10), ("all kinds", 2, 15),
    ]  # fmt: skip


def test_a_limit_is_a_share_to_the_sixth_digit_so_that_no_rounding_of_floats_is_an_alert() -> None:
    assert 0.07 * 100 > 7
    assert judge_lineages({"a": AlertShare(7, 100)}, LIMITS._replace(failed_share_max=0.07)) == []
    third = judge_lineages({"a": AlertShare(4, 10)}, LIMITS._replace(failed_share_max=1 / 3))
    assert third[0].entry["limit"] == 3.333333


def test_errors_of_a_schedule_are_judged_by_their_share_and_by_their_count() -> None:
    assert judge_invocations({"a": AlertShare(1, 20), "b": AlertShare(19, 19)}, LIMITS) == []
    assert judge_invocations({"a": AlertShare(2, 20)}, LIMITS) == [
        found(Pattern.INVOCATION_ERRORS, name="a", weight=2, of=20, limit=1.0, tolerated="5% of 20 or more", **WINDOW)
    ]
    assert judge_invocations({"a": AlertShare(1, 20), "b": AlertShare(21, 1_000)}, LIMITS) == [
        found(Pattern.INVOCATION_ERRORS, name="b", weight=21, of=1_000, limit=20,
              tolerated="20, however many there were", **WINDOW)
    ]  # fmt: skip


def test_a_budget_is_worth_an_alert_from_its_share_on() -> None:
    assert budget_finding("lineage", "tasks", 79, 100, LIMITS) is None
    assert budget_finding("lineage", "tasks", 80, 100, LIMITS) is not None
    assert budget_finding("lineage", "tasks", 5, 0, LIMITS) is None
    assert budget_finding("lineage", "tasks", 1, 1, LIMITS) is not None
    entry = {"name": "tasks", "weight": 800_012, "limit": 1_000_000, "share": 0.8}
    assert budget_finding("lineage", "tasks", 800_012, 1_000_000, LIMITS) == AlertFinding(
        Pattern.BUDGET, "lineage", entry
    )
    third = budget_finding("lineage", "tasks", 2, 3, LIMITS._replace(budget_share=0.5))
    assert third is not None
    assert third.entry["share"] == 0.6667


def test_lineages_that_used_up_so_much_of_their_time_are_named() -> None:
    ends = {"early": (NOW - 79.0, NOW + 21.0), "late": (NOW - 80.0, NOW + 20.0), "over": (NOW - 30.0, NOW - 3.0)}
    assert deadline_findings(ends, NOW, 0.8) == [
        found(Pattern.DEADLINE_NEAR, name="late", weight=0.8, limit=0.8, deadline_at=NOW + 20.0, left_seconds=20.0),
        found(Pattern.DEADLINE_NEAR, name="over", weight=1.1111, limit=0.8, deadline_at=NOW - 3.0, left_seconds=0.0),
    ]
    assert [each.entry["left_seconds"] for each in deadline_findings({"a": (NOW - 80.0, NOW + 0.26)}, NOW, 0.8)] == [0]
    assert deadline_findings({"a": (NOW - 3.0, NOW + 0.5)}, NOW, 0.8)[0].entry["weight"] == 0.8571
    assert [each.entry["weight"] for each in deadline_findings({"no time": (NOW, NOW)}, NOW, 0.8)] == [1.0]
    assert deadline_findings({"a second": (NOW, NOW + 1.0)}, NOW, 0.8) == []


OFF = {"name": "host", "weight": 3, "more": False, "by": None, "reason": None}


@pytest.mark.parametrize(
    ("pattern", "entry", "words"),
    [
        ("breaker_open", OFF, "the breaker of resource host was opened (no reason): 3 tasks wait"),
        ("breaker_open", {**OFF, "more": True, "by": "ada", "reason": "asked to"},
         "the breaker of resource host was opened by ada (asked to): 3 or more tasks wait"),
        ("unserved", {"name": "job", "weight": 3},
         "3 or more live tasks of kind job, which no worker serves: start one that does"),
        ("unserved", {"name": "job", "weight": 3, "waiter": "t1"},
         "3 or more live tasks of kind job, which no worker serves: start one that does; "
         "task t1 waits for one of them"),
        ("expired_leases", {"name": "job", "weight": 21, "limit": 20, **WINDOW},
         "21 attempts of kind job were lost within 3600 s (tolerated: 20): see why workers die, or do not get to "
         "their heartbeats"),
        ("expired_leases", {"name": "all kinds", "weight": 21, "limit": 20, **WINDOW},
         "21 attempts of all kinds were lost within 3600 s (tolerated: 20): see why workers die, or do not get to "
         "their heartbeats"),
        ("deadline_near", {"name": "l1", "weight": 0.8571, "left_seconds": 20},
         "lineage l1 has used 86% of its time: 20 s are left"),
        ("slot_starvation",
         {"name": "page", "kind": "page", "queue": "q", "weight": 4, "waiter": "t1", "awaited": "t2"},
         "every slot (4) in which tasks of kind page in queue q can run is held by a handler that waits inside "
         "(task t1 for task t2): let their handlers `return ctx.join()` instead of waiting, or start another worker"),
        ("waits_for_nothing", {"name": "t1", "weight": 1, "why": "tasks wait for a path"},
         "tasks wait for a path (t1): nothing will wake them; report it with what `ramet doctor` says"),
        ("budget", {"name": "tasks", "weight": 80, "limit": 100, "share": 0.8},
         "80% of the budget is used (tasks): 80 of 100"),
        *(("budget", {"name": name, "weight": 800_000_000, "limit": 1_000_000_000, "share": 0.8},
           f"80% of the budget is used ({name}): $0.80 of $1.00") for name in ("cost", "day", "database")),
    ],
)  # fmt: skip
def test_the_worst_is_said_in_words(pattern: str, entry: dict[str, Any], words: str) -> None:
    assert subject_of_live(Pattern(pattern), entry, 1) == words


def test_every_pattern_of_what_is_live_has_its_words() -> None:
    assert {pattern.value for pattern in LIVE} == {
        "expired_leases", "waits_for_nothing", "breaker_open", "budget", "deadline_near", "unserved", "slot_starvation",
    }  # fmt: skip


def test_it_is_said_how_many_there_are_beside_the_worst() -> None:
    words = subject_of_live(Pattern.BREAKER_OPEN, OFF, 1)
    assert subject_of_live(Pattern.BREAKER_OPEN, OFF, 0) == words
    assert subject_of_live(Pattern.BREAKER_OPEN, OFF, 2) == f"{words}; 1 other"
    assert subject_of_live(Pattern.BREAKER_OPEN, OFF, 3) == f"{words}; 2 others"
    assert subject_of_live(Pattern.BREAKER_OPEN, OFF, WORST_MAX) == f"{words}; {WORST_MAX - 1} or more others"
