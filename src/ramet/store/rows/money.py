"""Booking money: sums on the lineage's row and per UTC day, one row for every reservation and charge (DESIGN §8).

The sums change in the transaction that changes what they sum up, so a ceiling is judged by one row. Settling never
looks at the task, the claim or the lineage: what was spent is booked (promise I2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.model.money import (
    ALL_DAYS,
    DAY_SETTING,
    DAY_SOFT_SETTING,
    GLOBAL_SETTING,
    GLOBAL_SOFT_SETTING,
    ActualCost,
    BookedCost,
    Ceiling,
    Charge,
    Costs,
    KindCost,
    LineageCost,
    TaskCost,
    day_of,
)
from ramet.store.rows.branches import book_money
from ramet.store.rows.lineages import lock_lineages
from ramet.store.session import Session

LIMIT_MAX = 1_000
LOOKS_MAX = 20_000
"""Most calls of a lineage, the latest, that are read for the cost of its kinds and tasks."""
_RESERVATION = ("id", "tracking_id", "seq", "fence", "day", "amount", "actual", "reserved_at", "settled_at")
SPENT = "CASE WHEN settled_at IS NOT NULL THEN actual WHEN closed_at IS NOT NULL THEN amount ELSE 0 END"
RESERVED = "CASE WHEN settled_at IS NULL AND closed_at IS NULL THEN amount ELSE 0 END"


def enter(session: Session, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert reservations and charges."""
    session.insert("ramet_reservations", _RESERVATION, rows)


def _move(session: Session, rows: Sequence[Sequence[int]]) -> None:
    """Add (spent, reserved) to the sums of a day."""
    session.update("ramet_spend", ("spent = spent + ?", "reserved = reserved + ?"), ("day",), rows)


class _Sums:
    """Amounts that a batch adds to sums, by lineage and by day."""

    def __init__(self, held: Mapping[str, Lineage]) -> None:
        self._branched_lineages = {name for name, row in held.items() if row.branches}
        self._branched: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
        """Spent and reserved amounts of tasks in lineages with branches, by number."""
        self.lineages: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.days: dict[int, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, row: _Row, spent: int, reserved: int, over: int = 0) -> None:
        tracking_id, day = row.tracking_id, row.day
        if tracking_id in self._branched_lineages:
            before = self._branched[row.seq]
            self._branched[row.seq] = (before[0] + spent, before[1] + reserved)
        for at, amount in enumerate((spent, reserved, over)):
            self.lineages[tracking_id][at] += amount
        for name in (day, ALL_DAYS):
            self.days[name][0] += spent
            self.days[name][1] += reserved

    def write(self, session: Session) -> None:
        if self._branched:
            for tracking_id, more in book_money(session, self._branched).items():
                self.lineages[tracking_id][1] += more
        session.update(
            "ramet_lineages",
            ("spent = spent + ?", "reserved = reserved + ?", "under_reserved = under_reserved + ?"),
            ("tracking_id",),
            [(*sums, tracking_id) for tracking_id, sums in sorted(self.lineages.items())],
        )
        if self.days:
            hold_sums(session)
        _move(session, [(*sums, day) for day, sums in sorted(self.days.items())])


class _Row(NamedTuple):
    id: str
    tracking_id: str
    seq: int
    day: int
    amount: int
    actual: int | None
    closed_at: float | None
    settled_at: float | None


_COLUMNS = ", ".join(_Row._fields)


