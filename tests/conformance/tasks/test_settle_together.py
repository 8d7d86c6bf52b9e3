"""Spawns, writes, state and result of one settlement commit together or not at all, and disturb no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.task import TaskState
from ramet.store.requests import Settlement, TaskQuery, Write
from tests.support.world import LEASE_SECONDS, World, checkpoint, effect, failing, hand_back, reasons, settlement


async def test_spawns_writes_and_result_commit_with_the_end(world: World) -> None:
    [root] = await world.submit()
    answer = await world.settle(
        await world.claim_one(), result='{"n": 2}', spawns=[world.task("a"), world.task("b")],
        writes=[effect("one"), effect("two")],
    )  # fmt: skip
    assert (await world.get(root)).result == {"n": 2}
    assert await world.effects() == ["one", "two"]
    children = [await world.get(str(told.id)) for told in answer.spawns]
    assert [(c.key, c.state, c.parent_id, c.spawn_depth) for c in children] == [
        ("a", "pending", root, 1),
        ("b", "pending", root, 1),
    ]


BAD_WRITES: dict[str, Write] = {
    "broken constraint": effect("bad", amount=-1),
    "taken name": effect("taken"),
    "no such table": Write("INSERT INTO nowhere (name) VALUES (1)"),
    "no SQL": Write("INSRT"),
    "too few parameters": Write("INSERT INTO effects (name, amount) VALUES (?, ?)", ("x",)),
    "two statements": Write("DELETE FROM effects; DELETE FROM effects"),
    "a number too large": effect("huge", amount=2**70),
    "half a character": effect("\ud800"),
    "a value of no type": Write("INSERT INTO effects (name) VALUES (?)", ({"a": 1},)),
}


@pytest.mark.parametrize("name", BAD_WRITES)
async def test_a_write_that_fails_makes_only_its_own_settlement_an_error(world: World, name: str) -> None:
    good, bad, also_good = await world.submit(world.task(), world.task(), world.task())
    first, second, third = await world.claim(3)
    answers = await world.store.settle(
        [
            settlement(first, writes=[effect("taken")], spawns=[world.task("from good")]),
            settlement(second, writes=[effect("before"), BAD_WRITES[name], effect("after")],
                       spawns=[world.task("from bad")], result='"bad"', pipeline_state="{}"),
            settlement(third, writes=[effect("third")]),
        ]
    )  # fmt: skip
    assert [answer.state for answer in answers] == ["success", "pending", "success"]
    assert list(answers[1].spawns) == []
    assert await world.effects() == ["taken", "third"]
    history = await world.store.history(bad)
    assert history is not None
    assert history.attempts[0].outcome == "error"
    assert str(history.attempts[0].error).startswith("a ctx.write failed: ")
    assert not await world.store.has_live("page", "from bad")
    assert await world.store.has_live("page", "from good")
    assert await world.states(good, also_good) == ["success", "success"]


BAD_SETTLEMENTS: dict[str, dict[str, Any]] = {
    "no payload": {"payload": None},
    "a priority too large": {"priority": 2**70},
    "half a character in the key": {"key": "\ud800"},
    "an id that is taken": {"id": "t1"},
}


@pytest.mark.parametrize("name", BAD_SETTLEMENTS)
async def test_a_spawn_that_cannot_be_stored_makes_only_its_own_settlement_an_error(world: World, name: str) -> None:
    ids = await world.submit(world.task(), world.task(), world.task())
    first, second, third = await world.claim(3)
    bad = world.task("bad")._replace(**BAD_SETTLEMENTS[name])
    answers = await world.store.settle(
        [
            settlement(first, spawns=[world.task("a")]),
            settlement(second, spawns=[world.task("b"), bad], writes=[effect("lost")]),
            settlement(third, writes=[effect("kept")]),
        ]
    )
    assert [answer.state for answer in answers] == ["success", "pending", "success"]
    assert str(answers[1].reason).startswith("retry_in")
    assert await world.effects() == ["kept"]
    page = await world.store.tasks(TaskQuery(tracking_id="line"))
    assert [task.key for task in page.tasks] == ["key1", "key2", "key3", "a"]
    assert await world.states(*ids) == ["success", "pending", "success"]


async def test_a_limit_that_cannot_be_lowered_is_that_handlers_error(world: World) -> None:
    ids = await world.submit(world.task(), world.task())
    first, second = await world.claim(2)
    await world.store.settle([settlement(first, lower=(("deadline_at", 1),)), settlement(second)])
    assert await world.states(*ids) == ["pending", "success"]
    assert "deadline_at cannot be lowered" in str((await world.store.history(ids[0])).attempts[0].error)  # type: ignore[union-attr]


async def test_several_settlements_of_one_task_take_effect_in_their_order(world: World) -> None:
    [root] = await world.submit(world.task(max_chain_depth=1))
    claimed = await world.claim_one()
    answers = await world.store.settle(
        [
            settlement(claimed, checkpoint(claimed, "one"), pipeline_state='{"at": 1}', spawns=[world.task("a")]),
            settlement(claimed, checkpoint(claimed, "two"), pipeline_state='{"at": 2}', writes=[effect("x")]),
            settlement(claimed, ev.Complete(1), spawns=[world.task("b")]),
            settlement(claimed, ev.Complete(1), spawns=[world.task("c")], writes=[effect("y")]),
        ]
    )
    assert [answer.state for answer in answers] == ["processing", "processing", "success", None]
    assert reasons(answers) == [None, None, None, "stale"]
    assert (await world.get(root)).stage == "two"
    page = await world.store.tasks(TaskQuery(parent_id=root))
    assert [task.key for task in page.tasks] == ["a", "b"]
    assert await world.effects() == ["x"]


async def test_a_stale_settlement_with_spawns_and_a_current_one_count_their_blocks_together(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"))
    first, second = await world.claim(2)
    gone = Settlement(first.standing.seq, 99, ev.Complete(99), spawns=[world.task("x"), world.task("y")])
    await world.store.settle([gone, settlement(second, spawns=[world.task("a"), world.task("b")])])
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.blocks == len(await world.store.blocks("line")) == 4


async def test_a_crash_resumes_after_the_last_checkpoint_with_its_state(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(
        claimed, checkpoint(claimed, "fetched"), pipeline_state='{"pages": 3}', spawns=[world.task("a")],
        writes=[effect("fetched")],
    )  # fmt: skip
    world.clock.advance(LEASE_SECONDS)
    await world.sweep()
    assert await world.outcomes(task_id) == ["lost"]
    assert await world.effects() == ["fetched"]
    again = await world.claim_task(task_id)
    assert (again.standing.stage, json.loads(str(again.pipeline_state))) == ("fetched", {"pages": 3})
    assert (again.standing.fence, again.standing.fan_out, again.standing.attempts) == (2, 1, 1)
    answer = await world.settle(again, spawns=[world.task("a"), world.task("b")])
    assert [told.reason for told in answer.spawns] == ["in_flight", None]


async def test_a_checkpoint_keeps_the_claim_and_extends_its_lease(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    world.clock.advance(200.0)
    await world.settle(claimed, checkpoint(claimed, "one"), pipeline_state="[1]")
    world.clock.advance(200.0)
    await world.settle(claimed, checkpoint(claimed))
    world.clock.advance(200.0)
    assert (await world.settle(claimed)).state == "success"
    assert (await world.get(task_id)).stage == "one"


async def test_an_exception_keeps_what_was_checkpointed_and_nothing_else(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, checkpoint(claimed, "one"), writes=[effect("one")])
    await world.settle(claimed, failing(claimed, "odd", "transient"))
    assert await world.state(task_id) == "pending"
    assert await world.effects() == ["one"]


async def test_progress_is_not_the_progress_that_continuing_needs(world: World) -> None:
    [told, done] = await world.submit(world.task(), world.task())
    first, second = await world.claim(2)
    await world.settle(first, ev.Progress(1, LEASE_SECONDS), progress='{"done": 1}')
    await world.settle(second, ev.Progress(1, LEASE_SECONDS), progress='{"done": 1}', writes=[effect("x")])
    for claimed in (first, second):
        await world.settle(claimed, ev.Continue(1, progressed=False))
    assert await world.states(told, done) == [TaskState.SUCCESS, TaskState.PENDING]
    assert (await world.get(told)).reason == "no_progress"


async def test_a_handler_lowers_its_lineages_limits_and_never_raises_them(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=10, max_fan_out=10, max_spawn_depth=5)
    claimed = await world.claim_one()
    lower = (("max_tasks", 3), ("max_fan_out", 50), ("max_spawn_depth", 2))
    spawns = [world.task(f"a{n}") for n in range(4)]
    answer = await world.settle(claimed, checkpoint(claimed), lower=lower, spawns=spawns)
    assert [told.reason for told in answer.spawns] == [None, None, "budget", "budget"]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.max_tasks, lineage.max_fan_out, lineage.max_spawn_depth) == (3, 10, 2)


async def test_lowering_under_what_exists_stops_what_comes_and_keeps_what_is(world: World) -> None:
    await world.submit(*(world.task() for _ in range(5)))
    world.lowered.add("line")
    claimed = await world.claim_one()
    lower = (("max_tasks", 1), ("max_spawn_depth", -3))
    answer = await world.settle(claimed, lower=lower, spawns=[world.task()])
    assert answer.spawns[0].reason == "depth"
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.max_tasks) == (5, 5)


async def test_a_hundred_settlements_of_many_lineages_in_one_batch(world: World) -> None:
    for n in range(10):
        await world.submit(*(world.task() for _ in range(10)), tracking_id=f"line{n}")
    claimed = await world.claim(100)
    batch = []
    for at, item in enumerate(claimed):
        events: list[ev.Event] = [
            ev.Complete(1), ev.Skip(1, "no"), failing(item), ev.Snooze(1, 9.0), hand_back(item),
        ]  # fmt: skip
        batch.append(settlement(item, events[at % 5], writes=[effect(item.id)] if at % 5 < 4 else [],
                                spawns=[world.task(f"child of {at}")] if at % 5 == 0 else []))  # fmt: skip
    answers = await world.store.settle(batch)
    assert [answer.seq for answer in answers] == [item.standing.seq for item in claimed]
    assert [answer.state for answer in answers] == ["success", "skipped", "failed", "pending", "pending"] * 20
    assert len(await world.effects()) == 80
