"""Verbs of a running claim beside its settlement, each fenced: own statements and blobs, reserve, bind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ramet.model.lineage.branches import Booked, Booking, BranchLimit, book, over_limit
from ramet.model.lineage.guard import Blocked, BlockReason
from ramet.model.lineage.lineage import Lineage
from ramet.model.money import ALL_DAYS, ActualCost, BookedCost, Ceiling, ReserveRequest, ReserveResult, day_of, refusal
from ramet.model.reasons import Fact
from ramet.model.task.binding import BindResult, BoundTask
from ramet.model.task.task import NewTask
from ramet.model.values import NewBlob
from ramet.store.answers import SettleResult, StatementResult
from ramet.store.errors import TransactionRefused
from ramet.store.requests import Settlement, Statement
from ramet.store.rows.blobs import keep
from ramet.store.rows.blocks import NewBlock, Parent, store_blocks
from ramet.store.rows.branches import BranchBook, open_book
from ramet.store.rows.lineages import lock_lineages
from ramet.store.rows.money import (
    BY_CLAIM,
    NamedReservation,
    ceilings,
    close_earlier,
    ensure_days,
    enter,
    last_named,
    settle_reserved,
    stuck_reserved,
)
from ramet.store.rows.tasks import load_standings
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Session, StatementFailed
from ramet.store.verbs.bound import LIMIT_MAX, Items, bind_items, numbers_of
from ramet.store.verbs.settle import claim_refusal, settle
from ramet.store.verbs.spawn import load_parents

_RETURNS_ROWS = re.compile(r"\s*SELECT\b|.*\bRETURNING\b", re.IGNORECASE | re.DOTALL)
_WITH = re.compile(r"\s*WITH\b", re.IGNORECASE)
_CHANGES_ROWS = re.compile(r"\b(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)


def transact(
    session: Session, settlement: Settlement, statements: Sequence[Statement], actuals: Sequence[ActualCost] = ()
) -> tuple[SettleResult, list[StatementResult], list[BookedCost]]:
    """Run statements on a program's own tables if the settlement (a checkpoint) is accepted: all of them or none.

    Args:
        actuals: reservations that are settled with it; a stale claim settles none of them.

    Raises:
        TransactionRefused: a statement failed, or met another number of rows than it expected; nothing was written.
    """
    [settled] = settle(session, [settlement])
    if settled.state != "processing":
        return settled, [], []
    ran = [_run(session, at, statement) for at, statement in enumerate(statements)]
    # Last, for the sums of the database are held from here on.
    return settled, ran, settle_reserved(session, actuals) if actuals else []


def _run(session: Session, at: int, statement: Statement) -> StatementResult:
    sql = statement.sql
    reads = _RETURNS_ROWS.match(sql) or not _CHANGES_ROWS.search(sql)
    try:
        with session.theirs():
            if reads:
                rows = session.rows(sql, statement.parameters)
                ran = StatementResult(len(rows), tuple(rows))
            elif _WITH.match(sql):
                # Drivers count the changes of plain statements only.
                ran = StatementResult(
                    len(session.rows(f"{sql.rstrip().rstrip(';')} RETURNING 1", statement.parameters))
                )
            else:
                ran = StatementResult(session.run(sql, statement.parameters))
    except StatementFailed as error:
        raise TransactionRefused(at, f"statement {at}: {error}") from error
    if statement.expect_rows is not None and ran.row_count != statement.expect_rows:
        raise TransactionRefused(at, f"statement {at} met {ran.row_count} rows, not {statement.expect_rows}")
    return ran


def put_blob(session: Session, settlement: Settlement, blob: NewBlob, bytes_max: int) -> SettleResult:
    """Store a blob in a claim's lineage if the settlement (some progress) is accepted; the same content once.

    Raises:
        StoreError: the lineage's blobs would exceed ``bytes_max`` together; nothing was written.
    """
    [settled] = settle(session, [settlement])
    if settled.state == "processing":
        [(tracking_id,)] = session.rows("SELECT tracking_id FROM ramet_live WHERE seq = ?", (settlement.seq,))
        keep(session, tracking_id, [blob], bytes_max)
    return settled


NO_CEILING = 2**62


def reserve(session: Session, wanted: Sequence[ReserveRequest]) -> list[ReserveResult]:
    """Reserve money for claims; answer in the order asked. A later request sees what an earlier one took.

    Each is decided on its own; durable when it returns. Spent and reserved together never exceed the ceiling of the
    lineage, of the UTC day or of the database. A request is refused when its claim is stale or its lineage over, and
    where a ceiling has no room: then the refusal is stored among the lineage's blocks (promise I8). Repeating a request
    reserves once. A reservation that an earlier claim left open under the name of a call is booked in full first, as
    its call may have been made, unless the provider deduplicates.
    """
    standings = load_standings(session, {item.seq for item in wanted})
    lineages = lock_lineages(session, {standing.tracking_id for standing in standings.values()})
    known = _known(session, wanted)
    answers = []
    for item in wanted:
        standing = standings.get(item.seq)
        lineage = None if standing is None else lineages[standing.tracking_id]
        why = claim_refusal(session, standing, item.fence, lineage)
        if why is not None or standing is None or lineage is None:
            answers.append(ReserveResult(item.id, why))
            continue
        answers.append(_reserve_once(session, item, lineages, lineage, known))
        known[item.id] = NamedReservation(item.id, item.fence, None, closed=False)
    return answers


def _reserve_once(
    session: Session,
    item: ReserveRequest,
    lineages: dict[str, Lineage],
    lineage: Lineage,
    known: Mapping[str, NamedReservation],
) -> ReserveResult:
    """Reserve, unless this was reserved before."""
    made = last_named(session, lineage.tracking_id, item.seq, item.id) if item.named else known.get(item.id)
    if made is None:
        return _reserve(session, item, lineages, lineage)
    if not item.named or made.fence == item.fence or made.actual is not None or item.provider_deduplicates:
        return ReserveResult(made.id, actual=made.actual)
    if not made.closed:
        close_earlier(session, lineage.tracking_id, made.id)
        lineages |= lock_lineages(session, {lineage.tracking_id})
    item = item._replace(id=f"{item.id}{BY_CLAIM}{item.fence}")
    return _reserve(session, item, lineages, lineages[lineage.tracking_id])


def _known(session: Session, wanted: Sequence[ReserveRequest]) -> dict[str, NamedReservation]:
    """Reservations that were made before, since an answer was lost: what each cost, and whether it is closed."""
    listed, values = session.members({item.id for item in wanted})
    rows = session.rows(f"SELECT id, fence, actual, closed_at FROM ramet_reservations WHERE id {listed}", (values,))
    return {found: NamedReservation(found, fence, actual, closed is not None) for found, fence, actual, closed in rows}


def _reserve(session: Session, item: ReserveRequest, lineages: dict[str, Lineage], lineage: Lineage) -> ReserveResult:
    day = day_of(session.now)
    ensure_days(session, day)
    branches, booked, limit = _in_branches(session, item, lineage)
    bounds = [lineage.cost_ceiling, *ceilings(session, day)]
    owners: dict[str, str | int | None] = {"lineage": lineage.tracking_id, "day": day, "global": None}

    def stuck_under(ceiling: Ceiling) -> int:
        return stuck_reserved(session, ceiling.name, owners[ceiling.name], item.seq, item.fence)

    refused = refusal(booked.rest.reserved, bounds[:1], session.now, stuck_under) or refusal(
        item.amount, bounds[1:], session.now, stuck_under
    )
    if limit is not None:
        owners["branch"] = limit.branch.id
        before = next(branch for branch in booked.before if branch.id == limit.branch.id)
        full = Ceiling("branch", before.spent, before.reserved, limit.limit)
        refused = refusal(item.amount, [full], session.now, stuck_under)
    if refused is not None:
        facts, retry_seconds = refused
        _store_refusal(session, item, facts, lineages)
        return ReserveResult(item.id, BlockReason.COST.value, facts, retry_seconds)
    tracking_id, now = lineage.tracking_id, session.now
    # The decision above holds by these conditions too: the last guard of promise I5.
    taken = session.run(
        "UPDATE ramet_lineages SET reserved = reserved + ? WHERE tracking_id = ? "
        "AND (max_cost IS NULL OR spent + reserved + ? <= max_cost) "
        "AND (soft_cost IS NULL OR spent + reserved + ? <= soft_cost)",
        (booked.rest.reserved, tracking_id, booked.rest.reserved, booked.rest.reserved),
    )
    taken += session.update(
        "ramet_spend",
        ("reserved = reserved + ?",),
        ("day", "spent + reserved <= ?"),
        [
            (item.amount, of, (NO_CEILING if bound.reservable is None else bound.reservable) - item.amount)
            for of, bound in zip((day, ALL_DAYS), bounds[1:], strict=True)
        ],
    )
    assert taken == 3, f"a ceiling of {tracking_id} changed inside the transaction that read it"
    enter(session, [(item.id, tracking_id, item.seq, item.fence, day, item.amount, None, now, None)])
    if branches is not None:
        branches.keep(booked)
        branches.save()
    lineages[tracking_id] = lineage._replace(reserved=lineage.reserved + booked.rest.reserved)
    return ReserveResult(item.id)


def _in_branches(
    session: Session, item: ReserveRequest, lineage: Lineage
) -> tuple[BranchBook | None, Booked, BranchLimit | None]:
    """Return the branches, what a reservation takes of them and of the lineage, and the limit that has no room.

    The first is None for a task in no branch.
    """
    wanted = Booking(reserved=item.amount)
    if not lineage.branches:
        return None, Booked((), (), wanted), None
    branches, found = open_book(session, [item.seq])
    if item.seq not in found:
        return None, Booked((), (), wanted), None
    member = found[item.seq]
    booked = book(branches.chain(member.branch), wanted)
    return branches, booked, over_limit(booked, first=member.first)


def _store_refusal(
    session: Session, item: ReserveRequest, facts: Mapping[str, Fact], lineages: dict[str, Lineage]
) -> None:
    """Store that a task was refused money, like one that was refused a spawn, as a block of itself (promise I8)."""
    [(task_id, tracking_id, chain, depth)] = load_parents(session, [item.seq]).values()
    [(kind, key)] = session.rows("SELECT kind, key FROM ramet_tasks WHERE seq = ?", (item.seq,))
    parent = Parent(task_id, tracking_id, chain, depth, 0, claim_current=True)
    blocked = Blocked(BlockReason.RESERVE, facts)
    store_blocks(session, [NewBlock(parent, NewTask(item.id, kind, key, "null"), blocked)], lineages)


def bind(session: Session, seq: int, fence: int, task_ids: Sequence[str]) -> list[BindResult]:
    """Make pending tasks claimable only through the task that holds this claim; answer in the order asked.

    The tasks may belong to any lineage. Each is refused on its own when it is not pending, is held back or bound
    already, or when its lineage does not run; all are refused when the claim is stale or its lineage is over. Deadlines
    of bound tasks run on. However the settler ends, the next sweep releases the tasks that it left unsettled.
    """
    seqs = numbers_of(session, task_ids)
    standings = load_standings(session, {seq, *seqs.values()})
    lineages = lock_lineages(session, {row.tracking_id for row in standings.values()})
    settler = standings.get(seq)
    lineage = None if settler is None else lineages[settler.tracking_id]
    why = claim_refusal(session, settler, fence, lineage)
    if why is not None:
        return [BindResult(task_id, None, why) for task_id in task_ids]
    [(settler_id, _, _, _)] = load_parents(session, [seq]).values()
    return bind_items(session, Items(session, seqs, standings, lineages), settler_id, task_ids)


def bound(session: Session, settler_id: str, *, limit: int = 1_000, after: str | None = None) -> list[BoundTask]:
    """Return the tasks that are bound to a settler now, in the order of their creation; at most 10,000.

    Args:
        after: the id of one of them: return only those behind it.
    """
    # Not OFFSET: the last page would read all of those before it.
    behind, values = "", tuple[str, ...]()
    if after is not None:
        behind, values = " AND l.seq > (SELECT seq FROM ramet_tasks WHERE id = ?)", (after,)
    rows = session.rows(
        "SELECT t.id, l.fence, t.tracking_id, t.kind, t.key, t.payload FROM ramet_live l "
        f"JOIN ramet_tasks t ON t.seq = l.seq WHERE l.bound_to = ?{behind} ORDER BY l.seq LIMIT ?",
        (settler_id, *values, max(1, min(limit, LIMIT_MAX))),
    )
    return [BoundTask._make(row) for row in rows]


def claimable(session: Session, kind: str, queue: str, *, limit: int = 1_000) -> list[str]:
    """Return the ids of tasks that could be bound now, in the order of a claim; at most 10,000.

    Nothing is reserved: another worker may take them.
    """
    rows = session.rows(
        "SELECT t.id FROM ramet_live l JOIN ramet_tasks t ON t.seq = l.seq WHERE l.queue = ? AND l.kind = ? "
        "AND l.state = 'pending' AND l.wait IS NULL AND (l.deadline_at IS NULL OR l.deadline_at > ?) "
        "ORDER BY l.rank, l.turn, l.seq LIMIT ?",
        (queue, kind, session.now, max(1, min(limit, LIMIT_MAX))),
    )
    return [task_id for (task_id,) in rows]


def bound_counts(session: Session, tracking_id: str) -> dict[str, int]:
    """Return how many tasks of a lineage are bound, by the id of their settler."""
    rows = session.rows(
        f"SELECT bound_to, COUNT(*) FROM ramet_live WHERE {live_of_lineage()} AND bound_to IS NOT NULL "
        "GROUP BY bound_to",
        (tracking_id,),
    )
    return dict(rows)


def note_wait(session: Session, seq: int, fence: int, awaited: str) -> None:
    """Store that the handler of a claim waits inside for a task; a stale claim stores nothing."""
    session.run(
        "INSERT INTO ramet_handler_waits (seq, fence, tracking_id, awaited, since) SELECT l.seq, l.fence, "
        "l.tracking_id, t.seq, CAST(? AS DOUBLE PRECISION) FROM ramet_live l JOIN ramet_tasks t ON t.id = ? "
        "WHERE l.seq = ? AND l.fence = ? AND l.state = 'processing' ON CONFLICT (seq, awaited) "
        "DO UPDATE SET fence = excluded.fence, since = excluded.since",
        (session.now, awaited, seq, fence),
    )


def forget_wait(session: Session, seq: int, fence: int) -> None:
    """Remove what :func:`note_wait` stored of this claim."""
    session.run("DELETE FROM ramet_handler_waits WHERE seq = ? AND fence = ?", (seq, fence))
