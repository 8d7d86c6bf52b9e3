"""One task per key over all lineages, for kinds with ``unique="global"`` (DESIGN §5, check 5).

One row per (kind, key) names the holder; of a kind with a task per stage it is one row of the base kind, which each
stage hands on to the next. It is taken by a conditional upsert in the transaction that creates the task,
and follows the holder's end in the transaction that ends it. A row outlives its holder's lineage: pruning that one
does not make the work fresh again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramet.model.lineage.guard import Elsewhere, held_seconds
from ramet.model.task.task import TERMINAL
from ramet.model.task.transitions import Change
from ramet.store.errors import UniqueHeld
from ramet.store.session import Overtaken, Session

# The condition is the last guard: whoever comes second changes no row.
_TAKE = (
    "INSERT INTO ramet_uniques (key, kind, holder, seq, tracking_id, state, held_until) "
    "VALUES (?, ?, ?, ?, ?, NULL, NULL) ON CONFLICT (key, kind) DO UPDATE SET holder = excluded.holder, "
    "seq = excluded.seq, tracking_id = excluded.tracking_id, state = NULL, held_until = NULL "
    "WHERE ramet_uniques.held_until <= ?"
)
_KEY = ("key", "kind")
_HELD = ("holder", "seq", "tracking_id", "state", "held_until")
_OF_HOLDER = "key = (SELECT key FROM ramet_tasks WHERE seq = ?) AND seq = ?"
_HOLD = f"UPDATE ramet_uniques SET state = ?, held_until = ? WHERE {_OF_HOLDER}"
_FREE = f"DELETE FROM ramet_uniques WHERE {_OF_HOLDER}"


def holders(session: Session, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Elsewhere]:
    """Who holds these (kind, key) now, in whatever lineage; free ones are absent."""
    wanted = set(wanted)
    listed, values = session.members(sorted({key for _, key in wanted}))
    found = session.rows(
        "SELECT kind, key, holder, tracking_id, state, held_until FROM ramet_uniques "
        f"WHERE key {listed} AND (held_until IS NULL OR held_until > ?)",
        (values, session.now),
    )
    return {(row[0], row[1]): Elsewhere(*row[2:]) for row in found if (row[0], row[1]) in wanted}


def insert_identities(session: Session, rows: Sequence[tuple[str, str, str, int]]) -> None:
    """Let each (key, tracking_id, kind) name the task with this number. The database refuses one that is taken."""
    session.insert("ramet_identities", ("key", "tracking_id", "kind", "seq"), rows)


def take(session: Session, tasks: Sequence[tuple[str, str, str, int, str]]) -> None:
    """Take the keys of new tasks, each (key, kind, id, number, tracking_id): all of them, or the transaction fails.

    Raises:
        Overtaken: somebody took one of them since it was looked at.
    """
    # In one order: two who want the same keys never wait for each other.
    if tasks and session.run_many(_TAKE, [(*task, session.now) for task in sorted(tasks)]) != len(tasks):
        raise Overtaken("a unique key was taken by another lineage in the same moment")


def take_ended(session: Session, tasks: Iterable[tuple[str, str, str, int, str, str, float]]) -> None:
    """Hold the keys of tasks that ended elsewhere, each (key, kind, id, number, tracking_id, state, held until).

    A key that a live task holds, or one that holds it longer, stays with that one.
    """
    longest = {(key, kind): row for row in sorted(tasks, key=lambda row: row[-1]) for key, kind, *_ in [row]}
    rows = sorted(row for row in longest.values() if row[-1] > session.now)
    # Of tasks that have ended, the one that holds longest; what lives is never replaced.
    longer = "ramet_uniques.held_until < excluded.held_until"
    session.insert("ramet_uniques", _KEY + _HELD, rows, key=_KEY, changes=_HELD, where=longer)


def hand_on(session: Session, stages: Sequence[tuple[str, int, str, str, str | None]]) -> None:
    """A later stage holds the key of its kind from now on: each (id, number, key, base kind, stage before)."""
    changes = ("holder", "seq", "state = NULL", "held_until = NULL")
    session.update("ramet_uniques", changes, ("key", "kind", "holder"), stages)


def take_again(session: Session, seq: int) -> None:
    """Take the key of a task that a person revives.

    Raises:
        UniqueHeld: another task holds it; the message names that one.
    """
    [(key, kind, task_id, tracking_id)] = session.rows(
        "SELECT t.key, COALESCE(s.base, t.kind), t.id, t.tracking_id FROM ramet_tasks t "
        "LEFT JOIN ramet_stages s ON s.seq = t.seq WHERE t.seq = ?",
        (seq,),
    )
    holder = holders(session, [(kind, key)]).get((kind, key))
    if holder is not None and holder.id != task_id:
        raise UniqueHeld(task_id, holder.id, holder.tracking_id)
    session.run(_FREE, (seq, seq))
    take(session, [(key, kind, task_id, seq, tracking_id)])


def follow_ends(session: Session, changes: Sequence[Change]) -> None:
    """Let the rows of unique tasks follow decided ends, in the transaction that applies them."""
    held, free = [], []
    for change in changes:
        if change.after.state not in TERMINAL:
            continue
        seq = change.before.seq
        seconds = held_seconds(change)
        if seconds is None:
            free.append((seq, seq))
            continue
        if change.before.state in TERMINAL:
            _take_if_free(session, seq)
        held.append((change.after.state, session.now + seconds, seq, seq))
    session.run_many(_HOLD, held)
    session.run_many(_FREE, free)


def _take_if_free(session: Session, seq: int) -> None:
    """A person excludes a task whose key may have become free, or another's: that one goes on holding it."""
    try:
        take_again(session, seq)
    except UniqueHeld:
        return


def forget_expired(session: Session, limit: int) -> int:
    """Delete rows whose window has passed, and that nobody is about to take anew."""
    return session.run(
        "DELETE FROM ramet_uniques WHERE held_until <= ? AND (key, kind) IN "
        f"(SELECT key, kind FROM ramet_uniques WHERE held_until <= ? LIMIT ?{session.skip_locked})",
        (session.now, session.now, limit),
    )
