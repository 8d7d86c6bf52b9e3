"""The single place that writes a task's state.

Every statement carries the condition under which the change was decided: id, state and fence. A row that no longer
matches lost a race; it is left alone and reported. Terminal changes move the row out of the hot table; revive and
exclude of an ended task go the other way. A test looks for a second place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage, LineageState, counted_out, reopened
from ramet.model.reasons import stored
from ramet.model.task.task import LIVE, TERMINAL, Standing, TaskState, Wait
from ramet.model.task.transitions import Change, Transition
from ramet.store.rows import tallies, uniqueness
from ramet.store.rows.lineages import lock_lineages
from ramet.store.rows.money import close_open
from ramet.store.rows.retained_slots import FLOW, hold, touch, touched
from ramet.store.rows.tasks import Record, record
from ramet.store.schema.tables import LIVE_COLUMNS, LIVE_LIST
from ramet.store.session import Session
from ramet.store.state import path_changes

_MUTABLE = (
    "state wait rank available_at fence lease_until worker claimed_at started_at deadline_at attempts "
    "losses losses_alone snoozes chain_depth progressed fan_out stage ending ending_reason ending_facts bound_to"
).split()

# The number alone finds the row: an index on states would look better to a planner whose statistics are old.
_AS_READ = "seq = ? AND state || '' = ? AND fence = ?"

_SUCCESS = TaskState.SUCCESS.value

Values = Callable[[Standing], tuple[object, ...]]


@cache
def _move_of(transition: Transition) -> tuple[str, Values]:
    """The statement that moves a hot row, and what takes its values from the standing after.

    A column that is written costs even when it stays the same, most of all where an index looks at it; the statement
    of a transition that happens all the time names only what that touches.
    """
    columns = transition.fields or _MUTABLE
    written = ", ".join(f"{name} = ?" for name in columns)
    values = [LIVE_COLUMNS.index(name) for name in columns]
    take = itemgetter(*values) if len(values) > 1 else lambda standing: (standing[values[0]],)
    return f"UPDATE ramet_live SET {written} WHERE {_AS_READ}", take


_LEAVE = f"DELETE FROM ramet_live WHERE {_AS_READ}"
_CLOSE = (
    "UPDATE ramet_tasks SET state = ?, reason = ?, reason_facts = ?, error = ?, fingerprint = ?, result = ?, "
    "stage = ?, fence = ?, attempts = ?, losses = ?, snoozes = ?, chain_depth = ?, fan_out = ?, "
    "started_at = ?, deadline_at = ?, finished_at = ? WHERE seq = ? AND COALESCE(state, '') = ''"
)


@cache
def _close(table: str) -> str:
    return _CLOSE.replace("ramet_tasks", table)


_RELABEL = "UPDATE ramet_tasks SET state = ?, reason = ?, reason_facts = ?, finished_at = ? WHERE seq = ? AND state = ?"
_REOPEN = (
    "UPDATE ramet_tasks SET state = NULL, reason = NULL, reason_facts = NULL, error = NULL, fingerprint = NULL, "
    "result = NULL, finished_at = NULL WHERE seq = ? AND state = ?"
)
_UNSUCCESSFUL = (
    "INSERT INTO ramet_unsuccessful (seq, tracking_id, state, spawn_depth) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (seq) DO UPDATE SET state = excluded.state"
)
_ENTER = f"INSERT INTO ramet_live ({LIVE_LIST}) VALUES ({', '.join('?' * len(LIVE_COLUMNS))})"
_ATTEMPT = (
    "INSERT INTO ramet_attempts (seq, fence, tracking_id, worker, claimed_at, ended_at, outcome, reason, reason_facts, "
    "error, error_class, fingerprint, traceback) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Applied(NamedTuple):
    """What became of a batch of changes."""

    lost: frozenset[int]
    """Numbers of tasks that no longer stood as the decision saw them; nothing was written for these."""


def apply(session: Session, changes: Sequence[Change], results: Mapping[int, str | None] | None = None) -> Applied:
    """Write a batch of decided changes, or leave a task alone that no longer stands as it was read.

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
    if names := touched(done):
        touch(session, names)
    if unique := [c for c in done if c.before.unique_seconds is not None]:
        uniqueness.follow_ends(session, unique)
    if pathed := [c for c in done if c.before.holds_path is not None]:
        path_changes.follow(session, pathed)
    return Applied(frozenset(lost))


