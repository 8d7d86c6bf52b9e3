"""Submitting: repeatable under a tracking_id, all or nothing, never past the lineage's size."""

from __future__ import annotations

import pytest

from ramet.store.errors import LineageExists, StoreError
from ramet.store.requests import NewLineage, TaskQuery
from ramet.store.verbs import submit
from tests.support.world import World


async def count_tasks(world: World) -> int:
    [(tasks,)] = await world.store.read("SELECT COUNT(*) FROM ramet_tasks")
    return int(tasks)


async def test_a_submitted_task_is_stored_as_it_was_asked_for(world: World) -> None:
    new = world.task("a", "image", queue="slow", priority=7, max_attempts=2, task_seconds=60.0, max_chain_depth=1)
    [answer] = await world.store.submit([NewLineage("line", [new], max_spawn_depth=3)])
    task = await world.get(answer.id)
    assert answer.created
    assert (task.kind, task.key, task.queue, task.priority, task.payload) == ("image", "a", "slow", 7, {"number": 1})
    assert (task.state, task.parent_id, task.ancestry_chain, task.spawn_depth) == ("pending", None, (), 0)
    assert (task.max_attempts, task.max_spawn_depth, task.attempts, task.fence) == (2, 3, 0, 0)
    assert task.created_at == task.available_at == world.clock.now


async def test_a_repeated_submit_changes_nothing_and_tells_the_same_ids(world: World) -> None:
    first = await world.store.submit([NewLineage("line", [world.task("a"), world.task("b")])])
    again = await world.store.submit([NewLineage("line", [world.task("a"), world.task("b")])])
    assert [answer.id for answer in again] == [answer.id for answer in first]
    assert [answer.created for answer in first + again] == [True, True, False, False]
    assert await count_tasks(world) == 2


async def test_a_repeated_submit_of_ended_work_does_not_start_it_again(world: World) -> None:
    [task_id] = await world.submit(world.task("a"))
    await world.run_all()
    assert await world.submit(world.task("a")) == [task_id]
    assert await world.claim() == []
    assert await world.state(task_id) == "success"


async def test_the_same_lineage_twice_in_one_batch_is_one(world: World) -> None:
    answers = await world.store.submit([NewLineage("line", [world.task("a")]), NewLineage("line", [world.task("a")])])
    assert [answer.created for answer in answers] == [True, False]
    assert answers[0].id == answers[1].id
    assert await count_tasks(world) == 1


async def test_a_taken_tracking_id_with_other_roots_is_refused(world: World) -> None:
    await world.submit(world.task("a"))
    with pytest.raises(LineageExists, match="line exists and has no page 'b': choose another"):
        await world.submit(world.task("b"))
    assert await count_tasks(world) == 1


async def test_a_batch_of_lineages_is_all_or_nothing(world: World) -> None:
    await world.submit(world.task("a"), tracking_id="taken")
    with pytest.raises(LineageExists):
        await world.store.submit([NewLineage("new", [world.task("a")]), NewLineage("taken", [world.task("b")])])
    assert await world.store.lineage("new") is None
    assert await count_tasks(world) == 1


async def test_roots_of_one_kind_and_key_are_one_task(world: World) -> None:
    roots = [world.task("a"), world.task("a"), world.task("a", "image"), world.task("b")]
    answers = await world.store.submit([NewLineage("line", roots)])
    assert [answer.created for answer in answers] == [True, False, True, True]
    assert answers[0].id == answers[1].id
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.live) == (3, 3)


async def test_the_same_key_in_two_lineages_is_two_tasks(world: World) -> None:
    assert await world.submit(world.task("a"), tracking_id="one") != await world.submit(
        world.task("a"), tracking_id="two"
    )
    assert await count_tasks(world) == 2


async def test_more_roots_than_max_tasks_are_refused_whole(world: World) -> None:
    with pytest.raises(StoreError, match="3 roots are over the lineage's max_tasks of 2: raise the limit"):
        await world.submit(world.task(), world.task(), world.task(), max_tasks=2)
    assert await world.store.lineage("line") is None
    assert await count_tasks(world) == 0
    assert len(await world.submit(world.task("x"), world.task("x"), world.task("y"), max_tasks=2)) == 3


async def test_a_lineage_without_roots_is_refused(world: World) -> None:
    with pytest.raises(StoreError, match="at least one root"):
        await world.store.submit([NewLineage("line", [])])
    assert await world.store.lineage("line") is None


async def test_the_lineage_deadline_counts_from_the_earliest_roots_first_availability(world: World) -> None:
    roots = [world.task(delay_seconds=50.0), world.task(delay_seconds=20.0)]
    await world.submit(*roots, lineage_seconds=100.0)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.deadline_at == world.clock.now + 120.0


async def test_task_numbers_grow_over_every_lineage(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.submit(world.task(), world.task(), tracking_id=name)
    claimed = sorted(await world.claim(10), key=lambda item: item.standing.seq)
    assert [item.id for item in claimed] == ["t1", "t2", "t3", "t4", "t5", "t6"]


async def test_many_roots_are_written_in_parts_and_keep_their_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "PART", 2)
    ids = await world.submit(*(world.task(f"root {number}") for number in range(5)), tracking_id="large")
    page = await world.store.tasks(TaskQuery(tracking_id="large"))
    assert [task.id for task in page.tasks] == ids
    assert [claimed.id for claimed in await world.claim(10)] == ids