def ceilings(session: Session, day: int) -> tuple[Ceiling, Ceiling]:
    """Return the sums and ceilings of a day and of the whole database."""
    most = {
        key: int(value)
        for key, value in session.rows(
            "SELECT key, value FROM ramet_settings WHERE key IN (?, ?, ?, ?)",
            (DAY_SETTING, GLOBAL_SETTING, DAY_SOFT_SETTING, GLOBAL_SOFT_SETTING),
        )
    }
    sums = {
        of: (spent, reserved)
        for of, spent, reserved in session.rows(
            "SELECT day, spent, reserved FROM ramet_spend WHERE day IN (?, ?)", (day, ALL_DAYS)
        )
    }
    return (
        Ceiling("day", *sums.get(day, (0, 0)), most.get(DAY_SETTING), most.get(DAY_SOFT_SETTING)),
        Ceiling("global", *sums.get(ALL_DAYS, (0, 0)), most.get(GLOBAL_SETTING), most.get(GLOBAL_SOFT_SETTING)),
    )


def settle_reserved(session: Session, actuals: Sequence[ActualCost]) -> list[BookedCost]:
    """Book what reserved calls really cost; the first amount given for a reservation stays.

    Never refused: not after the claim, the task or the lineage ended. Keyed by reservation, so repeating it changes
    nothing. An amount above the reserved one is booked in full and raises the lineage's ``under_reserved`` (promise
    I2).
    """
    lineages, rows = _hold(session, {item.id for item in actuals})
    sums, settled, answers = _Sums(lineages), [], []
    for item in actuals:
        row = rows.get(item.id)
        if row is None:
            answers.append(BookedCost(item.id, None))
            continue
        if row.settled_at is None:
            # Closed by the end of its task, it counts as spent already.
            spent, reserved = (row.amount, 0) if row.closed_at is not None else (0, row.amount)
            over = max(0, item.amount - row.amount)
            sums.add(row, item.amount - spent, -reserved, over)
            rows[item.id] = row = row._replace(actual=item.amount, settled_at=session.now)
            settled.append((item.amount, session.now, item.id))
        assert row.actual is not None
        answers.append(BookedCost(item.id, row.actual, max(0, row.actual - row.amount)))
    session.update("ramet_reservations", ("actual", "settled_at"), ("id",), settled)
    sums.write(session)
    return answers


def _hold(session: Session, ids: Iterable[str]) -> tuple[dict[str, Lineage], dict[str, _Row]]:
    """Hold reservations and their lineages, which come first in the order of locks; return both, by id."""
    listed, values = session.members(sorted(ids))
    of = session.rows(f"SELECT tracking_id FROM ramet_reservations WHERE id {listed}", (values,))
    lineages = lock_lineages(session, {tracking_id for (tracking_id,) in of})
    found = session.rows(
        f"SELECT {_COLUMNS} FROM ramet_reservations WHERE id {listed} ORDER BY id{session.for_update}",
        (values,),
    )
    return lineages, {row[0]: _Row._make(row) for row in found}


def close_earlier(session: Session, tracking_id: str, reservation_id: str) -> None:
    """Count what an earlier claim left open as spent until it is settled, whose call may have been made.

    Args:
        session: the transaction, which holds the row of the lineage.
        tracking_id: of that lineage.
        reservation_id: open.
    """
    lineages, rows = _hold(session, {reservation_id})
    row = rows[reservation_id]
    assert row.tracking_id == tracking_id, f"reservation {reservation_id} belongs to {row.tracking_id}"
    _close(session, [row], lineages)


class NamedReservation(NamedTuple):
    """The last reservation of a named call."""

    id: str
    fence: int
    actual: int | None
    closed: bool


def last_named(session: Session, tracking_id: str, seq: int, name: str) -> NamedReservation | None:
    """Return the last reservation of a task's call; every claim of the task may have made one.

    Args:
        name: the id of the first; those of later claims begin with it.
    """
    rows = session.rows(
        "SELECT id, fence, actual, closed_at FROM ramet_reservations WHERE tracking_id = ? AND seq = ? "
        "AND (id = ? OR SUBSTR(id, 1, CAST(? AS INTEGER)) = ?) ORDER BY fence DESC LIMIT 1",
        (tracking_id, seq, name, len(name) + 1, f"{name}{BY_CLAIM}"),
    )
    return next((NamedReservation(found, fence, actual, closed is not None) for found, fence, actual, closed in rows),
                None)  # fmt: skip


