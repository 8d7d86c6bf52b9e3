"""What the budgets of branches promise, judged after every verb: none is passed, and all sums agree."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ramet.model.lineage.branches import Budget
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import NewTask
from ramet.store.store import Store
from tests.invariants.branches import count_branches
from tests.invariants.money import money
from tests.invariants.rows import at_once
from tests.simulation.database import SimulatedStore

_PLACES = (
    "SELECT t.tracking_id, SUM(COALESCE(s.places, 1)) FROM ramet_tasks t LEFT JOIN ramet_stages s ON s.seq = t.seq "
    "GROUP BY 1"
)
_USED = "SELECT seq, SUM(CASE WHEN actual < amount THEN actual ELSE amount END) FROM ramet_reservations GROUP BY seq"
"""What calls were granted, less what they gave back; an overrun and a charge are booked in full, wherever they are."""
_BOOKED = (
    "SELECT (SELECT COUNT(*) FROM ramet_live), (SELECT COUNT(*) FROM ramet_reservations), "
    "(SELECT SUM(tasks * 7 + live * 5 + spent * 3 + reserved) FROM ramet_branches), "
    "SUM(tasks * 7 + live * 5 + spent * 3 + reserved) FROM ramet_lineages"
)
"""Something that changes with nearly every booking: looking at all of it after every verb is half of a run."""


async def sums(store: Store) -> list[str]:
    """Compare the sums of branches, and of the rest of their lineages, with a recount of the rows."""
    found = [Lineage._make(row) for row in await store.read(f"SELECT {', '.join(Lineage._fields)} FROM ramet_lineages")]
    lineages = {
        row.tracking_id: row for row in found if row.sweep >= 0
    }  # Those that are being pruned are there in part.
    branches = await count_branches(store)
    aside, places = branches.aside(), dict(await store.read(_PLACES))
    wrong = [*branches.wrong(lineages), *await money(store, lineages, aside)]
    for name, lineage in lineages.items():
        counted = places.get(name, 0) + aside[name].tasks + (lineage.on_end is not None)
        if lineage.tasks != counted:
            wrong.append(f"lineage {name} counts {lineage.tasks} places, not {counted}")
    return wrong


class BranchJudge:
    """The budgets that were asked for, and what was broken."""

    def __init__(self, store: SimulatedStore, events: Counter[str]) -> None:
        self._store, self._events = store, events
        self.broken: list[str] = []
        self._asked: dict[str, Budget] = {}
        """By the id that the request gave to the task."""
        self._booked: list[Any] = []

    def wanted(self, name: str, arguments: Sequence[Any]) -> None:
        """Remember the budgets that are asked for."""
        news: list[NewTask] = []
        match name:
            case "settle":
                news = [new for item in arguments[0] for new in item.spawns]
            case "submit":
                news = [new for lineage in arguments[0] for new in lineage.roots]
            case "add":
                news = [*arguments[1]]
        self._asked.update({new.id: new.budget for new in news if new.budget is not None})

    def watch(self) -> None:
        """Look at all branches, after a verb that may have changed them."""
        booked = self._store.rows(_BOOKED)
        if self._asked and booked != self._booked:
            self._booked = booked
            self.broken += at_once(self._store.rows, sums)
            self.broken += self._passed()

    def _passed(self) -> Iterator[str]:
        """Count what grew below the first task of each branch by who is whose ancestor."""
        used = dict(self._store.rows(_USED))
        size, cost, own = Counter[str](), Counter[str](), defaultdict[str, int](int)
        for seq, task_id, chain in self._store.rows("SELECT seq, id, ancestry_chain FROM ramet_tasks"):
            for name in (task_id, *json.loads(chain)):
                if name in self._asked:
                    size[name] += 1
                    cost[name] += int(used.get(seq, 0))
            own[task_id] = int(used.get(seq, 0))
        for name, budget in self._asked.items():
            most, keep = budget.max_cost, budget.keep_cost
            if budget.max_tasks is not None and size[name] > budget.max_tasks:
                yield f"the branch of task {name} has {size[name]} tasks of {budget.max_tasks}"
            if most is not None and cost[name] > most:
                yield f"the branch of task {name} used {cost[name]} of {most}"
            if most is not None and cost[name] - own[name] > most - keep:
                used_below = cost[name] - own[name]
                yield f"the branch of task {name} used {used_below} of {most} below it, and keeps {keep} for that"
            self._events["branch at its size"] += size[name] == budget.max_tasks
