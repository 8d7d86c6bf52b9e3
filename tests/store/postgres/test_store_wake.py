"""PostgreSQL as SQLite: a commit wakes who waits, and claims of a killed process need not wait for their leases."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import NewLineage
from tests.invariants.check import violations
from tests.support.waiting import until

PROJECT = Path(__file__).parents[3]


class Machine:
    """Where stores and processes meet that share a runtime folder."""

    def __init__(self, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir(mode=0o700)
        self.folder = folder
        self._url = url
        self._monkeypatch = monkeypatch
        self.processes: list[subprocess.Popen[str]] = []

    def store(self) -> PostgresStore:
        self._monkeypatch.setenv("XDG_RUNTIME_DIR", str(self.folder))
        return PostgresStore(self._url)

    def claiming(self, name: str) -> subprocess.Popen[str]:
        """A process that claims one task, says its id, and lives on."""
        command = [sys.executable, "-m", "tests.store.processes.second_process", self._url, name, "claim"]
        environ = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process


@pytest.fixture
def machine(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Machine]]:
    made: list[Machine] = []

    def machine(name: str) -> Machine:
        made.append(Machine(tmp_path / name, postgres_url, monkeypatch))
        return made[-1]

    yield machine
    for process in (process for machine in made for process in machine.processes):
        process.kill()
        process.communicate()


@pytest.fixture
def here(machine: Callable[[str], Machine]) -> Machine:
    return machine("here")


@pytest.fixture
async def store(here: Machine) -> AsyncIterator[PostgresStore]:
    store = here.store()
    yield store
    assert await violations(store) == []
    await store.close()


async def submit(store: PostgresStore, name: str = "line") -> str:
    [answer] = await store.submit([NewLineage(name, [NewTask(f"{name}-t", "page", "a", "null")])])
    return answer.id


async def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


@pytest.mark.parametrize("where", ["same", "other"])
async def test_a_commit_wakes_who_waits(
    store: PostgresStore, here: Machine, machine: Callable[[str], Machine], where: str
) -> None:
    other = (here if where == "same" else machine("there")).store()
    other.join("other")
    await other.wait_for_work(0.001)
    await until(lambda: other._neighbours.hears, "it listens")
    for number in range(3):
        await other.wait_for_work(0.001)
        waiting = asyncio.create_task(other.wait_for_work(3_600.0))
        await submit(store, f"line{number}")
        await waiting
    await other.close()


async def test_who_waits_for_work_is_woken_before_the_answer(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = list[str]()
    monkeypatch.setattr(store._writer, "_on_wake", lambda: woken.append("now"))
    await submit(store)
    assert woken == ["now"], "a lone submit is picked up while its submitter still waits for the answer"


async def test_the_claims_of_a_killed_process_come_back_at_once(store: PostgresStore, here: Machine) -> None:
    task_id = await submit(store)
    process = here.claiming("n")
    assert (await said(process), await said(process)) == (task_id, "ready")
    assert (await store.sweep()).reclaimed == 0
    process.kill()
    process.wait()
    assert (await store.sweep()).reclaimed == 1
    task = await store.get(task_id)
    assert task is not None
    assert (task.state, task.losses) == ("pending", 1)
    assert store._neighbours.dead() == ["n"], "its last transaction may still come"
    while (await store.sweep()).changed:
        pass
    await store.sweep()
    assert store._neighbours.dead() == []


async def test_a_stopped_process_and_one_of_another_machine_keep_their_claims_until_their_leases_end(
    store: PostgresStore, here: Machine, machine: Callable[[str], Machine]
) -> None:
    for number in range(2):
        await submit(store, f"line{number}")
    stopped, far = here.claiming("stopped"), machine("there").claiming("far")
    assert {await said(stopped), await said(far)} == {"line0-t", "line1-t"}
    assert (await said(stopped), await said(far)) == ("ready", "ready")
    stopped.send_signal(signal.SIGSTOP)
    far.kill()
    far.wait()
    for _ in range(3):
        swept = await store.sweep()
        assert (swept.reclaimed, swept.poisoned) == (0, 0)
    assert {task.state for number in range(2) if (task := await store.get(f"line{number}-t"))} == {"processing"}
