"""Every number of DESIGN §8 and of its presets, and what a limit may be."""

import runpy
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage import limits as model
from ramet.model.lineage.limits import AGGRESSIVE, BALANCED, CONSERVATIVE, PRESETS, Limits

HOUR = 3_600.0
DOLLAR = 1_000_000_000

BALANCED_NUMBERS: dict[str, Any] = {
    "max_spawn_depth": 10,
    "max_tasks": 100_000,
    "max_fan_out": 5_000,
    "max_shape": 1_000,
    "retries_per_minute": 600,
    "schedule_seconds": 5 * 60.0,
    "max_chain_depth": 2,
    "call_seconds": 60.0,
    "call_retries": 6,
    "task_seconds": 2 * HOUR,
    "lineage_seconds": 48 * HOUR,
    "invocation_seconds": 10 * 60.0,
    "invocation_items": 1_000,
    "invocation_concurrency": 16,
    "max_attempts": 4,
    "max_cost": None,
    "soft_cost": None,
    "payload_bytes_max": 256 * 1_024,
    "pipeline_state_bytes_max": 1_024 * 1_024,
    "blob_bytes_max": 64 * 1_024 * 1_024,
    "lineage_blob_bytes_max": 1_024 * 1_024 * 1_024,
    "allow_shapes": (),
}
CONSERVATIVE_NUMBERS = BALANCED_NUMBERS | {
    "task_seconds": 1 * HOUR,
    "lineage_seconds": 24 * HOUR,
    "max_chain_depth": 1,
    "call_retries": 3,
    "invocation_concurrency": 4,
    "max_cost": 10 * DOLLAR,
    "max_tasks": 10_000,
    "max_fan_out": 500,
    "max_shape": 100,
    "retries_per_minute": 60,
}
AGGRESSIVE_NUMBERS = BALANCED_NUMBERS | {
    "task_seconds": 4 * HOUR,
    "lineage_seconds": 96 * HOUR,
    "max_chain_depth": 5,
    "call_retries": 10,
    "invocation_concurrency": 64,
    "max_cost": 1_000 * DOLLAR,
    "max_tasks": 1_000_000,
    "max_fan_out": 50_000,
    "max_shape": 10_000,
    "retries_per_minute": 6_000,
}


def test_the_presets_are_worked_out_from_the_balanced_one() -> None:
    """As the module does when it is imported, which is before any test."""
    worked_out = runpy.run_path(model.__file__, run_name=model.__name__)["PRESETS"]
    assert {name: asdict(preset) for name, preset in worked_out.items()} == {
        "conservative": CONSERVATIVE_NUMBERS,
        "balanced": BALANCED_NUMBERS | {"max_cost": 100 * DOLLAR},
        "aggressive": AGGRESSIVE_NUMBERS,
    }


@pytest.mark.parametrize(
    ("preset", "numbers"),
    [(CONSERVATIVE, CONSERVATIVE_NUMBERS), (BALANCED, BALANCED_NUMBERS), (AGGRESSIVE, AGGRESSIVE_NUMBERS)],
)
def test_a_preset_has_exactly_the_numbers_of_the_design(preset: Limits, numbers: dict[str, Any]) -> None:
    assert asdict(preset) == numbers
    assert all(type(asdict(preset)[name]) is type(number) for name, number in numbers.items())


def test_balanced_is_the_default_and_presets_go_by_name() -> None:
    assert Limits() == BALANCED
    assert list(PRESETS) == ["conservative", "balanced", "aggressive"]
    assert PRESETS["conservative"] == CONSERVATIVE
    assert PRESETS["balanced"] == replace(BALANCED, max_cost=100 * DOLLAR)
    assert PRESETS["aggressive"] == AGGRESSIVE


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_bounds_money_as_it_bounds_tasks_at_a_dollar_for_a_thousand_calls(name: str) -> None:
    limits = PRESETS[name]
    assert limits.max_cost == limits.max_tasks * DOLLAR // 1_000


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_items_fit_into_its_invocation_at_a_second_each(name: str) -> None:
    limits = PRESETS[name]
    claiming = limits.invocation_seconds * model.CLAIMING_SHARE
    assert limits.invocation_items / limits.invocation_concurrency <= claiming


