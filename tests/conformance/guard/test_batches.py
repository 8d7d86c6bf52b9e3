"""Spawns of a batch are decided in parts: the answers and the rows are those of asking the guard for each."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ramet.store.verbs import spawn
from tests.support.world import World, settlement

ROUNDS = 12
OPTIONS: list[dict[str, Any]] = [
    {}, {}, {}, {}, {"kind": "doc.fetch", "base": "doc", "places": 2}, {"max_attempts": None}
]  # fmt: skip
"""Of a spawn; most are plain."""


def plan(chance: random.Random) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Limits of a lineage, and what each of its roots wants: keys of their own, of each other's, and taken ones."""
    limits = {"max_tasks": chance.choice([6, 9, 14, 1_000]), "max_fan_out": chance.choice([2, 4, 1_000])}
    wanted = []
    for root in range(chance.randint(1, 4)):
        one = []
        for number in range(chance.randint(0, 7)):
            key = chance.choice(
                [f"own {root} {number}", f"own {root} {number}", f"own {root} {number}", "shared", "root 0"]
            )
            more = chance.choice(OPTIONS)
            one.append({"key": key, "kind": chance.choice(["page", "job"]), "cycle_on": "kind+key", **more})
        wanted.append(one)
    return limits, wanted


async def grown(
    world: World, tracking_id: str, limits: dict[str, Any], wanted: list[list[dict[str, Any]]]
) -> tuple[list[Any], list[Any], list[Any]]:
    """The guard's answers, the tasks and the counters of a lineage whose roots all settle in one batch."""
    roots = [world.task(key=f"root {at}", cycle_on="kind+key") for at in range(len(wanted))]
    await world.submit(*roots, tracking_id=tracking_id, **limits)
    claimed = sorted(await world.claim(100), key=lambda one: one.key)
    answers = await world.store.settle(
        [
            settlement(one, spawns=[world.task(**fields) for fields in news])
            for one, news in zip(claimed, wanted, strict=True)
        ]
    )
    told = [[(one.kind, one.key, one.reason) for one in answer.spawns] for answer in answers]
    tasks = await world.store.read(
        "SELECT t.kind, t.key, p.key, t.spawn_depth, i.kind, l.state, l.wait, l.rank, l.max_attempts "
        "FROM ramet_tasks t "
        "JOIN ramet_identities i ON i.seq = t.seq AND i.tracking_id = t.tracking_id AND i.key = t.key "
        "LEFT JOIN ramet_live l ON l.seq = t.seq LEFT JOIN ramet_tasks p ON p.id = t.parent_id "
        f"WHERE t.tracking_id = '{tracking_id}' ORDER BY t.seq"
    )
    counted = await world.store.read(
        f"SELECT tasks, live, success, blocks, left_out FROM ramet_lineages WHERE tracking_id = '{tracking_id}'"
    )
    await world.run_all()
    return told, [*map(tuple, tasks)], [*map(tuple, counted)]


@pytest.mark.parametrize("seed", range(4))
async def test_a_batch_is_decided_as_each_of_its_spawns_would_be(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    together = 0
    for number in range(ROUNDS):
        limits, wanted = plan(chance)
        decided = await grown(world, f"together {number}", limits, wanted)
        with monkeypatch.context() as patched:
            patched.setattr(spawn, "all_allowed", lambda facts, news: False)
            assert await grown(world, f"one by one {number}", limits, wanted) == decided, (limits, wanted)
        together += sum(answer[2] is None for answers in decided[0] for answer in answers)
    assert together > ROUNDS
