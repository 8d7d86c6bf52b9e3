"""The part of :mod:`tests.invariants.check` for what the guard counts beyond a lineage's own keys."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ramet.model.keys import shape_of
from ramet.store.store import Store

if TYPE_CHECKING:
    from tests.invariants.check import Rows


class UniqueRow(NamedTuple):
    key: str
    kind: str
    holder: str
    seq: int
    tracking_id: str
    state: str | None
    held_until: float | None


def unique_keys_have_their_holder(rows: Rows) -> Iterator[str]:
    """I4 over all lineages: a unique task that lives holds its key; a row held without an end names a live task."""
    for standing in rows.live.values():
        task = rows.tasks.get(standing.seq)
        if task is None or standing.unique_seconds is None:
            continue
        row = rows.uniques.get((task.key, rows.bases.get(task.seq, task.kind)))
        if row is None or (row.holder, row.seq, row.state, row.held_until) != (task.id, task.seq, None, None):
            yield f"task {task.id} is live and does not hold its unique key: {row}"
    for row in rows.uniques.values():
        if (row.held_until is None) != (row.state is None) or (row.state is None and row.seq not in rows.live):
            yield f"unique key {row.key!r} of {row.kind} is held as {row.state} until {row.held_until} by {row.holder}"
        holder = rows.tasks.get(row.seq)
        if holder and (holder.id, holder.tracking_id, holder.key) != (row.holder, row.tracking_id, row.key):
            yield f"unique key {row.key!r} of {row.kind} names {row.holder}, which is {holder.id}"


def shapes_equal_a_recount(rows: Rows) -> Iterator[str]:
    """I5: the spawned tasks of each shape are counted with their creation.

    So are roots that were added to a lineage, and those it began with are not: no row says which a root is.
    """
    trapped = {(tracking_id, kind) for tracking_id, kind, _ in rows.shapes}
    counted, roots = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for task in rows.tasks.values():
        if (task.tracking_id, task.kind) in trapped:
            of = roots if task.parent_id is None else counted
            of[task.tracking_id, task.kind, shape_of(task.key)] += 1
    for name in counted.keys() | rows.shapes.keys():
        if not counted[name] <= rows.shapes[name] <= counted[name] + roots[name]:
            yield f"shape {name} counts {rows.shapes[name]} tasks, not {counted[name]}"
    for (tracking_id, _, shape), count in rows.shapes.items():
        lineage = rows.lineages.get(tracking_id)
        if lineage is None:
            yield f"shape {shape} is of lineage {tracking_id}, which is not there"
        elif not _fits(lineage, shape, count) and tracking_id not in rows.lowered:
            yield f"lineage {tracking_id} has {count} keys of the shape {shape}, over {lineage.max_shape}"


def _fits(lineage: Any, shape: str, count: int) -> bool:
    most = lineage.shapes_allowed.get(shape, lineage.max_shape)
    return most is None or count <= max(most, lineage.max_shape)


async def load_uncounted(store: Store) -> dict[str, Counter[str]]:
    """Refusals beyond the stored rows that left work undone, by lineage and reason."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for tracking_id, reason, count in await store.read(
        "SELECT tracking_id, reason, left_out FROM ramet_block_counts WHERE left_out > 0"
    ):
        found[tracking_id][reason] += count
    return found


def what_was_left_out_is_counted(rows: Rows) -> Iterator[str]:
    """I8: a lineage counts what it wanted and did not get, and nothing that a task of it is about."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    there = {(tracking_id, kind, key) for key, tracking_id, kind, _ in rows.identities}
    for block in rows.blocks:
        found[block.tracking_id][block.reason] += block.left_out
        if block.left_out and block.reason != "cycle" and (block.tracking_id, block.kind, block.key) in there:
            yield f"block {block.kind} {block.key!r} ({block.reason}) is left out, and its task is there"
    for tracking_id, lineage in rows.lineages.items():
        wanted = +(found[tracking_id] + rows.uncounted[tracking_id])
        if Counter(json.loads(lineage.left_out or "{}")) != wanted:
            yield f"lineage {tracking_id} counts {lineage.left_out or 'nothing'} as left out, not {dict(wanted)}"
