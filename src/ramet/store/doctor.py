"""Checks of a database that only read: its file, its rows against a recount, and neglected work.

The rules are those of the promises, checked from rows alone: nothing here trusts the code that wrote them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ramet.model.alerts.rules import STARVATION_REMEDY, starvation_words
from ramet.model.tallies import ENDS
from ramet.model.task.task import TERMINAL
from ramet.store.address import file_of, is_file, is_postgres, shown
from ramet.store.answers import REPORT, Finding
from ramet.store.errors import StoreError
from ramet.store.maintenance.prune import PRUNED_BY_LINEAGE, PRUNED_BY_TASK
from ramet.store.opening import check_driver
from ramet.store.reads.handler_waits import starved
from ramet.store.rows.tallies import EVER
from ramet.store.session import Session

STALE_SECONDS = 60.0
"""A lease that lapsed longer ago than this should have been swept."""
OVERDUE_SECONDS = 300.0
CLOCK_AHEAD_SECONDS = 60.0


class _Recount(NamedTuple):
    """Rows that should not be: the statement returns how many there are and the first of them."""

    check: str
    sql: str
    what: str
    do: str
    severity: str = "error"


_OF = "FROM ramet_lineages g WHERE g.sweep >= 0 AND "
_COUNTED = {"live": "t.state IS NULL"} | {state.value: f"t.state = '{state.value}'" for state in sorted(TERMINAL)}
"""Counter of a lineage -> what it counts."""


_LOOSE = {"ramet_reservations", "ramet_blobs"}
"""Rows that may be there without their lineage: money not settled yet outlives it, a large payload is stored before."""


_RECOUNTS = (
    _Recount(
        "places",
        "SELECT COUNT(*), MIN(t.id) FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq "
        "WHERE (t.state IS NULL) <> (l.seq IS NOT NULL)",
        "tasks that are live and ended at once, or neither",
        REPORT,
    ),
    _Recount(
        "places",
        "SELECT COUNT(*), MIN(l.seq) FROM ramet_live l LEFT JOIN ramet_tasks t ON t.seq = l.seq WHERE t.seq IS NULL",
        "hot rows without a task",
        REPORT,
    ),
    _Recount(
        "identities",
        "SELECT COUNT(*), MIN(t.id) FROM ramet_tasks t LEFT JOIN ramet_identities i ON i.key = t.key "
        "AND i.tracking_id = t.tracking_id AND i.kind = t.kind AND i.seq = t.seq WHERE i.seq IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM ramet_lineages g WHERE g.tracking_id = t.tracking_id AND g.sweep < 0)",
        "tasks whose identity is not held by them",
        REPORT,
    ),
    _Recount(
        "identities",
        "SELECT COUNT(*), MIN(i.key) FROM ramet_identities i LEFT JOIN ramet_tasks t ON t.seq = i.seq "
        "WHERE t.seq IS NULL",
        "identities held by no task",
        REPORT,
    ),
    _Recount(
        "tallies",
        "SELECT COUNT(*), MIN(k.kind) FROM (SELECT r.kind FROM (SELECT kind, created + revived - "
        f"{' - '.join(f'ended_{state}' for state in ENDS)} AS live FROM ramet_tallies WHERE {EVER} "
        "UNION ALL SELECT kind, -1 FROM ramet_live) r GROUP BY r.kind HAVING SUM(r.live) <> 0) k",
        "kinds of which other numbers of live tasks are counted than there are",
        REPORT,
    ),
    _Recount(
        "lineages",
        f"SELECT COUNT(*), MIN(g.tracking_id) {_OF}((g.state = 'running' AND g.live = 0) "
        "OR (g.state = 'finished' AND g.live > 0) OR (g.ended_at IS NULL) <> (g.state IN ('running', 'paused')))",
        "lineages whose state does not fit their tasks",
        REPORT,
    ),
    _Recount(
        "lineages",
        f"SELECT COUNT(*), MIN(g.tracking_id) {_OF}g.state IN ('failed', 'cancelled') AND g.live > 0 AND g.sweep = 0",
        "lineages that ended and whose tasks will not be ended",
        REPORT,
    ),
    _Recount(
        "lineages",
        "SELECT COUNT(*), MIN(t.id) FROM ramet_tasks t LEFT JOIN ramet_lineages g ON g.tracking_id = t.tracking_id "
        "WHERE g.tracking_id IS NULL",
        "tasks of lineages that are not there",
        REPORT,
    ),
)


def _recounts() -> Iterator[_Recount]:
    yield _counters()
    yield from _RECOUNTS
    yield from _orphans()


def _counters() -> _Recount:
    counted = ", ".join(f"SUM(CASE WHEN {rule} THEN 1 ELSE 0 END) AS {name}" for name, rule in _COUNTED.items())
    differs = " OR ".join(f"g.{name} <> COALESCE(r.{name}, 0)" for name in _COUNTED)
    return _Recount(
        "counters",
        "SELECT COUNT(*), MIN(g.tracking_id) FROM ramet_lineages g LEFT JOIN "
        f"(SELECT t.tracking_id, SUM(COALESCE(s.places, 1)) AS tasks, {counted} FROM ramet_tasks t "
        "LEFT JOIN ramet_stages s ON s.seq = t.seq GROUP BY t.tracking_id) r ON r.tracking_id = g.tracking_id "
        "WHERE g.sweep >= 0 AND (g.tasks - CASE WHEN g.on_end IS NULL THEN 0 ELSE 1 END <> COALESCE(r.tasks, 0) "
        f"OR {differs})",
        "lineages whose counters differ from a recount of their tasks",
        REPORT,
    )


def _orphans() -> Iterator[_Recount]:
    for table in PRUNED_BY_TASK:
        yield _Recount(
            "orphans",
            f"SELECT COUNT(*), MIN(o.seq) FROM {table} o LEFT JOIN ramet_tasks t ON t.seq = o.seq WHERE t.seq IS NULL",
            f"rows in {table} of tasks that are not there",
            REPORT,
        )
    for table in PRUNED_BY_LINEAGE:
        if table in _LOOSE:
            continue
        yield _Recount(
            "orphans",
            f"SELECT COUNT(*), MIN(o.tracking_id) FROM {table} o LEFT JOIN ramet_lineages g "
            "ON g.tracking_id = o.tracking_id WHERE o.tracking_id <> '' AND g.tracking_id IS NULL",
            f"rows in {table} of lineages that are not there",
            REPORT,
        )


def recount(session: Session) -> Iterator[Finding]:
    """Everything that rows alone can show. Reads all tasks."""
    for item in _recounts():
        [(count, first)] = session.rows(item.sql)
        if count:
            yield Finding(item.check, item.severity, f"{count} {item.what} (first: {first})", item.do)


def overdue_work(session: Session) -> Iterator[Finding]:
    """Find work that should have been done by now."""
    now = session.now
    [(stale, worker)] = session.rows(
        "SELECT COUNT(*), MIN(worker) FROM ramet_live WHERE state = 'processing' AND lease_until < ?",
        (now - STALE_SECONDS,),
    )
    if stale:
        yield Finding("leases", "warning", f"{stale} claims are stale and were not reclaimed (first: of {worker})",
                      "start a worker, of any app: it reclaims them")  # fmt: skip
    [(late, name)] = session.rows(
        "SELECT COUNT(*), MIN(name) FROM ramet_schedules WHERE state = 'active' AND next_at < ?",
        (now - OVERDUE_SECONDS,),
    )
    if late:
        yield Finding("schedules", "warning", f"{late} schedules have slots that were not taken (first: {name})",
                      "start a worker; its log says when a schedule cannot be read")  # fmt: skip
    for one in starved(session):
        words = starvation_words(one.kind, one.queue, one.slots, one.waiter_id, one.awaited_id)
        yield Finding("slots", "warning", words, STARVATION_REMEDY)
    [(latest,)] = session.rows("SELECT MAX(created_at) FROM ramet_lineages")
    if latest is not None and latest > now + CLOCK_AHEAD_SECONDS:
        yield Finding("clock", "warning", f"a lineage was created {latest - now:.0f} s in the future",
                      "set this machine's clock right: it was set back, or another wrote this")  # fmt: skip


def examine(
    address: str | Path, *, clock: Callable[[], float] = time.time, look: Callable[[Session], Iterator[Finding]]
) -> list[Finding]:
    """Look at a database without writing anything: its file and place, or its server; then :func:`recount`,
    :func:`overdue_work` and ``look``.

    Raises:
        StoreError: there is no database of ours, or it cannot be opened.
    """
    if is_postgres(address):
        check_driver()
        from ramet.store.postgres.doctor import examine_server

        return examine_server(str(address), (recount, overdue_work, look))
    if not is_file(address):
        raise StoreError(f"cannot read the database address {shown(address)}: give a file or postgresql://...")
    from ramet.store.sqlite.doctor import examine_file

    return examine_file(file_of(address), clock, (recount, overdue_work, look))
