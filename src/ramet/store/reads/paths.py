"""Questions about paths: who holds one, who waits for whom (DESIGN §7).

A million tasks may wait in one one. Every statement here is a look into an index that stops at a limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ramet.model.paths import BEHIND_MAX, DEFAULT_QUEUE, PathChain, PathPage, PathTask, conflict, nodes_of, path_from
from ramet.store.reads.tasks import LIMIT_MAX
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Row, Session

HOLDERS_MAX = 1_000
"""Most holders that are compared when the one with most tasks behind it is looked for."""

_LIST = (
    "p.seq, p.nodes, p.ticket, p.waits_on, p.behind, p.was_ticket, t.id, t.tracking_id, t.kind, t.key, "
    "COALESCE(l.state, t.state), CASE WHEN l.state = 'pending' THEN l.wait END, t.path, t.queue, t.path_scope, "
    "CASE WHEN l.seq IS NULL THEN 1 ELSE l.holds_path END, "
    "CASE WHEN l.state = 'processing' THEN l.claimed_at ELSE p.since END"
)
"""Fields of :class:`PathTaskRow`. A task that ended and still has a row is held on for its worker, with its path."""
_FROM = "FROM ramet_paths p JOIN ramet_tasks t ON t.seq = p.seq LEFT JOIN ramet_live l ON l.seq = p.seq"


class PathTaskRow(NamedTuple):
    """A task on a path, as it is stored."""

    seq: int
    nodes: tuple[int, ...]
    ticket: int | None
    waits_on: int | None
    """The ticket of another."""
    of: int | None
    """The number of a task that gave its ticket up, behind which this one waits without any."""
    shown: PathTask
    """Task as people see it, without what it waits for and how many are behind it."""


def _path_task_row(row: Row) -> PathTaskRow:
    (seq, nodes, ticket, waits_on, behind, was_ticket, task_id, tracking_id, kind, key, state, wait, path, queue,
     scope, holds, since) = row  # fmt: skip
    shown = PathTask(
        task_id, tracking_id, kind, key, state, wait, path_from(path), queue, scope or "queue", ticket,
        was_ticket is not None, holds == 1, None, since, None,
    )  # fmt: skip
    return PathTaskRow(seq, tuple(json.loads(nodes)), ticket, waits_on, behind, shown)


def path_task_rows(session: Session, seqs: Iterable[int]) -> list[PathTaskRow]:
    """Tasks on paths, those with the smallest tickets first."""
    listed, values = session.members(seqs)
    found = map(_path_task_row, session.rows(f"SELECT {_LIST} {_FROM} WHERE p.seq {listed}", (values,)))
    return sorted(found, key=lambda one: (one.ticket is None, one.ticket or 0, one.seq))


# --- who is on a path


def paths(
    session: Session,
    prefix: Sequence[str] = (),
    *,
    queue: str | None = None,
    tracking_id: str | None = None,
    limit: int = 50,
) -> PathPage:
    """Return tasks at or below a path, and at its proper prefixes, which conflict with it, in the order of tickets.

    Without a prefix: holders, those with most tasks behind them first (of the first thousand). A delayed task has no
    place in line yet and is not listed.

    Args:
        prefix: elements of the path.
        queue: paths belong to a queue; None is ``default``, without a prefix any queue.
        tracking_id: look at paths of scope ``lineage`` in this lineage; without a prefix, only at its tasks.
        limit: at most 1,000.
    """
    most = max(1, min(limit, LIMIT_MAX))
    if prefix:
        nodes = nodes_of(tuple(prefix), queue or DEFAULT_QUEUE, tracking_id or "")
        found = path_task_rows(session, (seq for _, seq in _conflicting(session, nodes, most + 1)))
        if len(found) <= most:
            found += [one for one in _without_ticket(session, nodes, most) if conflict(one.shown.path, prefix)]
    else:
        found = _holders(session, queue, tracking_id)
    page = tuple(_shown(session, one) for one in found[:most])
    return PathPage(page, len(found) > most or (not prefix and len(found) >= HOLDERS_MAX))


def _conflicting(session: Session, nodes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """(ticket, task) of the first in line that conflict with a path."""
    found: list[Row] = []
    for node, exact in _conflicts(nodes):
        found += session.rows(
            "SELECT ticket, seq FROM ramet_path_tickets WHERE node = ? AND exact = ? ORDER BY ticket LIMIT ?",
            (node, exact, limit),
        )
    return [(ticket, seq) for ticket, seq in sorted(found)[:limit]]


def _conflicts(nodes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the places of tickets that conflict with a path: at each prefix and at itself, and below itself."""
    for node in nodes:
        yield node, 1
    yield nodes[-1], 0


