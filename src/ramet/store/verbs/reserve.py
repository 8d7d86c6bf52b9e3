"""Reserve: keep money for a claim before it calls out, in a fenced transaction of its own (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.cost import ALL_DAYS, USED, Reserved, ReserveRequest, day_of, refusal
from ramet.model.lineage.guard import Blocked, BlockReason
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import NewTask
from ramet.store.rows.blocks import Parent, Refusal, store_blocks
from ramet.store.rows.lineages import lock_lineages
from ramet.store.rows.money import INSERT, ceilings, ensure_days
from ramet.store.session import Session
from ramet.store.verbs.settle import claim_refusal, load_standings
from ramet.store.verbs.spawn import load_parents

NO_CEILING = 2**62


def reserve(session: Session, wanted: Sequence[ReserveRequest]) -> list[Reserved]:
    """Answers in the order asked; a later request sees what an earlier one took."""
    standings = load_standings(session, {item.seq for item in wanted})
    lineages = lock_lineages(session, {standing.tracking_id for standing in standings.values()})
    known = _known(session, wanted)
    answers = []
    for item in wanted:
        standing = standings.get(item.seq)
        lineage = None if standing is None else lineages[standing.tracking_id]
        why = claim_refusal(session, standing, item.fence, lineage)
        if why is not None or standing is None or lineage is None:
            answers.append(Reserved(item.id, why))
        elif item.id in known:
            actual, closed = known[item.id]
            refused = USED if closed and actual is None else None
            answers.append(Reserved(item.id, refused, actual=actual))
        else:
            answers.append(_reserve(session, item, lineages, lineage))
            known[item.id] = None, False
    return answers


def _known(session: Session, wanted: Sequence[ReserveRequest]) -> dict[str, tuple[int | None, bool]]:
    """Reservations that were made before, since an answer was lost: what each cost, and whether it is closed."""
    listed, values = session.members({item.id for item in wanted})
    rows = session.rows(f"SELECT id, actual, closed_at FROM ramet_reservations WHERE id IN {listed}", (values,))
    return {reservation_id: (actual, closed_at is not None) for reservation_id, actual, closed_at in rows}


def _reserve(session: Session, item: ReserveRequest, lineages: dict[str, Lineage], lineage: Lineage) -> Reserved:
    day = day_of(session.now)
    ensure_days(session, day)
    bounds = [lineage.cost_ceiling, *ceilings(session, day)]
    refused = refusal(item.amount, bounds, session.now)
    if refused is not None:
        detail, retry_seconds = refused
        _store_refusal(session, item, detail, lineages)
        return Reserved(item.id, BlockReason.COST.value, detail, retry_seconds)
    tracking_id, now = lineage.tracking_id, session.now
    # What was decided above holds by these conditions too: the last guard of promise I5.
    taken = session.run(
        "UPDATE ramet_lineages SET reserved = reserved + ? WHERE tracking_id = ? "
        "AND (max_cost IS NULL OR spent + reserved + ? <= max_cost) "
        "AND (soft_cost IS NULL OR spent + reserved + ? <= soft_cost)",
        (item.amount, tracking_id, item.amount, item.amount),
    )
    taken += session.run_many(
        "UPDATE ramet_spend SET reserved = reserved + ? WHERE day = ? AND spent + reserved + ? <= ?",
        [
            (item.amount, of, item.amount, NO_CEILING if bound.reservable is None else bound.reservable)
            for of, bound in zip((day, ALL_DAYS), bounds[1:], strict=True)
        ],
    )
    assert taken == 3, f"a ceiling of {tracking_id} changed inside the transaction that read it"
    session.run(INSERT, (item.id, tracking_id, item.seq, item.fence, day, item.amount, None, now, None))
    lineages[tracking_id] = lineage._replace(reserved=lineage.reserved + item.amount)
    return Reserved(item.id)


def _store_refusal(session: Session, item: ReserveRequest, detail: str, lineages: dict[str, Lineage]) -> None:
    """A task that was refused money is told of like one that was refused a spawn, of itself (promise I8)."""
    [(task_id, tracking_id, chain, depth)] = load_parents(session, [item.seq]).values()
    [(kind, key)] = session.rows("SELECT kind, key FROM ramet_tasks WHERE seq = ?", (item.seq,))
    parent = Parent(task_id, tracking_id, chain, depth, 0, claim_current=True)
    blocked = Blocked(BlockReason.RESERVE, detail)
    store_blocks(session, [Refusal(parent, NewTask(item.id, kind, key, "null"), blocked)], lineages)
