"""Threads and processes on one tree of paths: nobody overlaps, nobody overtakes, everything ends (promise I7)."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.postgres import database_pool
from tests.pullers.log import Log
from tests.pullers.pullers import judged, opened, pull
from tests.support.processes import beside
from tests.support.waiting import until

THREADS, PROCESSES = 4, 2
Process = subprocess.Popen[str]


@pytest.fixture(params=["postgres", pytest.param("sqlite", marks=pytest.mark.nightly)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "ramet.db")
        return
    with database_pool.database() as url:
        yield url


def others(database: str, log: Path, tasks: int, processes: int) -> AbstractContextManager[list[Process]]:
    """Processes with pullers, ready to start."""
    return beside("tests.pullers.pullers", [database, str(log)], [str(THREADS), str(tasks)], processes)


def in_hand(number: int) -> str:
    """Looks for what the pullers of a process run."""
    return f"SELECT 1 FROM ramet_live WHERE state = 'processing' AND worker LIKE 'process{number}-%' LIMIT 1"


def stands_still(process: Process) -> bool:
    """All threads of a process are stopped."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


def start(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.parametrize("tasks", [10, pytest.param(400, marks=[pytest.mark.nightly, pytest.mark.timeout(1_800)])])
async def test_a_crowd_on_conflicting_paths_keeps_their_order(database: str, tmp_path: Path, tasks: int) -> None:
    log = Log(tmp_path / "log")
    async with opened(database, THREADS) as stores:
        with others(database, tmp_path / "log", tasks, PROCESSES - 1) as [process]:
            start(process)
            await pull(stores, "thread", log, tasks)
            assert await asyncio.to_thread(process.wait) == 0
        found = await judged(stores[0], log)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("tasks", [10, pytest.param(400, marks=[pytest.mark.nightly, pytest.mark.timeout(1_800)])])
async def test_whoever_is_killed_leaves_the_order_to_the_others(database: str, tmp_path: Path, tasks: int) -> None:
    """kill -9 of the processes, one after the other, in the middle of what they do; the last one finishes it all."""
    log = Log(tmp_path / "log")
    async with opened(database, 1) as [store]:
        with others(database, tmp_path / "log", tasks, 3) as [*victims, last]:
            for process in victims:
                start(process)
            for number, victim in enumerate(victims, 1):

                async def busy(victim: Process = victim, number: int = number) -> bool:
                    """Stopped after some work, with more in hand."""
                    if log.lines() < number * tasks * THREADS // 2:
                        return False
                    victim.send_signal(signal.SIGSTOP)
                    await until(lambda: stands_still(victim), "the stop")
                    if await store.read(in_hand(number - 1)):
                        return True
                    victim.send_signal(signal.SIGCONT)
                    return False

                await until(busy, "some work, and a moment with more in hand")
                # Written while it stands still: nothing of it comes later, and nobody takes its work before that.
                log.dead(f"process{number - 1}-")
                victim.kill()
                victim.wait()
            start(last)
            assert await asyncio.to_thread(last.wait) == 0
        found = await judged(store, log)
        lost = await store.read("SELECT 1 FROM ramet_attempts WHERE outcome IN ('lost', 'returned') LIMIT 1")
    assert found == [], "\n".join(found)
    assert lost, "nobody had anything in hand when it was killed"