def _without_ticket(session: Session, nodes: Sequence[int], limit: int) -> list[PathTaskRow]:
    """Those at a prefix that gave their tickets up while others waited below, and those who come after them."""
    listed, values = session.members(nodes)
    gone = session.rows(
        f"SELECT seq FROM ramet_path_waves WHERE node {listed} AND what IN ('skip', 'away', 'back') "
        "AND what <> 'skip' LIMIT ?",
        (values, limit),
    )
    if not gone:
        return []
    listed, values = session.members(seq for (seq,) in gone)
    after = session.rows(
        f"SELECT seq FROM ramet_paths WHERE behind {listed} ORDER BY behind, was_ticket LIMIT ?", (values, limit)
    )
    return [one for one in path_task_rows(session, dict.fromkeys(seq for (seq,) in gone + after)) if one.ticket is None]


def _holders(session: Session, queue: str | None, tracking_id: str | None) -> list[PathTaskRow]:
    """Return the holders of paths, those with most tasks behind them first."""
    if tracking_id is not None:
        rows = session.rows(
            f"SELECT seq FROM ramet_live WHERE {live_of_lineage()} AND holds_path = 1 LIMIT ?",
            (tracking_id, HOLDERS_MAX),
        )
    else:
        # Current claims, which the workers' slots bound; then the task that is next on its path.
        rows = session.rows(
            "SELECT seq FROM ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing' AND holds_path = 1 "
            "LIMIT ?",
            (HOLDERS_MAX,),
        )
        rows += session.rows(
            "SELECT t.seq FROM (SELECT node FROM ramet_path_holders WHERE holders = 1 ORDER BY node LIMIT ?) h "
            "JOIN ramet_path_tickets t ON t.node = h.node AND t.exact = 1 AND t.ticket = "
            "(SELECT MIN(u.ticket) FROM ramet_path_tickets u WHERE u.node = h.node AND u.exact = 1)",
            (HOLDERS_MAX,),
        )
    found = path_task_rows(session, dict.fromkeys(seq for (seq,) in rows))
    found = [one for one in found if queue is None or one.shown.queue == queue][:HOLDERS_MAX]
    behind = _behind_holders(session, found)
    return sorted(found, key=lambda one: -behind[one.seq])


def _behind_holders(session: Session, holders: Sequence[PathTaskRow]) -> dict[int, int]:
    """Return the number of tasks that wait behind each of these: all others that conflict with a holder of its path
    do.
    """
    listed, values = session.members(sorted({node for one in holders for node in one.nodes}))
    here = (
        "(SELECT COUNT(*) FROM (SELECT 1 FROM ramet_path_tickets t WHERE t.node = h.node AND t.exact = {} LIMIT ?) c)"
    )
    rows = session.rows(
        f"SELECT h.node, {here.format(0)}, {here.format(1)} FROM ramet_path_holders h WHERE h.node {listed}",
        (BEHIND_MAX, BEHIND_MAX, values),
    )
    counts = {node: (below, exact) for node, below, exact in rows}
    none = (0, 0)
    return {
        one.seq: sum(counts.get(node, none)[1] for node in one.nodes) + counts.get(one.nodes[-1], none)[0] - 1
        for one in holders
    }


def _shown(session: Session, one: PathTaskRow) -> PathTask:
    before = _before(session, one)
    behind = 0 if one.ticket is None else _count(session, one, ">")
    return one.shown._replace(waits_for=None if before is None else before.shown.task_id, behind=behind)


# --- who waits for whom


