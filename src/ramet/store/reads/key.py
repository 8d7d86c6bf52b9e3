"""What is known of a kind and key: who has it, who was refused it. Bounded in the rows that are looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.lineage import LineageState
from ramet.model.task.task import Block
from ramet.store.answers import Known
from ramet.store.reads.tasks import LIMIT_MAX, tasks_of
from ramet.store.rows.blocks import BLOCK_LIST, block_of
from ramet.store.rows.uniqueness import holders
from ramet.store.session import Session

IDENTITIES_MAX = 5_000
"""Identities with one key, of the newest lineages, that are looked at: a key may be in very many."""
LINEAGES_MAX = 1_000
"""Of each state, the newest lineages whose blocks are looked at."""


def known(session: Session, kind: str, key: str, tracking_id: str | None = None, *, limit: int = 100) -> Known:
    """Return what is stored about a kind and key, in one lineage or in any; at most ``limit`` (1,000) of each.

    In any lineage: looks at up to 5,000 identities with this key, and at the blocks of the newest 1,000 lineages of
    each state and of those that the found tasks belong to.
    """
    most = max(1, min(limit, LIMIT_MAX))
    if tracking_id is None:
        found, more = _anywhere(session, kind, key, most)
        lineages, cut = _with_blocks(session, [line for _, line in found])
    else:
        found, more = _within(session, kind, key, tracking_id), False
        lineages, cut = [tracking_id], False
    tasks = {task.id: task for task in tasks_of(session, [seq for seq, _ in found[:most]])}
    newest_first = tuple(sorted(tasks.values(), key=lambda task: -task.created_at))
    blocks = _blocks(session, kind, key, lineages, most + 1)
    holder = holders(session, [(kind, key)]).get((kind, key))
    return Known(newest_first, tuple(blocks[:most]), holder, more or cut or len(blocks) > most)


def _within(session: Session, kind: str, key: str, tracking_id: str) -> list[tuple[int, str]]:
    rows = session.rows(
        "SELECT seq, tracking_id FROM ramet_identities WHERE key = ? AND tracking_id = ? AND kind = ?",
        (key, tracking_id, kind),
    )
    return [(row[0], row[1]) for row in rows]


def _anywhere(session: Session, kind: str, key: str, most: int) -> tuple[list[tuple[int, str]], bool]:
    """(number, lineage) of tasks with this identity; ids of lineages sort by their time, unless somebody named them."""
    rows = session.rows(
        "SELECT seq, tracking_id, kind FROM ramet_identities WHERE key = ? ORDER BY tracking_id DESC LIMIT ?",
        (key, IDENTITIES_MAX),
    )
    found = [(seq, tracking_id) for seq, tracking_id, of in rows if of == kind]
    return found[:most], len(rows) == IDENTITIES_MAX or len(found) > most


def _with_blocks(session: Session, beside: Sequence[str]) -> tuple[list[str], bool]:
    """Lineages that refused spawns, and whether there are older ones that were not looked at."""
    found, cut = set(beside), False
    for state in LineageState:
        rows = session.rows(
            "SELECT tracking_id, blocks FROM ramet_lineages WHERE state = ? ORDER BY created_at DESC LIMIT ?",
            (state.value, LINEAGES_MAX),
        )
        found.update(tracking_id for tracking_id, blocks in rows if blocks)
        cut = cut or len(rows) == LINEAGES_MAX
    return sorted(found), cut


def _blocks(session: Session, kind: str, key: str, lineages: Sequence[str], limit: int) -> list[Block]:
    listed, values = session.members(lineages)
    rows = session.rows(
        f"SELECT {BLOCK_LIST} FROM ramet_blocks WHERE tracking_id {listed} AND kind = ? AND key = ? "
        "ORDER BY last_at DESC, tracking_id, reason LIMIT ?",
        (values, kind, key, limit),
    )
    return [block_of(row) for row in rows]
