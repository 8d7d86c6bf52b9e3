"""One scripted world per reason of a refusal, and for the ends and waits that no other test tells (promise I8)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Limits
from ramet.engine.explain.explain import Explanation, explain
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.model.causes import CODES, REFUSED
from ramet.model.flow.resources import WorkerStatus
from ramet.model.importing import Rules
from ramet.model.keys import shape_of
from ramet.model.lineage.branches import Budget
from ramet.model.money import Charge, ReserveRequest
from ramet.model.paths import PathRule
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.task import After, NewTask
from tests.conformance.explain import test_explained, test_explained_ends
from tests.support.world import LEASE_SECONDS, World, checkpoint

Script = Callable[[World], Awaitable[str]]


async def explained(world: World, task_id: str) -> Explanation:
    found = await explain(world.store, task_id)
    assert found is not None
    return found


async def refused_by(world: World, *spawns: NewTask, **limits: Any) -> str:
    """A task that asks for these while it runs."""
    [root] = await world.submit(world.task("root"), **limits)
    await world.spawn(await world.claim_task(root), *spawns)
    return root


async def asks_late(world: World, before: Callable[[str], Awaitable[object]], **limits: Any) -> str:
    """A task that asks for a child after something happened to it."""
    [root] = await world.submit(world.task("root"), **limits)
    claimed = await world.claim_one()
    await before(root)
    await world.spawn(claimed, world.task("x"))
    return root


async def cancelled(world: World) -> str:
    return await asks_late(world, lambda root: world.store.cancel(root, tree=True, by="ada"))


async def over(world: World) -> str:
    async def end(_: str) -> None:
        world.clock.advance(100.0)
        await world.sweep()

    return await asks_late(world, end, lineage_seconds=50.0)


async def deadline(world: World) -> str:
    async def late(_: str) -> None:
        world.clock.advance(100.0)

    return await asks_late(world, late, lineage_seconds=50.0)


async def stale(world: World) -> str:
    async def lost(_: str) -> None:
        world.clock.advance(LEASE_SECONDS + 1.0)
        await world.claim(1)

    return await asks_late(world, lost)


async def depth(world: World) -> str:
    return await refused_by(world, world.task("x"), max_spawn_depth=0)


async def cycle(world: World) -> str:
    return await refused_by(world, world.task("root"))


async def in_flight(world: World) -> str:
    return await refused_by(world, world.task("x"), world.task("x"))


async def done(world: World) -> str:
    root, other = await world.submit(world.task("root"), world.task("x", "image"))
    await world.settle(await world.claim_task(other))
    await world.spawn(await world.claim_task(root), world.task("x", "image"))
    return root


async def elsewhere(world: World) -> str:
    await world.submit(world.task("x", "image", unique_seconds=60.0), tracking_id="other")
    return await refused_by(world, world.task("x", "image", unique_seconds=60.0))


async def budget(world: World) -> str:
    return await refused_by(world, world.task("x"), max_tasks=1)


async def fan_out(world: World) -> str:
    return await refused_by(world, world.task("x"), max_fan_out=0)


async def spent(world: World) -> str:
    [root] = await world.submit(soft_cost=60, max_cost=100)
    claimed = await world.claim_one()
    await world.settle(claimed, checkpoint(claimed), charge=Charge("paid", 60))
    await world.spawn(claimed, world.task("x"))
    return root


async def stop_list(world: World) -> str:
    await world.store.stop("domain", "example.com", by="ada")
    return await refused_by(world, world.task("https://example.com/a", url="https://example.com/a"))


async def trap(world: World) -> str:
    keys = [f"https://example.com/list?page={number}" for number in range(3)]
    return await refused_by(world, *(world.task(key, shape=shape_of(key)) for key in keys), max_shape=2)


async def branch_budget(world: World) -> str:
    await world.submit()
    [first] = await world.grow(await world.claim_one(), world.task("first", budget=Budget(max_tasks=1)))
    await world.spawn(await world.claim_one(), world.task("x"))
    return first


async def wait_cycle(world: World) -> str:
    return await refused_by(world, world.task("x", "image", after=After((("page", "root"),))))


async def dependency(world: World) -> str:
    return await refused_by(world, world.task("x", "image", after=After((("page", "y"),))))


async def reserve(world: World) -> str:
    [root] = await world.submit(max_cost=5)
    standing = (await world.claim_one()).standing
    await world.store.reserve([ReserveRequest("much", standing.seq, standing.fence, 6)])
    return root


AGAIN = "ramet lineage raise line --{}, then ramet blocks reoffer line --blocked-by {}"
REFUSALS: list[tuple[Script, str, str, str | None]] = [
    (cancelled, "cancelled", "the lineage was cancelled", "ramet retry t1"),
    (over, "ended", "the lineage is failed", None),
    (stale, "stale", "the claim of the spawning task is not current", None),
    (depth, "depth", "depth 1 is over max_spawn_depth 0", AGAIN.format("max-depth N", "depth")),
    (cycle, "cycle", "ancestor t2 (page) already works on this key; task t2 is processing", None),
    (in_flight, "in_flight", "task t1 of this lineage is pending; task t1 is pending", None),
    (done, "done", "task t2 of this lineage is success; task t2 is success", None),
    (elsewhere, "elsewhere", "task t1 of lineage other holds this unique key and is live; task t1 is pending", None),
    (budget, "budget", "the lineage has created 1 of 1 tasks", AGAIN.format("max-tasks N", "budget")),
    (fan_out, "fan_out", "the parent has created 0 of 0 children", AGAIN.format("max-fan-out N", "fan_out")),
    (deadline, "deadline", "the deadline of the lineage has passed", AGAIN.format("extend SECONDS", "deadline")),
    (spent, "cost", "the lineage has spent $0.00000006 of $0.00000006", AGAIN.format("max-cost DOLLARS", "cost")),
    (stop_list, "stop_list", "domain example.com is on the stop list",
     "ramet deny-list remove, then ramet blocks reoffer line --blocked-by stop_list"),
    (trap, "trap", "the lineage has 2 keys of the shape example.com/list?page: if they are honest, allow the shape",
     AGAIN.format("allow-shape 'example.com/list?page'", "trap --shape 'example.com/list?page'")),
    (branch_budget, "branch_budget", "the branch of task t2 has 1 of 1 tasks",
     "ramet blocks reoffer line --blocked-by branch_budget"),
    (wait_cycle, "wait_cycle", "it comes after page, task t2, which waits for it", None),
    (dependency, "dependency", "it comes after page 'y', which is not a task of this lineage",
     "ramet blocks reoffer line --blocked-by dependency"),
    (reserve, "reserve", "the ceiling of the lineage is $0.000000005: $0.00 spent, $0.00 reserved, $0.000000005 left, "
     "$0.000000006 wanted", "ramet lineage raise line --max-cost DOLLARS"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "reason", "words", "remedy"), REFUSALS, ids=[row[1] for row in REFUSALS])
async def test_why_a_spawn_was_refused(
    world: World, script: Script, reason: str, words: str, remedy: str | None
) -> None:
    [cause] = (await explained(world, await script(world))).refused
    assert cause.code == f"refused_{reason}"
    assert cause.said().partition(f" was refused, {reason}: ")[2] == words
    assert cause.remedy == remedy


# --- waits and ends that no other test tells


async def free(world: World) -> str:
    await world.store.see_worker(WorkerStatus("w", "h", 1, ("page",), ("default",), 1))
    return await test_explained.free(world)


async def looked_at_soon(world: World) -> str:
    """One of several that waited for a task, of which a transaction looks at a bounded number."""
    paths = [PathRule(("doc",)), *(PathRule(("doc", part)) for part in ("a", "b", "c"))]
    first, *others = await world.submit(*(world.task(path=path) for path in paths))
    await world.settle(await world.claim_task(first))
    [*_, last] = [task for task in others if (await world.get(task)).wait == "path"]
    return last


async def lineage_cancelled(world: World) -> str:
    task = await test_explained.free(world)
    await world.store.cancel_lineage("line", by="ada", reason="enough")
    await world.sweep()
    return task


async def given(world: World) -> str:
    """It succeeded with a reason of the task that settled it, which was pruned since."""
    task, _ = await world.submit(world.task(), world.task(delay_seconds=1e6), tracking_id="kept")
    [settler] = await world.submit(world.task("settler"), tracking_id="pruned")
    claimed = await world.claim_task(settler)
    standing = claimed.standing
    [binding] = await world.store.bind(standing.seq, standing.fence, [task])
    item = ItemSettlement(task, binding.number or 0, "success", reason="nothing new")
    await world.settle(claimed, items=[item])
    world.clock.advance(10.0)
    await world.store.prune(world.clock.now - 5.0)
    return task


async def test_a_task_that_a_living_worker_serves_is_free(world: World) -> None:
    [cause] = (await explained(world, await free(world))).why
    assert (cause.code, cause.facts["workers"], cause.remedy) == ("free", ("w",), None)


async def test_what_was_before_a_task_is_over_and_nobody_has_looked_yet(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dialect in ("sqlite", "postgres"):
        monkeypatch.setattr(f"ramet.store.{dialect}.session.LOOKS_MAX", 1)
    [cause, *_] = (await explained(world, await looked_at_soon(world))).why
    assert cause.code == "looked_at_soon"
    assert cause.said() == ("the task that it waited for on path doc:c has ended: it is looked at again in a moment")


async def test_whoever_cancelled_a_lineage_is_named_by_each_of_its_tasks(world: World) -> None:
    _, cause = (await explained(world, await lineage_cancelled(world))).why
    assert (cause.code, cause.facts["by"]) == ("cancelled", "ada")


async def test_an_end_of_which_no_more_is_stored_is_told_in_its_own_words(world: World) -> None:
    ended, cause = (await explained(world, await given(world))).why
    assert ended.said() == "it ended as success: nothing new"
    assert (cause.code, cause.facts["reason"], cause.remedy) == ("given", "nothing new", None)


async def test_what_had_ended_before_it_was_imported_says_so(world: World, tmp_path: Path) -> None:
    queue = tmp_path / "queue.jsonl"
    old = {"id": "old", "type": "page", "url": "https://e.org/", "status": "failed"}
    queue.write_text(json.dumps(old) + "\n")
    app = App()
    await Importer(ImportSource(queue, "jsonl", rules=Rules()), app.registry, Limits()).fill(world.store, "ada")
    _, cause = (await explained(world, "old")).why
    assert (cause.code, cause.said()) == ("imported", "it had ended before it was imported")


def test_every_code_is_told_of_some_world() -> None:
    """Each of these tables, and each of the tests that is named here, runs its world on every store."""
    told = {code for _, code, *_ in (*test_explained.WAITING, *test_explained_ends.WAITS, *test_explained_ends.ENDS)}
    told |= {f"refused_{reason}" for _, reason, *_ in REFUSALS}
    told |= {
        "ended", "put_off", "running", "stale", "permanent_error", "attempts_exhausted", "repeated_error", "success",
        "declared", "no_progress", "cancelled", "excluded",
    }  # test_explained.py  # fmt: skip
    told |= {"on_end", "lineage_spent"}  # test_explained_ends.py
    told |= {"path_paused"}  # tests/conformance/paths/test_path_pauses.py
    told |= {"starved", "waits_inside"}  # tests/conformance/flow/test_handler_waits.py
    told |= {"free", "looked_at_soon", "given", "imported"}  # above
    assert told == set(CODES)
    assert {f"refused_{reason}" for _, reason, *_ in REFUSALS} == set(REFUSED)
