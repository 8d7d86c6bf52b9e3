"""What is measured of an entrant, seen from outside: drains, pick-ups, and what a kill costs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.arithmetic import Bodies, Drain, Kill, drained, killed
from benchmarks.engine.pickup import resident_mb
from benchmarks.engine.processes import cpu_seconds
from benchmarks.entrants import Entrant, Failed
from benchmarks.peers.ramet_mixed import spawns
from benchmarks.peers.record import COUNT, EFFECTS
from benchmarks.peers.role import FAN_OUT
from benchmarks.places import Database

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
LOOK_SECONDS = 0.005
LAST_BODY_SECONDS = 0.2
"""A queue that deletes a task when it is taken looks empty while its last body runs, which may enqueue more."""
KILL_AT = 0.4


class Latency(NamedTuple):
    """Pick-ups by a waiting worker, in milliseconds."""

    latencies_ms: list[float]
    submits_ms: list[float]
    """How long each submit of one task took, until it was stored."""


class Load(NamedTuple):
    """A load to enqueue and drain."""

    role: str
    """That enqueues it, in a process of its own."""
    words: tuple[str, ...]
    tasks: int
    """That will have run, with those that others enqueue."""


def noops(tasks: int) -> Load:
    """Tasks that do nothing, enqueued in bulk."""
    return Load("submit", (str(tasks), "noop"), tasks)


def tree(levels: int) -> Load:
    """A root, and generations below it that handlers enqueue."""
    return Load("tree", (str(levels),), sum(FAN_OUT**level for level in range(levels + 1)))


def mixed(tasks: int) -> Load:
    """ramet's mixed load."""
    return Load("submit", (str(tasks), "mixed"), tasks + sum(map(spawns, range(tasks))))


def drain(
    entrant: Entrant, database: Database, folder: Path, unfinished: str, load: Load, *, workers: int, seconds_max: float
) -> Drain:
    """Enqueue a load, then let workers run all of it, or as much as they can in ``seconds_max``."""
    entrant.ask(folder, "prepare", database.address)
    disk, submit_wal = database.disk_bytes(), database.wal_bytes()
    submit_seconds = float(entrant.ask(folder, load.role, database.address, *load.words)["seconds"])
    submit_wal = database.wal_bytes() - submit_wal
    if load.role == "submit":
        # Not of a tree: what a planner would learn of tables with one row makes the queues slow that grow from there.
        database.quiet()

    def left() -> bool:
        return database.truth(unfinished) if unfinished else _counted(folder) < load.tasks

    with _working(entrant, folder, database.address, workers) as processes:
        _wait_for_start(entrant, folder, processes)
        cpu, server_cpu, wal = _cpu(processes), database.server_cpu(), database.wal_bytes()
        seen_at = time.time()
        cut_at = time.monotonic() + seconds_max
        while True:
            cut = not _done_before(cut_at, left, lambda: _check_alive(entrant, folder, processes))
            ended_at = time.time()
            cpu_then, server_cpu_then, wal_then = _cpu(processes), database.server_cpu(), database.wal_bytes()
            memory_mb = max(resident_mb(process.pid) or 0.0 for process in processes)
            time.sleep(LAST_BODY_SECONDS)
            if cut or not left():
                break
        _stop(processes)
    return drained(
        [_bodies(path) for path in sorted(folder.glob("ran-*"))],
        tasks=load.tasks,
        submit_seconds=submit_seconds,
        submit_wal_bytes=submit_wal,
        seen_at=seen_at,
        ended_at=ended_at,
        cut=cut,
        cpu_seconds=cpu_then - cpu,
        server_cpu_seconds=server_cpu_then - server_cpu,
        wal_bytes=wal_then - wal,
        disk_bytes=database.disk_bytes() - disk,
        memory_mb=memory_mb,
    )


def pick_up(entrant: Entrant, database: Database, folder: Path, samples: int) -> Latency:
    """One task at a time from another process, to a worker that waits."""
    entrant.ask(folder, "prepare", database.address)
    with _working(entrant, folder, database.address, 1) as processes:
        answer = entrant.ask(folder, "pick-up", database.address, str(samples))
        _stop(processes)
    return Latency(answer["latencies_ms"], answer["submits_ms"])


def kill(entrant: Entrant, database: Database, folder: Path, *, tasks: int, wait_seconds: float) -> Kill:
    """Kill the worker when 40 % of the effects are there, start another at once, and see what became of the tasks.

    Waits until every task had its effect, or nothing happened for ``wait_seconds``.
    """
    entrant.ask(folder, "prepare", database.address)
    entrant.ask(folder, "submit", database.address, str(tasks), "effect")
    log = folder / EFFECTS
    with _working(entrant, folder, database.address, 1) as processes:
        give_up_at = time.monotonic() + START_SECONDS_MAX
        while _lines(log) < tasks * KILL_AT:
            _check_alive(entrant, folder, processes)
            if time.monotonic() > give_up_at:
                raise Failed(f"{entrant.title}: no {KILL_AT:.0%} of the tasks in {START_SECONDS_MAX:.0f} s")
            time.sleep(LOOK_SECONDS)
        os.killpg(processes[0].pid, signal.SIGKILL)
        killed_at = time.time()
        processes[0].wait()
    with _working(entrant, folder, database.address, 1) as processes:
        seen, seen_at = _lines(log), time.monotonic()
        while len(_effects(log)) < tasks and time.monotonic() - seen_at < wait_seconds:
            time.sleep(0.05)
            if _lines(log) != seen:
                seen, seen_at = _lines(log), time.monotonic()
        _stop(processes)
    return killed(_effects_with_times(log), tasks=tasks, killed_at=killed_at)


@contextmanager
def _working(entrant: Entrant, folder: Path, address: str, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = [entrant.start(folder, "work", address) for _ in range(workers)]
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _check_alive(entrant: Entrant, folder: Path, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is not None:
            raise Failed(f"{entrant.title}: a worker ended with {process.returncode}: {entrant.told(folder, 'work')}")


def _wait_for_start(entrant: Entrant, folder: Path, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while not any(folder.glob("began-*")):
        _check_alive(entrant, folder, processes)
        if time.monotonic() > give_up_at:
            raise Failed(f"{entrant.title}: no task ran within {START_SECONDS_MAX:.0f} s")
        time.sleep(LOOK_SECONDS)


def _done_before(cut_at: float, left: Callable[[], bool], check: Callable[[], None]) -> bool:
    """Whether nothing was left before the time was over."""
    while left():
        check()
        if time.monotonic() > cut_at:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _counted(folder: Path) -> int:
    """Bodies so far, of the workers that count them for all to see."""
    return sum(int(path.read_text(encoding="ascii")) for path in folder.glob(f"{COUNT}-*"))


def _cpu(processes: Sequence[subprocess.Popen[bytes]]) -> float:
    return sum(cpu_seconds(process.pid) for process in processes)


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _bodies(path: Path) -> Bodies:
    written = path.read_bytes()
    numbers, times = array("q"), array("d")
    numbers.frombytes(written[: len(written) // 2])
    times.frombytes(written[len(written) // 2 :])
    return Bodies(list(numbers), list(times))


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _effects_with_times(log: Path) -> list[tuple[int, float]]:
    lines = log.read_text(encoding="ascii").splitlines()
    return [(int(number), float(at)) for number, at in (line.split() for line in lines)]


def _effects(log: Path) -> set[int]:
    return {number for number, _ in _effects_with_times(log)}
