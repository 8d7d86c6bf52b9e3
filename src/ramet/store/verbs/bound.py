"""Bound tasks: settled by the task that they are bound to, many at a time, or let go (DESIGN §4).

A bound task is pending with ``wait = 'bound'``, so that no worker can claim it; its fence is the number of the binding.
Its outcome comes with the settler's own settlement, under the settler's fence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import OPEN, Lineage, LineageState
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.binding import BindResult, ItemResult, ItemSettlement
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import PENDING, SUCCESS, Change, TransitionRefused
from ramet.model.values import REASON_CHARACTERS_MAX, storable
from ramet.store.rows.branches import bound_of
from ramet.store.rows.lineages import BOUND, lock_lineages, name_deadlines, overdue, tombstones_of
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.tasks import load_standings, take_live
from ramet.store.schema.columns import LIVE_COLUMNS, picker
from ramet.store.session import Session, StatementFailed, StatementTimedOut
from ramet.store.state.apply import apply
from ramet.store.state.lanes import end_bound, move_alike
from ramet.store.verbs.spawn import load_parents

LIMIT_MAX = 10_000
SETTLERS_MAX = 100
TIMED_OUT_SECONDS = 60.0
"""Seconds for which a task is released whose writes took too long."""
SETTLER_ENDED = Reason("settler_ended")


def numbers_of(session: Session, task_ids: Iterable[str]) -> dict[str, int]:
    """Numbers of tasks by id; unknown ones are absent."""
    listed, values = session.members(sorted(set(task_ids)))
    found = session.rows(f"SELECT seq, id FROM ramet_tasks WHERE id {listed}", (values,))
    return {task_id: seq for seq, task_id in found}


class Items:
    """The tasks of a batch by id: where they stand, and what their lineages say. The caller holds all of these."""

    def __init__(
        self,
        session: Session,
        seqs: Mapping[str, int],
        standings: Mapping[int, Standing],
        lineages: dict[str, Lineage],
    ) -> None:
        self.seqs = seqs
        """Numbers by id, from :func:`numbers_of`."""
        self.standings = dict(standings)
        self.lineages = lineages
        self._session = session

    def load(self, task_ids: Iterable[str]) -> None:
        """Read rows that are held but were not read yet: of bound tasks that a lane left."""
        seqs = {self.seqs[task_id] for task_id in task_ids if task_id in self.seqs} - self.standings.keys()
        if seqs:
            self.standings |= load_standings(self._session, seqs)
            new = {self.standings[seq].tracking_id for seq in seqs & self.standings.keys()} - self.lineages.keys()
            self.lineages.update(lock_lineages(self._session, new))

    def standing(self, task_id: str) -> Standing | str:
        """Return the standing of the task, or why it cannot be settled or bound."""
        seq = self.seqs.get(task_id)
        if seq is None:
            return "unknown"
        standing = self.standings.get(seq)
        if standing is not None:
            return standing
        [(state,)] = self._session.rows("SELECT state FROM ramet_tasks WHERE seq = ?", (seq,))
        return f"is_{state}"

    def over(self, standing: Standing, lineage: Lineage) -> str | None:
        """Return how the task's lineage, or the tree that it is in, ended; None while it has not."""
        if lineage.state not in OPEN:
            return lineage.state
        marks = tombstones_of(lineage)
        if marks:
            [(task_id, _, chain, _)] = load_parents(self._session, [standing.seq]).values()
            if tombstone_over(marks, task_id, chain) is not None:
                return "cancelled"
        return None


_SAME = picker(LIVE_COLUMNS, [name for name in LIVE_COLUMNS if name not in ("seq", "rank", "turn")])
"""All that a decision about a task can be about: its number and its place in line are none of it."""


