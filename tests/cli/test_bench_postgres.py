"""The bare loop on PostgreSQL: the yardstick has the engine's rows and loses none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ramet.cli import bench_app, bench_bare_postgres
from ramet.store.server_databases import connect
from tests.postgres.servers import databases

TABLES = ("tasks", "live", "identities", "attempts")


@pytest.fixture
def address() -> Iterator[str]:
    made = databases().create(migrated=True)
    yield made
    databases().drop(made)


def columns(address: str, table: str) -> list[tuple[str, str, str | None]]:
    query = (
        "SELECT column_name::text, data_type::text, collation_name::text FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = %s ORDER BY ordinal_position"
    )
    with connect(address) as connection:
        return connection.execute(query, (table,)).fetchall()


def test_the_bare_loop_has_the_engines_columns_and_loses_nothing(address: str) -> None:
    found = bench_bare_postgres.run(address, 2_500, 1_000, bench_app.TEXT)
    assert min(found.submit_per_s, found.drain_per_s, found.drain_cpu_us, found.wal_bytes) > 0
    for table in TABLES:
        assert columns(address, f"bare_{table}") == columns(address, f"ramet_{table}") != []
    with connect(address) as connection:
        [(rows, distinct)] = connection.execute("SELECT COUNT(*), COUNT(DISTINCT seq) FROM bare_attempts").fetchall()
        [(payload,)] = connection.execute("SELECT payload FROM bare_tasks LIMIT 1").fetchall()
    assert (rows, distinct) == (2_500, 2_500)
    assert bench_app.Payload.model_validate_json(payload).text == bench_app.TEXT
