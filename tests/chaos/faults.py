"""The faults, one after the other as a seed says, until somebody says that it is enough."""

from __future__ import annotations

import math
import random
import signal
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.databases import Fault, Place
from tests.chaos.load import LEASE_SECONDS
from tests.chaos.worker import set_clock
from tests.chaos.workers import Crew, Member

EFFECTS_BETWEEN = (2, 40)
PAUSE_SECONDS_MAX = 6.0
"""Between two faults so much is done, or so long waited: where a machine is slow, faults are as well."""
LOOK_SECONDS = 0.1
EFFECT_BYTES = 60
"""About what a line of the effect log takes."""
JUMPS_SECONDS = (-3_600.0, -30.0, -5.0, 3.0, 15.0, 45.0)
"""A clock that is set forward lets leases and deadlines lapse early; one that is set back does nothing worse than wait,
which is why it can be set back by more."""


class Hurting:
    """A thread of its own: most faults wait for something."""

    def __init__(self, crew: Crew, place: Place, log: Path, seed: int, enough: threading.Event) -> None:
        """Args:
        log: of effects, which tells how the work goes on.
        """
        # Held, not inherited from: a thread has verbs of its own, and calls its `_stop` when it is joined.
        self._thread = threading.Thread(target=self._run, name="hurting", daemon=True)
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)
        """How long each took in all."""
        self.error = ""
        """What went wrong with a fault, rather than by it."""
        self._crew, self._place, self._log, self._enough = crew, place, log, enough
        self._rng = random.Random(seed)
        self._stopped: list[tuple[float, Member]] = []
        """Who is stopped, and until when."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether it is still at it."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait until all is healed."""
        self._thread.join()

    def _run(self) -> None:
        """Hurt until it is enough; then heal."""
        try:
            while self._go_on():
                self._once()
        except BaseException:
            self.error = traceback.format_exc()
        finally:
            self._heal()

    def _go_on(self) -> bool:
        """Let some work be done; False when it is enough."""
        wanted = self._log.stat().st_size + EFFECT_BYTES * self._rng.randint(*EFFECTS_BETWEEN)
        give_up_at = time.monotonic() + PAUSE_SECONDS_MAX
        while not self._enough.wait(LOOK_SECONDS):
            self._crew.look()
            self._end_what_is_due()
            if self._log.stat().st_size >= wanted or time.monotonic() > give_up_at:
                return True
        return False

    def _once(self) -> None:
        faults = self._faults()
        name = self._rng.choices([*faults], [weight for _, weight in faults.values()])[0]
        began = time.monotonic()
        done = faults[name][0]()
        self.seconds[name] += time.monotonic() - began
        if done is not False:
            self.counts[name] += 1

    def _faults(self) -> Mapping[str, tuple[Fault, float]]:
        return {
            "worker killed": (self._kill, 5.0),
            "handler process killed": (self._kill_child, 5.0),
            "worker stopped past its lease": (self._freeze, 3.0),
            "clock set": (self._jump, 3.0),
            **self._place.faults(),
        }

    def _kill(self) -> bool:
        victim = self._crew.victim()
        if victim is not None:
            self._crew.kill(victim)
        return victim is not None

    def _kill_child(self) -> bool:
        victim = self._crew.victim()
        return victim is not None and self._crew.kill_child(victim)

    def _freeze(self) -> bool:
        """SIGSTOP of the worker, or of it and its handler processes, until its leases have lapsed."""
        victim = self._crew.victim()
        if victim is None:
            return False
        group = self._rng.random() < 0.5
        victim.process.send(signal.SIGSTOP, group=group)
        self._stopped.append((time.monotonic() + LEASE_SECONDS + 1.0, victim))
        return True

    def _end_what_is_due(self, at: float | None = None) -> None:
        """Let those go on that were stopped until now, or until then."""
        at = time.monotonic() if at is None else at
        due = [victim for until, victim in self._stopped if until <= at]
        self._stopped = [(until, victim) for until, victim in self._stopped if until > at]
        for victim in due:
            if not victim.process.ended:
                victim.process.send(signal.SIGCONT, group=True)

    def _jump(self) -> bool:
        victim = self._crew.victim()
        if victim is not None:
            set_clock(victim.clock, self._rng.choice(JUMPS_SECONDS))
        return victim is not None

    def _heal(self) -> None:
        for member in self._crew.members:
            set_clock(member.clock, 0.0)
        self._end_what_is_due(math.inf)
        self._place.heal()
        self._crew.look()
