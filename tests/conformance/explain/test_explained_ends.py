"""One scripted world per end and per rarer wait: code and sentence; together they leave no code untold (promise I8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from ramet.engine.explain.explain import explain
from ramet.model.causes import CODES, ENDED, Cause
from ramet.model.lineage.limits import LOSSES_ALONE_MAX
from ramet.model.money import Charge, ReserveRequest
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.task import After
from tests.support.world import LEASE_SECONDS, World, failing

Script = Callable[[World], Awaitable[str]]


async def causes(world: World, task_id: str) -> tuple[Cause, ...]:
    found = await explain(world.store, task_id)
    assert found is not None
    assert {cause.code for cause in (*found.why, *found.refused)} <= set(CODES)
    return found.why


def relative(world: World, cause: Cause) -> str:
    return cause.said(lambda when: f"{when - world.clock.now:+.0f}")


# --- ends


async def poison(world: World) -> str:
    [task] = await world.submit()
    for _ in range(LOSSES_ALONE_MAX):
        await world.settle(await world.claim_one(), ev.LeaseExpired(alone=True, worker_dead=True))
    return task


async def task_deadline(world: World) -> str:
    [task] = await world.submit(world.task(task_seconds=5.0))
    claimed = await world.claim_one()
    world.clock.advance(10.0)
    await world.settle(claimed, failing(claimed, "busy", "transient"))
    return task


async def lineage_deadline(world: World) -> str:
    [task] = await world.submit(lineage_seconds=5.0)
    world.clock.advance(10.0)
    await world.sweep()
    return task


async def cost(world: World) -> str:
    [task] = await world.submit(max_cost=50)
    claimed = await world.claim_one()
    standing = claimed.standing
    await world.store.reserve([ReserveRequest("call", standing.seq, standing.fence, 10)])
    event = ev.Checkpoint(standing.fence, LEASE_SECONDS)
    await world.settle(claimed, event, charge=Charge("charge", 60))
    await world.sweep()
    return task


async def dependency_failed(world: World) -> str:
    _, child = await world.submit(world.task(path=PathRule(("a",))), world.task(path=PathRule(("a", "b"))))
    await world.settle(claimed := await world.claim_one(), failing(claimed))
    await world.sweep()
    return child


async def skipped_in_turn(world: World) -> str:
    first = world.task("first")
    second = world.task("second", after=After((("page", "first"),)))
    _, _, third = await world.submit(first, second, world.task("third", after=After((("page", "second"),))))
    await world.settle(claimed := await world.claim_one(), failing(claimed))
    await world.sweep()
    return third


async def wait_cycle(world: World) -> str:
    await world.submit(world.task("root"), world.task("other"))
    taken = {claimed.key: claimed for claimed in await world.claim(2)}
    root, other = taken["root"], taken["other"]
    await world.settle(root, ev.Join(root.standing.fence), spawns=[world.task("a")])
    await world.settle(other, spawns=[world.task("behind", after=After(((root.id,),)))])
    claimed = await world.claim_one()
    child = world.task("child", after=After((("page", "behind"),)))
    await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[child])
    return claimed.id


async def joined_failed(world: World) -> str:
    """Its path is shared with the child that failed, which was waited for all the same."""
    [task] = await world.submit(world.task(path=PathRule(("a",))))
    claimed = await world.claim_one()
    child = world.task("part", path=PathRule(("a", "b")))
    await world.settle(claimed, ev.Join(1, skip_on_failure=True), spawns=[child])
    await world.settle(claimed := await world.claim_one(), failing(claimed))
    assert not await world.claim()
    return task


async def source_disabled(world: World) -> str:
    [task] = await world.submit(world.task(resource="api"))
    await world.store.open_breaker("api", by="ada", reason="gone")
    await world.sweep()
    return task


async def cancel_tree(world: World) -> str:
    root, _ = await world.submit(world.task(), world.task("other"))
    [child] = await world.grow(await world.claim_task(root), world.task())
    await world.store.cancel(root, tree=True, by="ada")
    await world.sweep()
    return child


async def chain_depth(world: World) -> str:
    [task] = await world.submit(world.task(max_chain_depth=1))
    for fence in (1, 2):
        await world.settle(await world.claim_one(), ev.Continue(fence, progressed=True))
    return task


async def settled(world: World) -> str:
    task, settler = await world.submit(world.task(), world.task("settler"))
    claimed = await world.claim_task(settler)
    standing = claimed.standing
    [binding] = await world.store.bind(standing.seq, standing.fence, [task])
    assert binding.number is not None
    item = ItemSettlement(task, binding.number, "failed", reason="the provider said no")
    await world.settle(claimed, ev.Checkpoint(standing.fence, LEASE_SECONDS), items=[item])
    return task


async def on_end(world: World) -> str:
    [task] = await world.submit(world.task(on_end=1))
    await world.claim_one()
    await world.store.cancel(task, tree=False, by="ada")
    world.clock.advance(10_000.0)
    await world.sweep()
    return task


async def spawn_refused(world: World) -> str:
    [task] = await world.submit(max_tasks=1)
    await world.settle(await world.claim_one(), spawns=[world.task("more")._replace(required=1)])
    return task


ENDS: list[tuple[Script, str, str]] = [
    (spawn_refused, "spawn_refused", "a spawn that its handler requires was refused (budget)"),
    (poison, "poison", "it took its worker down too often (3 claims lost, 3 of them alone)"),
    (task_deadline, "task_deadline", "the time of the task was over -5"),
    (lineage_deadline, "lineage_deadline", "the time of the lineage was over -5"),
    (cost, "cost", "more was spent than a hard ceiling allows while its call was in flight "
     "(the ceiling of the lineage is $0.00000005, $0.00000006 spent)"),
    (skipped_in_turn, "dependency_failed",
     "a task that it waited for did not succeed (task t2 is skipped, for task t1 is failed, page 'first': broken)"),
    (wait_cycle, "wait_cycle", "a task that it joined with waits for it (task t5)"),
    (dependency_failed, "dependency_failed", "a task before it on its path did not succeed (task t1 is failed)"),
    (joined_failed, "dependency_failed", "a task that it waited for did not succeed (task t2 is failed, page 'part': "
     "broken)"),
    (source_disabled, "source_disabled", "its resource is switched off until a person closes the breaker (api, gone)"),
    (cancel_tree, "cancel_tree", "a person cancelled a task above it, with all below (task t1 is success)"),
    (chain_depth, "chain_depth", "it continued itself as often as it may (1 times)"),
    (settled, "settled", "task t2 (page), which it was bound to, settled it"),
    (on_end, "cancelled", "a person cancelled it or its lineage"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "code", "sentence"), ENDS, ids=[row[0].__name__ for row in ENDS])
async def test_why_a_task_ended(world: World, script: Script, code: str, sentence: str) -> None:
    headline, cause, *rest = await causes(world, await script(world))
    assert (headline.code, cause.code, relative(world, cause)) == ("ended", code, sentence)
    assert [more.code for more in rest] == (["on_end"] if script is on_end else [])


NOT_OF_THE_ENGINE = {"ended", "success", "declared", "cancelled", "imported", "settled", "on_end", "given"}
"""Codes of ends for which the engine alone gives no reason."""


def test_every_reason_of_the_engine_is_the_end_of_some_world() -> None:
    elsewhere = {"no_progress", "permanent_error", "repeated_error", "attempts_exhausted", "excluded"}
    assert elsewhere | {code for _, code, _ in ENDS} >= set(ENDED) - NOT_OF_THE_ENGINE


async def test_an_ancestor_or_the_task_itself_before_a_revive_is_named_as_the_earlier_failure(world: World) -> None:
    [task] = await world.submit()
    await world.settle(claimed := await world.claim_one(), failing(claimed))
    await world.store.revive([task], by="ada")
    await world.settle(claimed := await world.claim_one(), failing(claimed, error_class="unclassified"))
    cause = (await causes(world, task))[1]
    assert relative(world, cause) == (
        f"the same error ended this work before (as task {task}: this one, before it was revived +0)"
    )


async def test_an_earlier_failure_whose_lineage_was_pruned_is_said_to_be_pruned(world: World) -> None:
    await world.submit(world.task(path=PathRule(("a",))), tracking_id="first")
    [task] = await world.submit(world.task(path=PathRule(("a", "b"))), tracking_id="second")
    await world.settle(claimed := await world.claim_one(), failing(claimed))
    world.clock.advance(10.0)
    await world.sweep()
    await world.store.prune(before=world.clock.now - 5.0)
    cause = (await causes(world, task))[1]
    assert cause.said() == "a task before it on its path did not succeed (task t1, which was pruned)"
    assert cause.facts["pruned"] is True


# --- rarer waits


async def ending(world: World) -> str:
    [task] = await world.submit(world.task(on_end=1))
    await world.claim_one()
    await world.store.cancel(task, tree=False, by="ada")
    return task


async def bound(world: World) -> str:
    task, settler = await world.submit(world.task(), world.task("settler"))
    standing = (await world.claim_task(settler)).standing
    await world.store.bind(standing.seq, standing.fence, [task])
    return task


async def pulled(world: World) -> str:
    [task] = await world.submit(world.task(breadth=BY_DUE))
    return task


async def ticket(world: World) -> str:
    [task] = await world.submit(world.task(path=PathRule(("doc",)), delay_seconds=60.0))
    return task


async def lineage_late(world: World) -> str:
    [task] = await world.submit(lineage_seconds=5.0)
    world.clock.advance(10.0)
    return task


async def task_late(world: World) -> str:
    [task] = await world.submit(world.task(task_seconds=5.0))
    claimed = await world.claim_one()
    await world.settle(claimed, replace(failing(claimed, "busy", "transient"), jitter=0.0))
    world.clock.advance(10.0)
    return task


async def returned(world: World) -> str:
    [task] = await world.submit()
    await world.settle(await world.claim_one(), ev.HandBack(1, 30.0))
    return task


async def resource_paused(world: World) -> str:
    task, other = await world.submit(world.task(resource="api"), world.task(resource="api"))
    await world.settle(await world.claim_task(other), ev.Snooze(1, 50.0, "retry after 50 s", "api"))
    return task


WAITS: list[tuple[Script, str, str]] = [
    (ending, "ending",
     "it is ending (cancelled by ada): a worker with the on_end handler of 'page' takes it once more"),
    (bound, "bound", "it is bound to task t2, which settles it"),
    (pulled, "pulled", "it is due, and waits for an invocation that takes tasks of kind 'page' on queue 'default'"),
    (ticket, "ticket", "it takes its place on path doc when it is due, +60"),
    (lineage_late, "lineage_deadline_passed", "the time of its lineage was over -5: the next look ends it"),
    (task_late, "task_deadline_passed", "its time was over -5: the next sweep ends it"),
    (returned, "returned", "it is scheduled for +30 after returned (handed_back)"),
    (resource_paused, "resource_paused", "api is paused until +50: retry after 50 s"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "code", "sentence"), WAITS, ids=[row[1] for row in WAITS])
async def test_why_a_task_waits(world: World, script: Script, code: str, sentence: str) -> None:
    cause = (await causes(world, await script(world)))[0]
    assert (cause.code, relative(world, cause)) == (code, sentence)


async def test_a_lineage_whose_money_is_spent_says_so_beside_what_a_task_waits_for(world: World) -> None:
    one, _ = await world.submit(world.task(), world.task(), max_cost=50)
    claimed = await world.claim_one()
    [other] = {one, "t2"} - {claimed.id}
    event = ev.Checkpoint(claimed.standing.fence, LEASE_SECONDS)
    await world.settle(claimed, event, charge=Charge("charge", 50))
    first, money = await causes(world, other)
    assert (first.code, money.code) == ("no_worker", "lineage_spent")
    assert money.said() == (
        "its lineage has spent $0.00000005 and reserved $0.00 of $0.00000005: calls that cost money are refused"
    )


async def test_all_that_holds_a_task_back_is_told_what_holds_it_now_first(world: World) -> None:
    [task] = await world.submit(world.task(delay_seconds=60.0))
    await world.store.pause_queue("default", by="ada")
    await world.store.pause_lineage("line", by="bob")
    assert [cause.code for cause in await causes(world, task)] == ["lineage_paused", "scheduled", "queue_paused"]
