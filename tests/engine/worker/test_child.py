"""Finding the app that a handler process runs; and what is said when it is not there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ramet import StoreError, StoreUncertain, StoreUnreachable
from ramet.engine.worker import child
from ramet.engine.worker.child import load_app, main
from ramet.store.processes.running_notes import new_notes
from tests.engine.apps import child_app


def test_an_app_is_found_by_module_and_attribute() -> None:
    assert load_app("tests.engine.apps.child_app:app") is child_app.app
    assert load_app("tests.engine.apps.child_app") is child_app.app


def test_the_former_names_of_the_products_modules_hold_for_one_release() -> None:
    from ramet.jobs.pipeline import app

    assert load_app("ramet.pipelines.jobs.pipeline:app") is app
    assert load_app("ramet.pipelines.jobs.pipeline") is app


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("own_ramet.pipelines.jobs:app", "no module 'own_ramet.pipelines.jobs': give the app as module:attribute"),
        ("tests.engine.nowhere:app", "no module 'tests.engine.nowhere': give the app as module:attribute"),
        ("nowhere.at.all", "no module 'nowhere.at.all': give the app as module:attribute"),
        (
            "tests.engine.apps.child_app:absent",
            "tests.engine.apps.child_app has no App named 'absent': give the app as",
        ),
        ("tests.engine.apps.child_app:not_an_app", "tests.engine.apps.child_app has no App named 'not_an_app'"),
        ("tests.engine.worker.test_child", "tests.engine.worker.test_child has no App named 'app'"),
        ("", "give the app as module:attribute"),
        (":app", "give the app as module:attribute"),
        ("..engine:app", "give the app as module:attribute"),
    ],
)
def test_a_target_that_is_no_app_is_refused_with_what_to_give(target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_app(target)


def test_an_error_inside_the_module_is_not_taken_for_a_missing_module(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="broken on purpose"):
        load_app("tests.engine.apps.broken_app")


def test_a_module_that_a_found_module_imports_is_named_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "absent_library_app.py").write_text("import absent_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'absent_library'"):
        load_app("absent_library_app:app")


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
