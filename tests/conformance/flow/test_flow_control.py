"""Limits of concurrency and rate, breakers and pauses of resources: exact under any number of claimers (DESIGN §10)."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy, ResponseLimits
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, NewLineage, SettingChange
from ramet.store.store import Store
from tests.support.backends import Backend
from tests.support.world import LEASE_SECONDS, World, failing, hand_back, in_threads, settlement

HOST = "host:a"


async def limited(world: World, pattern: str = HOST, **fields: Any) -> None:
    await world.store.limit_resource(ResourcePolicy(pattern, **fields), by="ada")


async def submit(world: World, tasks: int, tracking_id: str = "line", **fields: Any) -> None:
    await world.submit(*(world.task(**fields) for _ in range(tasks)), tracking_id=tracking_id)


# --- concurrency


@pytest.mark.parametrize("what", ["queue", "kind"])
async def test_a_limited_queue_or_kind_has_no_more_claims_at_once(world: World, what: str) -> None:
    await world.store.limit(what, "default" if what == "queue" else "page", 3, by="ada")
    await submit(world, 10)
    taken = await world.claim(100)
    assert len(taken) == 3
    assert await world.claim(100) == []
    await world.settle(taken[0])
    assert len(await world.claim(100)) == 1
    await world.store.limit(what, "default" if what == "queue" else "page", None, by="ada")
    assert len(await world.claim(100)) == 6


async def test_a_limited_kind_leaves_room_to_the_others(world: World) -> None:
    await world.store.limit("kind", "page", 1, by="ada")
    await submit(world, 5)
    await submit(world, 5, "second", kind="image")
    kinds = [claimed.standing.kind for claimed in await world.claim(6)]
    assert sorted(kinds) == ["image"] * 5 + ["page"]


async def test_a_resource_has_no_more_claims_at_once_whatever_the_kind_and_queue(world: World) -> None:
    await limited(world, concurrency=2)
    await submit(world, 3, resource=HOST)
    await submit(world, 3, "second", resource=HOST, kind="image", queue="q")
    await submit(world, 1, "third", resource="host:b")
    taken = await world.claim(100, queues=("default", "q"))
    assert sorted(str(item.standing.resource) for item in taken) == [HOST, HOST, "host:b"]
    [freed] = [item for item in taken if item.standing.resource == HOST][:1]
    await world.settle(freed)
    assert len(await world.claim(100, queues=("default", "q"))) == 1


@pytest.mark.parametrize("limit", ["queue", "resource"])
async def test_a_claim_that_was_lost_frees_its_slot_when_its_lease_lapses(world: World, limit: str) -> None:
    if limit == "queue":
        await world.store.limit("queue", "default", 1, by="ada")
    else:
        await limited(world, concurrency=1)
    await submit(world, 2, resource=HOST if limit == "resource" else None)
    await world.claim_one()
    world.clock.advance(LEASE_SECONDS)
    assert len(await world.claim(10)) == 1


@pytest.mark.parametrize("how", ["acknowledged", "settled", "lapsed"])
@pytest.mark.parametrize("end", ["task", "lineage"])
async def test_a_task_ended_from_outside_keeps_its_slot_until_its_worker_let_go(
    world: World, how: str, end: str
) -> None:
    await world.store.limit("kind", "page", 1, by="ada")
    [first] = await world.submit(tracking_id="first")
    claimed = await world.claim_one()
    await submit(world, 1, "second")
    if end == "task":
        await world.store.cancel(first, tree=False, by="ada")
    else:
        await world.store.cancel_lineage("first", by="ada")
        await world.sweep()
    assert await world.state(first) == "cancelled"
    assert await world.claim(1) == []
    if how == "acknowledged":
        assert await world.store.acknowledge([(claimed.standing.seq, 1), (99, 1)]) == 1
    elif how == "settled":
        assert (await world.settle(claimed)).refused is not None
    else:
        world.clock.advance(LEASE_SECONDS)
        await world.sweep()
    assert len(await world.claim(1)) == 1
    assert await world.store.read("SELECT * FROM ramet_holds") == []


async def test_a_persons_limit_is_stronger_than_what_the_app_declares(world: World) -> None:
    declared = DeclaredFlow({"default": 5}, {"page": 4}, [ResourcePolicy(HOST, concurrency=3)])
    await world.store.declare(declared)
    await submit(world, 10)
    assert len(await world.claim(100)) == 4
    await world.store.limit("kind", "page", 5, by="ada")
    await limited(world, concurrency=1)
    await world.store.declare(declared)
    assert [(limit.name, limit.concurrency, limit.explicit) for limit in await world.store.kind_limits()] == [
        ("page", 5, True)
    ]
    assert [(policy.concurrency, policy.explicit) for policy in await world.store.policies()] == [(1, True)]
    await world.store.declare(DeclaredFlow({"default": None}, {"page": None}, []))
    [queue] = await world.store.queues()
    assert (queue.concurrency, queue.explicit) == (None, False)
    assert len(await world.claim(100)) == 1


async def test_two_claimers_at_once_never_exceed_a_limit(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    await stores[0].limit("queue", "default", 5, by="ada")
    await stores[0].limit_resource(ResourcePolicy("host:*", concurrency=3), by="ada")
    roots = [NewTask(f"t{n}", "page", f"k{n}", "null", resource="host:a" if n % 2 else None) for n in range(200)]
    await stores[0].submit([NewLineage("line", roots)])
    most: list[tuple[int, int]] = []

    async def work(store: Store, name: str) -> None:
        while True:
            taken = await store.claim(ClaimRequest(name, ("default",), ("page",), 4, LEASE_SECONDS))
            usage = await store.usage()
            most.append((usage.queues.get("default", 0), usage.resources.get("host:a", 0)))
            await store.settle([settlement(item) for item in taken])
            if not taken and await store.idle(["page"]):
                return

    await in_threads(*(partial(work, store, f"w{n}") for n, store in enumerate(stores)))
    assert max(queue for queue, _ in most) <= 5
    assert max(resource for _, resource in most) <= 3
    for store in stores:
        await store.close()


# --- rates


async def test_a_rate_lets_a_burst_through_and_then_one_by_one(world: World) -> None:
    await limited(world, rate_per_second=2.0, burst=3.0)
    await submit(world, 10, resource=HOST)
    assert len(await world.claim(100)) == 3
    assert await world.claim(100) == []
    assert await world.store.next_due_at() == pytest.approx(world.clock.now + 0.5)
    world.clock.advance(0.5)
    assert len(await world.claim(100)) == 1
    world.clock.advance(1.0)
    assert len(await world.claim(100)) == 2


async def test_a_claim_that_goes_back_unstarted_gives_its_token_back(world: World) -> None:
    await limited(world, rate_per_second=0.001, burst=2.0)
    await submit(world, 5, resource=HOST)
    first, _ = await world.claim(100)
    assert await world.claim(100) == []
    await world.settle(first, hand_back(first))
    assert len(await world.claim(100)) == 1


async def test_a_rate_is_shared_by_all_who_claim(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    burst, rate = 5.0, 50.0
    await stores[0].limit_resource(ResourcePolicy("host:*", rate_per_second=rate, burst=burst), by="ada")
    roots = [NewTask(f"t{n}", "page", f"k{n}", "null", resource="host:a") for n in range(40)]
    await stores[0].submit([NewLineage("line", roots)])
    taken: list[ClaimedTask] = []
    began = time.time()

    async def work(store: Store, name: str) -> None:
        while len(taken) < len(roots):
            taken.extend(await store.claim(ClaimRequest(name, ("default",), ("page",), 4, LEASE_SECONDS)))

    await in_threads(*(partial(work, store, f"w{n}") for n, store in enumerate(stores)))
    at = sorted(item.standing.claimed_at for item in taken)
    assert at[0] >= began
    for first in range(len(at)):
        for last in range(first, len(at)):
            assert last - first + 1 <= burst + rate * (at[last] - at[first]) + 0.001
    for store in stores:
        await store.close()


async def test_in_one_order_with_what_has_no_resource(world: World) -> None:
    await submit(world, 1, resource=HOST, priority=1)
    await submit(world, 1, "second", priority=2)
    await submit(world, 1, "third", resource="host:b", priority=3)
    assert [item.standing.rank for item in await world.claim(2)] == [-3, -2]
    assert [item.standing.rank for item in await world.claim(2)] == [-1]


async def test_delayed_retried_and_revived_tasks_go_through_their_resource_again(world: World) -> None:
    await limited(world, concurrency=1, breaker_failures=0)
    await world.submit(world.task("a", resource=HOST, delay_seconds=5.0), world.task("b", resource=HOST))
    first = await world.claim_one()
    world.clock.advance(5.0)
    assert await world.claim(10) == []
    await world.settle(first, failing(first, "busy", "transient"))
    world.clock.advance(10.0)
    assert [item.key for item in await world.claim(10)] == ["a"]
    assert [item.key for item in await world.claim(10)] == []
    waits = dict(await world.store.read("SELECT wait, COUNT(*) FROM ramet_live WHERE state = 'pending' GROUP BY wait"))
    assert waits == {"resource": 1}


async def test_the_claim_that_finds_a_task_due_takes_it_through_its_resource(world: World) -> None:
    await submit(world, 1, resource=HOST, delay_seconds=60.0)
    assert await world.claim() == []
    world.clock.advance(60.0)
    assert len(await world.claim()) == 1


async def test_the_claim_that_takes_a_stale_one_back_takes_it_through_its_resource(world: World) -> None:
    await limited(world, concurrency=5)
    await world.store.limit("queue", "default", 1, by="ada")
    await submit(world, 1, resource=HOST)
    [first] = await world.claim()
    world.clock.advance(LEASE_SECONDS + 1)
    [again] = await world.claim()
    assert again.standing.fence == first.standing.fence + 1


async def test_a_resource_of_another_workers_kind_holds_back_nobody(world: World) -> None:
    await submit(world, 3, resource=HOST, kind="image")
    await submit(world, 3, "second", resource="host:b")
    assert len(await world.claim(10, kinds=("page",))) == 3
    assert await world.claim(10, kinds=("page",)) == []
    assert len(await world.claim(10, kinds=("image",))) == 3


# --- breakers and pauses


async def fail(world: World, times: int, error_class: str = "transient") -> None:
    for _ in range(times):
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed, "503", error_class))


async def test_with_a_cool_down_attempts_count_and_its_tasks_wait(world: World) -> None:
    await limited(world, cooldown_seconds=60.0)
    await submit(world, 20, resource=HOST)
    await fail(world, 5)
    assert await world.claim(10) == []
    await world.sweep()
    [resource] = await world.store.resources(HOST)
    assert resource.opened_reason == "5 failures in a row, the last: 503"
    world.clock.advance(60.0)
    probe, *others = await world.claim(10)
    assert others == []
    assert await world.claim(10) == []
    await world.settle(probe)
    assert len(await world.claim(10)) == 10


async def test_a_failed_probe_opens_the_breaker_again(world: World) -> None:
    await limited(world, cooldown_seconds=60.0)
    await submit(world, 20, resource=HOST)
    await fail(world, 5)
    world.clock.advance(60.0)
    await fail(world, 1)
    world.clock.advance(59.0)
    assert await world.claim(10) == []
    world.clock.advance(1.0)
    assert len(await world.claim(10)) == 1


async def test_a_success_between_failures_and_a_permanent_error_open_nothing(world: World) -> None:
    await limited(world, cooldown_seconds=60.0)
    await submit(world, 30, resource=HOST)
    await fail(world, 4)
    await world.settle(await world.claim_one())
    await fail(world, 4)
    await fail(world, 5, "permanent")
    assert len(await world.claim(10)) == 10


async def test_without_a_cool_down_tasks_count_and_what_waits_is_skipped(world: World) -> None:
    await submit(world, 20, resource=HOST)
    await submit(world, 2, "second", resource="host:b")
    late = world.task("late", resource=HOST, delay_seconds=30.0)
    await world.submit(late, tracking_id="third")
    for _ in range(5):
        claimed = (await world.claim(1))[0]
        while claimed.standing.resource != HOST:
            await world.settle(claimed)
            claimed = (await world.claim(1))[0]
        await world.settle(claimed, failing(claimed, "gone", "permanent"))
    assert [item.standing.resource for item in await world.claim(100) if item.standing.resource == HOST] == []
    await world.sweep()
    states = await world.store.read("SELECT state, COUNT(*) FROM ramet_tasks WHERE tracking_id = 'line' GROUP BY state")
    assert dict(states) == {"failed": 5, "skipped": 15}
    world.clock.advance(30.0)
    await world.sweep()
    task = await world.get(late.id)
    assert task.state == "skipped"
    assert task.reason == f"source_disabled: {HOST}, 5 failures in a row, the last: gone"


async def test_a_retry_is_no_failure_where_tasks_count(world: World) -> None:
    await submit(world, 20, resource=HOST)
    await fail(world, 5)
    assert len(await world.claim(100)) == 15


async def test_a_person_opens_and_closes_a_breaker(world: World) -> None:
    await submit(world, 2, resource=HOST)
    assert await world.store.open_breaker(HOST, by="ada", reason="asked us to stop")
    assert not await world.store.open_breaker(HOST, by="ada")
    assert await world.claim(10) == []
    assert await world.store.close_breaker(HOST, by="ada")
    assert not await world.store.close_breaker(HOST, by="ada")
    assert len(await world.claim(10)) == 2
    acts = [(act.act, act.subject, act.reason) for act in await world.store.acts()]
    assert acts == [("close_breaker", HOST, None), ("open_breaker", HOST, "asked us to stop")]


@pytest.mark.parametrize("named", ["", HOST])
async def test_a_server_that_names_a_time_pauses_its_resource_for_everybody(world: World, named: str) -> None:
    await submit(world, 3, resource=HOST)
    claimed = await world.claim_one()
    answer = await world.settle(claimed, ev.Snooze(1, 60.0, "retry after 60 s", named))
    assert answer.state == "pending"
    assert await world.claim(10) == []
    world.clock.advance(59.0)
    assert await world.claim(10) == []
    world.clock.advance(1.0)
    assert len(await world.claim(10)) == 3
    assert (await world.get(claimed.id)).snoozes == 1


@pytest.mark.parametrize("seconds", [30.0, 130.0, 7_200.0, 259_200.0])
async def test_the_time_that_a_server_names_is_kept_whatever_its_size(world: World, seconds: float) -> None:
    """Up to three days: for the task itself and, where it has one, for its resource. It costs no attempt."""
    with_resource = world.task(resource=HOST, task_seconds=None)
    without = world.task(kind="image", task_seconds=None)
    ids = await world.submit(with_resource, without, lineage_seconds=1_000_000.0)
    named_at = world.clock.now
    for claimed in await world.claim(2):
        snooze = ev.Snooze(claimed.standing.fence, seconds, f"retry after {seconds:g} s", "")
        await world.settle(claimed, snooze)
    tasks = [await world.get(task_id) for task_id in ids]
    assert [(task.available_at, task.attempts, task.snoozes) for task in tasks] == [(named_at + seconds, 0, 1)] * 2
    [resource] = await world.store.resources()
    assert (resource.name, resource.paused_until) == (HOST, named_at + seconds)
    await world.submit(world.task(resource=HOST), tracking_id="other", lineage_seconds=1_000_000.0)
    world.clock.advance(seconds - 1.0)
    await world.sweep()
    assert await world.claim(10) == []
    world.clock.advance(1.0)
    assert len(await world.claim(10)) == 3


async def test_a_time_beyond_the_deadline_is_cut_by_it_alone(world: World) -> None:
    """The task is failed at its deadline, or polled then if only time ends it; the resource stays paused."""
    counted, timed = world.task(task_seconds=100.0), world.task(task_seconds=100.0, max_attempts=None)
    ids = await world.submit(counted, timed, max_cost=1)
    for claimed in await world.claim(2):
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 259_200.0, "retry after 3 days", HOST))
    [resource] = await world.store.resources()
    assert resource.paused_until == world.clock.now + 259_200.0
    world.clock.advance(100.0)
    await world.sweep()
    assert await world.states(*ids) == ["failed", "pending"]
    last = await world.claim_one()
    assert (last.id, last.standing.attempts) == (ids[1], 1)
    await world.settle(last, ev.Snooze(last.standing.fence, 259_200.0, "retry after 3 days", HOST))
    assert (await world.get(ids[1])).reason == "task_deadline: retry after 3 days"


async def test_an_ordinary_snooze_pauses_nothing(world: World) -> None:
    await submit(world, 3, resource=HOST)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(1, 60.0))
    assert len(await world.claim(10)) == 2


async def test_a_paused_lineage_keeps_its_tasks_and_a_resource_its_tokens(world: World) -> None:
    await limited(world, rate_per_second=0.001, burst=1.0)
    await submit(world, 3, resource=HOST)
    await world.store.pause_lineage("line", by="ada")
    assert await world.claim(10) == []
    await world.store.resume_lineage("line", by="ada")
    assert len(await world.claim(10)) == 1


async def test_a_resource_that_nobody_uses_any_more_is_forgotten_once_its_rate_has_recovered(world: World) -> None:
    await limited(world, rate_per_second=0.00001, burst=2.0)
    await submit(world, 1, resource=HOST)
    await submit(world, 1, "second", resource="host:b")
    await world.run_all()
    assert await world.claim(1) == []
    world.clock.advance(90_000.0)
    await world.sweep()
    assert [resource.name for resource in await world.store.resources()] == [HOST]
    world.clock.advance(90_000.0)
    await world.sweep()
    assert await world.store.resources() == []


@pytest.mark.parametrize("seconds", [259_201.0, 1e9, float("inf")])
async def test_a_servers_word_pauses_a_resource_for_three_days_at_most(world: World, seconds: float) -> None:
    await world.submit(world.task("a", resource=HOST), world.task("b", resource=HOST))
    [claimed] = await world.claim(1)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, seconds, "later", ""))
    [resource] = await world.store.resources(HOST)
    assert resource.paused_until == world.clock.now + 259_200.0
    task = await world.store.get(claimed.id)
    assert task is not None
    assert task.available_at == world.clock.now + 259_200.0


async def test_how_long_a_servers_word_pauses_is_a_setting(world: World) -> None:
    await world.store.change_settings(
        [SettingChange("resources.pause_seconds_max", 60.0, "float", "")], by="tester", reason=None
    )
    await world.submit(world.task("a", resource=HOST))
    [claimed] = await world.claim(1)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 7_200.0, "later", ""))
    await world.store.adapt("other", ResponseLimits(remaining=0.0, reset_seconds=1e9))
    names = {row.name: row.paused_until for row in await world.store.resources(None)}
    assert names[HOST] == names["other"] == world.clock.now + 60.0
