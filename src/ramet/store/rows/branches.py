"""Rows of branches: what is set aside in a lineage, and the tasks that are in a branch.

Every change is made under the lock of the lineage's row. A lineage without branches asks for nothing here
(``Lineage.branches``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ramet.model.lineage.branches import Booked, Booking, Branch, book, deadline_of, reopened
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import Standing
from ramet.store.session import Session

BRANCH_LIST = ", ".join(Branch._fields)
_SUMS = ("tasks", "live", "spent", "reserved", "max_tasks", "max_cost", "keep_cost")


class Member(NamedTuple):
    """A task in a branch."""

    branch: str
    first: bool
    """True for the branch's first task, and for later stages of it."""


def members(session: Session, seqs: Collection[int]) -> dict[int, Member]:
    """Return the innermost branch of tasks by number; one that is in none is absent."""
    listed, values = session.members(seqs)
    found = session.rows(f"SELECT seq, branch, first FROM ramet_branch_tasks WHERE seq {listed}", (values,))
    return {seq: Member(branch, bool(first)) for seq, branch, first in found}


def members_by_id(session: Session, ids: Collection[str]) -> dict[str, Member]:
    """Return the innermost branch of tasks by id; one that is in none is absent."""
    listed, values = session.members(sorted(ids))
    found = session.rows(
        "SELECT t.id, b.branch, b.first FROM ramet_tasks t JOIN ramet_branch_tasks b ON b.seq = t.seq "
        f"WHERE t.id {listed}",
        (values,),
    )
    return {task_id: Member(branch, bool(first)) for task_id, branch, first in found}


class BranchBook:
    """The branches of one transaction, as they are after everything that it booked."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, Branch] = {}
        self._changed: dict[str, Branch] = {}
        self._new: set[str] = set()

    def load(self, names: Iterable[str]) -> None:
        """Read these branches and those around them."""
        wanted = sorted({*names} - self._known.keys())
        if not wanted:
            return
        listed, values = self._session.members(wanted)
        columns = ", ".join(f"p.{name}" for name in Branch._fields)
        found = self._session.rows(
            f"WITH RECURSIVE around ({BRANCH_LIST}) AS (SELECT {BRANCH_LIST} FROM ramet_branches WHERE id {listed} "
            f"UNION SELECT {columns} FROM around a JOIN ramet_branches p ON p.id = a.parent) "
            f"SELECT {BRANCH_LIST} FROM around",
            (values,),
        )
        for row in found:
            branch = Branch._make(row)
            self._known.setdefault(branch.id, branch)

    def chain(self, name: str | None) -> tuple[Branch, ...]:
        """Return a branch and those around it, from the inside; empty for None."""
        found: list[Branch] = []
        while name is not None:
            found.append(self._known[name])
            name = found[-1].parent
        return tuple(found)

    def keep(self, booked: Booked) -> None:
        """Book it."""
        for before, after in zip(booked.before, booked.after, strict=True):
            if after.id not in self._known:
                self._new.add(after.id)
            if after != before or after.id in self._new:
                self._changed[after.id] = self._known[after.id] = after

    def save(self) -> None:
        """Write what was booked. The table's own CHECK refuses to pass ``max_tasks``: the last guard of I5."""
        new = [row for name, row in self._changed.items() if name in self._new]
        old = [row for name, row in sorted(self._changed.items()) if name not in self._new]
        self._session.insert("ramet_branches", Branch._fields, new)
        values = [(*(getattr(row, name) for name in _SUMS), row.id) for row in old]
        self._session.update("ramet_branches", _SUMS, ("id",), values)
        self._changed, self._new = {}, set()


def open_book(session: Session, seqs: Collection[int]) -> tuple[BranchBook, dict[int, Member]]:
    """Load the branches of tasks and those around them; return them, and where each task is, as :func:`members`."""
    found = members(session, seqs)
    branches = BranchBook(session)
    branches.load({member.branch for member in found.values()})
    return branches, found


