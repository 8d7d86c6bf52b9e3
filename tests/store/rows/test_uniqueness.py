"""The last guard of a unique key: the upsert itself, whatever was read before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from ramet.store.errors import StoreError
from ramet.store.rows.keys import take
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock

Task = tuple[str, str, str, int, str]
FIRST: Task = ("key", "page", "t1", 1, "one")
SECOND: Task = ("key", "page", "t2", 2, "two")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "ramet.db", clock=SettableClock(1_000.0), inline=True)
    yield store
    await store.close()


async def holder(store: SqliteStore) -> list[tuple[str, float | None]]:
    return [(row[0], row[1]) for row in await store.read("SELECT holder, held_until FROM ramet_uniques")]


async def taken(store: SqliteStore, *tasks: Task) -> None:
    await store._write(partial(take, tasks=tasks))


async def test_a_key_that_a_live_task_holds_is_not_taken(store: SqliteStore) -> None:
    await taken(store, FIRST)
    with pytest.raises(StoreError, match="unique key was taken"):
        await taken(store, SECOND)
    assert await holder(store) == [("t1", None)]


@pytest.mark.parametrize(("held_until", "free"), [(1_000.5, False), (1_000.0, True), (10.0, True)])
async def test_a_key_is_taken_when_its_window_has_passed(store: SqliteStore, held_until: float, free: bool) -> None:
    await taken(store, FIRST)
    await store.ensure_tables([f"UPDATE ramet_uniques SET state = 'success', held_until = {held_until}"])
    if free:
        await taken(store, SECOND)
        assert await holder(store) == [("t2", None)]
    else:
        with pytest.raises(StoreError):
            await taken(store, SECOND)
        assert await holder(store) == [("t1", held_until)]


async def test_all_keys_are_taken_or_none(store: SqliteStore) -> None:
    await taken(store, FIRST)
    with pytest.raises(StoreError):
        await taken(store, ("other", "page", "t3", 3, "two"), SECOND)
    assert await holder(store) == [("t1", None)]
