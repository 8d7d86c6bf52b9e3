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
    live: int


async def waits(store: Store, lineages: dict[str, Lineage]) -> list[str]:
    """One line for everything that is wrong."""
    rows = [WaitRow._make(row) for row in await store.read(f"SELECT {', '.join(WaitRow._fields)} FROM ramet_waits")]
    columns = ", ".join(AwaitedRow._fields)
    awaited = [AwaitedRow._make(row) for row in await store.read(f"SELECT {columns} FROM ramet_awaited")]
    live = dict(await store.read("SELECT seq, wait FROM ramet_live"))
    late = {seq for (seq,) in await store.read("SELECT seq FROM ramet_wakes WHERE what <> 'revival'")}
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
    rows: list[WaitRow], awaited: list[AwaitedRow], live: dict[int, str | None], late: set[int]
) -> Iterator[str]:
    by_round: dict[tuple[int, int], int] = Counter()
    waiting = {(row.seq, row.round) for row in rows if row.waiting}
    for each in awaited:
        by_round[each.seq, each.round] += each.live
        if each.awaited in late:
            continue  # More tasks wait for it than one transaction writes.
        if (each.seq, each.round) in waiting and not each.behind and each.live != (each.awaited in live):
            yield f"task {each.seq} waits for {each.awaited}, which is {'live' if each.awaited in live else 'over'}"
    for row in rows:
        if row.waiting and row.remaining != by_round[row.seq, row.round]:
            yield f"task {row.seq} waits for {row.remaining} tasks, not {by_round[row.seq, row.round]}"


def _waits_for_ever(rows: list[WaitRow], live: dict[int, str | None]) -> Iterator[str]:
    waiting = {row.seq for row in rows if row.waiting == WAITS}
    for seq, wait in live.items():
        if (wait == "tasks") != (seq in waiting):
            yield f"task {seq} waits for {wait}, and its round is {'open' if seq in waiting else 'over'}"
    for seq in waiting - live.keys():
        yield f"task {seq} is over, and its round is open"
