"""The guard says why as a code with facts; the words are made from them, and causes are said (promise I8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ramet.model.causes import BOUNDS, CODES, Cause, CauseSubject, sentence_text
from ramet.model.lineage.guard import Blocked, GlobalHolder, Holder, SpawnFacts, check_spawn
from ramet.model.reasons import Fact, block_words, winner_of
from tests.model.lineage.test_guard import FACTS, LINEAGE, NOW, TROUBLE

PARENT = Holder(FACTS.parent_id, "odd (kind)", "processing")
UNREADABLE: dict[str, Any] = {"tasks": None}
OTHER = Holder("t1", "company", "pending")


@pytest.mark.parametrize(
    ("changes", "reason", "facts", "words"),
    [
        ({"tombstones": {"root": 1}}, "cancelled", {"task": "root"}, "task root and all below it were cancelled"),
        ({"lineage": LINEAGE._replace(state="cancelled")}, "cancelled", {}, "the lineage was cancelled"),
        ({"lineage": LINEAGE._replace(state="failed")}, "ended", {"lineage_state": "failed"}, "the lineage is failed"),
        ({"claim_current": False}, "stale", {}, "the claim of the spawning task is not current"),
        ({"parent_depth": 20}, "depth", {"value": 21, "limit": 10}, "depth 21 is over max_spawn_depth 10"),
        (
            {"holders": (PARENT,)}, "cycle", {"winner": "parent", "winner_kind": "odd (kind)"},
            "ancestor parent (odd (kind)) already works on this key",
        ),
        (
            {"holders": (OTHER,)}, "in_flight", {"winner": "t1", "winner_state": "pending"},
            "task t1 of this lineage is pending",
        ),
        (
            {"holders": (OTHER._replace(state="failed"),)}, "done", {"winner": "t1", "winner_state": "failed"},
            "task t1 of this lineage is failed",
        ),
        (
            {"base": "company", "holders": (OTHER._replace(kind="company.load"),)}, "in_flight",
            {"winner": "t1", "stage": "company.load"}, "its stage company.load, task t1, is live",
        ),
        (
            {"base": "company", "holders": (OTHER._replace(kind="company.load", state="success"),)}, "done",
            {"winner": "t1", "stage": "company.load", "winner_state": "success"},
            "its stage company.load, task t1, is success",
        ),
        (
            {"elsewhere": GlobalHolder("t1", "line 1", None, None)}, "elsewhere",
            {"winner": "t1", "winner_tracking_id": "line 1"},
            "task t1 of lineage line 1 holds this unique key and is live",
        ),
        (
            {"elsewhere": GlobalHolder("t1", "12", "success", NOW)}, "elsewhere",
            {"winner": "t1", "winner_tracking_id": "12", "winner_state": "success"},
            "task t1 of lineage 12 ended as success and still holds this unique key",
        ),
        (
            {"lineage": LINEAGE._replace(tasks=9, max_tasks=9)}, "budget", {"value": 9, "limit": 9},
            "the lineage has created 9 of 9 tasks",
        ),
        (
            {"lineage": LINEAGE._replace(tasks=8, max_tasks=9), "places": 2}, "budget",
            {"value": 8, "limit": 9, "places": 2},
            "the lineage has created 8 of 9 tasks, and this takes 2: one for each stage",
        ),
        (
            {"lineage": LINEAGE._replace(**UNREADABLE)}, "budget", {"unreadable": ["tasks"]},
            "tasks cannot be read, so the budget counts as spent",
        ),
        (
            {"parent_fan_out": 5, "lineage": LINEAGE._replace(max_fan_out=5)}, "fan_out", {"value": 5, "limit": 5},
            "the parent has created 5 of 5 children",
        ),
        ({"now": 2_000.0}, "deadline", {}, "the deadline of the lineage has passed"),
        (
            {"lineage": LINEAGE._replace(spent=2_000_000_000, max_cost=10**9)}, "cost",
            {"value": 2_000_000_000, "limit": 10**9}, "the lineage has spent $2.00 of $1.00",
        ),
        (
            {"lineage": LINEAGE._replace(spent=0), "max_attempts": None}, "cost", {},
            "a task without max_attempts needs a lineage with max_cost",
        ),
        ({"stopped_by": "pattern a\nb"}, "stop_list", {"entry": "pattern a\nb"}, "pattern a\nb is on the stop list"),
        (
            {"shape": "a\n/*", "shape_count": 7, "lineage": LINEAGE._replace(max_shape=7)}, "trap",
            {"value": 7, "shape": "a\n/*"},
            "the lineage has 7 keys of the shape a\n/*: if they are honest, allow the shape",
        ),
    ],
)  # fmt: skip
def test_a_refusal_is_a_code_with_facts_that_become_words(
    changes: Mapping[str, Any], reason: str, facts: dict[str, Fact], words: str
) -> None:
    verdict = check_spawn(FACTS._replace(**changes))
    assert isinstance(verdict, Blocked)
    stored = json.loads(json.dumps(dict(verdict.facts)))
    assert (verdict.reason, stored, verdict.detail) == (reason, facts, words)
    assert block_words(reason, stored) == words, "a row says what the answer said"
    assert verdict.winner == winner_of(stored) == facts.get("winner")


def test_a_refused_reservation_says_which_ceiling_left_no_room() -> None:
    facts: dict[str, Fact] = {
        "ceiling": "day",
        "soft": False,
        "limit": 10**9,
        "spent": 4 * 10**8,
        "reserved": 10**8,
        "wanted": 10**9,
    }
    words = "the ceiling of the day is $1.00: $0.40 spent, $0.10 reserved, $0.50 left, $1.00 wanted"
    assert block_words("reserve", facts) == words
    full = {**facts, "soft": True, "reserved": 6 * 10**8}
    words = "the soft ceiling of the day is $1.00: $0.40 spent, $0.60 reserved, nothing left, $1.00 wanted"
    assert block_words("reserve", full) == words


@pytest.mark.parametrize(
    ("code", "facts", "words"),
    [
        ("branch_budget", {"branch": "t1", "name": "max_tasks", "value": 5, "limit": 5},
         "the branch of task t1 has 5 of 5 tasks"),
        ("branch_budget", {"branch": "t1", "name": "max_cost", "value": 2 * 10**9, "limit": 10**9},
         "the branch of task t1 has spent and reserved $2.00 of $1.00"),
        ("branch_budget", {"branch": "t1", "name": "max_spawn_depth", "value": 4, "limit": 3},
         "depth 4 is over 3, the deepest of the branch of task t1"),
        ("branch_budget", {"branch": "t1", "name": "seconds", "value": 0, "limit": 0},
         "the time of the branch of task t1 is over"),
        ("budget", {"value": 8, "limit": 9, "set_aside": 4},
         "the lineage has created 8 of 9 tasks, and the budget of the task takes 4"),
        ("budget", {"edges": 90, "limit": 90}, "tasks of the lineage come after 90 others, and 90 are its limit"),
        ("budget", {"unreadable": ["tasks", "max_tasks"]},
         "tasks, max_tasks cannot be read, so the budget counts as spent"),
        ("cost", {"value": 6 * 10**9, "limit": 10**10, "wanted": 5 * 10**9},
         "the lineage has spent and reserved $6.00 of $10.00, and the budget of the task takes $5.00"),
        ("wait_cycle", {"wanted": "job 'a'", "task": "t1"}, "it comes after job 'a', task t1, which waits for it"),
        ("dependency", {"wanted": "job 'a'"}, "it comes after job 'a', which is not a task of this lineage"),
        ("dependency", {}, "dependency"),
    ],
)  # fmt: skip
def test_a_block_of_branches_money_and_waits_has_its_words(code: str, facts: dict[str, Fact], words: str) -> None:
    assert block_words(code, facts) == words


def test_every_reason_of_the_guard_has_words() -> None:
    for reason, lineage, changes in TROUBLE:
        verdict = check_spawn(FACTS._replace(lineage=LINEAGE._replace(**lineage), **changes))
        assert isinstance(verdict, Blocked)
        assert verdict.detail not in ("", reason.value)


@pytest.mark.parametrize(
    ("code", "facts"), [("depth", {}), ("cost", {"value": "$1"}), ("reserve", {}), ("of a later version", {"a": 1})]
)
def test_a_row_that_cannot_be_put_into_words_says_its_code(code: str, facts: dict[str, Fact]) -> None:
    assert block_words(code, facts) == code


def test_every_bound_is_a_limit_with_the_option_that_raises_it() -> None:
    assert isinstance(FACTS, SpawnFacts)
    assert {reason.value: bound.option.split()[0] for reason, bound in BOUNDS.items()} == {
        "depth": "--max-depth", "budget": "--max-tasks", "fan_out": "--max-fan-out", "deadline": "--extend",
        "cost": "--max-cost", "trap": "--max-shape", "reserve": "--max-cost",
    }  # fmt: skip


def test_a_cause_is_said_with_its_moments_as_the_reader_wants_them() -> None:
    assert sentence_text(("until ", 12.5, ", then"), "{:.1f} s".format) == "until 12.5 s, then"
    cause = Cause("scheduled", ("its time comes at ", 12.4), {"at": 12.4}, CauseSubject("task", "t1"))
    assert cause.code in CODES
    assert cause.said() == "its time comes at 12"
    assert cause.said("<{}>".format) == "its time comes at <12.4>"
