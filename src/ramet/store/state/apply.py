"""The single place that writes a task's state.

Every statement carries the condition under which the change was decided: id, state and fence. A row that no longer
matches lost a race; it is left alone and reported. Terminal changes move the row out of the hot table; revive and
exclude of an ended task go the other way. A test looks for a second place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage, finished_if_empty, reopened
from ramet.model.reasons import stored
from ramet.model.task.task import LIVE, TERMINAL, Standing, TaskState, Wait
from ramet.model.task.transitions import WAKE, Change, Transition
from ramet.store.rows import branches, keys, tallies, waits
from ramet.store.rows.lineages import lock_lineages
from ramet.store.rows.money import close_open
from ramet.store.rows.retained_slots import FLOW, hold, resources_to_wake, wake_resources
from ramet.store.rows.tasks import HistoryRecord, record
from ramet.store.schema.columns import BORN_COLUMNS, CLOSED_COLUMNS, LIVE_COLUMNS, MOVED_COLUMNS, WIDE_COLUMNS, picker
from ramet.store.session import Session
from ramet.store.state import path_changes

# The number alone finds the row: an index on states would look better to a planner whose statistics are old.
_AS_READ = ("seq", "state || '' = ?", "fence")

_SUCCESS = TaskState.SUCCESS.value

Values = Callable[[Standing], tuple[object, ...]]


@cache
def moved_by(transition: Transition) -> tuple[tuple[str, ...], Values]:
    """Return the columns of a hot row that a transition writes, and what takes their values from the standing after.

    A column that is written costs even when it stays the same, most of all where an index looks at it; for a transition
    that happens all the time only those are written that it touches.
    """
    columns = transition.fields or MOVED_COLUMNS
    return columns, picker(LIVE_COLUMNS, columns)


_END = ("reason", "reason_facts", "error", "fingerprint", "result", "finished_at")
_closed = picker((*LIVE_COLUMNS, *_END), (*CLOSED_COLUMNS, "seq"))
_OPEN = ("seq", "COALESCE(state, '') = ''")

_RELABEL = "UPDATE ramet_tasks SET state = ?, reason = ?, reason_facts = ?, finished_at = ? WHERE seq = ? AND state = ?"
_REOPEN = (
    "UPDATE ramet_tasks SET state = NULL, reason = NULL, reason_facts = NULL, error = NULL, fingerprint = NULL, "
    "result = NULL, finished_at = NULL WHERE seq = ? AND state = ?"
)
_ATTEMPT = tuple(
    "seq fence tracking_id worker claimed_at ended_at outcome reason reason_facts error error_class fingerprint "
    "traceback".split()
)


class ApplyResult(NamedTuple):
    """Result of a batch of changes."""

    lost: frozenset[int]
    """Numbers of tasks that no longer stood as the decision saw them; nothing was written for these."""


def apply(session: Session, changes: Sequence[Change], results: Mapping[int, str | None] | None = None) -> ApplyResult:
    """Write a batch of decided changes, or leave a task alone that changed since it was read.

    Args:
        session: the transaction in which the standings were read.
        changes: at most one per task.
        results: JSON text by task number, for tasks that ended with a result.
    """
    results = results or {}
    moves = [c for c in changes if c.before.state in LIVE and c.after.state in LIVE]
    ends = [c for c in changes if c.before.state in LIVE and c.after.state in TERMINAL]
    others = [c for c in changes if c.before.state in TERMINAL]
    lost = _move(session, moves) | _end(session, ends, results) | _reopen_or_relabel(session, others)
    done = [c for c in changes if c.before.seq not in lost] if lost else changes
    tried = [c for c in done if c.outcome is not None]
    _write_attempts(session, tried)
    _write_transitions(session, done)
    _count(session, done)
    silent = [c for c in done if c.outcome is None and _crosses(c)] if ends or others else []
    tallies.changed(session, [*tried, *silent] if silent else tried)
    hold(session, done)
    if names := resources_to_wake(done):
        wake_resources(session, names)
    if unique := [c for c in done if c.before.unique_seconds is not None]:
        keys.follow_ends(session, unique)
    if waited := [c for c in done if c.before.wait == Wait.TASKS and c.after.wait != Wait.TASKS]:
        went_on = [c.before.seq for c in waited if c.transition is WAKE]
        waits.left(session, went_on, [c.before.seq for c in waited if c.transition is not WAKE])
    if pathed := [c for c in done if c.before.holds_path is not None]:
        path_changes.follow(session, pathed)
    return ApplyResult(frozenset(lost))


def _crosses(change: Change) -> bool:
    return (change.before.state in LIVE) != (change.after.state in LIVE)


_BORN = (("ramet_identities", keys.IDENTITY_COLUMNS), ("ramet_tasks", BORN_COLUMNS), ("ramet_live", LIVE_COLUMNS))


def enter(session: Session, tasks: Mapping[str, Sequence[object]]) -> None:
    """Insert the identities, wide rows and hot rows of newborn tasks, by column.

    Args:
        tasks: as the new tasks say, their places, and :func:`ramet.model.task.newborn.new_standings`.
    """
    session.insert_columns(_BORN, tasks)


def _list_unsuccessful(session: Session, rows: Sequence[Sequence[object]]) -> None:
    columns = ("seq", "tracking_id", "state", "spawn_depth")
    session.insert("ramet_unsuccessful", columns, rows, key=("seq",), changes=("state",))


def enter_ended(session: Session, tasks: Sequence[Mapping[str, object]]) -> None:
    """Insert tasks that ended elsewhere (an import), by column of the wide row; they never have a hot one."""
    session.insert("ramet_tasks", WIDE_COLUMNS, [tuple(map(task.get, WIDE_COLUMNS)) for task in tasks])
    listed = itemgetter("seq", "tracking_id", "state", "spawn_depth")
    _list_unsuccessful(session, [listed(task) for task in tasks if task["state"] != _SUCCESS])
    tallies.imported(session, map(itemgetter("kind", "spawn_depth", "state"), tasks))


def _move(session: Session, moves: Sequence[Change]) -> set[int]:
    lost: set[int] = set()
    for transition, several in _by_transition(moves).items():
        columns, values = moved_by(transition)
        rows = [(*values(c.after), c.before.seq, c.before.state, c.before.fence) for c in several]
        lost |= _missed(session, session.update("ramet_live", columns, _AS_READ, rows), several)
    return lost


def _by_transition(changes: Sequence[Change]) -> dict[Transition, Sequence[Change]]:
    """Group changes by transition; a batch is nearly always of one: then it is not copied."""
    if all(c.transition is changes[0].transition for c in changes):
        return {changes[0].transition: changes} if changes else {}
    parts: dict[Transition, list[Change]] = defaultdict(list)
    for c in changes:
        parts[c.transition].append(c)
    return {**parts}


def _end(session: Session, ends: Sequence[Change], results: Mapping[int, str | None]) -> set[int]:
    left = session.delete("ramet_live", _AS_READ, [(c.before.seq, c.before.state, c.before.fence) for c in ends])
    lost = _missed(session, left, ends)
    rows, unsuccessful = [], []
    for c in ends:
        if c.before.seq not in lost:
            a = c.after
            if a.state != _SUCCESS:
                unsuccessful.append((a.seq, a.tracking_id, a.state, a.spawn_depth))
            with_end = (*stored(c.reason), c.error, c.fingerprint, results.get(a.seq), session.now)
            rows.append(_closed(a + with_end))
    if rows:
        parts = session.parts("ramet_tasks", rows, -1)
        written = sum(session.update(table, CLOSED_COLUMNS, _OPEN, part) for table, part in parts)
        assert written == len(rows), "a hot row without an open wide row"
    _list_unsuccessful(session, unsuccessful)
    return lost


def _reopen_or_relabel(session: Session, others: Sequence[Change]) -> set[int]:
    """Revive and exclude of ended tasks: rare, one at a time."""
    lost = set()
    for c in others:
        if c.after.state in LIVE:
            if session.run(_REOPEN, (c.before.seq, c.before.state)):
                session.insert("ramet_live", LIVE_COLUMNS, [c.after])
                session.run("DELETE FROM ramet_unsuccessful WHERE seq = ?", (c.before.seq,))
                continue
        elif session.run(_RELABEL, (c.after.state, *stored(c.reason), session.now, c.before.seq, c.before.state)):
            before = c.before
            _list_unsuccessful(session, [(before.seq, before.tracking_id, c.after.state, before.spawn_depth)])
            continue
        lost.add(c.before.seq)
    return lost


def _missed(session: Session, written: int, changes: Sequence[Change]) -> set[int]:
    """Of a guarded write, the rows that did not match: looked up only when some did not."""
    if written == len(changes):
        return set()
    # The caller read these standings in this very transaction, so a miss means that two changes of one batch name the
    # same task, or that the dialect let another transaction in between. Neither may be papered over silently.
    return misses(session, [(c.before.seq, c.after if c.after.state in LIVE else None) for c in changes])


def misses(session: Session, wanted: Sequence[tuple[int, Standing | None]]) -> set[int]:
    """Return the numbers of the tasks that do not stand as a write would have left them; None for one that ended."""
    listed, values = session.members(seq for seq, _ in wanted)
    standings = {
        seq: (state, fence)
        for seq, state, fence in session.rows(f"SELECT seq, state, fence FROM ramet_live WHERE seq {listed}", (values,))
    }
    return {
        seq for seq, after in wanted if standings.get(seq) != (None if after is None else (after.state, after.fence))
    }


def _write_attempts(session: Session, changes: Sequence[Change]) -> None:
    now = session.now
    rows = [
        (c.before.seq, c.before.fence, c.before.tracking_id, c.before.worker or c.before.bound_to,
         c.before.claimed_at, now, c.outcome, *stored(c.reason), c.error, c.error_class, c.fingerprint,
         c.traceback)
        for c in changes
    ]  # fmt: skip
    session.insert("ramet_attempts", _ATTEMPT, rows)


def _write_transitions(session: Session, changes: Sequence[Change]) -> None:
    record(
        session,
        [
            HistoryRecord(
                c.before.seq,
                c.before.tracking_id,
                c.transition.name,
                c.before.state,
                c.after.state,
                c.by,
                c.reason,
                c.fingerprint,
            )
            for c in changes
            if c.transition.recorded
        ],
    )


def _count(session: Session, changes: Sequence[Change]) -> None:
    """Keep the lineages' counters equal to a recount, and finish those that have no live task left."""
    deltas: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    revived: set[str] = set()
    for c in changes:
        came, went = c.before.state, c.after.state
        if (came in LIVE and went in LIVE) or came == went:
            continue
        counts = deltas[c.before.tracking_id]
        counts["live" if came in LIVE else came] -= 1
        counts["live" if went in LIVE else went] += 1
        if went in LIVE:
            revived.add(c.before.tracking_id)
    if not deltas:
        return
    lineages = lock_lineages(session, deltas)
    _close_reservations(session, changes, lineages)
    count_ends(session, deltas, lineages, revived)
    if any(row.branches for row in lineages.values()):
        _count_branches(session, changes, lineages)
    if any(row.waits for row in lineages.values()):
        _tell_waiting(session, changes, lineages)


