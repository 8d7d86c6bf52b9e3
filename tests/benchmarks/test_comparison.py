"""The comparison with other queues: its arithmetic, and that an entrant is measured from outside. No peer is needed."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import compare, measure, report
from benchmarks.arithmetic import Bodies, Spread, drained, killed, ratio
from benchmarks.bars import bars
from benchmarks.engine.processes import cpu_seconds, tree
from benchmarks.entrants import ENTRANTS, PROJECT, Entrant, Failed
from benchmarks.peers.record import Record
from benchmarks.places import fresh
from ramet.testing.postgres_server.server import connect
from tests.postgres.servers import databases

pytestmark = pytest.mark.proof

SEEN: dict[str, Any] = {
    "submit_seconds": 2.0, "seen_at": 0.0, "cut": False, "cpu_seconds": 0.4, "server_cpu_seconds": 0.2,
    "wal_bytes": 1_000, "memory_mb": 50.0,
}  # fmt: skip


def test_a_rate_counts_from_the_moment_that_every_worker_is_at_work() -> None:
    early = Bodies(list(range(6)), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    late = Bodies([6, 7], [5.0, 6.5])
    found = drained([early, late], tasks=8, ended_at=7.0, **SEEN)
    # Bodies at 5, 6, 5 and 6.5, in two seconds.
    assert (found.drain_per_s, found.counted) == (2.0, 4)
    assert found.submit_per_s == 4.0
    assert found.worker_cpu_us == pytest.approx(50_000)
    assert found.wal_bytes == 125
    assert (found.ran, found.twice, found.lost) == (8, 0, 0)


def test_what_ran_twice_or_never_is_counted() -> None:
    found = drained([Bodies([0, 1, 1], [1.0, 1.0, 1.5]), Bodies([1], [1.0])], tasks=4, ended_at=2.0, **SEEN)
    assert (found.ran, found.twice, found.lost) == (4, 2, 2)


def test_a_cut_drain_counts_what_it_ran_and_loses_nothing() -> None:
    found = drained([Bodies([0, 1, 2], [1.0, 2.0, 9.0])], tasks=9, ended_at=3.0, **SEEN | {"cut": True})
    assert (found.drain_per_s, found.lost, found.cut) == (1.0, 0, True)


def test_processor_time_is_per_task_since_somebody_looked() -> None:
    found = drained([Bodies([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])], tasks=4, ended_at=5.0, **SEEN | {"seen_at": 2.5})
    assert found.worker_cpu_us == pytest.approx(200_000)


def test_a_drain_without_a_body_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="no body ran"):
        drained([Bodies([], [])], tasks=4, ended_at=1.0, **SEEN)


def test_a_kill_is_judged_by_the_log_of_effects() -> None:
    found = killed([(0, 1.0), (1, 1.5), (1, 4.0), (3, 6.0), (0, 7.0)], tasks=4, killed_at=2.0)
    assert found == (1, 2, 4.0)


def test_a_ratio_is_of_medians() -> None:
    assert ratio([1, 100, 6], [3, 2, 4]) == 2
    assert Spread.of([3, 1, 2]) == (1, 2, 3)


def test_processor_time_is_that_of_a_process_and_all_below_it() -> None:
    before = cpu_seconds(os.getpid())
    while time.process_time() < before + 0.05:
        pass
    assert cpu_seconds(os.getpid()) > before
    assert os.getpid() in tree(os.getppid())


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.ran(7)
    record.ran(8)
    record.effect(8)
    record.write()
    [began] = tmp_path.glob("began-*")
    assert began.name == f"began-{os.getpid()}"
    found = measure._bodies(tmp_path / f"ran-{os.getpid()}")
    assert found.numbers == [7, 8]
    assert found.times[0] <= found.times[1] <= time.time()
    assert [number for number, _ in measure._effects_with_times(tmp_path / "effects")] == [8]


@pytest.mark.parametrize("entrant", ENTRANTS, ids=lambda entrant: entrant.title)
def test_every_entrant_answers_every_role(entrant: Entrant) -> None:
    folder = PROJECT / "benchmarks"
    path = folder / "node" / entrant.module if entrant.module.endswith(".cjs") else folder / "peers" / entrant.module
    text = path.with_suffix(path.suffix or ".py").read_text(encoding="utf-8")
    told = ("settings", "unfinished", "after_kill")
    assert all(re.search(rf"\b{name}\b", text) for name in told)
    roles = ("about", "prepare", "submit", "pick-up", "work") if path.suffix else ("prepare", "open", "submit", "work")
    assert all(role in text for role in roles)


@pytest.fixture
def ramet() -> Entrant:
    return next(entrant for entrant in ENTRANTS if entrant.title == "ramet (SQLite)")


@pytest.mark.process
def test_a_drain_is_seen_from_outside(tmp_path: Path, ramet: Entrant) -> None:
    with fresh("sqlite", tmp_path, None) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(ramet, database, tmp_path, unfinished, tasks=300, workers=1, seconds_max=60.0)
    assert (found.ran, found.twice, found.lost, found.cut) == (300, 0, 0, False)
    assert min(found.submit_per_s, found.drain_per_s, found.memory_mb) > 0


@pytest.mark.server
@pytest.mark.network
@pytest.mark.process
def test_a_drain_on_a_server_tells_what_the_server_did(tmp_path: Path) -> None:
    ramet = next(entrant for entrant in ENTRANTS if entrant.title == "ramet (PostgreSQL)")
    with fresh("postgres", tmp_path, databases().url) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(ramet, database, tmp_path, unfinished, tasks=300, workers=1, seconds_max=60.0)
        durability = database.durability()
    assert (found.ran, found.twice, found.lost, found.cut) == (300, 0, 0, False)
    assert found.wal_bytes > 0
    assert "fsync" in durability
    with connect(databases().url) as connection:
        [left] = connection.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'").fetchall()
    assert left == (0,)


@pytest.mark.process
def test_a_kill_loses_nothing_of_ramets(tmp_path: Path, ramet: Entrant) -> None:
    with fresh("sqlite", tmp_path, None) as database:
        found = measure.kill(ramet, database, tmp_path, tasks=1_000, wait_seconds=60.0)
    assert found.missing == 0


@pytest.mark.process
def test_an_entrant_that_fails_says_why(tmp_path: Path, ramet: Entrant) -> None:
    with pytest.raises(Failed, match="none does not exist: create it"):
        ramet.ask(tmp_path, "submit", str(tmp_path / "none" / "queue.db"), "10", "noop")


def test_figures_go_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    drain = drained([Bodies([0, 1], [1.0, 2.0])], tasks=2, ended_at=3.0, **SEEN)._asdict()
    entrants = {name: {"drains_1": [drain], "drains_2": [drain]} for name in ("ramet", "other")}
    found = {
        "machine": compare.machine() | {"processors": 2, "load": 1.1, "load_after": 0.2},
        "size": compare.QUICK._asdict(),
        "sqlite": {
            "bare": [{"submit_per_s": 4, "drain_per_s": 2, "drain_cpu_us": 1}],
            "entrants": entrants,
            "version": "3.1",
        },
    }
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.write(page, found)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith(f"{report.END}\nafter\n")
    assert "old" not in text
    assert "| ramet | 1 (1-1) | 1 (1-1) | 1 (1-1) |" in text
    assert "| drain, to other | 1.00 | ≥ 6 | **no** |" in text
    assert "Other programs kept this machine busy" in text
    found["machine"]["load"] = 0.9
    assert "Other programs" not in report.text(found)
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="has no place for figures"):
        report.write(page, found)


def test_a_bar_is_met_or_not_or_only_told() -> None:
    fast = {"drain_per_s": 60, "submit_per_s": 6, "twice": 0, "worker_cpu_us": 70, "server_cpu_us": 51}
    slow = fast | {"drain_per_s": 50, "twice": 2}
    entrants = {"ramet": {"drains_1": [fast], "drains_2": [slow]}, "pgqueuer": {"drains_1": [slow]}}
    found = {"bare": [{"drain_per_s": 120, "submit_per_s": 10}], "entrants": entrants | {"absent": {"failed": "why"}}}
    assert {bar.what: (bar.value, bar.met) for bar in bars("postgres", found)} == {
        "drain, to the bare loop": (0.5, True),
        "drain, to pgqueuer": (1.2, True),
        "drain, two workers to one": (50 / 60, False),
        "tasks that ran twice, two workers": (2, False),
        "bulk submit, to COPY into the same tables": (0.6, True),
        "CPU µs a task, worker": (70, True),
        "CPU µs a task, server": (51, False),
    }
    assert [bar.met for bar in bars("sqlite", found)] == [None, False, None, False]
    assert list(bars("sqlite", {"bare": [], "entrants": {}})) == []


def test_an_unknown_peer_is_one_line() -> None:
    result = CliRunner().invoke(compare.main, ["--peer", "nothing"])
    assert result.exit_code == 2
    assert "no peer 'nothing': there are " in result.output


def test_a_page_without_a_place_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for written, said in ((None, "No such file"), ("no marks", "has no place for figures")):
        if written:
            page.write_text(written, encoding="utf-8")
        result = CliRunner().invoke(compare.main, ["--write", str(page)])
        assert result.exit_code == 2
        assert said in result.output


def test_the_lock_of_the_peers_names_no_host() -> None:
    lock = (PROJECT / "requirements" / "bench.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    packages = json.loads((PROJECT / "benchmarks" / "node" / "package-lock.json").read_text())["packages"]
    assert not any("resolved" in told for told in packages.values())
    assert all("integrity" in told for name, told in packages.items() if name)