def test_the_engines_own_constants_are_those_of_the_design() -> None:
    assert (model.LEASE_SECONDS, model.HEARTBEAT_SECONDS) == (300.0, 30.0)
    assert (model.LOSSES_ALONE_MAX, model.LOSSES_MAX) == (3, 10)
    assert model.SNOOZE_SECONDS_MIN == 1.0
    assert model.BACKOFF_SECONDS_MAX == 1 * HOUR
    assert model.ENDING_SECONDS == 1 * HOUR
    assert model.WARN_SHARE == 0.2
    assert model.HEARTBEAT_SECONDS * 3 <= model.LEASE_SECONDS, "two heartbeats may fail"


@pytest.mark.parametrize("name", [item.name for item in fields(Limits) if item.name != "allow_shapes"])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_no_limit_is_negative_or_not_a_number(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^limit {name} is {value}: give .* from 0 to "):
        Limits(**{name: value})


def test_a_task_runs_at_least_once() -> None:
    with pytest.raises(ValueError, match=r"^limit max_attempts is 0: give at least 1, the first run counts$"):
        Limits(max_attempts=0)
    assert Limits(max_attempts=1).max_attempts == 1


def test_unlimited_attempts_need_a_task_deadline() -> None:
    assert Limits(max_attempts=None).task_seconds == 7_200.0
    with pytest.raises(ValueError, match=r"^max_attempts=None needs a task deadline: give task_seconds$"):
        Limits(max_attempts=None, task_seconds=None)


@pytest.mark.parametrize(
    ("mine", "theirs", "stricter"), [(5, 3, 3), (3, 5, 3), (None, 5, 5), (5, None, 5), (None, None, None)]
)
def test_lowered_takes_the_stricter_and_none_is_the_loosest(
    mine: int | None, theirs: int | None, stricter: int | None
) -> None:
    assert Limits(max_attempts=mine).lowered(Limits(max_attempts=theirs)).max_attempts == stricter


LIMITS = st.builds(
    Limits,
    max_tasks=st.integers(0, 1_000),
    max_fan_out=st.integers(0, 1_000),
    max_spawn_depth=st.integers(0, 20),
    lineage_seconds=st.floats(0, 1e6),
    task_seconds=st.floats(0, 1e6),
    max_attempts=st.none() | st.integers(1, 9),
    max_cost=st.none() | st.integers(50, 99),
    soft_cost=st.none() | st.integers(0, 50),
)


@given(mine=LIMITS, theirs=LIMITS)
def test_lowering_never_raises_anything(mine: Limits, theirs: Limits) -> None:
    low = asdict(mine.lowered(theirs))
    for name, value in low.items():
        bounds = [bound for bound in (asdict(mine)[name], asdict(theirs)[name]) if bound is not None]
        assert value == min(bounds, default=None), name
    assert mine.lowered(theirs) == theirs.lowered(mine)
    assert mine.lowered(mine) == mine


def test_a_soft_ceiling_is_at_most_the_hard_one_and_sinks_with_it() -> None:
    with pytest.raises(ValueError, match=r"^limit soft_cost is 6: give at most max_cost, which is 5$"):
        Limits(soft_cost=6, max_cost=5)
    assert Limits(soft_cost=5, max_cost=5).soft_cost == 5
    assert Limits(soft_cost=6).lowered(Limits(max_cost=5)) == Limits(soft_cost=5, max_cost=5)
    assert Limits(soft_cost=6, max_cost=9).lowered(Limits(max_cost=5)) == Limits(soft_cost=5, max_cost=5)
    assert [model.soft_within(*pair) for pair in ((6, None), (None, 5), (6, 5), (4, 5))] == [6, None, 5, 4]


def test_shapes_are_allowed_by_both_or_not_at_all() -> None:
    mine, theirs = Limits(allow_shapes=("x/a/#", "x/b/#=5")), Limits(allow_shapes=["x/b/#=5"])  # type: ignore[arg-type]
    assert theirs.allow_shapes == ("x/b/#=5",), "JSON has lists only"
    assert mine.lowered(theirs).allow_shapes == ("x/b/#=5",)
    assert Limits().lowered(mine).allow_shapes == ()
    with pytest.raises(ValueError, match=r"the shape .. is not valid: give one such as"):
        Limits(allow_shapes=("",))


def test_a_soft_ceiling_is_at_most_the_hard_one_unless_an_operator_names_it() -> None:
    app = Limits(max_cost=100, soft_cost=80)
    assert model.lineage_limits([], app).soft_cost == 80
    assert model.lineage_limits([], app, {"max_cost": 50}).soft_cost == 50
    assert model.lineage_limits([], app, {"max_cost": 50}, may_raise=True).soft_cost == 50
    assert model.lineage_limits([], app, {"soft_cost": 90}).soft_cost == 80
    raised = model.lineage_limits([], app, {"max_cost": 200, "soft_cost": 150}, may_raise=True)
    assert (raised.max_cost, raised.soft_cost) == (200, 150)
    lowered = model.lineage_limits([{"max_cost": 60}], Limits(soft_cost=None), {"soft_cost": 70})
    assert (lowered.max_cost, lowered.soft_cost) == (60, 60)


def test_the_named_limits_are_those_of_a_lineage_that_differ_from_the_default() -> None:
    assert model.named_limits(None) == {}
    assert model.named_limits(Limits()) == {}
    assert model.named_limits(Limits(max_tasks=5, call_retries=9, allow_shapes=("x/#",))) == {
        "allow_shapes": ("x/#",), "max_tasks": 5,
    }  # fmt: skip
    assert model.named_limits({"max_cost": "$1", "max_tasks": 100_000}) == {"max_cost": DOLLAR, "max_tasks": 100_000}
    names = "allow_shapes, blob_bytes_max, lineage_blob_bytes_max, lineage_seconds, max_cost, max_fan_out, max_shape, "
    names += "max_spawn_depth, max_tasks, retries_per_minute, soft_cost"
    with pytest.raises(ValueError, match=f"^a lineage has no limit 'call_retries': give some of {names}$"):
        model.named_limits({"task_seconds": 5.0, "max_tasks": 1, "call_retries": 9})


def test_of_what_several_say_about_a_lineage_the_lowest_holds_and_the_app_only_where_no_kind_speaks() -> None:
    roots: list[Limits | dict[str, Any]] = [
        {"max_tasks": 50, "max_fan_out": 7}, Limits(max_tasks=40), {"max_shape": 9, "max_tasks": 60},
    ]  # fmt: skip
    app = Limits(max_tasks=10, max_spawn_depth=3)
    assert model.lineage_limits(roots, app) == Limits(max_tasks=40, max_fan_out=7, max_shape=9, max_spawn_depth=3)
    asked = {"max_tasks": 45, "max_fan_out": 5, "retries_per_minute": 9_999}
    found = model.lineage_limits(roots, app, asked)
    assert (found.max_tasks, found.max_fan_out, found.retries_per_minute) == (40, 5, 9_999)
    found = model.lineage_limits(roots, app, asked, may_raise=True)
    assert (found.max_tasks, found.max_fan_out, found.max_spawn_depth) == (45, 5, 3)
    assert model.lineage_limits([{"max_cost": 5}], app, {"soft_cost": 4}, may_raise=True).soft_cost == 4
    with pytest.raises(ValueError, match=r"^limit soft_cost is 6: give at most max_cost, which is 5$"):
        model.lineage_limits([{"max_cost": 5}], app, {"soft_cost": 6}, may_raise=True)


def test_allowed_shapes_are_a_list() -> None:
    with pytest.raises(ValueError, match=r"^limit allow_shapes is 'x/#': give a list of shapes$"):
        Limits(allow_shapes="x/#")  # type: ignore[arg-type]