def _count_branches(session: Session, changes: Sequence[Change], lineages: Mapping[str, Lineage]) -> None:
    counts = {
        c.before.seq: 1 if c.after.state in LIVE else -1
        for c in changes
        if _crosses(c) and lineages[c.before.tracking_id].branches
    }
    branches.count_live(session, counts, lineages)


def _tell_waiting(session: Session, changes: Sequence[Change], lineages: Mapping[str, Lineage]) -> None:
    """Count ends and revives for the tasks that wait for these."""
    ended: dict[str, list[int]] = defaultdict(list)
    for c in changes:
        if c.before.state in LIVE and c.after.state in TERMINAL:
            ended[c.before.tracking_id].append(c.before.seq)
    failed = {c.before.seq for c in changes if path_changes.skips_followers(c)}
    waits.ended(session, lineages, ended, failed)
    again = [c for c in changes if c.before.state in TERMINAL and c.after.state in LIVE]
    if again:
        waits.live_again(session, {c.before.seq: (c.before.tracking_id, c.by, c.reason) for c in again})


def count_ends(
    session: Session,
    deltas: Mapping[str, Mapping[str, int]],
    lineages: Mapping[str, Lineage],
    revived: Collection[str] = (),
) -> None:
    """Add to the counters of lineages, which are held, and finish those without a live task.

    Args:
        session: the transaction.
        deltas: by lineage and counter.
        lineages: as their rows are.
        revived: lineages of which a task was revived.
    """
    rows = []
    for tracking_id, counts in deltas.items():
        row = lineages[tracking_id]
        row = row._replace(**{name: getattr(row, name) + by for name, by in counts.items()})
        rows.append(_counted(row, tracking_id in revived, session.now))
    session.update("ramet_lineages", _COUNTED, ("tracking_id",), rows)


