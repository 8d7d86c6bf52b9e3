"""How far a lineage reaches along paths: who else cannot begin before it ends (DESIGN §7)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ramet.model.path_views import HeldBack
from ramet.store.session import Row, Session

LOOKS_MAX = 10_000
"""Of the lineage's tasks at most so many are looked at."""
READS_MAX = 100_000
"""Rows of the line at most that are read."""
PAGE = 1_000


class _Reach:
    """Everything behind some tickets.

    Whoever conflicts with a task and has a later ticket waits for it. Those below its path hold back nobody else: who
    conflicts with them conflicts with it, or stands at a prefix of its path and is found there. So only who stands at a
    prefix leads further, and of those at one prefix the first reaches as far as all of them.
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
            f"SELECT seq FROM ramet_paths WHERE behind IN {listed} AND tracking_id <> ? LIMIT ?",
            (values, self._tracking_id, self._limit),
        )
        self.others.update(seq for (seq,) in rows)


def held_back(session: Session, tracking_id: str, limit: int) -> HeldBack:
    """How many tasks of other lineages wait for tickets of this one."""
    most = max(1, min(limit, LOOKS_MAX))
    own = session.rows(
        "SELECT p.seq, p.nodes, p.ticket FROM ramet_live l JOIN ramet_paths p ON p.seq = l.seq "
        "WHERE l.tracking_id = ? AND l.holds_path IS NOT NULL LIMIT ?",
        (tracking_id, LOOKS_MAX),
    )
    reach = _Reach(session, tracking_id, most)
    # The oldest first: what is behind it is behind the others too.
    for _, nodes, ticket in sorted((row for row in own if row[2] is not None), key=lambda row: row[2]):
        if reach.over:
            break
        reach.behind(json.loads(nodes), ticket)
    reach.without_ticket([seq for seq, _, ticket in own if ticket is None])
    more = reach.over or len(own) >= LOOKS_MAX
    return HeldBack(min(len(reach.others), most), more)
