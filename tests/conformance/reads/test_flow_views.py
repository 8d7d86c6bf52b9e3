"""What waits where, who has what, what one task cost and whom a key has: as many as a count of all rows would say."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy
from ramet.model.money import ActualCost, Charge, ReserveRequest
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import LIVE, Block
from ramet.model.views import Backlog, BoundedCount, TaskCalls, WaitReason
from ramet.store.reads import details, flow, lineages, tree
from ramet.store.requests import TaskQuery
from tests.support.world import LEASE_SECONDS, World, failing

BEGUN = 1_800_000_000.0


async def wait_for_everything(world: World) -> None:
    """Tasks in two queues that wait for a worker, their time, a path, a lineage and a resource."""
    await world.submit(world.task(), world.task(queue="night"), tracking_id="paused")
    await world.store.pause_lineage("paused", by="test")
    assert await world.claim(5) == [], "a claim sets aside what it meets of a lineage that does not run"
    await world.store.declare(DeclaredFlow({}, {}, [ResourcePolicy("slow", rate_per_second=0.001)]))
    await world.submit(*(world.task(path=PathRule(("doc",))) for _ in range(3)), tracking_id="line")
    await world.submit(world.task(delay_seconds=90.0, queue="night"), tracking_id="late")
    await world.submit(*(world.task(resource="slow") for _ in range(2)), tracking_id="slow")
    world.clock.advance(5.0)
    await world.submit(*(world.task(kind="image", priority=5) for _ in range(4)), tracking_id="free")


async def test_what_waits_in_each_queue_is_counted_by_what_it_waits_for(world: World) -> None:
    await wait_for_everything(world)
    live = (await world.store.tasks(TaskQuery(states=LIVE, limit=1_000))).tasks
    there: dict[str, Counter[str]] = defaultdict(Counter)
    for task in live:
        there[task.queue][task.wait or ""] += 1
    found = await world.store.backlogs()
    assert [one.name for one in found] == ["default", "night"]
    for one in found:
        counted = {"": one.waiting, **one.held_back}
        assert {wait: count for wait, count in counted.items() if count.number} == {
            wait: BoundedCount(number) for wait, number in there[one.name].items()
        }
    [default, night] = found
    [first, *_] = (await world.store.tasks(TaskQuery(tracking_id="line", limit=9))).tasks
    assert (default.kinds, default.oldest, default.oldest_at) == (("image", "page"), first.id, BEGUN)
    assert (night.kinds, night.oldest_at) == (("page",), BEGUN)


async def test_what_waits_for_a_resource_is_counted_and_the_first_of_it_named(world: World) -> None:
    await wait_for_everything(world)
    [first, _] = (await world.store.tasks(TaskQuery(tracking_id="slow", limit=9))).tasks
    assert await world.store.resource_backlogs(["slow", "nobody", "slow"]) == {
        "slow": Backlog("slow", BoundedCount(2), BEGUN, first.id)
    }


async def test_counting_what_waits_stops_at_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "COUNT_MAX", 2)
    monkeypatch.setattr(flow, "HELD_BACK_LOOKS_MAX", 1)
    await world.submit(*(world.task(resource="slow") for _ in range(3)), tracking_id="slow")
    await world.submit(*(world.task() for _ in range(3)), tracking_id="free")
    [backlog] = await world.store.backlogs()
    assert (backlog.waiting, backlog.held_back["resource"]) == (BoundedCount(2, more=True), BoundedCount(2, more=True))
    assert (await world.store.resource_backlogs(["slow"]))["slow"].waiting == BoundedCount(2, more=True)


async def test_nothing_waits_in_an_empty_database(world: World) -> None:
    assert await world.store.backlogs() == ()
    assert await world.store.resource_backlogs([]) == {}
    assert (await world.store.in_hand()).tasks == ()


async def test_claims_come_by_the_end_of_their_lease_and_are_counted_for_each_worker(world: World) -> None:
    await world.submit(*(world.task() for _ in range(4)))
    [late] = await world.claim(1, lease_seconds=900.0)
    early = await world.claim(2, worker="other", lease_seconds=30.0)
    found = await world.store.in_hand()
    assert found.workers == {"w": 1, "other": 2}
    assert [task.id for task in found.tasks] == [*(claimed.id for claimed in early), late.id]
    last = found.tasks[-1]
    assert (last.worker, last.tracking_id, last.claimed_at, last.lease_until) == ("w", "line", BEGUN, BEGUN + 900.0)
    assert (last.fence, last.attempts) == (late.standing.fence, late.standing.attempts)
    assert (await world.get(late.id)).claimed_at == BEGUN
    short = await world.store.in_hand(limit=1)
    assert (len(short.tasks), short.workers) == (1, found.workers)
    await world.settle(late)
    assert (await world.get(late.id)).claimed_at is None


async def test_what_made_tasks_wait_for_their_time_is_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.submit(*(world.task() for _ in range(5)), world.task(kind="image", delay_seconds=60.0), world.task())
    snoozed = ev.Snooze(1, 30.0, "no model")
    ends: list[ev.Event | None] = [snoozed, snoozed, None, None, ev.HandBack(1, 30.0)]
    for claimed, end in zip(await world.claim(5), ends, strict=True):
        await world.settle(claimed, end or failing(claimed, "busy", "transient"))
    found = await world.store.delays("line")
    assert found == (
        WaitReason("page", "error", "transient", BoundedCount(2)),
        WaitReason("page", "snooze", "no model", BoundedCount(2)),
        WaitReason("image", None, None, BoundedCount(1)),
        WaitReason("page", "returned", "handed_back", BoundedCount(1)),
    )
    assert await world.store.delays("nobody") == ()
    monkeypatch.setattr(tree, "LINEAGE_LOOKS_MAX", 6)
    assert all(delay.tasks.more for delay in await world.store.delays("line"))


# --- refused spawns


async def refuse(world: World) -> list[Block]:
    """A lineage with refused spawns of two kinds, for two reasons."""
    await world.submit(world.task("hub"), max_tasks=12)
    hub = await world.claim_one()
    await world.grow(hub, *(world.task(f"k{number}") for number in range(5)))
    [first, *_] = await world.claim(5)
    wanted = [world.task(f"k{number}") for number in range(5)]
    images = [world.task(f"i{number}", kind="image") for number in range(8)]
    await world.settle(first, spawns=[*wanted, *images])
    return await world.store.blocks("line")


async def test_pages_of_refused_spawns_list_each_once_however_they_are_filtered(world: World) -> None:
    every = await refuse(world)
    assert len({block.reason for block in every}) > 1
    assert len({block.kind for block in every}) > 1
    filters: list[dict[str, str]] = [
        {}, {"kind": "image"}, {"reason": every[-1].reason}, {"key": every[0].key},
        {"kind": every[0].kind, "key": every[0].key, "reason": every[0].reason}, {"kind": "nothing"},
    ]  # fmt: skip
    for asked in filters:
        expected = [block for block in every if all(getattr(block, name) == value for name, value in asked.items())]
        for limit in (1, 2, 50):
            found, after = list[Block](), None
            while True:
                keys = [asked["key"], "another"] if "key" in asked else []
                others = {name: value for name, value in asked.items() if name != "key"}
                page = await world.store.block_page("line", limit=limit, after=after, keys=keys, **others)
                assert len(page.blocks) <= limit
                found += page.blocks
                after = page.next_after
                if after is None:
                    break
            assert found == expected


async def test_a_page_of_refused_spawns_looks_at_a_bounded_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = await refuse(world)
    monkeypatch.setattr(details, "BLOCK_LOOKS_MAX", 2)
    looks, after, found = 0, None, list[Block]()
    while True:
        page = await world.store.block_page("line", keys=[every[-1].key], after=after)
        looks, after, found = looks + 1, page.next_after, [*found, *page.blocks]
        if after is None:
            break
    assert found == [every[-1]]
    assert looks > len(every) // 2


@pytest.mark.parametrize("after", ["", "x", "[]", '["a", "b"]', '["a", "b", 3]', '["a", "b", "\\u0000"]', "[" * 5_000])
async def test_a_page_of_refused_spawns_begins_where_one_ended(world: World, after: str) -> None:
    with pytest.raises(ValueError, match="page of refused spawns"):
        await world.store.block_page("line", after=after)


# --- one task, one key


async def test_what_a_task_cost_is_what_it_reserved_and_was_charged(world: World) -> None:
    await world.submit(world.task(), world.task())
    claimed, other = await world.claim(2)
    requests = [
        ReserveRequest(f"r{number}", claimed.standing.seq, claimed.standing.fence, 10 * number) for number in (1, 2)
    ]
    for request in requests:
        await world.store.reserve([request])
        world.clock.advance(1.0)
    await world.store.settle_reserved([ActualCost("r1", 12)])
    await world.settle(claimed, ev.Checkpoint(claimed.standing.fence, LEASE_SECONDS), charge=Charge("c", 5))
    found = await world.store.task_calls(claimed.id)
    assert found is not None
    assert (found.calls, found.spent, found.reserved, found.more) == (3, 17, 20, False)
    told = [(call.id, call.amount, call.actual, call.settled_at is None) for call in found.latest]
    assert told == [("c", 0, 5, False), ("r2", 20, None, True), ("r1", 10, 12, False)]
    short = await world.store.task_calls(claimed.id, limit=1)
    assert short is not None
    assert (short.calls, len(short.latest)) == (3, 1)
    assert await world.store.task_calls(other.id) == TaskCalls(0, 0, 0, False, ())
    assert await world.store.task_calls("nobody") is None


async def test_tasks_with_a_key_are_found_in_every_lineage_whatever_their_kind(world: World) -> None:
    [one] = await world.submit(world.task("wanted"), tracking_id="one")
    [two] = await world.submit(world.task("wanted", kind="image"), tracking_id="two")
    await world.submit(world.task("other"), tracking_id="three")
    assert {task.id for task in await world.store.tasks_with_key("wanted")} == {one, two}
    assert len(await world.store.tasks_with_key("wanted", limit=1)) == 1
    assert await world.store.tasks_with_key("nothing") == ()


# --- lineages in other orders


async def test_lineages_come_by_how_full_they_are(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)), tracking_id="three of ten", max_tasks=10)
    await world.submit(*(world.task() for _ in range(2)), tracking_id="two of three", max_tasks=3)
    await world.submit(tracking_id="poor", max_tasks=1_000, max_cost=100)
    [claimed] = [claimed for claimed in await world.claim(9) if claimed.standing.tracking_id == "poor"]
    await world.store.reserve([ReserveRequest("r", claimed.standing.seq, claimed.standing.fence, 90)])
    page = await world.store.lineage_page(order="fullest")
    assert [one.tracking_id for one in page.lineages] == ["poor", "two of three", "three of ten"]
    await world.store.pause_lineage("poor", by="test")
    page = await world.store.lineage_page(order="fullest", states=["running"], limit=1)
    assert [one.tracking_id for one in page.lineages] == ["two of three"]


async def test_open_lineages_come_by_what_ends_first(world: World) -> None:
    for name, seconds in (("slow", 500.0), ("fast", 50.0), ("over", 5.0)):
        await world.submit(tracking_id=name, lineage_seconds=seconds)
    await world.store.cancel_lineage("over", by="test")
    page = await world.store.lineage_page(order="deadline")
    assert [one.tracking_id for one in page.lineages] == ["fast", "slow"]
    assert (await world.store.lineage_page(order="deadline", states=["cancelled"])).lineages == ()
    with pytest.raises(ValueError, match="is not an order"):
        await world.store.lineage_page(order="odd")


async def test_lineages_are_found_by_how_their_name_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["batch 1", "batch 10", "batch 2", "Batch", "other", "batch%", "batch_", "batch \U0001f33f"]
    for name in names:
        await world.submit(tracking_id=name)
    for name in ("batch 10", "other"):
        await world.store.cancel_lineage(name, by="test")
    expected = sorted(name for name in names if name.startswith("batch"))
    for looks in (10_000, 2):
        monkeypatch.setattr(lineages, "COUNT_MAX", looks)
        for limit, states, wanted in (
            (2, (), expected), (50, (), expected), (50, ("running",), [n for n in expected if n != "batch 10"]),
        ):  # fmt: skip
            found, before = list[str](), None
            while True:
                page = await world.store.lineage_page(prefix="batch", limit=limit, states=states, before=before)
                found += [one.tracking_id for one in page.lineages]
                before = page.next_before
                if before is None:
                    break
            assert found == wanted
