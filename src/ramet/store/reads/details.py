"""Refused spawns page by page, what one task cost, who has a key: reads that stop at a bound."""

from __future__ import annotations

import json
from collections.abc import Collection

from ramet.model.task.binding import StageCount
from ramet.model.task.task import Task
from ramet.model.views import BLOCK_LOOKS_MAX, CALL_LOOKS_MAX, BlockPage, TaskCall, TaskCalls
from ramet.store.reads.tasks import LIMIT_MAX, tasks_of
from ramet.store.rows.blocks import BLOCK_LIST, block_of
from ramet.store.rows.money import RESERVED, SPENT
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Session

_START = ("", "", "")


def block_page(
    session: Session,
    tracking_id: str,
    *,
    kind: str | None = None,
    keys: Collection[str] = (),
    reason: str | None = None,
    limit: int = 50,
    after: str | None = None,
) -> BlockPage:
    """Return refused spawns of a lineage by kind, key (any of these) and reason; at most ``limit`` (1,000).

    One page looks at a bounded number of blocks.

    Raises:
        ValueError: ``after`` is not of an earlier page.
    """
    at, most = _START if after is None else _position(after), max(1, min(limit, LIMIT_MAX))
    of_kind, kinds = ("", ()) if kind is None else (" AND kind = ?", (kind,))
    where = f"tracking_id = ?{of_kind} AND (kind, key, reason) > (?, ?, ?)"
    begin = (tracking_id, *kinds, *at)
    order = "ORDER BY kind, key, reason"
    end = session.rows(
        f"SELECT kind, key, reason FROM ramet_blocks WHERE {where} {order} LIMIT 1 OFFSET ?",
        (*begin, BLOCK_LOOKS_MAX - 1),
    )
    until, last = ("", ()) if not end else (" AND (kind, key, reason) <= (?, ?, ?)", end[0])
    wanted: list[tuple[str, Collection[str]]] = [("reason", (reason,))] if reason is not None else []
    wanted += [("key", keys)] if keys else []
    given = [(name, *session.members(values)) for name, values in wanted]
    rows = session.rows(
        f"SELECT {BLOCK_LIST} FROM ramet_blocks WHERE {where}{until}"
        f"{''.join(f' AND {name} || {chr(39) * 2} {listed}' for name, listed, _ in given)} {order} LIMIT ?",
        (*begin, *last, *(values for *_, values in given), most + 1),
    )
    found = [block_of(row) for row in rows]
    page = tuple(found[:most])
    if len(found) > most:
        return BlockPage(page, json.dumps([page[-1].kind, page[-1].key, page[-1].reason]))
    return BlockPage(page, json.dumps(list(end[0])) if end else None)


def _position(after: str) -> tuple[str, str, str]:
    try:
        kind, key, reason = json.loads(after)
        if not all(isinstance(part, str) and "\x00" not in part for part in (kind, key, reason)):
            raise ValueError("three texts")
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{after[:80]!r} is not where a page of refused spawns ended") from None
    return kind, key, reason


def task_calls(session: Session, task_id: str, *, limit: int = 100) -> TaskCalls | None:
    """Return what a task reserved and was charged; None when the task does not exist."""
    found = session.rows("SELECT tracking_id, seq FROM ramet_tasks WHERE id = ?", (task_id,))
    if not found:
        return None
    of = "FROM ramet_reservations WHERE tracking_id = ? AND seq = ?"
    [(calls, spent, reserved)] = session.rows(
        "SELECT COUNT(*), COALESCE(SUM(spent), 0), COALESCE(SUM(reserved), 0) FROM "
        f"(SELECT {SPENT} AS spent, {RESERVED} AS reserved {of} LIMIT ?) c",
        (*found[0], CALL_LOOKS_MAX),
    )
    latest = session.rows(
        f"SELECT id, fence, amount, actual, reserved_at, closed_at, settled_at FROM (SELECT * {of} LIMIT ?) c "
        "ORDER BY reserved_at DESC, id LIMIT ?",
        (*found[0], CALL_LOOKS_MAX, max(1, min(limit, LIMIT_MAX))),
    )
    # A sum over whole numbers is a decimal number on one of the stores.
    return TaskCalls(calls, int(spent), int(reserved), calls >= CALL_LOOKS_MAX, tuple(map(TaskCall._make, latest)))


def tasks_with_key(session: Session, key: str, *, limit: int = 50) -> tuple[Task, ...]:
    """Return tasks with this key, of any kind in any lineage; some of them if there are more than ``limit`` (1,000)."""
    rows = session.rows(
        "SELECT seq FROM ramet_identities WHERE key = ? ORDER BY key, tracking_id, kind LIMIT ?",
        (key, max(1, min(limit, LIMIT_MAX))),
    )
    return tuple(tasks_of(session, [seq for (seq,) in rows]))


def stage_counts(session: Session, kind: str, tracking_id: str | None = None) -> list[StageCount]:
    """Return how a staged kind's tasks spread over stages and states, in one lineage or in all."""
    if tracking_id is None:
        session.plan_freely()
    # Kinds of stages are ``kind.stage``; '/' is the character after '.'.
    kinds, values = "(kind = ? OR (kind > ? AND kind < ?))", [kind, f"{kind}.", f"{kind}/"]
    lineage, live, of = "", "", list[str]()
    if tracking_id is not None:
        lineage, live, of = "tracking_id = ? AND ", f"{live_of_lineage()} AND ", [tracking_id]
    named = "CASE WHEN kind = ? THEN stage ELSE SUBSTR(kind, CAST(? AS INTEGER)) END"
    parameters = [kind, len(kind) + 2, *of, *values]
    rows = session.rows(
        f"SELECT {named} AS name, state, COUNT(*) FROM ramet_live WHERE {live}{kinds} GROUP BY name, state",
        parameters,
    ) + session.rows(
        f"SELECT {named} AS name, state, COUNT(*) FROM ramet_tasks WHERE {lineage}state IS NOT NULL AND {kinds} "
        "GROUP BY name, state",
        parameters,
    )
    return sorted((StageCount(*row) for row in rows), key=lambda row: (row.stage or "", row.state))
