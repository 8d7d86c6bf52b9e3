"""When a lineage is over: its last task has ended, and so has the task of its end, where one was wanted."""

from __future__ import annotations

from ramet.model.lineage.lineage import Lineage
from ramet.model.lineage.totals import end_name
from ramet.store.base import Store


async def ends_of(store: Store, lineage: Lineage) -> list[Lineage]:
    """The small lineages in which the tasks of its ends run, oldest first; those that were pruned are left out."""
    found = [await store.lineage(end_name(lineage.tracking_id, number)) for number in range(1, lineage.ends + 1)]
    return [row for row in found if row is not None]


async def over(store: Store, tracking_id: str) -> bool:
    """True when nothing is to come of a lineage any more, the task of its end included; also where there is none."""
    lineage = await store.lineage(tracking_id)
    if lineage is None:
        return True
    if lineage.live or lineage.end_wanted:
        return False
    last = await store.lineage(end_name(tracking_id, lineage.ends)) if lineage.ends else None
    return last is None or last.live == 0
