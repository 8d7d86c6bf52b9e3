"""A worker beside who watches it, and what signals do to it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import pytest

from ramet.commands.worker import look_on, quiet_guard, run_watched, run_worker, tell_stopping


class Held:
    """A worker with tasks in hand, which ends when it is told to."""

    def __init__(self, in_hand: int = 3) -> None:
        self.in_hand = in_hand
        self.told: list[str] = []
        self._over = asyncio.Event()

    async def run(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await self._over.wait()

    def drain(self) -> None:
        self.told.append("drain")
        os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        self.told.append("stop")
        self._over.set()


async def test_the_first_signal_drains_and_the_second_stops(capsys: pytest.CaptureFixture[str]) -> None:
    worker = Held()
    before = signal.getsignal(signal.SIGTERM)
    assert await run_worker(worker) == [signal.SIGINT, signal.SIGTERM]  # type: ignore[arg-type]
    assert worker.told == ["drain", "stop"]
    told = capsys.readouterr()
    assert told.err == "stopping after the 3 tasks in progress; Ctrl-C again stops now\nstopping now\n"
    assert told.out == ""
    assert signal.getsignal(signal.SIGTERM) == before


async def test_whoever_watches_ends_with_the_worker() -> None:
    over = asyncio.Event()

    async def watching() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    assert await run_watched(Held(), watching(), tell_stopping) == signal.SIGINT  # type: ignore[arg-type]
    assert over.is_set()


async def test_looking_ends_with_what_is_over() -> None:
    seen = iter(range(10))

    async def look() -> int:
        return next(seen)

    assert await look_on(look, 0.0, is_over=lambda number: number == 4) == 4
    assert next(seen) == 5


def test_refusals_of_the_guard_are_told_again_afterwards() -> None:
    log = logging.getLogger("ramet.guard")
    with quiet_guard():
        assert not log.isEnabledFor(logging.WARNING)
        assert log.isEnabledFor(logging.ERROR)
    assert log.isEnabledFor(logging.WARNING)
