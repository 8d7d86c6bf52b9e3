"""Checks of a database, the engine's part: settings that cannot be acted on, work without a worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ramet.engine.settings.declared import DeclaredSettings, UnknownSetting, could_be_declared
from ramet.model.schedule import Schedule
from ramet.store.address import file_of, is_file
from ramet.store.answers import Finding
from ramet.store.doctor import examine
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.rows.settings import setting_rows
from ramet.store.session import Session
from ramet.store.verbs.schedule import schedules

__all__ = ["Finding", "doctor"]

SEVERITIES = ("error", "warning", "note")
SEEN_SECONDS = 60.0
"""A worker that said nothing for longer serves nothing as far as anybody can tell."""


def doctor(address: str | Path, declared: DeclaredSettings | None = None) -> list[Finding]:
    """Everything that is not as it should be, errors first; empty for a database in order. Writes nothing.

    Args:
        declared: which settings there are, where an app has some of its own.

    Raises:
        StoreError: there is no database of ours, or it cannot be opened.
    """
    workers = ProcessRegistry(file_of(address)).alive() if is_file(address) else []

    def look(session: Session) -> Iterator[Finding]:
        yield from _settings(session, declared or DeclaredSettings())
        yield from _schedules(session)
        yield from _unserved(session, workers)

    found = examine(address, look=look)
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def _settings(session: Session, declared: DeclaredSettings) -> Iterator[Finding]:
    for row in setting_rows(session):
        try:
            declared.known(row.key).check(row.value)
        except UnknownSetting as error:
            do = f"ramet settings unset {row.key}"
            if could_be_declared(row.key):
                do = f"where an app declares it: ramet doctor --app APP; else: {do}"
            yield Finding("settings", "warning", str(error), do)
        except ValueError as error:
            yield Finding("settings", "warning", f"{error}; its default holds", f"ramet settings set {row.key} VALUE")


def _schedules(session: Session) -> Iterator[Finding]:
    for item in schedules(session):
        why = _unreadable(item)
        if why is not None:
            yield Finding("schedules", "error", f"schedule {item.name} runs no slot: {why}",
                          "replace it: ramet schedule add --replace")  # fmt: skip


def _unreadable(item: Schedule) -> str | None:
    try:
        item.timing.next_after(item.planned_at)
        json.loads(item.task)
    except ValueError as error:
        return str(error)
    return None


def _unserved(session: Session, workers: list[str]) -> Iterator[Finding]:
    """Work that waits for a worker that is not there. Workers say what they serve; a process that lives is seen too."""
    served = {
        (queue, kind)
        for kinds, queues in session.rows(
            "SELECT kinds, queues FROM ramet_workers WHERE seen_at > ?", (session.now - SEEN_SECONDS,)
        )
        for kind in json.loads(kinds)
        for queue in json.loads(queues)
    }
    if workers and not served:
        return
    rows = session.rows(
        "SELECT queue, kind, COUNT(*) FROM ramet_live WHERE state = 'pending' AND (wait IS NULL OR wait = 'resource') "
        "GROUP BY queue, kind ORDER BY queue, kind"
    )
    waiting = [(queue, kind, count) for queue, kind, count in rows if (queue, kind) not in served]
    if waiting:
        queue, kind, _ = waiting[0]
        tasks = sum(count for _, _, count in waiting)
        what = f"{tasks} tasks can be claimed and no worker serves them (first: kind {kind} in queue {queue})"
        yield Finding("workers", "warning", what, "start a worker that does: ramet worker APP")
