"""Processes on one file wake each other, and the operating system's word, not a time-out, proves that one is dead."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.processes.running_notes import new_notes
from ramet.store.requests import NewLineage
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations

PROJECT = Path(__file__).parents[3]
Start = Callable[..., "Neighbour"]


class Neighbour:
    """Another process on the database."""

    def __init__(self, path: Path, name: str, *what: str) -> None:
        command = [sys.executable, "-m", "tests.store.processes.second_process", str(path), name, *what]
        self.process = subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    async def hear(self) -> str:
        """The next word that it says."""
        assert self.process.stdout is not None
        return (await asyncio.to_thread(self.process.stdout.readline)).strip()

    def ring(self) -> None:
        """Have it wake everybody."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ramet.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close_now()


@pytest.fixture
def start(path: Path, store: SqliteStore) -> Iterator[Start]:
    started: list[Neighbour] = []

    def start(name: str, *what: str) -> Neighbour:
        started.append(Neighbour(path, name, *what))
        return started[-1]

    yield start
    for neighbour in started:
        neighbour.kill()
        neighbour.process.communicate()


def files(path: Path) -> list[str]:
    folder = path.parent / f"{path.name}-ramet"
    return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []


async def submit(store: SqliteStore, name: str = "line") -> str:
    [answer] = await store.submit([NewLineage(name, [NewTask(f"{name}-t", "page", "a", "null")])])
    return answer.id


async def test_a_commit_wakes_who_waits_in_another_process(store: SqliteStore, start: Start) -> None:
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    for number in range(3):
        await submit(store, f"line{number}")
        assert await neighbour.hear() == "rung"


async def test_a_neighbours_commit_wakes_who_waits_here(store: SqliteStore, start: Start) -> None:
    store.join("here")
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    await store.wait_for_work(0.001)
    waiting = asyncio.create_task(store.wait_for_work(3_600.0))
    await asyncio.sleep(0)
    neighbour.ring()
    await waiting


async def test_a_bell_that_rang_before_the_wait_is_not_lost(store: SqliteStore) -> None:
    store.join("here")
    await store.wait_for_work(0.001)
    await submit(store)
    await store.wait_for_work(3_600.0)


async def test_without_a_bell_the_time_out_ends_the_wait(store: SqliteStore) -> None:
    store.join("here")
    await store.wait_for_work(0.001)
    await store.wait_for_work(0.001)


async def test_every_neighbour_is_woken(store: SqliteStore, start: Start) -> None:
    neighbours = [start(f"n{number}") for number in range(3)]
    for neighbour in neighbours:
        assert await neighbour.hear() == "ready"
    await submit(store)
    assert [await neighbour.hear() for neighbour in neighbours] == ["rung"] * 3


