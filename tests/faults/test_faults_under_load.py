"""kill -9 of workers, of which there are four on one database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from ramet.testing.postgres import Cluster
from ramet.testing.postgres_server.server import connect
from tests.faults.load import Load, under_load
from tests.postgres.full_disk import small_log, small_tables
from tests.postgres.proxy import Proxy
from tests.support.backends import Backend
from tests.support.waiting import until


# What kills do to a file is seen in tests/crash in every run.
@pytest.mark.parametrize("backend", ["postgres", pytest.param("sqlite", marks=pytest.mark.nightly)], indirect=True)
@pytest.mark.parametrize(
    "kills", [pytest.param(3, id="3 kills"), pytest.param(30, id="30 kills", marks=pytest.mark.nightly)]
)
async def test_killed_workers_lose_nothing(kills: int, backend: Backend, tmp_path: Path) -> None:
    async with under_load(Load(backend.address, tmp_path, seed=1)) as load:
        await load.faults(kills, load.kill_a_worker)


NETWORK_TIMES = [pytest.param(1, id="once"), pytest.param(30, id="30 times", marks=pytest.mark.nightly)]
SILENCES = [pytest.param(1, id="once"), pytest.param(10, id="10 times", marks=pytest.mark.nightly)]
SILENT: dict[str, Callable[[Proxy], None]] = {
    "clients vanish": lambda proxy: proxy.half_open("client"),
    "the server vanishes": lambda proxy: proxy.half_open("server"),
    "nothing passes": Proxy.stall,
}
MORE_SILENT = [name for name in SILENT if name != "the server vanishes"]
"""In the full set only."""
SWALLOWED = 5
"""Commits in a row, of whichever worker."""


@pytest.fixture
def load(proxy: Proxy, postgres_url: str, tmp_path: Path) -> Load:
    return Load(proxy.url(postgres_url), tmp_path, seed=2, direct=postgres_url)


async def disturb(load: Load, times: int, fault: Callable[[], None]) -> None:
    async with under_load(load):
        await load.faults(times, fault)


@pytest.mark.parametrize("times", NETWORK_TIMES)
async def test_connections_that_are_cut_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, proxy.cut)


@pytest.mark.parametrize("times", NETWORK_TIMES)
async def test_answers_to_commits_that_are_swallowed_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, lambda: proxy.swallow_commit_answers(SWALLOWED))
    assert proxy.swallowed >= times


@pytest.mark.nightly
@pytest.mark.parametrize("times", NETWORK_TIMES)
async def test_commits_that_never_arrive_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, lambda: proxy.cut_before_commit(SWALLOWED))
    assert proxy.prevented >= times


@pytest.mark.nightly
@pytest.mark.parametrize("times", NETWORK_TIMES)
async def test_a_delay_in_both_directions_loses_nothing(times: int, load: Load, proxy: Proxy) -> None:
    async with under_load(load):
        for _ in range(times):
            proxy.delay(load.rng.uniform(0.001, 0.01))
            await load.submit()
            await load.go_on(15)
            proxy.delay(0.0)
            await load.go_on(5)


@pytest.mark.parametrize("times", SILENCES)
@pytest.mark.parametrize(
    "silence", ["the server vanishes", *(pytest.param(name, marks=pytest.mark.nightly) for name in MORE_SILENT)]
)
async def test_silence_loses_nothing(silence: str, times: int, load: Load, proxy: Proxy) -> None:
    """One side of every connection vanishes without a word to the other, or nothing passes in either direction, for
    longer than a lease. What is half open then is told, as the operating system's probes would tell it."""
    async with under_load(load):
        for _ in range(times):
            await load.submit()
            await load.go_on(load.rng.randint(1, 20))
            SILENT[silence](proxy)
            await load.leases_lapse()
            proxy.heal()


@pytest.mark.nightly
async def test_a_server_out_of_reach_for_longer_than_a_lease_loses_nothing(load: Load, proxy: Proxy) -> None:
    async with under_load(load):
        await load.go_on(20)
        proxy.refuse()
        await load.leases_lapse()
        proxy.heal()
        await load.submit(2)
        await load.go_on(20)


SERVER_TIMES = [pytest.param(1, id="once"), pytest.param(20, id="20 times", marks=pytest.mark.nightly)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("times", SERVER_TIMES)
async def test_a_server_that_is_killed_and_started_again_loses_nothing(
    times: int, cluster: Cluster, tmp_path: Path
) -> None:
    def kill_and_start() -> None:
        cluster.kill()
        cluster.start()

    async with under_load(Load(cluster.create_database(), tmp_path, seed=3)) as load:
        await load.faults(times, kill_and_start)


@pytest.mark.parametrize("times", SERVER_TIMES)
async def test_sessions_that_are_ended_at_any_moment_lose_nothing(
    times: int, postgres_url: str, tmp_path: Path
) -> None:
    """One session at a time, whatever it does: those that write, those that read, those that listen."""
    load = Load(postgres_url, tmp_path, seed=4)

    def end_some() -> None:
        with connect(postgres_url) as connection:
            for _ in range(10):
                found = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                    "AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY pid"
                ).fetchall()
                connection.execute("SELECT pg_terminate_backend(%s)", load.rng.choice(found or [(0,)]))

    async with under_load(load):
        await load.faults(2 * times, end_some)


async def test_the_promotion_of_a_synchronous_standby_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Workers know both servers; the first dies without a warning, and the second takes over."""
    first = cluster.create_database()
    with cluster.standby() as second:
        database = first.rpartition("/")[2]
        both = f"{first.rpartition('/')[0]},{second.url(database).rpartition('@')[2]}?target_session_attrs=read-write"
        async with under_load(Load(both, tmp_path, seed=5, direct=first)) as load:
            await load.go_on(30)
            cluster.kill()
            second.promote()
            load.direct = second.url(database)
            await load.submit(3)
            await load.go_on(30)


@pytest.mark.nightly
async def test_a_disk_without_room_for_tables_loses_nothing(tmp_path: Path) -> None:
    with small_tables() as (disk, _, url):
        async with under_load(Load(url, tmp_path, seed=6)) as load:
            await load.go_on(20)
            disk.fill()
            await load.workers_say("full")
            disk.free()
            await load.submit(2)
            await load.go_on(20)


def fill_the_log(url: str) -> None:
    """Write until the server refuses it, or gives up."""
    with suppress(psycopg.Error), connect(url) as connection:
        connection.execute("CREATE TABLE ballast (text text)")
        while True:
            connection.execute("INSERT INTO ballast SELECT repeat('x', 100) FROM generate_series(1, 10000)")


async def test_a_disk_without_room_for_the_log_loses_nothing(tmp_path: Path) -> None:
    """The server gives up when its log finds no room, and is started again when there is some."""
    with small_log() as (disk, cluster, url):
        async with under_load(Load(url, tmp_path, seed=7)) as load:
            await load.go_on(20)
            disk.fill()
            await asyncio.to_thread(fill_the_log, url)
            await until(lambda: not cluster.running, "the server gives up")
            disk.free()
            cluster.start()
            await load.submit(2)
            await load.go_on(20)
