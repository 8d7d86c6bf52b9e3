"""The history of a task, and what is known of a kind and key: bounded, however long either is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ramet.model.causes import BOUNDS
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.lineage import LineageState
from ramet.model.reasons import restored
from ramet.model.task.task import (
    Attempt,
    AttemptLog,
    Block,
    BlockCount,
    LogLine,
    ParentBlockCount,
    Task,
    TaskHistory,
    TransitionRecord,
)
from ramet.store.answers import KeyRecord
from ramet.store.reads.tasks import LIMIT_MAX, get, tasks_of
from ramet.store.rows.blocks import BLOCK_LIST, block_of
from ramet.store.rows.keys import holders
from ramet.store.session import Row, Session

LOOKED_AT_MAX = 20_000
"""Blocks of its lineage among which those are looked for that other tasks had asked for first."""
TRACEBACKS_MAX = 20
"""Most tracebacks, of the newest failed attempts."""


def history(session: Session, task_id: str) -> TaskHistory | None:
    """Return one task with its newest attempts, recorded transitions and refused spawns, or None."""
    task = get(session, task_id)
    if task is None:
        return None
    [(seq,)] = session.rows("SELECT seq FROM ramet_tasks WHERE id = ?", (task_id,))
    attempts = session.rows(
        "SELECT fence, worker, claimed_at, ended_at, outcome, reason, error, error_class, fingerprint, reason_facts "
        "FROM ramet_attempts WHERE seq = ? ORDER BY fence DESC LIMIT ?",
        (seq, LIMIT_MAX + 1),
    )
    transitions = session.rows(
        "SELECT name, from_state, to_state, at, by, reason, reason_facts FROM ramet_transitions WHERE seq = ? "
        "ORDER BY number DESC LIMIT ?",
        (seq, LIMIT_MAX + 1),
    )
    links = session.rows(
        "SELECT child_id FROM ramet_edges WHERE tracking_id = ? AND parent_id = ? ORDER BY child_id LIMIT ?",
        (task.tracking_id, task_id, LIMIT_MAX + 1),
    )
    counted = session.rows(
        "SELECT kind, reason, count FROM ramet_block_counts WHERE tracking_id = ? AND parent_id = ? "
        "ORDER BY kind, reason LIMIT ?",
        (task.tracking_id, task_id, LIMIT_MAX + 1),
    )
    refused, blocks_cut = _refused(session, task)
    lists = {"attempts": attempts, "transitions": transitions, "links": links, "more_blocks": counted}
    cut = [name for name, rows in lists.items() if len(rows) > LIMIT_MAX]
    shown = list(_with_tracebacks(session, seq, [Attempt(*_with_reason(row)) for row in attempts[:LIMIT_MAX]]))
    if sum(attempt.error is not None for attempt in shown) > TRACEBACKS_MAX:
        cut.append("tracebacks")
    return TaskHistory(
        task,
        tuple(reversed(shown)),
        tuple(TransitionRecord(*_with_reason(row)) for row in reversed(transitions[:LIMIT_MAX])),
        tuple(block_of(row) for row in refused),
        tuple(row[0] for row in links[:LIMIT_MAX]),
        tuple(BlockCount(*row) for row in counted[:LIMIT_MAX]),
        tuple([*cut, "blocks"] if blocks_cut else cut),
    )


def _with_reason(row: Row) -> list[Any]:
    """Return the values of an attempt or a transition: the sixth is the reason, and the last are its facts."""
    *values, facts = row
    values[5] = restored(values[5], facts)
    return values


def _with_tracebacks(session: Session, seq: int, attempts: Sequence[Attempt]) -> Iterator[Attempt]:
    """Yield the attempts, newest first; the newest that failed with their tracebacks, each of which may be long."""
    failed = [attempt.fence for attempt in attempts if attempt.error is not None][:TRACEBACKS_MAX]
    if not failed:
        yield from attempts
        return
    listed, values = session.members(failed)
    found: dict[int, str | None] = dict(
        session.rows(f"SELECT fence, traceback FROM ramet_attempts WHERE seq = ? AND fence {listed}", (seq, values))
    )
    for attempt in attempts:
        yield replace(attempt, traceback=found.get(attempt.fence))


def _refused(session: Session, task: Task) -> tuple[Sequence[Row], bool]:
    """Refusals that it was the first to meet, then those that it met after others; and whether there may be more."""
    first = session.rows(
        f"SELECT {BLOCK_LIST} FROM ramet_blocks WHERE first_parent = ? LIMIT ?", (task.id, LIMIT_MAX + 1)
    )
    [(blocks,)] = session.rows("SELECT blocks FROM ramet_lineages WHERE tracking_id = ?", (task.tracking_id,))
    later = session.rows(
        f"SELECT {BLOCK_LIST} FROM (SELECT {BLOCK_LIST}, watched_parent FROM ramet_blocks WHERE tracking_id = ? "
        "ORDER BY kind, key, reason LIMIT ?) b WHERE ? IN (last_parent, watched_parent) AND first_parent <> ? LIMIT ?",
        (task.tracking_id, LOOKED_AT_MAX, task.id, task.id, LIMIT_MAX + 1),
    )
    # By kind, key and reason, as `blocks` lists them.
    found = sorted([*first, *later], key=lambda row: (row[1], row[2], row[3]))
    return found[:LIMIT_MAX], len(found) > LIMIT_MAX or blocks > LOOKED_AT_MAX


IDENTITIES_MAX = 5_000
"""Identities with one key, of the newest lineages, that are looked at: a key may be in very many."""
LINEAGES_MAX = 1_000
"""Most lineages of each state, the newest, whose blocks are read."""


def known(session: Session, kind: str, key: str, tracking_id: str | None = None, *, limit: int = 100) -> KeyRecord:
    """Return what is stored about a kind and key, in one lineage or in any; at most ``limit`` (1,000) of each.

    In any lineage: looks at up to 5,000 identities with this key, and at the blocks of the newest 1,000 lineages of
    each state and of those that the found tasks belong to.
    """
    most = max(1, min(limit, LIMIT_MAX))
    if tracking_id is None:
        found, more = _tasks_with_identity(session, kind, key, most)
        lineages, cut = _with_blocks(session, [line for _, line in found])
    else:
        found, more = _within(session, kind, key, tracking_id), False
        lineages, cut = [tracking_id], False
    tasks = {task.id: task for task in tasks_of(session, [seq for seq, _ in found[:most]])}
    newest_first = tuple(sorted(tasks.values(), key=lambda task: -task.created_at))
    blocks = _blocks(session, kind, key, lineages, most + 1)
    holder = holders(session, [(kind, key)]).get((kind, key))
    return KeyRecord(newest_first, tuple(blocks[:most]), holder, more or cut or len(blocks) > most)


_COUNTED_LIMITS = ("max_tasks", "max_spawn_depth", "max_fan_out", "max_shape")


def parent_block_counts(
    session: Session, tracking_id: str | None = None, *, kind: str | None = None, limit: int = 100
) -> list[ParentBlockCount]:
    """Return the refusals that no row names, by parent, kind and reason, the most frequent first; at most 1,000.

    Args:
        tracking_id: of one lineage; None: of the newest 1,000 of each state.
        kind: of what was refused; None: any.
    """
    lineages = [tracking_id] if tracking_id is not None else _with_blocks(session, ())[0]
    listed, values = session.members(lineages)
    of_kind = "" if kind is None else " AND c.kind = ?"
    rows = session.rows(
        "SELECT c.tracking_id, c.kind, c.reason, c.count, c.parent_id, t.kind, t.key, "
        f"{', '.join(f'g.{name}' for name in _COUNTED_LIMITS)} FROM ramet_block_counts c JOIN ramet_tasks t "
        "ON t.id = c.parent_id JOIN ramet_lineages g ON g.tracking_id = c.tracking_id "
        f"WHERE c.tracking_id {listed}{of_kind} "
        "ORDER BY c.count DESC, c.tracking_id, c.parent_id, c.kind, c.reason LIMIT ?",
        (values, *(() if kind is None else (kind,)), max(1, min(limit, LIMIT_MAX))),
    )
    found = []
    for lineage, of, reason, times, parent_id, parent_kind, parent_key, *limits in rows:
        known, source = dict(zip(_COUNTED_LIMITS, limits, strict=True)), BOUNDS.get(BlockReason(reason))
        name = source.limit_name if source is not None and source.limit_name in known else None
        found.append(
            ParentBlockCount(
                tracking_id=lineage,
                kind=of,
                reason=reason,
                times=times,
                parent_id=parent_id,
                parent_kind=parent_kind,
                parent_key=parent_key,
                rows_max=known["max_tasks"],
                limit_name=name,
                limit=None if name is None else known[name],
            )
        )
    return found


def _within(session: Session, kind: str, key: str, tracking_id: str) -> list[tuple[int, str]]:
    rows = session.rows(
        "SELECT seq, tracking_id FROM ramet_identities WHERE key = ? AND tracking_id = ? AND kind = ?",
        (key, tracking_id, kind),
    )
    return [(row[0], row[1]) for row in rows]


def _tasks_with_identity(session: Session, kind: str, key: str, most: int) -> tuple[list[tuple[int, str]], bool]:
    """Return (number, lineage) of tasks with this identity; ids of lineages sort by their time, unless a caller named
    them.
    """
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


LOGS_MAX = 20


def task_log(session: Session, task_id: str, *, limit: int = 5) -> list[AttemptLog]:
    """Return the log lines of the newest attempts (at most 20) of which some are kept, the newest attempt last."""
    rows = session.rows(
        "SELECT k.fence, k.log FROM ramet_tasks t JOIN ramet_task_logs k ON k.seq = t.seq WHERE t.id = ? "
        "ORDER BY k.fence DESC LIMIT ?",
        (task_id, max(1, min(limit, LOGS_MAX))),
    )
    found = [(fence, json.loads(text)) for fence, text in reversed(rows)]
    return [AttemptLog(fence, tuple(LogLine(*line) for line in log["lines"]), log["left_out"]) for fence, log in found]
