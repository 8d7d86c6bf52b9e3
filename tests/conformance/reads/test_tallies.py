"""Tallies are counted in the transaction that does what they count, so they equal a recount at every moment.

That they do so in every history is looked at by :mod:`tests.invariants.tallies`, after every test of this folder.
"""

from __future__ import annotations

import asyncio

from ramet.model.tallies import OTHER, WORDS_MAX
from ramet.model.task import events as ev
from ramet.store.maintenance.sweep import HOURS_SECONDS, MINUTES_SECONDS
from ramet.store.requests import NewLineage, Write
from tests.invariants.check import violations
from tests.support.backends import Backend
from tests.support.world import SettableClock, World, failing, settlement


async def test_what_happened_is_told_by_kind_and_by_minute(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)))
    first, second, _ = await world.claim(10)
    world.clock.advance(2.0)
    await world.settle(first, ev.Complete(first.standing.fence))
    await world.settle(second, failing(second, "busy", "transient"))
    [ever] = (await world.store.tallies()).rows
    assert (ever.created, ever.live, ever.ended["success"], ever.attempts["error"]) == (3, 2, 1, 1)
    assert (ever.depths[0], ever.chains[0], ever.retried["error"][0]) == (3, 1, 1)
    assert (ever.waited.count, ever.ran.count, ever.ran.seconds) == (2, 2, 4.0)
    found = await world.store.tallies(world.clock() - 3_600.0)
    assert found.total()._replace(at=0.0, seconds=0.0) == ever._replace(kind="")
    assert [(r.what, r.reason, r.count) for r in found.reasons] == [("retry", "retry_in", 1)]


async def test_what_is_refused_counts_nowhere(world: World) -> None:
    await world.submit(world.task())
    [claimed] = await world.claim(1)
    before = await world.store.tallies()
    world.clock.advance(1_000.0)
    assert (await world.settle(claimed, ev.Complete(claimed.standing.fence))).refused == "stale"
    assert await world.store.tallies() == before


async def test_a_revived_task_lives_again_and_an_excluded_one_did_not_end_twice(world: World) -> None:
    await world.submit(world.task(id="a"), world.task(id="b"))
    for claimed in await world.claim(2):
        await world.settle(claimed, failing(claimed))
    await world.store.revive(["a"], by="me")
    await world.store.exclude(["b"], by="me")
    [ever] = (await world.store.tallies()).rows
    assert (ever.created, ever.revived, ever.live, ever.ended["failed"], ever.ended["skipped"]) == (2, 1, 1, 2, 0)


