"""What must hold when a load has drained, whatever happened: read from the database and the effects alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from ramet import Limits
from ramet.store.store import Store
from tests.faults.effects import Effect
from tests.faults.fault_app import IS_FILTERED, SIZE, Number
from tests.invariants.check import TERMINAL, violations

ACCEPTED = ("success", "filtered")
STEPS = ("first", "second")


class Asked(NamedTuple):
    """What was submitted and acknowledged."""

    roots: dict[str, str]
    """Ids of roots by tracking_id."""
    limits: dict[str, Limits]
    """Of the lineages that have less than they would use."""


class TaskEnd(NamedTuple):
    seq: int
    id: str
    tracking_id: str
    payload: str
    state: str | None


class Found:
    """The database as the checker reads it."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskEnd] = {}
        self.attempts: dict[str, dict[int, str]] = defaultdict(dict)
        """Outcome by fence, by task."""
        self.kept: Counter[tuple[str, str, int]] = Counter()
        """Effects in the database: task, step and fence."""
        self.reservations: dict[str, tuple[int, int | None]] = {}
        """Amount and actual cost."""
        self.lineages: list[tuple[Any, ...]] = []
        self.refusals: dict[str, list[str]] = defaultdict(list)
        """What the guard refused and is not there, by lineage: for the line that says what is missing."""

    async def load(self, store: Store) -> None:
        """Read everything."""
        rows = await store.read("SELECT seq, id, tracking_id, payload, state FROM ramet_tasks")
        self.tasks = {row[1]: TaskEnd(*row) for row in rows}
        ids = {task.seq: task.id for task in self.tasks.values()}
        for seq, fence, outcome in await store.read("SELECT seq, fence, outcome FROM ramet_attempts"):
            self.attempts[ids[seq]][fence] = outcome
        self.kept = Counter(
            (task, step, fence) for task, step, fence in await store.read("SELECT task, step, fence FROM fault_effects")
        )
        for name, amount, actual in await store.read("SELECT id, amount, actual FROM ramet_reservations"):
            self.reservations[name] = (amount, actual)
        for tracking_id, key, reason, facts, times in await store.read(
            "SELECT b.tracking_id, b.key, b.reason, b.facts, b.count FROM ramet_blocks b WHERE NOT EXISTS (SELECT 1 "
            "FROM ramet_identities i WHERE i.tracking_id = b.tracking_id AND i.key = b.key AND i.kind = b.kind)"
        ):
            self.refusals[tracking_id].append(f"{key} {times} times: {reason}, {facts}")
        self.lineages = await store.read(
            "SELECT tracking_id, state, live, tasks, max_tasks, max_cost, spent + reserved FROM ramet_lineages"
        )


async def wrong(store: Store, asked: Asked, told: list[Effect]) -> list[str]:
    """One line for everything that is wrong; empty when every promise was kept.

    Args:
        told: the effects outside, with what handlers were told by the database.
    """
    found = Found()
    await found.load(store)
    lines = [f"{check.__name__}: {line}" for check in CHECKS for line in check(found, asked, told)]
    return [*await violations(store), *lines]


