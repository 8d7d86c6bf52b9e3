"""Whom the path of a claimed task holds back: what the store says is what follows from conflicts and order alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest

from ramet.model.paths import PathRule, conflict
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.session import LOOKS_MAX
from ramet.store.store import Store
from tests.support.world import World, settlement

ELEMENTS = ("a", "b")
QUEUES = ("default", "other")


class Stood(NamedTuple):
    """A task as it stands in line."""

    id: str
    path: tuple[str, ...]
    queue: str
    lineage: str | None
    """Of one with the scope ``lineage``."""
    place: float
    """In line; infinite for one that is delayed."""


def waits(one: Stood, before: Stood) -> bool:
    same = (one.queue, one.lineage) == (before.queue, before.lineage)
    return same and before.place < one.place and conflict(one.path, before.path)


def held_back(by: Stood, everybody: list[Stood]) -> set[str]:
    """Who waits for this one, directly or in turn."""
    reached = {by.id}
    for one in sorted(everybody, key=lambda stood: stood.place):
        if any(waits(one, before) for before in everybody if before.id in reached):
            reached.add(one.id)
    return reached - {by.id}


async def made(store: Store, random: Random) -> list[Stood]:
    """A few tasks of two lineages, some of them delayed."""
    stood, roots = list[Stood](), list[list[NewTask]]()
    for lineage in ("L1", "L2"):
        roots.append([])
        for _ in range(random.randint(1, 8)):
            name = f"t{len(stood)}"
            rule = PathRule(
                tuple(random.choice(ELEMENTS) for _ in range(random.randint(1, 4))),
                random.choice(("queue", "queue", "lineage")),
            )
            delay_seconds = random.choice((0.0, 0.0, 0.0, 3_600.0))
            queue = random.choice(QUEUES)
            roots[-1].append(NewTask(name, "edit", name, "null", queue, delay_seconds=delay_seconds, path=rule))
            own = lineage if rule.scope == "lineage" else None
            stood.append(Stood(name, rule.elements, queue, own, float("inf") if delay_seconds else len(stood)))
    await store.submit([NewLineage(f"L{number}", some) for number, some in enumerate(roots, 1)])
    return stood


@pytest.mark.parametrize("seed", range(12))
async def test_what_a_claimed_task_holds_back_is_what_follows_from_the_order(store: Store, seed: int) -> None:
    everybody = await made(store, Random(seed))
    of = {one.id: one for one in everybody}
    for claim in await store.claim(ClaimRequest("w", QUEUES, ("edit",), 100, 300.0)):
        expected, seq = held_back(of[claim.id], everybody), claim.standing.seq
        found = {one.id for one in everybody if one.id != claim.id and await store.holds_back([seq], one.id)}
        assert found == expected, f"{of[claim.id]} among {everybody}"


def test_the_histories_have_what_they_are_to_show() -> None:
    """Someone is held back in turn only, and someone by nobody."""
    me, between, late = (Stood(name, path, "q", None, place) for name, path, place in (
        ("me", ("a", "a"), 0), ("between", ("a",), 1), ("late", ("a", "b"), 2)))  # fmt: skip
    early = Stood("early", ("a", "b"), "q", None, 0.5)
    assert not waits(late, me)
    assert held_back(me, [me, early, between, late]) == {"between", "late"}


async def test_a_task_that_comes_after_one_that_is_held_back_is_held_back_too(world: World) -> None:
    """That one gave its ticket up while it was away, so that it stands behind whoever came meanwhile."""
    above, below = await world.submit(world.task(path=PathRule(("a",))), world.task(path=PathRule(("a", "x"))))
    away = await world.claim_one()
    await world.settle(away, ev.Snooze(away.standing.fence, 5_000.0))
    await world.submit(world.task(path=PathRule(("a", "y"))), tracking_id="mine")
    mine = await world.claim_one()
    told = [await world.store.holds_back([mine.standing.seq], task_id) for task_id in (above, below)]
    assert told == [
        "its own path holds that one back", f"that one comes after task {above}, which its own path holds back"
    ]  # fmt: skip


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
