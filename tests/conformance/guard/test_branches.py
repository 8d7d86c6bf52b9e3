"""Branches: a part of a lineage, set aside for a task and what grows below it until that has ended."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any

import pytest

from ramet.model.lineage.branches import Budget
from ramet.model.lineage.lineage import Lineage
from ramet.model.money import ActualCost, Charge, ReserveRequest
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.errors import StoreError
from tests.support.world import World, failing, hand_back, settlement


async def lineage_of(world: World) -> Lineage:
    lineage = await world.store.lineage("line")
    assert lineage is not None
    return lineage


async def used(world: World) -> tuple[int, int, int]:
    """Places, spent and reserved of the lineage."""
    lineage = await lineage_of(world)
    return lineage.tasks, lineage.spent, lineage.reserved


async def reserve(world: World, claimed: ClaimedTask, amount: int, name: str) -> str | None:
    """Return why a reservation was refused, by which ceiling."""
    [answer] = await world.store.reserve([ReserveRequest(name, claimed.standing.seq, claimed.standing.fence, amount)])
    return None if answer.refused is None else str(answer.facts.get("ceiling", answer.refused))


async def begun(world: World, budget: Budget, **limits: Any) -> tuple[ClaimedTask, ClaimedTask]:
    """Return the claims of a root and of its child, which has a budget."""
    await world.submit(world.task("root"), **limits)
    root = await world.claim_one()
    assert await world.spawn(root, world.task("first", budget=budget)) == [None]
    return root, await world.claim_one()


async def test_places_are_set_aside_and_those_left_return(world: World) -> None:
    root, first = await begun(world, Budget(max_tasks=4), max_tasks=6)
    assert await used(world) == (5, 0, 0)
    assert await world.spawn(root, world.task("a"), world.task("b")) == [None, "budget"]
    assert await world.spawn(first, *[world.task() for _ in range(2)]) == [None, None]
    await world.check()
    assert await world.spawn(first, *[world.task() for _ in range(2)]) == [None, "branch_budget"]
    [block] = [each for each in await world.store.blocks("line") if each.reason == "branch_budget"]
    assert block.detail == f"the branch of task {first.id} has 4 of 4 tasks"
    await world.settle(root)
    await world.settle(first)
    await world.run_all()
    assert await used(world) == (6, 0, 0)


async def test_what_is_left_returns_when_the_last_task_has_ended(world: World) -> None:
    root, first = await begun(world, Budget(max_tasks=4, max_cost=100), max_tasks=6, max_cost=150)
    assert await used(world) == (5, 0, 100)
    await world.grow(first, world.task("below"))
    below = await world.claim_one()
    assert await used(world) == (5, 0, 100)
    await world.settle(below, charge=Charge("c", 30))
    assert await used(world) == (3, 30, 0)
    assert await world.spawn(root, *[world.task() for _ in range(4)]) == [None, None, None, "budget"]


async def test_money_of_a_branch_is_its_own(world: World) -> None:
    root, first = await begun(world, Budget(max_cost=100), max_cost=150)
    assert await reserve(world, root, 51, "r1") == "lineage"
    assert await reserve(world, root, 50, "r2") is None
    assert await reserve(world, first, 101, "f1") == "branch"
    assert await reserve(world, first, 60, "f2") is None
    assert await used(world) == (2, 0, 150)
    await world.check()
    await world.store.settle_reserved([ActualCost("f2", 45)])
    assert await used(world) == (2, 45, 105)
    assert await reserve(world, first, 55, "f3") is None
    assert await reserve(world, first, 1, "f4") == "branch"
    await world.settle(first)
    assert await used(world) == (2, 100, 50)
    await world.store.settle_reserved([ActualCost("f3", 5)])
    assert await used(world) == (2, 50, 50)


async def test_what_is_kept_aside_is_for_the_first_task_alone(world: World) -> None:
    _, first = await begun(world, Budget(max_cost=100, keep_cost=30), max_cost=100)
    await world.settle(first, ev.Join(first.standing.fence), spawns=[world.task("explorer")])
    explorer = await world.claim_one()
    assert await reserve(world, explorer, 71, "e1") == "branch"
    assert await reserve(world, explorer, 70, "e2") is None
    assert await world.spawn(explorer, world.task("inner", budget=Budget(max_cost=1))) == ["branch_budget"]
    await world.settle(explorer)
    again = await world.claim_one()
    assert again.id == first.id
    assert await reserve(world, again, 31, "a1") == "branch"
    assert await reserve(world, again, 30, "a2") is None


async def test_a_root_keeps_the_price_of_its_answer(world: World) -> None:
    await world.submit(world.task("root", budget=Budget(max_cost=100, keep_cost=40)), max_cost=100)
    root = await world.claim_one()
    await world.settle(root, ev.Join(root.standing.fence), spawns=[world.task("explorer")])
    explorer = await world.claim_one()
    assert await reserve(world, explorer, 61, "e1") == "branch"
    assert await reserve(world, explorer, 60, "e2") is None
    await world.settle(explorer)
    assert await reserve(world, await world.claim_one(), 40, "r") is None


async def test_more_than_the_lineage_has_is_refused(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=5, max_cost=10)
    root = await world.claim_one()
    assert await world.spawn(
        root,
        world.task("a", budget=Budget(max_tasks=5)),
        world.task("b", budget=Budget(max_cost=11)),
        world.task("c", budget=Budget(max_tasks=2, max_cost=6)),
        world.task("d", budget=Budget(max_cost=5)),
    ) == ["budget", "cost", None, "cost"]
    assert await used(world) == (3, 0, 6)


async def test_roots_that_ask_for_more_than_there_is_are_not_submitted(world: World) -> None:
    with pytest.raises(StoreError, match="the budgets of the roots take 11 tasks"):
        await world.submit(world.task("a", budget=Budget(max_tasks=10)), world.task("b"), max_tasks=10)
    assert await world.store.lineage("line") is None


async def test_depth_and_time_are_those_below_the_first_task(world: World) -> None:
    _, first = await begun(world, Budget(max_spawn_depth=1, seconds=100.0))
    [below] = await world.grow(first, world.task("below", task_seconds=1_000.0))
    claimed = await world.claim_one()
    assert (claimed.id, claimed.standing.deadline_at) == (below, world.clock.now + 100.0)
    assert await world.spawn(claimed, world.task("deep")) == ["branch_budget"]
    world.clock.advance(101.0)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
    assert await world.state(below) == "failed"


async def test_a_pending_task_of_a_branch_whose_time_is_over_ends(world: World) -> None:
    _, first = await begun(world, Budget(seconds=100.0))
    [below] = await world.grow(first, world.task("below"))
    world.clock.advance(101.0)
    await world.sweep()
    assert await world.state(below) == "failed"


async def test_branches_nest(world: World) -> None:
    _, first = await begun(world, Budget(max_tasks=6, max_cost=60), max_tasks=10, max_cost=100)
    inner = Budget(max_tasks=3, max_cost=40)
    assert await world.spawn(first, world.task("inner", budget=inner), world.task("x", budget=inner)) == [
        None,
        "branch_budget",
    ]
    assert await used(world) == (7, 0, 60)
    taken = await world.claim_one()
    assert await reserve(world, taken, 40, "i") is None
    assert await world.spawn(first, *[world.task() for _ in range(3)]) == [None, None, "branch_budget"]
    await world.check()
    await world.settle(taken)
    await world.check()
    assert await world.spawn(first, *[world.task() for _ in range(3)]) == [None, None, "branch_budget"]


async def test_a_revived_task_takes_the_rest_of_its_branch_again(world: World) -> None:
    root, first = await begun(world, Budget(max_tasks=4), max_tasks=6)
    await world.settle(first, failing(first))
    assert await used(world) == (2, 0, 0)
    assert await world.spawn(root, world.task("a"), world.task("b")) == [None, None]
    assert await world.store.revive([first.id], by="me") == [first.id]
    await world.check()
    assert await used(world) == (6, 0, 0), "two places were left of its four"
    again = await world.claim_task(first.id)
    assert await world.spawn(again, *[world.task() for _ in range(3)]) == [None, None, "branch_budget"]


async def test_a_cancelled_branch_gives_back_what_is_left(world: World) -> None:
    _, first = await begun(world, Budget(max_tasks=4, max_cost=50), max_tasks=6, max_cost=50)
    assert await reserve(world, first, 20, "f") is None
    await world.grow(first, world.task("below"))
    assert await world.store.cancel(first.id, tree=True, by="me")
    await world.sweep()
    assert await used(world) == (3, 20, 0)


@dataclass
class Walk:
    """One random history of a lineage with branches in branches, looked at after every step."""

    world: World
    rng: random.Random
    amounts: int = 0

    def budget(self) -> Budget | None:
        if self.rng.random() < 0.5:
            return None
        tasks = self.rng.choice((None, 2, 3, 8))
        cost = self.rng.choice((None, 10, 40))
        if tasks is None and cost is None:
            return None
        return Budget(tasks, cost, self.rng.choice((0, 5)) if cost else 0)

    async def run(self) -> None:
        await self.world.submit(self.world.task(max_attempts=20), max_tasks=40, max_cost=200)
        for _ in range(30):
            taken = await self.world.claim(3)
            for claimed in taken:
                await self.step(claimed)
                await self.world.check()
            if not taken:
                ended = await self.ended()
                if ended:
                    await self.world.store.revive([self.rng.choice(ended)], by="me")
                    await self.world.check()
            self.world.clock.advance(1.0)
        await self.world.run_all()
        await self.world.check()

    async def ended(self) -> list[str]:
        rows = await self.world.store.read("SELECT id FROM ramet_tasks WHERE state IN ('failed', 'cancelled')")
        return [task_id for (task_id,) in rows]

    async def step(self, claimed: ClaimedTask) -> None:
        world, rng, fence = self.world, self.rng, claimed.standing.fence
        open_: list[str] = []
        for _ in range(rng.randint(0, 2)):
            self.amounts += 1
            name = f"r{self.amounts}"
            if await reserve(world, claimed, rng.randint(1, 15), name) is None:
                open_.append(name)
        for name in open_:
            if rng.random() < 0.6:  # Sometimes more than was reserved.
                await world.store.settle_reserved([ActualCost(name, rng.randint(0, 20))])
        spawns = [world.task(budget=self.budget(), max_attempts=20) for _ in range(rng.randint(0, 3))]
        charge = Charge(f"c{self.amounts}{claimed.id}{fence}", rng.randint(1, 8)) if rng.random() < 0.2 else None
        match rng.choice(("done", "done", "join", "fail", "cancel", "back", "snooze")):
            case "join":
                await world.settle(claimed, ev.Join(fence), spawns=spawns, charge=charge)
            case "fail":
                await world.settle(claimed, failing(claimed))
            case "cancel":
                await world.store.cancel(claimed.id, tree=rng.random() < 0.5, by="me")
                await world.sweep()
            case "back":
                await world.store.settle([settlement(claimed, hand_back(claimed))])
            case "snooze":
                await world.settle(claimed, ev.Snooze(fence, 1.0), spawns=spawns, charge=charge)
            case _:
                await world.settle(claimed, spawns=spawns, charge=charge)


@pytest.mark.parametrize("seed", range(int(os.environ.get("RAMET_BRANCH_WALKS", "20"))))
async def test_sums_equal_a_recount_after_every_step(world: World, seed: int) -> None:
    await Walk(world, random.Random(seed)).run()
