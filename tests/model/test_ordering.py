"""Rank and turn: what a person decided first, then fairness (DESIGN §10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ramet.model.ordering import POSITIONS_MAX, TurnClass, rank_of, read_positions, write_positions


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
