"""What must be true of branches in every database at rest: every sum equals a recount, level by level (promise I5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ramet.model.lineage.branches import Branch
from ramet.model.lineage.lineage import Lineage
from ramet.store.store import Store


class Aside(NamedTuple):
    """What branches take of a lineage beyond what their tasks come to by themselves."""

    tasks: int = 0
    reserved: int = 0


class Sums(NamedTuple):
    tasks: int = 0
    live: int = 0
    spent: int = 0
    reserved: int = 0

    def plus(self, *more: int) -> Sums:
        return Sums(*(a + b for a, b in zip(self, more, strict=True)))


class BranchCount:
    """The rows of all branches, beside a recount of them."""

    def __init__(self, rows: list[Branch], own: Mapping[str, Sums], charged: Mapping[str, int]) -> None:
        self.rows = rows
        self._charged = charged
        """By tracking_id: booked in full, whatever a branch has left."""
        self._own = own
        self._inner: dict[str | None, list[Branch]] = defaultdict(list)
        for row in rows:
            self._inner[row.parent].append(row)

    def around(self, branches: list[Branch], own: Sums) -> Sums:
        """What a level comes to: its own tasks, and what the branches in it take."""
        for row in branches:
            own = own.plus(row.held_tasks, row.live, row.spent, row.held_cost)
        return own

    def wrong(self, lineages: Mapping[str, Lineage]) -> Iterator[str]:
        for row in self.rows:
            if row.tracking_id not in lineages:
                continue  # It is being pruned: what is left of it is there in part.
            counted = self.around(self._inner[row.id], self._own[row.id])
            if (row.tasks, row.live, row.spent, row.reserved) != counted:
                yield f"branch {row.id} counts {row.tasks, row.live, row.spent, row.reserved}, not {tuple(counted)}"
            if row.max_tasks is not None and row.tasks > row.max_tasks:
                yield f"branch {row.id} has {row.tasks} tasks of {row.max_tasks}"
            lineage = lineages.get(row.tracking_id)
            over = self._charged.get(row.tracking_id, 0) + (0 if lineage is None else lineage.under_reserved)
            if row.max_cost is not None and row.spent + row.reserved > row.max_cost + over:
                yield f"branch {row.id} passed its {row.max_cost}: {row.spent} spent and {row.reserved} reserved"
        for name, lineage in lineages.items():
            count = sum(row.tracking_id == name for row in self.rows)
            if lineage.branches != count:
                yield f"lineage {name} counts {lineage.branches} branches, not {count}"

    def aside(self) -> dict[str, Aside]:
        """What the outermost branches take of each lineage, beyond what the tasks in them come to."""
        found: dict[str, Aside] = defaultdict(Aside)
        for row in self.rows:
            own = self._own[row.id]
            tasks, reserved = (row.held_tasks, row.held_cost) if row.parent is None else (0, 0)
            before = found[row.tracking_id]
            found[row.tracking_id] = Aside(before.tasks + tasks - own.tasks, before.reserved + reserved - own.reserved)
        return found


async def count_branches(store: Store) -> BranchCount:
    """Read everything that concerns branches."""
    rows = [Branch._make(row) for row in await store.read(f"SELECT {', '.join(Branch._fields)} FROM ramet_branches")]
    own: dict[str, Sums] = defaultdict(Sums)
    for branch, places, live, spent, reserved in await store.read(
        "SELECT b.branch, COALESCE(s.places, 1), CASE WHEN l.seq IS NULL THEN 0 ELSE 1 END, "
        "COALESCE((SELECT SUM(CASE WHEN r.settled_at IS NOT NULL THEN r.actual WHEN r.closed_at IS NOT NULL "
        "THEN r.amount ELSE 0 END) FROM ramet_reservations r WHERE r.seq = b.seq), 0), "
        "COALESCE((SELECT SUM(CASE WHEN r.settled_at IS NULL AND r.closed_at IS NULL THEN r.amount ELSE 0 END) "
        "FROM ramet_reservations r WHERE r.seq = b.seq), 0) "
        "FROM ramet_branch_tasks b LEFT JOIN ramet_stages s ON s.seq = b.seq LEFT JOIN ramet_live l ON l.seq = b.seq"
    ):
        own[branch] = own[branch].plus(places, live, int(spent), int(reserved))
    charged = dict(
        await store.read(
            "SELECT tracking_id, COALESCE(SUM(actual), 0) FROM ramet_reservations WHERE amount = 0 GROUP BY tracking_id"
        )
    )
    return BranchCount(rows, own, {name: int(amount) for name, amount in charged.items()})
