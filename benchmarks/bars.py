"""What ramet is held to, and where it stands. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.arithmetic import median_of, ratio

BEFORE = "ramet before"
DRAIN = {
    ("sqlite", 1): {"huey": 8.0, "litequeue": 6.0, "flexiq": 6.0},
    ("postgres", 1): {"pgqueuer": 1.3, "graphile-worker": 0.9},
    ("postgres", 2): {"pgqueuer": 1.4, "graphile-worker": 0.75},
}
"""By store and workers: to each peer, at least."""
DRAIN_TO_BARE = {"sqlite": 0.55, "postgres": 0.5}
TWO_WORKERS = {"sqlite": 1.0, "postgres": 1.1}
SUBMIT_TO_BARE = {"sqlite": 0.9, "postgres": 0.7}
SUBMIT_TO_BEST = {"sqlite": 0.5, "postgres": 0.75}
TREE = {"sqlite": ("huey", 8.0), "postgres": ("the best peer", 2.0)}
PICK_UP = {"sqlite": ("litequeue", 1.0), "postgres": ("pgqueuer", 1.1)}
"""To the p50 of this peer, at most."""
WORKER_CPU_TO_BEFORE = {"sqlite": 0.6, "postgres": 0.5}
SERVER_CPU_TO_BEFORE = 0.85
MIXED_TO_BEFORE = 1.3
OTHERS_TO_BEFORE = (
    ("bulk submit", "drains_1", "submit_per_s"),
    ("drain", "drains_1", "drain_per_s"),
    ("drain, two workers", "drains_2", "drain_per_s"),
    ("spawn tree", "trees", "drain_per_s"),
    ("CPU a task of the tree, worker", "trees", "worker_cpu_us"),
    ("CPU a task of the mixed load, worker", "mixed", "worker_cpu_us"),
    ("pick-up p50", "latency", "p50_ms"),
    ("disk bytes a task", "drains_1", "disk_bytes"),
)
"""Ratios that are only told: title, part, figure."""
# On a server, in figures of this kind of machine.
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
    entrants = found["entrants"]
    mine = entrants.get("ramet", {})
    if "drains_1" not in mine:
        return
    peers = {name: told for name, told in entrants.items() if name not in {"ramet", BEFORE} and "drains_1" in told}
    yield from _drains(store, mine, peers, found["bare"])
    yield from _submits(store, mine, peers, found["bare"])
    yield from _trees(store, mine, peers)
    yield from _pick_ups(store, mine, peers)
    if store == "postgres":
        yield Bar("CPU µs a task, worker", median_of(mine["drains_1"], "worker_cpu_us"), most=WORKER_CPU_US)
        yield Bar("CPU µs a task, server", median_of(mine["drains_1"], "server_cpu_us"), most=SERVER_CPU_US)
        yield Bar("WAL bytes a task, submit", median_of(mine["drains_1"], "submit_wal_bytes"))
        yield Bar("WAL bytes a task, drain", median_of(mine["drains_1"], "wal_bytes"))
    yield Bar("disk bytes a task", median_of(mine["drains_1"], "disk_bytes"))
    if "drains_1" in entrants.get(BEFORE, {}):
        yield from _before(store, mine, entrants[BEFORE])


def _drains(store: str, mine: dict[str, Any], peers: dict[str, Any], bare: list[dict[str, Any]]) -> Iterator[Bar]:
    rates = _values(mine, "drains_1")
    yield Bar("drain, to the bare loop", ratio(rates, [run["drain_per_s"] for run in bare]), DRAIN_TO_BARE[store])
    for name, told in peers.items():
        yield Bar(f"drain, to {name}", ratio(rates, _values(told, "drains_1")), DRAIN[store, 1].get(name))
    if "drains_2" not in mine:
        return
    for name, least in DRAIN.get((store, 2), {}).items():
        if "drains_2" in peers.get(name, {}):
            two = ratio(_values(mine, "drains_2"), _values(peers[name], "drains_2"))
            yield Bar(f"drain, two workers, to two of {name}", two, least)
    yield Bar("drain, two workers to one", ratio(_values(mine, "drains_2"), rates), TWO_WORKERS[store])
    yield Bar("tasks that ran twice, two workers", sum(run["twice"] for run in mine["drains_2"]), most=0)


def _submits(store: str, mine: dict[str, Any], peers: dict[str, Any], bare: list[dict[str, Any]]) -> Iterator[Bar]:
    submits = _values(mine, "drains_1", "submit_per_s")
    other = "COPY into the same tables" if store == "postgres" else "the bare loop"
    yield Bar(f"bulk submit, to {other}", ratio(submits, [run["submit_per_s"] for run in bare]), SUBMIT_TO_BARE[store])
    best = _best(peers, "drains_1", lambda runs: median_of(runs, "submit_per_s"))
    if best:
        yield Bar(
            f"bulk submit, to the best peer ({best})",
            ratio(submits, _values(peers[best], "drains_1", "submit_per_s")),
            SUBMIT_TO_BEST[store],
        )


def _trees(store: str, mine: dict[str, Any], peers: dict[str, Any]) -> Iterator[Bar]:
    if "trees" not in mine:
        return
    wanted, least = TREE[store]
    best = _best(peers, "trees", lambda runs: median_of(runs, "drain_per_s"))
    for name, told in peers.items():
        if "trees" in told:
            held = name == wanted or (wanted == "the best peer" and name == best)
            title = f"spawn tree, to {name}{' (the best peer)' if name == best else ''}"
            yield Bar(title, ratio(_values(mine, "trees"), _values(told, "trees")), least if held else None)


def _pick_ups(store: str, mine: dict[str, Any], peers: dict[str, Any]) -> Iterator[Bar]:
    if "latency" not in mine:
        return
    peer, most = PICK_UP[store]
    if "latency" in peers.get(peer, {}):
        halves = _values(mine, "latency", "p50_ms"), _values(peers[peer], "latency", "p50_ms")
        yield Bar(f"pick-up p50, to {peer}", ratio(*halves), most=most)
    if store == "postgres":
        yield Bar("pick-up p50, ms", median_of(mine["latency"], "p50_ms"), most=P50_MS)
        yield Bar("pick-up p99, ms", median_of(mine["latency"], "p99_ms"), most=P99_MS)


def _before(store: str, mine: dict[str, Any], before: dict[str, Any]) -> Iterator[Bar]:
    """To another version of ramet in the same run."""

    def to_before(part: str, key: str) -> float:
        return ratio(_values(mine, part, key), _values(before, part, key))

    yield Bar(
        "CPU a task, worker, to the commit before",
        to_before("drains_1", "worker_cpu_us"),
        most=WORKER_CPU_TO_BEFORE[store],
    )
    if store == "postgres":
        yield Bar(
            "CPU a task, server, to the commit before",
            to_before("drains_1", "server_cpu_us"),
            most=SERVER_CPU_TO_BEFORE,
        )
    for title, part, key in OTHERS_TO_BEFORE:
        if part in mine and part in before:
            yield Bar(f"{title}, to the commit before", to_before(part, key))
    if "mixed" in mine and "mixed" in before:
        yield Bar("mixed load, to the commit before", to_before("mixed", "drain_per_s"), MIXED_TO_BEFORE)


def _best(peers: dict[str, Any], part: str, figure: Callable[[Sequence[dict[str, float]]], float]) -> str | None:
    """The name of the peer with the largest figure."""
    measured = [name for name, told in peers.items() if part in told]
    return max(measured, key=lambda name: figure(peers[name][part]), default=None)


def _values(told: dict[str, Any], part: str, key: str = "drain_per_s") -> list[float]:
    return [run[key] for run in told[part]]
