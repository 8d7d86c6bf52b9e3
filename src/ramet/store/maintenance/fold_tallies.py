"""Tallies grow with kinds and with the last days, not with history: what is over is folded together.

Stripes of a minute that is over become one, and go into the row of all time; minutes older than three hours become
hours, and hours older than eight days go. Sums of all time never fall. One fold at a time writes rows of stripe -1, and
nobody else does; of other stripes it takes only rows that nobody holds. So it waits for no one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

from ramet.model.tallies import COLUMNS
from ramet.store.rows.tallies import ADD, ADD_REASON, ALL_TIME, FOLDED, HOUR, MINUTE
from ramet.store.session import Session

CLOSED_SECONDS = 120.0
"""A minute that began so long ago is over, and so are the transactions that began in it, but for few."""
MINUTES_SECONDS = 3 * 3_600.0
"""How long minutes are kept apart."""
HOURS_SECONDS = 8 * 86_400.0
"""How long hours are kept apart."""


class _Table(NamedTuple):
    name: str
    names: tuple[str, ...]
    """Columns that tell its rows of one moment apart."""
    numbers: tuple[str, ...]
    add: str
    """The statement that adds to a row."""


_TABLES = (
    _Table("ramet_tallies", ("kind",), COLUMNS, ADD),
    _Table("ramet_tally_reasons", ("what", "kind", "reason"), ("count",), ADD_REASON),
)
_Key = tuple[int, int, *tuple[str, ...]]
"""Seconds, at, and names."""
_CLOSED = "stripe >= 0 AND at <= ?"
_OLD = f"stripe = {FOLDED} AND seconds = ? AND at < ?"


def wanted(session: Session) -> bool:
    """True where something is to be folded. Writes nothing."""
    return any(
        session.rows(f"SELECT 1 FROM {table.name} WHERE {where} LIMIT 1", values)
        for table in _TABLES
        for where, values in _due(session)
    )


def _due(session: Session) -> Sequence[tuple[str, tuple[float, ...]]]:
    """Which rows are closed, old minutes, old hours; in this order."""
    return (
        (_CLOSED, (session.now - CLOSED_SECONDS,)),
        (_OLD, (MINUTE, session.now - MINUTES_SECONDS)),
        (_OLD, (HOUR, session.now - HOURS_SECONDS)),
    )


def fold(session: Session, limit: int) -> int:
    """Fold up to about ``limit`` rows of each sort; returns how many where there may be more, else 0."""
    if not wanted(session):
        return 0
    session.lock("tallies")
    more = 0
    for table in _TABLES:
        for fold_one, (where, values) in zip((_close, _hours, _nothing), _due(session), strict=True):
            taken = _take(session, table, where, values, limit)
            sums: dict[_Key, list[int]] = {}
            for key, numbers in taken:
                for wide in fold_one(key):
                    sums[wide] = [*map(add, sums[wide], numbers)] if wide in sums else [*numbers]
            for wide, total in sorted(sums.items()):
                session.run(table.add, (FOLDED, *wide, *total))
            more += len(taken) if len(taken) >= limit else 0
    return more


def _close(key: _Key) -> Sequence[_Key]:
    """What a row of a stripe goes into."""
    seconds, _, *names = key
    ever: _Key = (ALL_TIME, 0, *names)
    return (ever,) if seconds == ALL_TIME else (key, ever)


def _hours(key: _Key) -> Sequence[_Key]:
    _, at, *names = key
    return ((HOUR, at // HOUR * HOUR, *names),)


def _nothing(key: _Key) -> Sequence[_Key]:
    """All time has it already."""
    return ()


def _take(
    session: Session, table: _Table, where: str, values: Sequence[float], limit: int
) -> list[tuple[_Key, Sequence[int]]]:
    """Rows that nobody holds, deleted."""
    places = ("stripe", "seconds", "at", *table.names)
    rows = session.rows(
        f"SELECT {', '.join(places + table.numbers)} FROM {table.name} WHERE {where} LIMIT ?{session.skip_locked}",
        (*values, limit),
    )
    width = len(places)
    session.delete(table.name, tuple(places), [row[:width] for row in rows])
    return [((row[1], row[2], *row[3:width]), row[width:]) for row in rows]
