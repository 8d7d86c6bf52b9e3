"""What must be true of waiting for other tasks in every database at rest: every count equals a recount (promise I6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.store.rows.waits import WAITS, WaitRow
from ramet.store.store import Store


class AwaitedRow(NamedTuple):
    seq: int
    round: int
    place: int
    behind: int
    awaited: int | None


async def waits(store: Store, lineages: dict[str, Lineage]) -> list[str]:
    """One line for everything that is wrong."""
    rows = [WaitRow._make(row) for row in await store.read(f"SELECT {', '.join(WaitRow._fields)} FROM ramet_waits")]
    columns = ", ".join(AwaitedRow._fields)
    awaited = [AwaitedRow._make(row) for row in await store.read(f"SELECT {columns} FROM ramet_awaited")]
    live = dict(await store.read("SELECT seq, wait FROM ramet_live"))
    late = {
        seq: (done, last)
        for seq, done, last in await store.read("SELECT seq, done, last FROM ramet_wakes WHERE what <> 'revival'")
    }
    kept = [row for row in rows if row.tracking_id in lineages and lineages[row.tracking_id].sweep >= 0]
    return [*_lineages(rows, lineages), *_rounds(kept, awaited, live, late), *_waits_for_ever(kept, live)]


def _lineages(rows: list[WaitRow], lineages: dict[str, Lineage]) -> Iterator[str]:
    counted = Counter(row.tracking_id for row in rows)
    for tracking_id, lineage in lineages.items():
        if lineage.sweep >= 0 and lineage.waits != counted[tracking_id]:
            yield f"lineage {tracking_id} counts {lineage.waits} that have waited, not {counted[tracking_id]}"
        edges = sum(row.after for row in rows if row.tracking_id == tracking_id)
        if lineage.sweep >= 0 and lineage.edges != edges:
            yield f"lineage {tracking_id} counts {lineage.edges} edges, not {edges}"


def _rounds(
    rows: list[WaitRow], awaited: list[AwaitedRow], live: dict[int, str | None], late: dict[int, tuple[int, int]]
) -> Iterator[str]:
    by_round: dict[tuple[int, int], int] = Counter()
    for each in awaited:
        done, last = late.get(each.awaited or 0, (0, 0))
        # More tasks may wait for one than a transaction writes: its end is taken off the others later.
        counts = each.awaited in live or done < each.seq <= last
        by_round[each.seq, each.round] += counts and not each.behind
    for row in rows:
        if row.waiting == WAITS and row.remaining != by_round[row.seq, row.round]:
            yield f"task {row.seq} waits for {row.remaining} tasks, not {by_round[row.seq, row.round]}"


def _waits_for_ever(rows: list[WaitRow], live: dict[int, str | None]) -> Iterator[str]:
    waiting = {row.seq for row in rows if row.waiting == WAITS}
    for seq, wait in live.items():
        if (wait == "tasks") != (seq in waiting):
            yield f"task {seq} waits for {wait}, and its round is {'open' if seq in waiting else 'over'}"
    for seq in waiting - live.keys():
        yield f"task {seq} is over, and its round is open"
