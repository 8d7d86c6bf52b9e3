"""What a lineage's tasks inherit, and when a lineage is over (DESIGN §2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage.lineage import (
    OPEN,
    Lineage,
    LineageOutcome,
    LineageState,
    OutcomeKind,
    Placement,
    child_of,
    combined_outcome,
    end_name,
    finished_if_empty,
    reopened,
    retry_slot,
    root_of,
    shapes_text,
)
from tests.model.lineage.test_guard import LINEAGE


def lineage(state: str, live: int = 0) -> Lineage:
    """A lineage in some state with some live tasks."""
    return LINEAGE._replace(state=state, live=live)


def test_a_root_is_at_depth_0_without_ancestors() -> None:
    assert root_of("lineage") == Placement("lineage", None, (), 0)


def test_a_child_is_one_deeper_and_has_its_parent_last_in_the_chain() -> None:
    assert child_of("lineage", "root", (), 0) == Placement("lineage", "root", ("root",), 1)
    assert child_of("lineage", "a", ("root",), 1) == Placement("lineage", "a", ("root", "a"), 2)


@given(st.lists(st.uuids().map(str), unique=True, max_size=12))
def test_down_any_line_depth_is_the_length_of_the_chain(ids: list[str]) -> None:
    place = root_of("lineage")
    for task_id in ids:
        place = child_of(place.tracking_id, task_id, place.ancestry_chain, place.spawn_depth)
        assert place.parent_id == task_id
    assert place.ancestry_chain == tuple(ids)
    assert place.spawn_depth == len(ids)
    assert place.tracking_id == "lineage"


def test_the_states_are_those_of_the_design() -> None:
    assert [state.value for state in LineageState] == "running paused finished failed cancelled".split()
    assert {LineageState.RUNNING, LineageState.PAUSED} == OPEN


@pytest.mark.parametrize(
    ("state", "live", "after"),
    [
        ("running", 1, "running"),
        ("running", 0, "finished"),
        ("paused", 0, "paused"),
        ("finished", 0, "finished"),
        ("failed", 3, "failed"),
        ("failed", 0, "failed"),
        ("cancelled", 0, "cancelled"),
    ],
)
def test_only_a_running_lineage_finishes_and_only_without_live_tasks(state: str, live: int, after: str) -> None:
    assert finished_if_empty(lineage(state, live)) == after


@pytest.mark.parametrize("state", list(LineageState))
def test_revive_returns_a_lineage_to_running_and_leaves_a_pause_alone(state: LineageState) -> None:
    assert reopened(lineage(state.value)) == ("paused" if state == "paused" else "running")


def test_retries_take_the_first_minute_that_has_room() -> None:
    now = 600.0 + 5.0
    row = LINEAGE._replace(retries_per_minute=2)
    starts = []
    for _ in range(5):
        row, start = retry_slot(row, now)
        starts.append(start)
    assert starts == [None, None, 660.0, 660.0, 720.0]
    assert retry_slot(row, 660.0 + 1.0)[1] == 720.0, "minutes already promised stay promised"
    assert retry_slot(row, 780.0)[1] is None, "a minute that nobody used is not saved up"


def test_even_a_bound_of_none_lets_one_retry_a_minute_through() -> None:
    row, start = retry_slot(LINEAGE._replace(retries_per_minute=0), 0.0)
    assert start is None
    assert retry_slot(row, 0.0)[1] == 60.0


def test_the_place_that_is_kept_for_the_task_of_its_end_is_not_created() -> None:
    assert LINEAGE._replace(tasks=7).created == 7
    assert LINEAGE._replace(tasks=7, on_end="[]").created == 6


def test_the_lineage_of_an_end_is_named_after_its_own_and_its_number() -> None:
    assert end_name("lineage", 2) == "lineage#end2"


MANY = {"budget": 12_000, "cancelled": 3, "depth": 3, "stop_list": 7}


@pytest.mark.parametrize(
    ("outcome", "clean", "kinds", "words"),
    [
        (LineageOutcome(0, {}), True, ["clean"], "clean"),
        (LineageOutcome(1_234, {}), False, ["failures"], "with failures: 1,234"),
        (LineageOutcome(0, {"budget": 1}), False, ["incomplete"], "incomplete: 1 refused by budget"),
        (LineageOutcome(0, {"depth": 2, "budget": 2}), False, ["incomplete"],
         "incomplete: 2 refused by budget, 2 refused by depth"),
        (
            LineageOutcome(2, MANY), False, ["failures", "incomplete"],
            "with failures: 2; incomplete: 12,000 refused by budget, 7 refused by stop_list, 3 cancelled, "
            "3 refused by depth",
        ),
    ],
)  # fmt: skip
def test_an_outcome_has_kinds_and_words(outcome: LineageOutcome, clean: bool, kinds: list[str], words: str) -> None:
    assert (outcome.clean, [*outcome.kinds], str(outcome)) == (clean, [OutcomeKind(kind) for kind in kinds], words)


def test_the_outcomes_of_several_lineages_add_up() -> None:
    parts = [LineageOutcome(1, {"budget": 2}), LineageOutcome(0, {}), LineageOutcome(3, {"budget": 5, "depth": 1})]
    assert combined_outcome(parts) == LineageOutcome(4, {"budget": 7, "depth": 1})
    assert combined_outcome([]) == LineageOutcome(0, {})


def test_allowed_shapes_are_stored_in_order_as_short_json() -> None:
    shapes = {"x/b/#": None, "x/\xfc/#": 5, "x/a/#": 0}
    assert shapes_text(shapes) == '{"x/a/#":0,"x/b/#":null,"x/\xfc/#":5}'
    assert LINEAGE._replace(allowed_shapes=shapes_text(shapes)).shapes_allowed == shapes
    assert shapes_text({}) == ""
    assert LINEAGE._replace(allowed_shapes="").shapes_allowed == {}