def add_members(session: Session, rows: Sequence[tuple[int, str, str, int]]) -> None:
    """Write number, tracking_id, branch, and 1 for the first task, of new tasks in branches."""
    session.insert("ramet_branch_tasks", ("seq", "tracking_id", "branch", "first"), rows)


def add_to_lineages(session: Session, sums: Mapping[str, Booking], branches: Mapping[str, int] | None = None) -> None:
    """Add to the sums of lineages what branches take of them or give back, and to the numbers of their branches."""
    more = branches or {}
    rows = [
        (each.tasks, each.spent, each.reserved, more.get(name, 0), name)
        for name, each in sorted(sums.items())
        if each.tasks or each.spent or each.reserved or more.get(name)
    ]
    changes = tuple(f"{name} = {name} + ?" for name in ("tasks", "spent", "reserved", "branches"))
    session.update("ramet_lineages", changes, ("tracking_id",), rows)


def count_live(session: Session, changes: Mapping[int, int], lineages: Mapping[str, Lineage]) -> None:
    """Tasks ended or were revived: a branch without live tasks gives back what is left, a revived one takes it again.

    Args:
        session: the transaction, which holds the rows of the lineages and has written everything else of them.
        changes: by number, -1 for a task that ended and 1 for one that was revived.
        lineages: that have branches, as their rows were before.
    """
    found = members(session, changes)
    if not found:
        return
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for seq, member in found.items():
        counts[member.branch][changes[seq] > 0] += changes[seq]
    branches = BranchBook(session)
    branches.load(counts)
    sums: dict[str, Booking] = {}
    for name, (ended, revived) in sorted(counts.items()):
        chain = branches.chain(name)
        lineage = lineages[chain[0].tracking_id]
        if revived and any(not branch.live for branch in chain):
            ceiling = lineage.cost_ceiling
            left = None if ceiling.reservable is None else ceiling.reservable - ceiling.spent - ceiling.reserved
            chain = reopened(chain, lineage.max_tasks - lineage.tasks, left)
        booked = book(chain, Booking(live=ended + revived))
        branches.keep(booked)
        sums[lineage.tracking_id] = sums.get(lineage.tracking_id, Booking()).plus(booked.rest)
    branches.save()
    add_to_lineages(session, sums)


def book_money(session: Session, wanted: Mapping[int, tuple[int, int]]) -> dict[str, int]:
    """Book money in the branches of tasks.

    Args:
        session: the transaction, which holds the rows of the lineages.
        wanted: by number of the task, what is spent and what is reserved, more or less.

    Returns:
        By tracking_id, how much more has to be added to what the lineage has reserved than the amounts say: a branch
        with a part of its own has reserved it already.
    """
    branches, found = open_book(session, wanted)
    more: dict[str, int] = defaultdict(int)
    for seq, member in sorted(found.items()):
        spent, reserved = wanted[seq]
        chain = branches.chain(member.branch)
        booked = book(chain, Booking(spent=spent, reserved=reserved))
        branches.keep(booked)
        more[chain[0].tracking_id] += booked.rest.reserved - reserved
    branches.save()
    return more


def bound_of(session: Session, standing: Standing, lineage: Lineage) -> float:
    """Return the deadline that bounds a task, whatever time of its own it has: its lineage's, or that of its branch."""
    until = lineage.deadline_at
    if not lineage.branches:
        return until
    return min(until, deadlines(session, [standing.seq]).get(standing.seq, until))


def deadlines(session: Session, seqs: Collection[int]) -> dict[int, float]:
    """Return the deadlines that branches give to tasks below their first ones, by number."""
    branches, found = open_book(session, seqs)
    until: dict[int, float] = {}
    for seq, member in found.items():
        chain = branches.chain(member.branch)
        deadline_at = deadline_of(chain[1:] if member.first else chain)
        if deadline_at is not None:
            until[seq] = deadline_at
    return until
