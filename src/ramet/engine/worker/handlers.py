"""Places where handlers run, as the supervisor sees them. Here: in its own loop. In processes of their own:
``pool.py``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Protocol

from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.engine.client.client import Client
from ramet.engine.kinds.options import BATCH_MAX
from ramet.engine.running.invocation import invoke
from ramet.engine.running.runner import Runner
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement

ClaimId = tuple[int, int]
"""Number of the task and fence."""


class Supervisor(Protocol):
    """Receiver of the events of the place where a worker's handlers run, and of its questions."""

    def outcomes(self, settlements: Sequence[Settlement]) -> None:
        """Tasks ended."""
        ...

    async def call(self, settlement: Settlement) -> SettleResult:
        """Settle something for a running handler now."""
        ...

    async def ask(self, errand: str, *arguments: Any) -> Any:
        """Run an errand of :mod:`ramet.engine.context.supervisor_calls` for a handler."""
        ...

    def lost(self, claims: Sequence[ClaimId], *, alone: bool, how: str | None = None) -> None:
        """Report that the process that ran these is gone. ``alone``: it ran nothing else. ``how``: it ended, in
        words.
        """
        ...

    def hand_back(self, claims: Sequence[ClaimId]) -> None:
        """Hand back tasks that were not begun, or could not end through no fault of theirs: they keep their attempt."""
        ...

    def started(self, claims: Sequence[ClaimId]) -> None:
        """Report that the handlers of these claims are called; only where the app has functions for that event."""
        ...

    def stopped(self, claims: Sequence[ClaimId]) -> None:
        """Report that the handlers of these lost claims run no more."""
        ...

    def broken(self, error: RuntimeError) -> None:
        """No handler can be run any more."""
        ...

    def work(self, claim: ClaimId) -> Work | None:
        """Return the work of a held claim; None when it is not held."""
        ...

    def unsettled(self) -> list[ClaimId]:
        """Return the held claims whose outcome is not known."""
        ...


class Handlers(Protocol):
    """A place where handlers run."""

    async def start(self, supervisor: Supervisor) -> None:
        """Be ready to run tasks.

        Raises:
            RuntimeError: the app cannot be loaded, or its lifespan cannot open.
        """
        ...

    def run(self, works: Sequence[Work]) -> None:
        """Run these, as slots become free."""
        ...

    def cancel(self, claims: Sequence[ClaimId]) -> None:
        """Stop these, which are lost; each is reported as stopped, once."""
        ...

    @property
    def set_aside(self) -> int:
        """Claims that wait for their turn beside the others and must not keep the worker from claiming more."""
        ...

    async def drain(self) -> list[ClaimId]:
        """Begin nothing more; returns what was not begun."""
        ...

    async def stop(self) -> None:
        """End everything now."""
        ...


class InProcess:
    """Handlers in the worker's own event loop: for embedding, tests and debugging.

    Nothing can be ended by force here: kinds with ``process=True`` and tasks on probation run like all others.
    """

    def __init__(
        self, app: App, client: Client, *, concurrency: int, lease_seconds: float, rng: random.Random, clock: Clock
    ) -> None:
        self._app = app
        self._client = client
        self._supervisor: Supervisor | None = None
        self._delivered: list[Settlement] = []
        self._opened = AsyncExitStack()
        self._make = partial(
            Runner,
            app.registry,
            self,
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            rng=rng,
            clock=clock,
            width=BATCH_MAX,
            on_start=app.registry.listeners.on_start,
        )

    async def start(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._runner = self._make(lifespan=await self._opened.enter_async_context(self._app.opened()))
        self._runner.start()

    def run(self, works: Sequence[Work]) -> None:
        self._runner.add(works)

    def cancel(self, claims: Sequence[ClaimId]) -> None:
        self._runner.cancel(claims)

    @property
    def set_aside(self) -> int:
        return 0

    async def drain(self) -> list[ClaimId]:
        return [(work.seq, work.fence) for work in self._runner.take_unstarted()]

    async def stop(self) -> None:
        await self._runner.stop()
        await self._opened.aclose()

    # The runner's port.

    invoke = staticmethod(invoke)

    def deliver(self, settlement: Settlement) -> None:
        if not self._delivered:
            asyncio.get_running_loop().call_soon(self._flush)
        self._delivered.append(settlement)

    def _flush(self) -> None:
        delivered, self._delivered = self._delivered, []
        assert self._supervisor is not None
        self._supervisor.outcomes(delivered)

    def stopped(self, claim: ClaimId) -> None:
        assert self._supervisor is not None
        self._supervisor.stopped([claim])

    async def call(self, settlement: Settlement) -> SettleResult:
        assert self._supervisor is not None
        return await self._supervisor.call(settlement)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        assert self._supervisor is not None
        return await self._supervisor.ask(errand, *arguments)

    def client(self) -> Client:
        return self._client
