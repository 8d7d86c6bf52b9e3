"""Checks of paths that only read: their rows against a recount, and tasks that wait for nothing (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Iterator

from ramet.store.answers import REPORT, Finding
from ramet.store.rows.paths import REPAIRS_COUNTER
from ramet.store.session import Session

CHECK = "paths"
_REPAIRED = "maintenance repairs it: start a worker, of any app, and report what led here"

_STANDS_BEFORE = (
    "EXISTS (SELECT 1 FROM ramet_path_tickets i WHERE i.node = e.node AND i.exact = {} AND i.ticket < e.ticket)"
)

_ERRORS = (
    (
        "SELECT COUNT(*), MIN(p.seq) FROM ramet_paths p LEFT JOIN ramet_live l ON l.seq = p.seq "
        "WHERE (l.seq IS NULL) <> (p.ended IS NOT NULL)",
        "tickets and places of tasks that are not live",
    ),
    (
        "SELECT COUNT(*), MIN(l.seq) FROM ramet_live l LEFT JOIN ramet_paths p ON p.seq = l.seq "
        "WHERE (l.holds_path IS NULL) <> (p.seq IS NULL)",
        "live tasks with a path and no place in line, or without a path and with one",
    ),
    (
        "SELECT COUNT(*), MIN(seq) FROM (SELECT seq FROM (SELECT node, exact, ticket, seq, 1 AS n "
        "FROM ramet_path_tickets UNION ALL "
        "SELECT node, exact, ticket, seq, -1 FROM expanded WHERE ticket IS NOT NULL) u "
        "GROUP BY node, exact, ticket, seq HAVING SUM(n) <> 0) d",
        "rows of tickets that disagree with the places of tasks",
    ),
    (
        "SELECT COUNT(*), MIN(node) FROM (SELECT node FROM (SELECT node, holders, below FROM ramet_path_holders "
        "UNION ALL SELECT e.node, -e.exact, e.exact - 1 FROM expanded e LEFT JOIN ramet_live l ON l.seq = e.seq "
        "WHERE l.holds_path = 1 OR e.ended IS NOT NULL) u "
        "GROUP BY node HAVING SUM(holders) <> 0 OR SUM(below) <> 0) d",
        "paths whose holders differ from a recount",
    ),
    (
        "SELECT COUNT(*), MIN(l.seq) FROM ramet_live l JOIN ramet_paths p ON p.seq = l.seq "
        "WHERE l.holds_path = 1 AND (p.ticket IS NULL OR p.waits_on IS NOT NULL)",
        "tasks that may run although they have no ticket or wait for another",
    ),
    (
        "SELECT COUNT(*), MIN(e.seq) FROM expanded e JOIN ramet_live l ON l.seq = e.seq AND l.holds_path = 1 "
        f"WHERE {_STANDS_BEFORE.format(1)} OR (e.exact = 1 AND {_STANDS_BEFORE.format(0)})",
        "tasks that may run although one before them conflicts",
    ),
)
"""Rows that should not be: how many there are and the first of them, and what they are."""

# A wave is under way that will look at what it covers.
_LOST = (
    "SELECT COUNT(*), MIN(p.seq) FROM ramet_paths p JOIN ramet_live l ON l.seq = p.seq AND l.holds_path = 0 "
    "LEFT JOIN (SELECT DISTINCT ticket FROM ramet_path_tickets) i ON i.ticket = p.waits_on "
    "LEFT JOIN (SELECT DISTINCT ticket FROM ramet_path_waves WHERE what = 'wake') w ON w.ticket = p.waits_on "
    "LEFT JOIN (SELECT DISTINCT e.seq FROM ramet_path_waves v JOIN expanded e ON e.node = v.node AND e.exact = 0 "
    "WHERE v.what IN ('skip', 'away', 'back') AND v.ticket < e.ticket AND v.until_ticket > e.ticket) c "
    "ON c.seq = p.seq WHERE p.ticket IS NOT NULL AND i.ticket IS NULL AND w.ticket IS NULL AND c.seq IS NULL"
)


def recount_paths(session: Session, each: str) -> Iterator[Finding]:
    """Everything about paths that rows alone can show. Reads all live tasks with a path.

    Args:
        each: in the database's own words, the numbers in the JSON list ``p.nodes``, as rows ``n`` with ``key`` (the
            place in the list, ascending) and ``value``.
    """
    expanded = (
        "WITH expanded AS (SELECT p.seq, p.ticket, p.ended, CAST(n.value AS BIGINT) AS node, "
        "CASE WHEN n.key = MAX(n.key) OVER (PARTITION BY p.seq) THEN 1 ELSE 0 END AS exact "
        f"FROM ramet_paths p, {each}) "
    )
    for sql, what in _ERRORS:
        [(count, first)] = session.rows(expanded + sql)
        if count:
            yield Finding(CHECK, "error", f"{count} {what} (first: {first})", REPORT)
    [(count, first)] = session.rows(expanded + _LOST)
    if count:
        what = f"{count} tasks wait for one that is gone, and nothing is under way to look at them (first: {first})"
        yield Finding(CHECK, "warning", what, _REPAIRED)
    for (count,) in session.rows("SELECT value FROM ramet_counters WHERE name = ? AND value > 0", (REPAIRS_COUNTER,)):
        what = f"{count} tasks waited for one that was gone, until maintenance found them"
        yield Finding(CHECK, "note", what, "nothing is to be done; it is a fault of ramet: report what led here")
