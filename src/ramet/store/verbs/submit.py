"""Creating tasks: the rows that a submit and a spawn have in common, and submit itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from ramet.model.keys import allowed_shapes, display_key
from ramet.model.lineage.branches import Booking, Branch, book, new_branch
from ramet.model.lineage.guard import GlobalHolder
from ramet.model.lineage.lineage import Lineage, LineageState, Placement, root_of, shapes_text
from ramet.model.money import as_usd
from ramet.model.paths import PathRule, path_text
from ramet.model.task.newborn import new_standings
from ramet.model.task.task import NewTask, Standing
from ramet.store.answers import SubmitResult
from ramet.store.errors import LineageExists, QueueBlocked, StopListed, StoreError
from ramet.store.requests import NewLineage
from ramet.store.rows import keys, tallies
from ramet.store.rows.blobs import put_submitted
from ramet.store.rows.branches import add_members
from ramet.store.rows.lineages import insert_lineages, read_lineages
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.retained_slots import FLOW, wake_resources
from ramet.store.rows.turns import Turns
from ramet.store.session import Session
from ramet.store.state import path_enter
from ramet.store.state.apply import enter
from ramet.store.verbs.after import Dependencies, order_roots

PART = 5_000
"""Tasks whose rows are in memory at once."""
SOON_SECONDS = 1e-6
"""Long enough to be due in the future, and over before anybody can ask."""


class Births:
    """Tasks that may be created, where they hang, and their turns: three columns of one length."""

    def __init__(self) -> None:
        self.news: list[NewTask] = []
        self.places: list[Placement] = []
        self.turns: list[int] = []

    def add(self, news: Sequence[NewTask], place: Placement, turns: Sequence[int]) -> None:
        """Add tasks of one place with their turns (:meth:`ramet.store.rows.turns.Turns.take`)."""
        self.news += news
        self.places += [place] * len(news)
        self.turns += turns


_RESOURCE, _PATH, _UNIQUE = (itemgetter(NewTask._fields.index(name)) for name in ("resource", "path", "unique_seconds"))
_NAME = itemgetter(NewTask._fields.index("kind"), NewTask._fields.index("key"))


def create(session: Session, births: Births, *, in_line: bool = True) -> int:
    """Insert the rows of new tasks; return the number of the first, 0 where there is none.

    A taken identity is refused by the database itself (promise I4).

    Without ``in_line`` rows are held already, so no slot may be waited for: maintenance gives paths their places.
    """
    news, places, turns = births.news, births.places, births.turns
    if not news:
        return 0
    resources = set() if session.borrowed else {*map(_RESOURCE, news)} - {None}
    whole = {*map(_PATH, news)} != {None}
    if session.borrowed or (whole and not in_line):
        news = [_due(new) if session.borrowed or new.path is not None else new for new in news]
    elif whole:
        rules = [(new.path, new.queue, place.tracking_id) for new, place in zip(news, places, strict=True) if new.path]
        lock_stripes(session, (), rules)
    if resources:
        session.lock(FLOW)
    first = session.take_numbers(len(news))
    # Unique keys and places in line are taken in one order.
    part = len(news) if whole or {*map(_UNIQUE, news)} != {None} else PART
    for start in range(0, len(news), part):
        end = start + part
        _insert(session, first + start, news[start:end], places[start:end], turns[start:end])
    tallies.created(session, ((new.kind, place.spawn_depth) for new, place in zip(news, places, strict=True)))
    wake_resources(session, resources)
    session.wake()
    return first


def _insert(
    session: Session, first: int, news: Sequence[NewTask], places: Sequence[Placement], turns: Sequence[int]
) -> None:
    """Insert the rows of tasks with consecutive numbers, column by column."""
    count = len(news)
    new = dict(zip(NewTask._fields, zip(*news, strict=True), strict=True))
    tracking_ids, parent_ids, chains, spawn_depths, deadlines = zip(*places, strict=True)
    chain_texts = {chain: json.dumps(chain) for chain in {*chains}}
    pathed = any(rule is not None for rule in new["path"])
    paths = dict(zip(_PATH_COLUMNS, zip(*map(_path_columns, new["path"]), strict=True), strict=True))
    standings = new_standings(
        new, tracking_ids, spawn_depths, session.now, first=first, turns=turns, deadlines=deadlines
    )
    _take_keys(session, first, news, places)
    staged = [at for at, base in enumerate(new["base"]) if base is not None]
    if staged:
        _enter_stages(session, [(first + at, places[at].tracking_id, news[at]) for at in staged])
    if pathed:
        standings = _lined_up(session, first, news, standings)
    tasks = {
        **new, **standings, **paths, "parent_id": parent_ids,
        "ancestry_chain": [*map(chain_texts.__getitem__, chains)], "created_at": [session.now] * count,
        "fence": [session.fence_base] * count,
    }  # fmt: skip
    enter(session, tasks)
    if any(new["tags"]):
        _put_tags(session, first, news, places)


def _put_tags(session: Session, first: int, news: Sequence[NewTask], places: Sequence[Placement]) -> None:
    rows = [
        (tag, seq, place.tracking_id, int(place.spawn_depth == 0))
        for seq, (new, place) in enumerate(zip(news, places, strict=True), first)
        for tag in json.loads(new.tags or "[]")
    ]
    session.insert("ramet_tags", ("tag", "seq", "tracking_id", "root"), rows)


def _take_keys(session: Session, first: int, news: Sequence[NewTask], places: Sequence[Placement]) -> None:
    """Take unique keys of new tasks; a later stage has its key from the stage before."""
    unique = [(seq, new, place) for seq, (new, place) in enumerate(zip(news, places, strict=True), first)
              if new.unique_seconds is not None]  # fmt: skip
    taken = [(new.key, new.unique_kind, new.id, seq, place.tracking_id) for seq, new, place in unique if new.places]
    handed_on = [
        (new.id, seq, new.key, new.unique_kind, place.parent_id) for seq, new, place in unique if not new.places
    ]
    keys.take(session, taken)
    keys.hand_on(session, handed_on)


def _due(new: NewTask) -> NewTask:
    """Return the moment of a task's first claim. A task that goes through a resource is announced to it by the first
    claim after the caller's commit, because announcing locks the resource until then. So it is with a path, where
    maintenance gives it a place.
    """
    at_once = new.delay_seconds <= 0 and (new.resource is not None or new.path is not None)
    new = new._replace(delay_seconds=SOON_SECONDS) if at_once else new
    if new.path is not None:
        new = new._replace(path=new.path._replace(reserved=False))
    return new


def _enter_stages(session: Session, staged: Sequence[tuple[int, str, NewTask]]) -> None:
    rows = [(seq, tracking_id, new.base, new.places) for seq, tracking_id, new in staged]
    session.insert("ramet_stages", ("seq", "tracking_id", "base", "places"), rows)
    states = [
        (seq, tracking_id, new.pipeline_state, session.now)
        for seq, tracking_id, new in staged
        if new.pipeline_state is not None
    ]
    session.insert("ramet_checkpoints", ("seq", "tracking_id", "pipeline_state", "updated_at"), states)


def _lined_up(
    session: Session, first: int, news: Sequence[NewTask], standings: dict[str, Sequence[Any]]
) -> dict[str, Sequence[Any]]:
    """Return the standings after those with a path took their places in line."""
    rows = map(Standing._make, zip(*map(standings.__getitem__, Standing._fields), strict=True))
    standing_of = {row.seq: row for row in rows}
    pathed = [seq for seq, new in enumerate(news, first) if new.path is not None and new.after is None]
    born = [(seq, standing_of[seq].tracking_id, news[seq - first]) for seq in pathed]
    standing_of |= path_enter.enter(session, born, standing_of)
    return dict(zip(Standing._fields, zip(*standing_of.values(), strict=True), strict=True))


_PATH_COLUMNS = ("path", "path_scope", "on_dependency_failure")


def _path_columns(rule: PathRule | None) -> tuple[str | None, str | None, str | None]:
    if rule is None:
        return (None, None, None)
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
        StopListed: the deny list covers a root.
        StoreError: a root comes after a task that is not a root of its lineage, or after itself.
        QueueBlocked: an operator has blocked the queue of a root.
    """
    present = read_lineages(session, [item.tracking_id for item in lineages])
    _refuse_stopped(session, [new for item in lineages if item.tracking_id not in present for new in item.roots])
    unique = {(new.unique_kind, new.key) for item in lineages for new in item.roots if new.unique_seconds is not None}
    held = keys.holders(session, unique) if unique else {}
    answers: list[SubmitResult] = []
    births, rows, branches = Births(), list[Lineage](), list[Branch]()
    turns = Turns(session)
    turns.expect((item.roots, 0) for item in lineages)
    dependencies = Dependencies(session, [(item.tracking_id, new) for item in lineages for new in item.roots])
    for item in lineages:
        if item.tracking_id in present:
            # The lineage may have come earlier in this very batch.
            _create(session, rows, births, dependencies, branches)
            births, rows, branches = Births(), [], []
            answers += _repeated(session, item)
            continue
        distinct, results = _distinct(item, held)
        answers += results
        if not distinct:
            continue
        order_roots(dependencies, item.tracking_id, distinct)
        row, begun = _with_branches(_row(item, distinct, session.now), distinct, session.now)
        branches += begun
        present[item.tracking_id] = row
        births.add(distinct, root_of(row.tracking_id), turns.take(row, distinct, 0))
        rows.append(row._replace(turns=turns.text(item.tracking_id)) if len(distinct) > 1 else row)
    _create(session, rows, births, dependencies, branches)
    if any(item.blobs for item in lineages):
        put_submitted(session, lineages)
    return answers


