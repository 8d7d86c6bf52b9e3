"""A lost wake-up: a task waits on a ticket that is gone, and nobody will look at it again. There should be none.

Maintenance looks at a few of those that are waited on, from another beginning each time, and repairs what it finds; the
count is a measure of faults of ours (``ramet doctor`` shows it).
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.store.rows import paths as rows
from ramet.store.rows.paths import REPAIRS_COUNTER, Line
from ramet.store.session import LOOKS_MAX, Session
from ramet.store.state.path_follow import look_again, shadows

LOOKED_AT = 20
"""Tickets that one round looks at."""
_ENDS = "SELECT " + ", ".join(
    f"(SELECT {end}(waits_on) FROM ramet_paths WHERE waits_on IS NOT NULL)" for end in ("MIN", "MAX")
)


def repair(session: Session, limit: int) -> int:
    """Look for waiting tasks whose ticket before them is gone, and let them go on; returns how many there were."""
    lost = [line for line in _sample(session) if _is_lost(session, line)]
    repaired = 0
    session.hold_slots({line.slot for line in lost})
    for line in lost:
        waiting = rows.select(session, "waits_on = ? ORDER BY ticket LIMIT ?", (line.waits_on, min(limit, LOOKS_MAX)))
        if not waiting or not _is_lost(session, waiting[0]):
            continue
        look_again(session, waiting)
        repaired += len(waiting)
    if repaired:
        session.run(
            "INSERT INTO ramet_counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = ramet_counters.value + excluded.value",
            (REPAIRS_COUNTER, repaired),
        )
    return repaired


def _sample(session: Session) -> list[Line]:
    """The first who waits on each of some tickets, beginning anywhere among those that are waited on."""
    # One statement, or the rows may go between both answers; two sub-selects, each of them one look at an end of the
    # index: as two columns of one select they would read all of it.
    [(least, most)] = session.rows(_ENDS)
    if least is None or most is None:
        return []
    after = least - 1 + int(session.now * 7_919) % (most - least + 1)
    sample: list[Line] = []
    for _ in range(LOOKED_AT):
        found = _next(session, after)
        if not found:
            break
        sample += found
        after = found[0].waits_on or 0
    return sample


def _next(session: Session, after: int) -> Sequence[Line]:
    return rows.select(session, "waits_on > ? ORDER BY waits_on, ticket LIMIT 1", (after,))


def _is_lost(session: Session, line: Line) -> bool:
    looks = [(node, 1, line.waits_on or 0) for node in line.nodes]
    looks.append((line.node, 0, line.waits_on or 0))
    stands = session.look_up("SELECT 1 FROM ramet_path_tickets WHERE node = ? AND exact = ? AND ticket = ?", looks)
    if any(stands) or line.seq in shadows(session, [line]):
        return False
    return not session.rows(
        "SELECT 1 FROM ramet_path_waves WHERE what = 'wake' AND ticket = ? LIMIT 1", (line.waits_on,)
    )
