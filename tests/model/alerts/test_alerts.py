"""What the monitor takes for a loop, what it says of it, and when that is over (DESIGN §2, alert)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from ramet.model.alerts.rules import (
    CRITICAL_FACTOR,
    LIVE,
    STANDING,
    WORST_MAX,
    Alert,
    AlertFinding,
    KindDemand,
    MonitorLimits,
    Pattern,
    judge_key,
    merge_worst,
    resolved,
    severity_of,
    subject_of,
)
from ramet.model.lineage.lineage import LineageState
from tests.model.lineage.test_guard import LINEAGE
from tests.model.samples import NOW

LIMITS = MonitorLimits(demands_max=3, key_demands_max=5, seconds=300.0, quiet_seconds=3_600.0, budget_share=0.8)


def demand(kind: str = "job", *, handed_on: bool = False, revived: int = 0, **blocked: int) -> KindDemand:
    """One task of the kind for the key, refused and revived so often."""
    return KindDemand(kind, "key", 1, handed_on, blocked, revived)


def test_a_demand_is_a_task_a_refusal_or_a_revive() -> None:
    assert demand().total == 1
    assert demand(in_flight=2, done=3, revived=4).total == 10


def test_as_many_demands_as_are_tolerated_are_no_loop_and_one_more_is() -> None:
    assert judge_key("lineage", [demand(done=2)], LIMITS, {}) == []
    entry = {"name": "job key", "weight": 4, "limit": 3, "kind": "job", "key": "key", "spawned": 1,
             "blocked": {"done": 2}, "revived": 1}  # fmt: skip
    found = judge_key("lineage", [demand(done=2, revived=1)], LIMITS, {})
    assert found == [AlertFinding(Pattern.POSSIBLE_LOOP, "lineage", entry)]


def test_a_kind_is_judged_by_its_own_threshold() -> None:
    assert judge_key("lineage", [demand(done=7)], LIMITS, {"job": 8}) == []
    assert [found.entry["limit"] for found in judge_key("lineage", [demand(done=8)], LIMITS, {"job": 8})] == [8, 8]
    assert [found.pattern for found in judge_key("lineage", [demand(done=1)], LIMITS, {"job": 1})] == ["possible_loop"]


def test_a_kind_that_is_never_alerted_about_counts_nowhere() -> None:
    assert judge_key("lineage", [demand(done=99)], LIMITS, {"job": None}) == []
    assert judge_key("lineage", [demand(done=99), demand("other", done=2)], LIMITS, {"job": None}) == []


def test_a_key_that_several_kinds_want_is_one_cycle() -> None:
    several = [demand("b", done=2), demand("a", done=1, in_flight=1)]
    entry = {"name": "a, b key", "weight": 6, "limit": 5, "kind": "a, b", "key": "key", "spawned": 2,
             "blocked": {"done": 3, "in_flight": 1}, "revived": 0}  # fmt: skip
    assert judge_key("lineage", several, LIMITS, {}) == [AlertFinding(Pattern.POSSIBLE_CYCLE, "lineage", entry)]
    assert judge_key("lineage", several[:1], LIMITS, {}) == []
    assert judge_key("lineage", several, LIMITS, {"a": 6}) == []


def test_tasks_that_hand_a_key_on_count_once() -> None:
    stages = [demand(kind, handed_on=kind != "a") for kind in "abcdefg"]
    assert judge_key("lineage", stages, LIMITS, {}) == []
    assert [found.pattern for found in judge_key("lineage", [*stages, demand("h", done=4)], LIMITS, {"h": 5})] == [
        "possible_cycle"
    ]


def test_of_what_was_named_and_what_was_found_the_worst_are_kept_newest_word_first() -> None:
    before = [{"name": "a", "weight": 1}, {"name": "b", "weight": 5, "old": True}]
    found: list[dict[str, Any]] = [{"name": "b", "weight": 2}, {"name": "c", "weight": 2}, {"name": 7, "weight": 9}]
    assert merge_worst(before, found) == [
        {"name": 7, "weight": 9}, {"name": "b", "weight": 2}, {"name": "c", "weight": 2}, {"name": "a", "weight": 1},
    ]  # fmt: skip
    many = merge_worst([], [{"name": f"{at:02d}", "weight": at} for at in range(WORST_MAX + 5)])
    assert [entry["weight"] for entry in many] == list(range(WORST_MAX + 4, 4, -1))
    assert merge_worst(many, [{"name": 3, "weight": 99}, {"name": "3", "weight": 98}])[0]["weight"] == 98


@pytest.mark.parametrize("pattern", list(Pattern))
def test_critical_is_what_nobody_holds_and_money_beyond_a_ceiling(pattern: Pattern) -> None:
    heavy = pattern in {"lost_lease", "over_ceiling", "waits_for_nothing", "slot_starvation"}
    assert severity_of(pattern, [{"weight": 1, "limit": 3}]) == ("critical" if heavy else "warning")


@pytest.mark.parametrize("pattern", [Pattern.POSSIBLE_LOOP, Pattern.POSSIBLE_CYCLE])
def test_critical_is_a_wish_repeated_ten_times_as_often_as_tolerated(pattern: Pattern) -> None:
    assert CRITICAL_FACTOR == 10
    assert severity_of(pattern, [{"weight": 30, "limit": 3}]) == "warning"
    assert severity_of(pattern, [{"weight": 4, "limit": 3}, {"weight": 31, "limit": 3}]) == "critical"
    assert severity_of(pattern, [{"weight": 10, "limit": 0}]) == "warning"
    assert severity_of(pattern, [{"weight": 11, "limit": 0}]) == "critical"
    assert severity_of(Pattern.DEEP_SPAWN, [{"weight": 31, "limit": 3}]) == "warning"


WINDOW = {"window_seconds": 3_600.0}


@pytest.mark.parametrize(
    ("pattern", "entry", "words"),
    [
        ("possible_loop", {"kind": "job", "key": "k", "weight": 4, "limit": 3},
         "job k was wanted 4 times (tolerated: 3)"),
        ("possible_cycle", {"kind": "a, b", "key": "k", "weight": 4, "limit": 3},
         "a, b k was wanted 4 times (tolerated: 3)"),
        ("deep_spawn", {"name": "t1", "kind": "job", "weight": 9, "limit": 8},
         "task t1 (job) is at spawn_depth 9, over 8"),
        ("retry_storm", {"weight": 9, "limit": 8}, "9 retries were put off: a minute may have 8"),
        ("lost_lease", {"name": "t1", "kind": "job", "weight": 61},
         "task t1 (job) is processing without a lease for 61 s"),
        ("over_ceiling", {"name": "lineage", "weight": 2_000_000_000, "limit": 1_500_000_000},
         "the lineage has spent $2.00, over its ceiling of $1.50: its calls in flight end"),
        ("chain_limit", {"name": "nightly", "weight": 3, "runs": 12},
         "3 of the last 12 runs of schedule nightly stopped at their chain's limit with work left: "
         "let it run more often, or raise max_chain_depth"),
        ("failed_runs", {"name": "nightly", "weight": 3, "newest": "nightly@1"},
         "the last 3 runs of schedule nightly failed, the newest is lineage nightly@1"),
        ("task_timeouts", {"name": "job", "weight": 101, "limit": 100, **WINDOW},
         "101 tasks of kind job ended at their own deadline within 3600 s (tolerated: 100): see why they take so long"),
        ("task_timeouts", {"name": "all kinds", "weight": 101, "limit": 100, **WINDOW},
         "101 tasks of all kinds ended at their own deadline within 3600 s (tolerated: 100): "
         "see why they take so long"),
        ("failed_lineages", {"name": "job", "weight": 2, "of": 10, "tolerated": "10% of 10 or more", **WINDOW},
         "2 of 10 lineages (job) that ended within 3600 s failed (tolerated: 10% of 10 or more)"),
        ("invocation_errors", {"name": "nightly", "weight": 2, "of": 20, "tolerated": "5% of 20 or more"},
         "2 of 20 invocations by schedule nightly ended in an error (tolerated: 5% of 20 or more)"),
    ],
)  # fmt: skip
def test_an_alert_says_the_worst_of_it_in_words(pattern: str, entry: dict[str, Any], words: str) -> None:
    assert subject_of(Pattern(pattern), [entry, {}]) == words


@pytest.mark.parametrize("pattern", sorted(LIVE))
def test_what_is_live_has_its_words_elsewhere(pattern: Pattern) -> None:
    with pytest.raises(AssertionError, match=f"^{pattern} has its words in ramet.model.alerts.rules$"):
        subject_of(pattern, [{}])


def alert(pattern: str, *worst: dict[str, Any], tracking_id: str | None = "lineage", quiet: float = 0.0) -> Alert:
    """One that fires and for which nothing was found for so long."""
    evidence = {"limit": 3, "worst": list(worst)}
    return Alert(1, pattern, tracking_id, "", evidence, "warning", NOW, NOW - quiet, None, "firing", 1)


def over(
    one: Alert, *, state: str | None = "running", standing: Collection[Pattern] = (), **changes: Any
) -> bool:  # fmt: skip
    """Whether it is resolved; of a pruned lineage for a state of None."""
    lineage = None if state is None else LINEAGE._replace(state=state, **changes)
    return resolved(one, lineage, NOW, LIMITS, standing)


@pytest.mark.parametrize("pattern", sorted(STANDING))
def test_what_a_look_finds_anew_is_over_when_it_does_not(pattern: Pattern) -> None:
    assert over(alert(pattern), state=None)
    assert not over(alert(pattern, quiet=1e9), state=None, standing=[pattern])


@pytest.mark.parametrize("pattern", ["over_ceiling", "budget"])
def test_a_ceiling_of_all_is_over_with_the_look_that_does_not_find_it(pattern: str) -> None:
    assert over(alert(pattern, tracking_id=None, quiet=300.0), state=None)
    assert not over(alert(pattern, tracking_id=None, quiet=299.0), state=None)


def test_a_lineages_alert_is_over_when_it_was_quiet_long_enough() -> None:
    for state in ("running", "paused"):
        assert not over(alert("possible_loop", quiet=3_599.0), state=state)
        assert over(alert("possible_loop", quiet=3_600.0), state=state)
    assert not over(alert("over_ceiling", quiet=3_599.0))


@pytest.mark.parametrize("state", [state for state in LineageState if state not in ("running", "paused")])
def test_a_lineages_alert_is_over_a_look_after_its_lineage_ended_and_when_that_was_pruned(state: str) -> None:
    assert not over(alert("possible_loop", quiet=299.0), state=state)
    assert over(alert("possible_loop", quiet=300.0), state=state)
    assert over(alert("possible_loop"), state=None)


@pytest.mark.parametrize(
    ("entry", "changes", "used_up"),
    [
        ({"name": "tasks", "weight": 0}, {"tasks": 80, "max_tasks": 100}, True),
        ({"name": "tasks", "weight": 99}, {"tasks": 79, "max_tasks": 100}, False),
        ({"name": "depth", "weight": 8}, {"max_spawn_depth": 10}, True),
        ({"name": "depth", "weight": 8}, {"max_spawn_depth": 11}, False),
        ({"name": "cost", "weight": 0}, {"spent": 50, "reserved": 30, "max_cost": 100}, True),
        ({"name": "cost", "weight": 99}, {"spent": 50, "reserved": 29, "max_cost": 100}, False),
        ({"name": "cost", "weight": 0}, {"spent": 50, "reserved": 30, "max_cost": 200, "soft_cost": 100}, True),
        ({"name": "cost", "weight": 99}, {"spent": 50, "reserved": 30, "max_cost": 100, "soft_cost": 200}, False),
        ({"name": "cost", "weight": 99}, {"spent": 99, "max_cost": None}, False),
    ],
)
def test_a_budget_is_over_when_somebody_raised_it_however_long_it_was_quiet(
    entry: dict[str, Any], changes: dict[str, Any], used_up: bool
) -> None:
    assert over(alert("budget", entry, quiet=1e6), **changes) is not used_up
    lower = {"name": "depth", "weight": 0}
    assert over(alert("budget", lower, entry, quiet=1e6), **changes) is not used_up
