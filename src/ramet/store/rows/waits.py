"""Tasks that wait for others: their rounds, and whom they wait for (DESIGN §4, "Waiting for other tasks").

A row of ``ramet_waits`` says how many of the tasks of a round have not ended. The transaction that ends one of them
takes it off; at zero the next claim lets the waiting task go on (:func:`ramet.store.verbs.join.wake_waiting`). All of
them hold the row of the lineage, so nobody sees half of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.store.session import Row, Session

OVER = "waiting = 1 AND (remaining = 0 OR failed IS NOT NULL)"
"""SQL of those that may go on, or are to be skipped."""


class WaitRow(NamedTuple):
    """A task that waits for others, or has waited."""

    seq: int
    tracking_id: str
    round: int
    """Of its joins the last one, from 1."""
    first: int
    """Its children from this number on are of the next round."""
    remaining: int
    """How many of the round have not ended."""
    waiting: int
    """1 from the join until it may go on."""
    branch: int
    """1 where what grows below the children is waited for, too."""
    skips: int
    """1 where it is skipped when one of them did not succeed."""
    failed: int | None
    """Number of the first that did not, where it is to be skipped for that."""
    idle_rounds: int
    """Rounds in a row with nothing live to wait for."""
    seconds_left: float | None
    """Of its own time, when it began to wait."""
    since: float
    """Unix seconds of the join."""


WAIT_LIST = ", ".join(WaitRow._fields)
_KEPT = WaitRow._fields[2:]


class RefusedSpawn(NamedTuple):
    """A spawn of the round that the guard refused."""

    place: int
    """Number of the granted child before it, or one less than that of the first."""
    behind: int
    """From 1: its place among the refused ones there."""
    kind: str
    key: str
    reason: str
    facts: str
    """JSON text."""
    winner: int | None
    """Number of the task that is there already."""


def load(session: Session, seqs: Collection[int]) -> dict[int, WaitRow]:
    """Return the rows of these tasks, by number; those that never joined are absent."""
    listed, values = session.members(seqs)
    return {row[0]: WaitRow._make(row) for row in session.rows(
        f"SELECT {WAIT_LIST} FROM ramet_waits WHERE seq {listed}", (values,)
    )}  # fmt: skip


def save(session: Session, rows: Sequence[WaitRow]) -> None:
    """Write these rows."""
    session.insert("ramet_waits", WaitRow._fields, rows, key=("seq",), changes=_KEPT)


def _failed_of(seq: str, round_: str) -> str:
    """SQL of the first task of a round that did not succeed."""
    return (
        "(SELECT MIN(a.awaited) FROM ramet_awaited a JOIN ramet_unsuccessful u ON u.seq = a.awaited "
        f"WHERE a.seq = {seq} AND a.round = {round_} AND a.behind = 0 AND u.state IN ('failed', 'cancelled'))"
    )


_OTHER_FAILED = (
    f"failed = CASE WHEN failed IS NULL THEN NULL ELSE {_failed_of('ramet_waits.seq', 'ramet_waits.round')} END"
)
_INTO = (
    "INSERT INTO ramet_awaited (seq, round, place, tracking_id, awaited, live) "
    "SELECT CAST(? AS BIGINT), CAST(? AS BIGINT), t.seq, t.tracking_id, t.seq, "
    "CASE WHEN EXISTS (SELECT 1 FROM ramet_live l WHERE l.seq = t.seq) THEN 1 ELSE 0 END FROM "
)
_CHILDREN = f"{_INTO}ramet_tasks t WHERE t.parent_id = ? AND t.seq >= ?"
_BRANCH = (
    f"WITH RECURSIVE below (id, seq, tracking_id) AS (SELECT id, seq, tracking_id FROM ramet_tasks "
    "WHERE parent_id = ? AND seq >= ? UNION ALL SELECT c.id, c.seq, c.tracking_id FROM below b "
    f"JOIN ramet_tasks c ON c.parent_id = b.id) {_INTO}below t"
)
_AWAITED = ("seq", "round", "place", "behind", "tracking_id", "awaited", "live", "kind", "key", "reason", "facts")


def begin_round(session: Session, row: WaitRow, task_id: str, refused: Sequence[RefusedSpawn]) -> WaitRow:
    """Write down whom a task waits for: its children from ``row.first`` on, and what was refused.

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
    told = [
        (row.seq, row.round, each.place, each.behind, row.tracking_id, each.winner, 0, *each[2:6]) for each in refused
    ]
    session.insert("ramet_awaited", _AWAITED, told)
    [(count, last)] = session.rows(
        "SELECT COALESCE(SUM(live), 0), MAX(place) FROM ramet_awaited WHERE seq = ? AND round = ? AND behind = 0",
        (row.seq, row.round),
    )
    failed = None
    if row.skips:
        [(failed,)] = session.rows(f"SELECT {_failed_of('?', '?')}", (row.seq, row.round))
    return row._replace(remaining=int(count), failed=failed, first=row.first if last is None else int(last) + 1)


