"""Turns that are taken together are those that are taken one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage.lineage import Lineage
from ramet.model.task.ordering import BY_DUE, TurnClass, class_of
from ramet.model.task.task import NewTask
from ramet.store.rows.turns import Turns
from ramet.store.session import Session
from tests.model.lineage.test_guard import LINEAGE

DEPTH = 2
NEWS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["page", "doc"]),
            "queue": st.sampled_from(["default", "slow"]),
            "priority": st.sampled_from([0, 5]),
            "breadth": st.sampled_from([0, 1, BY_DUE]),
            "resource": st.sampled_from([None, "api"]),
        }
    )
    .map(NewTask("t", "page", "k", "null")._asdict().__or__)
    .map(NewTask.restored),
    max_size=12,
)


class Levels:
    """The part of a session that turns read."""

    now = 1_000.0

    def __init__(self, levels: dict[TurnClass, int]) -> None:
        self._levels = levels
        self.read: list[str] = []

    def members(self, values: Iterable[Any]) -> tuple[str, Any]:
        return "IN these", [*values]

    def rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self.read.append(sql)
        wanted = [value if isinstance(value, list) else [value] for value in parameters]
        return [
            (*kin, level)
            for kin, level in self._levels.items()
            if all(name in several for name, several in zip(kin, wanted, strict=True))
        ]


def turns_of(levels: dict[TurnClass, int]) -> tuple[Turns, Levels]:
    session = Levels(levels)
    return Turns(cast(Session, session)), session


@given(NEWS, st.lists(st.integers(0, 9), min_size=12, max_size=12), st.sampled_from(["", '{"0:7:4:defaultpage":6}']))
def test_turns_taken_together_are_those_taken_one_by_one(news: list[NewTask], levels: list[int], before: str) -> None:
    lineage: Lineage = LINEAGE._replace(turns=before)
    known = {class_of(new, DEPTH): level for new, level in zip(news, levels, strict=False) if level}
    together, session = turns_of(known)
    together.expect([(news, DEPTH)])
    alone, _ = turns_of(known)
    assert together.take(lineage, news, DEPTH) == [turn for new in news for turn in alone.take(lineage, [new], DEPTH)]
    assert together.text(lineage.tracking_id) == (alone.text(lineage.tracking_id) if news else before)
    assert len(session.read) <= 1


def test_levels_of_many_classes_are_read_in_one_query_and_each_once() -> None:
    news = [NewTask("t", f"kind{n}", "k", "null", resource=f"host{n % 3}") for n in range(30)]
    turns, session = turns_of({class_of(new, DEPTH): 9 for new in news[:10]})
    turns.expect([(news[:20], DEPTH), (news[20:], DEPTH)])
    turns.expect([(news, DEPTH)])
    assert turns.take(LINEAGE, news, DEPTH) == [9] * 10 + [0] * 20
    assert len(session.read) == 1
