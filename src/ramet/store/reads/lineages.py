"""Pages of lineages: the newest, those that are fullest or end first, those whose name begins alike."""

from __future__ import annotations

from collections.abc import Iterable

from ramet.model.lineage.lineage import OPEN, Lineage, LineageState, OutcomeKind
from ramet.model.views import COUNT_MAX, FULLEST_LOOKS_MAX, LINEAGE_ORDERS, LineagePage
from ramet.store.reads.tasks import LIMIT_MAX
from ramet.store.rows.lineages import LINEAGE_LIST, effective, lineage_of
from ramet.store.session import Row, Session

LAST_CHARACTER = "\U0010ffff"
"""No character sorts behind it."""
_FULLNESS = (
    "CASE WHEN max_cost > 0 AND (spent + reserved) * 1.0 / max_cost > tasks * 1.0 / max_tasks "
    "THEN (spent + reserved) * 1.0 / max_cost ELSE tasks * 1.0 / max_tasks END"
)


_LIKE = {
    None: "",
    OutcomeKind.CLEAN: " AND failed = 0 AND cancelled = 0 AND left_out = ''",
    OutcomeKind.FAILURES: " AND failed > 0",
    OutcomeKind.INCOMPLETE: " AND (left_out <> '' OR cancelled > 0)",
}
"""Lineages of an outcome, as :attr:`ramet.model.lineage.lineage.Lineage.outcome` says it."""


def lineage_page(
    session: Session,
    *,
    states: Iterable[str] = (),
    limit: int = 50,
    before: str | None = None,
    order: str = "newest",
    prefix: str | None = None,
    outcome: str | None = None,
    tag: str | None = None,
) -> LineagePage:
    """Return lineages in these states (or all) in an order, at most ``limit`` (1,000).

    With a prefix: those whose tracking id begins with it, by name. With a tag, which goes with no prefix: those of
    which a root has it, by name.

    Raises:
        ValueError: there is no such order or outcome, or ``before`` is not of an earlier page.
    """
    if outcome not in _LIKE:
        raise ValueError(f"{outcome!r} is not a valid outcome: give one of {', '.join(OutcomeKind)}")
    like = _LIKE[OutcomeKind(outcome) if outcome else None]
    if order not in LINEAGE_ORDERS:
        raise ValueError(f"{order!r} is not an order of lineages: give one of {', '.join(LINEAGE_ORDERS)}")
    most = max(1, min(limit, LIMIT_MAX))
    wanted = {LineageState(state) for state in states} or set(LineageState)
    if tag is not None:
        return _tagged(session, wanted, most, before=before, tag=tag, like=like)
    if prefix is not None:
        return _named(session, wanted, most, before=before, prefix=prefix, like=like)
    if order != "newest":
        rows = (_fullest if order == "fullest" else _ending_first)(session, wanted, most, like)
        return LineagePage(tuple(effective(session, [lineage_of(row) for row in rows])), None)
    at = None if before is None else _position(before)
    horizon = _horizon(session, wanted, at) if like else None
    found = [
        lineage_of(row)
        for state in sorted(wanted)
        for row in _newest(session, state, at, most + 1, like=like, horizon=horizon)
    ]
    found.sort(key=_in_order)
    if horizon is not None:
        found = [row for row in found if _in_order(row) <= horizon]
    page = found[:most]
    last = _in_order(page[-1]) if len(found) > most else horizon
    return LineagePage(tuple(effective(session, page)), None if last is None else f"{-last[0]!r} {last[1]}")


def _in_order(row: Lineage) -> tuple[float, str]:
    """Sorts the newest first."""
    return -row.created_at, row.tracking_id