def _crosses(change: Change) -> bool:
    return (change.before.state in LIVE) != (change.after.state in LIVE)


def enter(session: Session, rows: Sequence[Sequence[object]]) -> None:
    """Insert the hot rows of newborn tasks (see :func:`ramet.model.task.lifecycle.newborn`)."""
    session.run_many(_ENTER, rows)


HISTORY_COLUMNS = (
    "seq id tracking_id parent_id kind key queue priority payload ancestry_chain spawn_depth max_attempts "
    "max_chain_depth task_seconds on_end breadth created_at state reason reason_facts error stage fence attempts "
    "losses snoozes chain_depth fan_out finished_at path unique_seconds"
).split()
"""Of a wide row that is written once, for a task that ended before it came here."""
_HISTORY = f"INSERT INTO ramet_tasks ({', '.join(HISTORY_COLUMNS)}) VALUES ({', '.join('?' * len(HISTORY_COLUMNS))})"


def enter_ended(session: Session, rows: Sequence[Sequence[object]]) -> None:
    """Insert tasks that ended elsewhere (an import): a wide row of :data:`HISTORY_COLUMNS` each, never a hot one."""
    session.run_many(_HISTORY, rows)
    seq, tracking_id, state, depth = map(HISTORY_COLUMNS.index, ("seq", "tracking_id", "state", "spawn_depth"))
    unsuccessful = [(row[seq], row[tracking_id], row[state], row[depth]) for row in rows if row[state] != _SUCCESS]
    session.run_many(_UNSUCCESSFUL, unsuccessful)
    kind = HISTORY_COLUMNS.index("kind")
    tallies.imported(session, map(itemgetter(kind, depth, state), rows))


def _move(session: Session, moves: Sequence[Change]) -> set[int]:
    lost: set[int] = set()
    for transition, several in _by_transition(moves).items():
        statement, values = _move_of(transition)
        rows = [(*values(c.after), c.before.seq, c.before.state, c.before.fence) for c in several]
        lost |= _guarded(session, statement, several, rows)
    return lost


def _by_transition(changes: Sequence[Change]) -> dict[Transition, Sequence[Change]]:
    """A batch is nearly always of one kind: then it is not copied."""
    if all(c.transition is changes[0].transition for c in changes):
        return {changes[0].transition: changes} if changes else {}
    parts: dict[Transition, list[Change]] = defaultdict(list)
    for c in changes:
        parts[c.transition].append(c)
    return {**parts}


def _end(session: Session, ends: Sequence[Change], results: Mapping[int, str | None]) -> set[int]:
    lost = _guarded(session, _LEAVE, ends, [(c.before.seq, c.before.state, c.before.fence) for c in ends])
    rows, unsuccessful = [], []
    for c in ends:
        if c.before.seq not in lost:
            a = c.after
            if a.state != _SUCCESS:
                unsuccessful.append((a.seq, a.tracking_id, a.state, a.spawn_depth))
            rows.append(
                (a.state, *stored(c.reason), c.error, c.fingerprint, results.get(a.seq), a.stage, a.fence, a.attempts,
                 a.losses, a.snoozes, a.chain_depth, a.fan_out, a.started_at, a.deadline_at, session.now, a.seq)
            )  # fmt: skip
    if rows:
        written = sum(session.run_many(_close(table), part) for table, part in session.parts("ramet_tasks", rows, -1))
        assert written == len(rows), "a hot row without an open wide row"
    session.run_many(_UNSUCCESSFUL, unsuccessful)
    return lost


def _reopen_or_relabel(session: Session, others: Sequence[Change]) -> set[int]:
    """Revive and exclude of ended tasks: rare, one at a time."""
    lost = set()
    for c in others:
        if c.after.state in LIVE:
            if session.run(_REOPEN, (c.before.seq, c.before.state)):
                session.run(_ENTER, c.after)
                session.run("DELETE FROM ramet_unsuccessful WHERE seq = ?", (c.before.seq,))
                continue
        elif session.run(_RELABEL, (c.after.state, *stored(c.reason), session.now, c.before.seq, c.before.state)):
            session.run(_UNSUCCESSFUL, (c.before.seq, c.before.tracking_id, c.after.state, c.before.spawn_depth))
            continue
        lost.add(c.before.seq)
    return lost


