"""Slots tell what ran when a process died, and a sweep after the death of a worker reads them."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.processes.running_notes import RunningNotes, left_running, new_notes
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations


def noted(folder: Path | None, name: str, *claims: tuple[int, int]) -> RunningNotes:
    slots, handle = new_notes(folder, name, 4)
    os.close(handle)
    for slot, (seq, fence) in enumerate(claims):
        slots.note(slot, seq, fence)
    return slots


@pytest.mark.parametrize("in_file", [True, False])
def test_who_maps_the_same_slots_sees_what_runs(tmp_path: Path, *, in_file: bool) -> None:
    ours, handle = new_notes(tmp_path if in_file else None, "w.1", 3)
    theirs = RunningNotes(handle)
    os.close(handle)
    theirs.note(0, 7, 1)
    theirs.note(2, 2**40, 3)
    theirs.note(1, 8, 2)
    theirs.free(1)
    assert [(run.seq, run.fence) for run in ours.running()] == [(7, 1), (2**40, 3)]
    assert ours.running()[0].started_at <= ours.running()[1].started_at
    theirs.free(0)
    theirs.note(0, 7, 4)
    assert [(run.seq, run.fence) for run in ours.running()] == [(7, 4), (2**40, 3)]
    ours.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_worker_left_is_found_under_its_name_only(tmp_path: Path) -> None:
    noted(tmp_path, "a.1", (1, 1), (2, 1))
    noted(tmp_path, "a.2", (3, 5))
    gone = noted(tmp_path, "a.3", (4, 1))
    noted(tmp_path, "ab.1", (9, 1))
    noted(tmp_path, "b.1")
    gone.remove()
    gone.remove()
    assert left_running(tmp_path, "a") == frozenset({(1, 1), (2, 1), (3, 5)})
    assert left_running(tmp_path, "b") == frozenset()
    assert left_running(tmp_path, "c") is None


@pytest.mark.parametrize("size", [0, 1, 30, 4_096])
def test_a_file_that_is_not_whole_is_no_word(tmp_path: Path, size: int) -> None:
    """A sweep that fails on it would fail on every worker for ever."""
    noted(tmp_path, "a.1", (1, 1))
    (tmp_path / "a.2.slots").write_bytes(bytes(size))
    assert left_running(tmp_path, "a") is None


def test_a_file_that_cannot_be_read_is_no_word(tmp_path: Path) -> None:
    (tmp_path / "a.1.slots").mkdir()
    assert left_running(tmp_path, "a") is None


def test_a_file_that_another_sweep_took_away_meanwhile_is_left_out(tmp_path: Path) -> None:
    noted(tmp_path, "a.1", (1, 1))
    (tmp_path / "a.2.slots").symlink_to(tmp_path / "gone")
    assert left_running(tmp_path, "a") == frozenset({(1, 1)})


def test_without_the_folder_the_slots_are_in_memory(tmp_path: Path) -> None:
    slots = noted(tmp_path / "absent", "a.1", (1, 1))
    assert [run.seq for run in slots.running()] == [1]
    slots.remove()
    assert slots.running() == []
    assert list(tmp_path.iterdir()) == []


def test_slots_without_a_file_remove_none(tmp_path: Path) -> None:
    """Where the folder cannot be entered there is nothing to take away, and trying would fail."""
    (tmp_path / "file").touch()
    slots = noted(tmp_path / "file", "a.1", (1, 1))
    slots.remove()
    assert slots.running() == []


def test_a_disk_without_room_for_the_slots_ends_nobody_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[int]()

    def no_room(handle: int, data: bytes) -> int:
        tried.append(handle)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", no_room)
    with pytest.raises(OSError, match="No space left"):
        new_notes(tmp_path, "a.1", 4)
    assert len(tried) == 2, "in the folder, then in memory"
    for handle in tried:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


@pytest.mark.parametrize("taken", [0, 24, 50])
def test_where_a_full_disk_has_no_room_for_the_file_the_slots_are_in_memory_and_nobody_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """A disk takes what it has room for and says so, and refuses the rest."""
    handles: list[int] = []
    write = os.write

    def full_once(handle: int, data: bytes) -> int:
        handles.append(handle)
        if len(handles) == 1 and taken:
            return write(handle, data[:taken])
        if len(handles) == 1 + bool(taken):
            raise OSError(errno.ENOSPC, "no space left")
        return write(handle, data)

    monkeypatch.setattr(os, "write", full_once)
    closed: list[int] = []
    close = os.close

    def watched(handle: int) -> None:
        closed.append(handle)
        close(handle)

    monkeypatch.setattr(os, "close", watched)
    slots, handle = new_notes(tmp_path, "a.1", 4)
    assert closed == [handles[0]]
    os.close(handle)
    slots.note(3, 7, 1)
    assert [run.seq for run in slots.running()] == [7]
    assert left_running(tmp_path, "a") is None, "nobody finds there what is only in memory"
    slots.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_the_slots_piece_by_piece_has_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
    slots = noted(tmp_path, "a.1", (1, 1), (2, 1), (3, 1), (4, 1))
    assert [run.seq for run in slots.running()] == [1, 2, 3, 4]
    assert left_running(tmp_path, "a") == frozenset({(1, 1), (2, 1), (3, 1), (4, 1)})


# --- after the death of a worker --------------------------------------------------------------------------------


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "ramet.db")
    yield store
    assert await violations(store) == []
    await store.close()


async def claims_of_a_dead_worker(store: SqliteStore) -> list[ClaimedTask]:
    """Three claims of a worker that is gone: its lock file is there and nobody holds the lock."""
    await store.submit([NewLineage("line", [NewTask(f"t{n}", "page", str(n), "null") for n in range(3)])])
    assert store.slots_folder is not None
    store.slots_folder.mkdir(mode=0o700)
    (store.slots_folder / "dead.lock").touch()
    return await store.claim(ClaimRequest("dead", ["default"], ["page"], 3, 3_600.0))


async def losses(store: SqliteStore) -> list[tuple[str, int, int]]:
    tasks = [await store.get(f"t{n}") for n in range(3)]
    return [(task.state, task.attempts, task.losses) for task in tasks if task is not None]


async def test_only_what_ran_when_a_worker_died_is_lost(store: SqliteStore) -> None:
    first, second, _ = await claims_of_a_dead_worker(store)
    # A note of an older claim says nothing about this one.
    claims = [(first.standing.seq, first.standing.fence), (second.standing.seq, second.standing.fence - 1)]
    noted(store.slots_folder, "dead.1", *claims)
    swept = await store.sweep()
    assert swept.reclaimed == 3
    assert await losses(store) == [("pending", 0, 1), ("pending", 0, 0), ("pending", 0, 0)]
    await store.sweep()
    assert store.slots_folder is not None
    assert list(store.slots_folder.iterdir()) == [], "what it left is cleared away"


async def test_a_torn_word_of_a_dead_worker_stops_no_sweep(store: SqliteStore) -> None:
    """Found by chaos: each worker that came later ended by it, so nothing went on any more."""
    await claims_of_a_dead_worker(store)
    assert store.slots_folder is not None
    (store.slots_folder / "dead.1.slots").write_bytes(bytes(30))
    assert (await store.sweep()).reclaimed == 3
    assert await losses(store) == [("pending", 0, 1)] * 3
    await store.sweep()
    assert list(store.slots_folder.iterdir()) == []


async def test_without_a_word_of_a_dead_worker_all_that_it_held_is_lost(store: SqliteStore) -> None:
    await claims_of_a_dead_worker(store)
    await store.sweep()
    assert await losses(store) == [("pending", 0, 1)] * 3
