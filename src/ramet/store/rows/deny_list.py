"""The stop list: kept by people, asked by the guard and by submits.

While it is empty, that is all that is read: how many entries it has is a counter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ramet.model.keys import shown_key
from ramet.model.lineage.deny_list import EntryType, StopEntry, entry_value, host_of, matches, names_above
from ramet.model.task.task import NewTask
from ramet.store.rows.settings import record_act
from ramet.store.session import Session

_ENTRY_LIST = "entry_type, value, reason, added_by, added_at"


class StopList(NamedTuple):
    """What of the stop list may concern a batch of tasks."""

    names: dict[tuple[str, str], StopEntry]
    """Hosts and domains, by (entry type, value)."""
    patterns: tuple[StopEntry, ...]

    def covers(self, new: NewTask) -> StopEntry | None:
        """The entry that covers a task, a host before a domain, the nearest domain first, patterns last."""
        host = _host(new)
        if host is not None:
            found = self.names.get((EntryType.HOST, host))
            for name in () if found else names_above(host):
                found = found or self.names.get((EntryType.DOMAIN, name))
            if found is not None:
                return found
        # As stored, and as people read it: they write what they see.
        keys = {new.key, shown_key(new.key)}
        return next((entry for entry in self.patterns if any(matches(entry.value, key) for key in keys)), None)


def _host(new: NewTask) -> str | None:
    return host_of(new.url if new.url is not None else new.key)


def concerning(session: Session, news: Iterable[NewTask]) -> StopList | None:
    """What of the stop list may concern these tasks; None while the list is empty."""
    [(entries,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'stop_list'")
    if not entries:
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
    _count(session, 1)
    record_act(session, by=by, act="stop_list_add", subject=f"{entry_type} {value}", reason=reason)
    return entry, True


def remove(session: Session, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Take an entry off the deny list; return False when it was not there.

    Raises:
        InvalidEntry: the value is not of this type.
    """
    value = entry_value(entry_type, value)
    if not session.run("DELETE FROM ramet_stop_list WHERE entry_type = ? AND value = ?", (entry_type, value)):
        return False
    _count(session, -1)
    record_act(session, by=by, act="stop_list_remove", subject=f"{entry_type} {value}", reason=reason)
    return True


def _count(session: Session, by: int) -> None:
    session.run("UPDATE ramet_counters SET value = value + ? WHERE name = 'stop_list'", (by,))


def entries(session: Session) -> list[StopEntry]:
    """Return the whole deny list, by type and value."""
    rows = session.rows(f"SELECT {_ENTRY_LIST} FROM ramet_stop_list ORDER BY entry_type, value")
    return [StopEntry(*row) for row in rows]
