"""Effects of tickets that go: tasks that waited on them are looked at again, in batches (DESIGN §7).

Everything here runs in the transaction in which the tickets go, under the lock of their slot. Work that is too much for
one transaction is written down as a *wave* with it, and :mod:`ramet.store.maintenance.path_followup` goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ramet.store.rows import paths as rows
from ramet.store.rows.paths import PathRow
from ramet.store.session import LOOKS_MAX, Session

WAKE, SKIP, AWAY, BACK, REVIVE = "wake", "skip", "away", "back", "revive"


class PathWave(NamedTuple):
    """A row of ``ramet_path_waves``: work that has to be done to all tasks in a stretch of a line."""

    seq: int
    """Number of the task that ended, gave its ticket up or was revived; those behind it are meant, too."""
    what: str
    ticket: int
    """Those after this ticket,"""
    until_ticket: int
    """and before this,"""
    slot: int
    node: int
    """below this path."""
    because: int
    """Number of the task to be named as the reason."""
    by: str | None = None
    reason: str | None = None


WAVE_LIST = ", ".join(PathWave._fields)


def insert_waves(session: Session, waves: Sequence[PathWave]) -> None:
    """Write down what is left to do; maintenance does it."""
    session.insert("ramet_path_waves", PathWave._fields, waves)
    if waves:
        session.wake()


def next_ticket(session: Session) -> int:
    """No ticket that is out is as large as this."""
    [(number,)] = session.rows("SELECT number FROM ramet_next_number")
    return int(number)


def leave_line(session: Session, gone: Sequence[PathRow], looks: int = LOOKS_MAX) -> None:
    """Take tasks that lost their tickets, or never had one, out of the line, and look at those that waited on them.

    Their rows in ``ramet_paths`` are the caller's to delete or to update.
    """
    while gone:
        rows.drop_tickets(session, gone)
        waiting = _waiting_on(session, gone, looks)
        looks -= len(waiting)
        parked, held = _look(session, gone, waiting)
        rows.shift_holders(session, [line for line in gone if line.holds], held)
        rows.hold_paths(session, held)
        gone = parked


def look_again(session: Session, waiting: Sequence[PathRow], looks: int = LOOKS_MAX) -> None:
    """Look at tasks whose ticket before them is gone already."""
    parked, held = _look(session, (), waiting)
    rows.shift_holders(session, (), held)
    rows.hold_paths(session, held)
    leave_line(session, parked, looks)


def _waiting_on(session: Session, gone: Sequence[PathRow], limit: int) -> list[PathRow]:
    """Return the tasks that wait on these tickets, up to a limit; the others are left to a wave for each ticket."""
    tickets = {line.ticket: line for line in gone if line.ticket is not None}
    if not tickets:
        return []
    limit = max(0, min(limit, session.looks_left))
    waiting, left = rows.waiting_on(session, sorted(tickets), limit)
    if left:
        until = next_ticket(session)
        parts = [(ticket, tickets[ticket]) for ticket in sorted(left)]
        insert_waves(session, [PathWave(x.seq, WAKE, ticket, until, x.slot, x.node, x.seq) for ticket, x in parts])
    return waiting


def _look(session: Session, gone: Sequence[PathRow], waiting: Sequence[PathRow]) -> tuple[list[PathRow], list[PathRow]]:
    """Look at each again: it waits on another, holds its path, is left to a wave, or gives its own ticket up.

    Returns:
        Those that gave their tickets up (they come behind another task now), and those that hold their paths.
    """
    if not waiting:
        return [], []
    session.looks_left -= len(waiting)
    # A task at or below the path of one that was first, and waited on that one, is first now.
    first = {line.ticket: line.node for line in gone if line.holds}
    sure = [line for line in waiting if first.get(line.waits_on) in line.nodes]
    asked = [line for line in waiting if first.get(line.waits_on) not in line.nodes]
    before = [*((line, None) for line in sure), *zip(asked, rows.blockers(session, asked), strict=True)]
    # A task that is to come after another is decided about only when its turn has come.
    verdicts = held_by_waves(session, [line for line, ticket in before if ticket is None])
    parked = [line for line in waiting if isinstance(verdicts.get(line.seq), int)]
    rows.update(
        session,
        [
            line._replace(
                ticket=None, waits_on=None, was_ticket=line.ticket, behind=verdicts[line.seq], since=session.now
            )
            for line in parked
        ],
    )
    _waves_below(session, AWAY, parked, [BACK])
    moved = [(line, ticket) for line, ticket in before if line.seq not in verdicts]
    session.update("ramet_paths", ("waits_on",), ("seq",), [(ticket, line.seq) for line, ticket in moved])
    return parked, [line._replace(waits_on=None) for line, ticket in moved if ticket is None]


def wake(session: Session, limit: int) -> None:
    """Look at those who waited on tickets that are gone, of many waves at once: an end leaves one for each ticket."""
    found = session.rows(
        "SELECT ticket, seq, node, slot FROM ramet_path_waves WHERE what = 'wake' ORDER BY seq LIMIT ?", (limit,)
    )
    session.lock_stripes({slot for *_, slot in found})
    waiting, left = rows.waiting_on(session, [ticket for ticket, *_ in found], limit)
    look_again(session, waiting, limit)
    session.delete(
        "ramet_path_waves",
        ("seq", "what = 'wake'", "ticket", "node"),
        [(seq, ticket, node) for ticket, seq, node, _ in found if ticket not in left],
    )


_SHADOWS = (
    "SELECT what, seq FROM ramet_path_waves WHERE node = ? AND ticket < ? AND until_ticket > ? "
    "AND what IN ('skip', 'away', 'back') ORDER BY ticket"
)


def held_by_waves(session: Session, lines: Sequence[PathRow], *, apart_from: int = 0) -> dict[int, int | None]:
    """Return those of these that must not run now, although no task is before them any more.

    Returns:
        By number: None for one that is to be skipped, by the wave that is under way; else the number of the task above
        it, without a ticket at present, that it has to come after.
    """
    if not session.rows("SELECT 1 FROM ramet_path_waves WHERE what IN ('skip', 'away', 'back') LIMIT 1"):
        return {}
    looks = [(line, node) for line in lines for node in line.nodes[:-1]]
    stood = [line.stood for line, _ in looks]
    found = session.look_up(_SHADOWS, [(node, at, at) for (_, node), at in zip(looks, stood, strict=True)])
    verdicts: dict[int, int | None] = {}
    for (line, _), several in zip(looks, found, strict=True):
        for what, seq in several:
            if what == SKIP and line.skips:
                verdicts[line.seq] = None
            elif what != SKIP and seq != apart_from:
                verdicts.setdefault(line.seq, seq)
    return verdicts


# --- ends and given-up tickets ------------------------------------------------------------------------------------


def end(session: Session, ended: Sequence[PathRow], failed: frozenset[int], looks: int = LOOKS_MAX) -> None:
    """End tasks in their lines.

    Args:
        failed: numbers of those whose descendants are skipped with them.
        looks: the most waiting tasks to look at.
    """
    rows.delete(session, ended)
    _end_with_waves(session, [line for line in ended if line.ticket is None and line.was_ticket is not None], failed)
    _waves_below(session, SKIP, [line for line in ended if line.seq in failed and line.ticket is not None])
    _fall_back(session, [line for line in ended if line.seq in failed])
    leave_line(session, ended, looks)


def _covered(session: Session, lines: Sequence[PathRow], whats: Sequence[str]) -> dict[int, int]:
    """Return the ticket up to which a wave of a task above covers all tasks below these anyway, by their numbers."""
    listed, values = session.members(whats)
    if not session.rows(f"SELECT 1 FROM ramet_path_waves WHERE what {listed} LIMIT 1", (values,)):
        return {}
    looks = [(line, node) for line in lines for node in line.nodes[:-1]]
    found = session.look_up(
        "SELECT what, until_ticket - 1 FROM ramet_path_waves WHERE node = ? AND ticket < ? AND until_ticket > ? "
        "AND what IN ('skip', 'away', 'back')",
        [(node, line.stood, line.stood) for line, node in looks],
    )
    covered: dict[int, int] = {}
    for (line, _), several in zip(looks, found, strict=True):
        for what, until in several:
            if what in whats:
                covered[line.seq] = max(covered.get(line.seq, 0), until)
    return covered


def _waves_below(session: Session, what: str, lines: Sequence[PathRow], also: Sequence[str] = ()) -> None:
    """Write down that those that wait below these need a look, where no wave of a task above covers it."""
    if not lines:
        return
    covered = _covered(session, lines, [what, *also])
    after = [(line, max(line.stood, covered.get(line.seq, 0))) for line in lines]
    after = [each for each, there in zip(after, rows.any_below(session, after), strict=True) if there]
    if after:
        until = next_ticket(session)
        insert_waves(session, [PathWave(x.seq, what, at, until, x.slot, x.node, x.seq) for x, at in after])


def _end_with_waves(session: Session, ended: Sequence[PathRow], failed: frozenset[int]) -> None:
    """They end while others wait for them to take a new ticket: these are skipped, or line up without them."""
    for line in ended:
        what = SKIP if line.seq in failed else BACK
        session.run("UPDATE ramet_path_waves SET what = ? WHERE seq = ? AND what = 'away'", (what, line.seq))
        if line.behind is not None and line.seq in failed:
            # It was waited for itself, in the order that is to be kept.
            insert_waves(
                session,
                [
                    PathWave(line.behind, SKIP, line.stood, until, line.slot, line.node, line.seq)
                    for (until,) in session.rows(
                        "SELECT until FROM (SELECT MAX(until_ticket) AS until FROM ramet_path_waves "
                        "WHERE seq = ? AND what IN ('away', 'back')) AS w WHERE until IS NOT NULL",
                        (line.behind,),
                    )
                ],
            )
        session.wake()


def _fall_back(session: Session, failed: Sequence[PathRow]) -> None:
    """Skip tasks as well that had not been lined up again behind one that failed now."""
    seqs = [(line.seq,) for line in failed]
    session.update("ramet_path_waves", ("what = 'skip'",), ("seq", "what = 'back'"), seqs)


def give_up(session: Session, lines: Sequence[PathRow], looks: int = LOOKS_MAX) -> None:
    """Take away tickets; the tasks take new ones when they are due, and those that waited below them come after
    them.
    """
    after = [
        line._replace(ticket=None, waits_on=None, was_ticket=line.ticket, since=session.now, returned_at=None)
        for line in lines
    ]
    rows.update(session, after)
    _waves_below(session, AWAY, lines, [BACK])
    session.update("ramet_live", ("holds_path = 0", "wait = 'ticket'"), ("seq",), [(line.seq,) for line in lines])
    leave_line(session, lines, looks)
