"""What the spawn guard says of branches, budgets of tasks, edges and waits (DESIGN §4, §5)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage.branches import Booking, Branch, book
from ramet.model.lineage.guard import EDGES_PER_TASK, Allowed, Blocked, BlockReason, SpawnFacts, Verdict, check_spawn
from ramet.model.reasons import Fact
from tests.model.lineage.test_guard import FULL, NOW, facts


def verdict(asked: SpawnFacts) -> Verdict:
    """Return the guard's answer."""
    return check_spawn(asked)


def test_a_branch_without_room_is_named_with_its_limit() -> None:
    full: dict[str, Fact] = {"branch": "above", "name": "max_tasks", "value": 1, "limit": 1}
    assert verdict(facts(booked=FULL)) == Blocked(BlockReason.BRANCH_BUDGET, full)
    shallow = Branch("above", "lineage", None, None, None, 0, 3, None)
    roomy = book([], Booking(tasks=1))
    assert verdict(facts(around=(shallow,), booked=roomy, parent_depth=2)) == Allowed()
    deep: dict[str, Fact] = {"branch": "above", "name": "max_spawn_depth", "value": 4, "limit": 3}
    assert verdict(facts(around=(shallow,), booked=roomy, parent_depth=3)) == Blocked(BlockReason.BRANCH_BUDGET, deep)
    late = shallow._replace(deadline_at=NOW)
    over: dict[str, Fact] = {"branch": "above", "name": "seconds", "value": 0, "limit": 0}
    assert verdict(facts(around=(late,), booked=roomy)) == Blocked(BlockReason.BRANCH_BUDGET, over)
    assert verdict(facts(around=(late,))) == Allowed(), "nothing is booked in it"


@pytest.mark.parametrize(
    ("tasks", "set_aside", "more"),
    [(95, 5, None), (96, 5, {"set_aside": 5}), (99, 1, None), (100, 1, {}), (100, 0, None)],
)
def test_what_a_budget_sets_aside_is_taken_of_the_lineage(tasks: int, set_aside: int, more: dict[str, Any]) -> None:
    booked = book([], Booking(tasks=set_aside))
    expected: Verdict = Allowed()
    if more is not None:
        expected = Blocked(BlockReason.BUDGET, {"value": tasks, "limit": 100, **more})
    assert verdict(facts({"tasks": tasks}, booked=booked)) == expected


def test_the_money_of_a_budget_is_taken_of_the_lineage() -> None:
    booked = book([], Booking(tasks=1, reserved=5))
    assert verdict(facts({"max_cost": 10, "spent": 3, "reserved": 2}, booked=booked)) == Allowed()
    assert verdict(facts({"max_cost": 10, "spent": 4, "reserved": 2}, booked=booked)) == Blocked(
        BlockReason.COST, {"value": 6, "limit": 10, "wanted": 5}
    )
    assert verdict(facts({"spent": 4, "reserved": 2}, booked=booked)) == Allowed()
    free = book([], Booking(tasks=1))
    assert verdict(facts({"max_cost": 10, "spent": 9, "reserved": 2}, booked=free)) == Allowed()


def test_a_lineage_has_so_many_edges_for_each_of_its_tasks() -> None:
    most = 100 * EDGES_PER_TASK
    assert verdict(facts({"edges": most - 5}, edges=5)) == Allowed()
    assert verdict(facts({"edges": most - 4}, edges=5)) == Blocked(
        BlockReason.BUDGET, {"edges": most - 4, "limit": most}
    )
    assert verdict(facts({"edges": most + 1})) == Allowed()
    assert verdict(facts({"edges": most}, edges=1)) != Allowed()


def test_a_wait_that_cannot_end_and_one_for_nothing_are_named() -> None:
    assert verdict(facts(waits_for_it=("job", "above"))) == Blocked(
        BlockReason.WAIT_CYCLE, {"wanted": "job", "task": "above"}
    )
    assert verdict(facts(missing="job 'x'")) == Blocked(BlockReason.DEPENDENCY, {"wanted": "job 'x'"})
