"""Late and slow maintenance, jumps of the clock, limits and breakers: every row stays sound, and everything ends."""

from __future__ import annotations

import pytest

from tests.paths.histories import LOOKS, batches, fresh
from tests.paths.late_maintenance import Loose, deeds
from tests.support.world import SettableClock

FEW = {"postgres": 2, "sqlite": 12}
ALL = {"postgres": 40, "sqlite": 2_000}


def _check(on: str, seeds: range) -> None:
    for seed in seeds:
        clock = SettableClock()
        with fresh(on, clock) as store, batches(LOOKS[seed % len(LOOKS)]):
            history = Loose(store, clock)
            try:
                history.run(deeds(seed))
            except Exception as error:
                raise AssertionError(f"seed {seed} on {on}: {error}") from error


@pytest.mark.timeout(600)
@pytest.mark.parametrize("on", FEW)
def test_loose_histories(on: str) -> None:
    _check(on, range(FEW[on]))


@pytest.mark.nightly
@pytest.mark.timeout(6_000)
@pytest.mark.parametrize("on", FEW)
def test_loose_histories_in_their_thousands(on: str) -> None:
    _check(on, range(FEW[on], ALL[on]))
