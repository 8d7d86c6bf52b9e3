"""Backups of a database in use, and databases from them: whole or not there; no worker settles in the wrong copy."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.answers import ClaimedTask
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.requests import NewLineage
from ramet.store.session import FENCES_PER_EPOCH
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.support.waiting import until
from tests.support.world import SettableClock, World, failing, settlement


class Copies:
    """A database, its clock, and copies of it, each as a world."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SettableClock()
        self._open: list[SqliteStore] = []

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def world(self, name: str) -> World:
        store = SqliteStore(self.path(name), clock=self.clock, inline=True)
        self._open.append(store)
        return World(store, self.clock)

    def restored(self, copy: str, name: str) -> World:
        restore(self.path(copy), self.path(name), clock=self.clock)
        return self.world(name)

    def close(self) -> None:
        for store in self._open:
            store.close_now()


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Copies]:
    copies = Copies(tmp_path)
    yield copies
    copies.close()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_backup_holds_what_was_there_and_is_one_sound_file(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit(world.task("a"), world.task("b"))
    held = await world.claim_one()
    told = backup(copies.path("first"), copies.path("copy"))
    await world.settle(held)
    assert (told.lineages, told.epoch) == (1, 0)
    assert files(copies.folder) == ["copy.db", "first.db", "first.db-shm", "first.db-wal"]
    assert os.stat(copies.path("copy")).st_mode == os.stat(copies.path("first")).st_mode
    connection = sqlite3.connect(copies.path("copy"))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT state FROM ramet_live ORDER BY seq").fetchall() == [("processing",), ("pending",)]
    connection.close()


async def test_a_backup_while_a_worker_writes_is_one_moment_of_it(copies: Copies) -> None:
    path, target = copies.path("first"), copies.path("copy")
    store = open_store(path)
    roots = [NewTask(f"r{n}", "page", f"r{n}", '"' + "x" * 2_000 + '"') for n in range(2_000)]
    await store.submit([NewLineage("filling", roots)])
    done = asyncio.Event()
    written = 0

    async def write() -> None:
        nonlocal written
        while not done.is_set():
            await store.submit([NewLineage(f"line{written}", [NewTask(f"t{written}", "page", "k", "null")])])
            written += 1

    writing = asyncio.create_task(write())
    await until(lambda: written >= 3, "a few lineages")
    seen: list[tuple[int, int]] = []
    before = written
    await asyncio.to_thread(backup, path, target, progress=lambda at, of: seen.append((at, of)))
    done.set()
    await writing
    await store.close()
    copy = SqliteStore(target, inline=True)
    assert await violations(copy) == []
    lines = await copy.read("SELECT COUNT(*) FROM ramet_lineages WHERE tracking_id LIKE 'line%'")
    assert before <= lines[0][0] <= written
    assert seen[-1][0] == seen[-1][1] > 0
    copy.close_now()


async def test_a_worker_of_the_original_cannot_settle_in_the_copy_nor_the_other_way(copies: Copies) -> None:
    first = copies.world("first")
    [root] = await first.submit(first.task("a"))
    held_before = await first.claim_one()
    backup(copies.path("first"), copies.path("copy"))
    copy = copies.restored("copy", "second")
    for world in (first, copy):
        copies.clock.advance(301.0)
        await world.sweep()
    ours, theirs = await first.claim_one(), await copy.claim_one()
    assert ours.id == theirs.id == root
    assert ours.standing.seq == theirs.standing.seq
    assert theirs.standing.fence > ours.standing.fence > held_before.standing.fence
    for world, foreign in ((copy, held_before), (copy, ours), (first, theirs)):
        assert (await world.settle(foreign)).refused == "stale"
        assert await world.state(root) == "processing"
    for world, own in ((first, ours), (copy, theirs)):
        assert (await world.settle(own)).refused is None
        await world.check()


async def test_tasks_made_after_the_backup_differ_in_their_fences_though_not_in_their_numbers(copies: Copies) -> None:
    first = copies.world("first")
    await first.submit(first.task("a"))
    backup(copies.path("first"), copies.path("copy"))
    copy = copies.restored("copy", "second")
    claims: list[ClaimedTask] = []
    for world in (first, copy):
        await world.run_all()
        await world.submit(NewTask("new", "page", "new", "null"), tracking_id="new")
        claims.append(await world.claim_one())
    ours, theirs = claims
    assert ours.standing.seq == theirs.standing.seq
    assert (await copy.settle(ours)).refused == (await first.settle(theirs)).refused == "stale"
    grown = await copy.grow(theirs, NewTask("child", "page", "child", "null"))
    child = await copy.claim_task(grown[0])
    assert child.standing.fence > FENCES_PER_EPOCH
    await copy.settle(child)
    await copy.check()


async def test_what_had_ended_is_revived_in_the_copy_under_fences_of_its_own(copies: Copies) -> None:
    first = copies.world("first")
    [root] = await first.submit(first.task("a"))
    held = await first.claim_one()
    await first.settle(held, failing(held))
    backup(copies.path("first"), copies.path("copy"))
    copy = copies.restored("copy", "second")
    claims = []
    for world in (first, copy):
        await world.store.revive([root], by="test")
        claims.append(await world.claim_one())
    assert (await copy.settle(claims[0])).refused == (await first.settle(claims[1])).refused == "stale"
    await copy.settle(claims[1])
    assert await copy.outcomes(root) == ["error", "success"]
    await copy.check()


async def test_two_databases_from_one_backup_are_strangers_too(copies: Copies) -> None:
    first = copies.world("first")
    await first.submit(first.task("a"))
    backup(copies.path("first"), copies.path("copy"))
    second = copies.restored("copy", "second")
    copies.clock.advance(1.0)
    third = copies.restored("copy", "third")
    ours, theirs = await second.claim_one(), await third.claim_one()
    assert (await third.settle(ours)).refused == (await second.settle(theirs)).refused == "stale"


async def test_an_epoch_follows_the_one_before_also_when_the_clock_is_behind(copies: Copies) -> None:
    first = copies.world("first")
    await first.submit(first.task("a"))
    backup(copies.path("first"), copies.path("copy"))
    second = copies.restored("copy", "second")
    backup(copies.path("second"), copies.path("copy2"))
    copies.clock.advance(-1e6)
    third = copies.restored("copy2", "third")
    copies.clock.advance(1e6)
    ours, theirs = await second.claim_one(), await third.claim_one()
    assert theirs.standing.fence > ours.standing.fence + 1
    assert theirs.standing.fence < 2**53


async def test_a_backup_that_is_only_copied_begins_its_epoch_when_it_is_opened_and_once(copies: Copies) -> None:
    first = copies.world("first")
    await first.submit(first.task("a"))
    backup(copies.path("first"), copies.path("copy"))
    shutil.copy(copies.path("copy"), copies.path("second"))
    fences = [(await copies.world("second").store.read("SELECT fence FROM ramet_live"))[0][0] for _ in range(2)]
    assert fences[0] == fences[1] == int(copies.clock.now) * FENCES_PER_EPOCH
    assert await copies.world("first").store.read("SELECT fence FROM ramet_live") == [(0,)]


async def test_what_is_there_is_not_overwritten_unless_that_is_asked_for(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit()
    target = copies.path("copy")
    target.write_text("mine")
    with pytest.raises(StoreError, match=r"copy.db exists: give another path, or --force"):
        backup(copies.path("first"), target)
    assert target.read_text() == "mine"
    backup(copies.path("first"), target, force=True)
    with pytest.raises(StoreError, match=r"first.db exists"):
        restore(target, copies.path("first"))
    with pytest.raises(StoreError, match="is the database itself"):
        backup(copies.path("first"), copies.path("first"), force=True)


async def test_what_a_restored_database_replaces_is_kept_whole(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit(tracking_id="early")
    backup(copies.path("first"), copies.path("copy"))
    await world.submit(tracking_id="late")
    world.store.close_now()
    told = restore(copies.path("copy"), copies.path("first"), force=True, clock=copies.clock)
    assert told.replaced == str(copies.folder / "first.db.replaced")
    assert [row.tracking_id for row in await copies.world("first").store.lineages()] == ["early"]
    shutil.copy(told.replaced, copies.path("kept"))
    assert {row.tracking_id for row in await copies.world("kept").store.lineages()} == {"early", "late"}


async def test_nothing_is_restored_over_a_database_on_which_workers_run(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit()
    backup(copies.path("first"), copies.path("copy"))
    neighbours = ProcessRegistry(copies.path("first"))
    neighbours.join("busy")
    with pytest.raises(StoreError, match=r"1 workers run on .*first.db \(busy\): stop them first"):
        restore(copies.path("copy"), copies.path("first"), force=True)
    neighbours.leave()
    assert "copy.db" in files(copies.folder)


BAD = [
    ("", "no backup at"),
    ("not a database at all, and long enough to look at" * 50, "is not a readable SQLite database"),
]


@pytest.mark.parametrize(("text", "said"), BAD, ids=["missing", "text"])
async def test_what_is_no_backup_leaves_everything_as_it_was(copies: Copies, text: str, said: str) -> None:
    if text:
        copies.path("copy").write_text(text)
    before = files(copies.folder)
    with pytest.raises(StoreError, match=said):
        restore(copies.path("copy"), copies.path("second"))
    assert files(copies.folder) == before


async def test_a_damaged_backup_is_not_put_in_place(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit(*(world.task(f"k{n}") for n in range(500)))
    backup(copies.path("first"), copies.path("copy"))
    whole = copies.path("copy").read_bytes()
    copies.path("copy").write_bytes(whole[:40_000] + b"\xff" * 4_000 + whole[44_000:])
    with pytest.raises(StoreError, match=r"not sound|not a readable"):
        restore(copies.path("copy"), copies.path("second"))
    assert "second.db" not in files(copies.folder)


@contextmanager
def stopped_at(pages: int) -> Iterator[None]:
    """A backup that is interrupted after so many pages."""
    with pytest.raises(KeyboardInterrupt):
        yield


async def test_a_backup_that_is_interrupted_leaves_nothing(copies: Copies) -> None:
    world = copies.world("first")
    await world.submit()
    before = files(copies.folder)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with stopped_at(1):
        backup(copies.path("first"), copies.path("copy"), progress=stop)
    assert files(copies.folder) == before
    await world.store.settle([settlement(await world.claim_one())])
