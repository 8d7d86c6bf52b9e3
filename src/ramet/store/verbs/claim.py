"""Claims: take tasks within pauses and limits of concurrency, keep them by heartbeats, hand unstarted ones back."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from ramet.model.flow.resources import ClaimUsage
from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.paths import nodes_of
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.ordering import PULLED_RANK, is_pulled
from ramet.model.task.task import Standing, Wait
from ramet.model.task.transitions import PROCESSING, Change
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest
from ramet.store.rows import waits
from ramet.store.rows.lineages import DEADLINE_REASON, end_lineage, read_lineages, tombstones_of
from ramet.store.rows.tasks import load_standings, read_pending
from ramet.store.rows.turns import advance, in_order
from ramet.store.scan_floor import Floor, Position, raised_floor
from ramet.store.schema.columns import LIVE_COLUMNS, LIVE_LIST, picker
from ramet.store.session import Session
from ramet.store.state.apply import apply, free
from ramet.store.state.lanes import move_alike
from ramet.store.verbs import wake
from ramet.store.verbs.path_pauses import on_paused_paths
from ramet.store.verbs.resources import NOTHING_READY, locked_usage, ready, spend
from ramet.store.verbs.spawn import load_parents

_WAITING = "WHERE queue = ? AND kind = ? AND state = 'pending' AND wait IS NULL "
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
    found = read_pending(session, f"{which}ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}", (queue, kind, limit))
    if floors is not None and not (found and is_pulled(found[-1].rank)):
        seconds = time.monotonic() - begun
        if floors.is_slow(scan, seconds, len(found)):
            known = {**_levels(session, queue, kind), **floors.last(scan)}
            floors.begin_at(scan, raised_floor(known, _firsts(found), len(found) == limit), seconds)
    return found


def _from_floor(session: Session, queue: str, kind: str, limit: int, floor: Floor) -> list[Standing]:
    found: list[Standing] = []
    for rank, (turn, seq) in sorted(floor.items()):
        if len(found) == limit:
            break
        found += read_pending(
            session,
            f"{_WAITING}AND rank = ? AND (turn, seq) >= (?, ?) ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}",
            (queue, kind, rank, int(turn), int(seq), limit - len(found)),
        )
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
            # A task with a shorter delay than a look takes is found by the next look.
            known = floors.last(scan) or {0: (session.now - 2 * seconds,)}
            floors.begin_at(scan, raised_floor(known, firsts, len(rows) == limit), seconds)
    return [seq for seq, _ in rows]


_LIMITED = (
    "SELECT 'queue', name, CASE WHEN paused_at IS NULL THEN 0 ELSE 1 END, concurrency FROM ramet_queues "
    "WHERE paused_at IS NOT NULL OR concurrency IS NOT NULL "
    "UNION ALL SELECT 'kind', name, 0, concurrency FROM ramet_kinds WHERE concurrency IS NOT NULL "
    "UNION ALL SELECT 'path', CAST(node AS TEXT), 1, NULL FROM ramet_paused_paths"
)


class Bounds:
    """Queues and kinds that one claim may take from, and how much of those that are limited."""

    def __init__(self, queues: Sequence[str], kinds: Sequence[str], used: ClaimUsage | None) -> None:
        self.queues = queues
        self.kinds = kinds
        self.used = used
        """Number held now; None when nothing that the claim asks for is limited."""
        self.paused_paths: frozenset[int] = frozenset()
        self._queue_room: dict[str, int] = {}
        self._kind_room: dict[str, int] = {}

    def limit(self, queues: dict[str, int], kinds: dict[str, int]) -> None:
        """Set how many more claims each limited queue and kind has room for; those without any are left out."""
        self._queue_room, self._kind_room = queues, kinds
        self.queues = [name for name in self.queues if queues.get(name, 1) > 0]
        self.kinds = [name for name in self.kinds if kinds.get(name, 1) > 0]

    def accepted(self, candidates: Sequence[Standing], limit: int) -> Sequence[Standing]:
        """Return the first of the candidates that fit into every room."""
        if not self._queue_room and not self._kind_room:
            return candidates[:limit]
        queues, kinds = dict(self._queue_room), dict(self._kind_room)
        chosen: list[Standing] = []
        for standing in candidates:
            if len(chosen) == limit:
                break
            if queues.get(standing.queue, 1) <= 0 or kinds.get(standing.kind, 1) <= 0:
                continue
            _book(queues, kinds, standing)
            chosen.append(standing)
        return chosen

    def take(self, standings: Sequence[Standing]) -> None:
        """Count claimed tasks."""
        if not self._queue_room and not self._kind_room:
            return
        for standing in standings:
            _book(self._queue_room, self._kind_room, standing)


def _book(queues: dict[str, int], kinds: dict[str, int], standing: Standing) -> None:
    if standing.queue in queues:
        queues[standing.queue] -= 1
    if standing.kind in kinds:
        kinds[standing.kind] -= 1


def bounds_of(session: Session, queues: Sequence[str], kinds: Sequence[str]) -> Bounds:
    """Return the bounds of a claim. Where nothing is limited or paused it costs one look at two tables of a few
    rows.
    """
    found = session.rows(_LIMITED)
    if not found:
        return Bounds(queues, kinds, None)
    paused = {name for what, name, is_paused, _ in found if what == "queue" and is_paused}
    limits = {(what, name): most for what, name, _, most in found if most is not None}
    used = locked_usage(session) if limits else None
    bounds = Bounds([name for name in queues if name not in paused], kinds, used)
    bounds.paused_paths = frozenset(int(name) for what, name, *_ in found if what == "path")
    if used is not None:
        bounds.limit(
            {name: most - used.queues.get(name, 0) for (what, name), most in limits.items() if what == "queue"},
            {name: most - used.kinds.get(name, 0) for (what, name), most in limits.items() if what == "kind"},
        )
    return bounds


CLAIM_LIMIT = 5_000
SET_ASIDE_ROUNDS = 10
"""Most looks of one claim behind tasks that it had to set aside, so that no transaction lasts for long."""


def claim(session: Session, request: ClaimRequest) -> list[ClaimedTask]:
    """Take up to ``request.limit`` claimable tasks in order of rank, then turn, then age.

    Each gets a new fence and a lease.
    """
    look = _look(session, request)
    if not look.anything:
        session.found_nothing = session.unchanged = True
        return []
    promoted = promote_due(session) if look.due else 0
    if look.joined:
        promoted += wake.wake_waiting(session)
    limit = min(request.limit, CLAIM_LIMIT)
    bounds = Bounds(request.queues, request.kinds, None)
    if look.limited:
        bounds = bounds_of(session, request.queues, request.kinds)
    looked = NOTHING_READY
    # Tasks that are due, and those reclaimed where claims are counted, may wait for a resource now.
    if look.ready or promoted or bounds.used is not None:
        nodes = [nodes_of(request.path, queue)[-1] for queue in bounds.queues] if request.path else ()
        looked = ready(session, bounds.queues, bounds.kinds, limit, bounds.used, pulled=request.pulled, nodes=nodes)
    taken: list[Standing] = []
    claims: list[Standing] = []
    lineages: dict[str, Lineage] = {}
    waiting = looked.candidates
    for _ in range(SET_ASIDE_ROUNDS):
        found = waiting + _candidates(session, bounds, limit - len(taken), request)
        candidates = bounds.accepted(in_order(session, found), limit - len(taken))
        paused = on_paused_paths(session, candidates, bounds.paused_paths) if bounds.paused_paths else frozenset()
        others = [standing for standing in candidates if standing.seq not in paused] if paused else candidates
        changes, held_back = _decide(session, request, others, lineages)
        held_back += [(standing, Wait.PAUSED) for standing in candidates if standing.seq in paused]
        now = move_alike(session, changes)
        claimed = [standing for standing in candidates if standing.seq in now]
        bounds.take(claimed)
        taken += claimed
        claims += [now[standing.seq] for standing in claimed]
        # A task that cannot run steps aside, so that it is looked at once and delays no others at the next claims.
        if not held_back or len(taken) == limit:
            break
        _set_aside(session, held_back)
        waiting = []  # A resource's room was measured once: what is left of it is the next claim's.
    else:
        session.wake()  # There may be work behind what was set aside: the next look goes on from there.
    session.found_nothing = not taken
    advance(session, taken)
    spend(session, looked, taken)
    return _claimed(session, claims, lineages)


class Look(NamedTuple):
    """Checks that a claim has to make; each True where it may be needed."""

    due: bool
    limited: bool
    """A queue is paused, or a queue or kind is limited."""
    ready: bool
    """A resource with room has tasks that wait for it."""
    joined: bool
    """True when a task that others waited for has ended."""
    waiting: bool

    @property
    def anything(self) -> bool:
        """Return whether there may be something to claim."""
        return self.due or self.ready or self.joined or self.waiting


def _look(session: Session, request: ClaimRequest) -> Look:
    """Ask for all of it in one statement, which is all that a claim costs when there is nothing to do.

    Where scans begin later than at their beginning, and while claims find something, it is not asked for what waits.
    """
    floors = session.floors
    in_queues, queues = session.members(request.queues)
    in_kinds, kinds = session.members(request.kinds)
    floored = floors is not None and any(floors.of((queue, kind)) for queue in request.queues for kind in request.kinds)
    [row] = session.rows(
        "SELECT CASE WHEN ? = 1 THEN TRUE ELSE "
        "EXISTS (SELECT 1 FROM ramet_live WHERE wait = 'due' AND available_at <= ?) END, "
        f"EXISTS ({_LIMITED}), EXISTS (SELECT 1 FROM ramet_resources WHERE ready_at <= ?), "
        f"EXISTS ({wake.WANTED}), "
        "CASE WHEN ? = 1 THEN TRUE ELSE EXISTS (SELECT 1 FROM ramet_live INDEXED BY ramet_live_claimable "
        f"WHERE queue {in_queues} AND kind {in_kinds} AND state = 'pending' AND wait IS NULL"
        f"{'' if request.pulled else f' AND rank < {PULLED_RANK}'}) END",
        (
            int(floors is not None and floors.of("due") is not None), session.now, session.now,
            int(floored or not session.found_nothing), queues, kinds,
        ),
    )  # fmt: skip
    return Look(*map(bool, row))


def promote_due(session: Session, limit: int = 1_000) -> int:
    """Make delayed tasks claimable whose time has come."""
    return free(session, due(session, limit), Wait.DUE)


def _candidates(session: Session, bounds: Bounds, limit: int, request: ClaimRequest) -> list[Standing]:
    """Probe the claim index in order once per (queue, kind): a backlog of other kinds costs nothing."""
    if request.path:
        return [one for queue in bounds.queues for one in _on_path(session, queue, bounds.kinds, limit, request)]
    return [
        standing
        for queue in bounds.queues
        for kind in bounds.kinds
        for standing in waiting(session, queue, kind, limit, pulled=request.pulled)
    ]


PATH_LOOKS_MAX = 10_000
"""Most of the tasks that are first in line at a path that a claim on that path reads."""


def _on_path(session: Session, queue: str, kinds: Sequence[str], limit: int, request: ClaimRequest) -> list[Standing]:
    """Claimable tasks at a path and below it, by rank, turn and age."""
    listed, values = session.members(kinds)
    in_line = "SELECT seq FROM ramet_path_tickets WHERE node = ? AND exact = {} ORDER BY ticket LIMIT ?"
    node = nodes_of(request.path, queue)[-1]
    return read_pending(
        session,
        f"WHERE seq IN (SELECT seq FROM ({in_line.format(0)}) b UNION ALL SELECT seq FROM ({in_line.format(1)}) a) "
        f"AND kind || '' {listed} AND state || '' = 'pending' AND COALESCE(wait, '') = '' "
        f"{'' if request.pulled else _BESIDE}ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}",
        (node, PATH_LOOKS_MAX, node, PATH_LOOKS_MAX, values, limit),
    )


_DECISIVE = itemgetter(
    *map(
        LIVE_COLUMNS.index,
        (
            "tracking_id", "task_seconds", "started_at", "available_at", "wait", "holds_path", "ending", "fence",
            "attempts", "deadline_at",
        ),
    )
)  # fmt: skip
"""Fields of a task that may be claimed by which :func:`decide` goes, the times that it compares first."""


def _decide(
    session: Session, request: ClaimRequest, candidates: Sequence[Standing], lineages: dict[str, Lineage]
) -> tuple[list[tuple[Change, list[Standing]]], list[tuple[Standing, Wait]]]:
    """Decide what becomes of candidates, once for all that stand alike.

    Returns:
        The claims, each with the standings that it is true of, and what cannot be claimed, with what it waits for.
    """
    equal: dict[tuple[Any, ...], list[Standing]] = defaultdict(list)
    for standing in candidates:
        equal[_DECISIVE(standing)].append(standing)
    lineages.update(read_lineages(session, {values[0] for values in equal}))
    busy = _end_overdue(session, lineages)
    held_back: list[tuple[Standing, Wait]] = []
    alike: dict[tuple[object, ...], list[Standing]] = defaultdict(list)
    now = session.now
    for (tracking_id, seconds, started_at, available_at, *others), several in equal.items():
        if tracking_id in busy:
            continue
        lineage, standings = lineages[tracking_id], several
        if lineage.state != LineageState.RUNNING or lineage.tombstones:
            over = {each.seq for each in several if each.ending is None and _is_over(session, each, lineage)}
            held_back += [(each, Wait.LINEAGE) for each in several if each.seq in over]
            standings = [each for each in several if each.seq not in over]
        until: float | None = lineage.deadline_at
        waited = 0.0
        if started_at is not None and several[0].wait == Wait.RESOURCE:
            waited = now - available_at  # Its own time stood still meanwhile.
        if waited <= 0.0 and seconds is not None and (started_at or now) + seconds <= lineage.deadline_at:
            until = None  # It does not matter how much later the lineage's deadline is.
        alike[(available_at > now, waited, until, seconds, started_at, *others)] += standings
    changes: list[tuple[Change, list[Standing]]] = []
    for standings in filter(None, alike.values()):
        first = standings[0]
        event = ev.Claim(request.worker, request.lease_seconds, lineages[first.tracking_id].deadline_at)
        change = decide(first, event, now)
        if isinstance(change, Change):
            changes.append((change, standings))
        else:
            # A clock that was set back makes a promoted task early again: it waits once more.
            held_back += [(standing, Wait.DUE) for standing in standings]
    return changes, held_back


def _is_over(session: Session, standing: Standing, lineage: Lineage) -> bool:
    if lineage.state != LineageState.RUNNING:
        return True
    return bool(lineage.tombstones) and _under_tombstone(session, standing, tombstones_of(lineage))


def _end_overdue(session: Session, lineages: dict[str, Lineage]) -> set[str]:
    """End lineages whose deadline passed, here and now: the row stays the truth, whatever the clock does next.

    Returns:
        Those that another transaction is about to write. A claim never waits: their tasks are left to the next one.
    """
    over = sorted(
        tracking_id
        for tracking_id, lineage in lineages.items()
        if lineage.state == LineageState.RUNNING and session.now >= lineage.deadline_at
    )
    if not over:
        return set()
    listed, values = session.members(over)
    found = session.rows(
        f"SELECT tracking_id FROM ramet_lineages WHERE tracking_id {listed} ORDER BY tracking_id{session.skip_locked}",
        (values,),
    )
    for (tracking_id,) in found:
        end_lineage(session, tracking_id, LineageState.FAILED, DEADLINE_REASON)
        lineages[tracking_id] = lineages[tracking_id]._replace(state=LineageState.FAILED.value)
    return {*over} - {tracking_id for (tracking_id,) in found}


def _under_tombstone(session: Session, standing: Standing, marks: dict[str, int]) -> bool:
    [(task_id, _, chain, _)] = load_parents(session, [standing.seq]).values()
    return tombstone_over(marks, task_id, chain) is not None


def _set_aside(session: Session, held_back: Sequence[tuple[Standing, Wait]]) -> None:
    rows = [(wait.value, standing.seq) for standing, wait in held_back]
    session.update("ramet_live", ("wait",), ("seq", "(wait IS NULL OR wait = 'resource')"), rows)


# NULL for a task without a path.
_RULE = (
    "'[' || t.path || ',\"' || COALESCE(t.path_scope, 'queue') || '\",\"' || "
    "COALESCE(t.on_dependency_failure, 'skip') || '\"]'"
)


_ELSEWHERE = {"pipeline_state": "c.pipeline_state", "path": _RULE}
_WIDE = tuple(name for name in ClaimedTask._fields[1:] if name not in ("max_spawn_depth", "round", "after"))
_WIDE_LIST = ", ".join(_ELSEWHERE.get(name) or f"t.{name}" for name in _WIDE)
_of_wide = picker(("max_spawn_depth", "seq", *_WIDE, "round", "after"), ClaimedTask._fields[1:])
_claimed_task: Callable[[Iterable[Any]], ClaimedTask] = partial(tuple.__new__, ClaimedTask)


def _claimed(session: Session, standings: Sequence[Standing], lineages: Mapping[str, Lineage]) -> list[ClaimedTask]:
    """Return what a handler needs besides the standing: the wide row, read once per claim."""
    if not standings:
        return []
    seqs = [s.seq for s in standings]
    listed, values = session.members(seqs)
    wide = {
        row[0]: row
        for row in session.rows(
            f"SELECT t.seq, {_WIDE_LIST} FROM ramet_tasks t LEFT JOIN ramet_checkpoints c ON c.seq = t.seq "
            f"WHERE t.seq {listed} AND t.seq BETWEEN ? AND ?",  # says which part of the history they are in
            (values, min(seqs), max(seqs)),
        )
    }
    depths = {tracking_id: (row.max_spawn_depth,) for tracking_id, row in lineages.items()}
    rows = waits.load(session, seqs) if any(row.waits for row in lineages.values()) else {}
    rounds = {seq: (row.round, row.after) for seq, row in rows.items()}
    never = (0, 0)
    return [
        _claimed_task((s, *_of_wide(depths[s.tracking_id] + wide[s.seq] + rounds.get(s.seq, never)))) for s in standings
    ]


def claimed(session: Session, held: Sequence[tuple[int, int]]) -> list[ClaimedTask]:
    """Return those of these ``(seq, fence)`` claims that are the newest of their task, which is processing, with what
    the claim gave. Whether the lease runs is judged by the verb that writes."""
    listed, values = session.members([seq for seq, _ in held])
    found = session.rows(f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq {listed} ORDER BY seq", (values,))
    wanted = frozenset(held)
    standings = [
        one for one in map(Standing._make, found) if one.state == PROCESSING and (one.seq, one.fence) in wanted
    ]
    return _claimed(session, standings, read_lineages(session, {one.tracking_id for one in standings}))


def heartbeat(session: Session, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
    """Extend the leases of ``(seq, fence)`` claims; return the numbers of those that are lost."""
    standings = load_standings(session, [seq for seq, _ in held])
    changes, lost = [], set()
    lineages = read_lineages(session, {s.tracking_id for s in standings.values()})
    for seq, fence in held:
        standing = standings.get(seq)
        if standing is None or standing.state != PROCESSING or standing.lease_until <= session.now:
            lost.add(seq)
            continue
        lineage = lineages[standing.tracking_id]
        if standing.ending is None and (
            lineage.state in ("failed", "cancelled")
            or (lineage.tombstones and _under_tombstone(session, standing, tombstones_of(lineage)))
        ):
            lost.add(seq)
            continue
        change = decide(standing, ev.Heartbeat(fence, lease_seconds), session.now)
        if isinstance(change, Change):
            changes.append(change)
        else:
            lost.add(seq)
    return frozenset(lost | apply(session, changes).lost)
