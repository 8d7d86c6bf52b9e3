"""Keys beyond one lineage: held globally for kinds with ``unique="global"``, or denied by an operator (DESIGN §5).

One row per (kind, key) names the holder; of a kind with a task per stage it is one row of the base kind, which each
stage hands on to the next. It is taken by a conditional upsert in the transaction that creates the task,
and follows the holder's end in the transaction that ends it. A row outlives its holder's lineage: pruning that one
does not make the work fresh again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ramet.model.keys import display_key
from ramet.model.lineage.deny_list import EntryType, StopEntry, entry_value, host_of, matches, names_above
from ramet.model.lineage.guard import GlobalHolder, held_seconds
from ramet.model.task.task import TERMINAL, NewTask
from ramet.model.task.transitions import Change
from ramet.store.errors import UniqueHeld
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session, TransactionConflict

# The condition is the last guard: the second to come changes no row.
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


def holders(session: Session, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], GlobalHolder]:
    """Return the current holders of these (kind, key), in whatever lineage; free ones are absent."""
    wanted = set(wanted)
    listed, values = session.members(sorted({key for _, key in wanted}))
    found = session.rows(
        "SELECT kind, key, holder, tracking_id, state, held_until FROM ramet_uniques "
        f"WHERE key {listed} AND (held_until IS NULL OR held_until > ?)",
        (values, session.now),
    )
    return {(row[0], row[1]): GlobalHolder(*row[2:]) for row in found if (row[0], row[1]) in wanted}


IDENTITY_COLUMNS = ("key", "tracking_id", "kind", "seq")
"""Columns of ``ramet_identities``."""


def insert_identities(session: Session, rows: Sequence[tuple[str, str, str, int]]) -> None:
    """Let each (key, tracking_id, kind) name the task with this number. The database refuses one that is taken."""
    session.insert("ramet_identities", IDENTITY_COLUMNS, rows)


def take(session: Session, tasks: Sequence[tuple[str, str, str, int, str]]) -> None:
    """Take the keys of new tasks, each (key, kind, id, number, tracking_id): all of them, or the transaction fails.

    Raises:
        Overtaken: one of them was taken since it was looked at.
    """
    # In one order: two who want the same keys never wait for each other.
    if tasks and session.run_many(_TAKE, [(*task, session.now) for task in sorted(tasks)]) != len(tasks):
        raise TransactionConflict("a unique key was taken by another lineage in the same moment")


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
    """Hand keys on to later stages, which hold the key of their kind from now on: each (id, number, key, base kind,
    stage before).
    """
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
    """Take a key that may have become free, for a task that a person excludes; another holder keeps it."""
    try:
        take_again(session, seq)
    except UniqueHeld:
        return


def forget_expired(session: Session, limit: int) -> int:
    """Delete rows whose window has passed, and that are not about to be taken again."""
    return session.run(
        "DELETE FROM ramet_uniques WHERE held_until <= ? AND (key, kind) IN "
        f"(SELECT key, kind FROM ramet_uniques WHERE held_until <= ? LIMIT ?{session.skip_locked})",
        (session.now, session.now, limit),
    )


_ENTRY_LIST = "entry_type, value, reason, added_by, added_at"


class StopList(NamedTuple):
    """Entries of the deny list that may concern a batch of tasks."""

    names: dict[tuple[str, str], StopEntry]
    """Hosts and domains, by (entry type, value)."""
    patterns: tuple[StopEntry, ...]

    def covers(self, new: NewTask) -> StopEntry | None:
        """Return the entry that covers a task, a host before a domain, the nearest domain first, patterns last."""
        host = _host(new)
        if host is not None:
            found = self.names.get((EntryType.HOST, host))
            for name in () if found else names_above(host):
                found = found or self.names.get((EntryType.DOMAIN, name))
            if found is not None:
                return found
        # As stored, and as people read it: they write what they see.
        keys = {new.key, display_key(new.key)}
        return next((entry for entry in self.patterns if any(matches(entry.value, key) for key in keys)), None)


def _host(new: NewTask) -> str | None:
    return host_of(new.url if new.url is not None else new.key)


def matching_entries(session: Session, news: Iterable[NewTask]) -> StopList | None:
    """Return the entries of the deny list that may concern these tasks; None while the list is empty."""
    if session.denied is None:
        [(session.denied,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'stop_list'")
    if not session.denied:
        return None
    hosts = {host for new in news if (host := _host(new)) is not None}
    listed, values = session.members(sorted({name for host in hosts for name in names_above(host)}))
    found = session.rows(
        f"SELECT {_ENTRY_LIST} FROM ramet_stop_list WHERE entry_type IN ('host', 'domain') AND value {listed}",
        (values,),
    )
    patterns = session.rows(
        f"SELECT {_ENTRY_LIST} FROM ramet_stop_list WHERE entry_type = 'pattern' ORDER BY added_at, value"
    )
    return StopList({(row[0], row[1]): StopEntry(*row) for row in found}, tuple(StopEntry(*row) for row in patterns))


def add(session: Session, entry_type: str, value: str, *, by: str, reason: str | None = None) -> tuple[StopEntry, bool]:
    """Put a host, a domain or a pattern on the deny list: nothing that it covers is created from this commit on.

    Returns:
        The entry as it is on the list, and whether it is new.

    Raises:
        InvalidEntry: the value is not of this type; the message says what to give.
    """
    value = entry_value(entry_type, value)
    entry = StopEntry(entry_type, value, reason, by, session.now)
    new = session.run(
        f"INSERT INTO ramet_stop_list ({_ENTRY_LIST}) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (entry_type, value) DO NOTHING",
        entry,
    )
    if not new:
        return next(found for found in entries(session) if found[:2] == entry[:2]), False
    count_refusals(session, 1)
    record_audit_entry(session, by=by, act="stop_list_add", subject=f"{entry_type} {value}", reason=reason)
    return entry, True


def remove(session: Session, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Take an entry off the deny list; return False when it was not there.

    Raises:
        InvalidEntry: the value is not of this type.
    """
    value = entry_value(entry_type, value)
    if not session.run("DELETE FROM ramet_stop_list WHERE entry_type = ? AND value = ?", (entry_type, value)):
        return False
    count_refusals(session, -1)
    record_audit_entry(session, by=by, act="stop_list_remove", subject=f"{entry_type} {value}", reason=reason)
    return True


def count_refusals(session: Session, by: int) -> None:
    """Add this number to the count of deny list entries and blocked queues: at 0, submits look for neither."""
    session.run("UPDATE ramet_counters SET value = value + ? WHERE name = 'stop_list'", (by,))
    session.denied = None


def entries(session: Session) -> list[StopEntry]:
    """Return the whole deny list, by type and value."""
    rows = session.rows(f"SELECT {_ENTRY_LIST} FROM ramet_stop_list ORDER BY entry_type, value")
    return [StopEntry(*row) for row in rows]
