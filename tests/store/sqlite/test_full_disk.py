"""A full disk: one clear line, nothing half-written, everything acknowledged still there, and work goes on after."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError, StoreFull
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.waiting import until_now
from tests.support.world import settlement

DISK_BYTES = 4_000_000
PAYLOAD = f'"{"x" * 5_000}"'


class Disk:
    """A folder that can run out of space, and be given some again."""

    def __init__(self, folder: Path, fill: Callable[[], None], free: Callable[[], None]) -> None:
        self.folder = folder
        self.fill = fill
        self.free = free


@contextmanager
def small_disk(folder: Path, size: int = DISK_BYTES) -> Iterator[Disk]:
    """A file system of its own, which needs the right to mount one. Filling it makes it no larger than its files."""
    command = shutil.which("mount")

    def mount(*options: str) -> bool:
        words = [str(command), "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    if command is None or not mount(f"size={size}"):
        pytest.skip("no file system may be mounted here; the limit on file sizes is tested instead")

    def fill() -> None:
        # What is written meanwhile makes it larger than it may become.
        until_now(lambda: mount("remount", f"size={max(1, _used(folder))}"), "the disk is full")

    def free() -> None:
        assert mount("remount", f"size={size}")

    try:
        yield Disk(folder, fill, free)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _used(folder: Path) -> int:
    """Bytes of a file system that are taken."""
    disk = os.statvfs(folder)
    return (disk.f_blocks - disk.f_bfree) * disk.f_frsize


@contextmanager
def small_files(folder: Path) -> Iterator[Disk]:
    """No file may grow beyond a size: the write fails as it does on a full disk, under another error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        largest = max(path.stat().st_size for path in folder.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 20_000, hard))

    def free() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    try:
        yield Disk(folder, fill, free)
    finally:
        free()


DISKS = {"disk": small_disk, "file size": small_files}


@pytest.fixture(params=DISKS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with DISKS[request.param](folder) as disk:
        yield disk


def lineage(number: int, size: int = 10) -> NewLineage:
    return NewLineage(f"line{number}", [NewTask(f"{number}-{at}", "page", f"k{at}", PAYLOAD) for at in range(size)])


async def submit_until_full(store: Store, size: int) -> tuple[int, StoreError]:
    """How many lineages were acknowledged, and what the first that was not was told."""
    for number in range(10_000):
        try:
            await store.submit([lineage(number, size)])
        except StoreError as error:
            return number, error
    raise AssertionError("the disk never filled up")


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("size", [1, 300])
async def test_what_was_acknowledged_is_there_and_nothing_else(disk: Disk, inline: bool, size: int) -> None:
    path = disk.folder / "ramet.db"
    store = SqliteStore(path, inline=inline)
    await store.submit([lineage(99_999, 2)])
    disk.fill()
    acknowledged, error = await submit_until_full(store, size)
    assert "\n" not in str(error)
    if isinstance(error, StoreFull):
        assert "is full: free some space; nothing of this step was written" in str(error)
    assert len(await store.lineages(limit=1_000)) == acknowledged + 1
    assert await store.lineage(f"line{acknowledged}") is None
    await settle_on_a_full_disk(store)
    disk.free()
    await store.submit([lineage(acknowledged, size)])
    assert await violations(store) == []
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT COUNT(*) FROM ramet_lineages").fetchone() == (acknowledged + 2,)
    connection.close()


async def settle_on_a_full_disk(store: SqliteStore) -> None:
    """Whatever a worker is told about its claim and its settlement is what is in the database."""
    try:
        claimed = await store.claim(ClaimRequest("w", ("default",), ("page",), 1, 300.0))
    except StoreError:
        assert all(task.state == "pending" for task in await store.roots("line99999"))
        return
    [item] = claimed
    spawns = [NewTask(f"child{at}", "page", f"child{at}", PAYLOAD) for at in range(200)]
    with pytest.raises(StoreError):
        await store.settle([settlement(item, spawns=spawns)])
    task = await store.get(item.id)
    assert task is not None
    assert task.state == "processing"
    assert not await store.has_live("page", "child0")


async def test_a_reopened_full_disk_reads_and_works_again_when_there_is_room(disk: Disk) -> None:
    path = disk.folder / "ramet.db"
    store = SqliteStore(path)
    disk.fill()
    acknowledged, _ = await submit_until_full(store, 20)
    await store.close()
    disk.free()
    again = SqliteStore(path)
    assert len(await again.lineages(limit=1_000)) == acknowledged
    await again.submit([lineage(acknowledged)])
    assert await violations(again) == []
    await again.close()


async def test_verbs_that_share_the_failed_transaction_all_learn_of_it(disk: Disk) -> None:
    store = SqliteStore(disk.folder / "ramet.db")
    await store.submit([lineage(99_999, 1)])
    disk.fill()
    told = await asyncio.gather(*(store.submit([lineage(n, 40)]) for n in range(30)), return_exceptions=True)
    disk.free()
    failed = {n for n, answer in enumerate(told) if isinstance(answer, BaseException)}
    assert failed
    assert all(isinstance(told[n], StoreError) for n in failed)
    stored = {row.tracking_id for row in await store.lineages(limit=1_000)} - {"line99999"}
    assert stored == {f"line{n}" for n in range(30) if n not in failed}
    await store.submit([lineage(min(failed), 40)])
    assert await violations(store) == []
    await store.close()
