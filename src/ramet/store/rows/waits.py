"""Tasks that wait for others: their rounds, and the tasks that each waits for (DESIGN §4, "Waiting for other tasks").

A row of ``ramet_waits`` counts the tasks of a round that have not ended. The transaction that ends one of them takes it
off; at zero the next claim lets the waiting task go on (:func:`ramet.store.verbs.wake.wake_waiting`). Round 0 is what a
task was created after, each later one a join. Edges (``ramet_awaited``) are written once: an end costs a count. Beyond
:data:`TOGETHER_MAX` waiting tasks the transaction leaves a row of ``ramet_wakes`` instead, by which claims and
maintenance take it off the others, a bounded number at a time. Every change is made under the lock of the lineage's
row, so that it is seen whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.store.session import Row, Session

TOGETHER_MAX = 500
"""Waiting tasks that one transaction writes."""
WAITS, ENDED = 1, 2
"""Values of the column ``waiting``: the task waits; it ended while it waited, and waits again, counted from the start,
when it is revived.
"""

OVER = "waiting = 1 AND (remaining = 0 OR failed IS NOT NULL)"
"""SQL of those that may go on, or are to be skipped."""


class WaitRow(NamedTuple):
    """A task that waits for others, or has waited."""

    seq: int
    tracking_id: str
    round: int
    """Number of its last join, from 1; 0 before the first, of a task that was created after others."""
    first: int
    """Its children from this number on are of the next round."""
    remaining: int
    """Number of tasks of the round that have not ended, while it waits."""
    waiting: int
    """1 (:data:`WAITS`) from the join until it may go on, 2 (:data:`ENDED`) where it ended meanwhile, else 0."""
    branch: int
    """1 where what grows below the children is waited for, too."""
    skips: int
    """1 where it is skipped when one of them did not succeed."""
    failed: int | None
    """Number of the first that did not, where it is to be skipped for that."""
    idle_rounds: int
    """Rounds in a row with nothing live to wait for."""
    seconds_left: float | None
    """Seconds of its own time that were left when it began to wait."""
    since: float
    """Unix seconds of the join, or of its creation."""
    after: int
    """Tasks that it was created after."""

    @property
    def over(self) -> bool:
        """Whether a task that waits may go on, or is to be skipped (:data:`OVER`)."""
        return not self.remaining or self.failed is not None


WAIT_LIST = ", ".join(WaitRow._fields)
_KEPT = WaitRow._fields[2:]


class RefusedSpawn(NamedTuple):
    """A spawn of the round that the guard refused."""

    place: int
    """Number of the granted child before it, or one less than that of the first."""
    behind: int
    """Place among the refused ones there, from 1."""
    kind: str
    key: str
    reason: str
    facts: str
    """JSON text."""
    winner: int | None
    """Number of the task that is there already."""


def first_row(seq: int, tracking_id: str) -> WaitRow:
    """Return the row of a task that waits for the first time."""
    return WaitRow(
        seq=seq, tracking_id=tracking_id, round=0, first=0, remaining=0, waiting=0, branch=0, skips=0, failed=None,
        idle_rounds=0, seconds_left=None, since=0.0, after=0,
    )  # fmt: skip


def load(session: Session, seqs: Collection[int]) -> dict[int, WaitRow]:
    """Return the rows of these tasks, by number; those that never joined are absent."""
    listed, values = session.members(seqs)
    return {row[0]: WaitRow._make(row) for row in session.rows(
        f"SELECT {WAIT_LIST} FROM ramet_waits WHERE seq {listed}", (values,)
    )}  # fmt: skip


def ended_waiting(session: Session, seq: int) -> bool:
    """Return True for a task that ended while it waited for others: revived, it waits for them again."""
    return bool(session.rows("SELECT 1 FROM ramet_waits WHERE seq = ? AND waiting = ?", (seq, ENDED)))


def save(session: Session, rows: Sequence[WaitRow]) -> None:
    """Write these rows."""
    session.insert("ramet_waits", WaitRow._fields, rows, key=("seq",), changes=_KEPT)


def _failed_of(seq: str, round_: str) -> str:
    """Return SQL of the first task of a round that did not succeed."""
    return (
        "(SELECT MIN(a.awaited) FROM ramet_awaited a JOIN ramet_unsuccessful u ON u.seq = a.awaited "
        f"WHERE a.seq = {seq} AND a.round = {round_} AND a.behind = 0 AND (u.state IN ('failed', 'cancelled') "
        "OR EXISTS (SELECT 1 FROM ramet_tasks f WHERE f.seq = a.awaited AND f.reason = 'dependency_failed')))"
    )


_FAILED_NOW = f"failed = CASE WHEN skips = 0 THEN NULL ELSE {_failed_of('ramet_waits.seq', 'ramet_waits.round')} END"
_INTO = (
    "INSERT INTO ramet_awaited (seq, round, place, tracking_id, awaited) "
    "SELECT CAST(? AS BIGINT), CAST(? AS BIGINT), t.seq, t.tracking_id, t.seq FROM "
)
_CHILDREN = f"{_INTO}ramet_tasks t WHERE t.parent_id = ? AND t.seq >= ?"
_BRANCH = (
    f"WITH RECURSIVE below (id, seq, tracking_id) AS (SELECT id, seq, tracking_id FROM ramet_tasks "
    "WHERE parent_id = ? AND seq >= ? UNION ALL SELECT c.id, c.seq, c.tracking_id FROM below b "
    f"JOIN ramet_tasks c ON c.parent_id = b.id) {_INTO}below t"
)
_AWAITED = ("seq", "round", "place", "behind", "tracking_id", "awaited", "kind", "key", "reason", "facts")


_NOT_TAKEN_OFF = (
    "(SELECT 1 FROM ramet_wakes k WHERE k.seq = a.awaited AND k.what <> 'revival' "
    "AND a.seq > k.done AND a.seq <= k.last)"
)
"""SQL that finds an end which is still to be taken off a waiting task."""
_COUNTED = (
    "COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM ramet_live l WHERE l.seq = a.awaited) "
    f"OR EXISTS {_NOT_TAKEN_OFF} THEN 1 ELSE 0 END), 0)"
)
"""SQL of the edges that a count is about: to tasks that have not ended, or whose end is still to be taken off."""


def _to_last_stages(session: Session, seqs: Collection[int], round_: int) -> None:
    """Let a new round wait for the stages that are there already behind those that it names."""
    listed, values = session.members(seqs)
    while later := session.rows(
        "SELECT c.seq, a.seq, a.round, a.place, a.behind FROM ramet_awaited a JOIN ramet_stages s ON s.seq = a.awaited "
        "JOIN ramet_tasks t ON t.seq = a.awaited JOIN ramet_tasks c ON c.parent_id = t.id "
        f"JOIN ramet_stages n ON n.seq = c.seq AND n.places = 0 WHERE a.seq {listed} AND a.round = ? AND a.behind = 0",
        (values, round_),
    ):
        session.update("ramet_awaited", ("awaited",), ("seq", "round", "place", "behind"), later)


def begin_round(session: Session, row: WaitRow, task_id: str, refused: Sequence[RefusedSpawn]) -> WaitRow:
    """Write down the tasks that one waits for: its children from ``row.first`` on, and what was refused.

    Args:
        session: the transaction, which holds the row of the lineage.
        row: of the round, whose ``remaining``, ``failed`` and ``first`` are not known yet.
        task_id: of the task.
        refused: spawns of the round.

    Returns:
        The row as it is to be saved.
    """
    if row.branch:
        session.run(_BRANCH, (task_id, row.first, row.seq, row.round))
    else:
        session.run(_CHILDREN, (row.seq, row.round, task_id, row.first))
        _to_last_stages(session, [row.seq], row.round)
    rows = [(row.seq, row.round, each.place, each.behind, row.tracking_id, each.winner, *each[2:6]) for each in refused]
    session.insert("ramet_awaited", _AWAITED, rows)
    [(count, last)] = session.rows(
        f"SELECT {_COUNTED}, MAX(place) FROM ramet_awaited a WHERE a.seq = ? AND a.round = ? AND a.behind = 0",
        (row.seq, row.round),
    )
    failed = None
    if row.skips:
        [(failed,)] = session.rows(f"SELECT {_failed_of('?', '?')}", (row.seq, row.round))
    return row._replace(remaining=int(count), failed=failed, first=row.first if last is None else int(last) + 1)


def begin_after(session: Session, born: Sequence[tuple[int, str, bool, Sequence[int]]]) -> None:
    """Write down what new tasks come after.

    Args:
        session: the transaction, which holds the rows of the lineages and has created all of these tasks.
        born: of each its number, tracking_id, whether it is skipped when one of them did not succeed, and the numbers
            of those that it comes after.
    """
    rows = [
        (seq, 0, place, 0, tracking_id, awaited, None, None, None, None)
        for seq, tracking_id, _, on in born
        for place, awaited in enumerate(on)
    ]
    session.insert("ramet_awaited", _AWAITED, rows)
    _to_last_stages(session, [seq for seq, *_ in born], 0)
    listed, values = session.members([seq for seq, *_ in born])
    found: dict[int, tuple[int, int | None]] = {
        seq: (int(live), failed)
        for seq, live, failed in session.rows(
            f"SELECT b.seq, b.live, {_failed_of('b.seq', '0')} FROM (SELECT a.seq, {_COUNTED} AS live "
            f"FROM ramet_awaited a WHERE a.seq {listed} AND a.round = 0 GROUP BY a.seq) b",
            (values,),
        )
    }
    waiting = []
    for seq, tracking_id, skips, on in born:
        live, failed = found.get(seq, (0, None))
        row = first_row(seq, tracking_id)._replace(
            remaining=live, waiting=WAITS, skips=int(skips), failed=failed if skips else None, since=session.now,
            after=len(on),
        )  # fmt: skip
        waiting.append(row)
    save(session, waiting)


_WAITS_FOR_THESE = (
    "UNION SELECT a.seq FROM up JOIN ramet_awaited a ON a.awaited = up.seq AND a.behind = 0 "
    "JOIN ramet_waits w ON w.seq = a.seq AND w.round = a.round AND w.waiting = 1) SELECT up.seq FROM up"
)


def waiting_for_branch(session: Session, tracking_id: str, chain: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the tasks that would wait for a new one below these: by a join of a branch, and in turn.

    Args:
        session: the transaction, which holds the row of the lineage.
        tracking_id: of the lineage.
        chain: ids of its ancestors.
    """
    listed, values = session.members(chain)
    found = session.rows(
        "WITH RECURSIVE up (seq) AS (SELECT w.seq FROM ramet_waits w JOIN ramet_tasks t ON t.seq = w.seq "
        f"WHERE w.tracking_id = ? AND w.waiting = 1 AND w.branch = 1 AND t.id {listed} {_WAITS_FOR_THESE}",
        (tracking_id, values),
    )
    return frozenset(seq for (seq,) in found)


