"""The checker that ends every scenario finds each kind of damage, and nothing in a sound database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.flow.resources import ResourcePolicy
from ramet.model.lineage.limits import Limits
from ramet.model.paths import PathRule
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import CHECKS, violations
from tests.invariants.paths import CHECKS as PATH_CHECKS
from tests.support.world import SettableClock, World, failing

HOLD, HELD = "INSERT INTO ramet_holds SELECT seq,", "'line', 'default', 'page', NULL, 9e9"
DAMAGE: list[tuple[str, str]] = [
    ("one_place_and_one_end", "UPDATE ramet_tasks SET state = 'success', finished_at = 1.0 WHERE id = 'pending'"),
    ("one_place_and_one_end", "DELETE FROM ramet_live WHERE seq = (SELECT seq FROM ramet_tasks WHERE id = 'pending')"),
    ("one_place_and_one_end", "DELETE FROM ramet_tasks WHERE id = 'pending'"),
    ("one_place_and_one_end", "UPDATE ramet_tasks SET state = 'pending' WHERE id = 'done'"),
    ("one_place_and_one_end", "UPDATE ramet_tasks SET finished_at = NULL WHERE id = 'done'"),
    ("one_place_and_one_end", "UPDATE ramet_live SET spawn_depth = 7"),
    ("counters_equal_a_recount", "UPDATE ramet_lineages SET tasks = tasks + 1"),
    ("counters_equal_a_recount", "UPDATE ramet_lineages SET live = live + 1"),
    ("counters_equal_a_recount", "UPDATE ramet_lineages SET failed = 0"),
    ("counters_equal_a_recount", "UPDATE ramet_lineages SET blocks = 0"),
    ("counters_equal_a_recount", "DELETE FROM ramet_lineages WHERE tracking_id = 'line'"),
    ("lineage_states_follow", "UPDATE ramet_lineages SET state = 'running' WHERE tracking_id = 'over'"),
    (
        "lineage_states_follow",
        "UPDATE ramet_lineages SET state = 'finished', ended_at = 1.0 WHERE tracking_id = 'line'",
    ),
    ("lineage_states_follow", "UPDATE ramet_lineages SET state = 'failed', ended_at = 1.0 WHERE tracking_id = 'line'"),
    ("lineage_states_follow", "UPDATE ramet_lineages SET ended_at = 1.0 WHERE tracking_id = 'line'"),
    ("nobody_is_forgotten", "UPDATE ramet_lineages SET tombstones = '{\"root\": 1}' WHERE tracking_id = 'line'"),
    ("nobody_is_forgotten", "UPDATE ramet_live SET wait = 'lineage' WHERE state = 'pending'"),
    ("identities_are_unique", "UPDATE ramet_tasks SET key = 'a' WHERE id IN ('pending', 'held')"),
    ("identities_are_unique", "DELETE FROM ramet_identities WHERE key = 'a'"),
    ("identities_are_unique", "INSERT INTO ramet_identities VALUES ('ghost', 'line', 'page', 999)"),
    ("unique_keys_have_their_holder", "DELETE FROM ramet_uniques"),
    ("unique_keys_have_their_holder", "UPDATE ramet_uniques SET holder = 'done'"),
    ("unique_keys_have_their_holder", "UPDATE ramet_uniques SET held_until = 1.0"),
    ("unique_keys_have_their_holder", "UPDATE ramet_uniques SET tracking_id = 'over'"),
    ("unique_keys_have_their_holder", "INSERT INTO ramet_uniques VALUES ('a', 'b', 'c', 999, 'line', NULL, NULL)"),
    ("shapes_equal_a_recount", "UPDATE ramet_shapes SET count = count + 1"),
    ("shapes_equal_a_recount", "UPDATE ramet_shapes SET shape = 'other' WHERE shape = 'held'"),
    ("shapes_equal_a_recount", "UPDATE ramet_shapes SET tracking_id = 'gone'"),
    ("shapes_equal_a_recount", "UPDATE ramet_lineages SET max_shape = 0"),
    ("tree_is_sound", "UPDATE ramet_tasks SET spawn_depth = 2 WHERE id = 'done'"),
    ("tree_is_sound", "UPDATE ramet_tasks SET ancestry_chain = '[]' WHERE id = 'done'"),
    ("tree_is_sound", "UPDATE ramet_tasks SET ancestry_chain = '[\"x\"]' WHERE id = 'root'"),
    ("tree_is_sound", "UPDATE ramet_tasks SET parent_id = 'nobody' WHERE id = 'done'"),
    ("tree_is_sound", "UPDATE ramet_tasks SET parent_id = 'other' WHERE id = 'done'"),
    ("tallies", "UPDATE ramet_tallies SET created = created + 1"),
    ("tallies", "UPDATE ramet_tallies SET revived = revived + 1"),
    ("tallies", "UPDATE ramet_tallies SET ended_success = ended_success - 1"),
    ("tallies", "UPDATE ramet_tallies SET ended_success = ended_success + 1, revived = revived + 1"),
    ("tallies", "UPDATE ramet_tallies SET depth_0 = 0, depth_1 = depth_1 + depth_0"),
    ("tallies", "UPDATE ramet_tallies SET attempts_success = 0"),
    ("tallies", "DELETE FROM ramet_tallies"),
    ("no_cycle", "UPDATE ramet_tasks SET key = 'root' WHERE id = 'done'"),
    ("bounds_hold", "UPDATE ramet_lineages SET max_spawn_depth = 0"),
    ("bounds_hold", "UPDATE ramet_lineages SET max_fan_out = 1"),
    ("bounds_hold", "UPDATE ramet_tasks SET fan_out = fan_out + 1 WHERE id = 'root'"),
    ("bounds_hold", "PRAGMA ignore_check_constraints = 1; UPDATE ramet_lineages SET max_tasks = 2"),
    ("every_claim_has_one_outcome", "DELETE FROM ramet_attempts"),
    ("every_claim_has_one_outcome", "UPDATE ramet_tasks SET fence = fence + 1 WHERE id = 'done'"),
    ("every_claim_has_one_outcome", "UPDATE ramet_live SET fence = 0 WHERE state = 'processing'"),
    ("every_claim_has_one_outcome", "UPDATE ramet_tasks SET attempts = 9 WHERE id = 'broken'"),
    ("every_claim_has_one_outcome", "UPDATE ramet_live SET losses = 11"),
    ("every_claim_has_one_outcome", "UPDATE ramet_attempts SET outcome = 'odd'"),
    ("attempts_are_bounded", "UPDATE ramet_tasks SET max_attempts = 0 WHERE id = 'broken'"),
    ("leases_and_deadlines", "UPDATE ramet_live SET lease_until = 0.0"),
    ("leases_and_deadlines", "UPDATE ramet_live SET worker = 'w'"),
    ("leases_and_deadlines", "UPDATE ramet_live SET wait = 'due'"),
    ("leases_and_deadlines", "UPDATE ramet_live SET deadline_at = 9e9"),
    ("refusals_are_explained", "UPDATE ramet_tasks SET reason = NULL WHERE id = 'broken'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET first_parent = 'nobody'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET last_parent = 'other'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET count = 0"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET wanted = NULL WHERE reason = 'fan_out'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET wanted = '1' WHERE reason = 'cycle'"),
    ("what_was_left_out_is_counted", "UPDATE ramet_lineages SET left_out = '{\"budget\":7}'"),
    ("what_was_left_out_is_counted", "UPDATE ramet_blocks SET reason = 'budget', left_out = 1 WHERE reason = 'cycle'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET winner = NULL WHERE reason = 'cycle'"),
    ("refusals_are_explained", "UPDATE ramet_blocks SET winner = 'done' WHERE reason = 'cycle'"),
    ("alerts_are_told_once", "UPDATE ramet_blocks SET demands = count"),
    ("alerts_are_told_once", "UPDATE ramet_blocks SET demands_seen = 1"),
    ("nothing_is_orphaned", "UPDATE ramet_attempts SET tracking_id = 'elsewhere'"),
    ("nothing_is_orphaned", "INSERT INTO ramet_checkpoints VALUES (999, 'line', '{}', NULL, 1.0)"),
    ("nothing_is_orphaned", "UPDATE ramet_transitions SET number = number + 1"),
    ("held_slots_are_of_ended_claims", f"{HOLD} 1, {HELD} FROM ramet_tasks WHERE id = 'done'"),
    ("held_slots_are_of_ended_claims", f"{HOLD} fence, {HELD} FROM ramet_live WHERE state='processing'"),
    ("held_slots_are_of_ended_claims", f"{HOLD} 1, {HELD} FROM (SELECT 999 AS seq)"),
    ("held_slots_are_of_ended_claims", "UPDATE ramet_holds SET kind = 'image'"),
    ("held_slots_are_of_ended_claims", "UPDATE ramet_holds SET resource = 'mill'"),
    ("resources_are_sound", "PRAGMA ignore_check_constraints = 1; UPDATE ramet_resources SET name = ''"),
    ("resources_are_sound", "UPDATE ramet_resources SET told_rate = 0.0"),
    ("resources_are_sound", "UPDATE ramet_resources SET cut_rate = -0.1"),
    ("resources_are_sound", "UPDATE ramet_resources SET tokens = 2.1"),
    ("resources_are_sound", "UPDATE ramet_resources SET failures = -1"),
    ("resources_are_sound", "UPDATE ramet_resources SET opened_at = 1.0"),
    ("resources_are_sound", "UPDATE ramet_resources SET opened_at = 1.0, opened_by = 'engine'"),
    ("resources_are_sound", "UPDATE ramet_resources SET opened_reason = 'odd'"),
    ("resources_are_sound", "UPDATE ramet_resources SET paused_until = 1.0"),
    ("tasks_wait_at_their_resource", "UPDATE ramet_live SET resource = NULL"),
    ("tasks_wait_at_their_resource", "UPDATE ramet_live SET wait = 'resource' WHERE resource IS NULL"),
    ("tasks_wait_at_their_resource", "UPDATE ramet_live SET wait = NULL"),
    ("tasks_wait_at_their_resource", "UPDATE ramet_resources SET ready_at = NULL"),
    ("tasks_wait_at_their_resource", "DELETE FROM ramet_resources"),
    ("tasks_wait_at_their_resource", "UPDATE ramet_live SET ending = 'failed' WHERE wait = 'resource'"),
    ("pauses_of_queues_are_counted", "INSERT INTO ramet_queues (name, paused_seconds) VALUES ('q', -1.0)"),
    ("pauses_of_queues_are_counted", "INSERT INTO ramet_queues (name, paused_at, paused_by) VALUES ('q', 1.0, 'me')"),
    ("pauses_of_queues_are_counted", "INSERT INTO ramet_queues (name, paused_by) VALUES ('q', 'me')"),
    ("schedules_count_their_slots", "UPDATE ramet_schedules SET runs = 0"),
    ("schedules_count_their_slots", "UPDATE ramet_schedules SET name = 'other'"),
    ("schedules_count_their_slots", "UPDATE ramet_slots SET slots = 2"),
    ("schedules_count_their_slots", "UPDATE ramet_slots SET tracking_id = NULL"),
    ("schedules_count_their_slots", "UPDATE ramet_slots SET outcome = 'skipped'"),
    ("stages_follow_their_first", "UPDATE ramet_stages SET places = 0 WHERE places = 2"),
    ("stages_follow_their_first", "UPDATE ramet_stages SET places = 1 WHERE places = 2"),
    ("stages_follow_their_first", "UPDATE ramet_stages SET base = 'page' WHERE places = 0"),
    ("stages_follow_their_first", "UPDATE ramet_tasks SET key = 'b' WHERE kind = 'staged.b'"),
    ("claims_exclude_each_other", "UPDATE ramet_live SET state = 'processing', holds_path = 1 WHERE wait = 'path'"),
    ("claims_exclude_each_other", "UPDATE ramet_tasks SET path = '[\"d\"]' WHERE path = '[\"e\"]'"),
    ("claims_exclude_each_other", f"{HOLD} 1, {HELD} FROM ramet_tasks WHERE id = 'second'"),
    ("every_task_has_its_place", "DELETE FROM ramet_paths"),
    ("every_task_has_its_place", "UPDATE ramet_paths SET nodes = '[1]'"),
    ("every_task_has_its_place", "UPDATE ramet_paths SET ended = NULL"),
    ("every_task_has_its_place", "DELETE FROM ramet_holds"),
    ("every_task_has_its_place", "UPDATE ramet_live SET holds_path = NULL"),
    ("tickets_equal_a_recount", "UPDATE ramet_path_tickets SET exact = 1 - exact WHERE seq > 1"),
    ("tickets_equal_a_recount", "DELETE FROM ramet_path_tickets"),
    ("tickets_equal_a_recount", "INSERT INTO ramet_path_tickets VALUES (1, 1, 1, 1)"),
    ("holders_equal_a_recount", "DELETE FROM ramet_path_holders"),
    ("holders_equal_a_recount", "INSERT INTO ramet_path_holders VALUES (1, 1, 0)"),
    ("nobody_waits_in_vain", "UPDATE ramet_paths SET waits_on = NULL"),
    ("nobody_waits_in_vain", "UPDATE ramet_paths SET waits_on = 0 WHERE waits_on IS NOT NULL"),
    ("nobody_waits_in_vain", "UPDATE ramet_paths SET behind = 1"),
    ("tasks_say_whether_they_hold", "UPDATE ramet_live SET holds_path = 1 - holds_path WHERE state = 'pending'"),
    ("tasks_say_whether_they_hold", "UPDATE ramet_live SET wait = NULL WHERE wait = 'path'"),
    ("tasks_say_whether_they_hold", "UPDATE ramet_live SET wait = 'path' WHERE wait IS NULL"),
    ("waves_have_somebody", "INSERT INTO ramet_path_waves VALUES (1, 'away', 1, 1, 9, 1, 1, NULL, NULL)"),
    ("nothing_had_to_be_repaired", "INSERT INTO ramet_counters VALUES ('path_repairs', 1)"),
]


async def build(path: Path) -> None:
    """A lineage ``line`` with tasks of several states and blocks, and a finished one named ``over``."""
    clock = SettableClock()
    store = SqliteStore(path, clock=clock, inline=True)
    world = World(store, clock)
    await scheduled(world)
    await world.submit(world.task("root", id="root"), max_fan_out=4)
    root = await world.claim_one()
    news = [world.task(name, id=name, shape=name) for name in ("done", "broken", "cancelled", "held", "one too many")]
    news[3] = news[3]._replace(unique_seconds=60.0)
    await world.settle(root, spawns=[world.task("root"), *news])
    done, broken = await world.claim(2)
    await world.settle(done, spawns=[world.task("a", id="pending", shape="a")])
    await world.settle(broken, failing(broken))
    await world.store.cancel("cancelled", tree=False, by="test")
    assert (await world.claim_one()).id == "held"
    await world.submit(world.task("other", id="other"), tracking_id="over")
    await world.settle(await world.claim_task("other"))
    await flowing(world)
    await in_line(world)
    await world.check()
    await store.close()


async def scheduled(world: World) -> None:
    """A schedule with a run that is over."""
    await Schedules(Registry(Limits()), world.store, Limits()).add("page", every_seconds=300.0)
    world.clock.advance(300.0)
    await tick(world.store, 300.0, Limits())
    await world.run_all()


async def flowing(world: World) -> None:
    """A task that waits for its resource, one whose slot is held on, and a kind of two stages."""
    await world.store.limit_resource(ResourcePolicy("mill", rate_per_second=1.0, burst=2.0), by="test")
    first = world.task("a", "staged.a", base="staged", places=2)
    await world.submit(first, world.task("stopped", "odd", id="stopped"), tracking_id="flow")
    await world.settle(
        await world.claim_one(kinds=("staged.a",)), spawns=[world.task("a", "staged.b", base="staged", places=0)]
    )
    await world.claim_one(kinds=("odd",))
    await world.store.cancel("stopped", tree=False, by="test")
    await world.submit(world.task("grain", resource="mill"), tracking_id="mill")


async def in_line(world: World) -> None:
    """One that runs, one before and one behind another, one that is free; and a path that is held on."""
    held = world.task("kept", "odd", id="kept", path=PathRule(("e",)))
    paths = {"first": ("d",), "second": ("d", "x"), "third": ("d",), "free": ("f",)}
    lined_up = [world.task(name, "line", id=name, path=PathRule(path)) for name, path in paths.items()]
    await world.submit(held, *lined_up, tracking_id="paths")
    await world.claim_one(kinds=("odd",))
    await world.store.cancel("kept", tree=False, by="test")
    assert (await world.claim_one(kinds=("line",))).id == "first"


@pytest.mark.parametrize(("check", "damage"), DAMAGE, ids=[f"{c}-{n}" for n, (c, _) in enumerate(DAMAGE)])
async def test_damage_is_found_by_the_check_that_is_there_for_it(check: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"
    await build(path)
    connection = sqlite3.connect(path)
    for statement in damage.split("; "):
        connection.execute(statement)
    connection.commit()
    connection.close()
    store = SqliteStore(path, inline=True)
    assert check in {line.split(":")[0] for line in await violations(store)}
    await store.close()


def test_every_check_is_shown_to_find_something() -> None:
    assert {check for check, _ in DAMAGE} == {"tallies"} | {check.__name__ for check in (*CHECKS, *PATH_CHECKS)}


async def test_lowered_limits_and_kinds_about_a_place_are_taken_on_the_callers_word(tmp_path: Path) -> None:
    clock = SettableClock()
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True)
    world = World(store, clock)
    await world.submit(world.task("a"))
    [child] = await world.grow(await world.claim_one(), world.task("a", "loose"))
    assert await violations(store) == []
    assert {line.split(":")[0] for line in await violations(store, place_kinds={"loose"})} == {"no_cycle"}
    claimed = await world.claim_task(child)
    await world.settle(claimed, lower=(("max_spawn_depth", 0),))
    assert await violations(store, lowered={"line"}) == []
    assert {line.split(":")[0] for line in await violations(store)} == {"bounds_hold"}
    await store.close()
