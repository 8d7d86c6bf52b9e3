"""What must be true of every database of ramet at rest, checked from its rows alone (promises I1 to I8).

The checker knows nothing of how the rows came about. Two things are not stored, so the caller names them: kinds that
are about a place (``cycle_on="key"``), and lineages whose limits were lowered under what existed already.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from ramet.model.lineage.guard import REOFFERABLE, BlockReason, tombstone_over
from ramet.model.lineage.limits import LOSSES_MAX
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import Standing
from ramet.store.session import FENCES_PER_EPOCH
from ramet.store.store import Store
from tests.invariants.blobs import blobs
from tests.invariants.branches import Aside, count_branches
from tests.invariants.flow import FLOW_CHECKS, FlowRows
from tests.invariants.guard import (
    UniqueRow,
    load_uncounted,
    shapes_equal_a_recount,
    unique_keys_have_their_holder,
    what_was_left_out_is_counted,
)
from tests.invariants.money import money
from tests.invariants.paths import paths
from tests.invariants.rows import BlockRow, TaskRow, in_snapshot
from tests.invariants.tallies import ends, tallies
from tests.invariants.waits import waits

TERMINAL = ("success", "filtered", "skipped", "failed", "cancelled")
OUTCOMES = {"success", "filtered", "skipped", "error", "snooze", "continue", "lost", "returned", "ended"}


class Rows:
    """Everything in the database, by what it belongs to."""

    def __init__(self, lowered: Collection[str], place_kinds: Collection[str]) -> None:
        self.lowered = lowered
        self.place_kinds = place_kinds
        self.lineages: dict[str, Lineage] = {}
        self.tasks: dict[int, TaskRow] = {}
        self.live: dict[int, Standing] = {}
        self.identities: list[tuple[str, str, str, int]] = []
        self.fences: dict[int, list[int]] = defaultdict(list)
        self.attempts: list[tuple[int, int, str, str]] = []
        self.transitions: dict[int, list[int]] = defaultdict(list)
        self.revived: set[int] = set()
        self.imported: set[int] = set()
        self.places: dict[int, int] = {}
        """Of the tasks of staged kinds, by number."""
        self.bases: dict[int, str] = {}
        self.blocks: list[BlockRow] = []
        self.owned: list[tuple[str, int, str]] = []
        self.uniques: dict[tuple[str, str], UniqueRow] = {}
        self.shapes: Counter[tuple[str, str, str]] = Counter()
        self.demands: list[Any] = []
        self.uncounted: dict[str, Counter[str]] = defaultdict(Counter)
        self.firing: list[Any] = []
        self.flow = FlowRows()

    async def load(self, store: Store) -> None:
        async def table(name: str, fields: Any) -> list[Any]:
            return [fields._make(row) for row in await store.read(f"SELECT {', '.join(fields._fields)} FROM {name}")]

        offsets = dict(await store.read("SELECT name, paused_seconds FROM ramet_queues"))
        self.lineages = {
            row.tracking_id: row._replace(deadline_at=row.deadline_at + offsets.get(row.queue, 0.0))
            for row in await table("ramet_lineages", Lineage)
        }
        # What is being pruned is there in part, and counts as gone; a live row of it would still be found.
        gone = {name for name, lineage in self.lineages.items() if lineage.sweep < 0}
        self.lineages = {name: lineage for name, lineage in self.lineages.items() if name not in gone}
        self.tasks = {row.seq: row for row in await table("ramet_tasks", TaskRow) if row.tracking_id not in gone}
        self.live = {row.seq: row for row in await table("ramet_live", Standing)}
        self.blocks = [row for row in await table("ramet_blocks", BlockRow) if row.tracking_id not in gone]
        self.identities = [
            (key, tracking_id, kind, seq)
            for key, tracking_id, kind, seq in await store.read(
                "SELECT key, tracking_id, kind, seq FROM ramet_identities"
            )
            if tracking_id not in gone
        ]
        self.uniques = {(row.key, row.kind): row for row in await table("ramet_uniques", UniqueRow)}
        for tracking_id, kind, shape, count in await store.read(
            "SELECT tracking_id, kind, shape, count FROM ramet_shapes"
        ):
            if tracking_id in gone:
                continue
            self.shapes[(tracking_id, kind, shape)] = count
        for seq, fence, tracking_id, outcome in await store.read(
            "SELECT seq, fence, tracking_id, outcome FROM ramet_attempts ORDER BY seq, fence"
        ):
            self.attempts.append((seq, fence, tracking_id, outcome))
            self.fences[seq].append(fence)
        for seq, number, name in await store.read(
            "SELECT seq, number, name FROM ramet_transitions ORDER BY seq, number"
        ):
            self.transitions[seq].append(number)
            if name == "revive":
                self.revived.add(seq)
            if name == "import":
                self.imported.add(seq)
        self.uncounted = await load_uncounted(store)
        self.demands = await store.read("SELECT kind, key, count, demands, demands_seen FROM ramet_blocks")
        self.firing = await store.read("SELECT tracking_id, pattern FROM ramet_alerts WHERE state = 'firing'")
        for name in ("ramet_attempts", "ramet_transitions", "ramet_checkpoints", "ramet_stages"):
            found = await store.read(f"SELECT seq, tracking_id FROM {name}")
            self.owned += [(name, seq, of) for seq, of in found if of not in gone]
        await self.flow.load(store)
        self.branches = await count_branches(store)
        self.places = {row.seq: row.places for row in self.flow.stages.values()}
        self.bases = {row.seq: row.base for row in self.flow.stages.values()}

    def stand(self, task: TaskRow) -> TaskRow | Standing:
        """Where the task's moving fields are: the hot row while there is one."""
        return self.live.get(task.seq, task)

    def deeper(self, task: TaskRow) -> int:
        """0 for a later stage: it has its parent's depth and key, and is no child that counts."""
        return min(1, self.places.get(task.seq, 1))

    def marks(self, lineage: Lineage) -> dict[str, int]:
        return dict(json.loads(lineage.tombstones)) if lineage.tombstones else {}


