"""A SQLite file that is deleted, moved or replaced while it is open: nobody is told that something was kept (I1)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ramet import App, Client, Context
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError, StoreMoved
from ramet.store.sqlite.session import closed_to_all

app = App()


@app.task("k", key=str)
async def k(ctx: Context, number: int) -> int:
    """Nothing."""
    return number


def delete(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replace(path: Path) -> None:
    shutil.copy(path, path.with_name("new.db"))
    path.with_name("new.db").replace(path)


def delete_the_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


WAYS = (delete, move, replace, delete_the_log)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "t.db") as client:
        await client.submit(k, 1)
        assert len((await client.tasks()).tasks) == 1
        yield client


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_acknowledged_that_nobody_would_find(
    client: Client, tmp_path: Path, way: Callable[[Path], None]
) -> None:
    way(tmp_path / "t.db")
    for _ in range(2):
        with pytest.raises(StoreMoved, match=r"t\.db was moved, deleted or replaced while it was open: nothing"):
            await client.submit(k, 2)
    with pytest.raises(StoreMoved):
        await client.tasks()
    with pytest.raises(StoreMoved):
        await client.store.sweep()


async def test_what_was_refused_is_not_in_the_file_that_took_the_place(client: Client, tmp_path: Path) -> None:
    backup(tmp_path / "t.db", tmp_path / "new.db")
    (tmp_path / "new.db").replace(tmp_path / "t.db")
    with pytest.raises(StoreMoved):
        await client.submit(k, 2)
    await client.close()
    with closing(sqlite3.connect(tmp_path / "t.db")) as file:
        assert file.execute("SELECT COUNT(*) FROM ramet_tasks").fetchone() == (1,)


async def test_a_program_that_goes_to_another_folder_keeps_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    async with app.client("t.db") as client:
        monkeypatch.chdir(tmp_path / "other")
        await client.submit(k, 1)
        assert len((await client.tasks()).tasks) == 1


async def test_a_restore_sees_a_program_that_only_submits(client: Client, tmp_path: Path) -> None:
    backup(tmp_path / "t.db", tmp_path / "copy.db")
    with pytest.raises(StoreError, match=rf"programs have .*t\.db open \(processes {os.getpid()}\): stop them first"):
        restore(tmp_path / "copy.db", tmp_path / "t.db", force=True)
    assert (await client.submit(k, 2)).created
    await client.close()
    restore(tmp_path / "copy.db", tmp_path / "t.db", force=True)
    async with app.client(tmp_path / "t.db") as again:
        assert len((await again.tasks()).tasks) == 1


async def test_who_opens_a_file_while_it_is_replaced_gets_the_new_one_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with app.client(path) as client:
        await client.submit(k, 1)
    backup(path, tmp_path / "copy.db")
    begun, opened = threading.Event(), list[str]()

    def submit() -> None:
        begun.set()
        with suppress(StoreError), app.sync_client(path) as other:  # It may have met the file that is about to go.
            opened.append(other.submit(k, 2).id)

    thread = threading.Thread(target=submit)
    with closed_to_all(path):
        thread.start()
        begun.wait()
        shutil.copy(tmp_path / "copy.db", tmp_path / "new.db")
        path.rename(tmp_path / "old.db")
        (tmp_path / "new.db").rename(path)
    thread.join()
    async with app.client(path) as again:
        held = {task.id for task in (await again.tasks()).tasks}
    assert set(opened) <= held
