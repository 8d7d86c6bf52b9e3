"""Reading: what people, handlers and the command line ask. Every query walks an index; a test reads the plans."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.paths import path_from
from ramet.model.reasons import restored
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.task import LIVE, TERMINAL, Block, Task, TaskState
from ramet.model.values import read_json
from ramet.store.answers import KindCount, TaskPage
from ramet.store.requests import SEQ_MAX, TaskQuery
from ramet.store.rows.blocks import BLOCK_LIST, block_of
from ramet.store.rows.lineages import LINEAGE_LIST, effective, lineage_of
from ramet.store.rows.tasks import claims_of
from ramet.store.schema.columns import current, live_of_lineage
from ramet.store.session import Row, Session

LIMIT_MAX = 1_000
DEEP_ROOT_LOOKS_MAX = 1_000
"""Most tasks below depth 0 that are searched for roots: only an import brings some."""
WALKS_MAX = 50
"""Depths that are walked one by one; in deeper trees all tasks of a state are sorted."""

_OTHERWISE = {
    "max_spawn_depth": "g.max_spawn_depth",
    "reason": "COALESCE(t.reason, l.ending_reason)",
    "wait": "CASE WHEN l.state = 'pending' THEN l.wait END",
    "pulled": "t.breadth",
    "claimed_at": "CASE WHEN l.state = 'processing' THEN l.claimed_at END",
    "tags": "t.seq",
}
"""Fields of a task that are not what the column of their name has."""
_READ: dict[str, Callable[[Any], Any]] = {
    "payload": read_json,
    "ancestry_chain": lambda text: tuple(json.loads(text)),
    "state": TaskState,
    "result": lambda text: None if text is None else read_json(text),
    "path": path_from,
    "pulled": lambda breadth: breadth == BY_DUE,
    "tags": lambda _: (),  # of another table: those who show them read them (:func:`with_tags`)
}
"""Functions that make a field of a database value."""
_FIELDS = tuple(one.name for one in fields(Task))
_READERS = [(_FIELDS.index(name), read) for name, read in _READ.items()]
_REASON = _FIELDS.index("reason")
TASK_LIST = ", ".join([
    "t.seq", *(_OTHERWISE.get(name) or current(name) for name in _FIELDS), "COALESCE(t.reason_facts, l.ending_facts)"
])  # fmt: skip
FROM_TASKS = (
    "FROM ramet_tasks t JOIN ramet_lineages g ON g.tracking_id = t.tracking_id LEFT JOIN ramet_live l ON l.seq = t.seq"
)


def task_of(row: Row) -> Task:
    """Return a task from a row of ``TASK_LIST``."""
    _, *values, facts = row
    for at, read in _READERS:
        values[at] = read(values[at])
    values[_REASON] = restored(values[_REASON], facts)
    return Task(*values)


IDS_LOOKED_AT_MAX = 100_000
"""Newest ids among which an ending is looked for: no index knows endings."""
_IDS = {"task": ("ramet_tasks", "id"), "lineage": ("ramet_lineages", "tracking_id")}


def ids_like(session: Session, part: str, of: str, *, limit: int = 4) -> list[str]:
    """Return ids that begin with ``part``, or are among the newest and end with it; at most ``limit``, sorted.

    Args:
        part: of an id: hexadecimal digits and hyphens.
        of: ``task`` or ``lineage``.
    """
    table, column = _IDS[of]
    after = part[:-1] + chr(ord(part[-1]) + 1)
    beginning = f"SELECT {column} FROM {table} WHERE {column} >= ? AND {column} < ? ORDER BY {column} LIMIT ?"
    ending = (
        f"SELECT newest.one FROM (SELECT {column} AS one FROM {table} ORDER BY {column} DESC LIMIT {IDS_LOOKED_AT_MAX})"
        " newest WHERE newest.one LIKE ? LIMIT ?"
    )
    rows = [*session.rows(beginning, (part, after, limit)), *session.rows(ending, (f"%{part}", limit))]
    return sorted({str(one) for (one,) in rows})[:limit]


def get(session: Session, task_id: str) -> Task | None:
    """Return one task by id, or None."""
    found = session.rows(f"SELECT {TASK_LIST} {FROM_TASKS} WHERE t.id = ?", (task_id,))
    return with_tags(session, found)[0] if found else None


def named(session: Session, task_ids: Iterable[str]) -> list[Task]:
    """Return the tasks with these ids, in the order of their creation; unknown ids are left out."""
    listed, values = session.members(task_ids)
    found = session.rows(f"SELECT {TASK_LIST} {FROM_TASKS} WHERE t.id {listed} ORDER BY t.seq", (values,))
    return with_tags(session, found) if found else []


def with_tags(session: Session, rows: Sequence[Row]) -> list[Task]:
    """Tasks from rows of ``TASK_LIST``, with their tags."""
    listed, values = session.members([row[0] for row in rows])
    tags: dict[int, list[str]] = defaultdict(list)
    for seq, tag in session.rows(f"SELECT seq, tag FROM ramet_tags WHERE seq {listed} ORDER BY seq, tag", (values,)):
        tags[seq].append(tag)
    found = list(map(task_of, rows))
    if not tags:
        return found
    return [replace(task, tags=tuple(tags.get(row[0], ()))) for row, task in zip(rows, found, strict=True)]


def tasks(session: Session, query: TaskQuery) -> TaskPage:
    """Return tasks by number, page after page.

    Which index is walked depends on what was given: key, parent, lineage, or state and depth.
    """
    limit = max(1, min(query.limit, LIMIT_MAX))
    seqs = _sequence(session, query, limit + 1)
    found = tasks_of(session, seqs[:limit])
    if query.newest:
        found.reverse()
    more = len(seqs) > limit
    return TaskPage(tuple(found), seqs[limit - 1] if more else None)


def tasks_of(session: Session, seqs: Iterable[int]) -> list[Task]:
    """Return the tasks with these numbers, in their order; unknown numbers are left out."""
    listed, values = session.members(seqs)
    found = session.rows(f"SELECT {TASK_LIST} {FROM_TASKS} WHERE t.seq {listed} ORDER BY t.seq", (values,))
    return with_tags(session, found)


def _sequence(session: Session, query: TaskQuery, limit: int) -> list[int]:
    """Numbers of the tasks that match, in the order asked for."""
    if query.tag is not None:
        return _by_tag(session, query, limit)
    if query.key is not None:
        return _by_key(session, query, limit)
    if query.parent_id is not None:
        return _by_parent(session, query, limit)
    return _by_lineage_or_state(session, query, limit)


def _wide_filters(query: TaskQuery, table: str, *, joined: bool = False) -> tuple[str, list[Any]]:
    """Conditions that hold on either table; of a table that is ``joined`` those that the other one cannot tell."""
    conditions, parameters = list[str](), list[Any]()
    if not joined:
        compared, number = query.first
        conditions.append(f"{table}.seq {compared} ?")
        parameters.append(number)
    if query.kind is not None:
        conditions.append(f"{table}.kind = ?")
        parameters.append(query.kind)
    if query.min_depth is not None:
        conditions.append(f"+{table}.spawn_depth >= ?")  # the walks below fix the depth themselves, in an index's order
        parameters.append(query.min_depth)
    if query.tracking_id is not None and not joined:
        conditions.append(f"{table}.tracking_id = ?")
        parameters.append(query.tracking_id)
    return " AND ".join(conditions), parameters


def _by_key(session: Session, query: TaskQuery, limit: int) -> list[int]:
    where, parameters = _wide_filters(query, "t")
    if query.parent_id is not None:
        where += " AND t.parent_id = ?"
        parameters.append(query.parent_id)
    if query.tracking_id is not None:
        where += " AND i.tracking_id = ?"  # A key may be in very many lineages.
        parameters.append(query.tracking_id)
    states, values = session.members(query.states or list(TaskState))
    rows = session.rows(
        "SELECT t.seq FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
        f"LEFT JOIN ramet_live l ON l.seq = i.seq WHERE i.key = ? AND {where} "
        f"AND COALESCE(t.state, l.state) {states} ORDER BY t.seq{_down(query)} LIMIT ?",
        (query.key, *parameters, values, limit),
    )
    return [row[0] for row in rows]


def _by_tag(session: Session, query: TaskQuery, limit: int) -> list[int]:
    where, parameters = _wide_filters(query, "t")
    for name in ("key", "parent_id"):
        if (value := getattr(query, name)) is not None:
            where += f" AND t.{name} = ?"
            parameters.append(value)
    states, values = session.members(query.states or list(TaskState))
    rows = session.rows(
        "SELECT g.seq FROM ramet_tags g JOIN ramet_tasks t ON t.seq = g.seq LEFT JOIN ramet_live l ON l.seq = g.seq "
        f"WHERE g.tag = ? AND {where} AND COALESCE(t.state, l.state) {states} ORDER BY g.seq{_down(query)} LIMIT ?",
        (query.tag, *parameters, values, limit),
    )
    return [row[0] for row in rows]


def _by_parent(session: Session, query: TaskQuery, limit: int) -> list[int]:
    where, parameters = _wide_filters(query, "t")
    states, values = session.members(query.states or list(TaskState))
    rows = session.rows(
        "SELECT t.seq FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq "
        f"WHERE t.parent_id = ? AND {where} AND COALESCE(t.state, l.state) {states} "
        f"ORDER BY t.seq{_down(query)} LIMIT ?",
        (query.parent_id, *parameters, values, limit),
    )
    return [row[0] for row in rows]


def _by_lineage_or_state(session: Session, query: TaskQuery, limit: int) -> list[int]:
    """Return the union of the hot table and of what has ended, each by walks of its own index in the order of
    numbers.
    """
    wanted = query.states or frozenset(TaskState)
    seqs: list[int] = []
    for walk in _walks(session, query, wanted):
        # With a condition on the lineage in both tables, a planner may begin with the wide one and read all of it.
        where, parameters = _wide_filters(query, "t", joined=walk.of != "t")
        fixed, order, values = walk.stretch(query, session.compares_rows)
        join = _WIDE if where and walk.of != "t" else ""
        conditions = " AND ".join(filter(None, (*fixed, walk.more, where)))
        rows = session.rows(
            f"SELECT {walk.of}.seq FROM {walk.table}{join} WHERE {conditions} ORDER BY {order} LIMIT ?",
            (*values, *parameters, limit),
        )
        seqs += [row[0] for row in rows]
    return sorted(seqs, reverse=query.newest)[:limit]


class IndexScan(NamedTuple):
    """A stretch of an index that has the rows in the order of their numbers."""

    table: str
    of: str
    """The alias whose numbers are the order. Any other than ``t`` is joined to it where more columns are asked for."""
    columns: tuple[str, ...]
    """Columns of that alias that the index has before the number."""
    values: tuple[object, ...]
    more: str = ""
    """Another condition."""
    by_number: bool = False
    """True when only the first column is fixed: its rows come in the order of another index."""

    def stretch(self, query: TaskQuery, compares_rows: bool) -> tuple[list[str], str, tuple[object, ...]]:
        """Conditions, an order and values: entries of the index that begin with these values, behind a number."""
        compared, number = query.first
        down = _down(query)
        columns = [f"{self.of}.{column}" for column in self.columns]
        seq = f"{self.of}.seq"
        if columns and compares_rows and not self.by_number:
            listed, marks = ", ".join([*columns, seq]), ", ".join("?" * (len(columns) + 1))
            bound, last = (">=", 0) if query.newest else ("<=", SEQ_MAX)
            fixed = [f"({listed}) {compared} ({marks})", f"({listed}) {bound} ({marks})"]
            order = ", ".join(f"{column}{down}" for column in [*columns, seq])
            return fixed, order, (*self.values, number, *self.values, last)
        fixed = [f"{column} = ?" for column in columns]
        # Where the wide table is walked by number, its own filter has the beginning.
        order = f"{seq}{down}"
        if self.of == "t":
            return fixed, order, self.values
        return [*fixed, f"{seq} {compared} ?"], order, (*self.values, number)


def _down(query: TaskQuery) -> str:
    return " DESC" if query.newest else ""


_WIDE = " JOIN ramet_tasks t ON t.seq = u.seq"


def _walks(session: Session, query: TaskQuery, wanted: frozenset[TaskState]) -> Iterator[IndexScan]:
    within, live = query.tracking_id, wanted & LIVE
    if TaskState.PENDING in live:
        # Nearly all live tasks are: of all lineages, reading past the current claims costs little.
        looked_up = "t.state || ''" if within is None else "t.state"
        yield IndexScan("ramet_live t", "t", (), (), more=f"{looked_up} = '{TaskState.PENDING}'")
    if TaskState.PROCESSING in live:
        lineage, of = ("", ()) if within is None else (" AND tracking_id = ?", (within,))
        yield IndexScan(f"{claims_of('seq, tracking_id, kind, spawn_depth', lineage)} t", "t", (), of)
    for state in sorted((wanted & TERMINAL) - {TaskState.SUCCESS}):
        if within is not None:
            yield IndexScan("ramet_unsuccessful u", "u", ("tracking_id", "state"), (within, state.value))
        else:
            yield from _by_depth(session, query, IndexScan("ramet_unsuccessful u", "u", ("state",), (state.value,)))
    if TaskState.SUCCESS not in wanted:
        return
    # Most of what ended succeeded: reading past the rest costs little.
    succeeded = f"t.state || '' = '{TaskState.SUCCESS.value}'"
    if within is None:
        yield IndexScan("ramet_tasks t", "t", (), (), more=succeeded)
        return
    for walk in _by_depth(session, query, IndexScan("ramet_tasks t", "t", ("tracking_id",), (within,))):
        yield walk._replace(more=succeeded)


def _by_depth(session: Session, query: TaskQuery, walk: IndexScan) -> Iterator[IndexScan]:
    """Yield the same for each depth that there is: within one, an index has the rows in the order of their numbers."""
    of = walk.of
    [(deepest,)] = session.rows(
        f"SELECT MAX({of}.spawn_depth) FROM {walk.table} WHERE {of}.{walk.columns[0]} = ?", walk.values
    )
    if deepest is None:
        return
    if deepest > WALKS_MAX:
        yield walk._replace(by_number=True)
        return
    for depth in range(query.min_depth or 0, deepest + 1):
        yield walk._replace(columns=(*walk.columns, "spawn_depth"), values=(*walk.values, depth))


def stale(session: Session, tracking_id: str | None = None, *, limit: int = 100) -> list[Task]:
    """Return tasks whose claim outlived its lease and was not reclaimed yet, by number; at most 1,000.

    Looks at every claim, which the workers' slots bound.
    """
    lineage, parameters = ("", []) if tracking_id is None else (" AND tracking_id = ?", [tracking_id])
    rows = session.rows(
        f"SELECT c.seq FROM {claims_of('seq, lease_until', lineage)} c WHERE c.lease_until <= ? ORDER BY c.seq LIMIT ?",
        (*parameters, session.now, max(1, min(limit, LIMIT_MAX))),
    )
    return tasks_of(session, (row[0] for row in rows))


def has_live(session: Session, kind: str, key: str, tracking_id: str | None = None) -> bool:
    """Return True while a task of this kind and key is pending or processing, in one lineage or anywhere."""
    lineage, parameters = ("", []) if tracking_id is None else ("AND i.tracking_id = ?", [tracking_id])
    return bool(
        session.rows(
            "SELECT 1 FROM ramet_identities i JOIN ramet_live l ON l.seq = i.seq "
            f"WHERE i.key = ? {lineage} AND i.kind = ? LIMIT 1",
            (key, *parameters, kind),
        )
    )


def idle(session: Session, kinds: Sequence[str]) -> bool:
    """Return True when no task of these kinds is live or about to be created. Stops at the first that is."""
    if session.rows("SELECT 1 FROM ramet_lineages WHERE end_wanted = 1 AND ended_at IS NOT NULL LIMIT 1"):
        return False  # The task of a lineage's end is about to come.
    if session.rows(
        "SELECT 1 FROM ramet_queues q WHERE q.on_drained IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM ramet_live l WHERE l.queue = q.name) LIMIT 1"
    ):
        return False  # That of a queue that has drained is.
    return not any_live(session, kinds)


def any_live(session: Session, kinds: Sequence[str]) -> bool:
    """Return True when a task of these kinds is live. Stops at the first."""
    listed, values = session.members(kinds)
    # First where such a task is as a rule, and few others are: no index leads to all live tasks of a kind.
    places = (f"SELECT 1 FROM ramet_live WHERE {where}kind {listed}" for where in _LIKELY)
    return bool(session.rows(f"{' UNION ALL '.join(places)} LIMIT 1", (values,) * len(_LIKELY)))


_LIKELY = ("state = 'processing' AND ", "wait = 'due' AND ", "")


def next_due_at(session: Session) -> float | None:
    """Return when the next delayed task becomes claimable; None when no task is delayed."""
    found = session.rows("SELECT available_at FROM ramet_live WHERE wait = 'due' ORDER BY available_at LIMIT 1")
    found += session.rows(
        "SELECT available_at FROM ramet_live WHERE wait = 'ticket' AND available_at > ? ORDER BY available_at LIMIT 1",
        (session.now,),
    )
    found += session.rows(
        "SELECT ready_at FROM ramet_resources WHERE ready_at > ? ORDER BY ready_at LIMIT 1", (session.now,)
    )
    return min((float(at) for (at,) in found), default=None)


_BLOCK_FILTERS = frozenset({"kind", "key", "reason"})


def blocks(session: Session, /, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
    """Return the stored blocks of a lineage, filtered by ``kind``, ``key`` or ``reason``."""
    unknown = set(filters) - _BLOCK_FILTERS
    if unknown:
        raise ValueError(f"blocks cannot be filtered by {sorted(unknown)}: use {sorted(_BLOCK_FILTERS)}")
    names = sorted(filters)
    conditions = "".join(f" AND {name} = ?" for name in names)
    rows = session.rows(
        f"SELECT {BLOCK_LIST} FROM ramet_blocks WHERE tracking_id = ?{conditions} ORDER BY kind, key, reason LIMIT ?",
        (tracking_id, *(filters[name] for name in names), max(1, min(limit, LIMIT_MAX * 100))),
    )
    return [block_of(row) for row in rows]


def block_totals(session: Session, tracking_id: str) -> dict[tuple[str, str], int]:
    """Return how often spawns of each (kind, reason) were refused in a lineage, beyond stored blocks included."""
    rows = session.rows(
        "SELECT kind, reason, SUM(count) FROM (SELECT kind, reason, count FROM ramet_blocks WHERE tracking_id = ? "
        "UNION ALL SELECT kind, reason, count FROM ramet_block_counts WHERE tracking_id = ?) AS refused "
        "GROUP BY kind, reason ORDER BY kind, reason",
        (tracking_id, tracking_id),
    )
    return {(kind, reason): count for kind, reason, count in rows}


def lineage(session: Session, tracking_id: str) -> Lineage | None:
    """Return one lineage, or None."""
    found = session.rows(f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE tracking_id = ?", (tracking_id,))
    return effective(session, [lineage_of(found[0])])[0] if found else None


def lineages(session: Session, *, states: Iterable[str] = (), limit: int = 100) -> list[Lineage]:
    """Return lineages, newest first: of each state as many as are asked for, then the newest of those."""
    most = max(1, min(limit, LIMIT_MAX))
    found = [
        lineage_of(row)
        for state in sorted(set(states) or set(LineageState))
        for row in session.rows(
            f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE state = ? ORDER BY created_at DESC, tracking_id LIMIT ?",
            (str(state), most),
        )
    ]
    return effective(session, sorted(found, key=lambda row: (-row.created_at, row.tracking_id))[:most])


class TreeCondition(NamedTuple):
    """Condition for tasks that grew from others: it fixes the leading columns of an index whose order is the
    numbers'.
    """

    where: str
    values: tuple[Any, ...]


def grown_from_lineage(session: Session, tracking_id: str) -> TreeCondition:
    """Return the tasks at the top of a lineage: those at depth 0, and imported ones whose ancestors were left behind.

    The latter are looked for among the first of the others, by depth.
    """
    top = TreeCondition("t.tracking_id = ? AND t.spawn_depth = 0", (tracking_id,))
    deep = session.rows(
        "SELECT t.seq FROM (SELECT seq, parent_id FROM ramet_tasks WHERE tracking_id = ? AND spawn_depth > 0 "
        "ORDER BY spawn_depth, seq LIMIT ?) t WHERE t.parent_id IS NULL",
        (tracking_id, DEEP_ROOT_LOOKS_MAX),
    )
    if not deep:
        return top
    listed, values = session.members([seq for (seq,) in deep])
    return TreeCondition(f"({top.where} OR t.seq {listed})", (*top.values, values))


def roots(session: Session, tracking_id: str) -> list[Task]:
    """Return the roots of a lineage; at most 1,000."""
    of = grown_from_lineage(session, tracking_id)
    rows = session.rows(
        f"SELECT {TASK_LIST} {FROM_TASKS} WHERE {of.where} AND t.parent_id IS NULL ORDER BY t.seq LIMIT ?",
        (*of.values, LIMIT_MAX),
    )
    return [task_of(row) for row in rows]


def child_counts(session: Session, task_ids: Sequence[str]) -> dict[str, int]:
    """Return how many children each of these tasks has; tasks without children are absent."""
    listed, values = session.members(task_ids)
    return dict(
        session.rows(
            f"SELECT parent_id, COUNT(*) FROM ramet_tasks WHERE parent_id {listed} GROUP BY parent_id", (values,)
        )
    )


def counts(session: Session, tracking_id: str | None = None) -> list[KindCount]:
    """Return how many tasks are live, by kind, state and wait, and how many ended; each with the mean depth."""
    if tracking_id is None:
        session.plan_freely()
    where, parameters = ("", []) if tracking_id is None else (f"WHERE {live_of_lineage()}", [tracking_id])
    and_ended = "WHERE state IS NOT NULL" if tracking_id is None else "WHERE tracking_id = ? AND state IS NOT NULL"
    rows: Sequence[Row] = session.rows(
        "SELECT kind, state, CASE WHEN state = 'pending' THEN wait WHEN lease_until <= ? THEN 'stale' END AS why, "
        f"COUNT(*), AVG(spawn_depth) FROM ramet_live {where} GROUP BY kind, state, why",
        [session.now, *parameters],
    ) + session.rows(
        f"SELECT kind, state, NULL, COUNT(*), AVG(spawn_depth) FROM ramet_tasks {and_ended} GROUP BY kind, state",
        parameters,
    )
    return sorted((KindCount(*row) for row in rows), key=lambda c: (c.kind, c.state, c.wait or ""))


def ends(session: Session) -> int:
    """Return a number that grows whenever a claimed task, a tree or a lineage is ended from outside.

    A worker that sees it grow asks for its claims at once, with :meth:`~ramet.store.store.Store.heartbeat`.
    """
    [(value,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'ends'")
    return int(value)