def _create(
    session: Session,
    rows: Sequence[Lineage],
    births: Births,
    dependencies: Dependencies,
    branches: Sequence[Branch],
) -> None:
    insert_lineages(session, rows)
    first = create(session, births)
    dependencies.save(first, births.news, births.places)
    if branches:
        session.insert("ramet_branches", Branch._fields, branches)
        seqs = {new.id: seq for seq, new in enumerate(births.news, first)}
        add_members(session, [(seqs[row.id], row.tracking_id, row.id, 1) for row in branches])


def _with_branches(row: Lineage, roots: Sequence[NewTask], now: float) -> tuple[Lineage, list[Branch]]:
    """Set aside what the budgets of roots ask for; return the lineage and its branches.

    Raises:
        StoreError: the lineage does not have that much.
    """
    begun: list[Branch] = []
    for new in roots:
        if new.budget is not None:
            own = new_branch(
                new.id, row.tracking_id, None, new.budget, spawn_depth=0, available_at=now + new.delay_seconds
            )
            booked = book([own], Booking(tasks=new.places, live=1))
            row = row._replace(
                tasks=row.tasks + booked.rest.tasks - new.places,
                reserved=row.reserved + booked.rest.reserved,
                branches=row.branches + 1,
            )
            begun += booked.after
    most = row.cost_ceiling.reservable
    if row.tasks > row.max_tasks or (most is not None and row.reserved > most):
        raise StoreError(
            f"the budgets of the roots take {row.tasks} tasks and {as_usd(row.reserved)}, more than the lineage's "
            "limits: lower the budgets or raise max_tasks and max_cost"
        )
    return row, begun


