"""Paths ahead: how far a lineage reaches along them, and whether a wait for them would never end (DESIGN §7)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ramet.model.paths import PathImpact
from ramet.store.rows.paths import PathRow, load_lines, select
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Row, Session

LOOKS_MAX = 10_000
"""Most tasks of the lineage that are read."""
READS_MAX = 100_000
"""Rows of the line at most that are read."""
PAGE = 1_000


class _Followers:
    """Set of everything behind some tickets.

    A task that conflicts with another and has a later ticket waits for it. Those below its path hold back no others: a
    task that conflicts with them conflicts with it, or is at a prefix of its path and is found there. So only a task at
    a prefix leads further, and of those at one prefix the first reaches as far as all of them.
    """

    def __init__(self, session: Session, tracking_id: str, limit: int) -> None:
        self._session, self._tracking_id, self._limit = session, tracking_id, limit
        self._covered: dict[tuple[int, int], int] = {}
        """(node, exact) -> the ticket from which on everything there was read."""
        self._reads = 0
        self.others: set[int] = set()
        """Tasks of other lineages."""

    @property
    def over(self) -> bool:
        """Enough is known, or enough was read."""
        return len(self.others) >= self._limit or self._reads >= READS_MAX

    def behind(self, nodes: Sequence[int], ticket: int) -> None:
        """Add those behind a ticket at a path."""
        self._read(nodes[-1], 0, ticket)
        for at, node in enumerate(nodes):
            first = self._read(node, 1, ticket)
            if first is not None and at < len(nodes) - 1:
                self._read(node, 0, first)

    def _read(self, node: int, exact: int, after: int) -> int | None:
        """Everybody at a prefix with a later ticket than this; returns the first ticket."""
        until = self._covered.get((node, exact))
        if until is not None and until <= after:
            return None
        self._covered[node, exact] = after
        first: int | None = None
        while not self.over:
            rows = self._page(node, exact, after, until)
            if first is None and rows:
                first = rows[0][0]
            self._reads += len(rows)
            self.others.update(seq for _, seq, tracking_id in rows if tracking_id != self._tracking_id)
            if len(rows) < PAGE:
                break
            after = rows[-1][0]
        return first

    def _page(self, node: int, exact: int, after: int, until: int | None) -> list[Row]:
        most = 2**63 - 1 if until is None else until
        return self._session.rows(
            "SELECT i.ticket, i.seq, p.tracking_id FROM ramet_path_tickets i JOIN ramet_paths p ON p.seq = i.seq "
            "WHERE i.node = ? AND i.exact = ? AND i.ticket > ? AND i.ticket <= ? ORDER BY i.ticket LIMIT ?",
            (node, exact, after, most, PAGE),
        )

    def without_ticket(self, seqs: Sequence[int]) -> None:
        """Add those that wait, without a ticket, behind tasks that gave theirs up."""
        listed, values = self._session.members(seqs)
        rows = self._session.rows(
            f"SELECT seq FROM ramet_paths WHERE behind {listed} AND tracking_id <> ? LIMIT ?",
            (values, self._tracking_id, self._limit),
        )
        self.others.update(seq for (seq,) in rows)


def held_back(session: Session, tracking_id: str, *, limit: int = 10_000) -> PathImpact:
    """Return how many tasks of other lineages wait for tickets of this one, directly or in turn; at most ``limit``."""
    most = max(1, min(limit, LOOKS_MAX))
    own = session.rows(
        "SELECT p.seq, p.nodes, p.ticket FROM ramet_live l JOIN ramet_paths p ON p.seq = l.seq "
        f"WHERE {live_of_lineage('l.')} AND l.holds_path IS NOT NULL LIMIT ?",
        (tracking_id, LOOKS_MAX),
    )
    reach = _Followers(session, tracking_id, most)
    # The oldest first: what is behind it is behind the others too.
    for _, nodes, ticket in sorted((row for row in own if row[2] is not None), key=lambda row: row[2]):
        if reach.over:
            break
        reach.behind(json.loads(nodes), ticket)
    reach.without_ticket([seq for seq, _, ticket in own if ticket is None])
    more = reach.over or len(own) >= LOOKS_MAX
    return PathImpact(min(len(reach.others), most), more)


WAIT_LOOKS_MAX = 1_000
"""Most tasks of a lineage that is waited for that are read."""
BEHIND_MAX = 100


def holds_back(session: Session, claimed: Sequence[int], task_id: str) -> str | None:
    """Return how the path of one of these claimed tasks (by number) holds back a task; None when it does not."""
    rows = session.rows("SELECT seq FROM ramet_tasks WHERE id = ?", (task_id,))
    return next(_reasons(session, claimed, [seq for (seq,) in rows]), None)


def holds_back_lineage(session: Session, claimed: Sequence[int], tracking_id: str) -> str | None:
    """Return how the path of one of these claimed tasks holds back a task of a lineage; None when it does not.

    Looks at up to a thousand of the lineage's tasks that wait in line.
    """
    rows = session.rows(
        f"SELECT seq FROM ramet_live WHERE {live_of_lineage()} AND holds_path = 0 LIMIT ?",
        (tracking_id, WAIT_LOOKS_MAX),
    )
    return next(_reasons(session, claimed, [seq for (seq,) in rows]), None)


def _reasons(session: Session, claimed: Sequence[int], wanted: Sequence[int]) -> Iterator[str]:
    lines = load_lines(session, {*claimed, *wanted})
    own = [lines[seq] for seq in claimed if seq in lines]
    for line in (lines[seq] for seq in wanted if seq in lines and seq not in claimed) if own else ():
        for mine in own:
            why = _why(session, mine, line)
            if why is not None:
                yield why


def _why(session: Session, mine: PathRow, other: PathRow) -> str | None:
    """Explain why ``other`` waits for a task and ``mine``, which is claimed, does not: the task itself, or one between
    the two.

    A task that is held back by ``mine`` conflicts with it, or comes after a task at a prefix of both paths that does. A
    delayed task, or one that gave its ticket up, comes after all that are in line now.
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
            f"SELECT seq FROM ramet_path_tickets WHERE node {listed} AND exact = 1 AND ticket > ? AND ticket < ? "
            "ORDER BY ticket LIMIT 1",
            (values, mine.ticket or 0, one.ticket or 2**63 - 1),
        )
        if between:
            return f"that one is behind task {_id(session, between[0][0])}, which its own path holds back"
    return None


def _chain(session: Session, line: PathRow) -> Iterator[PathRow]:
    """Yield a task, and those without a ticket that it is to come after."""
    for _ in range(BEHIND_MAX):  # More than there can be, unless rows are damaged.
        yield line
        above = [] if line.behind is None else select(session, "seq = ?", (line.behind,))
        if not above:
            return
        line = above[0]


def _shared(one: PathRow, other: PathRow) -> list[int]:
    """Return the prefixes that two paths have in common."""
    shared = []
    for mine, theirs in zip(one.nodes, other.nodes, strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return shared


def _id(session: Session, seq: int) -> str:
    rows = session.rows("SELECT id FROM ramet_tasks WHERE seq = ?", (seq,))
    return str(rows[0][0]) if rows else "unknown"
