"""What must be true of the money in every database at rest: every sum equals a recount of the rows (promise I5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.store.store import Store
from tests.invariants.branches import Aside


class ReservationRow(NamedTuple):
    id: str
    tracking_id: str
    seq: int
    day: int
    amount: int
    actual: int | None
    closed_at: float | None
    settled_at: float | None

    @property
    def spent(self) -> int:
        if self.actual is not None:
            return self.actual
        return self.amount if self.closed_at is not None else 0

    @property
    def reserved(self) -> int:
        return self.amount if self.actual is None and self.closed_at is None else 0


async def money(store: Store, lineages: dict[str, Lineage], aside: Mapping[str, Aside]) -> list[str]:
    """One line for everything that is wrong."""
    columns = ", ".join(ReservationRow._fields)
    found = [ReservationRow._make(row) for row in await store.read(f"SELECT {columns} FROM ramet_reservations")]
    days = {day: (spent, reserved) for day, spent, reserved in await store.read("SELECT * FROM ramet_spend")}
    live = {seq for (seq,) in await store.read("SELECT seq FROM ramet_live")}
    return [*_rows(found, live), *_lineages(found, lineages, aside), *_days(found, days)]


def _rows(found: list[ReservationRow], live: set[int]) -> Iterator[str]:
    for row in found:
        if (row.actual is None) != (row.settled_at is None):
            yield f"reservation {row.id} has the actual cost {row.actual} and was settled at {row.settled_at}"
        if row.reserved and row.seq not in live:
            yield f"reservation {row.id} is open, and its task {row.seq} is over"


def _lineages(found: list[ReservationRow], lineages: dict[str, Lineage], aside: Mapping[str, Aside]) -> Iterator[str]:
    spent: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for row in found:
        spent[row.tracking_id] += row.spent
        reserved[row.tracking_id] += row.reserved
    for name, each in aside.items():
        reserved[name] += each.reserved
    for name, lineage in lineages.items():
        if (lineage.spent, lineage.reserved) != (spent[name], reserved[name]):
            yield (
                f"lineage {name} has {lineage.spent} spent and {lineage.reserved} reserved, "
                f"not {spent[name]} and {reserved[name]}"
            )
        if (
            lineage.max_cost is not None
            and lineage.spent + lineage.reserved > lineage.max_cost + lineage.under_reserved
        ):
            yield f"lineage {name} passed its ceiling of {lineage.max_cost}: {lineage.spent} and {lineage.reserved}"


def _days(found: list[ReservationRow], days: dict[int, tuple[int, int]]) -> Iterator[str]:
    """What was settled in lineages that are pruned is in the sums only."""
    spent: Counter[int] = Counter()
    reserved: Counter[int] = Counter()
    for row in found:
        for day in (row.day, -1):
            spent[day] += row.spent
            reserved[day] += row.reserved
    for day in reserved.keys() | days.keys():
        of_spent, of_reserved = days.get(day, (0, 0))
        if of_reserved != reserved[day] or of_spent < spent[day]:
            yield f"day {day} has {of_spent} spent and {of_reserved} reserved, not {spent[day]} and {reserved[day]}"
    if days and days[-1] != tuple(sum(sums[at] for day, sums in days.items() if day >= 0) for at in (0, 1)):
        yield f"the sum over all days is {days[-1]}"
