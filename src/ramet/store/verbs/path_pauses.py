"""Pauses of paths: nothing at or below one is claimed (DESIGN §7, docs/decisions/0063).

A pause is a row. A claim that meets a task there sets it aside, so that the next one does not look at it again; the end
of the pause lets all of them be claimed. Their places in line stay theirs, and their clocks run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet.model.paths import DEFAULT_QUEUE, PathElements, PathPause, nodes_of, path_from, path_key, path_text
from ramet.model.task.task import Standing, Wait
from ramet.store.rows.paths import load_lines
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session
from ramet.store.state.apply import RELEASE_BATCH, free


def pause_path(
    session: Session,
    path: PathElements,
    *,
    queue: str | None = None,
    tracking_id: str | None = None,
    by: str = "client",
    reason: str | None = None,
) -> bool:
    """Stop claiming tasks at and below a path from this commit on; return False when it is paused already.

    Args:
        path: elements, at least one.
        queue: to which the path belongs; None is ``default``.
        tracking_id: for paths of scope ``lineage``: which lineage.
        by: who does it, for the record.
        reason: why, for the record.
    """
    of = queue or DEFAULT_QUEUE
    paused = session.run(
        "INSERT INTO ramet_paused_paths (node, path, queue, tracking_id, paused_at, paused_by, paused_reason) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (node) DO NOTHING",
        (_node(path, of, tracking_id), path_text(path), of, tracking_id, session.now, by, reason),
    )
    if paused:
        _record(session, path, of, by=by, act="pause_path", tracking_id=tracking_id, reason=reason)
    return bool(paused)


def resume_path(
    session: Session,
    path: PathElements,
    *,
    queue: str | None = None,
    tracking_id: str | None = None,
    by: str = "client",
    reason: str | None = None,
) -> bool:
    """Claim tasks at and below a path again; return False when just this path is not paused.

    Tasks that another pause still covers are set aside again by the next claim.
    """
    of = queue or DEFAULT_QUEUE
    if not session.run("DELETE FROM ramet_paused_paths WHERE node = ?", (_node(path, of, tracking_id),)):
        return False
    _record(session, path, of, by=by, act="resume_path", tracking_id=tracking_id, reason=reason)
    while aside := session.rows("SELECT seq FROM ramet_live WHERE wait = 'paused' LIMIT ?", (RELEASE_BATCH,)):
        free(session, [seq for (seq,) in aside], Wait.PAUSED)
    session.wake()
    return True


def _record(session: Session, path: PathElements, queue: str, **entry: Any) -> None:
    detail = {"path": list(path), "queue": queue}
    record_audit_entry(session, subject=path_key(path), detail=detail, **entry)


def _node(path: PathElements, queue: str, tracking_id: str | None) -> int:
    return nodes_of(path, queue, tracking_id or "")[-1]


def path_pauses(session: Session) -> list[PathPause]:
    """Return the paused paths, the longest paused first."""
    rows = session.rows(
        "SELECT path, queue, tracking_id, paused_at, paused_by, paused_reason FROM ramet_paused_paths "
        "ORDER BY paused_at, node"
    )
    return [PathPause(path_from(path), *rest) for path, *rest in rows]


def on_paused_paths(session: Session, candidates: Sequence[Standing], paused: frozenset[int]) -> frozenset[int]:
    """Return the numbers of those that a paused path covers; the last claim of a task that is ending is not held up.

    Args:
        session: the transaction.
        candidates: tasks that may be claimed.
        paused: numbers of the paused paths.
    """
    pathed = [each.seq for each in candidates if each.holds_path is not None and each.ending is None]
    lines = load_lines(session, pathed) if pathed else {}
    return frozenset(seq for seq, line in lines.items() if not paused.isdisjoint(line.nodes))
