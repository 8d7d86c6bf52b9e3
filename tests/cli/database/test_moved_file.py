"""A worker whose SQLite file is gone, replaced or unreadable ends with one line and status 2."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import APP, Cli, Process
from tests.store.sqlite.test_moved_file import delete, move, replace
from tests.support.waiting import until

pytestmark = pytest.mark.process


def damage(path: Path) -> None:
    """Write over everything but the header, and take away what is in the log."""
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (path.stat().st_size - 100))
    os.truncate(f"{path}-wal", 0)


def wait_until(there: Callable[[], bool], what: str) -> None:
    """Until another process has made a file."""
    asyncio.run(until(there, what))


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (delete, "was moved, deleted or replaced while it was open"),
        (move, "was moved, deleted or replaced while it was open"),
        (replace, "was moved, deleted or replaced while it was open"),
        (damage, "is not a readable SQLite database"),
    ],
)
@pytest.mark.parametrize("how", ["busy", "idle"])
def test_a_worker_that_lost_its_database_ends_with_one_line(
    cli: Cli, start: Callable[..., Process], way: Callable[[Path], None], said: str, how: str
) -> None:
    started = cli.database.with_name("started")
    if how == "busy":
        cli.submit("wait", {"started": str(started), "release": str(cli.database.with_name("release"))})
    else:
        cli.submit("node", {"name": "a"})
    worker = start("worker", APP)
    worker.wait_for("serves")
    if how == "busy":
        wait_until(started.exists, "the handler runs")
    way(cli.database)
    assert worker.end() == 2
    [line] = [line for line in worker.lines["stderr"] if line.startswith("ramet: ")]
    assert said in line


def test_sigterm_ends_a_worker_whose_database_is_malformed(cli: Cli, start: Callable[..., Process]) -> None:
    cli.submit("node", {"name": "a"})
    worker = start("worker", APP)
    worker.wait_for("serves")
    damage(cli.database)
    worker.send(signal.SIGTERM)
    assert worker.end() in (0, 2)
