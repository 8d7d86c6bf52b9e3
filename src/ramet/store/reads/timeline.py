"""The timeline of a lineage: a bounded part of its tree, when each task of it ran, and what it waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ramet.model.timeline import (
    SLOW_LOOKS_MAX,
    SLOWEST,
    SPAN_ATTEMPTS,
    TIMELINE_CHILDREN,
    TIMELINE_FILTERS,
    TIMELINE_ROWS,
    TOTAL_MAX,
    Life,
    Ran,
    Timeline,
    TimelineLink,
    TimelineRow,
    spans_of,
)
from ramet.model.views import CHILDREN_MAX, FAILED_LOOKS_MAX, BoundedCount
from ramet.store.reads.tasks import TreeCondition, grown_from_lineage
from ramet.store.reads.tree import Chain, chains, counts_above, failed_chains
from ramet.store.schema.columns import current
from ramet.store.session import Session


def timeline(
    session: Session, tracking_id: str, *, parent_id: str | None = None, only: str | None = None, after: int = 0
) -> Timeline:
    """Return the first tasks at the top of a lineage or below one of its tasks, and the first that grew from them.

    At most :data:`~ramet.model.timeline.TIMELINE_ROWS` tasks, each before what grew from it.

    Args:
        tracking_id: the lineage.
        parent_id: show what grew from this task of it.
        only: ``failed`` keeps failed tasks and those that they grew from, ``slow`` the slowest of the first 20,000
            and those that they grew from.
        after: continue behind this page; without a filter.

    Raises:
        ValueError: there is no such filter.
    """
    if only is not None and only not in TIMELINE_FILTERS:
        raise ValueError(f"{only!r} is not a filter of timelines: give one of {', '.join(TIMELINE_FILTERS)}")
    failed = failed_chains(session, tracking_id)
    below = counts_above(failed[:FAILED_LOOKS_MAX])
    cut = len(failed) > FAILED_LOOKS_MAX
    if only is None:
        part = _first_part(session, tracking_id, parent_id, after)
    else:
        kept = failed[:FAILED_LOOKS_MAX] if only == "failed" else _slow_chains(session, tracking_id, parent_id)
        part = _part_of_chains(session, kept, parent_id, more=cut and only == "failed")
    top = [] if parent_id is None else session.rows("SELECT seq FROM ramet_tasks WHERE id = ?", (parent_id,))
    tops = [seq for (seq,) in top]
    rows = _rows(session, [*tops, *part.seqs], below, part.hidden, cut=cut)
    return Timeline(
        tuple(rows[seq] for seq in part.seqs if seq in rows),
        rows.get(tops[0]) if tops else None,
        _links(session, {seq: row.id for seq, row in rows.items()}),
        part.total,
        BoundedCount(min(len(failed), FAILED_LOOKS_MAX), cut),
        part.next_after,
    )


class _Part(NamedTuple):
    """The tasks that are shown."""

    seqs: Sequence[int]
    """Each before what grew from it."""
    hidden: Mapping[int, BoundedCount] | None
    """Children that are not shown, by the number of the parent; None where only what matches a filter is asked for."""
    total: BoundedCount
    next_after: int | None


# --- what is shown


_CHILDREN_OF = "SELECT id FROM ramet_tasks WHERE seq = ?"
_FIRST_CHILDREN = (
    f"SELECT c.seq FROM ramet_tasks c WHERE c.parent_id = ({_CHILDREN_OF}) ORDER BY c.seq LIMIT {TIMELINE_CHILDREN}"
)
_COUNT_CHILDREN = (
    "SELECT COUNT(*) FROM (SELECT 1 FROM ramet_tasks c "
    f"WHERE c.parent_id = ({_CHILDREN_OF}) LIMIT {CHILDREN_MAX + 1}) counted"
)


def _first_part(session: Session, tracking_id: str, parent_id: str | None, after: int) -> _Part:
    of = (
        grown_from_lineage(session, tracking_id)
        if parent_id is None
        else TreeCondition("t.parent_id = ?", (parent_id,))
    )
    found = [
        seq
        for (seq,) in session.rows(
            f"SELECT t.seq FROM ramet_tasks t WHERE {of.where} AND t.seq > ? ORDER BY t.seq LIMIT ?",
            (*of.values, after, TIMELINE_ROWS + 1),
        )
    ]
    [(total,)] = session.rows(
        f"SELECT COUNT(*) FROM (SELECT 1 FROM ramet_tasks t WHERE {of.where} LIMIT ?) counted",
        (*of.values, TOTAL_MAX + 1),
    )
    first = found[:TIMELINE_ROWS]
    children = _expanded(session, first)
    seqs = [*_in_order(first, children)]
    counts = session.look_up(_COUNT_CHILDREN, [(seq,) for seq in seqs])
    hidden = {
        seq: BoundedCount(max(0, min(number, CHILDREN_MAX) - len(children.get(seq, ()))), number > CHILDREN_MAX)
        for seq, [(number,)] in zip(seqs, counts, strict=True)
    }
    next_after = first[-1] if len(found) > TIMELINE_ROWS else None
    return _Part(seqs, hidden, BoundedCount(min(total, TOTAL_MAX), total > TOTAL_MAX), next_after)


def _expanded(session: Session, level: Sequence[int]) -> dict[int, list[int]]:
    """Return the first children of tasks, level by level, while there is room for all of a level."""
    children: dict[int, list[int]] = {}
    room = TIMELINE_ROWS - len(level)
    while level and room > 0:
        found = session.look_up(_FIRST_CHILDREN, [(seq,) for seq in level])
        following: list[int] = []
        for seq, rows in zip(level, found, strict=True):
            if rows and len(rows) <= room:
                children[seq] = [child for (child,) in rows]
                following += children[seq]
                room -= len(rows)
        level = following
    return children


def _in_order(level: Sequence[int], children: Mapping[int, Sequence[int]]) -> Iterator[int]:
    waiting = [*reversed(level)]
    while waiting:
        seq = waiting.pop()
        yield seq
        waiting += reversed(children.get(seq, ()))


# --- what a filter keeps


_SLOW = (
    "SELECT t.id, t.ancestry_chain FROM ramet_tasks t JOIN (SELECT s.seq FROM {part} s "
    "ORDER BY COALESCE(s.finished_at, ?) - s.created_at DESC, s.seq LIMIT ?) n ON n.seq = t.seq"
)
_OF_LINEAGE = (
    "(SELECT seq, finished_at, created_at FROM ramet_tasks WHERE tracking_id = ? ORDER BY spawn_depth, seq LIMIT ?)"
)
_BELOW = (
    "(WITH RECURSIVE below (seq, id, finished_at, created_at) AS "
    "(SELECT c.seq, c.id, c.finished_at, c.created_at FROM ramet_tasks c WHERE c.parent_id = ? "
    "UNION ALL SELECT c.seq, c.id, c.finished_at, c.created_at FROM below b "
    "JOIN ramet_tasks c ON c.parent_id = b.id) SELECT * FROM below LIMIT ?)"
)


def _slow_chains(session: Session, tracking_id: str, parent_id: str | None) -> list[Chain]:
    """Return the tasks of which the time from creation to end was longest, among the first."""
    part, of = (_OF_LINEAGE, tracking_id) if parent_id is None else (_BELOW, parent_id)
    return chains(session.rows(_SLOW.format(part=part), (of, SLOW_LOOKS_MAX, session.now, SLOWEST)))


def _part_of_chains(session: Session, kept: Sequence[Chain], parent_id: str | None, *, more: bool) -> _Part:
    """Return the tasks of these chains below a parent, level by level, as far as there is room."""
    children: defaultdict[str | None, set[str]] = defaultdict(set)
    for chain in kept:
        for above, one in zip((None, *chain[:-1]), chain, strict=True):
            children[above].add(one)
    level, shown = sorted(children[parent_id]), list[str]()
    total = BoundedCount(len(level), more)
    while level and len(shown) < TIMELINE_ROWS:
        level = level[: TIMELINE_ROWS - len(shown)]
        shown += level
        level = [one for parent in level for one in sorted(children.get(parent, ()))]
    listed, values = session.members(shown)
    seqs: dict[str, int] = dict(session.rows(f"SELECT id, seq FROM ramet_tasks WHERE id {listed}", (values,)))
    within = {
        seqs[one]: sorted(seqs[child] for child in children.get(one, ()) if child in seqs)
        for one in shown
        if one in seqs
    }
    first = sorted(seqs[one] for one in children[parent_id] if one in seqs)
    return _Part([*_in_order(first, within)], None, total, None)


# --- parts of each


_ATTEMPTS = (
    "SELECT a.claimed_at, a.ended_at, a.outcome, a.reason FROM ramet_attempts a WHERE a.seq = ? "
    f"ORDER BY a.fence DESC LIMIT {SPAN_ATTEMPTS + 1}"
)
_NONE = BoundedCount(0)


def _rows(
    session: Session,
    seqs: Sequence[int],
    below: Mapping[str, int],
    hidden: Mapping[int, BoundedCount] | None,
    *,
    cut: bool,
) -> dict[int, TimelineRow]:
    listed, values = session.members(seqs)
    found = session.rows(
        f"SELECT t.seq, t.id, t.parent_id, t.kind, t.key, {current('state')}, t.spawn_depth, t.created_at, "
        f"t.finished_at, {current('attempts')}, l.claimed_at, l.wait, "
        "(SELECT w.remaining FROM ramet_waits w WHERE w.seq = t.seq AND w.waiting = 1), "
        "COALESCE((SELECT 1 FROM ramet_awaited a WHERE a.seq = t.seq AND a.round = 0 LIMIT 1), 0) "
        f"FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq WHERE t.seq {listed}",
        (values,),
    )
    attempts = session.look_up(_ATTEMPTS, [(row[0],) for row in found])
    made: dict[int, TimelineRow] = {}
    for row, rows in zip(found, attempts, strict=True):
        seq, task_id, parent, kind, key, state, depth, created, finished, tries, claimed, wait, waits_for, after = row
        ran = [Ran(*one) for one in reversed(rows[:SPAN_ATTEMPTS])]
        life = Life(state, created, finished, claimed, wait, after == 1)
        spans = spans_of(life, ran, cut=len(rows) > SPAN_ATTEMPTS, now=session.now)
        made[seq] = TimelineRow(
            task_id, parent, kind, key, state, depth, created, finished, tries, spans,
            _NONE if hidden is None else hidden.get(seq, _NONE),
            BoundedCount(below.get(task_id, 0), cut), waits_for,
        )  # fmt: skip
    return made


def _links(session: Session, ids: Mapping[int, str]) -> tuple[TimelineLink, ...]:
    """Return the joins between tasks that are shown."""
    listed, values = session.members(ids)
    rows = session.rows(
        f"SELECT DISTINCT a.seq, a.awaited FROM ramet_awaited a WHERE a.awaited {listed} AND a.behind = 0 "
        "ORDER BY a.awaited, a.seq",
        (values,),
    )
    return tuple(TimelineLink(ids[seq], ids[awaited]) for seq, awaited in rows if seq in ids)
