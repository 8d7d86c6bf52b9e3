"""Follow-up of a lineage's end, tombstone or resume: its row changed first, its live tasks follow in batches."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.task import Standing, Wait
from ramet.store.rows.lineages import LINEAGE_LIST, lineage_of, lock_lineages, tombstones_of
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.tasks import claims_of, load_standings
from ramet.store.session import Session
from ramet.store.state.apply import free
from ramet.store.verbs.reclaim import apply_events
from ramet.store.verbs.spawn import load_parents

FINISH_BATCH = 5_000


def unfollowed(session: Session, task_ids: Sequence[str], tracking_ids: Sequence[str]) -> list[str]:
    """Lineages, by these tasks of theirs or by name, whose end has not reached all of their tasks yet."""
    of_tasks, ids = session.members(task_ids)
    named, names = session.members(tracking_ids)
    rows = session.rows(
        "SELECT tracking_id FROM ramet_lineages WHERE sweep > 0 AND (tracking_id IN "
        f"(SELECT tracking_id FROM ramet_tasks WHERE id {of_tasks}) OR tracking_id {named})",
        (ids, names),
    )
    return [tracking_id for (tracking_id,) in rows]


def follow_ends(session: Session, limit: int, tracking_ids: Sequence[str] = ()) -> tuple[int, int]:
    """End the tasks of lineages that ended, and those under a tombstone, batch by batch; free those of resumed ones.

    A claim locks its task first and reads the lineage after that. So a call after the end finds every claim that did
    not see it, by waiting for the tasks that are locked just now.

    Args:
        session: see :class:`ramet.store.session.Session`.
        limit: about how many tasks to look at.
        tracking_ids: only of these lineages; of any where it is empty.

    Returns:
        How many ended, and how many were looked at.
    """
    session.lock("follow")
    listed, values = session.members(tracking_ids)
    where, of = (f" AND tracking_id {listed}", (values,)) if tracking_ids else ("", ())
    rows = session.rows(f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE sweep > 0{where} LIMIT 20", of)
    ended = followed = 0
    for row in map(lineage_of, rows):
        counts = _follow_end(session, row, limit)
        ended, followed = ended + counts[0], followed + counts[1]
        if followed >= limit:
            break  # Others wait for these tasks: the rest is for the next round.
    return ended, followed


def finish_ends(session: Session, lineage: Lineage) -> None:
    """Follow the end of one lineage to its last task, now: before a revive says that the lineage runs again."""
    while lineage.sweep > 0:
        _follow_end(session, lineage, FINISH_BATCH)
        lineage = lock_lineages(session, [lineage.tracking_id])[lineage.tracking_id]


def _follow_end(session: Session, lineage: Lineage, limit: int) -> tuple[int, int]:
    beyond, values = "tracking_id = ? AND seq >= ?", (lineage.tracking_id, lineage.sweep)
    found = session.rows(
        f"SELECT seq FROM ramet_live WHERE state = 'pending' AND {beyond} ORDER BY seq LIMIT ?", (*values, limit)
    ) + session.rows(
        f"SELECT c.seq FROM {claims_of('seq', f' AND {beyond}')} c ORDER BY c.seq LIMIT ?", (*values, limit)
    )
    seqs = sorted(seq for (seq,) in found)[:limit]
    lock_stripes(session, seqs)  # Before their rows, as everywhere.
    standings = [*load_standings(session, seqs).values()]
    ended = len(apply_events(session, _ends_of(session, lineage, standings)))
    if lineage.state == LineageState.RUNNING:
        free(session, [s.seq for s in standings if s.wait == Wait.LINEAGE])
        session.wake()
    session.run(
        # One that ended meanwhile starts over.
        "UPDATE ramet_lineages SET sweep = ? WHERE tracking_id = ? AND sweep = ? AND tombstones = ? "
        "AND (state = ? OR state NOT IN ('failed', 'cancelled'))",
        (seqs[-1] + 1 if seqs else 0, lineage.tracking_id, lineage.sweep, lineage.tombstones,
         lineage.state),
    )  # fmt: skip
    return ended, len(seqs)


def _ends_of(session: Session, lineage: Lineage, standings: Sequence[Standing]) -> list[tuple[Standing, ev.Event]]:
    if lineage.state in (LineageState.FAILED, LineageState.CANCELLED):
        end = ev.LineageEnded(lineage.state, lineage.reason or Reason(f"lineage_{lineage.state}"))
        return [(s, end) for s in standings if s.ending is None]
    marks = tombstones_of(lineage)
    parents = load_parents(session, [s.seq for s in standings])
    ends: list[tuple[Standing, ev.Event]] = []
    for standing in standings:
        task_id, _, chain, _ = parents[standing.seq]
        grave = tombstone_over(marks, task_id, chain)
        if grave is not None and standing.ending is None:
            ends.append((standing, ev.LineageEnded("cancelled", Reason("cancel_tree", task=grave))))
    return ends
