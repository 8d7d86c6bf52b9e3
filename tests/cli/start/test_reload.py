"""`ramet worker --reload` as a real process: changed source is run, nothing is lost, broken source is waited for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet.cli import reload
from ramet.cli.reload import SourceWatch
from tests.cli.conftest import Cli, Process
from tests.cli.start.test_worker import until

Start = Callable[..., Process]

WAITING = """
import asyncio
from pathlib import Path
from shop.app import app

FOLDER = Path({folder!r})

@app.task()
async def order(ctx):
    (FOLDER / "started").touch()
    while not (FOLDER / "release").exists():
        await asyncio.sleep(0.01)
    return {answer!r}
"""


class Shop:
    """A package with an app, its source changing; and its worker."""

    def __init__(self, cli: Cli, start: Start, folder: Path) -> None:
        self.cli, self.start, self.folder = cli, start, folder
        self.more = {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        for name in ("shop", "shop/tasks"):
            (folder / name).mkdir()
            (folder / name / "__init__.py").touch()
        (folder / "shop/app.py").write_text("from ramet import App\napp = App()\n")

    def write(self, text: str, name: str = "shop/tasks/orders.py") -> None:
        """Whole, so that no worker reads half of it."""
        early = self.folder / "early"
        early.write_text(text)
        early.replace(self.folder / name)

    def answer(self, answer: str) -> None:
        """From now on this is what its handler says."""
        self.write(WAITING.format(folder=str(self.folder), answer=answer))

    def submit(self, *words: str) -> Process:
        return self.start("submit", "shop", *words, **self.more)

    def worker(self, *words: str) -> Process:
        return self.start("worker", "shop", "--reload", *words, **self.more)

    def result(self) -> Any:
        [task] = self.cli.documents("tasks")
        [found] = self.cli.documents("explain", task["id"])
        return found["task"]


@pytest.fixture
def shop(cli: Cli, start: Start, tmp_path: Path) -> Shop:
    return Shop(cli, start, tmp_path)


def said(worker: Process, text: str, times: int) -> Callable[[], bool]:
    return lambda: sum(text in line for line in worker.lines["stderr"]) >= times


def serving(worker: Process, times: int) -> Callable[[], bool]:
    return said(worker, " serves ", times)


def test_a_change_drains_and_what_is_submitted_then_runs_the_new_source(shop: Shop) -> None:
    shop.answer("old")
    assert shop.submit("order").end() == 0
    worker = shop.worker()
    until((shop.folder / "started").exists, worker)
    shop.answer("changed")
    worker.wait_for("shop/tasks/orders.py changed: this worker begins again")
    assert not serving(worker, 2)(), "the handler still runs"
    (shop.folder / "release").touch()
    until(serving(worker, 2), worker)
    assert shop.result()["result"] == "old"
    done = shop.submit("order", "--wait", "--json")
    assert (done.end(), '"result": "changed"' in done.lines["stdout"][-1]) == (0, True), done.lines
    worker.send(signal.SIGTERM)
    assert worker.end() == 0


def test_a_second_change_stops_what_runs_and_it_runs_again_with_the_new_source(shop: Shop) -> None:
    shop.answer("old")
    assert shop.submit("order").end() == 0
    worker = shop.worker()
    until((shop.folder / "started").exists, worker)
    for version, answer in enumerate(("newer", "the newest"), start=1):
        shop.answer(answer)
        until(said(worker, "changed", version), worker)
    (shop.folder / "release").touch()
    until(lambda: shop.result()["state"] == "success", worker)
    task = shop.result()
    assert (task["result"], task["attempts"], task["losses"]) == ("the newest", 1, 0)
    worker.send(signal.SIGTERM)
    assert worker.end() == 0


def test_a_kind_in_a_new_file_is_served(shop: Shop) -> None:
    shop.answer("old")
    worker = shop.worker()
    until(serving(worker, 1), worker)
    shop.write("from shop.app import app\n\n@app.task()\nasync def letter(ctx):\n    pass\n", "shop/tasks/mail.py")
    worker.wait_for(" serves letter, order ")
    worker.send(signal.SIGTERM)
    assert worker.end() == 0


@pytest.mark.parametrize("broken", ["def order(:\n", "import absent_library\n"])
def test_a_source_that_cannot_be_loaded_is_one_line_and_waits_for_the_next_change(shop: Shop, broken: str) -> None:
    shop.answer("old")
    worker = shop.worker()
    until(serving(worker, 1), worker)
    shop.write(broken)
    worker.wait_for("ramet: cannot load shop: ")
    shop.answer("well")
    until(serving(worker, 2), worker)
    (shop.folder / "release").touch()
    done = shop.submit("order", "--wait", "--json")
    assert (done.end(), '"result": "well"' in done.lines["stdout"][-1]) == (0, True), done.lines
    worker.send(signal.SIGINT)
    assert worker.end() == 0
    assert not worker.said("Traceback")


def test_a_worker_that_was_asked_to_end_does_not_begin_again(shop: Shop) -> None:
    shop.answer("old")
    assert shop.submit("order").end() == 0
    worker = shop.worker()
    until((shop.folder / "started").exists, worker)
    worker.send(signal.SIGTERM)
    worker.wait_for("SIGTERM: draining")
    shop.answer("changed")
    worker.wait_for("changed: this worker begins again")
    (shop.folder / "release").touch()
    assert worker.end() == 0
    assert not serving(worker, 2)()


# --- what is watched --------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reload, "_loaded_folders", set)
    monkeypatch.setattr(reload, "LOOK_SECONDS", 0.0)
    yield tmp_path
    sys.modules.pop("lonely", None)


async def test_files_beside_a_single_module_are_watched_and_other_folders_are_not(project: Path) -> None:
    (project / "lonely.py").touch()
    (project / "data").mkdir()
    watch = SourceWatch("lonely:app")
    (project / "data" / "more.py").touch()
    (project / "notes.txt").touch()
    assert watch._look() == watch._seen
    (project / "beside.py").touch()
    await watch.changed()
    assert watch.due
    (project / "beside.py").unlink()
    await watch.changed()


async def test_a_change_while_the_app_is_loaded_is_not_missed(project: Path) -> None:
    (project / "lonely.py").write_text("old = 1\n")
    watch = SourceWatch("lonely")
    (project / "lonely.py").write_text("new = 22\n")
    (project / "beside.py").touch()
    watch.loaded()
    changed = {path.name for path, _ in watch._look().items() - watch._seen.items()}
    assert changed == {"lonely.py", "beside.py"}
    await watch.changed()


def test_what_is_installed_is_not_watched() -> None:
    folders = reload._loaded_folders()
    assert Path(reload.__file__).parent in folders
    assert not {Path(pytest.__file__).parent, Path(os.__file__).parent} & folders
