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
from benchmarks.engine.processes import cpu_seconds, tree
from benchmarks.entrants import ENTRANTS, PROJECT, RAMET_MIXED, Entrant, Failed, before
from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, children
from benchmarks.places import fresh
from ramet.testing.postgres_server.server import connect
from tests.postgres.servers import databases

pytestmark = pytest.mark.proof

SEEN: dict[str, Any] = {
    "submit_seconds": 2.0, "seen_at": 0.0, "cut": False, "cpu_seconds": 0.4, "server_cpu_seconds": 0.2,
    "submit_wal_bytes": 800, "wal_bytes": 1_000, "disk_bytes": 1_600, "memory_mb": 50.0,
}  # fmt: skip


def test_a_rate_counts_from_the_moment_that_every_worker_is_at_work() -> None:
    early = Bodies(list(range(6)), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    late = Bodies([6, 7], [5.0, 6.5])
    found = drained([early, late], tasks=8, ended_at=7.0, **SEEN)
    # Bodies at 5, 6, 5 and 6.5, in two seconds.
    assert (found.drain_per_s, found.counted) == (2.0, 4)
    assert found.submit_per_s == 4.0
    assert found.worker_cpu_us == pytest.approx(50_000)
    assert (found.submit_wal_bytes, found.wal_bytes, found.disk_bytes) == (100, 125, 200)
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
    roles = {"prepare", "submit", "work", "tree"} | ({"about", "pick-up"} if path.suffix else {"open"})
    assert all(role in text for role in roles)


@pytest.fixture
def ramet() -> Entrant:
    return next(entrant for entrant in ENTRANTS if entrant.title == "ramet (SQLite)")


@pytest.mark.process
def test_a_drain_is_seen_from_outside(tmp_path: Path, ramet: Entrant) -> None:
    with fresh("sqlite", tmp_path, None) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(ramet, database, tmp_path, unfinished, measure.noops(300), workers=1, seconds_max=60.0)
    assert (found.ran, found.twice, found.lost, found.cut) == (300, 0, 0, False)
    assert min(found.submit_per_s, found.drain_per_s, found.memory_mb) > 0


@pytest.mark.process
def test_a_tree_grows_from_its_root_to_the_last_task(tmp_path: Path, ramet: Entrant) -> None:
    with fresh("sqlite", tmp_path, None) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(ramet, database, tmp_path, unfinished, measure.tree(2), workers=1, seconds_max=60.0)
    assert (found.ran, found.twice, found.lost, found.cut) == (111, 0, 0, False)
    assert found.disk_bytes > 0


@pytest.mark.process
def test_the_mixed_load_runs_what_it_spawns_and_fails_once_for_good(tmp_path: Path, ramet: Entrant) -> None:
    load = measure.mixed(100)
    assert load.tasks == 110
    program = ramet._replace(module=RAMET_MIXED)
    with fresh("sqlite", tmp_path, None) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(program, database, tmp_path, unfinished, load, workers=1, seconds_max=60.0)
        assert database.truth("SELECT count(*) = 5 FROM ramet_tasks WHERE state = 'failed'")
        assert database.truth("SELECT count(*) = 105 FROM ramet_tasks WHERE state = 'success'")
    assert (found.ran, found.twice, found.lost) == (110, 0, 0)


def test_every_task_of_a_tree_has_a_number_of_its_own() -> None:
    waiting, numbers = [Job(0, "tree", levels=3)], []
    for job in waiting:
        numbers.append(job.payload()["number"])
        waiting += children(job.number, job.levels)
    assert len(numbers) == len(set(numbers)) == measure.tree(3).tasks == 1_111


@pytest.mark.process
def test_another_checkout_is_itself_or_nothing(tmp_path: Path, ramet: Entrant) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "src").symlink_to(PROJECT / "src")
    # Its ramet is found where it was asked for, by the name that was given.
    assert before(other, "sqlite").ask(tmp_path, "about", str(tmp_path / "queue.db"))["versions"]
    (other / "src").unlink()
    (other / "src").mkdir()
    with pytest.raises(Failed, match="was meant"):
        before(other, "sqlite").ask(tmp_path, "about", str(tmp_path / "queue.db"))


@pytest.mark.server
@pytest.mark.network
@pytest.mark.process
def test_a_drain_on_a_server_tells_what_the_server_did(tmp_path: Path) -> None:
    ramet = next(entrant for entrant in ENTRANTS if entrant.title == "ramet (PostgreSQL)")
    with fresh("postgres", tmp_path, databases().url) as database:
        unfinished = ramet.ask(tmp_path, "about", database.address)["unfinished"]
        found = measure.drain(ramet, database, tmp_path, unfinished, measure.noops(300), workers=1, seconds_max=60.0)
        durability = database.durability()
    assert (found.ran, found.twice, found.lost, found.cut) == (300, 0, 0, False)
    assert min(found.submit_wal_bytes, found.wal_bytes, found.disk_bytes) > 0
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
    picked = [{"p50_ms": p50, "p99_ms": 9.0, "submit_p50_ms": 0.5} for p50 in (3.0, 1.0, 2.0)]
    parts = {"drains_1": [drain], "drains_2": [drain], "trees": [drain], "latency": picked}
    entrants = dict.fromkeys(("ramet", "huey"), parts)
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
    assert "| ramet | 1 (1-1) | 1 (1-1) | 1 (1-1) | 1 (1-1) |  |" in text
    assert "| drain, to huey | 1.00 | ≥ 8 | **no** |" in text
    assert "| ramet | 2.0 (1.0-3.0) | 9.0 (9.0-9.0) | 0.5 (0.5-0.5) |" in text
    assert "Other programs kept this machine busy" in text
    found["machine"]["load"] = 0.9
    assert "Other programs" not in report.text(found)
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="has no place for figures"):
        report.write(page, found)


def test_an_unknown_peer_is_one_line() -> None:
    result = CliRunner().invoke(compare.main, ["--peer", "nothing"])
    assert result.exit_code == 2
    assert "no peer 'nothing': there are " in result.output


def test_a_folder_without_ramet_is_no_version_before(tmp_path: Path) -> None:
    result = CliRunner().invoke(compare.main, ["--before", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not a checkout of ramet" in result.output


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