def _close_reservations(session: Session, changes: Sequence[Change], lineages: Mapping[str, Lineage]) -> None:
    """Only tasks of lineages that have money reserved can have left a reservation open."""
    if any(row.reserved for row in lineages.values()):
        if resources_to_wake(changes):
            session.lock(FLOW)  # Before the sums of money, as everywhere.
        ended = [c for c in changes if c.before.state in LIVE and c.after.state in TERMINAL]
        close_open(session, [c.before.seq for c in ended if lineages[c.before.tracking_id].reserved], lineages)


_COUNTS = ("live", "success", "filtered", "skipped", "failed", "cancelled")
_COUNTED = (*_COUNTS, "state", "ended_at", "end_wanted", "reason", "reason_facts")
_counts_of = picker(Lineage._fields, _COUNTS)


def _counted(row: Lineage, revived: bool, now: float) -> tuple[object, ...]:
    """Return what the row of a lineage says after its tasks were counted again: `_COUNTED`, and the lineage."""
    state, ended_at, end_wanted, reason = row.state, row.ended_at, row.end_wanted, row.reason
    if revived:
        state, ended_at, end_wanted, reason = reopened(row).value, None, int(row.on_end is not None), None
    elif (ended := finished_if_empty(row)) != state:
        state, ended_at = ended.value, now
    return (*_counts_of(row), state, ended_at, end_wanted, *stored(reason), row.tracking_id)


