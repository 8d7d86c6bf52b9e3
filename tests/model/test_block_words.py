"""What the guard's words say in numbers: read back from the guard's very words (promise I8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ramet.model.causes import BOUNDS, CODES, About, Cause, Fact, numbers_of, said
from ramet.model.lineage.guard import Blocked, BlockReason, Elsewhere, Facts, Holder, check_spawn
from tests.model.lineage.test_guard import FACTS, LINEAGE, NOW

PARENT = Holder(FACTS.parent_id, "odd (kind)", "processing")


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({"parent_depth": 20}, {"value": 21, "limit": 10}),
        ({"holders": (PARENT,)}, {"winner_kind": "odd (kind)"}),
        ({"elsewhere": Elsewhere("t1", "line 1", None, None)}, {"winner_tracking_id": "line 1"}),
        ({"elsewhere": Elsewhere("t1", "12", "success", NOW)}, {"winner_tracking_id": "12", "winner_state": "success"}),
        ({"lineage": LINEAGE._replace(tasks=9, max_tasks=9)}, {"value": 9, "limit": 9}),
        ({"lineage": LINEAGE._replace(tasks=8, max_tasks=9), "places": 2}, {"value": 8, "limit": 9, "places": 2}),
        ({"parent_fan_out": 5, "lineage": LINEAGE._replace(max_fan_out=5)}, {"value": 5, "limit": 5}),
        ({"lineage": LINEAGE._replace(spent=2_000_000_000, max_cost=10**9)}, {"value": "$2.00", "limit": "$1.00"}),
        ({"stopped_by": "pattern a\nb"}, {"entry": "pattern a\nb"}),
        (
            {"shape": "a\n/*", "shape_count": 7, "lineage": LINEAGE._replace(max_shape=7)},
            {"value": 7, "shape": "a\n/*"},
        ),
        ({"lineage": LINEAGE._replace(state="cancelled")}, {}),
        ({"lineage": LINEAGE._replace(spent=0), "max_attempts": None}, {}),
    ],
)
def test_the_words_of_a_refusal_give_its_numbers_back(changes: Mapping[str, Any], numbers: dict[str, Fact]) -> None:
    verdict = check_spawn(FACTS._replace(**changes))
    assert isinstance(verdict, Blocked)
    assert numbers_of(verdict.reason, verdict.detail) == numbers


def test_other_words_have_no_numbers() -> None:
    assert numbers_of(BlockReason.DEPTH, "depth 3 is over max_spawn_depth 2, or so") == {}
    assert numbers_of(BlockReason.DEADLINE, "the deadline of the lineage has passed") == {}


def test_every_bound_is_a_limit_with_the_option_that_raises_it() -> None:
    assert isinstance(FACTS, Facts)
    assert {reason.value: bound.option.split()[0] for reason, bound in BOUNDS.items()} == {
        "depth": "--max-depth", "budget": "--max-tasks", "fan_out": "--max-fan-out", "deadline": "--extend",
        "cost": "--max-cost", "trap": "--max-shape", "reserve": "--max-cost",
    }  # fmt: skip


def test_a_cause_is_said_with_its_moments_as_the_reader_wants_them() -> None:
    assert said(("until ", 12.5, ", then"), "{:.1f} s".format) == "until 12.5 s, then"
    cause = Cause("scheduled", ("its time comes at ", 12.4), {"at": 12.4}, About("task", "t1"))
    assert cause.code in CODES
    assert cause.said() == "its time comes at 12"
    assert cause.said("<{}>".format) == "its time comes at <12.4>"
