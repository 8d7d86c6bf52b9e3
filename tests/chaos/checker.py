"""What must hold when chaos has drained: read from the database and the effect log alone (promises I1 to I8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ramet.store.store import Store
from ramet.wiki.pipeline import app as wiki_app
from tests.chaos.path_overlaps import overlaps
from tests.chaos.pipelines import pipelines
from tests.chaos.rows import ACCEPTED, Rows
from tests.faults.effects import Effect
from tests.invariants.check import TERMINAL, violations

KEEPS = frozenset({"async", "thread", "line", "once", "beat", "agent"})
"""Kinds that keep an effect with their end."""
SECOND = "second"
"""What it is called."""

PLACE_KINDS = frozenset(kind.name for kind in wiki_app.registry.kinds if kind.cycle_on == "key")


class Finding(NamedTuple):
    """Something that is not as it must be."""

    what: str
    """The name of the zero that it is counted in."""
    line: str


class Verdict(NamedTuple):
    """What was found, and figures."""

    zeros: dict[str, int]
    findings: tuple[Finding, ...]
    figures: dict[str, int]

    def and_broken(self, lines: list[str]) -> Verdict:
        """With what was seen besides the database."""
        return _told(tuple(Finding(BROKEN, line) for line in lines) + self.findings, self.figures)


BROKEN = "broken"
"""Whatever else must be true of a database, and of processes."""


async def verdict(store: Store, told: list[Effect]) -> Verdict:
    """Look at everything."""
    rows = await Rows.load(store)
    findings = promised(rows, told)
    findings += [Finding(BROKEN, line) for line in await pipelines(store)]
    broken = await violations(store, place_kinds=PLACE_KINDS, clock_set_back=True)
    findings += [Finding(BROKEN, line) for line in broken]
    return _told(tuple(findings), figures(rows, told))


def promised(rows: Rows, told: list[Effect]) -> list[Finding]:
    """What the promises say, of rows and effects that were read."""
    return [Finding(name, line) for name, check in CHECKS.items() for line in check(rows, told)]


def _told(findings: tuple[Finding, ...], figures: dict[str, int]) -> Verdict:
    counted = Counter(finding.what for finding in findings)
    return Verdict({name: counted[name] for name in (*CHECKS, BROKEN)}, findings, figures)


def figures(rows: Rows, told: list[Effect]) -> dict[str, int]:
    """What a person wants to know of a run."""
    outcomes = Counter(outcome for attempts in rows.attempts.values() for outcome in attempts.values())
    blocks = Counter(block.reason for block in rows.blocks)
    for (_, reason), count in rows.counted_blocks.items():
        blocks[reason] += count
    # A handler that came to its end under a claim that was lost before it was settled.
    reached = {(effect.task, effect.fence) for effect in told if effect.step in ("left", "kept", "spawned", "booked")}
    stale = sum(rows.outcome_of(task, fence) == "lost" for task, fence in reached)
    return {
        "tasks": len(rows.tasks),
        "lineages": len(rows.lineages),
        "attempts": outcomes.total(),
        "attempts lost": outcomes["lost"],
        "refused as stale": stale,
        **{f"tasks {state}": count for state, count in Counter(str(t.state) for t in rows.tasks.values()).items()},
        **{f"blocked by {reason}": count for reason, count in blocks.items()},
    }


def lost(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I1: what was acknowledged is there and has exactly one end; what was acknowledged as kept is kept."""
    for effect in told:
        if effect.step == "lineage":
            if effect.task not in rows.lineages:
                yield f"lineage {effect.task} was acknowledged and is not there"
            continue
        name = effect.what if effect.step == "spawned" else effect.task
        if effect.step in ("submitted", "spawned"):
            task = rows.by_id.get(name)
            if task is None:
                yield f"task {name} was acknowledged as {effect.step} and is not there"
            elif task.state not in TERMINAL or task.seq in rows.live:
                yield f"task {name} was acknowledged as {effect.step} and has not one end: {task.state}"
        if effect.step == "kept" and not rows.effects[effect.task, effect.what]:
            yield f"what task {effect.task} was told is kept, {effect.what}, is not there"
        if effect.step == "booked" and (there := rows.booked.get(effect.what)) != effect.amount:
            yield f"{effect.amount} of {effect.what} were acknowledged as booked, there are {there}"


