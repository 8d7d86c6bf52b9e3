"""Reading and writing lineage rows, the truth for claim, settle and spawn; their clocks and deadlines.

A lineage's deadline is stored net of the time for which the queue of its first root was paused before; a reader adds
the time for which the queue's clock has not run until now. Queues that were never paused have no such time, and cost
one look at an empty index.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.lineage.lineage import OPEN, Lineage, LineageState
from ramet.model.reasons import Reason, restored, stored
from ramet.model.task.lifecycle import as_lineage_end, cut_by_lineage, of_task_time
from ramet.model.task.transitions import Change
from ramet.store.session import Row, Session


def queue_offsets(session: Session) -> dict[str, float]:
    """Return the seconds to add to stored deadlines, by queue; a pause that goes on counts whole.

    Empty when no queue was ever paused. Read once in a verb: a pause of a queue excludes all other writers.
    """
    if session.offsets is None:
        session.offsets = dict(session.rows("SELECT name, paused_seconds FROM ramet_queues WHERE paused_seconds > 0"))
    return session.offsets


def paused_seconds(session: Session) -> dict[str, float]:
    """Seconds for which each queue's clock has stood still until now, by queue."""
    return {
        name: paused_seconds
        if paused_at is None
        else paused_seconds - PAUSE_SECONDS_MAX + stopped_since(paused_at, session.now)
        for name, paused_at, paused_seconds in session.rows(
            "SELECT name, paused_at, paused_seconds FROM ramet_queues WHERE paused_seconds > 0"
        )
    }


def stopped_since(paused_at: float, now: float) -> float:
    """Return the seconds for which a pause has stopped the clocks: at most 30 days, and never below 0 (a clock set
    back).
    """
    return min(max(0.0, now - paused_at), PAUSE_SECONDS_MAX)


def effective(session: Session, rows: Sequence[Lineage]) -> list[Lineage]:
    """Lineage rows as stored, with their deadlines by the clock on the wall."""
    offsets = queue_offsets(session)
    if not offsets:
        return list(rows)
    return [row._replace(deadline_at=row.deadline_at + offsets.get(row.queue, 0.0)) for row in rows]


def stored_deadlines(session: Session, rows: Sequence[Lineage]) -> list[Lineage]:
    """Lineages with deadlines by the clock on the wall, as their rows store them."""
    stopped = paused_seconds(session)
    if not stopped:
        return list(rows)
    return [row._replace(deadline_at=row.deadline_at - stopped.get(row.queue, 0.0)) for row in rows]


LINEAGE_LIST = ", ".join((*Lineage._fields, "reason_facts"))


def lineage_of(row: Row) -> Lineage:
    """Return a lineage from a row of :data:`LINEAGE_LIST`."""
    lineage, facts = Lineage._make(row[:-1]), row[-1]
    return lineage if facts is None else lineage._replace(reason=restored(lineage.reason, facts))


DEADLINE_REASON = Reason("lineage_deadline")
PRUNING = -1
"""Value of the ``sweep`` column of a lineage that is being pruned."""


def lock_lineages(session: Session, tracking_ids: Iterable[str]) -> dict[str, Lineage]:
    """Return the named lineage rows, held until the transaction ends, by tracking_id. Unknown ids are absent.

    Deadlines are by the clock on the wall, whatever pauses there were (:func:`effective`).
    """
    return _lineages(session, tracking_ids, session.for_update)


def read_lineages(session: Session, tracking_ids: Iterable[str]) -> dict[str, Lineage]:
    """Return the named lineage rows as they are, by tracking_id. They may change at once: for verbs that only take or
    keep tasks.

    The transaction that ends a lineage deals with the tasks that were claimed until then, so a claim need not hold its
    row.
    """
    return _lineages(session, tracking_ids, "")


def _lineages(session: Session, tracking_ids: Iterable[str], ending: str) -> dict[str, Lineage]:
    listed, values = session.members(sorted(set(tracking_ids)))
    found = session.rows(
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE tracking_id {listed} ORDER BY tracking_id{ending}", (values,)
    )
    return {row.tracking_id: row for row in effective(session, [lineage_of(row) for row in found])}


def insert_lineages(session: Session, rows: Sequence[Lineage]) -> None:
    """Create lineage rows. A new one has no reason of the engine's, so no facts of it."""
    if rows:
        session.insert("ramet_lineages", Lineage._fields, stored_deadlines(session, rows))


def add_tasks(session: Session, taken: Iterable[tuple[int, int, str, str]]) -> None:
    """Book new live tasks: the places of the budget, how many they are, the turns of the lineage, its tracking_id.

    The table's own CHECK refuses to pass ``max_tasks``: the last guard of I5.
    """
    changes = ("tasks = tasks + ?", "live = live + ?", "turns")
    session.update("ramet_lineages", changes, ("tracking_id",), sorted(taken, key=itemgetter(-1)))