def circle_of(session: Session, row: WaitRow) -> str | None:
    """Return the id of a task of the round that waits for the waiting task itself, by whatever others; None for none.

    Tasks that come after others lead to it: a join waits for what grew below, and only they wait sideways.
    """
    found = session.rows(
        f"WITH RECURSIVE up (seq) AS (SELECT CAST(? AS BIGINT) {_WAITS_FOR_THESE} JOIN ramet_awaited m "
        "ON m.seq = ? AND m.round = ? AND m.awaited = up.seq AND m.behind = 0 LIMIT 1",
        (row.seq, row.seq, row.round),
    )
    if not found:
        return None
    [(task_id,)] = session.rows("SELECT id FROM ramet_tasks WHERE seq = ?", found[0])
    return str(task_id)


def born(session: Session, births: Iterable[tuple[int, str, Sequence[str]]]) -> None:
    """Tasks were created below one that waits for a whole branch: it waits for them, too.

    Args:
        session: the transaction, which holds the rows of the lineages.
        births: number, tracking_id and ancestry of each new task, of lineages in which tasks wait.
    """
    below = [*births]
    if not below:
        return
    listed, values = session.members({tracking_id for _, tracking_id, _ in below})
    waiting = {
        task_id: (seq, round_, tracking_id)
        for seq, round_, tracking_id, task_id in session.rows(
            "SELECT w.seq, w.round, w.tracking_id, t.id FROM ramet_waits w JOIN ramet_tasks t ON t.seq = w.seq "
            f"WHERE w.tracking_id {listed} AND w.waiting = 1 AND w.branch = 1",
            (values,),
        )
    }
    if not waiting:
        return
    found = [(waiting[above], seq) for seq, _, chain in below for above in chain if above in waiting]
    rows = [(*waits[:2], seq, 0, waits[2], seq, None, None, None, None) for waits, seq in found]
    session.insert("ramet_awaited", _AWAITED, rows)
    more = Counter(waits[0] for waits, _ in found)
    session.update("ramet_waits", ("remaining = remaining + ?",), ("seq",), [(by, seq) for seq, by in more.items()])


