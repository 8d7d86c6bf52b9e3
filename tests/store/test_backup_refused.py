"""Copies that cannot be made: each is told in one line, and everything is left as it was."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ramet.store.backup import sqlite_file
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError, StoreMissing, StoreNewer
from ramet.store.sqlite.store import SqliteStore
from tests.store.test_backup import files


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A database that nobody has open."""
    path = tmp_path / "first.db"
    SqliteStore(path).close_now()
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Where the copy is to be."""
    return tmp_path / "copy.db"


def test_each_database_that_is_replaced_is_kept_under_a_name_of_its_own(first: Path, copy: Path) -> None:
    backup(first, copy)
    kept = [restore(copy, first, force=True).replaced for _ in range(3)]
    assert kept == [f"{first}.replaced{number}" for number in ("", "2", "3")]


def test_a_database_that_a_program_has_open_is_not_replaced(first: Path, copy: Path) -> None:
    """Not only one with workers: what a program that only submits was told later would be in no database."""
    backup(first, copy)
    store, before = SqliteStore(first), first.read_bytes()
    with pytest.raises(StoreError, match=rf"programs have {first} open \(processes {os.getpid()}\): stop them first"):
        restore(copy, first, force=True)
    assert first.read_bytes() == before
    assert {"first.db.replaced", ".first.db.part"}.isdisjoint(files(first.parent))
    store.close_now()
    assert restore(copy, first, force=True).replaced == f"{first}.replaced"


def test_a_database_that_cannot_be_read_is_replaced_and_kept_with_its_log(first: Path, copy: Path) -> None:
    backup(first, copy)
    first.write_bytes(b"no database" * 1_000)
    first.with_name("first.db-wal").write_bytes(b"a log")
    assert restore(copy, first, force=True).replaced == f"{first}.replaced"
    assert first.with_name("first.db.replaced-wal").read_bytes() == b"a log"


def empty(path: Path) -> None:
    path.write_bytes(b"")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE ramet_counters SET value = 99 WHERE name IN ('schema', 'compatible_from')")
        connection.commit()


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (empty, StoreMissing, "is not a ramet database: give the right path"),
        (newer, StoreNewer, "upgrade ramet to open"),
    ],
)
def test_only_a_database_of_ours_that_is_not_newer_is_copied(
    first: Path, copy: Path, change: Callable[[Path], None], error: type[StoreError], said: str
) -> None:
    change(first)
    with pytest.raises(error, match=said):
        backup(first, copy)
    assert not copy.exists()


def test_a_folder_that_was_given_for_a_database_is_told_as_that(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(StoreError, match=f"cannot open {tmp_path}"):
        backup(tmp_path, copy)
    assert files(tmp_path) == []


def test_an_address_that_is_no_file_is_refused(copy: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read the database address mysql://.*: give a file or postgresql://"):
        backup("mysql://db/x", copy)


def test_a_folder_in_which_nothing_can_be_made_is_named(
    first: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, flags: int, mode: int = 0o777) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StoreError, match=f"cannot write in {copy.parent}: No space left on device"):
        backup(first, copy)


def disk_is_full(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def test_a_disk_that_fills_while_the_copy_is_made_leaves_nothing(
    first: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="is full"):
        backup(first, copy, progress=disk_is_full)
    monkeypatch.setattr(sqlite_file, "finish", disk_is_full)
    with pytest.raises(StoreError, match="is full"):
        backup(first, copy)
    assert files(first.parent) == ["first.db"]


def test_a_file_that_comes_while_the_copy_is_made_is_left_alone(first: Path, copy: Path) -> None:
    def come(done: int, total: int) -> None:
        copy.write_text("mine", encoding="ascii")

    with pytest.raises(StoreError, match=r"copy\.db exists: give another path"):
        backup(first, copy, progress=come)
    assert copy.read_text(encoding="ascii") == "mine"
    assert files(first.parent) == ["copy.db", "first.db"]


def test_where_files_have_one_name_only_the_copy_is_renamed(
    first: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on FAT. What came meanwhile is left alone there, too."""
    comes = [False, True]

    def no_links(part: Path, target: Path) -> None:
        if comes.pop(0):
            target.write_text("mine", encoding="ascii")
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    backup(first, copy)
    SqliteStore(copy, create=False).close_now()
    second = copy.with_name("second.db")
    with pytest.raises(PermissionError):
        backup(first, second)
    assert second.read_text(encoding="ascii") == "mine"