def born(session: Session, births: Iterable[tuple[int, str, Sequence[str]]]) -> None:
    """Tasks were created below one that waits for a whole branch: it waits for them, too.

    Args:
        session: the transaction, which holds the rows of the lineages.
        births: number, tracking_id and ancestry of each new task, of lineages in which somebody waits.
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
    rows = [(*waits[:2], seq, 0, waits[2], seq, 1, None, None, None, None) for waits, seq in found]
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
        "ramet_awaited", ("awaited",), ("awaited = (SELECT seq FROM ramet_tasks WHERE id = ?)", "live = 1"), stages
    )


def ended(
    session: Session,
    lineages: Mapping[str, Lineage],
    seqs: Mapping[str, Collection[int]],
    failed: Collection[int] = (),
) -> None:
    """Tasks ended: those that waited for them wait for so many less.

    Args:
        session: the transaction, which holds the rows of the lineages.
        lineages: as their rows are.
        seqs: numbers of the tasks that ended, by tracking_id.
        failed: those of them for which who waits may be skipped.
    """
    awaited = [seq for tracking_id, several in seqs.items() if lineages[tracking_id].waits for seq in several]
    if not awaited:
        return
    listed, values = session.members(awaited)
    waited = f"live = 1 AND awaited {listed}"
    fewer = session.rows(
        f"SELECT COUNT(*), seq, round FROM ramet_awaited WHERE {waited} GROUP BY seq, round ORDER BY seq", (values,)
    )
    if not fewer:
        return
    because = _because(session, failed) if failed else []
    session.run(f"UPDATE ramet_awaited SET live = 0 WHERE {waited}", (values,))
    if session.update("ramet_waits", ("remaining = remaining - ?",), ("seq", "round", "waiting = 1"), fewer):
        session.wake()  # There may be something to claim.
    session.update("ramet_waits", ("failed",), ("seq", "round", "waiting = 1", "skips = 1", "failed IS NULL"), because)


def _because(session: Session, failed: Collection[int]) -> list[Row]:
    """Return of each round that waits for tasks that did not succeed the first of these, with its task and number."""
    listed, values = session.members(failed)
    return session.rows(
        f"SELECT MIN(awaited), seq, round FROM ramet_awaited WHERE live = 1 AND awaited {listed} GROUP BY seq, round",
        (values,),
    )


def left(session: Session, seqs: Collection[int]) -> None:
    """Tasks that wait ended themselves, or were revived: they wait for nobody."""
    listed, values = session.members(seqs)
    session.run(f"UPDATE ramet_waits SET waiting = 0 WHERE seq {listed} AND waiting = 1", (values,))


def live_again(session: Session, seqs: Collection[int]) -> None:
    """Ended tasks were revived: who has not gone on waits for them again."""
    listed, values = session.members(seqs)
    found = session.rows(
        "SELECT a.seq, a.round, a.place, a.behind FROM ramet_awaited a JOIN ramet_waits w ON w.seq = a.seq "
        f"AND w.round = a.round WHERE a.awaited {listed} AND a.live = 0 AND a.behind = 0 AND w.waiting = 1",
        (values,),
    )
    session.update("ramet_awaited", ("live = 1",), ("seq", "round", "place", "behind"), found)
    more = Counter(row[0] for row in found)
    # Who was to be skipped for one of them is so only for another one that failed.
    session.update(
        "ramet_waits", ("remaining = remaining + ?", _OTHER_FAILED), ("seq",), [(by, seq) for seq, by in more.items()]
    )
