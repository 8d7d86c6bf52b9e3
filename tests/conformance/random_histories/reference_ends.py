"""The other half of the plain model: how attempts, tasks and lineages end, and how people bring them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.conformance.random_histories.reference_model import LIVE, Job, Line, Said, Tasks, Wish

DAY_SECONDS = 86_400.0
LOSSES_MAX = 10


class Ask(NamedTuple):
    """What a worker asks for under a claim."""

    id: str
    fence: int
    what: str
    wishes: Sequence[Wish] = ()
    print_: str = ""


class Told(NamedTuple):
    """The answer: the state the task is in, or why not, and what the guard said."""

    state: str | None
    refused: str | None
    spawns: list[Said]


class Model(Tasks):
    """The whole plain model."""

    # --- settle: how a claim ends (DESIGN §4)

    def settle(self, batch: Sequence[Ask]) -> list[Told]:
        """Refusals first, then all spawns, then what becomes of the tasks: a batch is decided as it was found."""
        states = {job.id: job.state for job in self.jobs.values()}
        answers: dict[int, Told] = {}
        accepted: list[tuple[int, Ask, Job, str | None]] = []
        for at, ask in enumerate(batch):
            job = self.jobs.get(ask.id)
            if job is None or not self.current(job, ask.fence):
                told = [] if job is None else self.spawn(job, ask.wishes, False, states)
                answers[at] = Told(None, "stale", told)
                continue
            over = self.over(job)
            if over is not None:
                answers[at] = Told(None, over, self.spawn(job, ask.wishes, False, states))
            accepted.append((at, ask, job, over))
        spawned = {at: self.spawn(job, ask.wishes, True, states) for at, ask, job, over in accepted if over is None}
        repeated = {at: self.repeats(job, ask.print_) for at, ask, job, _ in accepted if ask.print_}
        for at, ask, job, over in accepted:
            if over is None:
                self._conclude(job, ask, repeated.get(at, False))
                answers[at] = Told(job.state, None, spawned[at])
            else:
                self.end(job, over)
        return [answers[at] for at in range(len(batch))]

    def _conclude(self, job: Job, ask: Ask, repeats: bool) -> None:
        match ask.what:
            case "success" | "filtered" | "skipped":
                self.finish(job, ask.what, ask.what)
            case "declared":
                self.finish(job, "failed", "error")
            case "transient" | "permanent" | "unclassified":
                self.fail(job, ask.what, ask.print_, repeats)
            case "snooze":
                self.snooze(job, 30.0)
            case "continue":
                self.go_on(job)
            case "hand_back":
                self.hand_back(job)
            case "checkpoint":
                job.lease_until, job.stage, job.progressed = self.now + self.lease_seconds, "half", True
            case "progress":
                job.lease_until = self.now + self.lease_seconds
            case _:
                raise ValueError(ask.what)

    def retry(self, job: Job, outcome: str, available_at: float, **fields: object) -> None:
        """Back to pending, unless its deadline passed."""
        job.outcomes.append(outcome)
        for name, value in fields.items():
            setattr(job, name, value)
        job.lease_until = 0.0
        if job.deadline_at is not None and self.now >= job.deadline_at:
            self.run_out(job)
        else:
            job.state, job.available_at = "pending", available_at

    def finish(self, job: Job, state: str, outcome: str | None = None) -> None:
        if outcome is not None:
            job.outcomes.append(outcome)
        job.state, job.lease_until, job.finished_at = state, 0.0, self.now
        if job.line.state == "running" and not self.live(job.line):
            job.line.state, job.line.ended_at = "finished", self.now

    def run_out(self, job: Job) -> None:
        """Its deadline passed: where that was its lineage's, the lineage ends by it first."""
        line = job.line
        if line.state == "running" and job.deadline_at is not None and job.deadline_at >= line.deadline_at:
            line.state, line.ended_at, line.follow = "failed", self.now, True
        self.finish(job, "failed")

    def fail(self, job: Job, error_class: str, print_: str, repeats: bool) -> None:
        """An exception of the handler."""
        exhausted = job.attempts >= job.max_attempts
        if error_class == "permanent" or (error_class == "unclassified" and repeats) or exhausted:
            self.finish(job, "failed", "error")
        else:
            self.retry(job, "error", self.now + min(2.0 ** (job.attempts - 1), 3_600.0))
        job.print_ = print_ if job.state == "failed" else None

    def repeats(self, job: Job, print_: str) -> bool:
        """The same error ended this work before (DESIGN §6)."""
        if print_ in job.earlier_prints:
            return True
        for other in self.jobs.values():
            same = other.state == "failed" and other.print_ == print_ and other.kind == job.kind
            elsewhere = other.line is not job.line and other.key == job.key
            if same and other.id in job.chain:
                return True
            if same and elsewhere and (other.finished_at or 0.0) > self.now - DAY_SECONDS:
                return True
        return False

    def go_on(self, job: Job) -> None:
        """``continue_later``: only after progress, and not for ever."""
        if not job.progressed or job.chain_depth >= job.max_chain_depth:
            self.finish(job, "success", "success")
            return
        self.retry(job, "continue", self.now)
        if job.state == "pending":
            job.attempts, job.chain_depth = 0, job.chain_depth + 1

    def snooze(self, job: Job, seconds: float) -> None:
        self.retry(
            job, "snooze", self.now + max(1.0, seconds), attempts=max(0, job.attempts - 1), snoozes=job.snoozes + 1
        )

    def hand_back(self, job: Job) -> None:
        job.outcomes.append("returned")
        job.state, job.lease_until, job.attempts = "pending", 0.0, max(0, job.attempts - 1)

    # --- ends from outside

    def end(self, job: Job, state: str) -> None:
        self.finish(job, state, "ended" if job.state == "processing" else None)

    def over(self, job: Job) -> str | None:
        """The state in which the lineage row, or a tombstone on it, says that this task ends."""
        if job.line.state in ("failed", "cancelled", "finished"):
            return job.line.state
        return "cancelled" if self.buried(job) else None

    def sweep(self) -> None:
        """Everything that time and ended lineages ask for, in the order of the table."""
        for job in self._all_live():
            if job.state == "processing" and job.lease_until <= self.now:
                self._lose(job)
        for job in self._all_live():
            if job.state == "pending" and job.deadline_at is not None and job.deadline_at <= self.now:
                self.run_out(job)
        for line in self.lines.values():
            if line.state == "running" and line.deadline_at <= self.now:
                line.state, line.ended_at, line.follow = "failed", self.now, True
        for line in self.lines.values():
            self.follow_end(line)

    def _all_live(self) -> Iterator[Job]:
        yield from [job for job in self.jobs.values() if job.state in LIVE]

    def _lose(self, job: Job) -> None:
        losses, attempts = job.losses + 1, max(0, job.attempts - 1)
        if losses >= LOSSES_MAX:
            job.losses, job.attempts = losses, attempts
            self.finish(job, "failed", "lost")
        else:
            self.retry(job, "lost", self.now, losses=losses, attempts=attempts)

    def follow_end(self, line: Line) -> None:
        if not line.follow:
            return
        line.follow = False
        for job in sorted(self.live(line), key=lambda job: job.number):
            state = line.state if line.state in ("failed", "cancelled") else "cancelled" if self.buried(job) else None
            if state is not None:
                self.end(job, state)

    # --- people

    def cancel(self, name: str, tree: bool) -> bool:
        job = self.jobs.get(name)
        if job is None:
            return False
        line = job.line
        if not tree:
            if job.state not in LIVE:
                return False
            self.end(job, "cancelled")
            return True
        if [other.id for other in self.of(line) if other.parent is None] == [name]:
            return self.cancel_lineage(line.name)
        lifted = [mark for mark, up in line.marks.items() if not up and name in self.jobs[mark].chain]
        if not self.live(line) or (line.marks.get(name) and not lifted):
            return False
        for mark in lifted:
            del line.marks[mark]
        line.marks[name], line.follow = True, True
        if job.state in LIVE:
            self.end(job, "cancelled")
        return True

    def cancel_lineage(self, name: str) -> bool:
        line = self.lines.get(name)
        if line is None or line.state not in ("running", "paused"):
            return False
        line.state, line.ended_at, line.follow = "cancelled", self.now, True
        return True

    def revive(self, names: Sequence[str], extend_seconds: float | None) -> list[str] | None:
        """Ids revived; None when one is refused, and then nothing was changed."""
        revived = []
        for name in names:
            if name not in self.jobs:
                return None
            job = self.jobs[name]
            self.follow_end(job.line)
            if job.state in (*LIVE, "success"):
                continue
            if extend_seconds is None and self.now >= job.line.deadline_at:
                return None
            self._reopen(job, extend_seconds)
            revived.append(name)
        return revived

    def _reopen(self, job: Job, extend_seconds: float | None) -> None:
        line = job.line
        if extend_seconds is not None:
            line.deadline_at = max(line.deadline_at, self.now + extend_seconds)
        if self.buried(job):
            line.marks[job.id], line.follow = False, True
        line.state, line.ended_at = "running", None
        if job.print_ is not None:
            job.earlier_prints.add(job.print_)
        job.state, job.available_at, job.print_, job.finished_at = "pending", self.now, None, None
        job.started_at = job.deadline_at = None
        job.attempts = job.losses = job.chain_depth = 0

    def prune(self, before: float) -> int:
        gone = [
            line for line in self.lines.values()
            if line.ended_at is not None and line.ended_at < before and not self.live(line)
        ]  # fmt: skip
        for line in gone:
            for job in self.of(line):
                del self.jobs[job.id]
            del self.lines[line.name]
        return len(gone)
