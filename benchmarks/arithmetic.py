"""From what was seen to what is told. Pure, so that tests can hold it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Bodies(NamedTuple):
    """The bodies that one worker process ran, in its order."""

    numbers: list[int]
    times: list[float]


class Drain(NamedTuple):
    """One drain."""

    submit_per_s: float
    drain_per_s: float
    worker_cpu_us: float
    """Processor microseconds per task, of all worker processes."""
    server_cpu_us: float
    submit_wal_bytes: float
    """Written ahead per task submitted; 0 where nobody tells."""
    wal_bytes: float
    """Written ahead per task that ran; 0 where nobody tells."""
    disk_bytes: float
    """By which the database grew, per task, from before the submit to the end of the workers."""
    memory_mb: float
    """Largest resident memory of one worker with all its processes."""
    ran: int
    """Bodies that ran."""
    twice: int
    """Bodies that ran again though nothing failed."""
    lost: int
    """Tasks without a body, although the database said that nothing is left."""
    cut: bool
    """The time was over before the tasks were: the rate counts bodies then, not completions."""
    counted: int
    """Bodies that the rate counts: those since every worker was at work."""


class Kill(NamedTuple):
    """What a kill of the only worker cost."""

    missing: int
    """Tasks without an effect at the end."""
    twice: int
    """Tasks with more than one effect."""
    seconds: float
    """From the kill to the last first effect of a task."""


class Spread(NamedTuple):
    """Of some runs."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(min(values), statistics.median(values), max(values))


def drained(
    bodies: Sequence[Bodies],
    *,
    tasks: int,
    submit_seconds: float,
    submit_wal_bytes: int,
    seen_at: float,
    ended_at: float,
    cut: bool,
    cpu_seconds: float,
    server_cpu_seconds: float,
    wal_bytes: int,
    disk_bytes: int,
    memory_mb: float,
) -> Drain:
    """The rate counts from the moment that every worker process is at work, until nothing is left (or the cut).

    A worker that never got a task is not waited for: the clock starts with those that did. Processor time and bytes are
    per task that ran since somebody first looked.
    """
    working = [each for each in bodies if each.numbers]
    if not working:
        raise ValueError("no body ran: nothing was measured")
    began_at = max(each.times[0] for each in working)
    numbers = [number for each in working for number in each.numbers]
    times = [at for each in working for at in each.times if at <= ended_at]
    counted = sum(at >= began_at for at in times)
    looked_at = sum(at >= seen_at for at in times) or len(times)
    distinct = len(set(numbers))
    return Drain(
        submit_per_s=tasks / submit_seconds,
        drain_per_s=counted / max(ended_at - began_at, 1e-9),
        worker_cpu_us=cpu_seconds / looked_at * 1e6,
        server_cpu_us=server_cpu_seconds / looked_at * 1e6,
        submit_wal_bytes=submit_wal_bytes / tasks,
        wal_bytes=wal_bytes / looked_at,
        disk_bytes=disk_bytes / tasks,
        memory_mb=memory_mb,
        ran=len(numbers),
        twice=len(numbers) - distinct,
        lost=0 if cut else tasks - distinct,
        cut=cut,
        counted=counted,
    )


def killed(effects: Sequence[tuple[int, float]], *, tasks: int, killed_at: float) -> Kill:
    """What the log of effects says."""
    first: dict[int, float] = {}
    again = set()
    for number, at in effects:
        if number in first:
            again.add(number)
        first.setdefault(number, at)
    return Kill(tasks - len(first), len(again), max(first.values(), default=killed_at) - killed_at)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share does not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Of the medians of one run."""
    return statistics.median(one) / statistics.median(other)


def median_of(runs: Sequence[dict[str, float]], key: str) -> float:
    """Of one figure over runs."""
    return statistics.median(run[key] for run in runs)