def bind_items(
    session: Session, items: Items, settler_id: str, task_ids: Sequence[str], *, lanes: bool = True
) -> list[BindResult]:
    """Bind tasks to a settler whose claim is current, and answer in the order asked.

    Args:
        session: the transaction.
        items: of the tasks.
        settler_id: of the settler.
        task_ids: of the tasks; of one that is named twice the second is refused.
        lanes: False decides and writes each on its own (:mod:`ramet.store.state.lanes`).
    """
    answers: list[BindResult] = []
    alike: dict[tuple[object, ...], tuple[Change, list[Standing]]] = {}
    alone: list[Change] = []
    taken: set[str] = set()
    for task_id in task_ids:
        standing = "waits" if task_id in taken else items.standing(task_id)
        if isinstance(standing, str):
            answers.append(BindResult(task_id, None, standing))
            continue
        same = _SAME(standing) if lanes and _only_itself(standing, items.lineages[standing.tracking_id]) else None
        if same in alike:
            change, several = alike[same]
            several.append(standing)
        else:
            decided = _bind(session, items, settler_id, standing)
            if isinstance(decided, str):
                answers.append(BindResult(task_id, None, decided))
                continue
            change = decided
            if same is None:
                alone.append(change)
            else:
                alike[same] = (change, [standing])
        taken.add(task_id)
        answers.append(BindResult(task_id, change.after.fence))
    moved = move_alike(session, alike.values())
    lost = len(taken) - len(alone) - len(moved) + len(apply(session, alone).lost)
    assert not lost, f"{lost} tasks changed inside the transaction that read them"
    return answers


def _only_itself(standing: Standing, lineage: Lineage) -> bool:
    """Return whether binding the task concerns no other row, and depends on no ancestor of it."""
    return standing.resource is None and standing.holds_path is None and not lineage.tombstones


def _bind(session: Session, items: Items, settler_id: str, standing: Standing) -> Change | str:
    lineage = items.lineages[standing.tracking_id]
    over = items.over(standing, lineage)
    if over is not None:
        return over
    if lineage.state != LineageState.RUNNING:
        return lineage.state
    change = decide(standing, ev.Bind(settler_id, lineage.deadline_at), session.now)
    return change.reason if isinstance(change, TransitionRefused) else change


def settle_items(
    session: Session, items: Items, wanted: Sequence[tuple[int, Sequence[ItemSettlement]]], *, lanes: bool
) -> dict[int, list[ItemResult]]:
    """Settle bound tasks for settlers whose claims are current, as (number of the settler, its items).

    Args:
        session: the transaction.
        items: of the tasks.
        wanted: by settler.
        lanes: False takes the usual way for all of them.

    Returns:
        By number of the settler, one answer per item in the order asked. Late and doubled ones are refused.
    """
    settlers = load_parents(session, [seq for seq, _ in wanted])
    ended = _end_successes(session, items, [(settlers[seq][0], several) for seq, several in wanted]) if lanes else set()
    items.load(wish.task_id for _, several in wanted for wish in several if wish.task_id not in ended)
    answers: dict[int, list[ItemResult]] = defaultdict(list)
    changes: dict[int, Change] = {}
    results: dict[int, str | None] = {}
    for seq, several in wanted:
        settler_id = settlers[seq][0]
        for wish in several:
            if wish.task_id in ended:
                answers[seq].append(ItemResult(wish.task_id, SUCCESS))
                continue
            decided, item = _settle_with_writes(session, items, settler_id, wish, changes)
            if isinstance(decided, str):
                answers[seq].append(ItemResult(item.task_id, None, decided))
                continue
            changes[decided.before.seq] = decided
            if item.result is not None:
                results[decided.before.seq] = item.result
            answers[seq].append(ItemResult(item.task_id, decided.after.state))
    applied = apply(session, name_deadlines(session, list(changes.values())), results)
    assert not applied.lost, f"tasks {sorted(applied.lost)} changed inside the transaction that read them"
    if any(change.after.state == PENDING for change in changes.values()):
        session.wake()
    return answers


def _end_successes(session: Session, items: Items, wanted: Sequence[tuple[str, Sequence[ItemSettlement]]]) -> set[str]:
    """End what a lane can take, as (id of the settler, its items), and return the ids of these tasks.

    A task that is named twice goes the usual way: the first that is accepted counts.
    """
    named = Counter(wish.task_id for _, several in wanted for wish in several)
    ended: set[str] = set()
    for settler_id, several in wanted:
        plain = {
            items.seqs[wish.task_id]: wish
            for wish in several
            if wish.only_succeeded and named[wish.task_id] == 1 and wish.task_id in items.seqs
        }
        if not plain:
            continue
        asked = ((seq, wish.binding, wish.result) for seq, wish in plain.items())
        done, lineages = end_bound(session, settler_id, asked)
        ended.update(plain[seq].task_id for seq in done)
        for tracking_id, lineage in lineages.items():
            items.lineages.setdefault(tracking_id, lineage)  # One whose end is wanted is looked at by the caller.
    return ended


