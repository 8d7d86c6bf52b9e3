"""The bars that ramet is held to: which are asked on which store, and when they are met."""

from __future__ import annotations

from typing import Any

from benchmarks.bars import BEFORE, bars


def told(**figures: float) -> dict[str, Any]:
    """An entrant for which every turn measured the same."""
    run = {
        "drain_per_s": 100.0, "submit_per_s": 100.0, "twice": 0, "worker_cpu_us": 60.0, "server_cpu_us": 40.0,
        "submit_wal_bytes": 1_500.0, "wal_bytes": 1_900.0, "disk_bytes": 2_700.0, "p50_ms": 4.0, "p99_ms": 8.0,
    } | figures  # fmt: skip
    return {part: [run] for part in ("drains_1", "drains_2", "trees", "mixed", "latency")}


def judged(store: str, entrants: dict[str, Any], **bare: float) -> dict[str, tuple[float, str, bool | None]]:
    found = {"bare": [{"drain_per_s": 100.0, "submit_per_s": 100.0} | bare], "entrants": entrants}
    return {bar.what: (round(bar.value, 3), bar.asked, bar.met) for bar in bars(store, found)}


def test_the_bars_of_sqlite() -> None:
    entrants = {
        "ramet": told(),
        BEFORE: told(worker_cpu_us=100.0, drain_per_s=80.0),
        "huey": told(drain_per_s=12.5, submit_per_s=10.0),
        "litequeue": told(drain_per_s=20.0, submit_per_s=200.0, p50_ms=3.0),
    }
    assert judged("sqlite", entrants, drain_per_s=200.0, submit_per_s=100.0) == {
        "drain, to the bare loop": (0.5, "≥ 0.55", False),
        "drain, to huey": (8.0, "≥ 8", True),
        "drain, to litequeue": (5.0, "≥ 6", False),
        "drain, two workers to one": (1.0, "≥ 1", True),
        "tasks that ran twice, two workers": (0, "≤ 0", True),
        "bulk submit, to the bare loop": (1.0, "≥ 0.9", True),
        "bulk submit, to the best peer (litequeue)": (0.5, "≥ 0.5", True),
        "spawn tree, to huey": (8.0, "≥ 8", True),
        "spawn tree, to litequeue (the best peer)": (5.0, "", None),
        "pick-up p50, to litequeue": (1.333, "≤ 1", False),
        "disk bytes a task": (2_700.0, "", None),
        "CPU a task, worker, to the commit before": (0.6, "≤ 0.6", True),
        "bulk submit, to the commit before": (1.0, "", None),
        "drain, to the commit before": (1.25, "", None),
        "drain, two workers, to the commit before": (1.25, "", None),
        "spawn tree, to the commit before": (1.25, "", None),
        "CPU a task of the tree, worker, to the commit before": (0.6, "", None),
        "CPU a task of the mixed load, worker, to the commit before": (0.6, "", None),
        "pick-up p50, to the commit before": (1.0, "", None),
        "disk bytes a task, to the commit before": (1.0, "", None),
        "mixed load, to the commit before": (1.25, "≥ 1.3", False),
    }


def test_the_bars_of_a_server() -> None:
    entrants = {
        "ramet": told(),
        BEFORE: told(worker_cpu_us=120.0, server_cpu_us=44.0),
        "pgqueuer": told(drain_per_s=80.0, submit_per_s=125.0),
        "graphile-worker": told(drain_per_s=50.0),
    }
    asked = {name: bar for name, bar in judged("postgres", entrants).items() if bar[1]}
    assert asked == {
        "drain, to the bare loop": (1.0, "≥ 0.5", True),
        "drain, to pgqueuer": (1.25, "≥ 1.3", False),
        "drain, to graphile-worker": (2.0, "≥ 0.9", True),
        "drain, two workers, to two of pgqueuer": (1.25, "≥ 1.4", False),
        "drain, two workers, to two of graphile-worker": (2.0, "≥ 0.75", True),
        "drain, two workers to one": (1.0, "≥ 1.1", False),
        "tasks that ran twice, two workers": (0, "≤ 0", True),
        "bulk submit, to COPY into the same tables": (1.0, "≥ 0.7", True),
        "bulk submit, to the best peer (pgqueuer)": (0.8, "≥ 0.75", True),
        "spawn tree, to pgqueuer (the best peer)": (1.25, "≥ 2", False),
        "pick-up p50, to pgqueuer": (1.0, "≤ 1.1", True),
        "pick-up p50, ms": (4.0, "≤ 10", True),
        "pick-up p99, ms": (8.0, "≤ 50", True),
        "CPU µs a task, worker": (60.0, "≤ 70", True),
        "CPU µs a task, server": (40.0, "≤ 50", True),
        "CPU a task, worker, to the commit before": (0.5, "≤ 0.5", True),
        "CPU a task, server, to the commit before": (0.909, "≤ 0.85", False),
        "mixed load, to the commit before": (1.0, "≥ 1.3", False),
    }


def test_a_bar_needs_both_sides() -> None:
    alone = {"ramet": {"drains_1": told()["drains_1"]}, "huey": {"failed": "why"}, BEFORE: {"failed": "why"}}
    assert judged("sqlite", alone).keys() == {
        "drain, to the bare loop", "bulk submit, to the bare loop", "disk bytes a task"
    }  # fmt: skip
    assert judged("sqlite", {"huey": told()}) == {}
