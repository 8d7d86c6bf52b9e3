"""A store seen through a bad network by a process that may die: slow, failing, losing requests and answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ramet.model.task import events as ev
from ramet.store.errors import StoreBusy
from ramet.store.requests import Settlement
from tests.simulation.observed_answers import Witness

FAULTY = frozenset(
    "claim settle heartbeat sweep submit add cancel cancel_lineage revive exclude raise_limits reoffer stop unstop "
    "pause_lineage resume_lineage pause_queue resume_queue reserve settle_reserved look "
    "open_breaker close_breaker take_slots pause_schedule bind".split()
)
STATEMENTS_UNTIL_DEATH_MAX = 20


@dataclass
class Faults:
    """How often what goes wrong, as shares of the calls."""

    request_lost: float = 0.02
    answer_lost: float = 0.02
    answered_twice: float = 0.03
    bell_lost: float = 0.2
    stall: float = 0.01
    stall_seconds: float = 400.0
    """Longer than a lease."""


class Died(BaseException):
    """The process ended in the middle of a statement. Nothing in it may catch this."""

    def __init__(self, when: str, sql: str) -> None:
        super().__init__(f"{when} {sql}")
        self.committed = when == "after" and sql.endswith("COMMIT")


def _all_end(batch: Sequence[Settlement]) -> bool:
    """True when every settlement gives its claim up: then a second delivery must be refused whole."""
    return not any(isinstance(item.event, ev.Checkpoint | ev.Progress) for item in batch)


class FaultyStore:
    """One process's view of the database. Everything but the faults is the real store."""

    def __init__(
        self,
        name: str,
        witness: Witness,
        *,
        rng: random.Random,
        faults: Faults,
        tell: Callable[[str], None],
    ) -> None:
        self.name = name
        self.gone = False
        """Set when the process died: nothing that is left of it reaches the database any more."""
        self.on_death: Callable[[], None] = lambda: None
        self._store = witness.store
        self._witness = witness
        self._rng = rng
        self._faults = faults
        self._tell = tell
        self._statements: int | None = None
        self._last_verb = ""

    def die_soon(self) -> None:
        """Die at one of the next statements of one kind of verb: before it, or after it, the commit included."""
        self._last_verb = self._rng.choice(("claim", "settle", "settle", "heartbeat", "sweep"))
        self._statements = self._rng.randrange(2 * STATEMENTS_UNTIL_DEATH_MAX)

    def join(self, worker: str) -> None:
        """A simulated worker has no process of its own whose death could be proven: leases must do."""

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """Bells are a convenience: some are not heard, and polling finds the work."""
        if self._rng.random() < self._faults.bell_lost:
            await asyncio.sleep(timeout_seconds)
        else:
            await self._store.wait_for_work(timeout_seconds)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        # Workers look every minute for what nobody keeps for a month: only what people prune is worth watching.
        watched = name in FAULTY or (name == "prune" and self.name == "people")
        return self._broken(name, found) if watched else found

    def _reach(self) -> None:
        if self.gone:
            raise StoreBusy("the process is gone")

    async def _linger(self) -> None:
        await asyncio.sleep(self._rng.random() * 0.05)
        if self._rng.random() < self._faults.stall:
            await asyncio.sleep(self._rng.random() * self._faults.stall_seconds)

    def _broken(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*arguments: Any, **options: Any) -> Any:
            faults, rng = self._faults, self._rng
            self._reach()
            await self._linger()
            self._reach()
            if rng.random() < faults.request_lost:
                self._tell(f"{self.name} {name} lost on its way")
                raise StoreBusy("the request was lost")
            answer = await self._call(name, verb, arguments, options)
            if name == "settle" and rng.random() < faults.answered_twice and _all_end(arguments[0]):
                again = await self._call(name, verb, arguments, options)
                assert all(settled.refused is not None for settled in again), again
            await self._linger()
            self._reach()
            if rng.random() < faults.answer_lost:
                self._tell(f"{self.name} {name} answered, and nobody heard")
                raise StoreBusy("the answer was lost")
            return answer

        return call

    async def _call(self, name: str, verb: Callable[..., Any], arguments: Any, options: Any) -> Any:
        """The verb itself, with the witness beside it. No other verb runs in between: the store never waits."""
        before = self._witness.look(name, arguments)
        if self._statements is not None and name == self._last_verb:
            self._store.hook(self._count_down)
        try:
            answer = await verb(*arguments, **options)
        except Died as died:
            self._witness.doubtful += died.committed
            # A dead process has no transaction; this one lives on for the others.
            self._store.abandon()
            self._witness.watch(name, before)
            self._tell(f"{self.name} died in {name} {died}")
            self.gone = True
            self.on_death()
            raise StoreBusy("the process is gone") from None
        finally:
            self._store.hook(None)
        self._tell(f"{self.name} {name} {arguments} {options} -> {answer}")
        self._witness.watch(name, before)
        self._witness.heard(name, before, arguments, options, answer)
        return answer

    def _count_down(self, when: str, sql: str) -> None:
        assert self._statements is not None
        if self._statements <= 0:
            self._statements = None
            raise Died(when, sql)
        self._statements -= 1
