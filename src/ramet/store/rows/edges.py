"""Edges from a task to one that existed already, kept when a spawn asked for it (``keep_edge``).

A granted spawn needs none: the child names its parent. Of a graph that many tasks discover at once only a tree is
left otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ramet.store.rows.blocks import Refusal
from ramet.store.session import Session


def keep_edges(session: Session, refusals: Iterable[Refusal]) -> None:
    """Store the edge of every refused spawn that lost to an existing task and asked for it; once each."""
    rows = [
        (item.parent.tracking_id, item.parent.id, item.blocked.winner)
        for item in refusals
        if item.new.keep_edge and item.blocked.winner is not None
    ]
    session.run_many(
        "INSERT INTO ramet_edges (tracking_id, parent_id, child_id) VALUES (?, ?, ?) "
        "ON CONFLICT (tracking_id, parent_id, child_id) DO NOTHING",
        rows,
    )


def edges(session: Session, tracking_id: str, parent_ids: Sequence[str]) -> dict[str, list[str]]:
    """Ids of the existing tasks that each of these tasks of a lineage asked for; tasks without any are absent."""
    listed, values = session.members(parent_ids)
    found: dict[str, list[str]] = defaultdict(list)
    for parent_id, child_id in session.rows(
        f"SELECT parent_id, child_id FROM ramet_edges WHERE tracking_id = ? AND parent_id IN {listed} "
        "ORDER BY parent_id, child_id",
        (tracking_id, values),
    ):
        found[parent_id].append(child_id)
    return dict(found)
