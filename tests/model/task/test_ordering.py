"""Rank and turn: what a person decided first, then fairness (DESIGN §10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ramet.model.task.ordering import (
    BREADTH_STEP,
    BY_DUE,
    POSITIONS_MAX,
    PULLED_RANK,
    TurnClass,
    class_of,
    class_of_standing,
    due_rank,
    initial_rank,
    is_pulled,
    level_at,
    rank_of,
    read_positions,
    write_positions,
)
from ramet.model.task.task import NewTask
from tests.model.samples import NOW, standing


def test_a_larger_priority_has_the_smaller_rank() -> None:
    assert sorted([-3, 0, 9, 1], key=lambda priority: rank_of(priority, 0, 5)) == [9, 1, 0, -3]


def test_in_a_breadth_queue_depth_goes_before_any_priority_in_use() -> None:
    assert rank_of(-400_000, 1, 1) < rank_of(400_000, 1, 2)
    assert rank_of(2, 1, 1) < rank_of(1, 1, 1)


@given(st.tuples(st.text(), st.text(), st.integers()), st.tuples(st.text(), st.text(), st.integers()))
def test_two_classes_never_share_a_key(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assert (TurnClass(*one).key() == TurnClass(*other).key()) == (one == other)


def test_positions_survive_their_text_and_are_bounded() -> None:
    assert read_positions(write_positions({})) == {}
    assert read_positions(write_positions({"a": 1, "b": 2**40})) == {"a": 1, "b": 2**40}
    many = {f"class {n}": n for n in range(POSITIONS_MAX + 5)}
    assert list(read_positions(write_positions(many)).items()) == list(many.items())[5:]


def test_a_class_is_queue_kind_rank_and_resource() -> None:
    new = NewTask("t1", "job", "k", "{}", queue="fast", priority=3, breadth=1, resource="host:a")
    assert class_of(new, 2) == TurnClass("fast", "job", 2 * BREADTH_STEP - 3, "host:a")
    assert class_of(NewTask("t1", "job", "k", "{}"), 2) == TurnClass("default", "job", 0, "")
    live = standing(queue="fast", rank=-3, resource="host:a")
    assert class_of_standing(live) == TurnClass("fast", "job", -3, "host:a")
    assert class_of_standing(standing()) == TurnClass("default", "job", 0, "")


def test_a_pulled_kind_is_ranked_by_when_it_is_due_and_no_other_is() -> None:
    assert rank_of(9, BY_DUE, 3) == PULLED_RANK
    assert is_pulled(PULLED_RANK)
    assert not is_pulled(PULLED_RANK - 1)
    assert due_rank(7, NOW) == 7
    assert due_rank(PULLED_RANK, 12.3456) == PULLED_RANK + 12_345


def test_a_new_pulled_task_comes_at_its_turn_but_not_before_it_is_due() -> None:
    assert initial_rank(7, NOW, 50) == 7
    assert initial_rank(PULLED_RANK, 4.0, 50) == PULLED_RANK + 5_000
    assert initial_rank(PULLED_RANK, 6.0, 50) == PULLED_RANK + 6_000
    assert level_at(5.05) == 50


def test_a_key_of_a_class_and_the_text_of_positions_are_what_rows_have() -> None:
    assert TurnClass("fast", "job", -3, "host:a").key() == "-3:4:3:fastjobhost:a"
    assert write_positions({}) == ""
    assert write_positions({"a": 1, "b": 2}) == '{"a":1,"b":2}'
