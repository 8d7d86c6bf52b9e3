"""Handlers that wait inside: where no slot is left for what they wait for, it is found and named."""

from __future__ import annotations

import pytest

from ramet.engine.explain.explain import explain
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import WorkerStatus
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from tests.support.world import World


async def serve(world: World, name: str, slots: int, *kinds: str) -> None:
    """A living worker with so many slots for these kinds."""
    now = world.clock.now
    await world.store.see_worker(WorkerStatus(name, "here", 1, kinds, ("default",), slots, now, now))


async def waiting(world: World, number: int, *, of: int = 0) -> tuple[ClaimedTask, str]:
    """A claimed page, and an image that it waits for inside; noted under a fence that differs by ``of``."""
    await world.submit(world.task(), tracking_id=f"page {number}")
    claimed = await world.claim_one(kinds=("page",))
    [image] = await world.submit(world.task(kind="image"), tracking_id=f"image {number}")
    await world.store.note_wait(claimed.standing.seq, claimed.standing.fence + of, image)
    return claimed, image


async def test_a_stale_claim_notes_nothing(world: World) -> None:
    await serve(world, "w", 1, "page", "image")
    claimed, _ = await waiting(world, 1, of=1)
    assert await world.store.handler_waits(claimed.id) == []
    assert await world.store.starved() == []


async def test_a_note_counts_for_no_later_claim(world: World) -> None:
    await serve(world, "w", 1, "page", "image")
    claimed, _ = await waiting(world, 1)
    await world.settle(claimed, ev.HandBack(claimed.standing.fence))
    assert await world.store.starved() == []
    await world.claim_one(kinds=("page",))
    assert await world.store.starved() == []
    assert await world.store.handler_waits(claimed.id) == []


async def test_slots_that_all_wait_are_found_until_one_is_free(world: World) -> None:
    await serve(world, "w", 2, "page", "image")
    first, image = await waiting(world, 1)
    assert await world.store.starved() == [], "a slot is free"
    second, _ = await waiting(world, 2)
    [found] = await world.store.starved()
    assert (found.kind, found.queue, found.slots) == ("image", "default", 2)
    assert (found.waiter_id, found.waiter_kind, found.awaited_id) == (first.id, "page", image)
    await world.store.forget_wait(second.standing.seq, second.standing.fence)
    assert await world.store.starved() == []


async def test_a_worker_of_others_or_what_runs_already_is_no_starvation(world: World) -> None:
    await serve(world, "w", 1, "page", "image")
    await waiting(world, 1)
    assert len(await world.store.starved()) == 1
    await serve(world, "v", 1, "image")
    assert await world.store.starved() == []
    await world.claim_one(kinds=("image",), worker="v")
    assert await world.store.starved() == []


async def test_a_limit_of_its_kind_counts_as_the_slots_that_there_are(world: World) -> None:
    await serve(world, "w", 9, "page")
    await world.store.limit("kind", "page", 1, by="ada")
    await world.submit(world.task("a"), world.task("b"))
    claimed = await world.claim_one()
    [other] = [task.id for task in await world.store.roots("line") if task.id != claimed.id]
    await world.store.note_wait(claimed.standing.seq, claimed.standing.fence, other)
    [found] = await world.store.starved()
    assert (found.kind, found.slots) == ("page", 1)


async def test_it_is_an_alert_until_a_slot_is_free_and_explained_on_both_sides(world: World) -> None:
    await serve(world, "w", 1, "page", "image")
    claimed, image = await waiting(world, 1)
    words = (
        "every slot (1) in which tasks of kind image in queue default can run is held by a handler that waits inside "
        f"(task {claimed.id} for task {image})"
    )
    step = await world.store.look(MonitorLimits(), force=True)
    [alert] = [one for one in step.fired if one.pattern == "slot_starvation"]
    assert (alert.severity, alert.subject.partition(": ")[0]) == ("critical", words)
    waits, held = await explain(world.store, image), await explain(world.store, claimed.id)
    assert waits is not None
    assert held is not None
    assert (waits.why[0].code, waits.headline, waits.why[0].facts["task"]) == ("starved", words, claimed.id)
    assert [(cause.code, cause.facts.get("task")) for cause in held.why] == [("running", None), ("waits_inside", image)]
    await world.settle(claimed)
    step = await world.store.look(MonitorLimits(), force=True)
    assert [one.pattern for one in step.resolved] == ["slot_starvation"]


@pytest.mark.parametrize(
    ("slots", "kinds", "limit", "starves"),
    [
        (2, ("page", "image"), None, True),
        (2, ("page", "image"), 2, True),
        (2, ("page", "image"), 1, False),
        (2, ("image",), None, False),
        (0, (), None, False),
    ],
    ids=["no limit", "as many as slots", "fewer than slots", "a worker of its own", "no worker"],
)
async def test_handlers_of_another_kind_could_hold_every_slot(
    world: World, slots: int, kinds: tuple[str, ...], limit: int | None, starves: bool
) -> None:
    if kinds:
        await serve(world, "w", slots, *kinds)
    await world.store.limit("kind", "page", limit, by="ada")
    [page, image] = await world.submit(world.task(), world.task(kind="image"))
    claimed = await world.claim_one(kinds=("page",))
    assert claimed.id == page
    assert await world.store.may_starve([claimed.standing.seq], image) is starves


async def test_handlers_of_the_same_kind_always_could_and_what_runs_needs_no_slot(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"))
    claimed, other = await world.claim_one(), next(reversed(await world.store.roots("line")))
    assert await world.store.may_starve([claimed.standing.seq], other.id)
    await world.claim_one()
    assert not await world.store.may_starve([claimed.standing.seq], other.id)


async def test_a_kind_that_nobody_serves_is_alerted_with_who_waits_for_it(world: World) -> None:
    await serve(world, "w", 1, "page")
    [root] = await world.submit()
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[world.task(kind="image")])
    [found] = await world.store.unserved()
    assert (found.kind, found.waiter) == ("image", root)
    step = await world.store.look(MonitorLimits(), force=True)
    [alert] = [one for one in step.fired if one.pattern == "unserved"]
    assert alert.subject.endswith(f"start one that does; task {root} waits for one of them")
