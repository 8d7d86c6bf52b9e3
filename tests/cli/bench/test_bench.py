"""`ramet bench`: what it reports, and that the bare loop it is held to writes the engine's rows."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from benchmarks.engine import app, backlog, bare_loop, pickup, pinned, run
from benchmarks.engine.paths import Sizes
from benchmarks.engine.pickup import PickUp
from benchmarks.engine.pinned import Phases
from benchmarks.engine.places import BareRun, Spot, SqlitePlace
from benchmarks.engine.run import Engine, Size
from ramet.store.schema.tables import MIGRATIONS
from ramet.store.store import Store
from tests.cli.conftest import Cli

PUBLISHED = set(
    (
        "drain_per_s drain_to_bare_ratio drain_cpu_us submit_per_s submit_to_bare_ratio tree_per_s backlog_ratio "
        "spawn_large_lineage_ratio latency_ms_p50 latency_ms_p99 worker_mb steady_per_s pinned_ratio pinned_end_ratio "
        "recovered_ratio"
    ).split()
)
PATHS = set(
    (
        "blocked_backlog_ratio enqueue_depth5_ratio enqueue_depth5_small_ratio enqueue_depth5_growth drain_ratio "
        "wide_release_max wide_release_transactions waiting_tasks live_tasks drain_tasks wide_tasks"
    ).split()
)
SMALL = Size(
    tasks=200, repeats=1, levels=2, waiting=1_000, samples=3, pinned=Phases(1, 0.5, 0.5),
    paths=Sizes(waiting=300, crowd=200, drained=200, drains=1, children=700, window=50),
)  # fmt: skip


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a quick run measure next to nothing."""
    monkeypatch.setattr(run, "QUICK", SMALL)
    monkeypatch.setattr(backlog, "BATCH", 100)
    monkeypatch.setattr(backlog, "SMALL_BACKLOG", 1_000)
    monkeypatch.setattr(backlog, "SMALL_LINEAGE", 100)
    monkeypatch.setattr(pinned, "BACKLOG", 1_500)


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_the_bare_loop_writes_the_engines_rows() -> None:
    engine, bare = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for version in MIGRATIONS:
        for statement in version:
            engine.execute(statement)
    for statement in bare_loop.TABLES:
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
        found = bare_loop.run(tmp_path, 2_500, 1_000, app.TEXT)
    assert min(found) > 0
    assert told[:2] == ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"]
    # Three batches to submit; to drain three, a commit after the claim and one after the settling, and a last look.
    assert told.count("COMMIT") == 3 + 3 * 2 + 1
    with sqlite3.connect(tmp_path / "bare.db") as connection:
        [(rows, distinct)] = connection.execute("SELECT COUNT(*), COUNT(DISTINCT seq) FROM bare_attempts")
        [(payload,)] = connection.execute("SELECT payload FROM bare_tasks LIMIT 1")
    connection.close()
    assert (rows, distinct) == (2_500, 2_500)
    assert app.Payload.model_validate_json(payload).text == app.TEXT


def test_the_engine_is_measured_with_its_handler_process(tmp_path: Path) -> None:
    found = asyncio.run(run._engine(SqlitePlace(None), Spot(str(tmp_path / "bench.db"), tmp_path), 300))
    assert min(found[:3]) > 0
    assert found.server_cpu_us is None
    loaded, ended = (float((tmp_path / name).read_text()) for name in ("loaded", "ended"))
    assert 0 < loaded < ended


