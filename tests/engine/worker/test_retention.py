"""Retention in a worker: old lineages go by themselves, young ones stay, and a clock that jumped is not believed."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ramet.engine.worker.loops import CLOCK_JUMP_SECONDS_MAX, prune
from ramet.store.answers import Prunable
from ramet.store.errors import StoreError
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run


class Shelf:
    """A store that only knows how old its lineages are."""

    def __init__(self, ended_at: list[float]) -> None:
        self.ended_at = ended_at
        self.failures = 0

    async def prunable(self, before: float, *, limit: int = 0) -> Prunable:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")
        return Prunable(min(limit, sum(at < before for at in self.ended_at)), 0, 0)

    async def prune(self, before: float) -> int:
        old = [at for at in self.ended_at if at < before][:2]
        self.ended_at = [at for at in self.ended_at if at not in old]
        return len(old)


def after(shelf: Shelf, seconds: float, days: float | None = 1.0, jump: float = 0.0) -> list[float]:
    """What is left after a loop of retention ran for so long in virtual time; ages in days."""
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    shelf.ended_at = [clock.now() - age * 86_400.0 for age in shelf.ended_at]
    now = clock.now()

    async def live() -> None:
        loop = asyncio.create_task(prune(shelf, clock, lambda: days))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        clock.offset = jump
        await asyncio.sleep(seconds)
        loop.cancel()

    run(live(), loop)
    return sorted(round((now - at) / 86_400.0, 2) for at in shelf.ended_at)


def test_what_is_older_than_the_setting_goes_and_the_rest_stays() -> None:
    assert after(Shelf([0.0, 0.5, 0.99, 1.01, 2.0, 3.0, 4.0, 5.0]), 300.0) == [0.0, 0.5, 0.99]


def test_without_retention_nothing_goes() -> None:
    assert after(Shelf([0.0, 1_000.0]), 300.0, days=None) == [0.0, 1_000.0]


def test_a_clock_set_far_forward_makes_nothing_old() -> None:
    assert after(Shelf([0.2, 0.5]), 300.0, jump=1e8) == [0.2, 0.5]
    assert after(Shelf([0.2, 0.99]), 3_000.0, jump=CLOCK_JUMP_SECONDS_MAX - 1) == [0.2]


def test_a_database_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf([2.0])
    shelf.failures = 2
    with caplog.at_level(logging.WARNING):
        assert after(shelf, 300.0) == []
    assert "retention could not run: the disk is full" in caplog.text
