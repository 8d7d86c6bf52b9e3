"""Branches: a part of what a lineage has, set aside for a task and all that grows below it (DESIGN §4, "Branches").

A branch takes its part from what surrounds it (another branch, or the lineage) when its first task is created, and
gives back what is left when its last live task ends. Everything that is booked in a branch is booked through
:func:`book`, level by level from the inside: a level that has set its part aside passes nothing on until it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple, Self

from ramet.model.money import amount_of
from ramet.model.values import SECONDS_LEAST, seconds, whole


class Budget(NamedTuple):
    """A part of what its lineage has, for a task and all that grows below it.

    The part is taken from the lineage (or from the branch that the task is created in) together with the task, so that
    nothing outside can use it; what is left returns when the last task of the branch has ended. A spawn whose part is
    not there is refused.
    """

    max_tasks: int | None = None
    """Tasks of the branch, its first one included; None takes each from what surrounds the branch."""
    max_cost: int | None = None
    """Nano-dollars that the branch may spend and reserve together; also a Decimal of dollars, or text with a unit
    (:func:`ramet.dollars`). None takes each amount from what surrounds the branch."""
    keep_cost: int = 0
    """Part of ``max_cost`` that only the first task itself may use: for the answer that it makes from its children's
    results.
    """
    max_spawn_depth: int | None = None
    """Depth to which the branch may grow below its first task; 0 for no children."""
    seconds: float | None = None
    """Seconds from the first task's availability to the deadline of all tasks below it."""

    def checked(self) -> Self:
        """Return it with its amounts in nano-dollars.

        Raises:
            ValueError: a number is out of range, ``keep_cost`` is more than ``max_cost``, or nothing is bounded.
        """
        if self.max_tasks is not None:
            whole("max_tasks of the budget", self.max_tasks, least=1)
        if self.max_spawn_depth is not None:
            whole("max_spawn_depth of the budget", self.max_spawn_depth)
        if self.seconds is not None:
            seconds("seconds of the budget", self.seconds, least=SECONDS_LEAST)
        most = None if self.max_cost is None else amount_of(self.max_cost, "max_cost of the budget is")
        kept = amount_of(self.keep_cost, "keep_cost of the budget is")
        if kept > (most or 0):
            raise ValueError("keep_cost of the budget is a part of its max_cost: give a max_cost of at least that")
        if self == Budget():
            raise ValueError("the budget bounds nothing: give max_tasks, max_cost, max_spawn_depth or seconds")
        return self._replace(max_cost=most, keep_cost=kept)


class Branch(NamedTuple):
    """A branch as its row keeps it. The part that it has set aside is its own from its first task to its last."""

    id: str
    """Id of its first task."""
    tracking_id: str
    parent: str | None
    """The branch around it; None where that is the lineage."""
    max_tasks: int | None
    max_cost: int | None
    keep_cost: int
    max_spawn_depth: int | None
    """Largest depth in the lineage."""
    deadline_at: float | None
    """Deadline of the tasks below the first one, Unix seconds."""
    tasks: int = 0
    """Places taken, those that branches in it have set aside included."""
    live: int = 0
    """Live tasks, those of branches in it included; at 0 it has ended, unless one of its tasks is revived."""
    spent: int = 0
    """Nano-dollars booked."""
    reserved: int = 0
    """Nano-dollars kept for calls under way, and what branches in it have set aside."""

    @property
    def held_tasks(self) -> int:
        """Places that it takes of what surrounds it."""
        return self.tasks if self.max_tasks is None or not self.live else self.max_tasks

    @property
    def held_cost(self) -> int:
        """Nano-dollars that it keeps reserved of what surrounds it; after an overrun, what is under way in it."""
        if self.max_cost is None or not self.live:
            return self.reserved
        return max(self.max_cost - self.spent, self.reserved)


class Booking(NamedTuple):
    """Amounts added to the sums of a level."""

    tasks: int = 0
    live: int = 0
    spent: int = 0
    reserved: int = 0

    def plus(self, other: Booking) -> Booking:
        """Return the sum of both."""
        return Booking(*map(add, self, other))


class Booked(NamedTuple):
    """A booking in every branch around it."""

    before: tuple[Branch, ...]
    """Levels before the booking, the innermost first."""
    after: tuple[Branch, ...]
    rest: Booking
    """Amounts added to the lineage's own sums."""


