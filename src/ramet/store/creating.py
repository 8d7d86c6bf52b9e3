"""Creating tasks: the rows that a submit and a spawn have in common, and submit itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ramet.model.lifecycle import newborn
from ramet.model.lineage import Lineage, LineageState, Place, root_of
from ramet.model.ordering import TurnClass, rank_of
from ramet.model.task import NewTask
from ramet.store.apply import enter
from ramet.store.base import NewLineage, Submitted
from ramet.store.errors import LineageExists, StoreError
from ramet.store.lineages import insert_lineages, lock_lineages
from ramet.store.session import Session
from ramet.store.turns import Turns

_TASK = (
    "INSERT INTO ramet_tasks (seq, id, tracking_id, parent_id, kind, key, queue, priority, payload, "
    "ancestry_chain, spawn_depth, max_attempts, max_chain_depth, task_seconds, on_end, breadth, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_IDENTITY = "INSERT INTO ramet_identities (key, tracking_id, kind, seq) VALUES (?, ?, ?, ?)"


class Birth(NamedTuple):
    """A task that may be created, and where it hangs."""

    new: NewTask
    place: Place
    turn: int
    """From :meth:`ramet.store.turns.Turns.take`."""


def create(session: Session, births: Sequence[Birth]) -> None:
    """Insert the rows of new tasks. A taken identity is refused by the database itself (promise I4)."""
    if not births:
        return
    first, now = session.take_numbers(len(births)), session.now
    tasks, identities, standings = [], [], []
    chain: tuple[str, ...] = ()
    chain_text = "[]"
    for seq, (new, place, turn) in enumerate(births, first):
        if place.ancestry_chain is not chain:
            chain, chain_text = place.ancestry_chain, json.dumps(place.ancestry_chain)
        tasks.append(
            (seq, new.id, place.tracking_id, place.parent_id, new.kind, new.key, new.queue, new.priority,
             new.payload, chain_text, place.spawn_depth, new.max_attempts, new.max_chain_depth,
             new.task_seconds, new.on_end, new.breadth, now)
        )  # fmt: skip
        identities.append((new.key, place.tracking_id, new.kind, seq))
        standings.append(newborn(seq, place.tracking_id, new, place.spawn_depth, now, turn=turn))
    session.run_many(_IDENTITY, identities)
    session.run_many(_TASK, tasks)
    enter(session, standings)
    session.wake()


def submit(session: Session, lineages: Sequence[NewLineage]) -> list[Submitted]:
    """Create lineages with their roots. Repeating a submit (same tracking_id, same roots) changes nothing."""
    present = lock_lineages(session, [item.tracking_id for item in lineages])
    answers: list[Submitted] = []
    births: list[Birth] = []
    rows: list[Lineage] = []
    turns = Turns(session)
    for item in lineages:
        if item.tracking_id in present:
            # The lineage may have come earlier in this very batch.
            insert_lineages(session, rows)
            create(session, births)
            rows, births = [], []
            answers += _repeated(session, item)
            continue
        distinct, told = _distinct(item)
        answers += told
        present[item.tracking_id] = row = _row(item, len(distinct), session.now)
        births += _births(row, distinct, turns)
        rows.append(row._replace(turns=turns.text(item.tracking_id)) if len(distinct) > 1 else row)
    insert_lineages(session, rows)
    create(session, births)
    return answers


def _births(row: Lineage, roots: Sequence[NewTask], turns: Turns) -> list[Birth]:
    place = root_of(row.tracking_id)
    return [
        Birth(new, place, turns.take(row, TurnClass(new.queue, new.kind, rank_of(new.priority, new.breadth, 0))))
        for new in roots
    ]


def _distinct(item: NewLineage) -> tuple[list[NewTask], list[Submitted]]:
    """Roots with the same kind and key are one task."""
    holders: dict[tuple[str, str], str] = {}
    distinct, answers = [], []
    for new in item.roots:
        winner = holders.setdefault((new.kind, new.key), new.id)
        answers.append(Submitted(winner, item.tracking_id, winner == new.id))
        if winner == new.id:
            distinct.append(new)
    if not distinct:
        raise StoreError("a lineage needs at least one root: give one or more tasks to submit")
    if len(distinct) > item.max_tasks:
        raise StoreError(
            f"{len(distinct)} roots are over the lineage's max_tasks of {item.max_tasks}: raise the limit or "
            "submit them as several lineages"
        )
    return distinct, answers


def _repeated(session: Session, item: NewLineage) -> list[Submitted]:
    """The same submit again, after an answer was lost: every root must be there already."""
    answers = []
    for new in item.roots:
        found = session.rows(
            "SELECT t.id FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
            "WHERE i.key = ? AND i.tracking_id = ? AND i.kind = ?",
            (new.key, item.tracking_id, new.kind),
        )
        if not found:
            raise LineageExists(
                f"lineage {item.tracking_id} exists and has no {new.kind} {new.key!r}: "
                "choose another tracking_id, or leave it out"
            )
        answers.append(Submitted(found[0][0], item.tracking_id, False))
    return answers


def _row(item: NewLineage, roots: int, now: float) -> Lineage:
    first_available_at = now + max(0.0, min(new.delay_seconds for new in item.roots))
    return Lineage(
        tracking_id=item.tracking_id,
        state=LineageState.RUNNING.value,
        reason=None,
        created_at=now,
        deadline_at=first_available_at + item.lineage_seconds,
        ended_at=None,
        max_spawn_depth=item.max_spawn_depth,
        max_tasks=item.max_tasks,
        max_fan_out=item.max_fan_out,
        tasks=roots,
        live=roots,
        success=0,
        filtered=0,
        skipped=0,
        failed=0,
        cancelled=0,
        blocks=0,
        tombstones="",
        sweep=0,
        retries_per_minute=item.retries_per_minute,
    )
