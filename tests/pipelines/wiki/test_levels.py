"""What a level asks for: exactly the cap, in one order, whatever order the links were recorded in."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.pipelines.wiki import levels
from ramet.pipelines.wiki.levels import LevelPlan, Link, plan_level

KEYS = st.sampled_from("abcdefghij")
LINKS = st.lists(st.builds(Link, st.integers(0, 2), KEYS, st.integers(0, 5), KEYS, st.just("title")), max_size=30)
KNOWN = st.frozensets(KEYS, max_size=5)


CASES = st.tuples(st.integers(0, 4), LINKS, KNOWN, st.integers(1, 12), st.integers(0, 4))
Case = tuple[int, list[Link], frozenset[str], int, int]


def plan(case: Case) -> LevelPlan:
    level, links, known, cap, depth = case
    return plan_level(level, links, known, max_articles=max(cap, len(known)), max_depth=depth)


@given(CASES, st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_recording(case: Case, rng: random.Random) -> None:
    level, links, known, cap, depth = case
    assert plan((level, rng.sample(links, len(links)), known, cap, depth)) == plan(case)


@given(CASES)
def test_every_link_is_offered_once(case: Case) -> None:
    offered = [link for part in plan(case).rounds for link in part.links]
    assert sorted(offered) == sorted(case[1])


@given(CASES)
def test_a_guard_with_the_lowered_budget_grants_exactly_what_was_planned(case: Case) -> None:
    level, links, known, cap, _ = case
    cap, depth = max(cap, len(known)), 9
    planned = plan((level, links, known, cap, depth))
    tasks, there = len(known) + level + 1 + planned.next_level, set(known)
    max_tasks = cap + depth + 1 if planned.max_tasks is None else planned.max_tasks
    for part in planned.rounds:
        for link in part.links:
            if link.target_key not in there and tasks < max_tasks:
                there.add(link.target_key)
                tasks += 1
    assert len(there) - len(known) == planned.grants
    assert len(there) <= cap
    assert planned.next_level == (planned.grants > 0)


def test_the_last_level_offers_known_articles_first_and_the_rest_as_too_deep() -> None:
    links = [Link(1, "a", 0, "new", "New"), Link(1, "a", 1, "b", "B"), Link(1, "b", 0, "a", "A")]
    planned = plan_level(1, links, {"a", "b"}, max_articles=9, max_depth=1)
    assert [(part.beyond, [link.target_key for link in part.links]) for part in planned.rounds] == [
        (False, ["b", "a"]),
        (True, ["new"]),
    ]
    assert not planned.next_level


def test_a_large_level_is_offered_in_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "OFFERS_PER_ROUND_MAX", 2)
    links = [Link(0, "a", position, f"t{position}", "T") for position in range(5)]
    planned = plan_level(0, links, {"a"}, max_articles=9, max_depth=3)
    assert [len(part.links) for part in planned.rounds] == [2, 2, 1]
