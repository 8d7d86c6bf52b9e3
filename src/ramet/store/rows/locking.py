"""Live rows that maintenance is about to change, taken in the order in which everybody takes locks.

First the slots of their paths, then the rows themselves, then lineages: who settles a task holds the slot before it
wants the rows of those that waited for it. Whoever held such a row and then wanted the slot would wait for that one,
and be waited for.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.task.task import Standing
from ramet.store.rows.paths import hold_slots
from ramet.store.schema.tables import LIVE_LIST
from ramet.store.session import Session


def take_live(session: Session, where: str, parameters: Sequence[object], limit: int) -> list[Standing]:
    """Tasks that a condition finds, held until the transaction ends; those that somebody else holds are left out.

    Args:
        session: see :class:`ramet.store.session.Session`.
        where: what comes after the name of the table, an order of the rows perhaps included.
        parameters: of the condition.
        limit: how many at most.
    """
    if session.for_update:
        found = session.rows(f"SELECT seq, holds_path FROM ramet_live {where} LIMIT ?", (*parameters, limit))
        if not found:
            return []
        pathed = [seq for seq, holds_path in found if holds_path is not None]
        hold_slots(session, pathed)
        # Others without a path may be found now, but none whose slot is not held.
        listed, values = session.members(pathed)
        where = where.replace("WHERE ", f"WHERE (holds_path IS NULL OR seq IN {listed}) AND ", 1)
        parameters = (values, *parameters)
    rows = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live {where} LIMIT ?{session.skip_locked}", (*parameters, limit)
    )
    return [Standing._make(row) for row in rows]