async def violations(
    store: Store, *, lowered: Collection[str] = (), place_kinds: Collection[str] = (), clock_set_back: bool = False
) -> list[str]:
    """One line for everything that is wrong; empty for a sound database.

    With ``clock_set_back`` the order of attempts in time proves nothing and is not looked at.
    """
    return await in_snapshot(store, partial(_look, rows=Rows(lowered, place_kinds), clock_set_back=clock_set_back))


async def _look(store: Store, rows: Rows, clock_set_back: bool) -> list[str]:
    await rows.load(store)
    if clock_set_back:
        rows.fences = defaultdict(list, {seq: sorted(fences) for seq, fences in rows.fences.items()})
    found = [f"{check.__name__}: {line}" for check in CHECKS for line in check(rows)]
    found += [f"blobs: {line}" for line in await blobs(store, rows.lineages)]
    found += [f"ends: {line}" for line in await ends(store, rows.lineages)]
    found += await paths(store)
    found += [f"tallies: {line}" for line in await tallies(store, rows.tasks, rows.live)]
    found += [f"branches: {line}" for line in rows.branches.wrong(rows.lineages)]
    found += [f"waits: {line}" for line in await waits(store, rows.lineages)]
    return found + [f"money: {line}" for line in await money(store, rows.lineages, rows.branches.aside())]


def one_place_and_one_end(rows: Rows) -> Iterator[str]:
    """I1: a task is live (hot row, wide state NULL) or has exactly one end (no hot row, terminal state)."""
    for task in rows.tasks.values():
        if (task.seq in rows.live) != (task.state is None):
            yield f"task {task.id} has state {task.state} and {'a' if task.seq in rows.live else 'no'} hot row"
        if task.state is not None and task.state not in TERMINAL:
            yield f"task {task.id} ended as {task.state}"
        if (task.state is None) != (task.finished_at is None):
            yield f"task {task.id} has state {task.state} and finished at {task.finished_at}"
    for seq in rows.live.keys() - rows.tasks.keys():
        yield f"hot row {seq} has no task"
    for seq, standing in rows.live.items():
        wide = rows.tasks.get(seq)
        if wide and (standing.tracking_id, standing.kind, standing.spawn_depth) != (
            wide.tracking_id,
            wide.kind,
            wide.spawn_depth,
        ):
            yield f"hot row {seq} and its task disagree about lineage, kind or depth"


