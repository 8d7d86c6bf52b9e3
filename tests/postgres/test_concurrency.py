"""Threads and processes that do everything at once on a few lineages: what each was told is what is there."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import psycopg
import pytest

from ramet.model.money import DAY_SETTING, GLOBAL_SETTING, ReserveRequest
from ramet.model.task.task import NewTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.postgres.crowd import Told, crowd, judged, prepare
from tests.support.processes import beside
from tests.support.waiting import HANG_SECONDS
from tests.support.world import in_threads

THREADS, PROCESSES = 3, 2
KILL_SECONDS = 0.15
ONE_OF_OURS = (
    "SELECT state, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY state = 'idle', random() LIMIT 1"
)
"""One that is busy, where one is."""
COMMITS = "SELECT COALESCE(SUM(commits), 0) FROM ramet_writers"
COMMITS_APART = 4
"""So much is committed between two cuts, however slow the machine is: else nothing is, and every verb gives up."""


@contextmanager
def killing(address: str, killed: list[str]) -> Iterator[None]:
    """Cut connections at random; the list grows by what each of them did."""
    over = threading.Event()

    def kill() -> None:
        at = 0
        with psycopg.connect(address, autocommit=True) as connection:
            while not over.wait(KILL_SECONDS):
                [(commits,)] = connection.execute(COMMITS).fetchall()
                if commits >= at:
                    killed.extend(state for state, _ in connection.execute(ONE_OF_OURS).fetchall())
                    at = commits + COMMITS_APART

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def everybody(address: str, stores: list[Store], steps: int, meanwhile: AbstractContextManager[Any]) -> Told:
    """Threads of this process and of others; what all of them were told. ``meanwhile`` begins when all are ready."""
    with beside("tests.postgres.crowd", [address], [str(THREADS), str(steps)], PROCESSES) as processes, meanwhile:
        telling = [asyncio.create_task(asyncio.to_thread(process.communicate, "go\n")) for process in processes]
        told = await crowd(stores, "thread", steps)
        for process, text in zip(processes, [text for text, _ in await asyncio.gather(*telling)], strict=True):
            assert process.returncode == 0
            told.add(Told(*json.loads(text)))
    return told


@pytest.fixture
async def stores(postgres_url: str) -> Any:
    opened: list[Store] = [PostgresStore(postgres_url) for _ in range(THREADS)]
    yield opened
    for store in opened:
        await store.close()


@pytest.mark.parametrize("steps", [40, pytest.param(600, marks=pytest.mark.nightly)])
async def test_whoever_collides_with_whom_everything_told_is_there(
    postgres_url: str, stores: list[Store], steps: int
) -> None:
    await prepare(stores[0])
    told = await everybody(postgres_url, stores, steps, nullcontext())
    found = await judged(stores[0], told)
    assert found == [], "\n".join(found)
    assert len(told.claims) > 20
    for store in stores:
        await store.close()
    assert deadlocks(postgres_url) == 0, "two took the same locks in different orders"


def deadlocks(address: str) -> int:
    """How many the server had to end; what a session saw is told when that ends."""
    with psycopg.connect(address) as connection:
        [(count,)] = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchall()
        return int(count)


@pytest.mark.parametrize("steps", [40, pytest.param(600, marks=pytest.mark.nightly)])
async def test_connections_that_are_cut_make_no_answer_wrong(
    postgres_url: str, stores: list[Store], steps: int
) -> None:
    await prepare(stores[0])
    killed: list[str] = []
    told = await everybody(postgres_url, stores, steps, killing(postgres_url, killed))
    found = await judged(stores[0], told)
    assert found == [], "\n".join(found)
    assert len(killed) > 3
    assert {"active", "idle in transaction"} & set(killed), "no connection was cut while a verb was on its way"


@pytest.mark.parametrize("setting", [DAY_SETTING, GLOBAL_SETTING])
async def test_a_ceiling_over_all_lineages_is_reached_to_the_last_and_never_passed(
    stores: list[Store], setting: str
) -> None:
    most, each = 100, 60
    await stores[0].put_setting(setting, most, "int", "")
    await stores[0].submit(
        [NewLineage(f"line{at}", [NewTask(f"t{at}", "page", "k", "null")]) for at in range(len(stores))]
    )
    granted: list[str] = []

    async def ask(store: Store, name: str) -> None:
        [claimed] = await store.claim(ClaimRequest(name, ("default",), ("page",), 1, 300.0))
        for number in range(each):
            wanted = ReserveRequest(f"{name}-{number}", claimed.standing.seq, claimed.standing.fence, 1)
            [answer] = await store.reserve([wanted])
            if answer.refused is None:
                granted.append(answer.id)

    await in_threads(*(partial(ask, store, f"w{at}") for at, store in enumerate(stores)))
    assert each * len(stores) > most
    assert len(granted) == most
    assert set(await stores[0].read("SELECT spent, reserved FROM ramet_spend")) == {(0, most)}
    assert await violations(stores[0]) == []


async def test_a_claim_passes_over_what_somebody_else_is_about_to_take(postgres_url: str, stores: list[Store]) -> None:
    """Nothing here waits; without passing over it would until the other transaction ends, which it never does."""
    roots = [NewTask(f"t{at}", "page", f"k{at}", "null") for at in range(3)]
    await stores[0].submit([NewLineage("line", roots)])
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM ramet_live WHERE kind = 'page' ORDER BY seq LIMIT 2 FOR UPDATE")
        async with asyncio.timeout(HANG_SECONDS):
            found = await stores[0].claim(ClaimRequest("w", ("default",), ("page",), 10, 300.0))
        assert [claimed.id for claimed in found] == ["t2"]


async def test_a_claim_leaves_an_overdue_lineage_that_somebody_holds_to_the_next(
    postgres_url: str, stores: list[Store]
) -> None:
    await stores[0].submit(
        [
            NewLineage("over", [NewTask("t0", "page", "k0", "null")], lineage_seconds=0.0),
            NewLineage("line", [NewTask("t1", "page", "k1", "null")]),
        ]
    )
    request = ClaimRequest("w", ("default",), ("page",), 10, 300.0)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM ramet_lineages WHERE tracking_id = 'over' FOR UPDATE")
        async with asyncio.timeout(HANG_SECONDS):
            assert [claimed.id for claimed in await stores[0].claim(request)] == ["t1"]
        over = await stores[0].lineage("over")
        assert over is not None
        assert over.state == "running"
    assert await stores[0].claim(request) == []
    over = await stores[0].lineage("over")
    assert over is not None
    assert over.state == "failed"
