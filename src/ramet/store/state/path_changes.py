"""Effects of changes of state on paths; called by :mod:`ramet.store.state.apply` for tasks that have one."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.limits import PATH_HOLD_SECONDS_MAX, PATH_HOLD_SETTING
from ramet.model.task.task import LIVE, TERMINAL, TaskState, Wait
from ramet.model.task.transitions import DEPENDENCY_FAILED, PENDING, RESCHEDULE, WAKE, Change
from ramet.store.rows import paths as rows
from ramet.store.rows.paths import PathRow, load_lines
from ramet.store.rows.retained_slots import acknowledge, lapsed, may_still_run
from ramet.store.rows.tasks import HistoryRecord, record
from ramet.store.session import LOOKS_MAX, Session
from ramet.store.state.path_enter import line_up, load_rules
from ramet.store.state.path_follow import REVIVE, PathWave, end, give_up, insert_waves

_FAILED = (TaskState.FAILED, TaskState.CANCELLED)


def follow(session: Session, changes: Sequence[Change]) -> None:
    """Follow changes of tasks with paths: places in line are left, kept, given up, or taken again.

    Args:
        changes: those that were applied, of tasks with a path.
    """
    turned = [change for change in changes if _matters(change)]
    if not turned:
        return
    lines = load_lines(session, [change.before.seq for change in turned])
    if session.lock_stripes({line.slot for line in lines.values()}):
        lines = load_lines(session, lines)
    ended = [change for change in turned if change.before.state in LIVE and change.after.state in TERMINAL]
    _end(session, ended, lines)
    # A task that waits for others leaves the line, as if it had ended well, and takes a new place afterwards.
    if left := [lines[c.before.seq] for c in turned if c.after.wait == Wait.TASKS and c.before.state in LIVE]:
        end(session, left, frozenset())
    if awake := [c.before.seq for c in turned if c.transition is WAKE]:
        rows.insert(session, load_rules(session, awake))
    back = [c for c in turned if c.before.state in LIVE and c.after.state == PENDING and c.transition is not WAKE]
    _keep_or_give_up(session, [c for c in back if c.after.wait != Wait.TASKS], lines)
    revived = [c for c in turned if c.before.state in TERMINAL and c.after.state == PENDING]
    _come_back(session, [c for c in revived if c.after.wait != Wait.TASKS], lines)


def _matters(change: Change) -> bool:
    came, went = change.before, change.after
    if went.state in TERMINAL or came.state in TERMINAL:
        return came.state != went.state
    if change.transition in (WAKE, RESCHEDULE):
        return True
    # Back from a worker, or from a settler.
    return went.state == PENDING and (came.state != PENDING or came.bound_to is not None)


def _end(session: Session, changes: Sequence[Change], lines: dict[int, PathRow]) -> None:
    over: list[PathRow] = []
    placed = [(change, lines[change.before.seq]) for change in changes if change.before.seq in lines]
    for change, line in placed:
        if may_still_run(change, session.now) or line.ended is not None:
            # A worker may run it still, so its path stays held until that lets go (DESIGN §4).
            rows.update(session, [line._replace(ended=change.after.state)])
        else:
            over.append(line)
    end(session, over, frozenset(change.before.seq for change in changes if skips_followers(change)))


def skips_followers(change: Change) -> bool:
    """Return whether who depends on the task may be skipped for this: it failed, was cancelled, or was skipped so."""
    return change.after.state in _FAILED or change.transition is DEPENDENCY_FAILED


def release_claims(session: Session, pairs: Sequence[tuple[int, int]]) -> int:
    """Release the slots and paths of ``(seq, fence)`` claims that the worker runs no longer.

    Returns how many were still held after an end from outside. Unknown pairs change nothing.
    """
    if not pairs:
        return 0
    rows.lock_stripes(session, [seq for seq, _ in pairs])
    freed = acknowledge(session, pairs)
    if freed:
        _release(session, [seq for seq, _ in pairs])
    return freed


def release_lapsed(session: Session, limit: int) -> int:
    """Slots and paths whose leases lapsed are free, whatever became of the workers; returns how many there were."""
    return release_claims(session, lapsed(session, limit))


def _release(session: Session, seqs: Sequence[int]) -> None:
    """Release slots; the slots of these tasks are locked."""
    listed, values = session.members(sorted(set(seqs)))
    free = (
        f"seq {listed} AND ended IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ramet_holds h WHERE h.seq = ramet_paths.seq)"
    )
    over = rows.select(session, free, (values,))
    if not over:
        return
    listed, values = session.members(line.seq for line in over)
    revived = session.rows(
        f"UPDATE ramet_live SET available_at = ? WHERE seq {listed} RETURNING seq", (session.now, values)
    )
    again = [seq for (seq,) in revived]
    end(
        session,
        [line for line in over if line.seq not in again],
        frozenset(line.seq for line in over if line.ended in _FAILED),
    )
    # Those were revived meanwhile: who waited for them goes on doing so.
    back = [line._replace(ended=None) for line in over if line.seq in again]
    give_up(session, back)
    line_up(session, [line._replace(ticket=None, was_ticket=line.ticket) for line in back])


def _keep_or_give_up(session: Session, changes: Sequence[Change], lines: dict[int, PathRow]) -> None:
    """Decide whether a task that comes back keeps its ticket: it does, unless that would delay others for too long
    (DESIGN §7).
    """
    first: list[tuple[float, int]] = []
    given_up: list[PathRow] = []
    held = [change for change in changes if (line := lines.get(change.before.seq)) is not None and line.holds]
    since = {line.seq: session.now if line.returned_at is None else line.returned_at for line in lines.values()}
    later = any(change.after.available_at > since[change.before.seq] for change in held)
    hold_seconds = _hold_seconds(session) if later else PATH_HOLD_SECONDS_MAX
    for change in held:
        line, after = lines[change.before.seq], change.after
        if after.ending is None and after.available_at > since[line.seq] + hold_seconds:
            given_up.append(line)
        elif line.returned_at is None:
            first.append((session.now, line.seq))
    session.update("ramet_paths", ("returned_at",), ("seq",), first)
    if given_up:
        give_up_tickets(session, given_up, f"back later than {hold_seconds:.0f} s")


def _hold_seconds(session: Session) -> float:
    """Return the setting, read where it is needed: all workers use the same value."""
    rows = session.rows(
        "SELECT value FROM ramet_settings WHERE key = ? AND value_type IN ('float', 'int')", (PATH_HOLD_SETTING,)
    )
    return float(rows[0][0]) if rows else PATH_HOLD_SECONDS_MAX


def give_up_tickets(session: Session, lines: Sequence[PathRow], why: str, looks: int = LOOKS_MAX) -> None:
    """Give tickets up, and say so."""
    record(
        session, [HistoryRecord(x.seq, x.tracking_id, "path_given_up", PENDING, PENDING, "engine", why) for x in lines]
    )
    give_up(session, lines, looks)


def _come_back(session: Session, changes: Sequence[Change], lines: dict[int, PathRow]) -> None:
    """Revived tasks take fresh tickets, in the order of the changes; those skipped because of them follow."""
    if not changes:
        return
    every = load_rules(session, [change.before.seq for change in changes])
    session.lock_stripes({line.slot for line in every})
    # Where the last claim was ended from outside and that worker has not let go yet, it lines up when it does.
    fresh = [line for line in every if line.seq not in lines]
    rows.insert(session, fresh)
    line_up(session, fresh)
    # Tasks that were still to be skipped because of them come after them instead.
    key = ("seq", "what = 'skip'", "because = seq")
    session.update("ramet_path_waves", ("what = 'back'",), key, [(line.seq,) for line in every])
    _revive_skipped(session, every, {change.before.seq: change for change in changes})


def _revive_skipped(session: Session, lines: Sequence[PathRow], changes: dict[int, Change]) -> None:
    waves = []
    for line in lines:
        skipped = session.rows("SELECT MAX(ticket) FROM ramet_path_skips WHERE because = ?", (line.seq,))
        if skipped[0][0] is not None:
            by, reason = changes[line.seq].by, changes[line.seq].reason
            waves.append(
                PathWave(line.seq, REVIVE, 0, skipped[0][0] + 1, line.slot, line.node, line.seq, by=by, reason=reason)
            )
    session.delete("ramet_path_waves", ("seq", "what = 'revive'"), [(w.seq,) for w in waves])
    insert_waves(session, waves)
