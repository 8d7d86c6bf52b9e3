"""The task that runs once after a lineage has ended, with its totals (DESIGN §4).

It is the only task of a lineage of its own, named after the one that ended: so nothing of the ended lineage has to make
an exception for it, and it cannot be stranded by any limit of that one. Its place was taken from the budget of the
lineage when that was created, so ``max_tasks`` bounds what a submit ever creates, reopenings apart. Its creation takes
the mark off the row in the same transaction, so it comes exactly once for every time that the lineage ends for good.
"""

from __future__ import annotations

import json

from ramet.model.lineage.lineage import END_SECONDS, Lineage, end_name
from ramet.model.task.task import NewTask
from ramet.store.reads.tasks import block_totals
from ramet.store.requests import NewLineage
from ramet.store.rows.lineages import LINEAGE_LIST, lineage_of, lock_lineages
from ramet.store.session import Session
from ramet.store.verbs.submit import start

ATTEMPTS = 4
"""Attempts of a kind without ``max_attempts``, which needs a ceiling on cost that an end has not."""


def start_ends(session: Session, limit: int) -> int:
    """Create the tasks of lineages that ended, down to their last task; returns how many."""
    rows = session.rows(
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE end_wanted = 1 AND ended_at IS NOT NULL AND live = 0 "
        f"LIMIT ?{session.skip_locked}",
        (limit,),
    )
    for row in map(lineage_of, rows):
        _start_end(session, row)
    return len(rows)


def _start_end(session: Session, row: Lineage) -> None:
    assert row.on_end is not None, "an end is wanted of a lineage that names no kind for it"
    number = row.ends + 1
    name = end_name(row.tracking_id, number)
    template = NewTask.listed(json.loads(row.on_end))
    new = template._replace(
        id=template.id if number == 1 else f"{template.id}-{number}",
        key=name,
        payload=json.dumps(_totals(session, row, number)),
        max_attempts=template.max_attempts or ATTEMPTS,
        unique_seconds=None,  # Its lineage's name is its own, unless that lineage was pruned and comes again.
    )
    if name not in lock_lineages(session, [name]):
        # Depth 0 and one task: it can spawn nothing.
        ending = NewLineage(name, [new], 0, 1, 0, END_SECONDS, generation=row.generation + 1)
        start(session, ending, in_line=False)
    session.run("UPDATE ramet_lineages SET end_wanted = 0, ends = ? WHERE tracking_id = ?", (number, row.tracking_id))


def _totals(session: Session, row: Lineage, number: int) -> dict[str, object]:
    blocks: dict[str, int] = {}
    for (_, reason), count in block_totals(session, row.tracking_id).items():
        blocks[reason] = blocks.get(reason, 0) + count
    names = "tracking_id state reason ended_at success filtered skipped failed cancelled under_reserved".split()
    values: dict[str, object] = {name: getattr(row, name) for name in names}
    return {
        **values,
        "tasks": row.created,
        "number": number,
        "started_at": row.created_at,
        "blocks": blocks,
        "spent": row.spent + row.reserved,
    }
