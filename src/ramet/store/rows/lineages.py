"""Reading and writing lineage rows, the truth for claim, settle and spawn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.store.rows.clocks import effective, queue_offsets, stood_still, stopped_since, stored_deadlines
from ramet.store.session import Session

LINEAGE_LIST = ", ".join(Lineage._fields)
DEADLINE_REASON = "lineage_deadline"
PRUNING = -1
"""In the ``sweep`` column of a lineage: it is being pruned."""


def lock_lineages(session: Session, tracking_ids: Iterable[str]) -> dict[str, Lineage]:
    """The named lineage rows, held until the transaction ends, by tracking_id. Unknown ids are absent.

    Deadlines are by the clock on the wall, whatever pauses there were (:mod:`ramet.store.rows.clocks`).
    """
    return _lineages(session, tracking_ids, session.for_update)


def read_lineages(session: Session, tracking_ids: Iterable[str]) -> dict[str, Lineage]:
    """The named lineage rows as they are, by tracking_id. They may change at once: for who only takes or keeps tasks.

    Whoever ends a lineage deals with the tasks that were claimed until then, so a claim need not hold its row.
    """
    return _lineages(session, tracking_ids, "")


def _lineages(session: Session, tracking_ids: Iterable[str], ending: str) -> dict[str, Lineage]:
    listed, values = session.members(sorted(set(tracking_ids)))
    found = session.rows(
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE tracking_id IN {listed} ORDER BY tracking_id{ending}",
        (values,),
    )
    return {row.tracking_id: row for row in effective(session, [Lineage._make(row) for row in found])}


def insert_lineages(session: Session, rows: Sequence[Lineage]) -> None:
    """Create lineage rows."""
    if rows:
        marks = ", ".join("?" * len(Lineage._fields))
        session.run_many(
            f"INSERT INTO ramet_lineages ({LINEAGE_LIST}) VALUES ({marks})", stored_deadlines(session, rows)
        )


def add_tasks(session: Session, tracking_id: str, places: int, live: int, turns: str) -> None:
    """Book new live tasks, the places of the budget and the turns that they took.

    The table's own CHECK refuses to pass ``max_tasks``: the last guard of I5.
    """
    session.run(
        "UPDATE ramet_lineages SET tasks = tasks + ?, live = live + ?, turns = ? WHERE tracking_id = ?",
        (places, live, turns, tracking_id),
    )


def end_lineage(session: Session, tracking_id: str, state: LineageState, reason: str) -> bool:
    """Flip an open lineage row. From this commit on nothing of it is claimed, settled or spawned."""
    _end_pause(session, tracking_id)
    flipped = session.run(
        "UPDATE ramet_lineages SET state = ?, reason = ?, ended_at = ?, sweep = 1 WHERE tracking_id = ? "
        "AND state IN ('running', 'paused')",
        (state.value, reason, session.now, tracking_id),
    )
    if flipped:
        count_end(session)
    return flipped > 0


def count_end(session: Session) -> None:
    """Something was ended from outside: workers that have it in hand look at their claims at once."""
    session.run("UPDATE ramet_counters SET value = value + 1 WHERE name = 'ends'")


def _end_pause(session: Session, tracking_id: str) -> None:
    """A pause that ends with its lineage gives the unused time back, for whoever revives a task of it."""
    paused = session.rows(
        "SELECT paused_at FROM ramet_lineages WHERE tracking_id = ? AND state = 'paused'", (tracking_id,)
    )
    if paused:
        session.run(
            "UPDATE ramet_lineages SET deadline_at = deadline_at - ?, paused_at = NULL, paused_by = NULL, "
            "paused_reason = NULL WHERE tracking_id = ?",
            (PAUSE_SECONDS_MAX - stopped_since(paused[0][0], session.now), tracking_id),
        )


def extended_deadline(session: Session, lineage: Lineage, seconds: float) -> float:
    """The deadline to store so that a lineage has at least ``seconds`` from now, its pauses apart."""
    unused = 0.0 if lineage.paused_at is None else PAUSE_SECONDS_MAX - stopped_since(lineage.paused_at, session.now)
    wanted_at = session.now + seconds + unused - stood_still(session).get(lineage.queue, 0.0)
    return max(wanted_at, lineage.deadline_at - queue_offsets(session).get(lineage.queue, 0.0))


def reopen_lineage(session: Session, tracking_id: str) -> None:
    """Let an ended lineage run again, because a person gave it something to run."""
    session.run(
        "UPDATE ramet_lineages SET state = ?, reason = NULL, ended_at = NULL WHERE tracking_id = ?",
        (LineageState.RUNNING.value, tracking_id),
    )


def tombstones_of(lineage: Lineage) -> dict[str, int]:
    """Marks of cancelled subtrees by task id. Lineages without any pay only for an empty string."""
    return dict(json.loads(lineage.tombstones)) if lineage.tombstones else {}