def new_branch(
    task_id: str, tracking_id: str, parent: str | None, budget: Budget, *, spawn_depth: int, available_at: float
) -> Branch:
    """Return the branch of a new task, in which nothing is booked yet; booking the task takes its part.

    Args:
        task_id: of the task.
        tracking_id: of its lineage.
        parent: id of the branch around it.
        budget: its part.
        spawn_depth: of the task.
        available_at: of the task, Unix seconds.
    """
    depth, time = budget.max_spawn_depth, budget.seconds
    return Branch(
        id=task_id,
        tracking_id=tracking_id,
        parent=parent,
        max_tasks=budget.max_tasks,
        max_cost=budget.max_cost,
        keep_cost=budget.keep_cost,
        max_spawn_depth=None if depth is None else spawn_depth + depth,
        deadline_at=None if time is None else available_at + time,
    )


def book(chain: Sequence[Branch], wanted: Booking) -> Booked:
    """Add to the sums of a branch and of all around it.

    Args:
        chain: the branches, from the inside.
        wanted: what is added in the innermost one.
    """
    after: list[Branch] = []
    for branch in chain:
        moved = branch._replace(
            tasks=branch.tasks + wanted.tasks,
            live=branch.live + wanted.live,
            spent=branch.spent + wanted.spent,
            reserved=branch.reserved + wanted.reserved,
        )
        after.append(moved)
        wanted = wanted._replace(
            tasks=moved.held_tasks - branch.held_tasks, reserved=moved.held_cost - branch.held_cost
        )
    return Booked((*chain,), (*after,), wanted)


class BranchLimit(NamedTuple):
    """A limit of a branch that leaves no room."""

    branch: Branch
    name: str
    """``max_tasks``, ``max_cost``, ``max_spawn_depth`` or ``seconds``."""
    value: int
    """Sum of what is bounded, before the booking; 0 for ``seconds``."""
    limit: int


def over_limit(booked: Booked, *, first: bool = False) -> BranchLimit | None:
    """Return the innermost limit of tasks or money that a booking would pass; None where all have room.

    Args:
        booked: the booking.
        first: True for the first task of the innermost branch, which may use what that keeps for it.
    """
    for before, after in zip(booked.before, booked.after, strict=True):
        if after.max_tasks is not None and after.tasks > max(after.max_tasks, before.tasks):
            return BranchLimit(after, "max_tasks", before.tasks, after.max_tasks)
        used, uses = before.spent + before.reserved, after.spent + after.reserved
        if after.max_cost is not None:
            most = after.max_cost if first and after is booked.after[0] else after.max_cost - after.keep_cost
            if uses > max(most, used):
                return BranchLimit(after, "max_cost", used, most)
    return None


def beyond_limit(chain: Sequence[Branch], spawn_depth: int, now: float) -> BranchLimit | None:
    """Return the innermost limit of depth or time that a new task would pass; None where there is none.

    Args:
        chain: the branches around it, from the inside.
        spawn_depth: of the task.
        now: Unix seconds.
    """
    for branch in chain:
        if branch.max_spawn_depth is not None and spawn_depth > branch.max_spawn_depth:
            return BranchLimit(branch, "max_spawn_depth", spawn_depth, branch.max_spawn_depth)
        if branch.deadline_at is not None and now >= branch.deadline_at:
            return BranchLimit(branch, "seconds", 0, 0)
    return None


def deadline_of(chain: Sequence[Branch]) -> float | None:
    """Return the earliest deadline of some branches; None where none has any."""
    return min((branch.deadline_at for branch in chain if branch.deadline_at is not None), default=None)


def reopened(chain: Sequence[Branch], tasks_left: int, cost_left: int | None) -> tuple[Branch, ...]:
    """Return branches as they are before one of their tasks is revived: with no more than what is left around them.

    A branch that had ended gave back what was left of its part. It takes that again as far as it is still there.

    Args:
        chain: the branches, from the inside.
        tasks_left: places that the lineage has left.
        cost_left: nano-dollars that the lineage has left; None without a ceiling.
    """
    found: list[Branch] = []
    for branch in reversed(chain):
        found.append(branch if branch.live else _shrunk(branch, tasks_left, cost_left))
        if found[-1].max_tasks is not None:
            tasks_left = found[-1].max_tasks - branch.tasks
        if found[-1].max_cost is not None:
            cost_left = found[-1].max_cost - branch.spent - branch.reserved
    return tuple(reversed(found))


def _shrunk(branch: Branch, tasks_left: int, cost_left: int | None) -> Branch:
    if branch.max_tasks is not None:
        branch = branch._replace(max_tasks=min(branch.max_tasks, branch.tasks + max(0, tasks_left)))
    if branch.max_cost is not None and cost_left is not None:
        most = min(branch.max_cost, branch.spent + branch.reserved + max(0, cost_left))
        branch = branch._replace(max_cost=most, keep_cost=min(branch.keep_cost, most))
    return branch
