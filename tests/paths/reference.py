"""The reference that the store is compared with: what workers, people and time do to tasks, one thing after the other.

The store does the same in batches and waves; the two are compared when the store has come to rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.paths.reference_order import Line, Order, Task, Wish

HOLD_SECONDS = 900.0
LEASE_SECONDS = 300.0
LOSSES_MAX = 10
SNOOZE_SECONDS_MIN = 1.0


class Ask(NamedTuple):
    """What a worker asks for under a claim."""

    name: str
    fence: int
    what: str
    delay_seconds: float = 0.0
    spawns: Sequence[Wish] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.what} {self.delay_seconds:.0f} s {' '.join(map(str, self.spawns))}"


class Reference(Order):
    """All operations."""

    # --- how tasks begin and are claimed

    def submit(self, line: str, wishes: Sequence[Wish]) -> None:
        self.lines[line] = Line(line)
        for wish in wishes:
            self._create(wish, self.lines[line])

    def _create(self, wish: Wish, line: Line) -> None:
        number = self._draw()
        task = Task(wish, line, number, self.now + wish.delay_seconds)
        self.tasks[wish.name] = task
        if wish.path and (wish.delay_seconds <= 0 or wish.reserved):
            task.ticket = number

    def claim(self, names: Iterable[str]) -> None:
        """Any choice from :meth:`claimable` will do: in which order free tasks run is no matter of paths."""
        for task in [self.tasks[name] for name in names]:
            task.state, task.fence, task.attempts, task.progressed = (
                "processing",
                task.fence + 1,
                task.attempts + 1,
                False,
            )
            task.lease_until = self.now + LEASE_SECONDS
            if task.started_at is None:
                task.started_at = self.now
            if task.deadline_at is None and task.wish.task_seconds is not None:
                task.deadline_at = task.started_at + task.wish.task_seconds

    def current(self, name: str, fence: int) -> bool:
        task = self.tasks[name]
        return task.state == "processing" and task.fence == fence and task.lease_until > self.now

    def heartbeat(self, name: str, fence: int) -> bool:
        if self.current(name, fence):
            self.tasks[name].lease_until = self.now + LEASE_SECONDS
        return self.current(name, fence)

    # --- how claims end

    def settle(self, batch: Sequence[Ask]) -> list[str | None]:
        """All spawns first, then what becomes of the tasks; None for a claim that is over."""
        current = [ask for ask in batch if self.current(ask.name, ask.fence)]
        for ask in current:
            for wish in ask.spawns:
                self._create(wish, self.tasks[ask.name].line)
                self.tasks[ask.name].progressed = True
        for ask in current:
            self._conclude(self.tasks[ask.name], ask)
        for ask in batch:
            if ask not in current and ask.what != "progress":
                self.acknowledge(ask.name, ask.fence)
        return [self.tasks[ask.name].state if ask in current else None for ask in batch]

    def _conclude(self, task: Task, ask: Ask) -> None:
        delayed_until = self.now + ask.delay_seconds
        match ask.what:
            case "success" | "filtered" | "skipped" | "failed":
                self._end([task], ask.what, "said" if ask.what != "success" else None)
            case "error" if task.attempts >= task.wish.max_attempts:
                self._end([task], "failed", f"attempts_exhausted: {task.attempts}")
            case "error":
                self._return(task, delayed_until)
            case "snooze":
                task.attempts -= 1
                self._return(task, max(delayed_until, self.now + SNOOZE_SECONDS_MIN))
            case "continue":
                self._continue(task)
            case "hand_back":
                task.attempts -= 1
                self._go_back(task, delayed_until if ask.delay_seconds > 0 else task.available_at)
            case "progress":
                task.lease_until = self.now + LEASE_SECONDS
            case _:
                raise ValueError(ask.what)

    def _continue(self, task: Task) -> None:
        if not task.progressed:
            self._end([task], "success", "no_progress")
        elif task.chain_depth >= 2:
            self._end([task], "success", f"chain_depth: {task.chain_depth}")
        else:
            self._return(task, self.now)
            if task.live:
                task.attempts, task.chain_depth = 0, task.chain_depth + 1

    def _return(self, task: Task, available_at: float) -> None:
        if self._overdue(task):
            self._end([task], "failed", "task_deadline")
        else:
            self._go_back(task, available_at)

    def _go_back(self, task: Task, available_at: float) -> None:
        """With its ticket, unless it were to keep that for too long."""
        task.state, task.available_at, task.lease_until = "pending", available_at, 0.0
        if task.ticket is None:
            return
        if task.returned_at is None:
            task.returned_at = self.now
        if available_at > task.returned_at + HOLD_SECONDS:
            self.give_up(task)

    # --- people

    def cancel(self, name: str) -> bool:
        task = self.tasks[name]
        if task.live:
            self._end([task], "cancelled", "cancelled by ann", outside=True)
            return True
        return False

    def cancel_line(self, name: str) -> bool:
        line = self.lines[name]
        live = [task for task in self.tasks.values() if task.line is line and task.live]
        if line.state == "cancelled" or not (live or line.state == "paused"):
            return False
        line.state = "cancelled"
        self._end(live, "cancelled", "cancelled by ann", outside=True)
        return True

    def exclude(self, name: str) -> bool:
        task = self.tasks[name]
        if task.state == "pending":
            self._end([task], "skipped", "excluded")
        elif task.state in ("failed", "cancelled"):
            task.state, task.reason = "skipped", "excluded"
        else:
            return False
        return True

    def revive(self, name: str) -> bool:
        """With a fresh ticket; those that were skipped because of it come back after it in their old order."""
        task = self.tasks[name]
        if task.live or task.state == "success":
            return False
        self._reopen(task)
        skipped = [t for t in self.tasks.values() if t.because == name and t.state == "skipped"]
        for other in sorted(skipped, key=lambda other: other.was_ticket):
            if other.line.state != "cancelled":
                self._reopen(other)
        return True

    def _reopen(self, task: Task) -> None:
        task.state, task.reason, task.because, task.available_at = "pending", None, None, self.now
        task.attempts = task.losses = task.chain_depth = 0
        task.started_at = task.deadline_at = None
        if task.line.state != "paused":
            task.line.state = "running"
        if task.path and not self.held(task):
            self._take_ticket(task)

    def pause(self, name: str) -> bool:
        line = self.lines[name]
        live = [task for task in self.tasks.values() if task.line is line and task.live]
        if not live or line.state != "running":
            return False
        line.state, line.paused_at = "paused", self.now
        return True

    def resume(self, name: str) -> bool:
        line = self.lines[name]
        if line.state != "paused":
            return False
        line.state = "running"
        for task in self.tasks.values():
            if task.line is line and task.live and task.deadline_at is not None:
                task.deadline_at += self.now - max(line.paused_at, task.started_at or 0.0)
        return True

    # --- time

    def next_at(self) -> float:
        """When something happens by itself next."""
        times = [hold.until for hold in self.holds]
        for task in self.tasks.values():
            if task.state == "processing":
                times.append(task.lease_until)
            elif task.state == "pending":
                times += [task.available_at, task.deadline_at or 0.0]
        return min((at for at in times if at > self.now), default=float("inf"))

    def rest(self) -> None:
        """Maintenance, until it finds nothing to do."""
        while any([self._lapse(), self._due(), self._expire(), self._let_go_lapsed()]):
            pass

    def _due(self) -> bool:
        due = [
            task
            for task in self.tasks.values()
            if task.state == "pending" and task.path and task.ticket is None and not task.behind
            and not self.held(task)
            and task.available_at <= self.now
        ]  # fmt: skip
        due.sort(key=lambda task: (task.available_at, task.number))
        for task in due:
            self._take_ticket(task)
        self.follow(due)
        return bool(due)

    def _lapse(self) -> bool:
        lapsed = [task for task in self.tasks.values() if task.state == "processing" and task.lease_until <= self.now]
        for task in lapsed:
            task.losses, task.attempts = task.losses + 1, task.attempts - 1
            if task.losses >= LOSSES_MAX:
                self._end([task], "failed", f"poison: {task.losses} claims lost, 0 of them alone")
            else:
                self._return(task, self.now)
        return bool(lapsed)

    def _let_go_lapsed(self) -> bool:
        lapsed = any(hold.until <= self.now for hold in self.holds)
        self._release(lambda hold: hold.until <= self.now)
        return lapsed

    def _expire(self) -> bool:
        late = [task for task in self.tasks.values() if task.state == "pending" and self._overdue(task)]
        self._end(late, "failed", "task_deadline")
        return bool(late)

    def _overdue(self, task: Task) -> bool:
        """A pause stops its clock."""
        return task.deadline_at is not None and self.now >= task.deadline_at and task.line.state != "paused"