def doubled(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I2: one accepted end, one effect, one handler under a fence; and the effect is that of the accepted end."""
    for (name, fence), times in Counter((e.task, e.fence) for e in told if e.step == "began").items():
        if times > 1:
            yield f"task {name} began {times} times under fence {fence}"
        if rows.outcome_of(name, fence) is None:
            yield f"task {name} began under fence {fence}, of which there is no attempt"
    for task in rows.tasks.values():
        ends = [fence for fence, outcome in rows.attempts[task.seq].items() if outcome in ACCEPTED]
        if len(ends) > 1 and task.seq not in rows.revived:
            yield f"task {task.id} was accepted under the fences {ends}"
        if task.kind in KEEPS:
            kept = rows.effects[task.id, SECOND]
            # Who is skipped for what another task did has no end that a handler asked for, and keeps nothing.
            if len(kept) != bool(ends) or not set(kept) <= set(ends):
                yield f"task {task.id} ({task.state}) kept its end under {kept}; accepted were {ends}"
    for (name, step), fences in rows.effects.items():
        if len(fences) > 1:
            yield f"task {name} kept {step} {len(fences)} times, under {fences}"


def over_budget(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I5: recounted from the tasks, whatever the counters say."""
    tasks = Counter(task.tracking_id for task in rows.tasks.values())
    children = Counter(task.parent_id for task in rows.tasks.values() if not rows.is_next_stage(task))
    for name, lineage in rows.lineages.items():
        if max(tasks[name], lineage.tasks) > lineage.max_tasks:
            yield f"lineage {name} has {tasks[name]} tasks ({lineage.tasks} counted) of {lineage.max_tasks}"
        most = None if lineage.max_cost is None else lineage.max_cost + lineage.under_reserved
        if most is not None and rows.money[name] > most:
            yield f"lineage {name} has spent and reserved {rows.money[name]} of {most}"
    for task in rows.tasks.values():
        of = rows.lineages.get(task.tracking_id)
        if of is None:
            continue  # The other checks say so.
        if task.spawn_depth > of.max_spawn_depth:
            yield f"task {task.id} is at depth {task.spawn_depth} of {of.max_spawn_depth}"
        if children[task.id] > of.max_fan_out:
            yield f"task {task.id} has {children[task.id]} children of {of.max_fan_out}"


def cycles(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I3: no ancestor of the same kind and key, nor, but for kinds that allow it, of the same key."""
    for task in rows.tasks.values():
        for ancestor in (rows.by_id[name] for name in task.chain if name in rows.by_id):
            handed_on = rows.is_next_stage(task) or rows.same_stages(task, ancestor)
            any_kind = task.kind in PLACE_KINDS and not handed_on
            if ancestor.key == task.key and (ancestor.kind == task.kind or any_kind):
                yield f"task {task.id} works on {task.key!r} as its ancestor {ancestor.id} does"


def duplicates(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I4: one task per lineage, kind and key."""
    for identity, times in Counter((t.tracking_id, t.kind, t.key) for t in rows.tasks.values()).items():
        if times > 1:
            yield f"{times} tasks are {identity}"


def unexplained(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I8: every end that is no success, every refusal and every failed attempt has its reason."""
    for task in rows.tasks.values():
        if task.state not in (None, "success") and not task.reason:
            yield f"task {task.id} ended as {task.state} without a reason"
    for name, lineage in rows.lineages.items():
        if lineage.state in ("failed", "cancelled") and not lineage.reason:
            yield f"lineage {name} is {lineage.state} without a reason"
    for block in rows.blocks:
        if not block.reason or not block.facts:
            yield f"block of {block.kind} {block.key!r} in {block.tracking_id} has no reason"
    for (task_seq, fence), (outcome, why) in rows.unsuccessful.items():
        if not why:
            yield f"attempt {fence} of task {task_seq} ended as {outcome} and nobody said why"
    yield from _errands(rows)


def _errands(rows: Rows) -> Iterator[str]:
    """A model that told an agent to spawn ten thousand was refused, and the refusals say by what."""
    for task in rows.tasks.values():
        if task.kind != "agent" or task.parent_id is not None or task.state != "success":
            continue
        reasons = {block.reason for block in rows.blocks if block.tracking_id == task.tracking_id}
        if not reasons & {"fan_out", "budget"}:
            yield f"errand {task.tracking_id} was refused nothing by fan_out or budget, only by {sorted(reasons)}"


def not_ended(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """I6: nothing is live, and every lineage has its end."""
    for name, lineage in rows.lineages.items():
        if lineage.ended_at is None or lineage.live:
            yield f"lineage {name} is {lineage.state} with {lineage.live} live tasks"


Check = Callable[[Rows, list[Effect]], Iterator[str]]
CHECKS: dict[str, Check] = {
    "lost": lost,
    "double effects": doubled,
    "over budget": over_budget,
    "overlapping": overlaps,
    "cycles": cycles,
    "duplicates": duplicates,
    "unexplained": unexplained,
    "not ended": not_ended,
}
"""The zeros by name."""