def start(session: Session, item: NewLineage, *, in_line: bool = True) -> None:
    """Create a lineage that the engine itself wants: its name is free, and no check applies. See :func:`create`."""
    row = _row(item, item.roots, session.now)
    insert_lineages(session, [row])
    births = Births()
    births.add(item.roots, root_of(row.tracking_id), Turns(session).take(row, item.roots, 0))
    create(session, births, in_line=in_line)


def _refuse_stopped(session: Session, news: Sequence[NewTask]) -> None:
    stops = keys.matching_entries(session, news)
    if session.denied:
        refuse_blocked(session, news)
    for new in news if stops else ():
        entry = stops.covers(new) if stops else None
        if entry is not None:
            raise StopListed(
                f"{new.kind} {display_key(new.key)!r} is not accepted, {entry} is on the stop list: leave it out, or "
                f"`ramet deny-list remove {entry.entry_type} {entry.value}`"
            )


def refuse_blocked(session: Session, news: Sequence[NewTask]) -> None:
    """Refuse new roots of queues that an operator has blocked.

    Raises:
        QueueBlocked: which queue, by whom, and why.
    """
    listed, values = session.members({new.queue for new in news})
    blocked = session.rows(
        f"SELECT name, blocked_by, blocked_reason FROM ramet_queues WHERE blocked_at IS NOT NULL AND name {listed} "
        "ORDER BY name LIMIT 1",
        (values,),
    )
    for name, by, reason in blocked:
        why = f": {reason}" if reason else ""
        raise QueueBlocked(
            f"queue {name} is blocked for submits by {by}{why}; submit into another queue, or `ramet unblock {name}`"
        )


def _distinct(item: NewLineage, held: Held) -> tuple[Sequence[NewTask], list[SubmitResult]]:
    """Roots with the same kind and key are one task; ``held`` is brought up to date with the unique keys taken."""
    if not item.roots:
        raise StoreError("a lineage needs at least one root: give one or more tasks to submit")
    distinct: Sequence[NewTask] = item.roots
    if {*map(_UNIQUE, distinct)} == {None} and len({*map(_NAME, distinct)}) == len(distinct):
        answers = [SubmitResult(new.id, item.tracking_id, True) for new in distinct]
    else:
        distinct, answers = _deduplicated(item, held)
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


def _deduplicated(item: NewLineage, held: Held) -> tuple[list[NewTask], list[SubmitResult]]:
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
    return distinct, answers


def _repeated(session: Session, item: NewLineage) -> list[SubmitResult]:
    """Return the results of the same submit again, after an answer was lost: every root must be there already."""
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
