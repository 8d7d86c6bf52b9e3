"""Creating tasks: the rows that a submit and a spawn have in common, and submit itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ramet.model.keys import allowed_shapes, display_key
from ramet.model.lineage.guard import GlobalHolder
from ramet.model.lineage.lineage import Lineage, LineageState, Placement, root_of, shapes_text
from ramet.model.paths import PathRule, path_text
from ramet.model.task.lifecycle import new_standing
from ramet.model.task.ordering import class_of
from ramet.model.task.task import NewTask, Standing
from ramet.store.answers import SubmitResult
from ramet.store.errors import LineageExists, StopListed, StoreError
from ramet.store.requests import NewLineage
from ramet.store.rows import keys, tallies
from ramet.store.rows.blobs import put_submitted
from ramet.store.rows.lineages import insert_lineages, read_lineages
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.retained_slots import FLOW, wake_resources
from ramet.store.rows.turns import Turns
from ramet.store.schema.columns import BORN_COLUMNS, picker
from ramet.store.session import Session
from ramet.store.state import path_enter
from ramet.store.state.apply import enter, enter_wide

_GIVEN = ("seq", "created_at", "ancestry_chain", "path", "path_scope", "on_dependency_failure")
_born = picker((*NewTask._fields, *Placement._fields, *_GIVEN), BORN_COLUMNS)


PART = 5_000
"""Tasks whose rows are in memory at once."""
SOON_SECONDS = 1e-6
"""Long enough to be due in the future, and over before anybody can ask."""


class PlacedTask(NamedTuple):
    """A task that may be created, and where it hangs."""

    new: NewTask
    place: Placement
    turn: int
    """From :meth:`ramet.store.rows.turns.Turns.take`."""


def create(session: Session, births: Sequence[PlacedTask], *, in_line: bool = True) -> None:
    """Insert the rows of new tasks. A taken identity is refused by the database itself (promise I4).

    Without ``in_line`` rows are held already, so no slot may be waited for: maintenance gives paths their places.
    """
    if not births:
        return
    resources = {new.resource for new, _, _ in births if new.resource is not None and not session.borrowed}
    if session.borrowed or not in_line:
        births = [_due(birth) if session.borrowed or birth.new.path is not None else birth for birth in births]
    pathed = [birth for birth in births if birth.new.path is not None]
    if pathed and in_line and not session.borrowed:
        _lock_stripes(session, pathed)
    if resources:
        session.lock(FLOW)
    first = session.take_numbers(len(births))
    # Unique keys and places in line are taken in one order.
    whole = pathed or any(birth.new.unique_seconds is not None for birth in births)
    part = len(births) if whole else PART
    for start in range(0, len(births), part):
        _insert(session, first + start, births[start : start + part])
    tallies.created(session, ((birth.new.kind, birth.place.spawn_depth) for birth in births))
    wake_resources(session, resources)
    session.wake()


def _insert(session: Session, first: int, births: Sequence[PlacedTask]) -> None:
    """The rows of tasks with consecutive numbers."""
    now = session.now
    tasks, identities, standings, uniques, handed_on, stages = [], [], [], [], [], []
    chain: tuple[str, ...] = ()
    chain_text = "[]"
    for seq, (new, place, turn) in enumerate(births, first):
        if place.ancestry_chain is not chain:
            chain, chain_text = place.ancestry_chain, json.dumps(place.ancestry_chain)
        given = (seq, now, chain_text, *(_NO_PATH if new.path is None else _path_columns(new.path)))
        tasks.append(_born(new + place + given))
        identities.append((new.key, place.tracking_id, new.kind, seq))
        standings.append(new_standing(seq, place.tracking_id, new, place.spawn_depth, now, turn=turn))
        if new.base is not None:
            stages.append((seq, place.tracking_id, new.base, new.places, new.pipeline_state, now))
        if new.unique_seconds is not None and new.places:
            uniques.append((new.key, new.unique_kind, new.id, seq, place.tracking_id))
        elif new.unique_seconds is not None:
            handed_on.append((new.id, seq, new.key, new.unique_kind, place.parent_id))
    keys.insert_identities(session, identities)
    keys.take(session, uniques)
    keys.hand_on(session, handed_on)
    enter_wide(session, tasks)
    if stages:
        _enter_stages(session, stages)
    if any(birth.new.path is not None for birth in births):
        standings = _lined_up(session, first, births, standings)
    base = session.fence_base
    enter(session, [standing._replace(fence=base) for standing in standings] if base else standings)


def _due(birth: PlacedTask) -> PlacedTask:
    """A task that goes through a resource is told to it by the first claim after the caller's commit: whoever tells
    holds the resource until then. So it is with a path, where maintenance gives it a place.
    """
    new = birth.new
    at_once = new.delay_seconds <= 0 and (new.resource is not None or new.path is not None)
    new = new._replace(delay_seconds=SOON_SECONDS) if at_once else new
    if new.path is not None:
        new = new._replace(path=new.path._replace(reserved=False))
    return birth._replace(new=new)


def _enter_stages(session: Session, rows: Sequence[tuple[int, str, str, int, str | None, float]]) -> None:
    session.insert("ramet_stages", ("seq", "tracking_id", "base", "places"), [row[:4] for row in rows])
    states = [(seq, tracking_id, state, now) for seq, tracking_id, _, _, state, now in rows if state is not None]
    session.insert("ramet_checkpoints", ("seq", "tracking_id", "pipeline_state", "updated_at"), states)


def _lock_stripes(session: Session, births: Sequence[PlacedTask]) -> None:
    rules = [(b.new.path, b.new.queue, b.place.tracking_id) for b in births if b.new.path is not None]
    lock_stripes(session, (), rules)


def _lined_up(
    session: Session, first: int, births: Sequence[PlacedTask], standings: Sequence[Standing]
) -> list[Standing]:
    """The standings after those with a path took their places in line."""
    born = [(seq, b.place.tracking_id, b.new) for seq, b in enumerate(births, first) if b.new.path is not None]
    placed = path_enter.enter(session, born, {standing.seq: standing for standing in standings})
    return [placed.get(standing.seq, standing) for standing in standings]


_NO_PATH = (None, None, None)


def _path_columns(rule: PathRule) -> tuple[str | None, str | None, str | None]:
    return (
        path_text(rule.elements),
        None if rule.scope == "queue" else rule.scope,
        None if rule.on_dependency_failure == "skip" else rule.on_dependency_failure,
    )


Held = dict[tuple[str, str], GlobalHolder]


def submit(session: Session, lineages: Sequence[NewLineage]) -> list[SubmitResult]:
    """Create lineages with their roots, all or nothing; return the answers in the order of the roots.

    Durable when it returns. Repeating a submit (same tracking_id, same roots) changes nothing. A root whose unique key
    is held is answered with its holder; a lineage of which nothing is left is not created.

    Raises:
        LineageExists: a tracking_id is taken by a lineage with other roots.
        Stopped: the deny list covers a root.
    """
    present = read_lineages(session, [item.tracking_id for item in lineages])
    _refuse_stopped(session, [new for item in lineages if item.tracking_id not in present for new in item.roots])
    unique = {(new.unique_kind, new.key) for item in lineages for new in item.roots if new.unique_seconds is not None}
    held = keys.holders(session, unique) if unique else {}
    answers: list[SubmitResult] = []
    births: list[PlacedTask] = []
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
        distinct, told = _distinct(item, held)
        answers += told
        if not distinct:
            continue
        present[item.tracking_id] = row = _row(item, distinct, session.now)
        births += _births(row, distinct, turns)
        rows.append(row._replace(turns=turns.text(item.tracking_id)) if len(distinct) > 1 else row)
    insert_lineages(session, rows)
    create(session, births)
    if any(item.blobs for item in lineages):
        put_submitted(session, lineages)
    return answers


def start(session: Session, item: NewLineage, *, in_line: bool = True) -> None:
    """Create a lineage that the engine itself wants: its name is free, and nobody is asked. See :func:`create`."""
    row = _row(item, item.roots, session.now)
    insert_lineages(session, [row])
    create(session, _births(row, item.roots, Turns(session)), in_line=in_line)


def _births(row: Lineage, roots: Sequence[NewTask], turns: Turns) -> list[PlacedTask]:
    place = root_of(row.tracking_id)
    return [PlacedTask(new, place, turns.take(row, class_of(new, 0))) for new in roots]


def _refuse_stopped(session: Session, news: Sequence[NewTask]) -> None:
    stops = keys.matching_entries(session, news)
    for new in news if stops else ():
        entry = stops.covers(new) if stops else None
        if entry is not None:
            raise StopListed(
                f"{new.kind} {display_key(new.key)!r} is not accepted, {entry} is on the stop list: leave it out, or "
                f"`ramet deny-list remove {entry.entry_type} {entry.value}`"
            )


def _distinct(item: NewLineage, held: Held) -> tuple[list[NewTask], list[SubmitResult]]:
    """Roots with the same kind and key are one task; ``held`` is brought up to date with the unique keys taken."""
    if not item.roots:
        raise StoreError("a lineage needs at least one root: give one or more tasks to submit")
    holders: dict[tuple[str, str], str] = {}
    distinct, answers = [], []
    for new in item.roots:
        if new.unique_seconds is not None:
            holder = held.setdefault((new.unique_kind, new.key), GlobalHolder(new.id, item.tracking_id, None, None))
            answers.append(SubmitResult(holder.id, holder.tracking_id, holder.id == new.id))
            if holder.id == new.id:
                distinct.append(new)
            continue
        winner = holders.setdefault((new.kind, new.key), new.id)
        answers.append(SubmitResult(winner, item.tracking_id, winner == new.id))
        if winner == new.id:
            distinct.append(new)
    if item.max_cost is None and any(new.max_attempts is None for new in item.roots):
        raise StoreError("max_attempts=None needs a ceiling on what the lineage may cost: give max_cost")
    places = sum(new.places for new in distinct)
    kept = int(item.on_end is not None)
    if places + kept > item.max_tasks:
        also = " and the task of its end" if kept else ""
        raise StoreError(
            f"{places} roots{also} are over the lineage's max_tasks of {item.max_tasks}: raise the limit or "
            "submit them as several lineages"
        )
    return distinct, answers


def _repeated(session: Session, item: NewLineage) -> list[SubmitResult]:
    """The same submit again, after an answer was lost: every root must be there already."""
    answers = []
    for new in item.roots:
        found = session.rows(
            "SELECT t.id FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
            "WHERE i.key = ? AND i.tracking_id = ? AND i.kind = ?",
            (new.key, item.tracking_id, new.kind),
        )
        if not found and new.unique_seconds is not None:
            holder = keys.holders(session, [(new.unique_kind, new.key)]).get((new.unique_kind, new.key))
            if holder is not None:
                answers.append(SubmitResult(holder.id, holder.tracking_id, False))
                continue
        if not found:
            raise LineageExists(
                f"lineage {item.tracking_id} exists and has no {new.kind} {display_key(new.key)!r}: "
                "choose another tracking_id, or leave it out"
            )
        answers.append(SubmitResult(found[0][0], item.tracking_id, False))
    return answers


def _row(item: NewLineage, roots: Sequence[NewTask], now: float) -> Lineage:
    first_available_at = now + max(0.0, min(new.delay_seconds for new in roots))
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
        tasks=sum(new.places for new in roots) + (item.on_end is not None),
        live=len(roots),
        success=0,
        filtered=0,
        skipped=0,
        failed=0,
        cancelled=0,
        blocks=0,
        tombstones="",
        sweep=0,
        retries_per_minute=item.retries_per_minute,
        max_shape=item.max_shape,
        max_cost=item.max_cost,
        soft_cost=item.soft_cost,
        queue=item.roots[0].queue,
        on_end=None if item.on_end is None else json.dumps(item.on_end),
        end_wanted=int(item.on_end is not None),
        allowed_shapes=shapes_text(allowed_shapes(item.allow_shapes)),
        generation=item.generation,
    )