def end_lineage(session: Session, tracking_id: str, state: LineageState, reason: str) -> bool:
    """Flip an open lineage row. From this commit on nothing of it is claimed, settled or spawned."""
    _end_pause(session, tracking_id)
    flipped = session.run(
        "UPDATE ramet_lineages SET state = ?, reason = ?, reason_facts = ?, ended_at = ?, sweep = 1 "
        "WHERE tracking_id = ? AND state IN ('running', 'paused')",
        (state.value, *stored(reason), session.now, tracking_id),
    )
    if flipped:
        count_end(session)
    return flipped > 0


def count_end(session: Session) -> None:
    """Count an end from outside: workers that hold the task check their claims at once."""
    session.run("UPDATE ramet_counters SET value = value + 1 WHERE name = 'ends'")


def _end_pause(session: Session, tracking_id: str) -> None:
    """End a pause with its lineage; the unused time goes back, for a later revive of its tasks."""
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
    """Return the deadline to store so that a lineage has at least ``seconds`` from now, its pauses apart."""
    unused = 0.0 if lineage.paused_at is None else PAUSE_SECONDS_MAX - stopped_since(lineage.paused_at, session.now)
    wanted_at = session.now + seconds + unused - paused_seconds(session).get(lineage.queue, 0.0)
    return max(wanted_at, lineage.deadline_at - queue_offsets(session).get(lineage.queue, 0.0))


def reopen_lineage(session: Session, tracking_id: str) -> None:
    """Let an ended lineage run again, because a person gave it something to run."""
    session.run(
        "UPDATE ramet_lineages SET state = ?, reason = NULL, reason_facts = NULL, ended_at = NULL "
        "WHERE tracking_id = ?",
        (LineageState.RUNNING.value, tracking_id),
    )


def tombstones_of(lineage: Lineage) -> dict[str, int]:
    """Return marks of cancelled subtrees by task id. Lineages without any pay only for an empty string."""
    return dict(json.loads(lineage.tombstones)) if lineage.tombstones else {}


def reasons_text(counts: Mapping[str, int]) -> str:
    """Return counts by reason as the lineage row keeps them: empty text for none, so that SQL finds clean ones."""
    kept = {reason: count for reason, count in sorted(counts.items()) if count > 0}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def reasons_from_text(text: str) -> Counter[str]:
    """Return the inverse of :func:`reasons_text`."""
    return Counter(json.loads(text)) if text else Counter()


def forget_refusals(session: Session, tracking_id: str, text: str, wanted: Iterable[tuple[str, str]]) -> str:
    """Tasks of these (kind, key) exist now: what was refused for them is left out no more.

    Args:
        text: what the lineage's row has, which the caller holds.

    Returns:
        The number that it has from now on.
    """
    keys: dict[str, set[str]] = {}
    for kind, key in wanted:
        keys.setdefault(kind, set()).add(key)
    found: list[tuple[str, str, str]] = []
    for kind, several in sorted(keys.items()):
        listed, values = session.members(sorted(several))
        found += session.rows(
            "SELECT kind, key, reason FROM ramet_blocks WHERE tracking_id = ? AND kind = ? "
            f"AND key {listed} AND left_out = 1",
            (tracking_id, kind, values),
        )
    if not found:
        return text
    session.update(
        "ramet_blocks",
        ("left_out = 0",),
        ("tracking_id", "kind", "key", "reason"),
        [(tracking_id, *row) for row in found],
    )
    counts = reasons_from_text(text)
    counts.subtract(reason for _, _, reason in found)
    after = reasons_text(counts)
    session.run("UPDATE ramet_lineages SET left_out = ? WHERE tracking_id = ?", (after, tracking_id))
    return after


LEFT, BOUND = 0, 2
"""Treatment of a pending task at its deadline: the sweep ends it; its settler is asked first. The others, 1, are
claimed once more, and no sweep reads them, however many there are.
"""


def overdue(row: str, what: int) -> str:
    """Return SQL of a pending task's deadline, to be compared: of these tasks only, by an index that keeps each sort
    apart.
    """
    return (
        f"{row}state = 'pending' AND {row}deadline_at IS NOT NULL AND (CASE WHEN {row}bound_to IS NOT NULL THEN 2 "
        f"WHEN {row}max_attempts IS NULL AND {row}ending IS NULL THEN 1 ELSE 0 END) = {what} AND {row}deadline_at"
    )


def name_deadlines(session: Session, changes: Sequence[Change]) -> Sequence[Change]:
    """Decided changes as they are to be applied, one for each; costs nothing where no deadline passed."""
    if not any(of_task_time(change) for change in changes):
        return changes
    rows = lock_lineages(session, {change.before.tracking_id for change in changes if of_task_time(change)})
    judged: list[Change] = []
    over: set[str] = set()
    for change in changes:
        row = rows.get(change.before.tracking_id)
        cut = row is not None and cut_by_lineage(change, row.deadline_at)
        judged.append(as_lineage_end(change) if cut else change)
        if cut:
            over.add(change.before.tracking_id)
    for tracking_id in sorted(over):
        if rows[tracking_id].state in OPEN and rows[tracking_id].deadline_at <= session.now:
            end_lineage(session, tracking_id, LineageState.FAILED, DEADLINE_REASON)
    return judged
