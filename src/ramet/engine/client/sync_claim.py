"""A claim for programs without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from ramet.engine.base import current_tasks
from ramet.engine.client.claim import BaseClaim, Ended, Spawn
from ramet.engine.context.binding import SyncBinder
from ramet.engine.context.data import SyncDomain
from ramet.engine.context.money import Reservation, SyncReservation
from ramet.engine.context.outcome import Outcome
from ramet.engine.context.ports import ClaimLost
from ramet.engine.context.rates import SyncRates
from ramet.engine.kinds.registry import Handler
from ramet.store.answers import SpawnAnswer

Answer = TypeVar("Answer")


class WaitFor(Protocol):
    """Runs a coroutine in the client's loop and waits for its answer."""

    def __call__(self, coroutine: Any, /) -> Any: ...


class SyncClaim(SyncDomain, SyncBinder, SyncRates, BaseClaim):
    """:class:`~ramet.engine.client.claim.Claim` without ``await``.

    In ``with`` the lease is kept by heartbeats. A lost claim cannot interrupt a plain block: its next verb raises
    ``ClaimLost``, ``lost`` is true at once, and the block's end raises ``ClaimLost`` when nothing else was raised.
    """

    def __init__(self, wait_for: WaitFor, loop: asyncio.AbstractEventLoop, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._loop = loop
        self._wait = wait_for

    def _wait_for(self, coroutine: Any, /) -> Any:
        return self._wait(coroutine)

    def heartbeat(self) -> None:
        """See :meth:`Claim.heartbeat`."""
        self._wait_for(self._heartbeat())

    def advance(self, stage: str | None = None, data: dict[str, Any] | None = None) -> Sequence[SpawnAnswer]:
        """See :meth:`Claim.advance`."""
        answers: Sequence[SpawnAnswer] = self._wait_for(self._checkpoint(stage, data))
        return answers

    def checkpoint(self, stage: str | None = None, state: dict[str, Any] | None = None) -> Sequence[SpawnAnswer]:
        """See :meth:`ramet.engine.context.context.Context.checkpoint`."""
        return self.advance(stage, state)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """See :meth:`ramet.engine.context.context.Context.progress`."""
        self._wait_for(self._progress(done, total, message))

    def spawn_now(self, kind: str | Handler, payload: Any = None, **options: Any) -> SpawnAnswer:
        """See :meth:`ramet.engine.context.context.Context.spawn_now`."""
        answer: SpawnAnswer = self._wait_for(self._spawn_now(kind, payload, options))
        return answer

    def reserve(self, nano_dollars: int, *, name: str | None = None) -> SyncReservation:
        """See :meth:`ramet.engine.context.context.Context.reserve`."""
        return SyncReservation(self._wait_for(self._reserve(nano_dollars, name)), self._wait_for)

    def reservation(self, reservation_id: str, nano_dollars: int) -> SyncReservation:
        """See :meth:`ramet.engine.context.context.Context.reservation`."""
        return SyncReservation(Reservation(self._desk, reservation_id, nano_dollars, self.id), self._wait_for)

    def complete(self, result: Any = None, *, spawns: Iterable[Spawn] = ()) -> Ended:
        """See :meth:`Claim.complete`."""
        return self._ended(self._complete(result, spawns))

    def filter(self, reason: str) -> Ended:
        """See :meth:`Claim.filter`."""
        return self._ended(self._chosen(Outcome.filter(reason)))

    def skip(self, reason: str) -> Ended:
        """See :meth:`Claim.skip`."""
        return self._ended(self._chosen(Outcome.skip(reason)))

    def fail(self, error: BaseException | str, *, retry: bool | None = None) -> Ended:
        """See :meth:`Claim.fail`."""
        return self._ended(self._fail(error, retry))

    def snooze(self, seconds: float, reason: str | None = None) -> Ended:
        """See :meth:`Claim.snooze`."""
        return self._ended(self._chosen(Outcome.snooze(seconds, reason)))

    def continue_later(self) -> Ended:
        """See :meth:`Claim.continue_later`."""
        return self._ended(self._chosen(Outcome.continue_later()))

    def release(self) -> None:
        """See :meth:`Claim.release`."""
        self._wait_for(self._hand_back())

    def _ended(self, ending: Any) -> Ended:
        ended: Ended = self._wait_for(ending)
        return ended

    def __enter__(self) -> Self:
        self._wait_for(self.keep_alive())
        current_tasks.begin(self.unfinished)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        current_tasks.done(self.unfinished)
        lost = self._lost
        self._wait_for(self._leave(error))
        if lost and error is None:
            raise ClaimLost(f"task {self.id}: the claim with fence {self.fence} was lost while working on it")
