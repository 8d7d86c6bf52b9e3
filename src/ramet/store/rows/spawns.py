"""Edges kept for spawns, and how many keys of one shape a lineage spawned.

A granted spawn needs none: the child names its parent. Of a graph that many tasks discover at once only a tree is
left otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ramet.store.rows.blocks import NewBlock
from ramet.store.session import Session


def keep_edges(session: Session, refusals: Iterable[NewBlock]) -> None:
    """Store the edge of every refused spawn that lost to an existing task and asked for it; once each."""
    rows = [
        (item.parent.tracking_id, item.parent.id, item.blocked.winner)
        for item in refusals
        if item.new.keep_edge and item.blocked.winner is not None
    ]
    edge = ("tracking_id", "parent_id", "child_id")
    session.insert("ramet_edges", edge, rows, key=edge)


def edges(session: Session, tracking_id: str, parent_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of the existing tasks that these tasks of a lineage asked for with ``keep_edge``, by asking task.

    Tasks that asked for none are absent.
    """
    listed, values = session.members(parent_ids)
    found: dict[str, list[str]] = defaultdict(list)
    for parent_id, child_id in session.rows(
        f"SELECT parent_id, child_id FROM ramet_edges WHERE tracking_id = ? AND parent_id {listed} "
        "ORDER BY parent_id, child_id",
        (tracking_id, values),
    ):
        found[parent_id].append(child_id)
    return dict(found)


Shape = tuple[str, str, str]
"""(tracking_id, kind, shape)."""


def counts(session: Session, wanted: Iterable[Shape]) -> dict[Shape, int]:
    """Return the number of spawned tasks of each shape; shapes not seen yet are absent."""
    by_kind: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for tracking_id, kind, shape in wanted:
        by_kind[kind].add((tracking_id, shape))
    found: dict[Shape, int] = {}
    for kind, names in by_kind.items():
        pairs, values = session.pairs(sorted(names))
        for tracking_id, shape, count in session.rows(
            f"SELECT s.tracking_id, s.shape, s.count FROM {pairs} CROSS JOIN ramet_shapes s "
            "WHERE s.tracking_id = v.a AND s.kind = ? AND s.shape = v.b",
            (*values, kind),
        ):
            found[(tracking_id, kind, shape)] = count
    return found


def add(session: Session, spawned: Mapping[Shape, int]) -> None:
    """Book new tasks. The lineage's row, which the guard's caller holds, keeps others from counting meanwhile."""
    shape = ("tracking_id", "kind", "shape")
    rows = [(*name, count) for name, count in sorted(spawned.items())]
    session.insert(
        "ramet_shapes", (*shape, "count"), rows, key=shape, changes=("count = ramet_shapes.count + excluded.count",)
    )
