"""What the monitor and a scrape cost grows with what is new and live, not with what ended long ago."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.alerts.rules import MonitorLimits, Pattern
from ramet.model.flow.resources import WorkerStatus
from ramet.model.lineage.limits import Limits
from ramet.model.lineage.lineage import OPEN
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.maintenance import monitor_facts
from ramet.store.postgres import session
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import Settlement
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.postgres import database_pool
from tests.support.backends import BACKENDS, Backend, SqliteBackend
from tests.support.world import SettableClock, World, failing, settlement

LIMITS = MonitorLimits(
    demands_max=1, key_demands_max=1, depth_max=0, chain_runs=3, chain_ends_max=0, timeouts_max=0, failed_of_min=1,
    errors_share_max=0.0, errors_of_min=1, lost_max=0,
)  # fmt: skip
"""Everything that a round does is worth an alert."""
HOUR = 3_600.0
LINEAGES_A_ROUND = 3
FOUND = {
    Pattern.POSSIBLE_LOOP, Pattern.POSSIBLE_CYCLE, Pattern.DEEP_SPAWN, Pattern.RETRY_STORM, Pattern.CHAIN_LIMIT,
    Pattern.TASK_TIMEOUTS, Pattern.FAILED_LINEAGES, Pattern.INVOCATION_ERRORS, Pattern.EXPIRED_LEASES,
    Pattern.BREAKER_OPEN, Pattern.BUDGET,
}  # fmt: skip


# --- a round of everything that the monitor looks for


async def work(world: World, name: str) -> None:
    """A lineage that loops, fails, is lost, times out, storms and nearly uses up its budget."""
    store = world.store
    keys = ("asks", "breaks", "busy", "busier", "lost", "late", *(f"more {n}" for n in range(4)))
    roots = [world.task(key, task_seconds=100.0 if key == "late" else 10_000.0) for key in keys]
    await world.submit(*roots, tracking_id=name, max_tasks=11, retries_per_minute=1)
    claims = {claimed.key: claimed for claimed in await world.claim(len(keys), kinds=("page",))}
    for _ in range(3):
        world.clock.advance(1.0)
        await world.spawn(claims["asks"], world.task("asks"), world.task("of asks"))
    await store.settle([_end(claims[key]) for key in keys if key != "lost"])
    await store.open_breaker(f"host of {name}", by="ada")
    world.clock.advance(LIMITS.quiet_seconds / 10.0)
    while (await store.sweep()).changed:
        pass


def _end(claimed: ClaimedTask) -> Settlement:
    if claimed.key.startswith("bus"):
        return settlement(claimed, failing(claimed, "busy", "transient"))
    if claimed.key == "late":
        return settlement(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
    return settlement(claimed, failing(claimed) if claimed.key == "breaks" else None)


async def run(world: World) -> None:
    """A run of the schedule that fails, and one that stops at the limit of its chain."""
    runs: tuple[list[Callable[[ClaimedTask], ev.Event]], ...] = ([failing], [_goes_on] * 3)
    for ends in runs:
        world.clock.advance(300.0)
        for _ in range(3):
            await tick(world.store, 300.0, Limits())
        for end in ends:
            claimed = await world.claim_one(kinds=("image",))
            await world.settle(claimed, end(claimed))


def _goes_on(claimed: ClaimedTask) -> ev.Event:
    return ev.Continue(claimed.standing.fence, True)


async def look(world: World) -> None:
    while (await world.store.look(LIMITS, force=True)).more:
        pass


async def history(world: World, rounds: int) -> None:
    """So many rounds, looked at; all of it is over and long ago."""
    for number in range(rounds):
        await work(world, f"old {number}")
        await run(world)
        await world.store.close_breaker(f"host of old {number}", by="ada")
        while taken := await world.claim(100):
            await world.store.settle([settlement(one) for one in taken])
        await look(world)
        world.clock.advance(2.0 * HOUR)
        await world.sweep()
        await look(world)
    # The newest runs of a schedule count however old they are.
    of_runs = {Pattern.CHAIN_LIMIT, Pattern.INVOCATION_ERRORS}
    assert {alert.pattern for alert in await world.store.alerts()} <= of_runs


# --- what a database did


@contextmanager
def steps_of_sqlite(backend: Backend, clock: SettableClock) -> Iterator[tuple[Store, Counter[str]]]:
    """A store, and the steps of SQLite's machine by statement."""
    steps: Counter[str] = Counter()
    now = [""]

    def hook(when: str, sql: str) -> None:
        now[0] = sql if when == "before" else ""

    def step() -> int:
        steps[now[0]] += 1
        return 0

    store = SqliteStore(Path(backend.address), clock=clock, inline=True, hook=hook)
    store._connection.set_progress_handler(step, 1)
    yield store, steps
    store.close_now()


