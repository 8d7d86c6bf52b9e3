"""Six worker processes on one database; who is killed is replaced, by a worker of whichever app has the fewest."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.chaos.worker import CLOCK, WHERE, set_clock
from tests.crash.process import WorkerProcess
from tests.support.waiting import until_now

WORKERS = 6
READY_MIN = 4
"""With fewer at work nobody is hurt: a slow machine would only start workers."""
CONCURRENCY = 6
APPS = {"trees": 5, "wiki": 1, "llm": 1, "jobs": 1}
"""Each has a worker at all times; the others serve whichever the seed says, by these shares."""
DRAIN_SECONDS_MAX = 120.0
STACKS_SECONDS = 10.0
READY = " serves "
"""What a worker's log says once it listens to signals."""
TRACE = "Traceback (most recent call last)"


@dataclass
class Member:
    """A worker, what it serves, and its clock."""

    serves: str
    process: WorkerProcess
    clock: Path

    @property
    def ready(self) -> bool:
        return READY in self.process.log


def _ended(member: Member) -> bool:
    return member.process.ended


def stuck(member: Member) -> str:
    """What a worker that does nothing is at: its state, the stacks of its threads, and the end of its log."""
    before = len(member.process.log)
    status = Path(f"/proc/{member.process.pid}/status").read_text().partition("State:")[2].splitlines()[0].strip()
    member.process.send(WHERE)
    with suppress(AssertionError):
        until_now(lambda: len(member.process.log) > before, "its stacks", STACKS_SECONDS)
    return f"{status}; {member.process.log[-6_000:]}"


def could_not_begin(log: str) -> bool:
    """Whether a worker ended over its very first step, with the one line that says why: nothing was in its hands."""
    after = log.partition(READY)[2].splitlines()[1:]
    return len(after) == 1 and after[0].startswith("ramet: ")


@dataclass
class Crew:
    """Everybody who works on a database. All but :meth:`ready` is for one thread only."""

    address: str
    folder: Path
    environment: Mapping[str, str]
    rng: random.Random
    members: list[Member] = field(default_factory=list)
    started: int = 0
    trouble: list[str] = field(default_factory=list)
    """Workers that ended by themselves, with the end of what they said."""

    def fill(self) -> None:
        """Start as many as are missing."""
        while len(self.members) < WORKERS:
            served = Counter(member.serves for member in self.members)
            idle = [name for name in APPS if not served[name]]
            self._start(idle[0] if idle else self.rng.choices([*APPS], [*APPS.values()])[0])

    def _start(self, serves: str) -> None:
        self.started += 1
        clock = self.folder / f"clock-{self.started}"
        set_clock(clock, 0.0)
        process = WorkerProcess(
            self.address, "--concurrency", str(CONCURRENCY),
            app=f"tests.chaos.apps.{serves}:app", module="tests.chaos.worker",
            environment={**self.environment, CLOCK: str(clock)}, folder=self.folder,
        )  # fmt: skip
        self.members.append(Member(serves, process, clock))

    def look(self) -> None:
        """Replace who has ended by itself. Without a database a worker cannot begin, and says so; that is all right."""
        for member in [member for member in self.members if member.process.ended]:
            if member.ready and not could_not_begin(member.process.log):
                self.trouble.append(f"a worker for {member.serves} ended by itself: {member.process.log[-2_000:]}")
            self.members.remove(member)
        self.fill()

    def ready(self) -> list[Member]:
        """Who is at work."""
        return [member for member in list(self.members) if not member.process.ended and member.ready]

    def victim(self) -> Member | None:
        """One of those at work, as the seed says; nobody while most are only beginning."""
        ready = self.ready()
        return self.rng.choice(ready) if len(ready) >= READY_MIN else None

    def kill(self, member: Member) -> None:
        """kill -9 of a worker; another takes its place."""
        member.process.kill()
        # A handler process that was stopped with it while it began would stay so for ever.
        with suppress(ProcessLookupError):
            member.process.send(signal.SIGCONT, group=True)
        self.members.remove(member)
        self.fill()

    def kill_child(self, member: Member) -> bool:
        """kill -9 of one of its handler processes; False where it has none just now."""
        alive = member.process.children()
        if not alive:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.rng.choice(alive), signal.SIGKILL)
        return True

    def drain(self) -> None:
        """Everybody ends in good order, as soon as they hear the signal."""
        until_now(self._all_ready, "every worker serves")
        for member in self.members:
            member.process.send(signal.SIGTERM)
        give_up_at = time.monotonic() + DRAIN_SECONDS_MAX
        for member in self.members:
            with suppress(AssertionError):
                until_now(partial(_ended, member), "its end", max(1.0, give_up_at - time.monotonic()))
            if not member.process.ended:
                self.trouble.append(f"a worker for {member.serves} does not end: {stuck(member)}")
                continue
            code = member.process.code()
            if code:
                self.trouble.append(f"a worker for {member.serves} drained with {code}: {member.process.log[-2_000:]}")

    def _all_ready(self) -> bool:
        self.look()
        return len(self.ready()) == len(self.members)

    def end(self) -> None:
        """Whatever state they are in."""
        for member in self.members:
            with suppress(ProcessLookupError):
                member.process.end_whatever_it_does()

    def tracebacks(self) -> list[str]:
        """The last lines of what was raised and nobody expected, with how often."""
        found: Counter[str] = Counter()
        for log in self.folder.glob("worker-*.log"):
            lines = log.read_text(errors="replace").splitlines()
            inside = False
            for at, text in enumerate(lines):
                if TRACE in text:
                    inside = True
                elif inside and text and not text.startswith((" ", "\t")):
                    inside = False
                    found[f"{log.name}:{at + 1}: {text[:200]}"] += 1
        return [f"{times} x {text}" for text, times in found.most_common()]
