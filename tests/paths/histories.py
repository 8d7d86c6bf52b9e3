"""Many histories in one database. One that fails is made small, and told with how to repeat it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from ramet.store.postgres import session
from ramet.store.session import LOOKS_MAX
from ramet.store.sqlite import session as sqlite_session
from tests.invariants.paths import paths
from tests.paths.history import History, Operation, now, operations
from tests.simulation.database import SIMULATED, SimulatedStore
from tests.support.world import SettableClock

STORE_HISTORIES = 50
"""So many share a database; then it would be large, and slow."""


LOOKS = (LOOKS_MAX, LOOKS_MAX, 1, 2)
"""How many waiting tasks one transaction looks at, by the seed: with few of them nearly everything is left to waves."""


@contextmanager
def batches(looks: int) -> Iterator[None]:
    """Work that follows from an end is done in parts of this size."""
    with patch.object(sqlite_session, "LOOKS_MAX", looks), patch.object(session, "LOOKS_MAX", looks):
        yield


@contextmanager
def fresh(on: str, clock: SettableClock) -> Iterator[SimulatedStore]:
    """A store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        store = SIMULATED[on](Path(folder), clock)
        try:
            yield store
        finally:
            store.close_now()


def survey(on: str, seeds: Iterable[int]) -> str | None:
    """Run these histories; what is wrong with the first that fails, made small, or None."""
    found = first_failure(on, seeds)
    return found and report(on, *found)


def first_failure(on: str, seeds: Iterable[int]) -> tuple[int, str] | None:
    """The first of these histories that fails, and what happened in it."""
    seeds = list(seeds)
    for first in range(0, len(seeds), STORE_HISTORIES):
        clock = SettableClock()
        with fresh(on, clock) as store:
            for number, seed in enumerate(seeds[first : first + STORE_HISTORIES]):
                found = failure(store, clock, seed, operations(seed), number)
                if found is not None:
                    return seed, found
    return None


def failure(
    store: SimulatedStore, clock: SettableClock, seed: int, history: Sequence[Operation], number: int = 0
) -> str | None:
    """What happened in a history until it went wrong; None when it did not."""
    told = History(store, clock, seed, number)
    try:
        with batches(LOOKS[seed % len(LOOKS)]):
            told.run(history)
        left = now(paths(store))
        assert left == [], "\n".join(left)
    except Exception as error:
        return "\n".join([*told.told, f"{type(error).__name__}: {error}"])
    return None


def alone(on: str, seed: int, history: Sequence[Operation]) -> str | None:
    """The same in a database of its own."""
    clock = SettableClock()
    with fresh(on, clock) as store:
        return failure(store, clock, seed, history)


def report(on: str, seed: int, found: str) -> str:
    """A history that failed, as small as it gets."""
    small, told = shrunk(on, seed)
    again = f"python -m tests.paths {on} {seed}"
    if told is None:
        return f"{found}\nThis needs those before it in the same database; alone it passes: {again}"
    return f"{told}\n{len(small)} operations of {len(operations(seed))}; to see them: {again}"


def shrunk(on: str, seed: int) -> tuple[list[Operation], str | None]:
    """Leave out whatever it fails without."""
    history = operations(seed)
    told = alone(on, seed, history)
    size = len(history) // 2
    while told is not None and size:
        at = 1  # Somebody has to be there.
        while at < len(history):
            fewer = history[:at] + history[at + size :]
            found = alone(on, seed, fewer)
            if found is None:
                at += size
            else:
                history, told = fewer, found
        size //= 2
    return history, told