def handed_on(session: Session, stages: Sequence[tuple[int, str | None]]) -> None:
    """Next stages were created: who waits for a stage waits for the one after it.

    Args:
        session: the transaction.
        stages: number of each, and the id of the one before, which has not ended yet.
    """
    session.update(
        "ramet_awaited", ("awaited",), ("awaited = (SELECT seq FROM ramet_tasks WHERE id = ?)", "behind = 0"), stages
    )


def ended(
    session: Session,
    lineages: Mapping[str, Lineage],
    seqs: Mapping[str, Collection[int]],
    failed: Collection[int] = (),
) -> None:
    """Take ended tasks off those that waited for them: each waits for that many fewer.

    Args:
        session: the transaction, which holds the rows of the lineages.
        lineages: as their rows are.
        seqs: numbers of the tasks that ended, by tracking_id.
        failed: those of them for which a waiting task may be skipped.
    """
    awaited = [seq for tracking_id, several in seqs.items() if lineages[tracking_id].waits for seq in several]
    if not awaited:
        return
    listed, values = session.members(awaited)
    waited = f"a.behind = 0 AND a.awaited {listed}"
    fewer = _fewer(session, waited, values, TOGETHER_MAX + 1)
    if len(fewer) > TOGETHER_MAX:
        _leave(session, waited, values, failed)
    elif fewer:
        _take_off(session, fewer, _because(session, waited, values, failed) if failed else [])


