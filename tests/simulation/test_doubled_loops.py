"""Every loop of a worker run twice at once, in one worker or in several, changes nothing."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet import Client, Worker
from tests.crash import handler_world
from tests.crash.runs import NoJitter
from tests.invariants.check import violations
from tests.simulation.database import SIMULATED, SimulatedStore
from tests.simulation.doubled_loops import DoubledWorker
from tests.simulation.faults import Faults, FaultyStore
from tests.simulation.observed_answers import Witness
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run

SEASON_SECONDS = 20_000.0
FINISHED_EARLY = {"gardener"}
"""Kinds whose tasks ask again and again until another has ended: how often is a matter of the moment."""


class Hand(NamedTuple):
    """One worker."""

    doubled: bool
    concurrency: int


class Left(NamedTuple):
    """What a run leaves, but for ids, fences and times."""

    tasks: dict[tuple[str, str, str], Any]
    effects: Counter[tuple[str, str]]
    lineages: list[Any]
    claims: Counter[tuple[str, str]]
    """How many claims ended in which way, by kind."""


def grown(folder: Path, hands: list[Hand], on: str = "sqlite") -> Left:
    """The garden of the crash tests, worked by these."""
    loop = VirtualLoop()
    return run(_grow(on, folder, hands, VirtualClock(loop)), loop)


async def _grow(on: str, folder: Path, hands: list[Hand], clock: VirtualClock) -> Left:
    store = SIMULATED[on](folder, clock.now)
    try:
        client = Client(handler_world.app.registry, store, handler_world.LIMITS, tables=handler_world.TABLES)
        await client.ensure_tables()
        await handler_world.sow(client)
        async with asyncio.timeout(SEASON_SECONDS):
            await _work(client, hands, clock)
            await handler_world.revive_rotten(client)
            await _work(client, hands, clock)
        assert await violations(store, lowered={"garden"}) == []
        return _left(store)
    finally:
        store.close_now()


async def _work(client: Client, hands: list[Hand], clock: VirtualClock) -> None:
    """Each reaches the database in its own time, so that loops and workers come between each other."""
    calm = Faults(0.0, 0.0, 0.0, 0.0, 0.0)
    store = cast(SimulatedStore, client.store)
    async with asyncio.TaskGroup() as group:
        for number, hand in enumerate(hands):
            slow = FaultyStore(
                f"w{number}",
                Witness(store, clock.now, frozenset()),
                rng=random.Random(number),
                faults=calm,
                tell=lambda line: None,
            )
            make = DoubledWorker if hand.doubled else Worker
            slow_client = Client(handler_world.app.registry, cast(Any, slow), handler_world.LIMITS)
            worker = make(
                handler_world.app, slow_client, until_idle=True, clock=clock, rng=NoJitter(),
                concurrency=hand.concurrency, poll_seconds=60.0, sweep_seconds=20.0,
            )  # fmt: skip
            group.create_task(worker.run())


def _left(store: SimulatedStore) -> Left:
    tasks = store.rows(
        "SELECT tracking_id, kind, key, state, result, attempts, losses, chain_depth, stage FROM ramet_tasks"
    )
    claims = store.rows(
        "SELECT t.kind, a.outcome FROM ramet_attempts a JOIN ramet_tasks t ON t.seq = a.seq ORDER BY t.kind, a.outcome"
    )
    return Left(
        {row[:3]: row[3:] for row in tasks},
        Counter(store.rows("SELECT task, step FROM effects")),
        store.rows(
            "SELECT tracking_id, state, tasks, live, success, filtered, skipped, failed, cancelled "
            "FROM ramet_lineages ORDER BY tracking_id"
        ),
        Counter(row for row in claims if row[0] not in FINISHED_EARLY),
    )


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="ramet")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """What one ordinary worker leaves."""
    return grown(tmp_path_factory.mktemp("alone"), [Hand(False, 16)])


def test_one_worker_does_all_that_is_worth_doubling(alone: Left) -> None:
    assert len(alone.tasks) >= 200
    assert {row[0] for row in alone.tasks.values()} == {"success", "filtered", "skipped", "failed", "cancelled"}
    assert {"success", "error", "snooze", "continue"} <= {outcome for _, outcome in alone.claims}


@pytest.mark.parametrize(
    "hands",
    [
        [Hand(True, 16)],
        pytest.param([Hand(False, 16)] * 2, marks=pytest.mark.nightly),
        pytest.param([Hand(True, 8)] * 3, marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_loops_that_run_twice_at_once_change_nothing(alone: Left, hands: list[Hand], tmp_path: Path) -> None:
    assert grown(tmp_path, hands) == alone


@pytest.mark.nightly
def test_loops_that_run_twice_at_once_change_nothing_on_postgresql(alone: Left, tmp_path: Path) -> None:
    assert grown(tmp_path, [Hand(True, 8), Hand(False, 4)], "postgres") == alone


hands = st.lists(st.builds(Hand, st.booleans(), st.integers(1, 24)), min_size=1, max_size=4)


@pytest.mark.nightly
@settings(
    max_examples=10, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)  # fmt: skip
@given(hands)
def test_any_number_of_workers_with_any_loops_leave_the_same(alone: Left, tmp_path: Path, hands: list[Hand]) -> None:
    assert grown(tmp_path, hands) == alone
