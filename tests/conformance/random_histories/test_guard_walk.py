"""Random histories with unique keys, traps, a stop list and people who exclude, raise limits and offer again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ramet.model.keys import shape_of
from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError
from ramet.store.requests import NewLineage
from tests.conformance.random_histories.test_random_walk import STEPS, Walk
from tests.support.world import KINDS, World

WINDOW = 500.0
BOUNDS: tuple[dict[str, Any], ...] = (
    {"max_tasks": 6, "max_spawn_depth": 3, "max_fan_out": 6, "max_shape": 2, "lineage_seconds": 4_000.0},
    {"max_tasks": 30, "max_spawn_depth": 4, "max_fan_out": 1, "max_shape": 2, "lineage_seconds": 4_000.0},
)
"""Of lineages with even and with odd names."""


class Guarded(World):
    """Images are unique over all lineages, loose tasks have a shape, all keep their edges."""

    def task(self, key: str | None = None, kind: str = "page", **fields: Any) -> NewTask:
        new = super().task(key, kind, **fields)._replace(keep_edge=1)
        if kind == "image":
            return new._replace(unique_seconds=WINDOW)
        return new._replace(shape=shape_of(new.key)) if kind == "loose" else new


class GuardWalk(Walk):
    """One random history."""

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self.seed = seed

    async def step(self) -> None:
        deeds = (self.exclude, self.raise_limits, self.reoffer, self.stop)
        if self.chance.random() < 0.3:
            await self.chance.choice(deeds)()
        else:
            with suppress(StoreError):  # reviving what is held elsewhere and submitting what is stopped are refused
                await super().step()

    async def submit(self) -> None:
        roots = [self.world.task(f"k{self.chance.randrange(5)}", kind) for kind in KINDS[: self.chance.randint(1, 3)]]
        number = self.chance.randrange(12)
        lineage = NewLineage(self._lineage(number), roots, **BOUNDS[number % 2])
        self.ids += [answer.id for answer in await self.world.store.submit([lineage])]

    def _lineage(self, number: int | None = None) -> str:
        return f"line{self.seed}-{self.chance.randrange(12) if number is None else number}"

    async def settle(self) -> None:
        await self.beat()  # what is lost settles nothing: base histories have enough of that
        if self.held:
            await super().settle()

    async def exclude(self) -> None:
        if self.ids:
            await self.world.store.exclude([self.chance.choice(self.ids) for _ in range(2)], by="walk", reason="no")

    async def raise_limits(self) -> None:
        name = self.chance.choice(("max_tasks", "max_spawn_depth", "max_fan_out", "max_shape"))
        lineage = await self.world.store.lineage(self._lineage())
        if lineage is not None:
            raised = {name: getattr(lineage, name) + self.chance.randrange(3)}
            extend = self.chance.choice((None, 3_000.0))
            await self.world.store.raise_limits(lineage.tracking_id, raised, by="walk", extend_seconds=extend)

    async def reoffer(self) -> None:
        with suppress(StoreError):
            told = await self.world.store.reoffer(self._lineage(), by="walk", limit=5)
            self.ids += told.created

    async def stop(self) -> None:
        pattern = f"k{self.chance.randrange(12)}"
        if self.chance.random() < 0.5:
            await self.world.store.stop("pattern", pattern, by="walk")
        else:
            await self.world.store.unstop("pattern", pattern, by="walk")


async def walk(world: World, seed: int, steps: int, *, check: bool = True) -> GuardWalk:
    walk = GuardWalk(Guarded(world.store, world.clock), seed)
    for _ in range(steps):
        await walk.step()
        if check:
            await world.check()
    return walk


@pytest.mark.parametrize(
    ("backend", "seed"),
    [
        *(("sqlite", seed) for seed in range(6)),
        *(pytest.param("postgres", seed, marks=[pytest.mark.nightly] if seed > 1 else []) for seed in range(6)),
    ],
    indirect=["backend"],
)
async def test_every_history_is_sound_at_every_step_and_ends(world: World, seed: int) -> None:
    done = await walk(world, seed, 2 * STEPS)
    await done.finish()


async def test_the_histories_meet_every_reason_that_they_are_about(world: World) -> None:
    for seed in range(4):
        await walk(world, seed, 2 * STEPS, check=False)
    rows = await world.store.read("SELECT DISTINCT reason FROM ramet_blocks")
    met = {reason for (reason,) in rows}
    assert met >= {"elsewhere", "trap", "stop_list", "fan_out", "cycle"}
    [(offered,)] = await world.store.read("SELECT COUNT(*) FROM ramet_blocks WHERE reoffered_at IS NOT NULL")
    [(excluded,)] = await world.store.read("SELECT COUNT(*) FROM ramet_transitions WHERE name = 'exclude'")
    [(edges,)] = await world.store.read("SELECT COUNT(*) FROM ramet_edges")
    assert min(offered, excluded, edges) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 300))
async def test_many_histories_are_sound_at_every_step_and_end(world: World, seed: int) -> None:
    done = await walk(world, seed, 3 * STEPS)
    await done.finish()