_OPEN_ROUND = "JOIN ramet_waits w ON w.seq = a.seq AND w.round = a.round AND w.waiting = 1"


def _fewer(session: Session, waited: str, values: object, limit: int) -> list[Row]:
    """Return by how many fewer tasks waiting ones wait, each with its number and round."""
    return session.rows(
        f"SELECT COUNT(*), a.seq, a.round FROM ramet_awaited a {_OPEN_ROUND} WHERE {waited} "
        "GROUP BY a.seq, a.round ORDER BY a.seq LIMIT ?",
        (values, limit),
    )


def _leave(session: Session, waited: str, values: object, failed: Collection[int]) -> None:
    """Too many wait for these: claims and maintenance take them off, some at a time."""
    ends = session.rows(
        f"SELECT a.awaited, a.tracking_id, MAX(a.seq) FROM ramet_awaited a {_OPEN_ROUND} WHERE {waited} "
        "GROUP BY a.awaited, a.tracking_id",
        (values,),
    )
    rows = [
        WakeRow(seq, FAILURE if seq in failed else END, tracking_id, None, None, 0, last)
        for seq, tracking_id, last in ends
    ]
    session.insert("ramet_wakes", WakeRow._fields, rows)
    session.wake()


def _take_off(session: Session, fewer: Sequence[Row], because: Sequence[Row]) -> None:
    if session.update("ramet_waits", ("remaining = remaining - ?",), ("seq", "round", "waiting = 1"), fewer):
        session.wake()  # There may be something to claim.
    session.update("ramet_waits", ("failed",), ("seq", "round", "waiting = 1", "skips = 1", "failed IS NULL"), because)


def _because(session: Session, waited: str, values: object, failed: Collection[int]) -> list[Row]:
    """Return of each round that waits for tasks that did not succeed the first of these, with its task and number."""
    listed, unsuccessful = session.members(failed)
    return session.rows(
        f"SELECT MIN(a.awaited), a.seq, a.round FROM ramet_awaited a {_OPEN_ROUND} WHERE {waited} "
        f"AND a.awaited {listed} GROUP BY a.seq, a.round",
        (values, unsuccessful),
    )


END, FAILURE, REVIVAL = "end", "failure", "revival"
"""Events of a row of ``ramet_wakes``, for the task that others wait for."""


