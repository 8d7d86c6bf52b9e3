"""The part of the scenario for the monitor: what it finds, and who is told."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.alerts.notifications import Message, NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy, ResponseLimits, WorkerStatus
from ramet.model.flow.shares import TakeRequest
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.limits import Limits
from ramet.model.money import ActualCost, Charge, ReserveRequest
from ramet.model.operations import BulkAction
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.task import After, TaskState
from ramet.model.values import blob_of
from ramet.store.errors import QueueBlocked
from ramet.store.requests import ImportRunResult, ImportTask, NewLineage, Statement, TaskQuery
from tests.support.world import (
    EFFECTS,
    LEASE_SECONDS,
    World,
    checkpoint,
    effect,
    failing,
    hand_back,
    settlement,
    with_fence,
)


async def look(world: World) -> None:
    """A look of the monitor that finds something of everything, and one after which all is resolved."""
    await world.store.put_alert_thresholds({"image": 5, "loose": None})
    [held, storm] = await world.submit(world.task("a"), world.task("b"), tracking_id="odd", retries_per_minute=1)
    for task_id in (held, storm):
        claimed = await world.claim_task(task_id)
        for _ in range(4):
            world.clock.advance(1.0)
            await world.spawn(claimed, world.task(claimed.key), world.task(f"of {claimed.key}"))
        if task_id == storm:
            await world.settle(claimed, failing(claimed, "busy", "transient"))
    again = await world.claim(10, kinds=("page",))
    await world.store.settle([settlement(item, failing(item, "busy", "transient")) for item in again])
    world.clock.advance(5.0)
    await world.sweep()
    held_again = await world.claim(10)
    world.clock.advance(LEASE_SECONDS + 100.0)
    limits = MonitorLimits(depth_max=0)
    while (await world.store.look(limits, force=True)).more:
        pass
    for tracking_id in (None, "odd"):
        for firing in (True, False):
            assert await world.store.alerts(firing=firing, tracking_id=tracking_id)
    await tell(world)
    world.clock.advance(4_000.0)
    await world.store.look(limits)
    assert held_again


async def tell(world: World) -> None:
    """What the monitor found is told, and once it cannot be; a person takes notice."""
    store, rules = world.store, NoticeRules()
    [alert, *_] = await store.alerts()
    assert (await store.alerts(before=alert.id + 1))[0] == await store.alert(alert.id) == alert
    assert await store.acknowledge_alert(alert.id, by="test", reason="seen")
    await store.see_alert_channels({"webhook": "https://hooks.example.org/..."})
    await store.try_channel("webhook", by="test")
    assert [await store.notify(Message("news", ("a", "b")), key="news") for _ in range(2)] == [True, False]
    assert await store.notices_due(["log", "webhook"])
    [first, *others] = await store.take_notices(["log", "webhook"], rules)
    await store.settle_notice(first, rules, error="500")
    for notice in others:
        await store.settle_notice(notice, rules)
    assert await store.alert_channels()
    assert [notice.attempts for notice in await store.alert_notices(first.alert_id)] == [1]
    assert first.id in [notice.id for notice in await store.alert_notices(waiting=True)]


async def rates(world: World) -> None:
    """Two lineages take from a bucket that has not enough for both, and a server tells of its limit."""
    await world.store.limit_resource(ResourcePolicy("api", rate_per_second=1.0, burst=2.0), by="test")
    for name in ("takes first", "takes second"):
        await world.submit(world.task(kind="image"), tracking_id=name)
        claimed = await world.claim_one(kinds=("image",))
        standing = claimed.standing
        for _ in range(2):
            await world.store.take([TakeRequest(standing.seq, standing.fence, (("api", 2.0), ("free", 1.0)))])
    await world.store.adapt("api", ResponseLimits(limit_per_minute=30.0, remaining=1.0))
    await world.store.adapt("api", ResponseLimits(limit_per_minute=30.0))


async def watch(world: World, parent_id: str) -> None:
    """What is live, lineages, branches of the lineage ``line`` and of one task."""
    await world.store.present()
    await world.store.lineages()
    await world.store.lineages(states=["running"])
    await world.store.lineage("line")
    newest = await world.store.lineage_page(limit=1)
    await world.store.lineage_page(limit=1, before=newest.next_before)
    for name, parent in (("line", None), (None, parent_id)):
        await world.store.branches(tracking_id=name, parent_id=parent)
        await world.store.twigs(tracking_id=name, parent_id=parent, kind="page", state="success")
        for only in (None, "failed", "slow"):
            await world.store.timeline("line", parent_id=parent, only=only)
    await world.store.checkpoint(parent_id)
    await world.store.deepest(["line"])
    await world.store.lineage_counts("line")
    for order in ("fullest", "deadline"):
        await world.store.lineage_page(order=order)
    await world.store.lineage_page(prefix="li", states=["running"])
    await world.store.block_page("line")
    await world.store.block_page("line", kind="page", keys=["x"], reason="done", after='["", "", ""]')
    await world.store.task_calls(parent_id)
    await world.store.tasks_with_key("x")
    await world.store.backlogs()
    await world.store.resource_backlogs(["host:a"])
    await world.store.in_hand()
    await world.store.delays("line")


async def run_everything(world: World) -> None:
    """Use every verb of the store at least once on a database that already has other lineages."""
    await world.store.ensure_tables([EFFECTS])
    await submit_and_settle(world)
    await commit_at_once(world)
    await spend(world)
    await bind_and_settle(world)
    await go_through_stages(world)
    await follow_an_end(world)
    await end_from_outside(world)
    await flow_control(world)
    await guard(world)
    await look_at_paths(world)
    await ask(world)
    await stand_in_line(world)
    await join_and_go_on(world)
    await set_aside_and_add(world)
    await rates(world)
    world.clock.advance(10_000_000.0)
    await world.sweep()
    assert await world.store.prune(world.clock.now) > 0


async def submit_and_settle(world: World) -> None:
    roots = [world.task(f"r{n}", priority=n) for n in range(12)]
    await world.submit(*roots, world.task("later", delay_seconds=60.0), max_tasks=20, max_fan_out=4)
    await world.submit(*roots[:2])
    a, b, c, d, e, f, g, h, i, j = await world.claim(10)
    await world.store.heartbeat([(a.standing.seq, 1), (b.standing.seq, 1)], LEASE_SECONDS)
    await world.settle(a, checkpoint(a, "one"), pipeline_state="{}", progress="{}", lower=(("max_fan_out", 3),))
    wanted = [world.task(f"child {n}", tags='["green", "red"]' if n == 1 else None) for n in range(6)]
    answers = [
        settlement(a, spawns=[*wanted, world.task("r1"), world.task("r11")], writes=[effect("a")], result="1"),
        settlement(b, failing(b)),
        settlement(c, failing(c, "odd", "unclassified"), writes=[]),
        settlement(d, writes=[effect("bad", 0)]),
        settlement(e, ev.Snooze(1, 5.0)),
        settlement(f, hand_back(f)),
        settlement(with_fence(g, 9), spawns=[world.task("late")]),
        settlement(h, ev.Complete(1), spawns=[world.task("huge", priority=2**70)]),
    ]
    await world.store.settle(answers)
    await world.claim(1)
    await world.submit(world.task("pulled", breadth=BY_DUE), tracking_id="pulled")
    [pulled] = await world.claim(1, pulled=True)
    await world.settle(pulled)
    child = await world.claim_task(str((await world.store.tasks(TaskQuery(key="child 0"))).tasks[0].id))
    await world.settle(child, failing(child, "odd", "unclassified"), spawns=[world.task("below")])
    await world.store.cancel(i.id, tree=False, by="test")
    world.clock.advance(LEASE_SECONDS)
    await world.store.sweep()
    assert j.standing.fence == 1


async def commit_at_once(world: World) -> None:
    blob, _ = blob_of("large")
    new = NewLineage("with blobs", [world.task()], blobs=[blob], blob_bytes_max=100)
    await world.store.submit([new])
    [task] = await world.store.roots("with blobs")
    claimed = await world.claim_task(task.id)
    more, _ = blob_of("larger")
    await world.store.put_blob(settlement(claimed, checkpoint(claimed)), more, 100)
    await world.store.blob("with blobs", more.sha256)
    await world.store.transact(settlement(claimed, checkpoint(claimed)), [Statement("SELECT 1")])
    await world.settle(claimed)


async def spend(world: World) -> None:
    await world.store.put_setting("cost.day_max", 1_000, "int", "")
    [dear] = await world.submit(tracking_id="dear", max_cost=100)
    claimed = await world.claim_task(dear)
    held = [ReserveRequest(f"reserved {n}", claimed.standing.seq, claimed.standing.fence, 60) for n in range(3)]
    await world.store.reserve(held)
    await world.store.settle_reserved([ActualCost(held[0].id, 70), ActualCost("nobody", 1)])
    await world.settle(claimed, checkpoint(claimed), charge=Charge("charge", 5))
    await world.store.reserve(held)
    await world.settle(claimed)
    await world.store.costs()
    await world.store.costs("dear")
    await overspend(world)


async def overspend(world: World) -> None:
    """One call costs so much that it passes the ceilings of its lineage and of the day: those in flight end."""
    for name, most in (("over", 100), ("beside", None)):
        [task_id] = await world.submit(tracking_id=name, max_cost=most)
        claimed = await world.claim_task(task_id)
        standing = claimed.standing
        await world.store.reserve([ReserveRequest(f"{name} {n}", standing.seq, standing.fence, 5) for n in range(2)])
    await world.store.settle_reserved([ActualCost("over 0", 5_000)])
    for _ in range(3):
        await world.sweep()


async def follow_an_end(world: World) -> None:
    [task_id] = await world.submit(tracking_id="followed", on_end=world.task("end"))
    await world.settle(await world.claim_task(task_id))
    [end] = (await world.store.tasks(TaskQuery(tracking_id="followed#end1"))).tasks
    await world.settle(await world.claim_task(end.id))


async def go_through_stages(world: World) -> None:
    [first] = await world.submit(world.task("doc", base="page", places=2), tracking_id="stages")
    later = world.task("doc", kind="image", base="page", places=0, pipeline_state="{}")
    [second] = await world.grow(await world.claim_task(first), later)
    await world.settle(await world.claim_task(second))
    await world.store.stage_counts("page")
    await world.store.stage_counts("page", "stages")


async def set_aside_and_add(world: World) -> None:
    """Branches, roots that are added, tasks after others, and one that comes back with what it was skipped for."""
    part = Budget(max_tasks=3, max_cost=20, keep_cost=5, max_spawn_depth=1, seconds=900.0)
    [root] = await world.submit(world.task("parts", budget=part), tracking_id="parts", max_cost=50)
    claimed = await world.claim_task(root)
    inner = world.task("inner", budget=Budget(max_tasks=2))
    answer = await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[inner, world.task("too many")])
    below = await world.claim_task(str(answer.spawns[0].id))
    await world.store.reserve([ReserveRequest("part", below.standing.seq, below.standing.fence, 3)])
    await world.store.settle_reserved([ActualCost("part", 2)])
    await world.settle(below, charge=Charge("parts", 1))
    first = world.task("first", after=After(((root,),)))
    second = world.task("second", after=After((("page", "first"),)))
    added = await world.store.add("parts", [first, second])
    await world.settle(await world.claim_task(root))
    failed = await world.claim_task(str(added[0].id))
    await world.settle(failed, failing(failed))
    await world.sweep()
    assert await world.state(str(added[1].id)) == "skipped"
    assert await world.store.revive([failed.id], by="w") == [failed.id]


async def join_and_go_on(world: World) -> None:
    [root] = await world.submit(world.task("asks"), tracking_id="joins")
    claimed = await world.claim_task(root)
    log = '{"left_out": 1, "lines": [[1.5, "info", "shop", "a line"]]}'
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0), log=log)
    await world.store.task_log(root)
    world.clock.advance(1.0)
    for branch in (False, True):
        claimed = await world.claim_task(root)
        wanted = [world.task(f"{branch} {at}") for at in range(3)]
        answer = await world.settle(claimed, ev.Join(claimed.standing.fence, branch, True), spawns=[*wanted, wanted[0]])
        names = [str(told.id) for told in answer.spawns[:3]]
        await world.store.join_wait(root)
        await world.store.unserved()
        await world.store.waiting_for([root])
        await world.store.join_round(root)
        await world.store.present()
        below = await world.grow(await world.claim_task(names[0]), world.task(f"below {branch}"))
        failed = await world.claim_task(names[1])
        await world.settle(failed, failing(failed))
        await world.store.revive([names[1]], by="w")
        for name in (*names[1:], *below):
            await world.settle(await world.claim_task(name))
        await world.store.sweep()
        await world.store.join_page(claimed.standing.seq, claimed.round + 1)
        await world.store.join_totals(claimed.standing.seq, claimed.round + 1)
    await world.settle(await world.claim_task(root))


async def bind_and_settle(world: World) -> None:
    names = [f"bound {n}" for n in range(4)]
    await world.submit(*(world.task(name, id=name, kind="image") for name in names), tracking_id="items")
    [batch] = await world.submit(tracking_id="batch")
    claimed = await world.claim_task(batch)
    await world.store.note_wait(claimed.standing.seq, claimed.standing.fence, names[0])
    await world.store.handler_waits(batch)
    await world.store.starved()
    await world.store.may_starve([claimed.standing.seq], names[0])
    await world.store.forget_wait(claimed.standing.seq, claimed.standing.fence)
    bound = await world.store.bind(claimed.standing.seq, claimed.standing.fence, [*names, batch, "nobody"])
    await world.store.bound(batch)
    await world.store.bound(batch, after=names[0])
    items = [ItemSettlement(told.task_id, told.number or 0, "success", result="1") for told in bound[:2]]
    await world.settle(claimed, checkpoint(claimed), items=[*items, items[0]])
    await world.settle(claimed)
    await world.store.sweep()


async def end_from_outside(world: World) -> None:
    [moved] = await world.submit(world.task("moved", priority=1), tracking_id="moved")
    await world.store.reprioritise(moved, priority=3, by="test")
    await world.store.reschedule(moved, delay_seconds=5_000.0, by="test")
    [root, _] = await world.submit(world.task("root"), world.task("other"), tracking_id="tree")
    claimed = await world.claim_task(root)
    [left, right] = await world.grow(claimed, world.task("left"), world.task("right"))
    held = await world.claim_task(right)
    await world.store.cancel(root, tree=True, by="test")
    await world.claim(100)
    await world.settle(held, spawns=[world.task("never")])
    await world.sweep()
    await world.store.revive([left], by="test", reason="again")
    await world.settle(await world.claim_task(left), ev.Fail(2, "no"))
    await world.submit(tracking_id="gone", lineage_seconds=5.0)
    await world.submit(world.task(task_seconds=1.0), tracking_id="slow")
    await world.submit(tracking_id="cancelled")
    await world.store.cancel_lineage("cancelled", by="test")
    for claimed in await world.claim(100):
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 50.0))
    world.clock.advance(20.0)
    await world.claim(1)
    await world.sweep()
    await world.store.revive([left], by="test", extend_seconds=50.0)
    again = await world.claim_task(left)
    await world.settle(again, failing(again, "odd", "unclassified"))


async def stand_in_line(world: World) -> None:
    """On paths: one holds, some wait, one gives its ticket up, some are skipped, one comes back, one is due."""
    document, review = PathRule(("document",)), PathRule(("document", "review"))
    first, _, _, falls, *_ = await world.submit(
        *(world.task(path=rule) for rule in (document, review, document, PathRule(("failing",)))),
        *(world.task(path=PathRule(("failing", part))) for part in ("a", "b")),
        world.task(path=document, delay_seconds=1.0), world.task(path=PathRule(("other",), scope="lineage")),
        tracking_id="paths",
    )  # fmt: skip
    await world.store.pause_path(("document",), by="test", reason="why")
    await world.claim(5, queues=("default", "night"), kinds=("image",))
    await world.store.path_pauses()
    await world.store.resume_path(("document",), by="test")
    await world.claim(5, kinds=("image",), path=("document",))
    late = await world.claim_task(first)
    failed = await world.claim_task(falls)
    await world.settle(late, ev.Snooze(late.standing.fence, 3_600.0))
    await world.settle(failed, ev.Fail(failed.standing.fence, "odd"))
    world.clock.advance(2.0)
    assert await world.store.tend_paths()
    await world.sweep()


async def flow_control(world: World) -> None:
    """Pause and resume, alone and both at once."""
    await world.submit(*(world.task() for _ in range(3)), tracking_id="held")
    await world.store.pause_lineage("held", by="test", reason="why")
    await world.store.pause_queue("default", by="test")
    await world.claim(5)
    world.clock.advance(5.0)
    await world.sweep()
    await world.store.resume_lineage("held", by="test")
    await world.store.resume_queue("default", by="test")
    await world.store.pause_lineage("held", by="test")
    await world.claim(5)
    await world.store.cancel_lineage("held", by="test")
    await world.store.queues()
    await world.store.block_queue("default", on_drained=NewLineage("drained", [world.task("drained")]), by="test")
    with suppress(QueueBlocked):
        await world.submit(tracking_id="refused")
    await world.run_all()
    await world.store.idle(["page"])
    await world.sweep()
    await world.store.queues()
    await world.store.unblock_queue("default", by="test")
    await limits(world)


async def limits(world: World) -> None:
    """Limits, rates and breakers, with tasks that wait for them."""
    policies = [ResourcePolicy("host:*", concurrency=2, rate_per_second=0.5, burst=2.0, cooldown_seconds=5.0)]
    kinds, bounds = {"page": 50, "image": None}, {"page": '{"max_tasks": 9}', "image": None}
    await world.store.declare(DeclaredFlow({"default": 50, "none": None}, kinds, policies, bounds))
    assert await world.store.root_limits(["page", "image"]) == {"page": '{"max_tasks": 9}'}
    await world.store.limit("kind", "page", 60, by="test")
    await world.store.limit("queue", "default", 60, by="test")
    await world.store.limit_resource(ResourcePolicy("off", breaker_failures=1), by="test")
    hosts = [world.task(resource="host:a") for _ in range(6)]
    await world.submit(*hosts, world.task(resource="host:b", delay_seconds=3.0), tracking_id="shared")
    await world.submit(world.task(resource="off"), world.task(resource="off"), tracking_id="switched off")
    for claimed in await world.claim(10):
        event = ev.Snooze(1, 2.0, "busy", "") if claimed.standing.resource == "host:a" else failing(claimed)
        await world.settle(claimed, event)
    world.clock.advance(5.0)
    await world.sweep()
    held, *others = await world.claim(10)
    for claimed in others:
        await world.settle(claimed, hand_back(claimed))
    await world.store.cancel(held.id, tree=False, by="test")
    await world.store.acknowledge([(held.standing.seq, held.standing.fence)])
    await world.store.open_breaker("host:b", by="test")
    await world.store.close_breaker("host:b", by="test")
    for name in (None, "host:a"):
        await world.store.resources(name)
    for question in (world.store.policies, world.store.kind_limits, world.store.usage, world.store.commit_times):
        await question()
    await world.store.see_worker(WorkerStatus("w", "host", 1, ("page",), ("default",), 4))
    await world.store.workers()
    await world.store.unserved()
    await world.store.forget_worker("w")
    await world.store.now()
    await world.store.cancel_lineage("shared", by="test")
    await world.store.limit("kind", "page", None, by="test")
    await world.store.limit("queue", "default", None, by="test")
    # Of what an app declared, of what only people said, of what nobody said anything about.
    for pattern in ("host:*", "off", "host:a"):
        await world.store.change_resource(pattern, {"concurrency": 3}, by="test")
    for what, name in (("resource", "host:*"), ("resource", "host:a"), ("resource", "nothing"), ("kind", "image")):
        await world.store.reset_limit(what, name, by="test")
    await world.sweep()


async def guard(world: World) -> None:
    unique: dict[str, Any] = {"unique_seconds": 50.0, "keep_edge": 1, "shape": "s"}
    await world.store.stop("domain", "stopped.example", by="test")
    await world.store.stop("pattern", "stopped:*", by="test")
    [first, gone] = await world.submit(world.task("u", **unique), world.task("v", **unique), tracking_id="uniques")
    await world.store.cancel(gone, tree=False, by="test")
    await world.store.revive([gone], by="test")
    await world.submit(world.task("u", **unique), world.task("asks"), tracking_id="asks", max_fan_out=1)
    asking = await world.claim_task(str((await world.store.tasks(TaskQuery(key="asks"))).tasks[0].id))
    wanted = [world.task(key, **unique) for key in ("u", "w", "x", "https://a.stopped.example/", "stopped:a", "w")]
    await world.settle(asking, failing(asking, error_class="transient"), spawns=wanted)
    await world.settle(await world.claim_task(first))
    await world.store.cancel_lineage("asks", by="test")
    await world.store.exclude([first, gone, asking.id], by="test")
    for act in BulkAction:
        await world.store.act_on_tasks(act, [first, gone], by="test", reason="why", detail={"kind": "root"})
    await world.submit(world.task("full"), tracking_id="full", max_fan_out=1)
    full = await world.claim_task(str((await world.store.tasks(TaskQuery(key="full"))).tasks[0].id))
    await world.settle(full, spawns=[world.task("one"), world.task("two"), world.task("three")])
    await world.run_all()
    await world.store.raise_limits("full", {"max_fan_out": 5}, by="test", extend_seconds=1e6)
    page = await world.store.reoffer("full", by="test", limit=1)
    await world.store.reoffer("full", by="test", after=page.after)
    await world.run_all()
    await world.store.stop_list()
    await world.store.edges("asks", [asking.id])
    await world.store.unstop("pattern", "stopped:*", by="test")
    await world.store.unstop("domain", "stopped.example", by="test")


async def ask(world: World) -> None:
    [task_id] = [task.id for task in (await world.store.tasks(TaskQuery(limit=1))).tasks]
    await world.store.history(task_id)
    for states in (frozenset[TaskState](), frozenset({TaskState.PENDING}), frozenset({TaskState.FAILED})):
        for tracking_id in (None, "line"):
            for depth in (None, 1):
                for kind in (None, "page"):
                    for key, parent_id in ((None, None), ("r1", None), (None, task_id), ("r1", task_id)):
                        query = TaskQuery(tracking_id, states, kind, key, depth, parent_id, after=3)
                        await world.store.tasks(query)
                        await world.store.tasks(query._replace(newest=True))
    for tracking_id in (None, "line"):
        await world.store.has_live("page", "r1", tracking_id)
        await world.store.counts(tracking_id)
        await world.store.stale(tracking_id)
    await world.store.roots("line")
    await world.store.child_counts([task_id])
    await world.store.block_totals("line")
    await world.store.parent_block_counts("line", kind="page")
    await world.store.parent_block_counts()
    await world.store.blocks("line")
    await world.store.blocks("line", kind="page")
    await world.store.blocks("line", key="r1")
    await world.store.blocks("line", reason="cycle")
    await world.store.known("page", "r1")
    await world.store.known("page", "r1", "line")
    await watch(world, task_id)
    await world.store.idle(["page"])
    await world.store.next_due_at()
    await world.store.put_setting("name", 1, "int", "what it does")
    await world.store.settings()
    await world.store.acts()
    await world.store.acts("line")
    await schedule(world)


async def look_at_paths(world: World) -> None:
    """Who holds a path, who waits, and for whom."""
    rules = [PathRule(("doc", *"ab"[: n % 3])) for n in range(6)]
    await world.submit(*(world.task(path=rule) for rule in rules), tracking_id="shown")
    [*_, last] = await world.store.roots("shown")
    await world.store.paths(["doc", "a"])
    await world.store.paths()
    await world.store.paths(tracking_id="shown")
    await world.store.blocked_by(last.id)
    await world.store.blocked_by(last.id, limit=1)
    await world.store.held_back("shown")
    for claimed in await world.claim(1_000):
        fence = claimed.standing.fence
        gives_up = claimed.standing.tracking_id == "shown"
        await world.settle(claimed, ev.Snooze(fence, 5_000.0) if gives_up else hand_back(claimed))
    await world.store.paths(["doc", "a"])
    await world.store.blocked_by(last.id)
    await world.store.cancel_lineage("shown", by="test")
    await world.sweep()


async def schedule(world: World) -> None:
    """Schedules through all their verbs."""
    schedules = Schedules(Registry(Limits()), world.store, Limits())
    await schedules.add("page", every_seconds=60.0)
    await schedules.add("page", every_seconds=30.0, replace=True)
    world.clock.advance(95.0)
    await tick(world.store, 60.0, Limits())
    await tick(world.store, 60.0, Limits())
    world.clock.advance(60.0)
    await tick(world.store, 60.0, Limits())
    await world.store.slots("page")
    await schedules.pause("page")
    await world.run_all()
    await schedules.run("page")
    await schedules.resume("page")
    await schedules.remove("page")
    await look(world)
    await bring(world)


async def bring(world: World) -> None:
    """An import through all its verbs: tasks with a past, below what exists, twice, verified and closed."""
    await world.store.import_begin("old", "test")
    known = (await world.store.tasks(TaskQuery(key="r1"))).tasks[0].id
    [place], _ = await world.store.import_places([known], ["line"])
    batch = [
        ImportTask(
            world.task(f"brought {n}"),
            "brought",
            None if n == 0 else "b0",
            () if n == 0 else ("b0",),
            min(n, 1),
            10,
            "pending" if n < 3 else "failed",
            "imported",
            "boom",
            1,
            "one",
            "{}",
            '["A"]',
            1.0,
            ("odd", "why"),
        )
        for n in range(5)
    ]
    paths = [PathRule(("A",)) if item.state == "pending" else None for item in batch]
    batch = [item._replace(new=item.new._replace(id=f"b{n}", path=paths[n])) for n, item in enumerate(batch)]
    hold_until = world.clock.now + 60.0
    await world.store.import_tasks("old", batch, hold_until=hold_until)
    await world.store.import_release("brought", hold_until)
    await world.store.import_line_up([(n, f"b{n}") for n in range(5)], world.clock.now)
    await world.store.import_tasks("old", batch)
    done = ImportRunResult(5, 5, 0)
    assert await world.store.import_verify(["b0", "b4"]) == {}
    assert await world.store.import_recount(["brought"]) == {}
    await world.store.import_end("old", "test", done, close=True)
    assert [row.state for row in await world.store.import_imports()] == ["closed"]
    assert place.tracking_id
