"""Pages of lineages: the newest, those that are fullest or end first, those whose name begins alike."""

from __future__ import annotations

from collections.abc import Iterable

from ramet.model.lineage import OPEN, Lineage, LineageState
from ramet.model.views import COUNT_MAX, FULLEST_LOOKS_MAX, LINEAGE_ORDERS, LineagePage
from ramet.store.clocks import effective
from ramet.store.lineages import LINEAGE_LIST
from ramet.store.querying import LIMIT_MAX
from ramet.store.session import Row, Session

LAST_CHARACTER = "\U0010ffff"
"""No character sorts behind it."""
_FULLNESS = (
    "CASE WHEN max_cost > 0 AND (spent + reserved) * 1.0 / max_cost > tasks * 1.0 / max_tasks "
    "THEN (spent + reserved) * 1.0 / max_cost ELSE tasks * 1.0 / max_tasks END"
)


def lineage_page(
    session: Session, states: Iterable[str], limit: int, *, before: str | None, order: str, prefix: str | None
) -> LineagePage:
    """Lineages in an order, or by name those whose name begins so.

    Raises:
        ValueError: there is no such order, or ``before`` is not of an earlier page.
    """
    if order not in LINEAGE_ORDERS:
        raise ValueError(f"{order!r} is no order of lineages: give one of {', '.join(LINEAGE_ORDERS)}")
    most = max(1, min(limit, LIMIT_MAX))
    wanted = {LineageState(state) for state in states} or set(LineageState)
    if prefix is not None:
        return _named(session, wanted, most, before, prefix)
    if order != "newest":
        rows = (_fullest if order == "fullest" else _ending_first)(session, wanted, most)
        return LineagePage(tuple(effective(session, [Lineage._make(row) for row in rows])), None)
    at = None if before is None else _position(before)
    found = [Lineage._make(row) for state in sorted(wanted) for row in _newest(session, state, at, most + 1)]
    found.sort(key=lambda row: (-row.created_at, row.tracking_id))
    page = found[:most]
    last = f"{page[-1].created_at!r} {page[-1].tracking_id}" if len(found) > most else None
    return LineagePage(tuple(effective(session, page)), last)


def _position(before: str) -> tuple[float, str]:
    created_at, _, tracking_id = before.partition(" ")
    try:
        return float(created_at), tracking_id
    except ValueError:
        raise ValueError(f"{before[:80]!r} is not where a page of lineages ended") from None


def _newest(session: Session, state: LineageState, at: tuple[float, str] | None, limit: int) -> list[Row]:
    """The newest lineages of a state behind a position. Very many may have begun at the same moment."""
    select = f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE state = ?"
    if at is None:
        return session.rows(f"{select} ORDER BY created_at DESC, tracking_id LIMIT ?", (state.value, limit))
    rows = session.rows(
        f"{select} AND created_at = ? AND tracking_id > ? ORDER BY tracking_id LIMIT ?", (state.value, *at, limit)
    )
    if len(rows) < limit:
        rows += session.rows(
            f"{select} AND created_at < ? ORDER BY created_at DESC, tracking_id LIMIT ?",
            (state.value, at[0], limit - len(rows)),
        )
    return rows


def _named(session: Session, states: set[LineageState], most: int, before: str | None, prefix: str) -> LineagePage:
    """Those whose tracking id begins so, by name. They are among others, of which one page passes a bounded number."""
    where, values = (
        "tracking_id >= ? AND tracking_id < ? AND tracking_id > ?",
        (prefix, prefix + LAST_CHARACTER, before or ""),
    )
    end = session.rows(
        f"SELECT tracking_id FROM ramet_lineages WHERE {where} ORDER BY tracking_id LIMIT 1 OFFSET ?",
        (*values, COUNT_MAX - 1),
    )
    until = end[0][0] if end else prefix + LAST_CHARACTER
    listed, wanted = session.members(sorted(state.value for state in states))
    rows = session.rows(
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE {where} AND tracking_id <= ? AND state || '' IN {listed} "
        "ORDER BY tracking_id LIMIT ?",
        (*values, until, wanted, most + 1),
    )
    page = [Lineage._make(row) for row in rows[:most]]
    if len(rows) > most:
        return LineagePage(tuple(effective(session, page)), page[-1].tracking_id)
    return LineagePage(tuple(effective(session, page)), until if end else None)


def _fullest(session: Session, states: set[LineageState], most: int) -> list[Row]:
    """Of the newest lineages of each state those that used most of their tasks or their money."""
    rows = [
        row
        for state in sorted(states)
        for row in session.rows(
            f"SELECT {_FULLNESS} AS fullness, {LINEAGE_LIST} FROM (SELECT * FROM ramet_lineages WHERE state = ? "
            "ORDER BY created_at DESC, tracking_id LIMIT ?) g ORDER BY 1 DESC, tracking_id LIMIT ?",
            (state.value, FULLEST_LOOKS_MAX, most),
        )
    ]
    return [row[1:] for row in sorted(rows, key=lambda row: (-row[0], row[1]))[:most]]


def _ending_first(session: Session, states: set[LineageState], most: int) -> list[Row]:
    """Open lineages by their deadline; that of a paused one includes the longest pause, so those come last."""
    wanted = sorted(states & set(OPEN))
    if not wanted:
        return []
    return session.rows(
        f"SELECT {LINEAGE_LIST} FROM (SELECT * FROM ramet_lineages INDEXED BY ramet_lineages_open "
        "WHERE state IN ('running', 'paused') ORDER BY deadline_at LIMIT ?) g "
        f"WHERE state IN ({', '.join('?' * len(wanted))}) ORDER BY deadline_at, tracking_id LIMIT ?",
        (COUNT_MAX, *wanted, most),
    )
