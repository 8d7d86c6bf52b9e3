"""Offering blocked spawns again, after a person raised what had blocked them (DESIGN §5).

A spawn is offered as a child of the first parent that asked for it, with that one's ancestry and depth, and goes
through the whole guard. The parent's claim need not be current: a person asks, not the parent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ramet.model.keys import allowed_shapes
from ramet.model.lineage.guard import REOFFERABLE, BlockReason
from ramet.model.lineage.lineage import OPEN, Lineage, LineageState
from ramet.store.answers import ReofferResult, SpawnResult
from ramet.store.errors import StoreError
from ramet.store.requests import Cursor
from ramet.store.rows.blocks import BLOCK_KEY, Parent, new_task_from_text
from ramet.store.rows.lineages import PRUNING, forget_refusals, lock_lineages, reopen_lineage
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Row, Session
from ramet.store.state.apply import release
from ramet.store.verbs.lineage_followup import finish_ends
from ramet.store.verbs.spawn import load_parents, spawn

THERE_ALREADY = frozenset({BlockReason.IN_FLIGHT, BlockReason.DONE, BlockReason.ELSEWHERE})
REOFFER_MAX = 1_000


class BlockOffer(NamedTuple):
    """A stored block that is offered again."""

    kind: str
    key: str
    reason: str
    parents: tuple[str, str]
    wanted: str


def _shapes(texts: Sequence[str]) -> list[str]:
    try:
        return list(allowed_shapes(texts))
    except ValueError as error:
        raise StoreError(str(error)) from None


def reoffer(
    session: Session,
    tracking_id: str,
    *,
    by: str,
    reasons: Collection[str] = (),
    reason: str | None = None,
    limit: int = 1_000,
    after: Cursor | None = None,
    kind: str | None = None,
    key: str | None = None,
    shape: str | None = None,
) -> ReofferResult:
    """Offer spawns again that were blocked by something an operator may change, a page at a time.

    Each goes through the whole guard as a child of the first parent that asked for it. A task that passes is created
    and its block marked with who and when; one that fails keeps its block. A finished or failed lineage runs again when
    something was created.

    Args:
        reasons: of the guard; all that can be offered again when empty.
        reason: why, for the record.
        limit: blocks of this page, at most 1,000.
        after: where the page before ended.
        kind, key, shape: only blocks of these; a page may then offer fewer than ``limit``, or none.

    Raises:
        StoreError: no such lineage, it was cancelled, its deadline has passed, or a reason cannot be offered again.
    """
    refused = sorted(set(reasons) - REOFFERABLE)
    if refused:
        can = ", ".join(sorted(REOFFERABLE))
        raise StoreError(f"blocks by {', '.join(refused)} cannot be offered again: name {can}")
    lineage = _as_running(session, tracking_id)
    most = max(1, min(limit, REOFFER_MAX))
    offers = _offers(session, tracking_id, reasons or REOFFERABLE, limit=most, after=after, kind=kind, key=key)
    last = offers[-1] if offers else None
    if shape is not None:
        [allowed] = _shapes([shape])
        offers = [offer for offer in offers if new_task_from_text(offer.wanted).shape == allowed]
    answered = _offer(session, lineage, offers)
    result = _booked(session, lineage, answered, by, reason)
    return result._replace(after=(last.kind, last.key, last.reason) if last else None)


def _as_running(session: Session, tracking_id: str) -> Lineage:
    """Return the lineage as the guard is to see it: a finished or failed one would run again if something passed."""
    lineage = lock_lineages(session, [tracking_id]).get(tracking_id)
    if lineage is None:
        raise StoreError(f"no lineage {tracking_id}: `ramet status` lists them")
    if lineage.sweep == PRUNING:
        raise StoreError(f"lineage {tracking_id} is being pruned: nothing of it can be created again")
    if lineage.state == LineageState.CANCELLED:
        raise StoreError(f"lineage {tracking_id} was cancelled: revive a task of it first, with `ramet retry`")
    if session.now >= lineage.deadline_at:
        raise StoreError(
            f"the deadline of lineage {tracking_id} has passed: "
            f"put it off first, with `ramet lineage raise {tracking_id} --extend SECONDS`"
        )
    finish_ends(session, lineage)
    return lock_lineages(session, [tracking_id])[tracking_id]


def _offers(
    session: Session,
    tracking_id: str,
    reasons: Collection[str],
    *,
    limit: int,
    after: Cursor | None,
    kind: str | None,
    key: str | None,
) -> list[BlockOffer]:
    listed, values = session.members(sorted(str(reason) for reason in reasons))
    where = ""
    behind: tuple[str, ...] = ()
    if after is not None:
        where, behind = " AND (kind, key, reason) > (?, ?, ?)", tuple(after)
    for name, value in (("kind", kind), ("key", key)):
        if value is not None:
            where, behind = f"{where} AND {name} = ?", (*behind, value)
    rows = session.rows(
        "SELECT kind, key, reason, first_parent, last_parent, wanted FROM ramet_blocks WHERE tracking_id = ? "
        f"AND wanted IS NOT NULL AND reoffered_at IS NULL AND reason {listed}{where} "
        "ORDER BY kind, key, reason LIMIT ?",
        (tracking_id, values, *behind, limit),
    )
    return [BlockOffer(kind, key, reason, (first, last), wanted) for kind, key, reason, first, last, wanted in rows]


def _offer(
    session: Session, lineage: Lineage, offers: Sequence[BlockOffer]
) -> list[tuple[BlockOffer, SpawnResult | None]]:
    """Return the guard's answers; None where no parent is known any more."""
    parents = _parents(session, {name for offer in offers for name in offer.parents})
    offered: list[tuple[BlockOffer, SpawnResult | None]] = []
    seen = lineage if lineage.state in OPEN else lineage._replace(state=LineageState.RUNNING.value)
    lineages = {lineage.tracking_id: seen}
    grouped: dict[int, list[BlockOffer]] = {}
    for offer in offers:
        seq = next((parents[name][0] for name in offer.parents if name in parents), None)
        if seq is None:
            offered.append((offer, None))
        else:
            grouped.setdefault(seq, []).append(offer)
    by_seq = dict(parents.values())
    asked = [(by_seq[seq], [new_task_from_text(offer.wanted) for offer in group]) for seq, group in grouped.items()]
    answered = spawn(session, asked, lineages, record=False)
    for (seq, group), (_, news), answers in zip(grouped.items(), asked, answered, strict=True):
        offered += zip(group, answers, strict=True)
        # A later stage of the parent itself is not a child of it, as when it is settled.
        granted = sum(1 for new, answer in zip(news, answers, strict=True) if answer.id is not None and new.places)
        _count_children(session, seq, granted)
    return offered


