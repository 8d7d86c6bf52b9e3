"""Whether somebody who has tasks in hand would wait for ever: for one that their own paths hold back (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramet.store.rows.paths import Line, load_lines, select
from ramet.store.session import Session

LOOKS_MAX = 1_000
"""Of the tasks of a lineage that is waited for, at most so many are looked at."""
BEHIND_MAX = 100


def holds_back(session: Session, in_hand: Sequence[int], task_id: str) -> str | None:
    """How the path of one of these claimed tasks holds back that task; None when it does not."""
    rows = session.rows("SELECT seq FROM ramet_tasks WHERE id = ?", (task_id,))
    return next(_reasons(session, in_hand, [seq for (seq,) in rows]), None)


def holds_back_lineage(session: Session, in_hand: Sequence[int], tracking_id: str) -> str | None:
    """How the path of one of these claimed tasks holds back a task of that lineage; None when it does not."""
    rows = session.rows(
        "SELECT seq FROM ramet_live WHERE tracking_id = ? AND holds_path = 0 LIMIT ?", (tracking_id, LOOKS_MAX)
    )
    return next(_reasons(session, in_hand, [seq for (seq,) in rows]), None)


def _reasons(session: Session, in_hand: Sequence[int], wanted: Sequence[int]) -> Iterator[str]:
    lines = load_lines(session, {*in_hand, *wanted})
    own = [lines[seq] for seq in in_hand if seq in lines]
    for line in (lines[seq] for seq in wanted if seq in lines and seq not in in_hand) if own else ():
        for mine in own:
            why = _why(session, mine, line)
            if why is not None:
                yield why


def _why(session: Session, mine: Line, other: Line) -> str | None:
    """Who stands before ``other`` and not before ``mine``, which is claimed: the task itself, or one between the two.

    Whoever is held back by ``mine`` conflicts with it, or comes after a task at a prefix of both paths that does. A
    delayed task, or one that gave its ticket up, comes after everybody who is in line now.
    """
    for one in _chain(session, other):
        shared = _shared(mine, one)
        if not shared or (one.ticket is not None and one.ticket < (mine.ticket or 0)):
            continue
        if len(shared) == min(len(mine.nodes), len(one.nodes)):
            if one is other:
                return "its own path holds that one back"
            return f"that one comes after task {_id(session, one.seq)}, which its own path holds back"
        listed, values = session.members(shared)
        between = session.rows(
            f"SELECT seq FROM ramet_path_tickets WHERE node IN {listed} AND exact = 1 AND ticket > ? AND ticket < ? "
            "ORDER BY ticket LIMIT 1",
            (values, mine.ticket or 0, one.ticket or 2**63 - 1),
        )
        if between:
            return f"that one stands behind task {_id(session, between[0][0])}, which its own path holds back"
    return None


def _chain(session: Session, line: Line) -> Iterator[Line]:
    """A task, and those without a ticket that it is to come after."""
    for _ in range(BEHIND_MAX):  # More than there can be, unless rows are damaged.
        yield line
        above = [] if line.behind is None else select(session, "seq = ?", (line.behind,))
        if not above:
            return
        line = above[0]


def _shared(one: Line, other: Line) -> list[int]:
    """The prefixes that two paths have in common."""
    shared = []
    for mine, theirs in zip(one.nodes, other.nodes, strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return shared


def _id(session: Session, seq: int) -> str:
    rows = session.rows("SELECT id FROM ramet_tasks WHERE seq = ?", (seq,))
    return str(rows[0][0]) if rows else "unknown"