def blocked_by(session: Session, task_id: str, *, limit: int = 1_000) -> PathChain | None:
    """Return a live task's place in line, what it waits for, and the chain up to the task that waits for no path.

    At most ``limit`` steps (1,000). None when the task has no path, or does not exist.
    """
    found = session.rows(f"SELECT {_LIST} {_FROM} WHERE t.id = ?", (task_id,))
    if not found:
        return None
    one = _path_task_row(found[0])
    before = 0 if one.ticket is None else _count(session, one, "<")
    chain = PathChain(_shown(session, one), before, (), 0, None)
    if not _waits(one):
        return chain
    last, steps = one, list[PathTaskRow]()
    for _ in range(max(1, min(limit, LIMIT_MAX))):
        earlier = _before(session, last)
        if earlier is None:
            return chain._replace(steps=_linked_steps(steps))
        last = earlier
        steps.append(last)
        if not _waits(last):
            return chain._replace(steps=_linked_steps(steps), end=_shown(session, last))
    end, following = _first(session, last), _before(session, last)
    more = _count(session, last, "<") if last.ticket is not None else 1
    linked = _linked_steps(steps, following)
    return chain._replace(steps=linked, more=more, end=None if end is None else _shown(session, end))


def _linked_steps(steps: Sequence[PathTaskRow], following: PathTaskRow | None = None) -> tuple[PathTask, ...]:
    """Each step with the id of the next; ``following`` comes after the last."""
    nexts = [*steps[1:], following][
        : len(steps)
    ]  # Without steps there is nothing to show: the task before has just ended.
    return tuple(
        one.shown._replace(waits_for=None if after is None else after.shown.task_id)
        for one, after in zip(steps, nexts, strict=True)
    )


def _waits(one: PathTaskRow) -> bool:
    return one.waits_on is not None or one.of is not None


def _before(session: Session, one: PathTaskRow) -> PathTaskRow | None:
    """Return the one that a task waits for; None when there is none, or it has just ended."""
    if one.of is not None:
        found = path_task_rows(session, [one.of])
        return found[0] if found else None
    if one.waits_on is None:
        return None
    listed, values = session.members(one.nodes)
    found = path_task_rows(
        session,
        (seq for (seq,) in session.rows(
            f"SELECT seq FROM ramet_path_tickets WHERE node {listed} AND exact = 1 AND ticket = ? "
            "UNION ALL SELECT seq FROM ramet_path_tickets WHERE node = ? AND exact = 0 AND ticket = ?",
            (values, one.waits_on, one.nodes[-1], one.waits_on),
        )),
    )  # fmt: skip
    return found[0] if found else None


def _first(session: Session, one: PathTaskRow) -> PathTaskRow | None:
    """Return the end of a long chain, without walking it.

    The first in line that conflicts, and the first that conflicts with that one: what is before a third would be before
    the first two as well, so that the second has none before it.
    """
    last: PathTaskRow | None = one
    for _ in range(LIMIT_MAX):  # More than there can be, unless rows are damaged.
        if last is None or not _waits(last):
            return last
        last = _before(session, last) if last.ticket is None else _earliest(session, last, last.ticket)
    return None


def _earliest(session: Session, one: PathTaskRow, ticket: int) -> PathTaskRow | None:
    """Return the first in line that conflicts; None where the only one before has just ended."""
    earliest = [
        row
        for node, exact in _conflicts(one.nodes)
        for row in session.rows(
            "SELECT ticket, seq FROM ramet_path_tickets WHERE node = ? AND exact = ? AND ticket < ? "
            "ORDER BY ticket LIMIT 1",
            (node, exact, ticket),
        )
    ]
    found = path_task_rows(session, [seq for _, seq in sorted(earliest)[:1]])
    return found[0] if found else None


def _count(session: Session, one: PathTaskRow, how: str) -> int:
    """Return the number of tasks that conflict with a task and have a smaller (``<``) or a larger (``>``) ticket."""
    listed, values = session.members(one.nodes)
    [(count,)] = session.rows(
        "SELECT COUNT(*) FROM ("
        f"SELECT 1 FROM ramet_path_tickets WHERE node {listed} AND exact = 1 AND ticket {how} ? UNION ALL "
        f"SELECT 1 FROM ramet_path_tickets WHERE node = ? AND exact = 0 AND ticket {how} ? LIMIT ?) c",
        (values, one.ticket, one.nodes[-1], one.ticket, BEHIND_MAX),
    )
    return int(count)