async def test_blocks_and_ends_are_told_by_the_first_word_of_their_reason(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"), world.task("c"))
    one, two, three = await world.claim(3)
    assert await world.spawn(one, world.task("b"), world.task("a")) == ["in_flight", "cycle"]
    await world.settle(one, ev.Filter(one.standing.fence, "too_short: 3 words"))
    await world.settle(two, ev.Filter(two.standing.fence, "see https://example.org/?token=secret"))
    await world.settle(three, failing(three))
    found = {(r.what, r.reason): r.count for r in (await world.store.tallies()).reasons}
    assert found == {
        ("blocked", "cycle"): 1, ("blocked", "in_flight"): 1, ("filtered", "too_short"): 1, ("filtered", OTHER): 1,
        ("failed", "permanent_error"): 1,
    }  # fmt: skip


async def test_so_many_reasons_are_told_apart_and_no_more(world: World) -> None:
    many = WORDS_MAX + 20
    await world.submit(*(world.task() for _ in range(many)))
    for number, claimed in enumerate(await world.claim(many)):
        await world.settle(claimed, ev.Skip(claimed.standing.fence, f"because{number}"))
    reasons = (await world.store.tallies()).reasons
    assert len(reasons) == WORDS_MAX + 1
    assert {r.reason: r.count for r in reasons}[OTHER] == 20


async def test_minutes_become_hours_and_hours_go_and_the_sum_of_all_time_stays(world: World) -> None:
    begun = world.clock()
    for hour in range(3):
        for minute in range(3):
            await world.submit(world.task(), world.task(), tracking_id=f"line{hour}{minute}")
            for claimed in await world.claim(1):
                await world.settle(claimed, failing(claimed))
            world.clock.advance(60.0)
        world.clock.advance(3_420.0)
        before = await world.store.tallies()
        await world.sweep()
        assert await world.store.tallies() == before
    assert {row.seconds for row in (await world.store.tallies(begun)).rows} == {60.0}
    world.clock.advance(MINUTES_SECONDS)
    await world.sweep()
    hours = await world.store.tallies(begun)
    assert [(row.at - begun, row.seconds, row.created) for row in hours.rows] == [
        (0.0, 3_600.0, 6), (3_600.0, 3_600.0, 6), (7_200.0, 3_600.0, 6)
    ]  # fmt: skip
    assert [r.count for r in hours.reasons] == [3, 3, 3]
    ever = (await world.store.tallies()).rows
    world.clock.advance(HOURS_SECONDS + 14_400.0)
    await world.sweep()
    later = await world.store.tallies()
    assert (later.rows[0].created, later.rows[0].attempts) == (ever[0].created, ever[0].attempts)
    assert [row for row in (await world.store.tallies(begun)).rows if row.created] == []


async def test_nothing_is_lost_or_counted_twice_while_many_write_and_others_fold(backend: Backend) -> None:
    clock = SettableClock()
    first, second = backend.open(clock=clock), backend.open(clock=clock)
    world = World(first, clock)
    for minute in range(8):
        clock.advance(180.0 if minute % 2 else 60.0)
        await asyncio.gather(
            *(
                store.submit([NewLineage(f"line{minute}.{number}", [world.task(kind=f"kind{number % 3}")])])
                for store in (first, second)
                for number in (range(6) if store is first else range(6, 12))
            ),
            first.sweep(),
            second.sweep(),
        )
    assert {row.kind: row.created for row in (await second.tallies()).rows} == dict.fromkeys(
        ("kind0", "kind1", "kind2"), 32
    )
    found = await violations(first)
    assert found == [], "\n".join(found)
    await first.close()
    await second.close()


async def test_a_batch_of_several_kinds_is_summed_over_kinds_where_that_is_asked(world: World) -> None:
    await world.submit(world.task(), world.task(kind="image"))
    await world.store.settle([settlement(claimed) for claimed in await world.claim(10)])
    apart, together = await world.store.tallies(0.0), await world.store.tallies(0.0, kinds=False)
    assert [row.kind for row in apart.rows] == ["image", "page"]
    assert [row.kind for row in together.rows] == [""]
    assert together.rows[0].created == sum(row.created for row in apart.rows) == 2
    assert together.total() == apart.total()


async def test_what_a_savepoint_undoes_is_not_counted(world: World) -> None:
    await world.submit(world.task())
    [claimed] = await world.claim(1)
    broken = settlement(claimed, spawns=[world.task()], writes=[Write("INSERT INTO nowhere VALUES (1)", ())])
    assert (await world.store.settle([broken]))[0].state == "pending"
    [ever] = (await world.store.tallies()).rows
    assert (ever.created, ever.attempts["success"], ever.attempts["error"]) == (1, 0, 1)


async def test_reasons_that_others_told_apart_before_are_counted_too(backend: Backend) -> None:
    """A process that has seen none of them learns of all at its first."""
    clock = SettableClock()
    first, second = (World(backend.open(clock=clock, inline=True), clock) for _ in range(2))
    await first.submit(*(first.task() for _ in range(WORDS_MAX + 5)))
    for world, many in ((first, WORDS_MAX + 3), (second, 2)):
        for number, claimed in enumerate(await world.claim(many)):
            await world.settle(claimed, ev.Skip(claimed.standing.fence, f"{world is first}{number}"))
    counts = {r.reason: r.count for r in (await first.store.tallies()).reasons}
    assert (len(counts), counts[OTHER]) == (WORDS_MAX + 1, 5)
    for world in (first, second):
        await world.check()
        await world.store.close()
