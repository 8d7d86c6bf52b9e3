"""Pause and resume of lineages and queues: nothing is claimed, and no clock runs, for at most 30 days (DESIGN §8)."""

from __future__ import annotations

import pytest

from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.task import events as ev
from ramet.store.state.apply import RELEASE_BATCH
from tests.support.world import World, failing

HOUR = 3_600.0
DAY = 24 * HOUR


async def pause(world: World, what: str, name: str = "line") -> None:
    verb = world.store.pause_lineage if what == "lineage" else world.store.pause_queue
    assert await verb(name, by="ada", reason="provider down")


async def resume(world: World, what: str, name: str = "line") -> None:
    verb = world.store.resume_lineage if what == "lineage" else world.store.resume_queue
    assert await verb(name, by="ada")


def named(what: str) -> str:
    return "line" if what == "lineage" else "default"


both = pytest.mark.parametrize("what", ["lineage", "queue"])


async def deadline(world: World) -> float:
    lineage = await world.store.lineage("line")
    assert lineage is not None
    return lineage.deadline_at


@both
async def test_nothing_of_what_is_paused_is_claimed_until_it_goes_on(world: World, what: str) -> None:
    await world.submit(world.task("a"), world.task("b"))
    await world.submit(world.task("other", queue="q"), tracking_id="free")
    await pause(world, what, named(what))
    assert [item.key for item in await world.claim(10, queues=("default", "q"))] == ["other"]
    await world.sweep()
    assert await world.claim(10) == []
    await resume(world, what, named(what))
    assert sorted(item.key for item in await world.claim(10)) == ["a", "b"]


@both
async def test_running_handlers_settle_and_spawn_and_what_they_spawn_waits(world: World, what: str) -> None:
    [root] = await world.submit()
    claimed = await world.claim_one()
    await pause(world, what, named(what))
    [child] = await world.grow(claimed, world.task("child"))
    assert await world.claim(10) == []
    await resume(world, what, named(what))
    assert [item.id for item in await world.claim(10)] == [child]
    assert await world.state(root) == "success"


@both
async def test_the_lineages_clock_stands_still(world: World, what: str) -> None:
    await world.submit(lineage_seconds=2 * HOUR)
    before = await deadline(world)
    world.clock.advance(HOUR)
    await pause(world, what, named(what))
    world.clock.advance(5 * DAY)
    await world.sweep()
    await resume(world, what, named(what))
    assert await deadline(world) == pytest.approx(before + 5 * DAY)
    world.clock.advance(HOUR - 1)
    assert len(await world.claim(10)) == 1
    world.clock.advance(1)
    assert (await world.store.sweep()).lineages_ended == 1
    await world.sweep()


@both
async def test_the_tasks_clock_stands_still_for_waiting_and_for_running_tasks(world: World, what: str) -> None:
    await world.submit(world.task("waits", task_seconds=HOUR), world.task("runs", task_seconds=HOUR))
    by_key = {item.key: item for item in await world.claim(2, lease_seconds=40 * DAY)}
    await world.settle(by_key["waits"], ev.Snooze(1, 10.0))
    await pause(world, what, named(what))
    world.clock.advance(DAY)
    await world.sweep()
    # Its deadline would have made this error its last.
    runs = by_key["runs"]
    answer = await world.settle(runs, failing(runs, "busy", "transient"))
    assert answer.state == "pending"
    await resume(world, what, named(what))
    await world.sweep()
    deadlines = await world.store.read("SELECT deadline_at FROM ramet_live")
    assert [at for (at,) in deadlines] == pytest.approx([world.clock.now + HOUR] * 2)
    world.clock.advance(1.0)
    assert {item.key for item in await world.claim(2)} == {"waits", "runs"}


@both
async def test_after_thirty_days_the_clocks_run_again(world: World, what: str) -> None:
    [task_id] = await world.submit(lineage_seconds=HOUR)
    await pause(world, what, named(what))
    world.clock.advance(PAUSE_SECONDS_MAX + HOUR - 1)
    await world.sweep()
    assert await world.state(task_id) == "pending"
    world.clock.advance(1)
    await world.sweep()
    task = await world.get(task_id)
    assert (task.state, task.reason) == ("failed", "lineage_deadline")