def counters_equal_a_recount(rows: Rows) -> Iterator[str]:
    """I5: counters change in the transaction that changes what they count."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    aside = rows.branches.aside()
    for task in rows.tasks.values():
        counted[task.tracking_id]["tasks"] += rows.places.get(task.seq, 1)
        counted[task.tracking_id][task.state or "live"] += 1
    for block in rows.blocks:
        counted[block.tracking_id]["blocks"] += 1
    for tracking_id, lineage in rows.lineages.items():
        counted[tracking_id]["tasks"] += lineage.on_end is not None
        counted[tracking_id]["tasks"] += aside.get(tracking_id, Aside()).tasks
        for name in ("tasks", "live", *TERMINAL, "blocks"):
            if getattr(lineage, name) != counted[tracking_id][name]:
                yield f"lineage {tracking_id} counts {getattr(lineage, name)} {name}, not {counted[tracking_id][name]}"
    for tracking_id in counted.keys() - rows.lineages.keys():
        yield f"lineage {tracking_id} has tasks or blocks and no row"


def lineage_states_follow(rows: Rows) -> Iterator[str]:
    """I6: a lineage without live tasks is over, and one that is over has none, or a sweep on its way to them."""
    for lineage in rows.lineages.values():
        name = f"lineage {lineage.tracking_id} ({lineage.state}, {lineage.live} live)"
        if lineage.state == "running" and not lineage.live:
            yield f"{name} has nothing to run"
        if lineage.state == "finished" and lineage.live:
            yield f"{name} is not finished"
        ending = sum(1 for row in rows.live.values() if row.tracking_id == lineage.tracking_id and row.ending)
        if lineage.state in ("failed", "cancelled") and lineage.live > ending and not lineage.sweep:
            yield f"{name} has nobody to end its tasks"
        if (lineage.ended_at is None) != (lineage.state in ("running", "paused")):
            yield f"{name} ended at {lineage.ended_at}"
        if lineage.state in ("failed", "cancelled") and not lineage.reason:
            yield f"{name} has no reason"


def nobody_is_forgotten(rows: Rows) -> Iterator[str]:
    """I1: a task set aside waits for something that will come; one under a tombstone will be reached by the sweep."""
    for standing in rows.live.values():
        task, lineage = rows.tasks.get(standing.seq), rows.lineages.get(standing.tracking_id)
        if task is None or lineage is None:
            continue
        grave = tombstone_over(rows.marks(lineage), task.id, task.chain)
        if grave is not None and not lineage.sweep and standing.ending is None:
            yield f"task {task.id} is under the tombstone {grave}, and no sweep will come"
        if standing.wait == "lineage" and lineage.state == "running" and grave is None:
            yield f"task {task.id} waits for its lineage, which runs: nobody will wake it"


def identities_are_unique(rows: Rows) -> Iterator[str]:
    """I4: one task per (tracking_id, kind, key), and one identity row for it."""
    stored = {(tracking_id, kind, key): seq for key, tracking_id, kind, seq in rows.identities}
    for identity, count in Counter((t.tracking_id, t.kind, t.key) for t in rows.tasks.values()).items():
        if count > 1:
            yield f"{count} tasks are {identity}"
    for task in rows.tasks.values():
        if stored.get((task.tracking_id, task.kind, task.key)) != task.seq:
            yield f"task {task.id} has no identity row"
    for identity, seq in stored.items():
        if seq not in rows.tasks:
            yield f"identity {identity} belongs to no task"


def tree_is_sound(rows: Rows) -> Iterator[str]:
    """Depth and ancestry come from the parent, of the same lineage."""
    by_id = {task.id: task for task in rows.tasks.values()}
    for task in rows.tasks.values():
        if task.parent_id is None:
            # An imported root may have left its ancestors behind, and says so.
            if (task.spawn_depth and task.seq not in rows.imported) or task.chain:
                yield f"root {task.id} has depth {task.spawn_depth} and ancestors {task.chain}"
            continue
        parent = by_id.get(task.parent_id)
        if parent is None or parent.tracking_id != task.tracking_id:
            yield f"task {task.id} has no parent in its lineage"
        elif (task.spawn_depth, task.chain) != (parent.spawn_depth + rows.deeper(task), (*parent.chain, parent.id)):
            yield f"task {task.id} has depth {task.spawn_depth} and ancestors {task.chain} below {parent.id}"


def no_cycle(rows: Rows) -> Iterator[str]:
    """I3: no ancestor of this kind and key; for kinds that are about a place none with this key, whatever its kind."""
    by_id = {task.id: task for task in rows.tasks.values()}
    for task in rows.tasks.values():
        for ancestor in (by_id[name] for name in task.chain if name in by_id):
            any_kind = task.kind in rows.place_kinds and rows.deeper(task)
            if ancestor.key == task.key and (ancestor.kind == task.kind or any_kind):
                yield f"task {task.id} works on {task.key!r} as its ancestor {ancestor.id} does"


def bounds_hold(rows: Rows) -> Iterator[str]:
    """I5: tasks, depth and fan-out are never exceeded by even one; the stored fan-out is the number of children."""
    children = Counter(task.parent_id for task in rows.tasks.values() if rows.deeper(task))
    for lineage in rows.lineages.values():
        if lineage.tasks > lineage.max_tasks:
            yield f"lineage {lineage.tracking_id} has {lineage.tasks} tasks of {lineage.max_tasks}"
        if lineage.blocks > lineage.max_tasks and lineage.tracking_id not in rows.lowered:
            yield f"lineage {lineage.tracking_id} has {lineage.blocks} block rows, over {lineage.max_tasks}"
    for task in rows.tasks.values():
        if rows.stand(task).fan_out != children[task.id]:
            yield f"task {task.id} counts {rows.stand(task).fan_out} children and has {children[task.id]}"
        bounds = rows.lineages.get(task.tracking_id)
        if bounds is None or task.tracking_id in rows.lowered:
            continue
        if task.spawn_depth > bounds.max_spawn_depth:
            yield f"task {task.id} is at depth {task.spawn_depth} of {bounds.max_spawn_depth}"
        if children[task.id] > bounds.max_fan_out:
            yield f"task {task.id} has {children[task.id]} children of {bounds.max_fan_out}"


def every_claim_has_one_outcome(rows: Rows) -> Iterator[str]:
    """I2 and I6: fences grow by one with every claim, each ended claim has one outcome, attempts are bounded."""
    for task in rows.tasks.values():
        stand = rows.stand(task)
        # Being bound is a claim by another task.
        running = stand.state == "processing" or getattr(stand, "bound_to", None) is not None
        if stand.fence is None or (running and not stand.fence):
            yield f"task {task.id} ({stand.state}) has fence {stand.fence}"
        elif not _fences_told(rows.fences[task.seq], stand.fence - running, gaps=bool(task.on_end)):
            yield f"task {task.id} ({stand.state}) has fence {stand.fence} and outcomes of {rows.fences[task.seq]}"
        if task.max_attempts is not None and (stand.attempts or 0) > task.max_attempts:
            yield f"task {task.id} made {stand.attempts} attempts of {task.max_attempts}"
        if (stand.losses or 0) > LOSSES_MAX:
            yield f"task {task.id} was lost {stand.losses} times"
    for seq, fence, _, outcome in rows.attempts:
        if outcome not in OUTCOMES:
            yield f"attempt {fence} of task {seq} ended as {outcome}"


def _fences_told(told: list[int], ended: int, *, gaps: bool) -> bool:
    """Every claim that ended is told once; a task that is marked as ending takes a fence without a claim."""
    told, every = [fence % FENCES_PER_EPOCH for fence in told], list(range(1, ended % FENCES_PER_EPOCH + 1))
    return told == every or (gaps and len(set(told)) == len(told) and set(told) <= set(every))


def attempts_are_bounded(rows: Rows) -> Iterator[str]:
    """I6: recounted from the outcomes, not read from the counter. A revive begins anew, a continuation as well."""
    errors: Counter[int] = Counter()
    for seq, _, _, outcome in sorted(rows.attempts):
        if outcome == "continue":
            errors[seq] = 0
        errors[seq] += outcome == "error"
        task = rows.tasks.get(seq)
        bound = None if task is None or seq in rows.revived else task.max_attempts
        if bound is not None and task is not None and task.on_end:
            bound += 1  # the on_end handler may fail too
        if bound is not None and errors[seq] > bound:
            yield f"task {seq} failed {errors[seq]} times in {bound} attempts"


def leases_and_deadlines(rows: Rows) -> Iterator[str]:
    """A claim has a worker and a lease; nothing else has; no task may run longer than its lineage."""
    for standing in rows.live.values():
        held = standing.state == "processing"
        if (standing.wait == "bound") != (standing.bound_to is not None):
            yield f"{standing.state} task {standing.seq} waits for {standing.wait} and is bound to {standing.bound_to}"
        waits = held and standing.wait not in (None, "resource")
        if held != (standing.worker is not None) or held != (standing.lease_until > 0) or waits:
            yield f"{standing.state} task {standing.seq}: worker {standing.worker}, lease {standing.lease_until}"
        lineage = rows.lineages.get(standing.tracking_id)
        if not lineage or standing.ending is not None or standing.queue != lineage.queue:
            continue  # An ending task has an hour of its own, one of another queue that queue's clock.
        if standing.deadline_at is not None and standing.deadline_at > lineage.deadline_at + 0.001:
            yield f"task {standing.seq} may run until {standing.deadline_at}, its lineage until {lineage.deadline_at}"


def refusals_are_explained(rows: Rows) -> Iterator[str]:
    """I8: an end that is not success has its reason; a block names its parents and, where there is one, the winner."""
    by_id = {task.id: task for task in rows.tasks.values()}
    for task in rows.tasks.values():
        if task.state not in (None, "success") and not task.reason:
            yield f"task {task.id} ended as {task.state} without a reason"
    for block in rows.blocks:
        name = f"block {block.kind} {block.key!r} ({block.reason})"
        for parent_id in (block.first_parent, block.last_parent):
            if parent_id not in by_id or by_id[parent_id].tracking_id != block.tracking_id:
                yield f"{name} was asked for by {parent_id}, which is not of its lineage"
        if block.count < 1:
            yield f"{name} happened {block.count} times"
        if (block.wanted is not None) != (BlockReason(block.reason) in REOFFERABLE):
            yield f"{name} keeps {block.wanted}"
        winner = by_id.get(block.winner) if block.winner is not None else None
        if block.reason == "elsewhere":
            if block.winner is None:
                yield f"{name} names no holder"
        elif (winner is not None) != (block.reason in ("cycle", "in_flight", "done")):
            yield f"{name} has the winner {block.winner}"
        if winner is not None and winner.key != block.key:
            yield f"{name} lost to {winner.id}, which works on {winner.key!r}"


def nothing_is_orphaned(rows: Rows) -> Iterator[str]:
    """Rows about a task go when the task goes, and carry its lineage; recorded transitions are numbered from 1."""
    for table, seq, tracking_id in rows.owned:
        task = rows.tasks.get(seq)
        if task is None or task.tracking_id != tracking_id:
            yield f"{table} has a row for task {seq} of lineage {tracking_id}, which is not there"
    for seq, numbers in rows.transitions.items():
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"transitions of task {seq} are numbered {numbers}"


def alerts_are_told_once(rows: Rows) -> Iterator[str]:
    """One alert fires per lineage and pattern; a refusal is at most one demand, and the first is none."""
    for (tracking_id, pattern), count in Counter(rows.firing).items():
        if count > 1:
            yield f"{count} alerts {pattern} fire for lineage {tracking_id!r}"
    for kind, key, count, demands, seen in rows.demands:
        if not 0 <= seen <= demands < count:
            yield f"block {kind} {key!r} of {count} refusals has {demands} demands, {seen} seen"


CHECKS = (
    one_place_and_one_end,
    counters_equal_a_recount,
    lineage_states_follow,
    nobody_is_forgotten,
    identities_are_unique,
    unique_keys_have_their_holder,
    shapes_equal_a_recount,
    tree_is_sound,
    no_cycle,
    bounds_hold,
    every_claim_has_one_outcome,
    attempts_are_bounded,
    leases_and_deadlines,
    refusals_are_explained,
    what_was_left_out_is_counted,
    nothing_is_orphaned,
    alerts_are_told_once,
    *FLOW_CHECKS,
)
