"""A store that is closed while somebody reads: the read ends first, and nothing is read after it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ramet.store.sqlite.store import SqliteStore
from tests.support.patience import HANG_SECONDS

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
