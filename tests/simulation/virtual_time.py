"""An event loop whose clock is a number: when nothing can run, time jumps to the next timer. No waiting, no chance."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")

EPOCH = 1_800_000_000.0


class _JumpingSelector(selectors.SelectSelector):
    """Never blocks: asked to wait, it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready:
            return ready
        assert timeout is not None, "nothing can ever run again: a deadlock"
        self.passed += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs coroutines in virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.passed


class VirtualClock:
    """The engine's clock on a virtual loop. ``offset`` is how far the wall clock of this host was set wrong."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.offset = 0.0

    def now(self) -> float:
        return EPOCH + self._loop.time() + self.offset

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(main: Coroutine[Any, Any, Answer], loop: VirtualLoop) -> Answer:
    """Run to the end, cancel what is left, and close the loop."""
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(_cancel_the_rest())
        loop.close()


async def _cancel_the_rest() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