RELEASE_BATCH = 10_000


def release(session: Session, tracking_id: str) -> int:
    """Let the tasks of a lineage be claimed again that were set aside because it was not running.

    Of very many the sweep frees the rest, batch by batch.
    """
    rows = session.rows(
        "SELECT seq FROM ramet_live WHERE tracking_id = ? AND wait = 'lineage' LIMIT ?", (tracking_id, RELEASE_BATCH)
    )
    if len(rows) == RELEASE_BATCH:
        session.run("UPDATE ramet_lineages SET sweep = 1 WHERE tracking_id = ? AND sweep = 0", (tracking_id,))
    return free(session, [seq for (seq,) in rows])


def free(session: Session, seqs: Sequence[int], waited: Wait = Wait.LINEAGE) -> int:
    """Free tasks of what they waited for; unless it is their last claim, they may then wait at their resource."""
    if not seqs:
        return 0
    listed, values = session.members(seqs)
    freed = session.rows(
        "UPDATE ramet_live SET wait = CASE WHEN resource IS NULL OR ending IS NOT NULL THEN NULL ELSE 'resource' END "
        f"WHERE seq {listed} AND wait = ? RETURNING resource",
        (values, waited.value),
    )
    wake_resources(session, {name for (name,) in freed if name is not None})
    return len(freed)
