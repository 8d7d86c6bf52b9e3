"""The handler process: what it says when its app cannot be loaded, and how errors reach a handler."""

from __future__ import annotations

import asyncio
import os

import pytest

from ramet import StoreError, StoreUncertain, StoreUnreachable
from ramet.engine.worker import child
from ramet.engine.worker.child import main
from ramet.store.processes.running_notes import new_notes
from tests.engine.apps import child_app


def test_the_process_says_in_one_line_why_it_cannot_begin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_leave_signals_to_the_supervisor", lambda: None)
    monkeypatch.setattr(child, "_die_with_the_supervisor", lambda: None)
    for target, why in (
        ("tests.engine.apps.broken_app:app", "RuntimeError: this module is broken on purpose"),
        ("tests.engine.nowhere:app", "ValueError: no module 'tests.engine.nowhere': give the app as module:attribute"),
    ):
        assert main([target, "0", "0", "1", "300.0"]) == 2
        assert capsys.readouterr().err == f"ramet: cannot load {target}: {why}\n"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ("StoreUnreachable: no answer", StoreUnreachable("no answer")),
        ("StoreUncertain: who knows: it", StoreUncertain("who knows: it")),
        ("StoreFull: the disk is full", StoreError("StoreFull: the disk is full")),
        ("no colon", StoreError("no colon")),
    ],
)
async def test_a_handler_can_tell_a_database_that_is_away_from_one_that_refused(told: str, error: StoreError) -> None:
    slots, handle = new_notes(None, "w", 1)
    desk = child._Supervised(Silent(), child_app.app, slots)  # type: ignore[arg-type]
    asked = asyncio.create_task(desk.ask("reserve"))
    await asyncio.sleep(0)
    desk.failed(1, told)
    with pytest.raises(type(error)) as caught:
        await asked
    assert (type(caught.value), str(caught.value)) == (type(error), str(error))
    slots.remove()
    os.close(handle)


class Silent:
    """A way to the supervisor that leads nowhere."""

    def __init__(self) -> None:
        self.transport = self

    def write(self, data: bytes) -> None: ...

    def set_write_buffer_limits(self, high: int) -> None: ...
