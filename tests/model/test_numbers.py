"""Every number that comes in is finite and bounded, by one rule; money has a unit."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from ramet import App, Context, Limits, dollars
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, amount_of
from ramet.model.schedule import Timing
from ramet.model.values import PRIORITY_MAX, RESERVED_DELAY_SECONDS_MAX, SECONDS_MAX, InvalidNumber, seconds

ODD = [math.inf, -math.inf, math.nan, 1e300, -1.0, "5", None, True, 10**400]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_seconds_are_finite_and_at_most_a_century(value: Any) -> None:
    with pytest.raises(InvalidNumber, match="delay_seconds"):
        seconds("delay_seconds", value)


@pytest.mark.parametrize("value", [0, 0.0, 1.5, SECONDS_MAX])
def test_other_seconds_are_what_they_are(value: float) -> None:
    assert seconds("delay_seconds", value) == value


@pytest.mark.parametrize(
    "name", ["lineage_seconds", "task_seconds", "call_seconds", "schedule_seconds", "invocation_seconds"]
)
@pytest.mark.parametrize("value", [math.inf, math.nan, 1e300, -1.0])
def test_limits_of_time_are_finite_and_bounded(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["max_tasks", "max_spawn_depth", "max_fan_out", "max_shape", "max_cost"])
@pytest.mark.parametrize("value", [math.inf, 10**30, 2.5, "many", -1])
def test_limits_of_size_are_whole_and_bounded(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.fixture
def app() -> App:
    app = App()

    @app.task("work")
    async def work(ctx: Context, number: int) -> None:
        """Nothing here runs."""

    return app


@pytest.mark.parametrize(
    "options",
    [
        {"delay_seconds": math.inf},
        {"delay_seconds": math.nan},
        {"delay_seconds": 1e300},
        {"delay_seconds": -1.0},
        {"task_seconds": math.inf},
        {"task_seconds": 0},
        {"priority": PRIORITY_MAX + 1},
        {"priority": -1_000_000_000_000},
        {"priority": 1.5},
        {"delay_seconds": RESERVED_DELAY_SECONDS_MAX + 1, "path": ["doc"], "reserve_path": True},
    ],
    ids=repr,
)
def test_a_task_whose_numbers_are_odd_is_not_made(app: App, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidNumber):
        app.registry.get("work").new_task(1, **options)


def test_a_task_may_wait_long_and_hold_its_place_for_a_month(app: App) -> None:
    new = app.registry.get("work").new_task(1, delay_seconds=366 * 86_400.0, priority=-PRIORITY_MAX)
    assert (new.delay_seconds, new.priority) == (366 * 86_400.0, -PRIORITY_MAX)
    app.registry.get("work").new_task(1, delay_seconds=RESERVED_DELAY_SECONDS_MAX, path=["doc"], reserve_path=True)


def test_a_kind_has_a_priority_in_range(app: App) -> None:
    with pytest.raises(InvalidNumber, match="priority"):
        app.task("odd", priority=10**9)(lambda ctx: None)


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e300, 0.0])
def test_a_schedules_interval_is_bounded(value: float) -> None:
    with pytest.raises(ValueError, match="every_seconds"):
        Timing(every_seconds=value)


@pytest.mark.parametrize(
    ("given", "nano"),
    [
        (5, 5), (Decimal("0.05"), 50_000_000), ("$0.05", 50_000_000), ("0.05 USD", 50_000_000),
        ("1,000 dollars", 10**12),
        ("5 cents", 50_000_000), ("7 nano-dollars", 7), ("$ 2", 2_000_000_000), (dollars(0.05), 50_000_000),
        (dollars("0.1"), 100_000_000), (dollars(Decimal("1e-9")), 1), (dollars(3), 3_000_000_000),
    ],
    ids=repr,
)  # fmt: skip
def test_money_is_decimal_text_with_a_unit_or_whole_nano_dollars(given: Any, nano: int) -> None:
    assert amount_of(given, "it is") == nano
    assert Limits(max_cost=given).max_cost == nano


@pytest.mark.parametrize(
    "given",
    [0.05, "0.05", "5 €", "five dollars", "$", "-$1", -1, Decimal("NaN"), Decimal("1e-10"), Decimal("1e99"), True,
     AMOUNT_MAX + 1, "$" + "9" * 5_000],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_other_money_is_refused_with_what_to_give(given: Any) -> None:
    with pytest.raises(ValueError, match="give"):
        amount_of(given, "it is")
    with pytest.raises(ValueError, match="max_cost"):
        Limits(max_cost=given)


@pytest.mark.parametrize(
    ("amount", "nano"),
    [
        (0, 0), (1, NANO_DOLLARS), (0.05, 50_000_000), (0.1, 100_000_000), ("0.05", 50_000_000),
        (Decimal("0.0000000005"), 0), (Decimal("0.0000000015"), 2), (10**9, AMOUNT_MAX), ("1e-9", 1),
    ],
    ids=repr,
)  # fmt: skip
def test_dollars_are_whole_nano_dollars_rounded_half_to_even(amount: Any, nano: int) -> None:
    assert dollars(amount) == nano


@pytest.mark.parametrize(
    "wrong",
    [True, -1, -0.01, 10**9 + 1, math.nan, math.inf, "nan", "Infinity", "many", "", None, [], 10**400],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_amount_of_dollars_is_refused_in_one_line(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"is no amount of dollars: give a number from 0 to 1,000,000,000$"):
        dollars(wrong)
