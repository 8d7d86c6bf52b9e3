"""Whatever workers, people and time do in whatever order, every invariant holds after each step and everything ends."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.errors import LineageExists
from ramet.store.requests import NewLineage
from tests.support.world import KINDS, LEASE_SECONDS, World, checkpoint, effect, failing, settlement

STEPS = 120
LIMITS = {"max_tasks": 60, "max_spawn_depth": 4, "max_fan_out": 4, "lineage_seconds": 4_000.0}


class Walk:
    """One random history of a few lineages."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.held: list[ClaimedTask] = []
        self.ids: list[str] = []
        self.effects = 0

    async def step(self) -> None:
        names = (
            "submit",
            "claim",
            "claim",
            "settle",
            "settle",
            "settle",
            "beat",
            "pass_time",
            "sweep",
            "cancel",
            "revive",
        )
        await getattr(self, self.chance.choice(names))()

    async def submit(self) -> None:
        roots = [self.world.task(f"k{self.chance.randrange(5)}", kind) for kind in KINDS[: self.chance.randint(1, 3)]]
        lineage = NewLineage(f"line{self.chance.randrange(4)}", roots, **LIMITS)  # type: ignore[arg-type]
        # The tracking_id may be taken by other roots, which is an answer as good as any.
        with suppress(LineageExists):
            self.ids += [answer.id for answer in await self.world.store.submit([lineage])]

    async def claim(self) -> None:
        self.held += await self.world.claim(self.chance.randint(1, 8))

    async def settle(self) -> None:
        chosen = [self.chance.choice(self.held) for _ in range(min(3, len(self.held)))]
        batch = []
        for claimed in chosen:
            fence = claimed.standing.fence
            odd = failing(claimed, f"odd {self.chance.randrange(2)}", "unclassified")
            events: list[ev.Event] = [
                ev.Complete(fence), ev.Complete(fence), ev.Filter(fence, "x"), ev.Skip(fence, "x"), ev.Fail(fence, "x"),
                failing(claimed, "busy", "transient"), odd, ev.Snooze(fence, 30.0), ev.Continue(fence, False),
                ev.HandBack(fence), checkpoint(claimed, "s"), ev.Progress(fence, LEASE_SECONDS),
            ]  # fmt: skip
            event = self.chance.choice(events)
            spawns = [
                self.world.task(f"k{self.chance.randrange(12)}", self.chance.choice(KINDS),
                                delay_seconds=self.chance.choice((0.0, 0.0, 50.0)))
                for _ in range(self.chance.randint(0, 3))
            ]  # fmt: skip
            self.effects += 1
            bad = self.chance.random() < 0.1
            batch.append(
                settlement(claimed, event, spawns=spawns, writes=[effect(f"e{self.effects}", 0 if bad else 1)])
            )
        answers = await self.world.store.settle(batch)
        self.ids += [told.id for answer in answers for told in answer.spawns if told.id is not None]

    async def beat(self) -> None:
        pairs = [(claimed.standing.seq, claimed.standing.fence) for claimed in self.held]
        lost = await self.world.store.heartbeat(pairs, LEASE_SECONDS)
        self.held = [claimed for claimed in self.held if claimed.standing.seq not in lost]

    async def pass_time(self) -> None:
        self.world.clock.advance(self.chance.choice((0.5, 5.0, 60.0, 400.0, -30.0)))

    async def sweep(self) -> None:
        await self.world.store.sweep(limit=self.chance.choice((1, 5, 500)))

    async def cancel(self) -> None:
        if self.ids and self.chance.random() < 0.5:
            await self.world.store.cancel(self.chance.choice(self.ids), tree=self.chance.random() < 0.6, by="walk")
        elif self.chance.random() < 0.2:
            await self.world.store.cancel_lineage(f"line{self.chance.randrange(4)}", by="walk")

    async def revive(self) -> None:
        if self.ids:
            chosen = [self.chance.choice(self.ids) for _ in range(3)]
            await self.world.store.revive(chosen, by="walk", extend_seconds=2_000.0)

    async def finish(self) -> None:
        """Nobody claims any more: leases and deadlines alone must end everything."""
        for _ in range(60):
            self.world.clock.advance(1_000.0)
            await self.world.sweep()
        assert await self.world.store.idle(KINDS)


@pytest.mark.parametrize("seed", range(2))
async def test_every_history_is_sound_at_every_step_and_ends(world: World, seed: int) -> None:
    walk = Walk(world, seed)
    await walk.submit()
    for _ in range(STEPS):
        await walk.step()
        await world.check()
    await walk.finish()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [*range(2, 8), *range(100, 400)])
async def test_many_histories_are_sound_at_every_step_and_end(world: World, seed: int) -> None:
    walk = Walk(world, seed)
    for _ in range(2 * STEPS):
        await walk.step()
        await world.check()
    await walk.finish()