async def test_a_dead_or_deaf_neighbour_does_not_disturb_a_commit(
    store: SqliteStore, start: Start, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    neighbour.kill()
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.chdir(path.parent / f"{path.name}-ramet")
    deaf.bind("deaf.sock")
    (path.parent / f"{path.name}-ramet" / "file.sock").touch()
    for number in range(600):
        await submit(store, f"line{number}")
    deaf.close()


async def test_without_a_free_file_descriptor_commits_go_on(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.join("here")
    folder = path.parent / f"{path.name}-ramet"
    (folder / "other.sock").touch()

    def no_more(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("ramet.store.processes.registry.socket.socket", no_more)
    assert await submit(store) == "line-t"
    assert await submit(store, "second") == "second-t"


async def test_the_lock_of_a_killed_process_proves_its_death_and_its_claims_come_back_at_once(
    store: SqliteStore, start: Start, path: Path
) -> None:
    task_id = await submit(store)
    neighbour = start("n", "claim")
    assert await neighbour.hear() == task_id
    assert await neighbour.hear() == "ready"
    assert (await store.sweep()).reclaimed == 0
    neighbour.kill()
    assert (await store.sweep()).reclaimed == 1
    task = await store.get(task_id)
    assert task is not None
    assert (task.state, task.losses) == ("pending", 1)
    assert files(path) == ["n.lock", "n.sock"]
    assert not (await store.sweep()).changed
    assert files(path) == []
    assert await violations(store) == []


async def test_a_stopped_process_is_not_dead(store: SqliteStore, start: Start) -> None:
    task_id = await submit(store)
    neighbour = start("n", "claim")
    assert await neighbour.hear() == task_id
    assert await neighbour.hear() == "ready"
    os.kill(neighbour.process.pid, signal.SIGSTOP)
    assert await asyncio.to_thread(os.waitid, os.P_PID, neighbour.process.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        for _ in range(3):
            assert (await store.sweep()).reclaimed == 0
        task = await store.get(task_id)
        assert task is not None
        assert (task.state, task.worker) == ("processing", "n")
    finally:
        os.kill(neighbour.process.pid, signal.SIGCONT)


async def test_one_that_left_in_good_order_leaves_nothing_behind(store: SqliteStore, path: Path) -> None:
    other = SqliteStore(path)
    other.join("other")
    await other.wait_for_work(0.001)
    assert files(path) == ["other.lock", "other.sock"]
    assert store._neighbours.dead() == []
    await other.close()
    assert files(path) == []
    other._neighbours.leave()


async def test_joining_again_under_another_name_leaves_the_first(store: SqliteStore, path: Path) -> None:
    for name in ("one", "two"):
        store.join(name)
        await store.wait_for_work(0.001)
        assert files(path) == [f"{name}.lock", f"{name}.sock"]
    await submit(store)
    await store.wait_for_work(3_600.0)
    store.close_now()
    assert files(path) == []


async def test_two_in_one_process_do_not_take_each_other_for_dead(store: SqliteStore, path: Path) -> None:
    other = SqliteStore(path)
    store.join("one")
    other.join("two")
    assert store._neighbours.dead() == other._neighbours.dead() == []
    await other.close()


async def test_a_folder_that_cannot_be_made_leaves_polling_and_leases(tmp_path: Path) -> None:
    database = tmp_path / "ramet.db"
    (tmp_path / "ramet.db-ramet").touch()
    neighbours = ProcessRegistry(database)
    neighbours.join("n")
    neighbours.ring()
    assert neighbours.dead() == []
    await neighbours.wait(0.001)
    neighbours.leave()


async def test_a_path_too_long_for_a_socket_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    neighbours, other = ProcessRegistry(folder / "ramet.db"), ProcessRegistry(folder / "ramet.db")
    neighbours.join("n")
    await neighbours.wait(0.001)
    assert files(folder / "ramet.db") == ["n.lock", "n.sock"]
    other.ring()
    await neighbours.wait(3_600.0)
    neighbours.leave()
    assert files(folder / "ramet.db") == []


async def test_where_the_system_has_no_short_way_a_long_path_leaves_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.store.processes.registry.OPEN_FOLDERS", tmp_path / "none")
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    neighbours = ProcessRegistry(folder / "ramet.db")
    neighbours.join("n")
    await neighbours.wait(0.001)
    assert files(folder / "ramet.db") == ["n.lock"]
    other = ProcessRegistry(folder / "ramet.db")
    other.ring()
    assert other.dead() == []
    neighbours.leave()


def test_a_lock_that_is_gone_when_it_is_looked_at_proves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever held it left between the listing and the look."""
    here, other = ProcessRegistry(path), ProcessRegistry(path)
    other.join("leaving")
    listing = Path.glob

    def then_left(folder: Path, pattern: str) -> list[Path]:
        found = list(listing(folder, pattern))
        if pattern == "*.lock":
            other.leave()
        return found

    monkeypatch.setattr(Path, "glob", then_left)
    assert here.dead() == []


def test_a_folder_that_is_not_this_users_own_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody made it first, beside a database in a folder where all may write."""
    place = tmp_path / "ramet.db-ramet"
    place.mkdir(mode=0o700)
    (place / "other.lock").touch()
    neighbours = ProcessRegistry(tmp_path / "ramet.db")
    assert neighbours.dead() == ["other"]
    place.chmod(0o777)
    assert (neighbours.dead(), neighbours.folder) == ([], None)
    neighbours.join("me")
    assert not (place / "me.lock").exists()
    assert "others may use it (mode 777): chmod 700 it" in caplog.text
    place.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    assert (neighbours.dead(), neighbours.folder) == ([], None)
    monkeypatch.undo()
    place.rename(tmp_path / "real")
    place.symlink_to(tmp_path / "real")
    assert (neighbours.dead(), neighbours.folder) == ([], None)


def test_nothing_is_written_through_a_link_that_somebody_made_before(tmp_path: Path) -> None:
    place, victim = tmp_path / "ramet.db-ramet", tmp_path / "victim"
    place.mkdir(mode=0o700)
    victim.write_text("precious", encoding="ascii")
    (place / "me.1.slots").symlink_to(victim)
    (place / "me.new").symlink_to(victim)
    slots, handle = new_notes(place, "me.1", 4)
    slots.note(0, 1, 1)
    assert [run.seq for run in slots.running()] == [1]  # In memory of its own.
    slots.remove()
    os.close(handle)
    ProcessRegistry(tmp_path / "ramet.db").join("me")
    assert victim.read_text(encoding="ascii") == "precious"
