"""Claims that begin where the last ones found something lose no task, and keep the order of priorities."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from ramet.store import scan_floor
from ramet.store.postgres.store import PostgresStore
from ramet.store.scan_floor import ScanFloors, raised_floor
from ramet.store.verbs import claim
from tests.support.world import SettableClock, World, failing


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """Monotonic seconds as the test says; every look from the beginning counts as slow."""
    ticks = SettableClock(1_000.0)

    def monotonic() -> float:
        ticks.advance(0.1)
        return ticks()

    for module in (scan_floor, claim):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=monotonic))
    return ticks


@pytest.fixture
async def world(postgres_url: str, ticks: SettableClock) -> AsyncIterator[World]:
    clock = SettableClock()
    world = World(PostgresStore(postgres_url, clock=clock), clock)
    yield world
    await world.check()
    await world.store.close()


@pytest.fixture(autouse=True)
def for_long(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """From the floor for a minute, where the test does not say otherwise."""
    if "world" in request.fixturenames:
        monkeypatch.setattr(scan_floor, "SHARE", 600)


async def engaged(world: World) -> None:
    """Claims begin at the floor from now on: two looks were slow."""
    await world.submit(*(world.task() for _ in range(6)), tracking_id="first")
    for _ in range(2):
        [claimed] = await world.claim(1)
        await world.settle(claimed)


async def test_tasks_are_claimed_in_order_from_the_floor(world: World) -> None:
    await engaged(world)
    assert [claimed.key for claimed in await world.claim(3)] == ["key3", "key4", "key5"]
    assert [claimed.key for claimed in await world.claim(3)] == ["key6"]


async def test_what_comes_to_wait_below_the_floor_is_found_by_the_next_look(world: World, ticks: SettableClock) -> None:
    await engaged(world)
    early = await world.claim_one()
    [later] = await world.claim(1)
    await world.settle(later)
    await world.settle(early, failing(early, error_class="transient"))
    world.clock.advance(10.0)
    [rest] = await world.claim(1)  # raises the floor over the retry
    assert rest.key == "key5"
    assert [claimed.key for claimed in await world.claim(5)] == ["key6"]
    ticks.advance(60.0)
    assert [claimed.key for claimed in await world.claim(5)] == [early.key]


async def test_a_higher_priority_goes_first_from_the_floor_too(world: World) -> None:
    await world.submit(world.task("urgent", priority=5), tracking_id="urgent")
    await engaged(world)
    await world.submit(*(world.task(f"urgent too {n}", priority=5) for n in range(2)), tracking_id="urgent too")
    assert [claimed.key for claimed in await world.claim(1)] == ["urgent too 0"]
    assert [claimed.key for claimed in await world.claim(2)] == ["urgent too 1", "key3"]


async def test_a_process_that_starts_at_an_empty_queue_finds_what_comes(world: World) -> None:
    await world.submit(world.task("past"), tracking_id="past")
    await world.run_all()
    world.store._writer._links[0]._floors._known.clear()  # type: ignore[attr-defined]
    for _ in range(3):
        assert await world.claim() == []
    await world.submit(world.task("new"), tracking_id="new")
    assert [claimed.key for claimed in await world.claim()] == ["new"]


async def test_delayed_tasks_come_in_time_from_the_floor(world: World) -> None:
    for name, seconds in (("a", 10.0), ("b", 20.0), ("c", 30.0)):
        await world.submit(world.task(name, delay_seconds=seconds), tracking_id=name)
    for name in ("a", "b", "c"):
        world.clock.advance(10.0)
        assert [claimed.key for claimed in await world.claim()] == [name]


def test_one_slow_look_alone_changes_nothing(ticks: SettableClock) -> None:
    known = ScanFloors()
    assert not known.is_slow("scan", 1.0, 0)
    assert known.of("scan") is None
    assert not known.is_slow("scan", 0.001, 0)
    assert not known.is_slow("scan", 1.0, 0)


def test_a_look_that_found_many_rows_may_take_its_time() -> None:
    known = ScanFloors()
    assert [known.is_slow("scan", 0.025, 1_000) for _ in range(3)] == [False, False, False]


def test_looks_from_the_beginning_take_a_tenth_of_the_time(ticks: SettableClock) -> None:
    known = ScanFloors()
    known.begin_at("scan", {0: (1, 1)}, 4.0)
    looks = 0
    began = ticks()
    while ticks() < began + 400.0:
        if known.of("scan") is None:
            looks += 1
            ticks.advance(4.0)
            known.begin_at("scan", {0: (1, 1)}, 4.0)
    assert 8 <= looks <= 10


def test_while_one_looks_the_others_begin_at_the_floor(ticks: SettableClock) -> None:
    known = ScanFloors()
    known.begin_at("scan", {0: (1, 1)}, 4.0)
    ticks.advance(100.0)
    assert known.of("scan") is None
    assert known.of("scan") == {0: (1, 1)}


def test_what_was_left_behind_lowers_the_floor_only_when_there_is_more_of_it() -> None:
    assert raised_floor({0: (5, 50)}, {0: (1, 3)}, filled=False) == {0: (5, 50)}
    assert raised_floor({0: (5, 50)}, {0: (1, 3)}, filled=True) == {0: (1, 3)}
    assert raised_floor({0: (5, 50), 1: (2, 2)}, {0: (1, 3), 1: (7, 7)}, filled=True) == {0: (5, 50), 1: (7, 7)}


def test_before_a_floor_is_known_everybody_looks_from_the_beginning() -> None:
    known = ScanFloors()
    assert not known.is_slow("scan", 5.0, 0), "one slow look may be somebody else's fault"
    assert known.of("scan") is None
    assert known.of("scan") is None, "beside the one that looks again, too"