def test_the_report_has_its_published_names(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_small(monkeypatch)
    result = cli.run("bench", "--quick", "--json", "--folder", str(tmp_path), database=False)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    published = {f"sqlite.{name}" for name in PUBLISHED}
    assert found.keys() >= published | {"sqlite.bare_drain_per_s", "sqlite.bare_submit_per_s", "python", "sqlite"}
    assert (found["tasks"], found["repeats"], found["tree_tasks"]) == (200, 1, 111)
    assert min(value for name, value in found.items() if name in published and value is not None) >= 0
    assert min(found[f"sqlite.{name}"] for name in ("drain_per_s", "submit_per_s", "tree_per_s", "steady_per_s")) > 0
    assert_paths(found)
    assert list(tmp_path.iterdir()) == []


def assert_paths(found: dict[str, float]) -> None:
    """What is said about paths is all there, and of the sizes that were asked for."""
    assert {name for name in found if name.startswith("paths.")} == {f"paths.{name}" for name in PATHS}
    assert min(found[f"paths.{name}"] for name in PATHS) > 0
    sizes = [found[f"paths.{name}_tasks"] for name in ("waiting", "live", "drain", "wide")]
    assert sizes == [300, 200, 200, 700]
    assert (found["paths.wide_release_max"], found["paths.wide_release_transactions"]) == (500, 2)


def test_the_ratio_is_of_the_medians_of_one_run() -> None:
    bare = [BareRun(10, rate, 1) for rate in (100, 900, 200)]
    engine = [Engine(5, rate, cpu) for rate, cpu in ((50, 7), (60, 9), (10, 8))]
    found = run.report(SqlitePlace(None), SMALL, bare, engine)
    assert found["sqlite.drain_per_s"] == 50
    assert found["sqlite.bare_drain_per_s"] == 200
    assert found["sqlite.drain_to_bare_ratio"] == 0.25
    assert found["sqlite.drain_cpu_us"] == 8
    assert found["sqlite.submit_to_bare_ratio"] == 0.5


def test_windows_are_compared_without_the_first_of_each() -> None:
    assert backlog._warm([100.0, 3.0, 1.0, 2.0]) == 2.0


def test_a_percentile_is_a_latency_that_this_share_does_not_exceed() -> None:
    pick_up = PickUp([float(n) for n in range(1, 102)], None)
    assert (pick_up.percentile(0.5), pick_up.percentile(0.99)) == (51.0, 100.0)


def test_memory_is_that_of_a_process_and_all_below_it() -> None:
    mine = pickup.resident_mb(os.getpid())
    if mine is None:
        assert sys.platform != "linux"
        return
    block = "x = bytearray(50_000_000); print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", block], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        both = pickup.resident_mb(os.getpid())
        assert both is not None
        assert both > mine + 50
        child.communicate(b"\n")


def test_a_missing_folder_is_one_line(cli: Cli) -> None:
    assert "does not exist" in cli.bad("bench", "--folder", "no-such-folder", database=False)


def test_a_file_is_not_measured_in(cli: Cli, tmp_path: Path) -> None:
    assert "databases of its own" in cli.bad("bench", "--db", str(tmp_path / "my.db"), database=False)
    server = "postgresql://nobody@127.0.0.1:1/none"
    assert "--db or --folder" in cli.bad("bench", "--db", server, "--folder", str(tmp_path), database=False)
    assert "does not answer" in cli.bad("bench", "--db", server, database=False)


def test_a_rate_is_that_of_its_phase_and_of_the_end_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    counting = pinned._Counting(cast(Store, None))

    async def sleep(seconds: float) -> None:
        clock[0] += seconds
        counting.settled += 20 if clock[0] < 5 else 40

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    found = asyncio.run(pinned._rates(counting, 6.0))
    assert [round(rate, 6) for rate in found] == [10.0, 20.0]


def test_a_snapshot_is_held_while_it_is_measured(tmp_path: Path) -> None:
    spot = Spot(str(tmp_path / "bench.db"), tmp_path)
    asyncio.run(app.app.client(spot.address).close())
    with sqlite3.connect(spot.address) as writer:
        with SqlitePlace(None).pin(spot):
            writer.execute("CREATE TABLE written (number)")
            # Busy: somebody still reads what was before.
            [(busy, written, cleaned)] = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            assert (busy, cleaned < written) == (1, True)
        assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0
    writer.close()
