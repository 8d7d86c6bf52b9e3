"""PostgreSQL: verbs one by one in the caller's thread, where tests and simulation decide the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ramet.store.postgres.session import Mode
from ramet.store.postgres.writer import Answer, Link, Together
from ramet.store.session import Session


class InlineLink:
    """Runs every verb at once in the caller's thread: for simulation and tests, where order must be decided by them."""

    def __init__(self, link: Link, on_wake: Callable[[], None]) -> None:
        self._link = link
        self._on_wake = on_wake

    async def run(self, verb: Callable[[Session], Answer], mode: Mode) -> Answer:
        """Run one verb in a transaction of its own."""
        answer, woken = self._link.run(verb, mode)
        if woken:
            self._on_wake()
        return answer

    async def run_together(self, verb: Together, items: Sequence[Any]) -> Sequence[Any]:
        """Run one verb in a transaction of its own."""
        return await self.run(lambda session: verb(session, items), "beside")

    def stop(self) -> None:
        """Close the connection."""
        self._link.close()