class WakeRow(NamedTuple):
    """Something that more waiting tasks have to learn of than one transaction writes."""

    seq: int
    """Number of the task to which it happened."""
    what: str
    tracking_id: str
    by: str | None
    """Name of the person, for a revival."""
    reason: str | None
    done: int
    """Largest number of the waiting tasks that an end was taken off."""
    last: int
    """Largest number of a task that waited for an end. One that begins to wait later never counted it."""


WAKE_LIST = ", ".join(WakeRow._fields)


def take_off_some(session: Session, wake: WakeRow) -> int:
    """Take an ended task off the next :data:`TOGETHER_MAX` tasks that wait for it; return how many there were.

    Args:
        session: the transaction, which holds the row of the lineage.
        wake: of the end.
    """
    waited = f"a.behind = 0 AND a.awaited = ? AND a.seq > {int(wake.done)} AND a.seq <= {int(wake.last)}"
    fewer = _fewer(session, waited, wake.seq, TOGETHER_MAX)
    if fewer:
        because = [(wake.seq, seq, round_) for _, seq, round_ in fewer] if wake.what == FAILURE else []
        _take_off(session, fewer, because)
        session.update("ramet_wakes", ("done",), ("seq", "what"), [(fewer[-1][1], wake.seq, wake.what)])
    if len(fewer) < TOGETHER_MAX:
        session.delete("ramet_wakes", ("seq", "what"), [(wake.seq, wake.what)])
    return max(1, len(fewer))


def skipped_for(session: Session, seq: int) -> list[int]:
    """Return the numbers of the next tasks that were skipped because this one did not succeed, and still are."""
    found = session.rows(
        "SELECT w.seq FROM ramet_waits w JOIN ramet_unsuccessful u ON u.seq = w.seq AND u.state = 'skipped' "
        "WHERE w.failed = ? AND w.waiting = 2 ORDER BY w.seq LIMIT ?",
        (seq, TOGETHER_MAX),
    )
    return [skipped for (skipped,) in found]


def left(session: Session, went_on: Collection[int], ended_: Collection[int]) -> None:
    """Tasks wait no longer: some may go on, others ended themselves. A revive lets the latter wait again."""
    for waiting, seqs in ((0, went_on), (ENDED, ended_)):
        if seqs:
            listed, values = session.members(seqs)
            session.run(f"UPDATE ramet_waits SET waiting = {waiting} WHERE seq {listed} AND waiting = 1", (values,))


def live_again(session: Session, revived: Mapping[int, tuple[str, str | None, str | None]]) -> None:
    """Count revived tasks again: tasks that have not gone on wait for them, and those skipped for them come back.

    Args:
        session: the transaction, which holds the rows of the lineages.
        revived: tracking_id, the person and the reason, by number.
    """
    listed, values = session.members(revived)
    found = session.rows(
        f"SELECT a.seq FROM ramet_awaited a {_OPEN_ROUND} WHERE a.behind = 0 AND a.awaited {listed} "
        f"AND NOT EXISTS {_NOT_TAKEN_OFF}",
        (values,),
    )
    more = Counter(row[0] for row in found)
    session.update("ramet_waits", ("remaining = remaining + ?",), ("seq",), [(by, seq) for seq, by in more.items()])
    # One that was to be skipped for one of them is so only for another one that failed.
    session.run(f"UPDATE ramet_waits SET {_FAILED_NOW} WHERE failed {listed} AND waiting = 1", (values,))
    session.run(
        f"UPDATE ramet_waits SET waiting = 1, remaining = (SELECT {_COUNTED} FROM ramet_awaited a WHERE "
        "a.seq = ramet_waits.seq AND a.round = ramet_waits.round AND a.behind = 0), "
        f"{_FAILED_NOW} WHERE seq {listed} AND waiting = 2",
        (values,),
    )
    session.run(f"DELETE FROM ramet_wakes WHERE seq {listed}", (values,))
    skipped = session.rows(f"SELECT DISTINCT failed FROM ramet_waits WHERE failed {listed} AND waiting = 2", (values,))
    rows = [WakeRow(seq, REVIVAL, *revived[seq], 0, 0) for (seq,) in skipped]
    session.insert("ramet_wakes", WakeRow._fields, rows)
    if rows:
        session.wake()