BY_CLAIM = "~"
"""Text before the fence in the id of a named reservation that a later claim made."""

_OF_CEILING = {
    "lineage": "r.tracking_id = ?",
    "day": "r.day = ?",
    "global": "1 = 1",
    "branch": "r.seq IN (SELECT m.seq FROM ramet_branch_tasks m WHERE m.branch IN (WITH RECURSIVE below (id) AS ("
    "SELECT id FROM ramet_branches WHERE id = ? UNION SELECT b.id FROM below JOIN ramet_branches b "
    "ON b.parent = below.id) SELECT id FROM below))",
}


def stuck_reserved(session: Session, ceiling: str, of: str | int | None, seq: int, fence: int) -> int:
    """Return how much is reserved under a ceiling by tasks that wait for money themselves.

    These are tasks whose last attempt was put off for a ceiling, and the one that asks now with what its earlier claims
    left open.

    Args:
        ceiling: its name.
        of: the tracking_id, day or branch whose it is; None for the database's.
        seq: number of the task that asks.
        fence: of its claim.
    """
    scope = _OF_CEILING[ceiling]
    [(amount,)] = session.rows(
        f"SELECT COALESCE(SUM(r.amount), 0) FROM ramet_reservations r WHERE r.settled_at IS NULL "
        f"AND r.closed_at IS NULL AND {scope} AND ((r.seq = ? AND r.fence < ?) OR (r.seq <> ? AND EXISTS ("
        "SELECT 1 FROM ramet_attempts a WHERE a.seq = r.seq AND a.fence >= r.fence AND a.outcome = 'snooze' "
        "AND a.reason = 'cost' AND a.reason_facts IS NOT NULL "
        "AND a.fence = (SELECT MAX(b.fence) FROM ramet_attempts b WHERE b.seq = r.seq))))",
        (*(() if of is None else (of,)), seq, fence, seq),
    )
    return int(amount)


def close_open(session: Session, seqs: Iterable[int], lineages: Mapping[str, Lineage]) -> None:
    """Count the open reservations of tasks that end as spent until they are settled.

    Args:
        session: the transaction.
        seqs: numbers of the tasks.
        lineages: of the tasks, as their rows are, which are held.
    """
    listed, values = session.members(seqs)
    found = session.rows(
        f"SELECT {_COLUMNS} FROM ramet_reservations WHERE seq {listed} AND settled_at IS NULL AND closed_at IS NULL",
        (values,),
    )
    _close(session, [_Row._make(row) for row in found], lineages)


def _close(session: Session, rows: Sequence[_Row], lineages: Mapping[str, Lineage]) -> None:
    """Count these open reservations as spent until they are settled."""
    sums = _Sums(lineages)
    for row in rows:
        sums.add(row, row.amount, -row.amount)
    session.update("ramet_reservations", ("closed_at",), ("id",), [(session.now, row.id) for row in rows])
    sums.write(session)


def book_charges(
    session: Session, charges: Sequence[tuple[int, int, str, Charge]], lineages: dict[str, Lineage]
) -> int:
    """Book what settlements charge, as (task number, fence, tracking_id, charge); ``lineages`` is brought up to date.

    Returns:
        The amounts to add to the sums of the database, once everything else is written.

    It was spent already, so it is booked in full: what passes the lineage's ceiling raises ``under_reserved``.
    """
    day, now = day_of(session.now), session.now
    enter(
        session,
        [(charge.id, tracking_id, seq, fence, day, 0, charge.amount, now, now)
         for seq, fence, tracking_id, charge in charges],
    )  # fmt: skip
    by_lineage: dict[str, int] = defaultdict(int)
    branched: dict[int, tuple[int, int]] = {}
    for seq, _, tracking_id, charge in charges:
        by_lineage[tracking_id] += charge.amount
        if lineages[tracking_id].branches:
            branched[seq] = (branched.get(seq, (0, 0))[0] + charge.amount, 0)
    set_aside = book_money(session, branched) if branched else {}
    for tracking_id, amount in sorted(by_lineage.items()):
        row = lineages[tracking_id]
        row = row._replace(reserved=row.reserved + set_aside.get(tracking_id, 0))
        under = row.under_reserved
        if row.max_cost is not None:
            under = max(under, row.spent + amount + row.reserved - row.max_cost)
        lineages[tracking_id] = row = row._replace(spent=row.spent + amount, under_reserved=under)
        session.run(
            "UPDATE ramet_lineages SET spent = ?, reserved = ?, under_reserved = ? WHERE tracking_id = ?",
            (row.spent, row.reserved, row.under_reserved, tracking_id),
        )
    return sum(by_lineage.values())


