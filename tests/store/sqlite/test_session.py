"""A transaction on a SQLite connection."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ramet.store.errors import StoreError
from ramet.store.sqlite.session import ROWS_WORTH_LOOKING_AT, SqliteSession, connect, store_error
from ramet.store.sqlite.store import SqliteStore
from tests.support.waiting import HANG_SECONDS

MANY = ROWS_WORTH_LOOKING_AT


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SqliteSession]:
    connection = connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d)")
    session = SqliteSession(connection, lambda: 0.0)
    session.begin(write=True)
    yield session
    session.close()


COLUMNS = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "rows",
    [
        [(n, None, "c", None) for n in range(MANY)],
        [(n, None, None, None) for n in range(MANY)],
        [(n, None, "c", None) for n in range(MANY - 1)] + [(MANY, "b", "c", None)],
        [(n, None, "c", None) for n in range(MANY - 1)],
        [(n, None, "c", "d") for n in range(MANY)],
    ],
    ids=["all", "all-but-one", "not-in-every-row", "few-rows", "one-null"],
)
def test_rows_arrive_as_they_are_whether_their_nulls_are_bound_or_written_out(
    session: SqliteSession, rows: list[tuple[Any, ...]]
) -> None:
    assert session.insert("t", COLUMNS, rows) == len(rows)
    assert session.rows("SELECT a, b, c, d FROM t ORDER BY a") == rows
    assert session.update("t", ("b", "c", "d"), ("a",), [(None, None, 5, n) for n in range(MANY)])
    assert session.rows("SELECT b, c, d FROM t WHERE a = 0") == [(None, None, 5)]


def test_a_statement_whose_nulls_were_written_out_counts_the_rows_it_changed(session: SqliteSession) -> None:
    session.insert("t", COLUMNS, [(n, "b", "c", "d") for n in range(MANY)])
    changed = session.update("t", ("b", "c", "d"), ("a",), [(None, None, "d", n * 2) for n in range(MANY)])
    assert changed == len([n for n in range(MANY) if n * 2 < MANY])


def test_a_sqlite_that_is_too_old_is_refused_before_the_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"is too old: ramet needs 3\.37"):
        connect(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_an_error_about_a_folder_that_is_gone_is_told_all_the_same(tmp_path: Path) -> None:
    """Whether the disk is full cannot be asked there."""
    path = tmp_path / "gone" / "a.db"
    told = store_error(sqlite3.OperationalError("unable to open database file"), path)
    assert str(told) == f"cannot open {path}: check that its folder exists and is writable"


def test_an_error_of_the_disk_in_a_folder_that_is_gone_is_no_full_disk(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_WRITE"
    path = tmp_path / "gone" / "a.db"
    assert str(store_error(error, path)) == f"{path}: disk I/O error"


READ = "SELECT 41 + 1"


class Turnstile:
    """A lock; whoever asks for it lets the read go on."""

    def __init__(self, lock: Any, go: threading.Event) -> None:
        self._lock, self._go = lock, go

    def __enter__(self) -> None:
        self._go.set()
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


async def test_a_read_that_nobody_waits_for_any_more_ends_before_its_connection_is_closed(tmp_path: Path) -> None:
    began, go, order = threading.Event(), threading.Event(), list[str]()

    def hook(when: str, sql: str) -> None:
        if sql == READ:
            began.set()
            assert go.wait(HANG_SECONDS)
            order.append(f"{when} the read")

    store = SqliteStore(tmp_path / "ramet.db", hook=hook)
    reading = asyncio.create_task(store.read(READ))
    assert await asyncio.to_thread(began.wait, 30)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    store._reading = Turnstile(store._reading, go)  # type: ignore[assignment]
    await asyncio.to_thread(store.close_now)
    order.append("closed")
    go.set()
    assert order == ["before the read", "after the read", "closed"]
