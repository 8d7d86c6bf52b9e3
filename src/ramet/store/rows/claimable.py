"""Read the tasks that can be claimed now and the delayed ones that are due, from the floor of each scan on
(:mod:`ramet.store.scan_floor`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from ramet.model.task.ordering import PULLED_RANK, is_pulled
from ramet.model.task.task import Standing
from ramet.store.scan_floor import Floor, Position, raised
from ramet.store.schema.columns import LIVE_LIST
from ramet.store.session import Session

_WAITING = f"SELECT {LIVE_LIST} FROM ramet_live WHERE queue = ? AND kind = ? AND state = 'pending' AND wait IS NULL "
_BESIDE = f"AND rank < {PULLED_RANK} "


def waiting(session: Session, queue: str, kind: str, limit: int, *, pulled: bool = False) -> list[Standing]:
    """Claimable tasks of one kind in one queue, by rank, turn and age: one ordered probe of the claim index.

    Without ``pulled``, those that are for invocations stay where they are.
    """
    floors, scan = session.floors, (queue, kind)
    floor = None if floors is None else floors.of(scan)
    if floors is not None and floor is not None:
        found = _from_floor(session, queue, kind, limit, floor)
        floors.rise(scan, _firsts(found))
        return found
    begun = time.monotonic()
    which = _WAITING if pulled else _WAITING + _BESIDE
    rows = session.rows(f"{which}ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}", (queue, kind, limit))
    found = [*map(Standing._make, rows)]
    if floors is not None and not (found and is_pulled(found[-1].rank)):
        seconds = time.monotonic() - begun
        if floors.is_slow(scan, seconds, len(found)):
            known = {**_levels(session, queue, kind), **floors.last(scan)}
            floors.begin_at(scan, raised(known, _firsts(found), len(found) == limit), seconds)
    return found


def _from_floor(session: Session, queue: str, kind: str, limit: int, floor: Floor) -> list[Standing]:
    found: list[Standing] = []
    for rank, (turn, seq) in sorted(floor.items()):
        if len(found) == limit:
            break
        rows = session.rows(
            f"{_WAITING}AND rank = ? AND (turn, seq) >= (?, ?) ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}",
            (queue, kind, rank, int(turn), int(seq), limit - len(found)),
        )
        found += map(Standing._make, rows)
    return found


def _firsts(standings: Iterable[Standing]) -> dict[int, Position]:
    firsts: dict[int, Position] = {}
    for standing in standings:
        if standing.rank not in firsts:
            firsts[standing.rank] = (standing.turn, standing.seq)
    return firsts


def _levels(session: Session, queue: str, kind: str) -> dict[int, Position]:
    """Nothing new waits before the turn that claims have reached (docs/decisions/0013)."""
    return {
        rank: (turn, 0)
        for rank, turn in session.rows(
            "SELECT rank, turn FROM ramet_turns WHERE queue = ? AND kind = ? AND resource = ''", (queue, kind)
        )
    }


def due(session: Session, limit: int) -> Sequence[int]:
    """Numbers of delayed tasks whose time has come, the longest due first."""
    floors, scan = session.floors, "due"
    floor = None if floors is None else floors.of(scan)
    begin, values = ("", []) if floor is None else ("AND available_at >= ? ", [*floor[0]])
    begun = time.monotonic()
    rows = session.rows(
        f"SELECT seq, available_at FROM ramet_live WHERE wait = 'due' {begin}AND available_at <= ? "
        f"ORDER BY available_at LIMIT ?{session.skip_locked}",
        (*values, session.now, limit),
    )
    if floors is not None:
        firsts: dict[int, Position] = {0: (rows[0][1],)} if rows else {}
        seconds = time.monotonic() - begun
        if floor is not None:
            floors.rise(scan, firsts)
        elif floors.is_slow(scan, seconds, len(rows)):
            # What is delayed by less than it takes to look is found by the next look.
            known = floors.last(scan) or {0: (session.now - 2 * seconds,)}
            floors.begin_at(scan, raised(known, firsts, len(rows) == limit), seconds)
    return [seq for seq, _ in rows]
