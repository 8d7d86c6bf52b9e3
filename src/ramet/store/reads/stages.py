"""How far the tasks of a staged kind are (DESIGN §4)."""

from __future__ import annotations

from ramet.model.task.binding import StageCount
from ramet.store.session import Session


def stage_counts(session: Session, kind: str, tracking_id: str | None) -> list[StageCount]:
    """The distribution of a kind's tasks over stages and states, for both patterns of staged kinds."""
    if tracking_id is None:
        session.plan_freely()
    # Kinds of stages are ``kind.stage``; '/' is the character after '.'.
    kinds, values = "(kind = ? OR (kind > ? AND kind < ?))", [kind, f"{kind}.", f"{kind}/"]
    lineage, of = ("", []) if tracking_id is None else ("tracking_id = ? AND ", [tracking_id])
    named = "CASE WHEN kind = ? THEN stage ELSE SUBSTR(kind, CAST(? AS INTEGER)) END"
    parameters = [kind, len(kind) + 2, *of, *values]
    rows = session.rows(
        f"SELECT {named} AS name, state, COUNT(*) FROM ramet_live WHERE {lineage}{kinds} GROUP BY name, state",
        parameters,
    ) + session.rows(
        f"SELECT {named} AS name, state, COUNT(*) FROM ramet_tasks WHERE {lineage}state IS NOT NULL AND {kinds} "
        "GROUP BY name, state",
        parameters,
    )
    return sorted((StageCount(*row) for row in rows), key=lambda row: (row.stage or "", row.state))
