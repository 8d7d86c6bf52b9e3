"""Pause and resume of lineages and queues (DESIGN §8, docs/decisions/0014).

A pause moves the deadlines that it stops 30 days ahead, the longest that a pause may stop a clock; its end takes back
what was not used. In between no other code needs to know of it: every comparison with a deadline is right as it is, and
a pause that is never ended runs out by itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.lineage.lineage import LineageState
from ramet.store.rows.lineages import lock_lineages, paused_seconds, stopped_since
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session
from ramet.store.state.apply import release


def pause_lineage(session: Session, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Stop claiming tasks of a lineage from this commit on, and stop its clocks for at most 30 days (DESIGN §8).

    Running handlers may settle and spawn; what they spawn waits. Returns False when the lineage is not running.
    """
    moved = session.run(
        "UPDATE ramet_lineages SET state = 'paused', paused_at = ?, paused_by = ?, paused_reason = ?, paused_sums = ?, "
        "deadline_at = deadline_at + ? WHERE tracking_id = ? AND state = 'running'",
        (session.now, by, reason, json.dumps(paused_seconds(session)), PAUSE_SECONDS_MAX, tracking_id),
    )
    if not moved:
        return False
    _shift_lineage(session, tracking_id, PAUSE_SECONDS_MAX)
    record_audit_entry(session, by=by, act="pause_lineage", subject=tracking_id, tracking_id=tracking_id, reason=reason)
    return True


def resume_lineage(session: Session, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Claim tasks of a paused lineage again; its deadlines move by the time it was paused.

    Returns False when it is not paused.
    """
    lineage = lock_lineages(session, [tracking_id]).get(tracking_id)
    if lineage is None or lineage.state != LineageState.PAUSED:
        return False
    assert lineage.paused_at is not None, "a paused lineage knows since when"
    [(sums,)] = session.rows("SELECT paused_sums FROM ramet_lineages WHERE tracking_id = ?", (tracking_id,))
    before = json.loads(sums)
    stopped = stopped_since(lineage.paused_at, session.now)
    # While a queue was paused as well, its own clock accounts for the time: the two are not added up.
    overlaps = {
        name: min(stopped, seconds - before.get(name, 0.0))
        for name, seconds in paused_seconds(session).items()
        if seconds > before.get(name, 0.0)
    }
    unused = PAUSE_SECONDS_MAX - stopped
    state = LineageState.RUNNING if lineage.live else LineageState.FINISHED
    session.run(
        "UPDATE ramet_lineages SET state = ?, ended_at = ?, paused_at = NULL, paused_by = NULL, paused_reason = NULL, "
        "deadline_at = deadline_at - ? WHERE tracking_id = ?",
        (state.value, None if lineage.live else session.now, unused + overlaps.get(lineage.queue, 0.0), tracking_id),
    )
    _shift_lineage(session, tracking_id, -unused, except_queues=overlaps)
    for queue, overlap in sorted(overlaps.items()):
        _shift_lineage(session, tracking_id, -unused - overlap, only_queue=queue)
    release(session, tracking_id)
    detail = {"paused_seconds": round(stopped, 3)}
    record_audit_entry(
        session, by=by, act="resume_lineage", subject=tracking_id, tracking_id=tracking_id, reason=reason, detail=detail
    )
    session.wake()
    return True


def pause_queue(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Stop claiming from a queue from this commit on, and stop the clocks of what began in it.

    A lineage belongs to the queue of its first root, a task to its own. Returns False when the queue is paused already.
    """
    session.run("INSERT INTO ramet_queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (name,))
    moved = session.run(
        "UPDATE ramet_queues SET paused_at = ?, paused_by = ?, paused_reason = ?, paused_seconds = paused_seconds + ? "
        "WHERE name = ? AND paused_at IS NULL",
        (session.now, by, reason, PAUSE_SECONDS_MAX, name),
    )
    if not moved:
        return False
    _shift_queue(session, name, PAUSE_SECONDS_MAX)
    record_audit_entry(session, by=by, act="pause_queue", subject=name, reason=reason)
    return True


def resume_queue(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Claim from a paused queue again; its clocks run on. Returns False when it is not paused."""
    found = session.rows("SELECT paused_at FROM ramet_queues WHERE name = ? AND paused_at IS NOT NULL", (name,))
    if not found:
        return False
    stopped = stopped_since(found[0][0], session.now)
    unused = PAUSE_SECONDS_MAX - stopped
    session.run(
        "UPDATE ramet_queues SET paused_at = NULL, paused_by = NULL, paused_reason = NULL, "
        "paused_seconds = paused_seconds - ? WHERE name = ?",
        (unused, name),
    )
    _shift_queue(session, name, -unused)
    detail = {"paused_seconds": round(stopped, 3)}
    record_audit_entry(session, by=by, act="resume_queue", subject=name, reason=reason, detail=detail)
    session.wake()
    return True


# Tasks that are ending run in a paused lineage too, under a deadline of their own.
_STARTED = (
    "SELECT seq FROM ramet_live INDEXED BY ramet_live_overdue WHERE state = 'pending' "
    "AND deadline_at IS NOT NULL AND ending IS NULL AND ",
    "SELECT seq FROM ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing' "
    "AND deadline_at IS NOT NULL AND ending IS NULL AND ",
)
"""The rows that have a deadline are those that were claimed before: few beside the backlog."""


def _shift_lineage(
    session: Session,
    tracking_id: str,
    seconds: float,
    *,
    only_queue: str | None = None,
    except_queues: Collection[str] = (),
) -> None:
    where, values = "tracking_id = ?", [tracking_id]
    if only_queue is not None:
        where, values = f"{where} AND queue = ?", [*values, only_queue]
    if except_queues:
        listed, members = session.members(sorted(except_queues))
        where, values = f"{where} AND NOT queue {listed}", [*values, members]
    _shift(session, seconds, where, values)


def _shift_queue(session: Session, name: str, seconds: float) -> None:
    session.offsets = None
    _shift(session, seconds, "queue = ?", [name])


def _shift(session: Session, seconds: float, where: str, values: Sequence[str]) -> None:
    started = [row for statement in _STARTED for row in session.rows(statement + where, values)]
    rows = [(seconds, seq) for (seq,) in started]
    session.update("ramet_live", ("deadline_at = deadline_at + ?",), ("seq",), rows)