def _settle_with_writes(
    session: Session, items: Items, settler_id: str, item: ItemSettlement, changes: dict[int, Change]
) -> tuple[Change | str, ItemSettlement]:
    """Decide one, and run its own writes where it is accepted; what became of it where one of them fails."""
    decided = _settle(session, items, settler_id, item, changes)
    if isinstance(decided, str) or not item.writes:
        return decided, item
    try:
        with session.theirs():
            for sql, parameters in item.writes:
                session.run(sql, parameters)
    except StatementTimedOut:
        item = ItemSettlement(item.task_id, item.binding, PENDING, delay_seconds=TIMED_OUT_SECONDS)
    except StatementFailed as error:
        reason = storable(f"a write of its settlement failed: {error}", REASON_CHARACTERS_MAX)
        item = ItemSettlement(item.task_id, item.binding, "failed", reason=reason)
    else:
        return decided, item
    return _settle(session, items, settler_id, item, changes), item


def _settle(
    session: Session, items: Items, settler_id: str, item: ItemSettlement, changes: dict[int, Change]
) -> Change | str:
    standing = items.standing(item.task_id)
    if isinstance(standing, str):
        return standing
    done = changes.get(standing.seq)
    if done is not None:
        return f"is_{done.after.state}" if done.after.state != PENDING else "not_bound"
    if standing.bound_to is not None:
        over = items.over(standing, items.lineages[standing.tracking_id])
        if over is not None:
            return over
    event = ev.SettledBy(settler_id, item.binding, item.state, item.reason, item.delay_seconds)
    if not item.uses_time and standing.bound_to is not None:
        until = bound_of(session, standing, items.lineages[standing.tracking_id])
        event = replace(event, uses_time=False, bound_at=until)
    change = decide(standing, event, session.now)
    return change.reason if isinstance(change, TransitionRefused) else change


def ended_settlers(session: Session, limit: int) -> list[str]:
    """Ids of tasks that ended and have others bound to them."""
    # One probe of the index per settler, however many tasks are bound to it.
    rows = session.rows(
        "WITH RECURSIVE settlers (id) AS (SELECT MIN(bound_to) FROM ramet_live WHERE bound_to IS NOT NULL UNION ALL "
        "SELECT (SELECT MIN(bound_to) FROM ramet_live WHERE bound_to > settlers.id) FROM settlers "
        "WHERE settlers.id IS NOT NULL) SELECT s.id FROM settlers s LEFT JOIN ramet_tasks t ON t.id = s.id "
        "WHERE s.id IS NOT NULL AND (t.seq IS NULL OR t.state IS NOT NULL) LIMIT ?",
        (limit,),
    )
    return [settler_id for (settler_id,) in rows]


def unbind_orphans(session: Session, limit: int) -> int:
    """Tasks whose settler ended are free again, batch by batch."""
    count = 0
    for settler_id in ended_settlers(session, SETTLERS_MAX):
        found = take_live(session, "WHERE bound_to = ?", (settler_id,), limit)
        count += _apply(
            session, [(row, ev.SettledBy(settler_id, row.fence, PENDING, SETTLER_ENDED, known=False)) for row in found]
        )
    if count:
        session.wake()
    return count


def expire_polled(session: Session, limit: int) -> int:
    """Bound tasks past their deadline fail once their settler has looked after them since (DESIGN §4)."""
    columns = ", ".join(f"b.{name}" for name in Standing._fields)
    polled = (
        "FROM ramet_live b INDEXED BY ramet_live_overdue JOIN ramet_tasks t ON t.id = b.bound_to "
        f"JOIN ramet_live s ON s.seq = t.seq WHERE {overdue('b.', BOUND)} <= ? "
        "AND s.state = 'pending' AND s.claimed_at >= b.deadline_at"
    )
    seqs = [seq for (seq,) in session.rows(f"SELECT b.seq {polled} LIMIT ?", (session.now, limit))]
    lock_stripes(session, seqs)  # Before their rows, as everywhere.
    listed, values = session.members(seqs)
    rows = session.rows(f"SELECT {columns} {polled} AND b.seq {listed}{session.skip_locked}", (session.now, values))
    return _apply(session, [(row, ev.DeadlinePassed(polled=True)) for row in map(Standing._make, rows)])


def _apply(session: Session, events: Sequence[tuple[Standing, ev.Event]]) -> int:
    decided = [decide(standing, event, session.now) for standing, event in events]
    changes = name_deadlines(session, [change for change in decided if isinstance(change, Change)])
    return len(changes) - len(apply(session, changes).lost)
