"""However much ends at once, no transaction lets in more than it may look at; the rest follows (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.paths import PathRule
from ramet.store.session import LOOKS_MAX
from tests.support.world import World, settlement


async def submit(world: World, paths: Sequence[Sequence[str]]) -> None:
    await world.submit(*(world.task(path=PathRule(tuple(path))) for path in paths))


async def let_in(world: World) -> list[int]:
    """How many can be claimed after each transaction that goes on where the last one stopped."""
    counts = [len(await world.claim(2_000))]
    while await world.store.tend_paths():
        counts.append(len(await world.claim(2_000)))
    return counts


async def test_of_many_behind_one_a_transaction_lets_in_a_part(world: World) -> None:
    await submit(world, [["a"], *(["a", str(number)] for number in range(2 * LOOKS_MAX + 7))])
    await world.settle(await world.claim_one())
    assert await let_in(world) == [LOOKS_MAX, LOOKS_MAX, 7]
    await world.check()


async def test_of_many_that_end_at_once_each_lets_the_next_one_in(world: World) -> None:
    pairs = LOOKS_MAX + 90
    await submit(world, [[str(number)] for number in range(pairs)] * 2)
    claimed = await world.claim(2_000)
    assert len(claimed) == pairs
    await world.store.settle([settlement(one) for one in claimed])
    assert await let_in(world) == [LOOKS_MAX, 90]
    await world.check()


async def test_a_sweep_lets_in_no_more_than_any_transaction(world: World) -> None:
    await submit(world, [["a"], *(["a", str(number)] for number in range(3 * LOOKS_MAX))])
    await world.settle(await world.claim_one())
    await world.claim(2_000)
    await world.store.sweep(limit=10_000)
    assert len(await world.claim(2_000)) == LOOKS_MAX
    await world.check()