@pytest.mark.parametrize("first", ["lineage", "queue"])
@pytest.mark.parametrize("last", ["lineage", "queue"])
async def test_time_in_which_both_are_paused_counts_once(world: World, first: str, last: str) -> None:
    await world.submit(world.task(task_seconds=2 * HOUR), lineage_seconds=9 * HOUR)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(1, 10.0))
    before = await deadline(world)
    [(mine,)] = await world.store.read("SELECT deadline_at FROM ramet_live")
    second, ended = ("queue" if first == "lineage" else "lineage"), ("queue" if last == "lineage" else "lineage")
    await pause(world, first, named(first))
    world.clock.advance(HOUR)
    await pause(world, second, named(second))
    world.clock.advance(DAY)
    await resume(world, ended, named(ended))
    world.clock.advance(HOUR)
    await resume(world, last, named(last))
    assert await deadline(world) == pytest.approx(before + DAY + 2 * HOUR)
    [(after,)] = await world.store.read("SELECT deadline_at FROM ramet_live")
    assert after == pytest.approx(mine + DAY + 2 * HOUR)


async def test_a_queue_paused_twice_within_one_pause_of_a_lineage_counts_once(world: World) -> None:
    await world.submit(lineage_seconds=HOUR)
    before = await deadline(world)
    await pause(world, "lineage")
    for _ in range(2):
        await pause(world, "queue", "default")
        world.clock.advance(HOUR)
        await resume(world, "queue", "default")
        world.clock.advance(HOUR)
    await resume(world, "lineage")
    assert await deadline(world) == pytest.approx(before + 4 * HOUR)


async def test_a_lineage_submitted_to_a_paused_queue_has_its_whole_time(world: World) -> None:
    await pause(world, "queue", "default")
    world.clock.advance(DAY)
    await world.submit(lineage_seconds=HOUR)
    world.clock.advance(DAY)
    await world.sweep()
    await resume(world, "queue", "default")
    assert await deadline(world) == pytest.approx(world.clock.now + HOUR)
    await pause(world, "queue", "default")
    world.clock.advance(DAY)
    await resume(world, "queue", "default")
    assert await deadline(world) == pytest.approx(world.clock.now + HOUR)


async def test_a_queue_stops_the_clocks_of_lineages_that_began_in_it_only(world: World) -> None:
    await world.submit(world.task(queue="q"), lineage_seconds=HOUR, tracking_id="other")
    await pause(world, "queue", "default")
    world.clock.advance(HOUR)
    assert (await world.store.sweep()).lineages_ended == 1
    await world.sweep()


async def test_a_lineage_whose_last_task_ends_while_it_is_paused_finishes_when_it_goes_on(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await pause(world, "lineage")
    await world.settle(claimed)
    await resume(world, "lineage")
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.ended_at) == ("finished", world.clock.now)


async def test_cancelling_a_paused_lineage_ends_its_tasks_and_gives_the_unused_time_back(world: World) -> None:
    [task_id] = await world.submit(lineage_seconds=2 * HOUR)
    before = await deadline(world)
    await pause(world, "lineage")
    world.clock.advance(HOUR)
    assert await world.store.cancel_lineage("line", by="ada")
    await world.sweep()
    assert await world.state(task_id) == "cancelled"
    assert await deadline(world) == pytest.approx(before + HOUR)
    assert not await world.store.resume_lineage("line", by="ada")


async def test_reviving_in_a_paused_lineage_extends_it_from_when_it_goes_on(world: World) -> None:
    [task_id] = await world.submit(lineage_seconds=HOUR)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.submit(world.task(), world.task(), tracking_id="two", lineage_seconds=HOUR)
    for item in await world.claim(1):
        await world.settle(item, failing(item))
        task_id = item.id
    await pause(world, "lineage", "two")
    assert await world.store.revive([task_id], by="ada", extend_seconds=5 * HOUR) == [task_id]
    world.clock.advance(DAY)
    await resume(world, "lineage", "two")
    lineage = await world.store.lineage("two")
    assert lineage is not None
    assert lineage.deadline_at == pytest.approx(world.clock.now + 5 * HOUR)
    assert len(await world.claim(10)) == 2


async def test_pausing_twice_or_what_is_over_does_nothing(world: World) -> None:
    await world.submit(tracking_id="done")
    await world.run_all()
    assert not await world.store.pause_lineage("done", by="ada")
    assert not await world.store.pause_lineage("unknown", by="ada")
    assert not await world.store.resume_queue("default", by="ada")
    await pause(world, "queue", "default")
    assert not await world.store.pause_queue("default", by="ada")
    acts = [(act.act, act.subject, act.by, act.reason) for act in await world.store.acts()]
    assert acts == [("pause_queue", "default", "ada", "provider down")]


async def test_what_was_set_aside_in_great_number_is_freed_to_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.store.state.apply.RELEASE_BATCH", 7)
    assert RELEASE_BATCH > 7
    await world.submit(*(world.task() for _ in range(30)))
    await pause(world, "lineage")
    assert await world.claim(100) == []
    await resume(world, "lineage")
    await world.sweep()
    assert len(await world.claim(100)) == 30
