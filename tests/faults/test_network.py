"""What a network does between workers and server, while trees grow: nothing is lost and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.load import Load, under_load
from tests.postgres.proxy import Proxy

TIMES = [pytest.param(1, id="once"), pytest.param(30, id="30 times", marks=pytest.mark.nightly)]
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


@pytest.mark.parametrize("times", TIMES)
async def test_connections_that_are_cut_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, proxy.cut)


@pytest.mark.parametrize("times", TIMES)
async def test_answers_to_commits_that_are_swallowed_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, lambda: proxy.swallow_commit_answers(SWALLOWED))
    assert proxy.swallowed >= times


@pytest.mark.nightly
@pytest.mark.parametrize("times", TIMES)
async def test_commits_that_never_arrive_lose_nothing(times: int, load: Load, proxy: Proxy) -> None:
    await disturb(load, times, lambda: proxy.cut_before_commit(SWALLOWED))
    assert proxy.prevented >= times


@pytest.mark.nightly
@pytest.mark.parametrize("times", TIMES)
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
