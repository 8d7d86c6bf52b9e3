"""`ramet bench --db`: the same figures on a server, and a yardstick with the engine's rows that loses none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from benchmarks.engine import app, bare_loop_postgres
from benchmarks.engine.places import PostgresPlace, Spot
from ramet.testing.postgres_server.server import connect
from tests.cli.bench.test_bench import PUBLISHED, assert_paths, make_small
from tests.cli.conftest import Cli
from tests.postgres.servers import databases

pytestmark = pytest.mark.server

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
    found = bare_loop_postgres.run(address, 2_500, 1_000, app.TEXT)
    assert min(found.submit_per_s, found.drain_per_s, found.drain_cpu_us, found.wal_bytes) > 0
    for table in TABLES:
        assert columns(address, f"bare_{table}") == columns(address, f"ramet_{table}") != []
    with connect(address) as connection:
        [(rows, distinct)] = connection.execute("SELECT COUNT(*), COUNT(DISTINCT seq) FROM bare_attempts").fetchall()
        [(payload,)] = connection.execute("SELECT payload FROM bare_tasks LIMIT 1").fetchall()
    assert (rows, distinct) == (2_500, 2_500)
    assert app.Payload.model_validate_json(payload).text == app.TEXT


def left_behind() -> int:
    with connect(databases().url) as connection:
        query = "SELECT count(*) FROM pg_database WHERE datname LIKE 'ramet\\_bench%'"
        [(count,)] = connection.execute(query).fetchall()
    return int(count)


def test_a_server_is_measured_as_a_file_is_and_left_as_it_was(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)
    result = cli.run("bench", "--quick", "--json", "--db", databases().url, database=False)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    published = {f"postgres.{name}" for name in PUBLISHED}
    assert found.keys() >= published | {"postgres.bare_drain_per_s", "postgres", "fsync", "synchronous_commit"}
    assert not [name for name in found if name.startswith("sqlite")]
    assert min(value for name, value in found.items() if name in published and value is not None) >= 0
    assert min(found[f"postgres.{name}"] for name in ("drain_per_s", "submit_per_s", "tree_per_s", "steady_per_s")) > 0
    assert_paths(found)
    assert left_behind() == 0


def test_a_role_that_may_not_create_databases_is_told_so_in_one_line(cli: Cli) -> None:
    with connect(databases().url) as connection:
        connection.execute("CREATE ROLE ramet_bench_reader LOGIN PASSWORD 'only-here'")
        try:
            parts = urlsplit(databases().url)
            where = parts.netloc.rpartition("@")[2]
            url = urlunsplit(parts._replace(netloc=f"ramet_bench_reader:only-here@{where}"))
            line = cli.bad("bench", "--quick", "--db", url, database=False)
        finally:
            connection.execute("DROP ROLE ramet_bench_reader")
    assert "may not create databases" in line
    assert "only-here" not in line


def test_a_snapshot_is_held_while_it_is_measured(address: str, tmp_path: Path) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL"
    others = f"{query} AND pid <> pg_backend_pid()"
    with connect(address) as connection:
        assert connection.execute(others.encode()).fetchone() == (0,)
        with PostgresPlace(databases().url).pin(Spot(address, tmp_path)):
            assert connection.execute(others.encode()).fetchone() == (1,)
