"""All that is stored about one task: bounded, however long it polled and however much it was refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ramet.model.reasons import restored
from ramet.model.task.task import Attempt, BlockCount, Task, TaskHistory, TransitionRecord
from ramet.store.reads.tasks import LIMIT_MAX, get
from ramet.store.rows.blocks import BLOCK_LIST, block_of
from ramet.store.session import Row, Session

LOOKED_AT_MAX = 20_000
"""Blocks of its lineage among which those are looked for that other tasks had asked for first."""
TRACEBACKS_MAX = 20
"""Of the newest failed attempts."""


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
    told = list(_with_tracebacks(session, seq, [Attempt(*_with_reason(row)) for row in attempts[:LIMIT_MAX]]))
    if sum(attempt.error is not None for attempt in told) > TRACEBACKS_MAX:
        cut.append("tracebacks")
    return TaskHistory(
        task,
        tuple(reversed(told)),
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
    """The attempts, newest first; the newest that failed with their tracebacks, each of which may be long."""
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
