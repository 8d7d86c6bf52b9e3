"""Taking a place in line: tickets for tasks that are available now (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramet.model.paths import PathRule, path_from
from ramet.model.task.task import NewTask, Standing, Wait, free_wait
from ramet.store.rows import paths as rows
from ramet.store.rows.paths import PathRow, line_of
from ramet.store.session import Session


def enter(
    session: Session, born: Sequence[tuple[int, str, NewTask]], standings: Mapping[int, Standing]
) -> dict[int, Standing]:
    """Newborn tasks with paths take their places in line.

    Args:
        born: number, tracking_id and what was asked for; the slots of all of them are held.
        standings: as they begin, by number; their rows are not written yet.

    Returns:
        The standings as they are to be written.
    """
    lines = [line_of(seq, tracking_id, new.path, new.queue) for seq, tracking_id, new in born if new.path is not None]
    news = {seq: new for seq, _, new in born}
    at_once = {
        seq for seq, new in news.items() if new.path is not None and (new.delay_seconds <= 0 or new.path.reserved)
    }
    # The number of the task itself is the next of the line: it was drawn under the lock of its slot.
    ticketed = [line._replace(ticket=line.seq, since=session.now) for line in lines if line.seq in at_once]
    placed = {line.seq: line for line in enter_with_tickets(session, ticketed)}
    rows.insert(session, [placed.get(line.seq, line) for line in lines])
    return {seq: _standing(standings[seq], news[seq], line) for seq, line in placed.items()}


def _standing(standing: Standing, new: NewTask, line: PathRow) -> Standing:
    delayed = new.delay_seconds > 0
    if line.holds:
        return standing._replace(holds_path=1, wait=Wait.DUE.value if delayed else free_wait(new.resource))
    return standing if delayed else standing._replace(wait=Wait.PATH.value)


def enter_with_tickets(session: Session, lines: Sequence[PathRow]) -> list[PathRow]:
    """Stand these in line under the tickets that they have; each comes back with the ticket that it waits on."""
    if not lines:
        return []
    rows.add_tickets(session, lines)
    placed = [line._replace(waits_on=ticket) for line, ticket in zip(lines, rows.blockers(session, lines), strict=True)]
    rows.shift_holders(session, (), [line for line in placed if line.holds])
    return placed


def line_up(session: Session, lines: Sequence[PathRow]) -> list[PathRow]:
    """Give tasks that are due new tickets, in this order, and say in their live rows what comes of it.

    Their rows in ``ramet_paths`` are there, and the slots are held.
    """
    if not lines:
        return []
    first = session.take_numbers(len(lines))
    fresh = [
        line._replace(ticket=ticket, behind=None, was_ticket=None, since=session.now, returned_at=None)
        for ticket, line in enumerate(lines, first)
    ]
    placed = enter_with_tickets(session, fresh)
    rows.update(session, placed)
    # A task that came behind one of these lines up now.
    again = [(line.seq,) for line in lines if line.was_ticket is not None]
    session.update("ramet_path_waves", ("what = 'back'",), ("seq", "what = 'away'"), again)
    wait(session, [line.seq for line in placed if not line.holds])
    rows.hold_paths(session, [line for line in placed if line.holds])
    return placed


def wait(session: Session, seqs: Sequence[int]) -> None:
    """Make due tasks wait that have others before them."""
    key = ("seq", "wait = 'ticket'", "available_at <= ?")
    session.update("ramet_live", ("wait = 'path'",), key, [(seq, session.now) for seq in seqs])


def load_rules(session: Session, seqs: Sequence[int]) -> list[PathRow]:
    """Return the paths that tasks without a row in ``ramet_paths`` once had, in the order asked."""
    listed, values = session.members(seqs)
    found = {
        seq: line_of(seq, tracking_id, PathRule(path_from(path), scope or "queue", rule or "skip"), queue)
        for seq, tracking_id, queue, path, scope, rule in session.rows(
            "SELECT seq, tracking_id, queue, path, path_scope, on_dependency_failure FROM ramet_tasks "
            f"WHERE seq {listed} AND path IS NOT NULL",
            (values,),
        )
    }
    return [found[seq] for seq in seqs if seq in found]
