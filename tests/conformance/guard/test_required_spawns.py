"""A refused spawn that is required fails the task that asked for it, and nothing else of its settlement is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.model.money import Charge
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import Write
from tests.support.world import LEASE_SECONDS, World, settlement

EFFECT = Write("INSERT INTO effects (name, amount) VALUES ('kept', 1)")


def required(world: World, key: str, **fields: Any) -> NewTask:
    return world.task(key, required=1, **fields)


@pytest.mark.parametrize("goes_on", [None, ev.Checkpoint, ev.Progress])
async def test_a_refused_required_spawn_fails_the_task_and_nothing_of_the_settlement_is_kept(
    world: World, goes_on: Any
) -> None:
    await world.submit(world.task("root"), max_tasks=2)
    claimed = await world.claim_one()
    event = None if goes_on is None else goes_on(claimed.standing.fence, LEASE_SECONDS)
    answer = await world.settle(
        claimed, event, spawns=[world.task("first"), required(world, "second")], writes=[EFFECT],
        charge=Charge("charge", 5), pipeline_state='{"at": 1}', lower=(("max_fan_out", 1),), result='"done"',
    )  # fmt: skip
    assert (answer.state, answer.refused, answer.reason) == ("failed", None, "spawn_refused: budget")
    root = await world.get(claimed.id)
    assert root.error == (
        "spawn_refused: required spawn of page 'second' refused, budget: the lineage has created 2 of 2 tasks"
    )
    assert (root.result, await world.effects()) == (None, [])
    [lineage] = await world.store.lineages()
    assert (lineage.tasks, lineage.spent, lineage.max_fan_out) == (1, 0, 5_000)
    assert (lineage.state, lineage.failed) == ("finished", 1)
    [block] = await world.store.blocks("line")
    assert (block.kind, block.key, block.reason, block.count) == ("page", "second", "budget", 1)


async def test_a_required_spawn_that_is_there_already_fails_nobody(world: World) -> None:
    await world.submit(world.task("root"), world.task("done"))
    [root, other] = sorted(await world.claim(2), key=lambda claimed: claimed.key, reverse=True)
    await world.settle(other)
    twice = [required(world, "child"), required(world, "child"), required(world, "done")]
    answer = await world.settle(root, spawns=twice)
    assert answer.state == "success"
    assert [told.reason for told in answer.spawns] == [None, "in_flight", "done"]


async def test_only_the_settlement_that_required_it_fails_and_its_place_goes_to_others(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"), world.task("c"), max_tasks=4)
    a, b, c = sorted(await world.claim(3), key=lambda claimed: claimed.key)
    answers = await world.store.settle(
        [
            settlement(a, spawns=[world.task("a1"), required(world, "a2")], writes=[EFFECT]),
            settlement(b, spawns=[world.task("b1")]),
            settlement(c),
        ]
    )
    assert [answer.state for answer in answers] == ["failed", "success", "success"]
    assert [[told.reason for told in answer.spawns] for answer in answers] == [[], [None], []]
    assert await world.effects() == []


async def test_cycles_and_keys_held_elsewhere_fail_it_too(world: World) -> None:
    held = world.task("held", "image", unique_seconds=100.0)
    await world.submit(held, tracking_id="other")
    await world.submit(world.task("root"), world.task("again"))
    first, second = sorted(
        [claimed for claimed in await world.claim(3) if claimed.key != "held"], key=lambda claimed: claimed.key
    )
    cycle = await world.settle(first, spawns=[required(world, "again")])
    elsewhere = await world.settle(second, spawns=[required(world, "held", kind="image", unique_seconds=100.0)])
    assert [cycle.reason, elsewhere.reason] == ["spawn_refused: cycle", "spawn_refused: elsewhere"]


async def test_after_a_retry_by_a_person_with_more_room_it_succeeds(world: World) -> None:
    [root] = await world.submit(world.task("root"), max_tasks=1)
    await world.settle(await world.claim_one(), spawns=[required(world, "child")])
    await world.store.raise_limits("line", limits={"max_tasks": 2}, extend_seconds=None, by="ann", reason=None)
    assert await world.store.revive([root], by="ann") == [root]
    answer = await world.settle(await world.claim_one(), spawns=[required(world, "child")])
    assert (answer.state, [told.reason for told in answer.spawns]) == ("success", [None])
    history = await world.store.history(root)
    assert history is not None
    assert [json.dumps(attempt.error_class) for attempt in history.attempts] == ['"permanent"', "null"]