def nothing_is_lost(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """I1: what was acknowledged is there, and so is all that was kept under an acknowledgement."""
    for tracking_id, root in asked.roots.items():
        if root not in found.tasks or found.tasks[root].tracking_id != tracking_id:
            yield f"root {root} of {tracking_id} was acknowledged and is gone"
    for effect in told:
        amount, actual = found.reservations.get(effect.what, (None, None))
        there = {
            "began": effect.task in found.tasks,
            "kept": (effect.task, effect.what, effect.fence) in found.kept,
            "spawned": effect.what in found.tasks,
            "reserved": effect.amount == amount,
            "booked": effect.amount == actual,
        }
        if not there[effect.step]:
            yield f"{effect} was acknowledged and is gone"


def nothing_is_there_unasked(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """Every lineage was asked for once, and its tasks are the numbers that it consists of."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for task in found.tasks.values():
        numbers[task.tracking_id].append(Number.model_validate_json(task.payload).n)
    if numbers.keys() != asked.roots.keys():
        yield f"lineages {sorted(numbers.keys() ^ asked.roots.keys())} were asked for, or are there, but not both"
    for tracking_id, those in numbers.items():
        limits = asked.limits.get(tracking_id)
        size = SIZE if limits is None else min(SIZE, limits.max_tasks)
        refused = found.refusals[tracking_id]
        # A reservation that nobody could settle counts whole: it may spend the last that there was, and then the guard
        # refuses what comes after, and says so.
        spent = limits is not None and limits.max_cost is not None and any(": cost, " in line for line in refused)
        whole = len(those) == size or (spent and len(those) < size)
        if len(set(those)) != len(those) or not whole or not set(those) <= set(range(1, SIZE + 1)):
            yield f"{tracking_id} has the tasks {sorted(those)} and not {size}; refused and not there: {refused}"


def everything_ended_as_it_must(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """I6: every task has the end that its number has, every lineage is finished."""
    for task in found.tasks.values():
        n = Number.model_validate_json(task.payload).n
        if task.state not in TERMINAL or task.state != ("filtered" if n % IS_FILTERED == 0 else "success"):
            yield f"number {n}, task {task.id} of {task.tracking_id}, ended as {task.state}"
    for tracking_id, state, live, *_ in found.lineages:
        if (state, live) != ("finished", 0):
            yield f"lineage {tracking_id} is {state} with {live} live tasks"


def no_budget_is_passed(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """I5: neither by a task nor by a nano-dollar."""
    for tracking_id, _, _, tasks, max_tasks, max_cost, money in found.lineages:
        if tasks > max_tasks:
            yield f"lineage {tracking_id} has {tasks} tasks of {max_tasks}"
        if max_cost is not None and money > max_cost:
            yield f"lineage {tracking_id} has spent and reserved {money} of {max_cost}"


def no_effect_is_there_twice(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """I2: a claim is in one hand, under its own fence, and what it keeps is there once."""
    for (task, fence), times in Counter((e.task, e.fence) for e in told if e.step == "began").items():
        if times > 1:
            yield f"task {task} began {times} times under fence {fence}"
    kept = Counter((task, step) for task, step, _ in found.kept.elements())
    for name in found.tasks:
        counts = {step: kept.pop((name, step), 0) for step in STEPS}
        if any(times != 1 for times in counts.values()):
            yield f"task {name} kept its effects {counts} times"
    for strange in kept:
        yield f"{strange} is of no task"


def every_effect_has_its_claim(found: Found, asked: Asked, told: list[Effect]) -> Iterator[str]:
    """I2: what is kept was asked for under a claim, and the end under the one that was accepted, the last."""
    began = {(effect.task, effect.fence) for effect in told if effect.step == "began"}
    for task, step, fence in found.kept:
        outcome = found.attempts[task].get(fence)
        if (task, fence) not in began:
            yield f"{step} of task {task} was kept under fence {fence}, under which nobody began"
        if step == "second" and outcome not in ACCEPTED:
            yield f"the end of task {task} was kept under fence {fence}, which was {outcome}"
    for task, fence in began:
        if fence not in found.attempts[task]:
            yield f"task {task} began under fence {fence}, of which there is no attempt"
    for task, outcomes in found.attempts.items():
        ends = [fence for fence, outcome in outcomes.items() if outcome in ACCEPTED]
        if ends != [max(outcomes)]:
            yield f"task {task} was accepted under the fences {ends}, and the last one is {max(outcomes)}"


CHECKS = (
    nothing_is_lost,
    nothing_is_there_unasked,
    everything_ended_as_it_must,
    no_budget_is_passed,
    no_effect_is_there_twice,
    every_effect_has_its_claim,
)
