"""The history lies in parts: made before they are needed, dropped whole, and nobody notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import psycopg
import pytest

from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError
from ramet.store.postgres import partitions
from ramet.store.postgres import prune as postgres_pruning
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import NewLineage
from tests.support.world import SettableClock, World

SIZE = 10


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "TASKS_PER_PART", SIZE)


@pytest.fixture
async def world(postgres_url: str) -> AsyncIterator[World]:
    clock = SettableClock()
    world = World(PostgresStore(postgres_url, clock=clock, inline=True), clock)
    yield world
    await world.check()
    await world.store.close()


def parts(url: str) -> list[int]:
    """Numbers of the parts that exist, the same ones of every table."""
    with psycopg.connect(url) as connection:
        found = {
            table: sorted(
                int(name.rpartition("_p")[2])
                for (name,) in connection.execute(
                    "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", (table,)
                )
            )
            for table in partitions.PARTED
        }
        found["known"] = [n for (n,) in connection.execute("SELECT number FROM ramet_parts ORDER BY number")]
    [numbers] = {tuple(numbers) for numbers in found.values()}
    return list(numbers)


async def test_there_is_room_before_anybody_needs_it(world: World, postgres_url: str) -> None:
    for number in range(4 * SIZE):
        await world.submit(tracking_id=f"line{number}")
        [(last,)] = await world.store.read("SELECT MAX(seq) FROM ramet_tasks")
        assert max(parts(postgres_url)) >= last // SIZE
    await world.run_all()
    [(found,)] = await world.store.read("SELECT COUNT(*) FROM ramet_tasks WHERE state = 'success'")
    assert found == 4 * SIZE


async def test_a_batch_of_more_than_a_part_finds_room(world: World, postgres_url: str) -> None:
    roots = [world.task() for _ in range(5 * SIZE + 3)]
    await world.submit(*roots, tracking_id="large")
    assert len(parts(postgres_url)) >= 6
    await world.run_all()
    assert set(await world.states(*(root.id for root in roots))) == {"success"}


async def test_several_processes_that_need_room_at_once_get_it(world: World, postgres_url: str) -> None:
    others = [PostgresStore(postgres_url, clock=world.clock) for _ in range(3)]
    wanted = [
        other.submit([NewLineage(f"{at}-{n}", [NewTask(f"{at}-{n}-{k}", "page", f"k{k}", "null") for k in range(7)])])
        for at, other in enumerate(others)
        for n in range(12)
    ]
    await asyncio.gather(*wanted)
    for other in others:
        await other.close()
    [(found,)] = await world.store.read("SELECT COUNT(*) FROM ramet_tasks")
    assert found == 3 * 12 * 7


async def test_a_submit_in_somebody_elses_transaction_finds_room(world: World, postgres_url: str) -> None:
    def lineage(name: str) -> NewLineage:
        return NewLineage(name, [NewTask(f"{name}-{at}", "page", f"k{at}", "null") for at in range(3 * SIZE)])

    with psycopg.connect(postgres_url) as connection:
        connection.execute("SELECT 1")
        world.store.submit_within(connection, [lineage("a")])
        world.store.submit_within(connection, [lineage("b")])
        connection.rollback()
    assert await world.store.read("SELECT COUNT(*) FROM ramet_tasks") == [(0,)]
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SELECT 1")
        world.store.submit_within(connection, [lineage("c")])
        connection.commit()
    assert await world.store.read("SELECT COUNT(*) FROM ramet_tasks") == [(3 * SIZE,)]


async def test_an_id_is_taken_once(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "TASKS_PER_PART", 1_000)
    world = World(PostgresStore(postgres_url, inline=True), SettableClock())
    task = world.task()
    await world.submit(task, tracking_id="one")
    with pytest.raises(StoreError):
        await world.submit(task._replace(key="another"), tracking_id="two")
    await world.store.close()


async def finished(world: World, name: str, tasks: int) -> None:
    await world.submit(*(world.task() for _ in range(tasks)), tracking_id=name)
    await world.run_all()


async def prune(world: World, rows: int = 7) -> int:
    """Until there is nothing to prune; how many calls it took."""
    calls = 0
    while any(await world.store.prunable(world.clock.now, limit=1)):
        await world.store.prune(world.clock.now, limit=3, rows=rows)
        calls += 1
        assert calls < 200
    return calls


async def test_old_parts_are_dropped_with_their_lineages(world: World, postgres_url: str) -> None:
    for number in range(6):
        await finished(world, f"old{number}", 7)
    world.clock.advance(10.0)
    await finished(world, "young", 3)
    [(young_from,)] = await world.store.read("SELECT MIN(seq) FROM ramet_tasks WHERE tracking_id = 'young'")
    world.clock.advance(-5.0)
    await prune(world)
    assert parts(postgres_url)[0] == young_from // SIZE
    for table in ("tasks", "attempts", "identities", "lineages"):
        assert {row[0] for row in await world.store.read(f"SELECT tracking_id FROM ramet_{table}")} == {"young"}


async def test_whole_parts_are_not_deleted_row_by_row(world: World, postgres_url: str) -> None:
    for number in range(6):
        await finished(world, f"old{number}", 7)
    world.clock.advance(10.0)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT COUNT(*) FROM ramet_tasks_p1").fetchall() == [(SIZE,)]
    for _ in range(3):
        await world.store.prune(world.clock.now, limit=0, rows=1_000)  # one part a call, and no lineage by row
    assert parts(postgres_url)[0] == 3
    assert await world.store.read("SELECT COUNT(*) FROM ramet_lineages") == [(6,)]
    await prune(world)


async def test_a_lineage_that_goes_on_keeps_its_parts_and_only_those(world: World, postgres_url: str) -> None:
    await finished(world, "a", SIZE + 2)
    await world.submit(world.task(delay_seconds=1e4), tracking_id="long")
    await finished(world, "b", 2 * SIZE)
    world.clock.advance(10.0)
    [(seq,)] = await world.store.read("SELECT seq FROM ramet_tasks WHERE tracking_id = 'long'")
    [(last,)] = await world.store.read("SELECT MAX(seq) FROM ramet_tasks")
    pinned = seq // SIZE
    await prune(world)
    assert parts(postgres_url)[:2] == [pinned, last // SIZE]
    assert pinned + 1 < last // SIZE
    assert [row[0] for row in await world.store.read("SELECT tracking_id FROM ramet_tasks")] == ["long"]
    world.clock.advance(1e4)
    await world.run_all()
    world.clock.advance(10.0)
    await prune(world)
    await world.store.prune(world.clock.now)
    assert pinned not in parts(postgres_url)


async def test_parts_with_younger_tasks_stay(world: World, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_pruning, "PARTS_LOOKED_AT", 1)
    world.clock.advance(10.0)
    await finished(world, "young", 3 * SIZE)
    [(first,)] = await world.store.read("SELECT MIN(seq) FROM ramet_tasks")
    for _ in range(first // SIZE + 2):  # The first one has no tasks.
        assert await world.store.prune(world.clock.now - 5.0) == 0
    assert parts(postgres_url)[0] == first // SIZE
    assert await world.store.read("SELECT COUNT(*) FROM ramet_tasks") == [(3 * SIZE,)]


async def test_a_lineage_that_seems_younger_because_the_clock_was_set_back_keeps_its_part(
    world: World, postgres_url: str
) -> None:
    world.clock.advance(10.0)
    await finished(world, "a", 1)
    world.clock.advance(-5.0)
    for number in range(2 * SIZE):
        await finished(world, f"b{number}", 1)
    assert await world.store.read("SELECT seq / 10, COUNT(*) FROM ramet_tasks GROUP BY 1 ORDER BY 1 LIMIT 1") == [
        (0, SIZE - 1)
    ]
    world.clock.advance(3.0)
    await prune(world)
    assert {row[0] for row in await world.store.read("SELECT tracking_id FROM ramet_tasks")} == {"a"}
    assert parts(postgres_url)[:2] == [0, 2]
    world.clock.advance(10.0)
    await prune(world)
    await world.store.prune(world.clock.now)
    assert parts(postgres_url)[0] == 2


async def test_a_part_that_somebody_reads_is_dropped_another_time(world: World, postgres_url: str) -> None:
    await finished(world, "old", 3 * SIZE)
    world.clock.advance(10.0)
    with psycopg.connect(postgres_url) as reader:
        [(first, last)] = reader.execute("SELECT MIN(seq), MAX(seq) FROM ramet_tasks").fetchall()
        assert first // SIZE < last // SIZE
        for _ in range(8):
            await world.store.prune(world.clock.now)
        assert parts(postgres_url)[0] <= first // SIZE
        await world.submit(tracking_id="others go on")
        reader.rollback()
    await prune(world)
    await world.store.prune(world.clock.now)
    assert parts(postgres_url)[0] == last // SIZE


async def test_who_may_only_read_and_write_makes_room_and_prunes_all_the_same(world: World, postgres_url: str) -> None:
    name = "worker_of_" + postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'".encode())
        for what in ("TABLES", "SEQUENCES"):
            admin.execute(f"GRANT ALL ON ALL {what} IN SCHEMA public TO {name}".encode())
    theirs = urlsplit(postgres_url)
    theirs = theirs._replace(netloc=f"{name}:x@{theirs.netloc.rpartition('@')[2]}")
    try:
        worker = World(PostgresStore(theirs.geturl(), clock=world.clock, inline=True), world.clock)
        for number in range(6):
            await finished(worker, f"theirs{number}", 7)
        world.clock.advance(10.0)
        await prune(worker)
        await worker.store.close()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(f"DROP OWNED BY {name}".encode())
            admin.execute(f"DROP ROLE {name}".encode())
    assert parts(postgres_url)[0] >= 3


class Broken(Exception):
    """A statement that the test lets fail."""


async def test_a_prune_that_dies_at_any_statement_goes_on(world: World, postgres_url: str) -> None:
    for number in range(4):
        await finished(world, f"old{number}", 7)
    world.clock.advance(10.0)
    left = [-1]

    def hook(when: str, sql: str) -> None:
        left[0] -= when == "after"
        if left[0] == 0:
            raise Broken

    dying = PostgresStore(postgres_url, clock=world.clock, inline=True, hook=hook)
    for at in range(1, 400):
        left[0] = at
        try:
            await dying.prune(world.clock.now, limit=2, rows=5)
        except Broken:
            await world.check()
        if not any(await world.store.prunable(world.clock.now, limit=1)):
            break
    left[0] = -1
    await dying.close()
    await prune(world)
    assert await world.store.read("SELECT COUNT(*) FROM ramet_tasks") == [(0,)]
    assert await world.store.read("SELECT COUNT(*) FROM ramet_identities") == [(0,)]
    assert parts(postgres_url)[0] > 0
