"""What a handler hands to the supervisor is checked where it is given: a value that is not one is this task's error."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from ramet import App, Context, RetryAfter, Statement
from ramet.engine.base.work import outcome_in, settlement_out, unframe
from ramet.engine.context.outcome import Outcome
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.store.requests import Settlement
from tests.engine.runner_harness import Bench

Asks = Callable[[Context], Any]


def asks_for(value: Any) -> dict[str, Asks]:
    """Every number of seconds that a handler can give."""
    return {
        "snooze": lambda ctx: ctx.snooze(value),
        "outcome": lambda ctx: Outcome.snooze(value),
        "retry after": lambda ctx: retry_after(value),
        "delay of a spawn": lambda ctx: ctx.spawn("end", "x", delay_seconds=value),
        "delay of an item": lambda ctx: ctx.settle_item("id", 1, "pending", delay_seconds=value or "0"),
        "time of a task": lambda ctx: ctx.spawn("end", "x", task_seconds=value or "0"),
    }


def retry_after(value: Any) -> None:
    error = RetryAfter(1)
    error.seconds = value
    raise error


SECONDS: dict[str, Any] = {
    "text": "120",
    "nothing": None,
    "timedelta": timedelta(seconds=5),
    "decimal": Decimal(2),
    "list": [1],
    "nan": math.nan,
    "infinity": math.inf,
    "too large": 10**400,
    "beyond all clocks": 1e30,
    "a truth": True,
}


@pytest.fixture
def end(bench: Bench) -> dict[str, Asks]:
    """What the handler of kind ``end`` does, by its payload."""
    ways: dict[str, Asks] = {}

    @bench.app.task("end")
    async def end(ctx: Context, how: str) -> Any:
        made = ways[how](ctx)
        return await made if isinstance(made, Awaitable) else made

    return ways


@pytest.mark.parametrize("value", SECONDS.values(), ids=SECONDS)
@pytest.mark.parametrize("where", asks_for(0))
async def test_seconds_that_are_no_number_of_seconds_are_the_tasks_error(
    bench: Bench, end: dict[str, Asks], where: str, value: Any
) -> None:
    end["ask"] = asks_for(value)[where]
    event = await bench.run("end", '"ask"')
    assert isinstance(event, ev.Error)
    assert not bench.delivered[-1].spawns


GIVEN: dict[str, Asks] = {
    "a priority that is text": lambda ctx: ctx.spawn("end", "x", priority="high"),  # type: ignore[arg-type]
    "a priority beyond its range": lambda ctx: ctx.spawn("end", "x", priority=10**30),
    "a priority of pulled kinds": lambda ctx: ctx.spawn("end", "x", priority=-(10**12)),
    "a payload that nobody reads": lambda ctx: ctx.spawn("loose", 10**6000),
    "a result that nobody reads": lambda ctx: {"n": 10**6000},
    "a parameter that nobody reads": lambda ctx: ctx.write("INSERT INTO own VALUES (?)", [10**6000]),
    "a statement that cannot be sent": lambda ctx: ctx.write("INSERT INTO own VALUES ('\ud800')"),
    "an expected count that nobody reads": lambda ctx: ctx.transaction([Statement("SELECT 1", (), 10**6000)]),
    "an item whose id is none": lambda ctx: ctx.settle_item({"a": 1}, 1, "success"),  # type: ignore[arg-type]
    "an item whose id holds a NUL": lambda ctx: ctx.settle_item("a\0", 1, "success"),
    "an item whose binding is huge": lambda ctx: ctx.settle_item("a", 10**30, "success"),
    "an item whose state is none": lambda ctx: ctx.settle_item("a", 1, ["success"]),  # type: ignore[arg-type]
    "an item whose reason is none": lambda ctx: ctx.settle_item("a", 1, "failed", reason=5),  # type: ignore[arg-type]
    "something that is no item": lambda ctx: ctx.settle_items([("a", 1)]),  # type: ignore[list-item]
    "an item made by hand": lambda ctx: ctx.settle_items([ItemSettlement({}, 1, "success")]),  # type: ignore[arg-type]
    "ids to bind that are none": lambda ctx: ctx.bind([5]),  # type: ignore[list-item]
    "a charge that nobody reads": lambda ctx: ctx.charge(10**6000),
    "charges beyond all sums": lambda ctx: [ctx.charge(10**18) for _ in range(30)],  # type: ignore[func-returns-value]
    "a limit that nobody reads": lambda ctx: ctx.lower(max_tasks=10**6000),
    "progress that is text": lambda ctx: ctx.progress("x"),  # type: ignore[arg-type]
    "progress without end": lambda ctx: ctx.progress(1, math.inf),
    "a message that is no text": lambda ctx: ctx.progress(1, 2, 3),  # type: ignore[arg-type]
    "a rate that is text": lambda ctx: ctx.adapt("host", limit_per_minute="60"),  # type: ignore[arg-type]
    "a reset that nobody reads": lambda ctx: ctx.adapt("host", remaining=0, reset_seconds=10**6000),
    "a reset beyond all clocks": lambda ctx: ctx.adapt("host", remaining=0, reset_seconds=1e305),
    "an amount that nobody reads": lambda ctx: ctx.take({"host": 10**6000}),
    "an amount that is text": lambda ctx: ctx.take({"host": "1"}),  # type: ignore[dict-item]
    "an outcome of no name": lambda ctx: Outcome("nonsense"),
    "a reason that is no text": lambda ctx: ctx.filter(5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("given", GIVEN)
async def test_a_value_that_is_not_what_it_should_be_is_the_tasks_error(
    bench: Bench, end: dict[str, Asks], given: str
) -> None:
    bench.app.task("loose")(loose)
    end["ask"] = GIVEN[given]
    event = await bench.run("end", '"ask"')
    assert isinstance(event, ev.Error)
    assert event.message.split(":")[0] in ("InvalidNumber", "InvalidText", "TypeError", "ValueError")
    assert bench.calls == []
    assert bench.delivered[-1] == Settlement(1, 5, bench.events[-1])


async def loose(ctx: Context, value: Any) -> None: ...


async def test_any_number_of_seconds_is_taken(bench: Bench, end: dict[str, Asks]) -> None:
    for value in (5, 5.0, Fraction(10, 2)):
        end["ask"] = lambda ctx, value=value: ctx.snooze(value)  # type: ignore[misc]
        assert await bench.run("end", '"ask"') == ev.Snooze(5, 5.0)


async def test_text_of_many_digits_is_text(bench: Bench, end: dict[str, Asks]) -> None:
    end["ask"] = lambda ctx: "1" * 6000
    assert await bench.run("end", '"ask"') == ev.Complete(5)


def test_a_kind_cannot_be_declared_with_a_priority_out_of_range() -> None:
    with pytest.raises(ValueError, match="priority"):
        App().task("far", priority=2**40)(loose)


# --- on the wire -------------------------------------------------------------------------------------------------


def test_an_outcome_that_cannot_be_understood_is_that_tasks_error_and_no_others() -> None:
    good = settlement_out(Settlement(1, 5, ev.Complete(5)))
    told = [outcome_in(row) for row in (good, [2, 5, "Nonsense", [], None, [], [], None])]
    assert told[0] == Settlement(1, 5, ev.Complete(5))
    assert isinstance(told[1].event, ev.Error)
    assert (told[1].seq, told[1].fence) == (2, 5)


def test_a_frame_with_a_number_that_nobody_reads_is_read_but_for_that_number() -> None:
    digits = "1" * 6000
    assert unframe(f'["done", [[1, 5, {digits}]]]'.encode()) == ["done", [[1, 5, digits]]]
