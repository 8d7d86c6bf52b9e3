"""Many new tasks stand, column by column, where each of them would stand by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.paths import PathRule
from ramet.model.task.newborn import new_standing, new_standings
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.task import After, NewTask, Standing

NOW = 1_000_000.5

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["page", "doc"]),
    "priority": st.sampled_from([0, 5]),
}
ALL = {
    **PLAIN,
    "queue": st.sampled_from(["default", "slow"]),
    "delay_seconds": st.sampled_from([0.0, 0.0, 0.0, 9.0, 0.25]),
    "max_attempts": st.sampled_from([4, 1, None]),
    "task_seconds": st.sampled_from([7_200.0, None]),
    "max_chain_depth": st.integers(0, 3),
    "on_end": st.integers(0, 1),
    "breadth": st.sampled_from([0, 0, 1, BY_DUE]),
    "unique_seconds": st.sampled_from([None, 0.0, 60.0]),
    "resource": st.sampled_from([None, None, "api"]),
    "path": st.sampled_from([None, None, PathRule(("a",)), PathRule(("a", "b"), reserved=True)]),
    "after": st.sampled_from([None, None, After((("t0",),))]),
}


def new(fields: dict[str, Any]) -> NewTask:
    return NewTask(id="t", key="key", payload="null", **fields)


PLACES = st.tuples(
    st.sampled_from(["line", "other"]),
    st.integers(0, 3),
    st.sampled_from([0, 7, 10_000_500]),
    st.sampled_from([None, NOW + 60.0]),
)
Place = tuple[str, int, int, float | None]
"""Lineage, depth, turn, and the deadline of a branch."""


def some(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[tuple[NewTask, Place]]]:
    return st.lists(st.tuples(st.fixed_dictionaries(fields).map(new), PLACES), min_size=1, max_size=8)


@given(some(PLAIN) | some(ALL), st.integers(1, 2**40))
def test_many_new_tasks_stand_where_each_of_them_would(wanted: list[tuple[NewTask, Place]], first: int) -> None:
    news, places = zip(*wanted, strict=True)
    tracking_ids, depths, turns, deadlines = zip(*places, strict=True)
    columns = new_standings(
        dict(zip(NewTask._fields, zip(*news, strict=True), strict=True)),
        tracking_ids, depths, NOW, first=first, turns=turns, deadlines=deadlines,
    )  # fmt: skip
    assert set(columns) == set(Standing._fields)
    assert [*map(Standing._make, zip(*map(columns.__getitem__, Standing._fields), strict=True))] == [
        new_standing(seq, tracking_id, new, depth, NOW, turn=turn, deadline_at=deadline_at)
        for seq, (new, (tracking_id, depth, turn, deadline_at)) in enumerate(wanted, first)
    ]


def test_columns_of_new_tasks_have_one_length() -> None:
    columns = dict(zip(NewTask._fields, zip(new({"kind": "page"}), strict=True), strict=True))
    for depths in ([], [1, 2]):
        with pytest.raises(ValueError, match="zip"):
            new_standings(columns, ["line"], depths, NOW, first=1, turns=[0], deadlines=[None])
