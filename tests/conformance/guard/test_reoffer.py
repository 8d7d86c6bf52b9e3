"""A person raises a lineage's limits, and what they had blocked is offered again through the whole guard."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage.lineage import Lineage
from ramet.model.money import Charge
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError
from ramet.store.requests import TaskQuery
from ramet.store.rows.lineages import PRUNING
from tests.support.world import World, failing


async def line(world: World) -> Lineage:
    lineage = await world.store.lineage("line")
    assert lineage is not None
    return lineage


async def root_with(world: World, count: int, **limits: Any) -> tuple[str, list[NewTask]]:
    """A root that ended and wanted so many children; returns its id and what it wanted."""
    [root] = await world.submit(world.task("root"), **limits)
    wanted = [world.task(f"child {n}", priority=n, kind="image") for n in range(count)]
    await world.settle(await world.claim_one(kinds=("page",)), spawns=wanted)
    return root, wanted


# --- raising


async def test_limits_are_raised_and_recorded_with_who_and_why(world: World) -> None:
    await world.submit(max_tasks=5, max_fan_out=6, max_spawn_depth=7)
    raised = {"max_tasks": 50, "max_fan_out": 60, "max_spawn_depth": 70, "max_shape": 5_000, "retries_per_minute": 900}
    lineage = await world.store.raise_limits("line", raised, by="ann", reason="it is honest")
    assert {name: getattr(lineage, name) for name in raised} == raised
    assert await line(world) == lineage
    [act] = await world.store.acts("line")
    assert (act.by, act.act, act.subject, act.reason) == ("ann", "raise_limits", "line", "it is honest")
    assert act.detail["max_tasks"] == [5, 50]


async def test_a_limit_is_never_lowered_and_all_or_nothing_changes(world: World) -> None:
    await world.submit(max_tasks=5, max_fan_out=6)
    with pytest.raises(StoreError, match="max_tasks of lineage line is 5 already"):
        await world.store.raise_limits("line", {"max_fan_out": 60, "max_tasks": 4}, by="ann")
    lineage = await line(world)
    assert (lineage.max_tasks, lineage.max_fan_out) == (5, 6)
    assert await world.store.acts() == []


async def test_what_is_no_limit_of_a_lineage_and_what_is_no_lineage_is_refused(world: World) -> None:
    await world.submit()
    with pytest.raises(StoreError, match="tasks cannot be raised"):
        await world.store.raise_limits("line", {"tasks": 0}, by="ann")
    with pytest.raises(StoreError, match="no lineage nope"):
        await world.store.raise_limits("nope", {"max_tasks": 9}, by="ann")


async def test_asking_for_what_is_so_already_records_nothing(world: World) -> None:
    await world.submit(max_tasks=5)
    await world.store.raise_limits("line", {"max_tasks": 5}, by="ann", extend_seconds=1.0)
    assert await world.store.acts() == []


async def test_a_deadline_is_put_off_for_the_tasks_that_it_had_cut_short(world: World) -> None:
    await world.submit(
        world.task("cut", task_seconds=5_000.0), world.task("own", task_seconds=50.0),
        world.task("none", task_seconds=None), lineage_seconds=1_000.0,
    )  # fmt: skip
    cut, own, none = [claimed.standing.seq for claimed in await world.claim(3)]
    began = world.clock.now
    world.clock.advance(10.0)
    lineage = await world.store.raise_limits("line", {}, by="ann", extend_seconds=3_000.0)
    assert lineage.deadline_at == world.clock.now + 3_000.0
    deadlines = dict(await world.store.read("SELECT seq, deadline_at FROM ramet_live"))
    assert deadlines == {cut: lineage.deadline_at, own: began + 50.0, none: lineage.deadline_at}
    await world.store.raise_limits("line", {}, by="ann", extend_seconds=30_000.0)
    deadlines = dict(await world.store.read("SELECT seq, deadline_at FROM ramet_live"))
    assert deadlines[cut] == began + 5_000.0


# --- offering again


async def test_what_the_budget_blocked_is_created_as_it_was_wanted(world: World) -> None:
    root, wanted = await root_with(world, 6, max_tasks=4)
    await world.store.raise_limits("line", {"max_tasks": 6}, by="ann")
    told = await world.store.reoffer("line", by="ann", reason="more room")
    assert set(told.created) == {wanted[3].id, wanted[4].id}
    assert (told.there_already, dict(told.still_blocked)) == (0, {"budget": 1})
    task = await world.get(wanted[3].id)
    assert (task.parent_id, task.ancestry_chain, task.spawn_depth) == (root, (root,), 1)
    assert (task.kind, task.key, task.priority, task.payload) == ("image", "child 3", 3, {"number": 5})
    history = await world.store.history(root)
    assert history is not None
    marks = {block.key: (block.count, block.reoffered_at, block.reoffered_by) for block in history.blocks}
    assert marks == {
        "child 3": (1, world.clock.now, "ann"),
        "child 4": (1, world.clock.now, "ann"),
        "child 5": (1, None, None),
    }
    act = (await world.store.acts("line"))[0]
    assert (act.act, act.by, act.reason) == ("reoffer", "ann", "more room")
    assert act.detail == {"created": 2, "there_already": 0, "still_blocked": {"budget": 1}}


async def test_offering_twice_creates_once(world: World) -> None:
    await root_with(world, 3, max_tasks=2)
    await world.store.raise_limits("line", {"max_tasks": 9}, by="ann")
    assert len((await world.store.reoffer("line", by="ann")).created) == 2
    again = await world.store.reoffer("line", by="ann")
    assert (again.created, again.there_already, dict(again.still_blocked), again.after) == ((), 0, {}, None)


@pytest.mark.parametrize(
    ("limit", "blocked_at", "reason"),
    [("max_fan_out", 1, "fan_out"), ("max_spawn_depth", 0, "depth"), ("max_tasks", 2, "budget")],
)
async def test_each_limit_that_was_raised_lets_its_blocks_through(
    world: World, limit: str, blocked_at: int, reason: str
) -> None:
    root, _ = await root_with(world, 3, **{limit: blocked_at})
    assert {block.reason for block in await world.store.blocks("line")} == {reason}
    assert (await world.store.reoffer("line", by="ann")).created == ()
    await world.store.raise_limits("line", {limit: 100}, by="ann")
    told = await world.store.reoffer("line", by="ann", reasons=[reason])
    there = await world.store.child_counts([root])
    assert there == {root: 3}
    assert dict(told.still_blocked) == {}
    await world.run_all()
    assert (await line(world)).state == "finished"


async def test_reasons_choose_what_is_offered(world: World) -> None:
    await root_with(world, 3, max_fan_out=1, max_tasks=9)
    await world.store.raise_limits("line", {"max_fan_out": 9}, by="ann")
    assert (await world.store.reoffer("line", by="ann", reasons=["depth", "budget"])).created == ()
    assert len((await world.store.reoffer("line", by="ann", reasons=["fan_out"])).created) == 2


async def test_a_spawn_at_the_deadline_is_offered_again_after_it_was_put_off(world: World) -> None:
    await world.submit(world.task("root"), world.task("other", delay_seconds=500.0), lineage_seconds=100.0)
    claimed = await world.claim_one()
    world.clock.advance(100.0)
    answer = await world.settle(claimed, spawns=[world.task("a")])
    assert [told.reason for told in answer.spawns] == ["deadline"]
    await world.sweep()
    assert (await line(world)).state == "failed"
    with pytest.raises(StoreError, match=r"deadline of lineage line has passed.*--extend"):
        await world.store.reoffer("line", by="ann")
    await world.store.raise_limits("line", {}, by="ann", extend_seconds=500.0)
    assert len((await world.store.reoffer("line", by="ann")).created) == 1
    lineage = await line(world)
    assert (lineage.state, lineage.live, lineage.reason, lineage.ended_at) == ("running", 1, None, None)
    assert (await world.claim_one()).key == "a"


async def test_a_finished_lineage_runs_again_only_when_something_was_created(world: World) -> None:
    await root_with(world, 3, max_tasks=1)
    assert (await line(world)).state == "finished"
    await world.store.reoffer("line", by="ann")
    assert (await line(world)).state == "finished"
    await world.store.raise_limits("line", {"max_tasks": 9}, by="ann")
    await world.store.reoffer("line", by="ann")
    assert (await line(world)).state == "running"
    await world.run_all()


async def test_a_cancelled_lineage_is_offered_nothing(world: World) -> None:
    await world.submit(world.task("root"), world.task("other", delay_seconds=50.0), max_tasks=2)
    await world.settle(await world.claim_one(), spawns=[world.task("a")])
    await world.store.cancel_lineage("line", by="ann")
    with pytest.raises(StoreError, match="was cancelled: revive"):
        await world.store.reoffer("line", by="ann")


async def test_under_a_tombstone_nothing_is_created(world: World) -> None:
    await world.submit(world.task("top"), world.task("other", delay_seconds=50.0), max_tasks=3)
    top = await world.claim_one()
    [below] = await world.grow(top, world.task("below"))
    await world.settle(await world.claim_task(below), spawns=[world.task("x")])
    await world.store.cancel("t1", tree=True, by="ann")
    await world.store.raise_limits("line", {"max_tasks": 9}, by="ann")
    assert dict((await world.store.reoffer("line", by="ann")).still_blocked) == {"cancelled": 1}


async def test_what_exists_by_now_is_marked_and_not_made_again(world: World) -> None:
    await world.submit(world.task("root"), world.task("second"), max_fan_out=1)
    first, second = await world.claim(2)
    assert await world.spawn(first, world.task("a"), world.task("b")) == [None, "fan_out"]
    assert await world.spawn(second, world.task("b")) == [None]
    await world.store.raise_limits("line", {"max_fan_out": 9}, by="ann")
    told = await world.store.reoffer("line", by="ann")
    assert (told.created, told.there_already) == ((), 1)
    assert (await world.store.reoffer("line", by="ann")).after is None


async def test_the_parents_claim_goes_on_and_counts_the_new_children(world: World) -> None:
    await world.submit(world.task("root"), max_fan_out=1)
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("a"), world.task("b")) == [None, "fan_out"]
    await world.store.raise_limits("line", {"max_fan_out": 2}, by="ann")
    await world.store.reoffer("line", by="ann")
    assert await world.spawn(claimed, world.task("c")) == ["fan_out"]
    assert (await world.settle(claimed)).state == "success"


async def test_a_failed_parent_gets_its_child(world: World) -> None:
    await world.submit(world.task("root"), max_spawn_depth=0)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Checkpoint(1, 300.0), spawns=[world.task("a")])
    await world.settle(claimed, failing(claimed))
    await world.store.raise_limits("line", {"max_spawn_depth": 1}, by="ann")
    [child] = (await world.store.reoffer("line", by="ann")).created
    assert (await world.get(child)).parent_id == claimed.id


async def test_a_delay_runs_from_the_offer(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=1)
    await world.settle(await world.claim_one(), spawns=[world.task("a", delay_seconds=60.0)])
    world.clock.advance(1_000.0)
    await world.store.raise_limits("line", {"max_tasks": 2}, by="ann")
    [child] = (await world.store.reoffer("line", by="ann")).created
    assert (await world.get(child)).available_at == world.clock.now + 60.0


async def test_blocks_are_offered_in_pages(world: World) -> None:
    await root_with(world, 7, max_tasks=20, max_fan_out=2)
    await world.store.raise_limits("line", {"max_fan_out": 20}, by="ann")
    created, after, pages = 0, None, 0
    while True:
        page = await world.store.reoffer("line", by="ann", limit=2, after=after)
        if page.after is None:
            break
        created, after, pages = created + len(page.created), page.after, pages + 1
    assert (created, pages) == (5, 3)


async def test_reasons_that_cannot_be_offered_are_refused(world: World) -> None:
    await world.submit()
    with pytest.raises(StoreError, match="blocks by cycle, nonsense cannot be offered again"):
        await world.store.reoffer("line", by="ann", reasons=["nonsense", "cycle", "depth"])
    with pytest.raises(StoreError, match="no lineage nope"):
        await world.store.reoffer("nope", by="ann")


# --- edges


async def test_the_edge_to_an_existing_task_is_kept_when_asked_for(world: World) -> None:
    await world.submit(world.task("root"), world.task("other"))
    first, second = await world.claim(2)
    await world.spawn(first, world.task("a"))
    wanted = [world.task(key, keep_edge=1) for key in ("a", "a", "root", "other", "fresh")]
    assert await world.spawn(second, *wanted, world.task("a", kind="image")) == (
        ["in_flight", "in_flight", "in_flight", "cycle", None, None]
    )
    [a] = [task.id for task in (await world.store.tasks(TaskQuery(key="a"))).tasks if task.kind == "page"]
    expected = sorted([a, first.id, second.id])
    assert await world.store.edges("line", [first.id, second.id]) == {second.id: expected}
    history = await world.store.history(second.id)
    assert history is not None
    assert history.links == tuple(expected)


async def test_what_the_money_blocked_is_offered_again_after_more_was_given(world: World) -> None:
    await world.submit(world.task("root"), max_cost=100)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Checkpoint(1, 300.0), charge=Charge("c", 100))
    answer = await world.settle(claimed, spawns=[world.task("a")])
    assert [told.reason for told in answer.spawns] == ["cost"]
    with pytest.raises(StoreError, match="max_cost of lineage line is 100 already"):
        await world.store.raise_limits("line", {"max_cost": 99}, by="ann")
    await world.store.raise_limits("line", {"max_cost": 200}, by="ann")
    assert len((await world.store.reoffer("line", by="ann", reasons=["cost"])).created) == 1


async def test_a_later_stage_that_the_deadline_blocked_is_offered_again_and_is_no_child(world: World) -> None:
    first = world.task("k", kind="both.page", base="both", places=2)
    await world.submit(first, world.task("other", delay_seconds=500.0), lineage_seconds=100.0)
    claimed = await world.claim_one(kinds=("both.page",))
    world.clock.advance(100.0)
    answer = await world.settle(claimed, spawns=[world.task("k", kind="both.image", base="both", places=0)])
    assert [told.reason for told in answer.spawns] == ["deadline"]
    await world.store.raise_limits("line", {}, by="ann", extend_seconds=500.0)
    [later] = (await world.store.reoffer("line", by="ann")).created
    assert (await world.get(later)).spawn_depth == 0
    assert await world.store.read("SELECT fan_out FROM ramet_tasks WHERE id = ?", (first.id,)) == [(0,)]


async def test_nothing_of_a_lineage_that_is_being_pruned_is_offered_again(world: World) -> None:
    await root_with(world, 3, max_tasks=2)
    await world.run_all()
    await world.store.ensure_tables([f"UPDATE ramet_lineages SET sweep = {PRUNING} WHERE tracking_id = 'line'"])
    with pytest.raises(StoreError, match="lineage line is being pruned: nothing of it can be created again"):
        await world.store.reoffer("line", by="ann")
    await world.store.ensure_tables(["UPDATE ramet_lineages SET sweep = 0 WHERE tracking_id = 'line'"])


async def test_what_nobody_wants_any_more_stays_blocked(world: World) -> None:
    """Its parents are not in the database, as after an import of blocks alone."""
    root, _ = await root_with(world, 3, max_tasks=2)
    await world.store.ensure_tables(["UPDATE ramet_blocks SET first_parent = 'gone', last_parent = 'gone'"])
    await world.store.raise_limits("line", {"max_tasks": 9}, by="ann")
    told = await world.store.reoffer("line", by="ann")
    assert (told.created, told.there_already, dict(told.still_blocked)) == ((), 0, {"parent_unknown": 2})
    await world.store.ensure_tables([f"UPDATE ramet_blocks SET first_parent = '{root}', last_parent = '{root}'"])
