"""Branches: what is set aside for a task and all below it, what a booking adds to each level, and what refuses one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ramet.model.lineage.branches import (
    Booking,
    Branch,
    BranchLimit,
    Budget,
    beyond_limit,
    book,
    deadline_of,
    new_branch,
    over_limit,
    reopened,
)

PART = Budget(max_tasks=5, max_cost=100, keep_cost=10, max_spawn_depth=2, seconds=60.0)


def branch(name: str = "b", **values: Any) -> Branch:
    """One that sets nothing aside, but for these values."""
    bare = Branch(name, "line", None, None, None, 0, None, None)
    return bare._replace(**values)


def test_a_branch_has_what_its_budget_says_from_its_task_on() -> None:
    told = new_branch("t", "line", "outer", PART, spawn_depth=3, available_at=1_000.0)
    assert told == Branch("t", "line", "outer", 5, 100, 10, 5, 1_060.0, 0, 0, 0, 0)
    open_ = new_branch("t", "line", None, Budget(max_tasks=1), spawn_depth=3, available_at=1_000.0)
    assert (open_.max_spawn_depth, open_.deadline_at, open_.max_cost, open_.keep_cost) == (None, None, None, 0)
    assert new_branch("t", "line", None, Budget(seconds=1.5), spawn_depth=0, available_at=2.0).deadline_at == 3.5


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(), "the budget bounds nothing: give max_tasks, max_cost, max_spawn_depth or seconds$"),
        (Budget(max_tasks=0), "max_tasks of the budget is 0: give a whole number from 1 to "),
        (Budget(max_spawn_depth=-1), "max_spawn_depth of the budget is -1: give a whole number from 0 to "),
        (Budget(seconds=0.0), "seconds of the budget is 0.0: give a number of seconds from 0.001 to "),
        (Budget(max_cost=-1), "max_cost of the budget is -1: give "),
        (Budget(max_cost=1, keep_cost=-1), "keep_cost of the budget is -1: give "),
        (
            Budget(max_cost=1, keep_cost=2),
            "keep_cost of the budget is a part of its max_cost: give a max_cost of at least that$",
        ),
        (Budget(max_tasks=3, keep_cost=1), "keep_cost of the budget is a part of its max_cost"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(budget: Budget, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        budget.checked()


def test_amounts_of_a_budget_become_nano_dollars() -> None:
    given: Any = Budget(max_cost=Decimal("0.5"), keep_cost="$0.1")  # type: ignore[arg-type]
    assert given.checked() == Budget(max_cost=500_000_000, keep_cost=100_000_000)
    assert Budget(max_tasks=1, seconds=0.001).checked() == Budget(max_tasks=1, seconds=0.001)
    assert Budget(max_spawn_depth=0).checked() == Budget(max_spawn_depth=0)
    assert Budget(max_cost=7, keep_cost=7).checked() == Budget(max_cost=7, keep_cost=7)


def test_while_it_lives_a_branch_holds_its_whole_part_and_afterwards_what_it_used() -> None:
    one = branch(max_tasks=5, max_cost=100, tasks=2, live=1, spent=30, reserved=20)
    assert (one.held_tasks, one.held_cost) == (5, 70)
    ended = one._replace(live=0)
    assert (ended.held_tasks, ended.held_cost) == (2, 20)
    assert one._replace(spent=90, reserved=40).held_cost == 40, "after an overrun what is under way"
    bare = branch(tasks=2, live=1, spent=30, reserved=20)
    assert (bare.held_tasks, bare.held_cost) == (2, 20)


def test_a_booking_goes_outwards_until_a_level_has_set_its_part_aside() -> None:
    inner = branch("inner", parent="outer", tasks=1, live=1)
    outer = branch("outer", max_tasks=5, max_cost=100, tasks=1, live=1)
    wanted = Booking(tasks=1, live=1, spent=7, reserved=3)
    told = book([inner, outer], wanted)
    assert told.before == (inner, outer)
    assert told.after == (
        inner._replace(tasks=2, live=2, spent=7, reserved=3),
        outer._replace(tasks=2, live=2, spent=7, reserved=3),
    )
    assert told.rest == Booking(tasks=0, live=1, spent=7, reserved=-7), "its part was reserved, and is spent of it"
    assert book([inner], wanted).rest == wanted
    assert book([], wanted).rest == wanted


def test_the_first_task_takes_the_part_and_the_last_end_gives_back_what_is_left() -> None:
    own = new_branch("t", "line", None, PART, spawn_depth=0, available_at=0.0)
    begun = book([own], Booking(tasks=1, live=1))
    assert begun.rest == Booking(tasks=5, live=1, reserved=100)
    [used] = book(begun.after, Booking(spent=40)).after
    ended = book([used], Booking(live=-1))
    assert ended.rest == Booking(tasks=-4, live=-1, reserved=-60)


def test_sums_of_bookings_are_added_one_by_one() -> None:
    assert Booking(1, 2, 3, 4).plus(Booking(10, 20, 30, 40)) == Booking(11, 22, 33, 44)
    assert Booking().plus(Booking(reserved=-2)) == Booking(reserved=-2)


def test_a_booking_over_the_tasks_of_a_branch_is_told_with_the_innermost_one() -> None:
    inner = branch("inner", parent="outer", max_tasks=2, tasks=2, live=2)
    outer = branch("outer", max_tasks=3, tasks=3, live=2)
    over = over_limit(book([inner, outer], Booking(tasks=1, live=1)))
    assert over is not None
    assert (over.branch.id, over.name, over.value, over.limit) == ("inner", "max_tasks", 2, 2)
    roomy = inner._replace(max_tasks=None)
    over = over_limit(book([roomy, outer], Booking(tasks=1, live=1)))
    assert over is not None
    assert (over.branch.id, over.value, over.limit) == ("outer", 3, 3)
    assert over_limit(book([roomy, outer._replace(max_tasks=4)], Booking(tasks=1, live=1))) is None
    # What is over already may go on as it is.
    assert over_limit(book([inner._replace(tasks=3)], Booking(live=1))) is None


def test_a_booking_over_the_money_of_a_branch_is_told_and_the_first_task_may_use_what_is_kept() -> None:
    one = branch(max_cost=100, keep_cost=10, live=1, spent=50, reserved=30)
    assert over_limit(book([one], Booking(reserved=10))) is None
    over = over_limit(book([one], Booking(reserved=11)))
    assert over is not None
    assert (over.name, over.value, over.limit) == ("max_cost", 80, 90)
    assert over_limit(book([one], Booking(reserved=20)), first=True) is None
    over = over_limit(book([one], Booking(reserved=21)), first=True)
    assert over is not None
    assert (over.value, over.limit) == (80, 100)
    around = branch("outer", max_cost=100, keep_cost=10, live=1, spent=50, reserved=30)
    inner = branch("inner", parent="outer", live=1)
    over = over_limit(book([inner, around], Booking(reserved=20)), first=True)
    assert over is not None, "it is the first of the inner one alone"
    assert (over.branch.id, over.limit) == ("outer", 90)
    passed = one._replace(spent=200)
    assert over_limit(book([passed], Booking(live=1))) is None


def test_a_booking_has_as_many_branches_after_as_before() -> None:
    with pytest.raises(ValueError, match="zip"):
        over_limit(book([branch()], Booking())._replace(after=()))


def test_depth_and_time_refuse_a_task_with_the_innermost_branch() -> None:
    inner = branch("inner", parent="outer", max_spawn_depth=4)
    outer = branch("outer", max_spawn_depth=3, deadline_at=100.0)
    assert beyond_limit([inner, outer], 3, 99.9) is None
    assert beyond_limit([inner, outer], 5, 0.0) == BranchLimit(inner, "max_spawn_depth", 5, 4)
    assert beyond_limit([inner, outer], 4, 0.0) == BranchLimit(outer, "max_spawn_depth", 4, 3)
    assert beyond_limit([inner, outer], 3, 100.0) == BranchLimit(outer, "seconds", 0, 0)
    assert beyond_limit([], 9, 100.0) is None


def test_the_earliest_deadline_holds() -> None:
    chain = [branch(deadline_at=9.0), branch(), branch(deadline_at=7.0)]
    assert deadline_of(chain) == 7.0
    assert deadline_of([branch()]) is None


def test_a_branch_that_ended_takes_its_part_again_as_far_as_it_is_there() -> None:
    one = branch(max_tasks=5, max_cost=100, keep_cost=50, tasks=2, spent=30, reserved=10)
    assert reopened([one], 10, 1_000) == (one,)
    assert reopened([one], 1, 20) == (one._replace(max_tasks=3, max_cost=60, keep_cost=50),)
    assert reopened([one], 1, 5) == (one._replace(max_tasks=3, max_cost=45, keep_cost=45),)
    assert reopened([one], -1, -1) == (one._replace(max_tasks=2, max_cost=40, keep_cost=40),)
    assert reopened([one], 1, None) == (one._replace(max_tasks=3),)
    living = one._replace(live=1)
    assert reopened([living], 0, 0) == (living,)
    bare = branch()
    assert reopened([bare], 0, 0) == (bare,)


def test_of_branches_that_ended_the_inner_one_has_no_more_than_the_outer_one_took_again() -> None:
    outer = branch("outer", max_tasks=10, max_cost=100, tasks=4, spent=10, reserved=5)
    inner = branch("inner", parent="outer", max_tasks=8, max_cost=90, tasks=1, spent=3, reserved=2)
    told = reopened([inner, outer], 2, 20)
    assert told == (inner._replace(max_tasks=3, max_cost=25), outer._replace(max_tasks=6, max_cost=35))
