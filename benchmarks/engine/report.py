"""What ``ramet bench`` found, for people."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import backlog, paths
from ramet.cli.output import console, number, table

DATABASES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def show(name: str, found: dict[str, Any]) -> None:
    """Print it, with what it was measured beside."""

    def of(key: str) -> Any:
        return found[f"{name}.{key}"]

    made = table("", ">engine", ">bare loop", ">ratio")
    rows = [("drained per second", "drain", of("drain_to_bare_ratio"))]
    rows += [("submitted per second", "submit", of("submit_to_bare_ratio"))]
    for label, what, share in rows:
        made.add_row(label, number(of(f"{what}_per_s")), number(of(f"bare_{what}_per_s")), f"{share:.2f}")
    made.add_row("processor us per task drained", f"{of('drain_cpu_us'):.0f}", f"{of('bare_drain_cpu_us'):.0f}", "")
    if f"{name}.server_cpu_us" in found:
        made.add_row("processor us, server", f"{of('server_cpu_us'):.0f}", f"{of('bare_server_cpu_us'):.0f}", "")
    screen = console()
    screen.print(made)
    screen.print(
        f"a tree of {found['tree_tasks']:,} tasks: {number(of('tree_per_s'))} per second\n"
        f"with {found['backlog_tasks']:,} waiting: claims {of('backlog_ratio'):.2f} as fast as with "
        f"{backlog.SMALL_BACKLOG:,}; a spawn takes {of('spawn_large_lineage_ratio'):.2f} of one in "
        f"a lineage of {backlog.SMALL_LINEAGE:,}\n"
        f"picked up from another process: median {of('latency_ms_p50'):.1f} ms, 99 % within "
        f"{of('latency_ms_p99'):.1f} ms; worker {of('worker_mb')} MB\n"
        f"submitted and drained at once, {number(of('steady_per_s'))} per second; with a snapshot held for "
        f"{found['pinned_seconds']:g} s {of('pinned_ratio'):.2f} of that, {of('recovered_ratio'):.2f} after it\n"
        f"{paths.told(found)}"
    )
    screen.print(
        f"medians of {found['repeats']} runs of {found['tasks']:,} tasks in batches of {found['batch']:,}; "
        f"Python {found['python']}, {DATABASES[name]} {found[name]}, {found['processors']} processors"
    )