def _horizon(session: Session, states: set[LineageState], at: tuple[float, str] | None) -> tuple[float, str] | None:
    """Return the position up to which one page looks for lineages of an outcome, as :func:`_in_order` sorts; None: to
    the end.

    Of each state a bounded number is passed; the page ends where that is reached first.
    """
    where, values = ("", ()) if at is None else (" AND created_at <= ?", at[:1])
    ends = [
        (-created_at, tracking_id)
        for state in sorted(states)
        for created_at, tracking_id in session.rows(
            f"SELECT created_at, tracking_id FROM ramet_lineages WHERE state = ?{where} "
            "ORDER BY created_at DESC, tracking_id LIMIT 1 OFFSET ?",
            (state.value, *values, COUNT_MAX - 1),
        )
    ]
    ahead = [end for end in ends if at is None or end > (-at[0], at[1])]
    return min(ahead, default=None)


def _position(before: str) -> tuple[float, str]:
    created_at, _, tracking_id = before.partition(" ")
    try:
        return float(created_at), tracking_id
    except ValueError:
        raise ValueError(f"{before[:80]!r} is not where a page of lineages ended") from None


def _newest(
    session: Session,
    state: LineageState,
    at: tuple[float, str] | None,
    limit: int,
    *,
    like: str,
    horizon: tuple[float, str] | None,
) -> list[Row]:
    """Return the newest lineages of a state behind a position. Very many may have begun at the same moment."""
    select = f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE state = ?{like}"
    if horizon is not None:
        select += f" AND created_at >= {-horizon[0]!r}"
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


def _tagged(
    session: Session, states: set[LineageState], most: int, *, before: str | None, tag: str, like: str
) -> LineagePage:
    listed, wanted = session.members(sorted(state.value for state in states))
    rows = session.rows(
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE tracking_id IN "
        "(SELECT tracking_id FROM ramet_tags WHERE tag = ? AND root = 1 AND tracking_id > ?) "
        f"AND state || '' {listed}{like} ORDER BY tracking_id LIMIT ?",
        (tag, before or "", wanted, most + 1),
    )
    page = [lineage_of(row) for row in rows[:most]]
    return LineagePage(tuple(effective(session, page)), page[-1].tracking_id if len(rows) > most else None)


def _named(
    session: Session, states: set[LineageState], most: int, *, before: str | None, prefix: str, like: str
) -> LineagePage:
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
        f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE {where} AND tracking_id <= ? "
        f"AND state || '' {listed}{like} "
        "ORDER BY tracking_id LIMIT ?",
        (*values, until, wanted, most + 1),
    )
    page = [lineage_of(row) for row in rows[:most]]
    if len(rows) > most:
        return LineagePage(tuple(effective(session, page)), page[-1].tracking_id)
    return LineagePage(tuple(effective(session, page)), until if end else None)


def _fullest(session: Session, states: set[LineageState], most: int, like: str) -> list[Row]:
    """Of the newest lineages of each state those that used most of their tasks or their money."""
    rows = [
        row
        for state in sorted(states)
        for row in session.rows(
            f"SELECT {_FULLNESS} AS fullness, {LINEAGE_LIST} FROM (SELECT * FROM ramet_lineages WHERE state = ? "
            f"ORDER BY created_at DESC, tracking_id LIMIT ?) g WHERE 1 = 1{like} ORDER BY 1 DESC, tracking_id LIMIT ?",
            (state.value, FULLEST_LOOKS_MAX, most),
        )
    ]
    return [row[1:] for row in sorted(rows, key=lambda row: (-row[0], row[1]))[:most]]


def _ending_first(session: Session, states: set[LineageState], most: int, like: str) -> list[Row]:
    """Open lineages by their deadline; that of a paused one includes the longest pause, so those come last."""
    wanted = sorted(states & set(OPEN))
    if not wanted:
        return []
    return session.rows(
        f"SELECT {LINEAGE_LIST} FROM (SELECT * FROM ramet_lineages INDEXED BY ramet_lineages_open "
        "WHERE state IN ('running', 'paused') ORDER BY deadline_at LIMIT ?) g "
        f"WHERE state IN ({', '.join('?' * len(wanted))}){like} ORDER BY deadline_at, tracking_id LIMIT ?",
        (COUNT_MAX, *wanted, most),
    )
