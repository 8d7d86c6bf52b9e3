"""`ramet bench`: what it reports, and that the bare loop it is held to writes the engine's rows."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ramet.cli import bench, bench_app, bench_backlog, bench_bare, bench_pickup
from ramet.cli.bench import Engine, Size
from ramet.cli.bench_pickup import PickUp
from ramet.store.schema import MIGRATIONS
from tests.cli.conftest import Cli

PUBLISHED = {
    f"sqlite.{name}"
    for name in (
        "drain_per_s drain_to_bare_ratio drain_cpu_us submit_per_s submit_to_bare_ratio tree_per_s backlog_ratio "
        "spawn_large_lineage_ratio latency_ms_p50 latency_ms_p99 worker_mb"
    ).split()
}
SMALL = Size(tasks=200, repeats=1, levels=2, waiting=5_000, samples=3)


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_the_bare_loop_writes_the_engines_rows() -> None:
    engine, bare = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for version in MIGRATIONS:
        for statement in version:
            engine.execute(statement)
    for statement in bench_bare.TABLES:
        bare.execute(statement)
    for name in ("tasks", "live", "identities", "attempts"):
        assert columns(bare, f"bare_{name}") == columns(engine, f"ramet_{name}")
    engine.close()
    bare.close()


def test_the_bare_loop_is_as_durable_as_the_engine_and_loses_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    connect = sqlite3.connect

    class Told(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            told.append(sql)
            return super().execute(sql, *parameters)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *words, **more: connect(*words, factory=Told, **more))
        found = bench_bare.run(tmp_path, 2_500, 1_000, bench_app.TEXT)
    assert min(found) > 0
    assert told[:2] == ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"]
    # Three batches to submit; to drain three, a commit after the claim and one after the settling, and a last look.
    assert told.count("COMMIT") == 3 + 3 * 2 + 1
    with sqlite3.connect(tmp_path / "bare.db") as connection:
        [(rows, distinct)] = connection.execute("SELECT COUNT(*), COUNT(DISTINCT seq) FROM bare_attempts")
        [(payload,)] = connection.execute("SELECT payload FROM bare_tasks LIMIT 1")
    connection.close()
    assert (rows, distinct) == (2_500, 2_500)
    assert bench_app.Payload.model_validate_json(payload).text == bench_app.TEXT


def test_the_engine_is_measured_with_its_handler_process(tmp_path: Path) -> None:
    found = asyncio.run(bench._engine(tmp_path, 300))
    assert min(found) > 0
    loaded, ended = (float((tmp_path / name).read_text()) for name in ("loaded", "ended"))
    assert 0 < loaded < ended


def test_the_report_has_its_published_names(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "QUICK", SMALL)
    result = cli.run("bench", "--quick", "--json", "--folder", str(tmp_path), database=False)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found.keys() >= PUBLISHED | {"sqlite.bare_drain_per_s", "sqlite.bare_submit_per_s", "python", "sqlite"}
    assert (found["tasks"], found["repeats"], found["tree_tasks"]) == (200, 1, 111)
    assert min(value for name, value in found.items() if name in PUBLISHED and value is not None) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_ratio_is_of_the_medians_of_one_run() -> None:
    bare = [bench_bare.Bare(10, rate, 1) for rate in (100, 900, 200)]
    engine = [Engine(5, rate, cpu) for rate, cpu in ((50, 7), (60, 9), (10, 8))]
    found = bench.report(SMALL, bare, engine)
    assert found["sqlite.drain_per_s"] == 50
    assert found["sqlite.bare_drain_per_s"] == 200
    assert found["sqlite.drain_to_bare_ratio"] == 0.25
    assert found["sqlite.drain_cpu_us"] == 8
    assert found["sqlite.submit_to_bare_ratio"] == 0.5


def test_windows_are_compared_without_the_first_of_each() -> None:
    assert bench_backlog._warm([100.0, 3.0, 1.0, 2.0]) == 2.0


def test_a_percentile_is_a_latency_that_this_share_does_not_exceed() -> None:
    pick_up = PickUp([float(n) for n in range(1, 102)], None)
    assert (pick_up.percentile(0.5), pick_up.percentile(0.99)) == (51.0, 100.0)


def test_memory_is_that_of_a_process_and_all_below_it() -> None:
    mine = bench_pickup.resident_mb(os.getpid())
    if mine is None:
        assert sys.platform != "linux"
        return
    block = "x = bytearray(50_000_000); print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", block], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        both = bench_pickup.resident_mb(os.getpid())
        assert both is not None
        assert both > mine + 50
        child.communicate(b"\n")


def test_a_missing_folder_is_one_line(cli: Cli) -> None:
    assert "does not exist" in cli.bad("bench", "--folder", "no-such-folder", database=False)
