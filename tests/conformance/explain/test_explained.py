"""One scripted world per reason: the exact sentence, its code and its facts, on every backend (promise I8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ramet.engine.explain.explain import Explanation, explain
from ramet.engine.explain.key import explain_key
from ramet.model.causes import CODES, Cause, CauseSubject
from ramet.model.flow.resources import ResourcePolicy, WorkerStatus
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from tests.support.world import LEASE_SECONDS, World, failing

Script = Callable[[World], Awaitable[str]]


async def explained(world: World, task_id: str) -> Explanation:
    found = await explain(world.store, task_id)
    assert found is not None
    assert found.headline == found.why[0].said()
    assert {cause.code for cause in (*found.why, *found.refused)} <= set(CODES)
    return found


def relative(world: World, cause: Cause) -> str:
    """The sentence, its moments as seconds from now."""
    return cause.said(lambda when: f"{when - world.clock.now:+.0f}")


async def free(world: World) -> str:
    [task] = await world.submit(world.task())
    return task


async def unserved(world: World) -> str:
    now = world.clock.now
    await world.store.see_worker(WorkerStatus("w", "h", 1, ("image",), ("default",), 1, now, now))
    return await free(world)


async def scheduled(world: World) -> str:
    [task] = await world.submit(world.task(delay_seconds=60.0))
    return task


async def retried(world: World) -> str:
    task = await free(world)
    await world.settle(claimed := await world.claim_one(), failing(claimed, "busy", "transient"))
    return task


async def put_off(world: World) -> str:
    ids = await world.submit(world.task(), world.task(), retries_per_minute=1)
    for claimed in await world.claim(2):
        await world.settle(claimed, failing(claimed, "busy", "transient"))
    outcomes = {task: (await explained(world, task)).why[0].code for task in ids}
    [last] = [task for task, code in outcomes.items() if code == "put_off"]
    return last


async def snoozed(world: World) -> str:
    task = await free(world)
    await world.settle(await world.claim_one(), ev.Snooze(1, 30.0, "not ready"))
    return task


async def lineage_paused(world: World) -> str:
    task = await free(world)
    await world.store.pause_lineage("line", by="ada", reason="lunch")
    return task


async def lineage_over(world: World) -> str:
    task = await free(world)
    await world.store.cancel_lineage("line", by="ada", reason="enough")
    return task


async def buried(world: World) -> str:
    root, _ = await world.submit(world.task(), world.task("other"))
    claimed = await world.claim_task(root)
    [child] = await world.grow(claimed, world.task())
    await world.store.cancel(root, tree=True, by="ada")
    return child


async def queue_paused(world: World) -> str:
    task = await free(world)
    await world.store.pause_queue("default", by="ada")
    return task


async def full(world: World, what: str, name: str) -> str:
    await world.store.limit(what, name, 1, by="ada")
    ids = await world.submit(world.task(), world.task())
    claimed = await world.claim_one()
    [other] = set(ids) - {claimed.id}
    return other


async def of_resource(world: World, policy: ResourcePolicy | None = None) -> str:
    if policy is not None:
        await world.store.limit_resource(policy, by="ada")
    ids = await world.submit(world.task(resource="api"), world.task(resource="api"))
    claimed = await world.claim_one()
    [other] = set(ids) - {claimed.id}
    return other


async def switched_off(world: World, policy: ResourcePolicy | None = None) -> str:
    task = await of_resource(world, policy)
    await world.store.open_breaker("api", by="ada", reason="gone")
    return task


async def in_line(world: World) -> str:
    _, child = await world.submit(
        world.task("a", path=PathRule(("doc",))), world.task("b", path=PathRule(("doc", "x")))
    )
    return child


async def joined(world: World) -> str:
    [task] = await world.submit(world.task())
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Join(1), spawns=[world.task(key) for key in ("a", "b", "c", "d", "e")])
    first = await world.claim_one()
    await world.settle(first)
    await world.claim_one()
    world.clock.advance(10.0)
    return task


async def joined_branch(world: World) -> str:
    """The first child joins itself, for a grandchild of a kind that the living worker does not serve."""
    [task] = await world.submit(world.task())
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Join(1, branch=True), spawns=[world.task("a")])
    await world.settle(await world.claim_one(), ev.Join(1), spawns=[world.task("b", "image")])
    await world.store.see_worker(
        WorkerStatus("w", "here", 1, ("page",), ("default",), 1, world.clock.now, world.clock.now)
    )
    return task


WAITING: list[tuple[Script, str, str, dict[str, Any]]] = [
    (free, "no_worker", "it waits for a worker that serves kind 'page' on queue 'default'", {"workers_alive": 0}),
    (unserved, "unserved", "it waits for a worker that serves kind 'page' on queue 'default': no living one does",
     {"workers": ("w",), "kind_served": False, "queue_served": True}),
    (scheduled, "scheduled", "it is scheduled for +60", {}),
    (retried, "retry", "it is scheduled for +1 after error (retry_in: 1.000 s)", {"error": "busy", "attempts": 1}),
    (snoozed, "snoozed", "it is scheduled for +30 after snooze (not ready)", {"snoozes": 1}),
    (lineage_paused, "lineage_paused", "its lineage is paused since +0 by ada: lunch", {"reason": "lunch"}),
    (lineage_over, "lineage_over", "its lineage is cancelled: cancelled by ada: enough", {"state": "cancelled"}),
    (buried, "tombstone", "task t1 above it was cancelled with it: the next sweep ends it", {"task": "t1"}),
    (queue_paused, "queue_paused", "its queue default is paused since +0 by ada", {"by": "ada"}),
    (lambda world: full(world, "queue", "default"), "queue_full",
     "queue default has 1 of 1 claims at once", {"limit": 1}),
    (lambda world: full(world, "kind", "page"), "kind_full", "kind page has 1 of 1 claims at once", {"value": 1}),
    (lambda world: of_resource(world, ResourcePolicy("api", concurrency=1)), "resource_full",
     "api has 1 of 1 claims at once", {"limit": 1}),
    (lambda world: of_resource(world, ResourcePolicy("api", rate_per_second=0.01)), "rate",
     "the rate of api, 0.01 a second, is used up until +100", {"limit_name": "rate_per_second"}),
    (switched_off, "source_off", "breaker of api open since +0 by ada: gone; a person closes it", {"by": "ada"}),
    (lambda world: switched_off(world, ResourcePolicy("api", cooldown_seconds=60.0)), "breaker",
     "breaker of api open since +0 by ada: gone, next try +60", {"cooldown_seconds": 60.0}),
    (in_line, "path", "it waits for task t1 (page a) on path doc, which is pending: it waits for a worker",
     {"task": "t1", "path": "doc:x"}),
    (joined, "tasks",
     "it waits for 4 of 5 tasks since -10: page 'b', page 'c', page 'd' and 1 more; the first is processing since -10",
     {"remaining": 4, "total": 5}),
    (joined_branch, "tasks",
     "it waits for 2 of 2 tasks of its branch since +0: page 'a', image 'b'; the first waits in turn for image 'b' "
     "(task t3), which is pending: it waits for a worker that serves kind 'image' on queue 'default': no living one "
     "does", {"branch": True, "end": "t3", "end_state": "pending"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "code", "sentence", "facts"), WAITING, ids=[f"{at}-{row[1]}" for at, row in enumerate(WAITING)]
)
async def test_why_a_task_waits(world: World, script: Script, code: str, sentence: str, facts: dict[str, Any]) -> None:
    found = await explained(world, await script(world))
    cause = found.why[0]
    assert (cause.code, relative(world, cause)) == (code, sentence)
    assert {name: cause.facts[name] for name in facts} == facts


async def test_a_retry_that_was_put_off_says_until_when_and_what_would_help(world: World) -> None:
    cause = (await explained(world, await put_off(world))).why[0]
    assert relative(world, cause).endswith(
        " after error (retry_storm): its lineage's retries of the minute were used up"
    )
    assert cause.remedy == "ramet lineage raise line --retries-per-minute N"
    assert cause.about == CauseSubject("lineage", "line")


async def test_a_running_task_whose_lease_lapsed_says_so(world: World) -> None:
    task = await free(world)
    await world.claim_one()
    assert [cause.code for cause in (await explained(world, task)).why] == ["running"]
    world.clock.advance(LEASE_SECONDS)
    assert [cause.code for cause in (await explained(world, task)).why] == ["running", "stale"]


async def failed(world: World, **error: Any) -> str:
    task = await free(world)
    await world.settle(claimed := await world.claim_one(), failing(claimed, **error))
    return task


async def test_why_no_retry_was_made(world: World) -> None:
    cause = (await explained(world, await failed(world))).why[1]
    assert (cause.code, cause.said()) == ("permanent_error", "the error is permanent: another try gives the same")
    assert (cause.facts["error"], cause.facts["error_class"], cause.remedy) == ("broken", "permanent", "ramet retry t1")


async def test_an_exhausted_task_says_how_many_attempts_it_had(world: World) -> None:
    [task] = await world.submit(world.task(max_attempts=1))
    await world.settle(claimed := await world.claim_one(), failing(claimed, "busy", "transient"))
    cause = (await explained(world, task)).why[1]
    assert (cause.code, cause.said()) == ("attempts_exhausted", "that was the last attempt (1)")
    assert (cause.facts["value"], cause.facts["limit"]) == (1, 1)


async def test_a_repeated_error_names_the_earlier_failure(world: World) -> None:
    await world.submit(world.task("above"))
    await world.spawn(claimed := await world.claim_one(), world.task("below"))
    await world.settle(claimed, failing(claimed))
    world.clock.advance(10.0)
    child = await world.claim_one()
    await world.settle(child, failing(child, error_class="unclassified"))
    cause = (await explained(world, child.id)).why[1]
    assert relative(world, cause) == (
        "the same error ended this work before (as task t1, an ancestor, which ended as failed -10)"
    )
    assert (cause.about, cause.facts["key"]) == (CauseSubject("task", "t1"), "above")


@pytest.mark.parametrize(
    ("event", "code", "sentence"),
    [
        (ev.Complete(1), "success", "its handler returned"),
        (ev.Fail(1, "permanent_error: it says"), "declared", "the handler declared it failed"),
        (ev.Skip(1, "poison"), "declared", "its handler chose this end"),
        (ev.Filter(1, "dull"), "declared", "its handler chose this end"),
        (ev.Continue(1, progressed=False), "no_progress", "it wanted to continue without having done anything"),
    ],
)
async def test_what_a_handler_said_is_not_taken_for_the_engines_words(
    world: World, event: ev.Event, code: str, sentence: str
) -> None:
    task = await free(world)
    await world.settle(await world.claim_one(), event)
    cause = (await explained(world, task)).why[1]
    assert (cause.code, cause.said()) == (code, sentence)


async def test_who_cancelled_or_excluded_a_task_is_named(world: World) -> None:
    one, other = await world.submit(world.task(), world.task())
    await world.store.cancel(one, tree=False, by="ada")
    await world.store.exclude([other], by="bob", reason="spam")
    cancelled, excluded = [(await explained(world, task)).why[1] for task in (one, other)]
    assert (cancelled.code, cancelled.facts["by"]) == ("cancelled", "ada")
    assert (excluded.code, excluded.facts["by"], excluded.facts["reason"]) == ("excluded", "bob", "spam")


async def test_a_refused_spawn_tells_limit_value_winner_and_remedy(world: World) -> None:
    [root] = await world.submit(world.task("own"), max_tasks=3)
    claimed = await world.claim_one()
    await world.spawn(claimed, world.task("same"), world.task("third"))
    asked = [world.task("same"), world.task("own"), world.task("another")]
    assert await world.spawn(claimed, *asked) == ["in_flight", "cycle", "budget"]
    told = {cause.code: cause for cause in (await explained(world, root)).refused}
    assert set(told) == {"refused_in_flight", "refused_cycle", "refused_budget"}
    budget = told["refused_budget"]
    assert (budget.facts["value"], budget.facts["limit"], budget.facts["limit_now"]) == (3, 3, 3)
    assert budget.remedy == "ramet lineage raise line --max-tasks N, then ramet blocks reoffer line --blocked-by budget"
    assert (told["refused_in_flight"].facts["winner_state"], told["refused_cycle"].about) == (
        "pending",
        CauseSubject("task", root),
    )


async def test_a_kind_and_key_tells_its_holders_and_who_was_refused_in_any_lineage(world: World) -> None:
    for line in ("first", "second"):
        await world.submit(world.task("same"), tracking_id=line)
        claimed = await world.claim_one()
        await world.settle(claimed, spawns=[world.task("same", "page")])
        world.clock.advance(1.0)
        await world.run_all()
    found = await explain_key(world.store, "page", ["same"])
    assert found is not None
    assert [task.tracking_id for task in found.tasks] == ["second", "first"]
    assert [(block.tracking_id, block.reason) for block in found.blocks] == [("second", "cycle"), ("first", "cycle")]
    assert [cause.code for cause in found.why] == ["refused_cycle"] * 2
    one = await explain_key(world.store, "page", ["same"], "first")
    assert one is not None
    assert [task.tracking_id for task in one.tasks] == ["first"]
    assert await explain_key(world.store, "page", ["other"]) is None