def _parents(session: Session, ids: Collection[str]) -> dict[str, tuple[int, Parent]]:
    """Return number and facts of the tasks that asked, by id. Their claims need not be current: a person asks."""
    listed, values = session.members(sorted(ids))
    rows = session.rows(
        "SELECT t.id, t.seq, COALESCE(l.fan_out, t.fan_out) FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq "
        f"WHERE t.id {listed}",
        (values,),
    )
    about = load_parents(session, [seq for _, seq, _ in rows])
    return {task_id: (seq, Parent(*about[seq], fan_out, True)) for task_id, seq, fan_out in rows}


def _count_children(session: Session, seq: int, granted: int) -> None:
    if granted and not session.run("UPDATE ramet_live SET fan_out = fan_out + ? WHERE seq = ?", (granted, seq)):
        session.run("UPDATE ramet_tasks SET fan_out = fan_out + ? WHERE seq = ?", (granted, seq))


def _booked(
    session: Session,
    lineage: Lineage,
    answered: Sequence[tuple[BlockOffer, SpawnResult | None]],
    by: str,
    reason: str | None,
) -> ReofferResult:
    """Mark what need not be offered again, reopen the lineage where something was created, record the act."""
    created = [answer.id for _, answer in answered if answer is not None and answer.id is not None]
    marked: list[Row] = []
    still: Counter[str] = Counter()
    for offer, answer in answered:
        blocked = None if answer is None else answer.reason
        if answer is not None and (blocked is None or blocked in THERE_ALREADY):
            marked.append((session.now, by, lineage.tracking_id, offer.kind, offer.key, offer.reason))
        else:
            still["parent_unknown" if blocked is None else blocked.value] += 1
    session.update("ramet_blocks", ("reoffered_at", "reoffered_by"), BLOCK_KEY, marked)
    [(left_out,)] = session.rows("SELECT left_out FROM ramet_lineages WHERE tracking_id = ?", (lineage.tracking_id,))
    if left_out and marked:
        forget_refusals(session, lineage.tracking_id, left_out, [(row[3], row[4]) for row in marked])
    if created and lineage.state not in OPEN:
        reopen_lineage(session, lineage.tracking_id)
        release(session, lineage.tracking_id)
    there = len(marked) - len(created)
    if answered:
        detail = {"created": len(created), "there_already": there, "still_blocked": dict(still)}
        record_audit_entry(session, by=by, act="reoffer", subject=lineage.tracking_id, tracking_id=lineage.tracking_id,
                   reason=reason, detail=detail)  # fmt: skip
    return ReofferResult(tuple(created), there, dict(still))