def add_to_sums(session: Session, spent: int) -> None:
    """Add what was charged to the sums of the day and of all days. Last of all, for everybody wants those rows."""
    if spent:
        day = day_of(session.now)
        ensure_days(session, day)
        _move(session, [(spent, 0, day), (spent, 0, ALL_DAYS)])


def hold_sums(session: Session) -> None:
    """Lock the sums of the database until this transaction ends: every change moves that of all days."""
    session.rows(f"SELECT day FROM ramet_spend WHERE day = ?{session.for_update}", (ALL_DAYS,))


def ensure_days(session: Session, day: int) -> None:
    """Ensure that the rows of a day and of all days exist, and lock them until the transaction ends."""
    session.insert("ramet_spend", ("day", "spent", "reserved"), [(day, 0, 0), (ALL_DAYS, 0, 0)], key=("day",))
    hold_sums(session)


def costs(session: Session, tracking_id: str | None = None, *, limit: int = 100) -> Costs:
    """Return what was spent and reserved on the present UTC day, in the database and by lineage.

    With ``tracking_id``, also by kind and task, which walks the lineage's own rows.
    """
    day, total = ceilings(session, day_of(session.now))
    most = max(1, min(limit, LIMIT_MAX))
    columns = "tracking_id, spent, reserved, max_cost, under_reserved, soft_cost"
    if tracking_id is None:
        rows = session.rows(
            f"SELECT {columns} FROM ramet_lineages INDEXED BY ramet_lineages_by_cost WHERE spent + reserved > 0 "
            "ORDER BY spent + reserved DESC LIMIT ?",
            (most,),
        )
        return Costs(day, total, tuple(map(LineageCost._make, rows)))
    rows = session.rows(f"SELECT {columns} FROM ramet_lineages WHERE tracking_id = ?", (tracking_id,))
    calls = (
        f"(SELECT seq, {SPENT} AS spent, {RESERVED} AS reserved FROM ramet_reservations WHERE tracking_id = ? "
        "ORDER BY seq DESC LIMIT ?) r JOIN ramet_tasks t ON t.seq = r.seq"
    )
    kinds = session.rows(
        f"SELECT t.kind, COUNT(*), SUM(r.spent), SUM(r.reserved) FROM {calls} GROUP BY t.kind ORDER BY 3 DESC, 1",
        (tracking_id, LOOKS_MAX),
    )
    tasks = session.rows(
        f"SELECT t.id, t.kind, t.key, COUNT(*), SUM(r.spent), SUM(r.reserved) FROM {calls} "
        "GROUP BY t.id, t.kind, t.key ORDER BY 5 DESC, 1 LIMIT ?",
        (tracking_id, LOOKS_MAX, most),
    )
    beyond = session.rows(
        "SELECT 1 FROM ramet_reservations WHERE tracking_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
        (tracking_id, LOOKS_MAX),
    )
    return Costs(
        day,
        total,
        tuple(map(LineageCost._make, rows)),
        tuple(map(KindCost._make, kinds)),
        tuple(map(TaskCost._make, tasks)),
        bool(beyond),
    )
