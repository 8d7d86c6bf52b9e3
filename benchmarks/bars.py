"""What ramet is held to, and where it stands. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.arithmetic import median_of, ratio

SQLITE_PEERS = 6.0
PGQUEUER = 1.2
BARE = 0.5
TWO_WORKERS = 1.1
SUBMIT = 0.6
WORKER_CPU_US, SERVER_CPU_US = 70.0, 50.0
P50_MS, P99_MS = 10.0, 50.0


class Bar(NamedTuple):
    """One figure, and what it should be at least, or at most; without a bar it is only told."""

    what: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """None where nothing is asked."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    @property
    def asked(self) -> str:
        """As a table says it."""
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}" if self.most is not None else ""


def bars(store: str, found: dict[str, Any]) -> Iterator[Bar]:
    """Of one kind of database, where both sides of a ratio were measured."""
    entrants, bare = found["entrants"], found["bare"]
    mine = entrants.get("ramet", {})
    if "drains_1" not in mine:
        return
    server = store == "postgres"
    rates = _rates(mine, 1)
    yield Bar("drain, to the bare loop", ratio(rates, [run["drain_per_s"] for run in bare]), BARE if server else None)
    for name, told in entrants.items():
        if name != "ramet" and "drains_1" in told:
            least = (PGQUEUER if name == "pgqueuer" else None) if server else SQLITE_PEERS
            yield Bar(f"drain, to {name}", ratio(rates, _rates(told, 1)), least)
    if "drains_2" in mine:
        least = TWO_WORKERS if server else None
        yield Bar("drain, two workers to one", ratio(_rates(mine, 2), rates), least)
        yield Bar("tasks that ran twice, two workers", sum(run["twice"] for run in mine["drains_2"]), most=0)
    if server:
        yield from _server(mine, bare)


def _server(mine: dict[str, Any], bare: list[dict[str, Any]]) -> Iterator[Bar]:
    one = mine["drains_1"]
    submits = [run["submit_per_s"] for run in one]
    yield Bar(
        "bulk submit, to COPY into the same tables", ratio(submits, [run["submit_per_s"] for run in bare]), SUBMIT
    )
    yield Bar("CPU µs a task, worker", median_of(one, "worker_cpu_us"), most=WORKER_CPU_US)
    yield Bar("CPU µs a task, server", median_of(one, "server_cpu_us"), most=SERVER_CPU_US)
    if "latency" in mine:
        yield Bar("pick-up p50, ms", mine["latency"]["p50_ms"], most=P50_MS)
        yield Bar("pick-up p99, ms", mine["latency"]["p99_ms"], most=P99_MS)


def _rates(told: dict[str, Any], workers: int) -> list[float]:
    return [run["drain_per_s"] for run in told[f"drains_{workers}"]]
