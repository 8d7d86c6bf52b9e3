"""What DESIGN §7 says about order, in lists and loops: no database, no indexes, nothing of the engine's code.

Everything happens at once, and every question is answered by looking at everything. What workers and people do is in
:mod:`tests.paths.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LIVE = ("pending", "processing")

Path = tuple[str, ...]


def conflict(a: Path, b: Path) -> bool:
    """Neither may run beside the other: as far as both go, they are the same."""
    return bool(a) and bool(b) and all(mine == theirs for mine, theirs in zip(a, b, strict=False))


def is_below(path: Path, prefix: Path) -> bool:
    """True when it goes on where the other one ends."""
    return len(path) > len(prefix) > 0 and conflict(path, prefix)


class Wish(NamedTuple):
    """A task that somebody wants."""

    name: str
    path: Path
    queue: str = "q"
    delay_seconds: float = 0.0
    reserved: bool = False
    scope: str = "queue"
    on_dependency_failure: str = "skip"
    max_attempts: int = 4
    task_seconds: float | None = None

    def __str__(self) -> str:
        """What is not as usual, for people."""
        path = [element if len(element) < 20 else f"{element[0]}*{len(element)}" for element in self.path]
        usual = self._field_defaults
        rest = [f"{name}={value}" for name, value in self._asdict().items() if name in usual and value != usual[name]]
        return f"{self.name}({', '.join([str(path), *rest])})"


@dataclass
class Line:
    """A lineage."""

    name: str
    state: str = "running"
    paused_at: float = 0.0


@dataclass
class Task:
    """A task, with its place in order."""

    wish: Wish
    line: Line
    number: int
    available_at: float
    state: str = "pending"
    reason: str | None = None
    ticket: int | None = None
    """None before it has its first one, after it gave one up, and after its end."""
    returned_at: float | None = None
    """When it first went back to pending under this ticket."""
    behind: set[str] = field(default_factory=set)
    """Who gave a ticket up that this one stood behind, and has no new one yet."""
    was_ticket: int = 0
    """The last one that it gave up, or had when it was skipped."""
    because: str | None = None
    """Whose failure had it skipped."""
    fence: int = 0
    lease_until: float = 0.0
    attempts: int = 0
    losses: int = 0
    chain_depth: int = 0
    progressed: bool = False
    started_at: float | None = None
    deadline_at: float | None = None

    @property
    def name(self) -> str:
        return self.wish.name

    @property
    def path(self) -> Path:
        return self.wish.path

    @property
    def live(self) -> bool:
        return self.state in LIVE

    @property
    def place(self) -> int:
        """Its ticket, or the one that it gave up last."""
        return self.was_ticket if self.ticket is None else self.ticket


class Hold(NamedTuple):
    """The ticket of a task that was ended from outside, while a worker may still run it."""

    task: Task
    fence: int
    ticket: int
    until: float
    failed: bool
    """Whether those below it are skipped when the ticket goes."""


class Left(NamedTuple):
    """Where a task stood that has left."""

    task: Task
    ticket: int | None
    place: int
    behind: frozenset[str]

    def before(self, other: Task) -> bool:
        """Whether a task further down its path waited for it: in line, behind it, or with it behind somebody else."""
        if self.task.name in other.behind:
            return True
        if self.ticket is None:
            return bool(self.behind & other.behind) and self.place < other.place
        return other.ticket is not None and self.ticket < other.ticket


class Order:
    """All tasks, the one clock, and who comes before whom."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.tasks: dict[str, Task] = {}
        self.lines: dict[str, Line] = {}
        self.holds: list[Hold] = []
        self.paused_queues: set[str] = set()
        self._numbers = 0

    # --- who stands where

    def line(self) -> list[tuple[int, Task, Task | None]]:
        """All live tickets in order, each with the latest before it that conflicts: that one it waits for."""
        tickets = [(task.ticket, task) for task in self.tasks.values() if task.ticket is not None]
        tickets += [(hold.ticket, hold.task) for hold in self.holds]
        tickets.sort(key=lambda item: item[0])
        return [(ticket, task, self._before(task, tickets[:at])) for at, (ticket, task) in enumerate(tickets)]

    def _before(self, task: Task, tickets: Sequence[tuple[int, Task]]) -> Task | None:
        return next((other for _, other in reversed(tickets) if self.meet(task, other)), None)

    def first(self) -> set[str]:
        """Those that hold their paths: nobody before them conflicts."""
        return {task.name for _, task, before in self.line() if before is None and task.ticket is not None}

    def claimable(self) -> list[Task]:
        first = self.first()
        return [task for task in self.tasks.values() if self._ready(task) and (not task.path or task.name in first)]

    def _ready(self, task: Task) -> bool:
        """It may run, as far as paths do not matter."""
        if task.state != "pending" or task.available_at > self.now or task.line.state != "running":
            return False
        return task.wish.queue not in self.paused_queues

    def meet(self, a: Task, b: Task) -> bool:
        return self._together(a, b) and conflict(a.path, b.path)

    def _below(self, task: Task) -> list[Task]:
        """Live tasks properly below a task's path, in order of their places."""
        found = [
            other
            for other in self.tasks.values()
            if other.live and self._together(other, task) and is_below(other.path, task.path)
        ]
        return sorted(found, key=lambda other: other.place)

    def _together(self, a: Task, b: Task) -> bool:
        """Paths meet within a queue; those with the scope of a lineage within that one only."""
        same = a.wish.queue == b.wish.queue and a.wish.scope == b.wish.scope
        return same and (a.wish.scope == "queue" or a.line is b.line)

    def _draw(self) -> int:
        self._numbers += 1
        return self._numbers

    # --- tickets that are given up (those behind it follow in their old order)

    def give_up(self, task: Task) -> None:
        """Whoever stands behind this ticket, below its path, is to come after the next one."""
        self._lay_down(task)
        self._look()

    def _lay_down(self, task: Task) -> None:
        """Those who are to come after somebody that it comes after itself keep their order with it anyway."""
        assert task.ticket is not None, "nobody gives up what it has not"
        for other in self._below(task):
            if other.ticket is not None and other.ticket > task.ticket and not other.behind & task.behind:
                other.behind.add(task.name)
        task.was_ticket, task.ticket, task.returned_at = task.ticket, None, None

    def _look(self) -> None:
        """One that is to come after somebody without a ticket lays its own down as soon as it would be its turn."""
        while any(task.behind and task.ticket is not None for task in self.tasks.values()):
            turns = [self.tasks[name] for name in self.first() if self.tasks[name].behind]
            if not turns:
                return
            self._lay_down(min(turns, key=lambda task: task.place))

    def _take_ticket(self, task: Task) -> None:
        task.ticket, task.returned_at = self._draw(), None

    def follow(self, tasks: Sequence[Task]) -> None:
        """Those that wait behind these, who have new tickets, come after them in their old order."""
        self._follow(tasks)
        self._look()

    def _follow(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            came = []
            for other in self._behind(task):
                other.behind.remove(task.name)
                if not other.behind:
                    self._take_ticket(other)
                    came.append(other)
                elif other.ticket is not None:
                    self._lay_down(other)
            self._follow(came)

    def _behind(self, task: Task) -> list[Task]:
        found = [other for other in self.tasks.values() if task.name in other.behind]
        return sorted(found, key=lambda other: other.place)

    def acknowledge(self, name: str, fence: int) -> None:
        """The worker runs it no longer."""
        self._release(lambda hold: (hold.task.name, hold.fence) == (name, fence))

    def _release(self, over: Callable[[Hold], bool]) -> None:
        released = [hold for hold in self.holds if over(hold)]
        self.holds = [hold for hold in self.holds if not over(hold)]
        for hold in released:
            task = hold.task
            if not task.live:
                left = Left(task, hold.ticket, hold.ticket, frozenset())
                self._let_go([(left, task.name if hold.failed else None)])
            elif not self.held(task):
                # It was revived meanwhile, and stands in line again: those behind it come after it as before.
                task.ticket = hold.ticket
                self._lay_down(task)
                self._take_ticket(task)
                self.follow([task])

    def held(self, task: Task) -> bool:
        """Whether a worker may still run a claim of it that was ended from outside: it lines up only after that."""
        return any(hold.task is task for hold in self.holds)

    # --- ends

    def _end(self, tasks: Sequence[Task], state: str, reason: str | None, *, outside: bool = False) -> None:
        """Together: nobody is skipped because of one who ends with it."""
        failed = state in ("failed", "cancelled")
        self.holds = [hold._replace(failed=failed) if hold.task in tasks else hold for hold in self.holds]
        gone = []
        for task in tasks:
            if outside and task.state == "processing" and task.ticket is not None and task.lease_until > self.now:
                self.holds.append(Hold(task, task.fence, task.ticket, task.lease_until, failed))
                self._leave(task, state, reason)
            else:
                gone.append(self._leave(task, state, reason))
        self._let_go([(left, left.task.name if failed else None) for left in gone])

    def _leave(self, task: Task, state: str, reason: str | None) -> Left:
        left = Left(task, task.ticket, task.place, frozenset(task.behind))
        task.state, task.reason, task.lease_until = state, reason, 0.0
        task.was_ticket, task.ticket, task.returned_at, task.behind = task.place, None, None, set()
        return left

    def _let_go(self, gone: list[tuple[Left, str | None]]) -> None:
        """What it means to those behind that these have left, each with the root cause if it failed."""
        for left, failed in gone:  # It grows.
            for other in self._below(left.task) if failed else ():
                if left.before(other) and other.wish.on_dependency_failure == "skip":
                    gone.append((self._leave(other, "skipped", f"dependency_failed: {failed}"), failed))
                    other.because = failed
        for left, _ in gone:
            came = []
            for other in self._behind(left.task):
                other.behind.remove(left.task.name)
                if other.ticket is None and not other.behind:
                    self._take_ticket(other)
                    came.append(other)
            self._follow(came)
        self._look()
