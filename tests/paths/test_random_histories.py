"""Random histories: the store does what the brute-force reference does, with every ticket and everybody who waits."""

from __future__ import annotations

import pytest

from tests.paths.histories import LOOKS, batches, fresh, survey
from tests.paths.late_maintenance import Loose, deeds
from tests.support.world import SettableClock

PART = {"postgres": 12, "sqlite": 50}
"""Histories of one test: so many that several processes share them well."""
FEW = {"postgres": 1, "sqlite": 1}
"""Parts in every run of the tests."""
ALL = {"postgres": 25, "sqlite": 200}


def _check(on: str, part: int) -> None:
    found = survey(on, range(part * PART[on], (part + 1) * PART[on]))
    assert found is None, found


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("on", "part"), [(on, part) for on, parts in FEW.items() for part in range(parts)])
def test_random_histories(on: str, part: int) -> None:
    _check(on, part)


@pytest.mark.nightly
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize(("on", "part"), [(on, part) for on in FEW for part in range(FEW[on], ALL[on])])
def test_random_histories_in_their_thousands(on: str, part: int) -> None:
    _check(on, part)


FEW_LATE = {"postgres": 2, "sqlite": 12}
ALL_LATE = {"postgres": 40, "sqlite": 2_000}


def _check_late(on: str, seeds: range) -> None:
    for seed in seeds:
        clock = SettableClock()
        with fresh(on, clock) as store, batches(LOOKS[seed % len(LOOKS)]):
            history = Loose(store, clock)
            try:
                history.run(deeds(seed))
            except Exception as error:
                raise AssertionError(f"seed {seed} on {on}: {error}") from error


@pytest.mark.timeout(600)
@pytest.mark.parametrize("on", FEW_LATE)
def test_loose_histories(on: str) -> None:
    _check_late(on, range(FEW_LATE[on]))


@pytest.mark.nightly
@pytest.mark.timeout(6_000)
@pytest.mark.parametrize("on", FEW_LATE)
def test_loose_histories_in_their_thousands(on: str) -> None:
    _check_late(on, range(FEW_LATE[on], ALL_LATE[on]))