def _guarded(session: Session, statement: str, changes: Sequence[Change], rows: Sequence[Sequence[object]]) -> set[int]:
    """Run a guarded statement for all rows; find out which rows did not match only when some did not."""
    if not rows:
        return set()
    if session.run_many(statement, rows) == len(rows):
        return set()
    # The caller read these standings in this very transaction, so a miss means that two changes of one batch name
    # the same task, or that the dialect let somebody in between. Neither may be papered over silently.
    return _misses(session, changes)


def _misses(session: Session, changes: Sequence[Change]) -> set[int]:
    listed, values = session.members(c.before.seq for c in changes)
    stands = {
        seq: (state, fence)
        for seq, state, fence in session.rows(
            f"SELECT seq, state, fence FROM ramet_live WHERE seq IN {listed}", (values,)
        )
    }
    missed = set()
    for c in changes:
        wanted = (c.after.state, c.after.fence) if c.after.state in LIVE else None
        if stands.get(c.before.seq) != wanted:
            missed.add(c.before.seq)
    return missed


def _write_attempts(session: Session, changes: Sequence[Change]) -> None:
    now = session.now
    rows = [
        (c.before.seq, c.before.fence, c.before.tracking_id, c.before.worker or c.before.bound_to,
         c.before.claimed_at, now, c.outcome, *stored(c.reason), c.error, c.error_class, c.fingerprint,
         c.traceback)
        for c in changes
    ]  # fmt: skip
    session.run_many(_ATTEMPT, rows)


def _write_transitions(session: Session, changes: Sequence[Change]) -> None:
    record(
        session,
        [
            Record(c.before.seq, c.before.tracking_id, c.transition.name, c.before.state, c.after.state, c.by, c.reason,
                   c.fingerprint)
            for c in changes
            if c.transition.recorded
        ],
    )  # fmt: skip


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
    rows = []
    for tracking_id, counts in deltas.items():
        row = lineages[tracking_id]
        row = row._replace(**{name: getattr(row, name) + by for name, by in counts.items()})
        rows.append(_counted(row, tracking_id in revived, session.now))
    session.run_many(_COUNTED, rows)


def _close_reservations(session: Session, changes: Sequence[Change], lineages: Mapping[str, Lineage]) -> None:
    """Only tasks of lineages that have money reserved can have left a reservation open."""
    if any(row.reserved for row in lineages.values()):
        if touched(changes):
            session.lock(FLOW)  # Before the sums of money, as everywhere.
        ended = [c for c in changes if c.before.state in LIVE and c.after.state in TERMINAL]
        close_open(session, [c.before.seq for c in ended if lineages[c.before.tracking_id].reserved])


_COUNTED = (
    "UPDATE ramet_lineages SET live = ?, success = ?, filtered = ?, skipped = ?, failed = ?, cancelled = ?, "
    "state = ?, ended_at = ?, reason = ?, reason_facts = ?, end_wanted = ? WHERE tracking_id = ?"
)


def _counted(row: Lineage, revived: bool, now: float) -> tuple[object, ...]:
    """What the row of a lineage says after its tasks were counted anew."""
    state = reopened(row) if revived else counted_out(row)
    ended_at, reason = row.ended_at, row.reason
    if state == LineageState.FINISHED and row.state != state:
        ended_at = now
    elif revived:
        ended_at, reason = None, None
    return (
        row.live, row.success, row.filtered, row.skipped, row.failed, row.cancelled, state.value, ended_at,
        *stored(reason), int(row.on_end is not None) if revived else row.end_wanted, row.tracking_id,
    )  # fmt: skip


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
    """These tasks wait no longer for what they waited for, but, unless it is their last claim, at their resource."""
    if not seqs:
        return 0
    listed, values = session.members(seqs)
    freed = session.rows(
        "UPDATE ramet_live SET wait = CASE WHEN resource IS NULL OR ending IS NOT NULL THEN NULL ELSE 'resource' END "
        f"WHERE seq IN {listed} AND wait = ? RETURNING resource",
        (values, waited.value),
    )
    touch(session, {name for (name,) in freed if name is not None})
    return len(freed)
