"""Retries of a lineage are bounded per minute; one over the bound is put off, with its reason (DESIGN §6)."""

from __future__ import annotations

from collections import Counter

from ramet.store.requests import TaskQuery
from tests.support.world import World, failing, settlement

START = 1_800_000_000.0
"""The clock of a fresh world: the beginning of a minute."""


async def test_no_minute_has_more_retries_than_the_lineage_may_make(world: World) -> None:
    assert START % 60 == 0
    assert world.clock() == START
    await world.submit(*(world.task() for _ in range(7)), retries_per_minute=2)
    claims = await world.claim(10)
    answers = await world.store.settle([settlement(c, failing(c, "busy", "transient", jitter=0.5)) for c in claims])
    assert [answer.state for answer in answers] == ["pending"] * 7
    assert [answer.reason for answer in answers] == ["retry_in: 0.500 s"] * 2 + ["retry_storm"] * 5
    page = await world.store.tasks(TaskQuery(tracking_id="line"))
    minutes = Counter(int(((task.available_at or 0.0) - START) // 60) for task in page.tasks)
    assert minutes == {0: 2, 1: 2, 2: 2, 3: 1}
    assert {task.wait for task in page.tasks} == {"due"}


async def test_a_storm_in_one_lineage_puts_off_nothing_of_another(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)), retries_per_minute=1)
    await world.submit(world.task(), tracking_id="calm", retries_per_minute=1)
    claims = sorted(await world.claim(10), key=lambda item: item.standing.seq)
    answers = await world.store.settle([settlement(c, failing(c, "busy", "transient")) for c in claims])
    assert [answer.reason for answer in answers] == [
        "retry_in: 1.000 s",
        "retry_storm",
        "retry_storm",
        "retry_in: 1.000 s",
    ]


async def test_what_ends_takes_nothing_from_the_bound(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)), retries_per_minute=1)
    claims = await world.claim(10)
    events = [failing(claims[0]), failing(claims[1], "odd", "transient"), failing(claims[2], "odd", "transient")]
    answers = await world.store.settle([settlement(c, event) for c, event in zip(claims, events, strict=True)])
    assert [(answer.state, answer.reason) for answer in answers] == [
        ("failed", "permanent_error"),
        ("pending", "retry_in: 1.000 s"),
        ("pending", "retry_storm"),
    ]


async def test_the_bound_holds_over_settlements_and_is_fresh_a_minute_later(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)), retries_per_minute=1)
    first, second, third = await world.claim(10)
    assert (await world.settle(first, failing(first, "busy", "transient"))).reason == "retry_in: 1.000 s"
    assert (await world.settle(second, failing(second, "busy", "transient"))).reason == "retry_storm"
    world.clock.advance(125.0)
    assert (await world.settle(third, failing(third, "busy", "transient"))).reason == "retry_in: 1.000 s"