@contextmanager
def rows_of_postgres(backend: Backend, clock: SettableClock) -> Iterator[tuple[Store, Counter[str]]]:
    """A store, and the rows and index entries that its connections read, by table, once it is closed."""
    rows: Counter[str] = Counter()
    database_pool.leave(backend.address)
    with psycopg.connect(backend.address, autocommit=True) as looking:
        _wait_until_alone(looking)
        looking.execute("VACUUM ANALYZE")  # Entries of rows that are gone are the server's to clear away.
        before = _read(looking)
        store = PostgresStore(backend.address, clock=clock, inline=True)
        yield store, rows
        store.close_now()
        _wait_until_alone(looking)
        rows.update(_read(looking))
        rows.subtract(before)


def _wait_until_alone(looking: psycopg.Connection) -> None:
    """What a connection read is told when it has ended."""
    others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    while looking.execute(others).fetchall():
        looking.execute("SELECT pg_stat_clear_snapshot()")


def _read(looking: psycopg.Connection) -> Counter[str]:
    looking.execute("SELECT pg_stat_clear_snapshot()")
    found = looking.execute(
        # A connection may have a temporary table of the same name.
        "SELECT t.relname, SUM(t.seq_tup_read + COALESCE(t.idx_tup_fetch, 0) + COALESCE((SELECT SUM(i.idx_tup_read) "
        "FROM pg_stat_user_indexes i WHERE i.relid = t.relid), 0)) FROM pg_stat_user_tables t GROUP BY t.relname"
    ).fetchall()
    return Counter({name: int(count) for name, count in found})


# --- growth


async def cost(backend: Backend, rounds: int, watch: Callable[[World], Awaitable[object]]) -> Counter[str]:
    """What watching reads after so many rounds of history and one round that is new, by statement or table."""
    clock = SettableClock()
    world = World(backend.open(clock=clock, inline=True), clock)
    await world.store.see_worker(WorkerStatus("w", "host", 1, ("page", "image"), ("default",), 1))
    await Schedules(Registry(Limits()), world.store, Limits()).add("image", every_seconds=300.0)
    await history(world, rounds)
    await work(world, "new")
    await run(world)
    await world.store.close()
    measured = steps_of_sqlite if isinstance(backend, SqliteBackend) else rows_of_postgres
    with measured(backend, clock) as (store, read):
        await watch(World(store, clock))
    return read


def grown(few: Mapping[str, int], many: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """What cost noticeably more."""
    noise = 15 + 0.02 * sum(few.values())
    return {name: (few.get(name, 0), count) for name, count in many.items() if count > 1.5 * few.get(name, 0) + noise}


@pytest.fixture(params=sorted(BACKENDS))
def backends(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Backend, Backend]]:
    """Two fresh databases of a sort. Reading a whole table is cheapest while it has a page or two: nobody does here."""
    monkeypatch.setattr(session, "_ON", session._OFF)
    both = []
    for name in ("few", "many"):
        (tmp_path / name).mkdir()
        both.append(BACKENDS[request.param](tmp_path / name))
    yield both[0], both[1]
    for backend in both:
        backend.close()


async def test_a_scrape_and_a_look_cost_no_more_at_ten_times_the_history(
    backends: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every statement of a look, and so every pattern; the new round fires nearly all of them."""
    monkeypatch.setattr(monitor_facts, "RUNS_MAX", 2)
    monkeypatch.setattr(monitor_facts, "SLOTS_MAX", 4)
    fired: set[str] = set()

    async def watch(world: World) -> None:
        store = world.store
        await store.tallies(None)
        await store.present()
        await store.usage()
        await store.costs(None, limit=1)
        await store.lineages(states=OPEN, limit=100)
        await store.alerts(limit=1_000)
        await store.commit_times()
        await look(world)
        fired.update(alert.pattern for alert in await store.alerts())

    few, many = [await cost(backend, rounds, watch) for backend, rounds in zip(backends, (2, 20), strict=True)]
    # Ended lineages are counted up to 10,000, one entry of an index each.
    del many["SELECT COUNT(*) FROM (SELECT 1 FROM ramet_lineages WHERE state = ? LIMIT ?) c"]
    many["ramet_lineages"] -= LINEAGES_A_ROUND * 20
    assert fired == FOUND
    assert sum(few.values()) > 100
    assert grown(few, many) == {}
