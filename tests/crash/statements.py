"""Crash a few verbs at every one of their statements, one run per statement."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock


class Crash(BaseException):
    """The end of the process. Nothing may catch it."""


class Ticking(NamedTuple):
    """A store that dies at one of its statements, and its clock."""

    store: SqliteStore
    clock: SettableClock


class Fuse:
    """Counts statements and burns through before or after one of them."""

    def __init__(self) -> None:
        self.count = 0
        self.at: int | None = None
        self.dead = False

    def __call__(self, when: str, sql: str) -> None:
        if self.dead:
            raise Crash("nothing runs in a dead process")
        self.count += 1
        if self.count == self.at:
            self.dead = True
            raise Crash(f"{when} {sql}")


async def crash_everywhere(
    folder: Path,
    prepare: Callable[[Ticking], Awaitable[None]],
    act: Callable[[Ticking], Awaitable[None]],
    check: Callable[[Ticking], Awaitable[None]],
) -> int:
    """Prepare a database, crash ``act`` at its first statement, open the file again, act once more and check; then the
    same with a crash at the second statement, and so on to the last. Returns how many places there were.

    It is prepared once: each crash has a copy of the file.
    """
    began = SettableClock()
    whole = Ticking(SqliteStore(folder / "whole.db", clock=began, inline=True), began)
    await prepare(whole)
    whole.store.close_now()
    for place in _count_up():
        path = folder / f"crash{place}.db"
        shutil.copy(folder / "whole.db", path)
        clock = SettableClock(began.now)
        fuse = Fuse()
        store = SqliteStore(path, clock=clock, inline=True, hook=fuse)
        fuse.count, fuse.at = 0, place
        try:
            await act(Ticking(store, clock))
        except Crash:
            _die(store)
        again = Ticking(SqliteStore(path, clock=clock, inline=True), clock)
        await act(again)
        await check(again)
        again.store.close_now()
        if not fuse.dead:
            store.close_now()
            return place - 1
    raise AssertionError("unreachable")


def _count_up() -> Iterator[int]:
    place = 0
    while True:
        place += 1
        yield place


def _die(store: SqliteStore) -> None:
    """What the operating system does: the connection goes, with whatever transaction it had."""
    connection: sqlite3.Connection = store._connection
    connection.close()
