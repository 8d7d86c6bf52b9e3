"""A database that is used again holds nothing of the test before."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ramet.store.postgres.store import PostgresStore
from tests.postgres import database_pool
from tests.postgres.servers import NamedDatabase, databases
from tests.support.world import EFFECTS, SettableClock, World

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"


def rows(url: str) -> dict[str, list[object]]:
    """Everything in the database, by table."""
    with psycopg.connect(url) as connection:
        names = sorted(name for (name,) in connection.execute(TABLES))
        # In what order they stand on the disk depends on how long ago the server cleaned up.
        return {name: sorted(connection.execute(f"TABLE {name}".encode()), key=repr) for name in names}


@pytest.fixture
def url() -> Iterator[str]:
    if isinstance(databases(), NamedDatabase):
        pytest.skip("the named server gives one database, which is emptied each time")
    url = database_pool.take()
    yield url
    database_pool.give_back(url)


async def test_what_a_test_leaves_is_gone(url: str) -> None:
    before = rows(url)
    world = World(PostgresStore(url, clock=SettableClock(), inline=True), SettableClock())
    await world.store.ensure_tables([EFFECTS])
    await world.submit(*(world.task() for _ in range(300)))
    await world.run_all()
    assert rows(url) != before
    database_pool.give_back(url)  # The store is still open.
    again = database_pool.take()
    try:
        assert again == url
        assert rows(again) == before
        store = PostgresStore(again, inline=True)
        [(number,)] = await store.read("SELECT number FROM ramet_next_number")
        assert number == 1
        store.close_now()
    finally:
        world.store.close_now()


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX {index}",
        "ALTER TABLE ramet_lineages ALTER COLUMN max_tasks DROP NOT NULL",
        "ALTER TABLE ramet_live ADD COLUMN more INT",
        "DROP TABLE ramet_edges",
        "CREATE INDEX another ON ramet_live (seq, fence)",
    ],
)
def test_a_database_whose_tables_were_changed_is_not_used_again(url: str, change: str) -> None:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = 'ramet_live'::regclass "
            "AND NOT i.indisprimary ORDER BY 1 LIMIT 1"
        ).fetchone()
        assert found is not None
        connection.execute(change.format(index=found[0]).encode())
    database_pool.give_back(url)
    other = database_pool.take()
    database_pool.give_back(other)
    assert other != url
