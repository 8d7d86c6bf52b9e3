"""The faults, one after the other as a seed says, until somebody says that it is enough."""

from __future__ import annotations

import random
import signal
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress

from tests.chaos.crew import Crew
from tests.chaos.places import Fault, Place
from tests.chaos.worker import set_clock

PAUSE_SECONDS = (0.2, 1.5)
"""Between two faults."""
JUMPS_SECONDS = (-3_600.0, -30.0, -5.0, 3.0, 15.0, 45.0)
"""A clock that is set forward lets leases and deadlines lapse early; one that is set back does nothing worse than wait,
which is why it can be set back by more."""


class Hurting(threading.Thread):
    """A thread of its own: most faults wait for something."""

    def __init__(self, crew: Crew, place: Place, seed: int, lease_seconds: float, enough: threading.Event) -> None:
        super().__init__(name="hurting", daemon=True)
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)
        """How long each took in all."""
        self.error = ""
        """What went wrong with a fault, rather than by it."""
        self._crew, self._place, self._enough = crew, place, enough
        self._rng = random.Random(seed)
        self._lease_seconds = lease_seconds

    def run(self) -> None:
        """Hurt until it is enough; then heal."""
        try:
            while not self._enough.wait(self._rng.uniform(*PAUSE_SECONDS)):
                self._crew.look()
                self._once()
        except BaseException:
            self.error = traceback.format_exc()
        finally:
            self._heal()

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
            "worker stopped past its lease": (self._stop, 3.0),
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

    def _stop(self) -> bool:
        """SIGSTOP of the worker, or of it and its handler processes, until its leases have lapsed."""
        victim = self._crew.victim()
        if victim is None:
            return False
        group = self._rng.random() < 0.5
        victim.process.send(signal.SIGSTOP, group=group)
        try:
            self._enough.wait(self._lease_seconds + 1.0)
        finally:
            victim.process.send(signal.SIGCONT, group=group)
        return True

    def _jump(self) -> bool:
        victim = self._crew.victim()
        if victim is not None:
            set_clock(victim.clock, self._rng.choice(JUMPS_SECONDS))
        return victim is not None

    def _heal(self) -> None:
        for member in self._crew.members:
            set_clock(member.clock, 0.0)
            with suppress(ProcessLookupError):
                member.process.send(signal.SIGCONT, group=True)
        self._place.heal()
        self._crew.look()
