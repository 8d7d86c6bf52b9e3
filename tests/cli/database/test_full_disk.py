"""A full disk under real commands and workers: one line and status 2, or a pause with its reason, and then on."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ramet.testing.postgres_server.server import connect
from tests.cli.conftest import APP, Cli, Process
from tests.postgres.full_disk import small_tables
from tests.store.sqlite.test_full_disk import Disk, small_disk
from tests.support.waiting import until_now


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder) as disk:
        yield disk


def on(disk: Disk, cli: Cli) -> Cli:
    """The command line on a database of that disk, with a few tasks in it."""
    cli.database = disk.folder / "tasks.db"
    cli.address = str(cli.database)
    for number in range(5):
        cli.submit("node", {"name": f"n{number}", "depth": 2, "width": 6})
    return cli


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


READS = [
    ("status",),
    ("audit-log",),
    ("settings", "list"),
    ("schedule", "list"),
    ("prune", "--older-than", "1d", "--dry-run"),
]
WRITES = [
    ("submit", APP, "node", json.dumps({"name": "x" * 200_000})),
    ("backup", "{folder}/copy.db"),
]


def test_every_command_ends_with_its_answer_or_with_one_line(disk: Disk, cli: Cli) -> None:
    on(disk, cli)
    before = len(cli.documents("status"))
    disk.fill()
    for words in READS:
        result = cli.run(*words)
        if result.exit_code:  # without room for its index, a log cannot even be read
            assert (result.exit_code, result.stdout) == (2, "")
            assert "full: free some space" in result.stderr
            assert len(result.stderr.splitlines()) == 1
    for words in WRITES:
        said = cli.bad(*(word.format(folder=disk.folder) if word.startswith("{folder") else word for word in words))
        assert "full: free some space" in said
    assert sorted(path.name for path in disk.folder.glob("*copy*")) == []
    disk.free()
    assert len(cli.documents("status")) == before
    assert integrity(cli.database) == "ok"


@pytest.mark.usefixtures("all_extras")
def test_a_worker_whose_disk_fills_up_says_so_waits_and_goes_on_when_there_is_room(
    disk: Disk, cli: Cli, start: Callable[..., Process], tmp_path: Path
) -> None:
    on(disk, cli)
    worker = start("worker", APP)
    started, release = tmp_path / "started", tmp_path / "release"
    task_id, _ = cli.submit("wait", {"started": str(started), "release": str(release)})
    until_now(started.exists, "the handler runs")
    until_now(lambda: counts(cli) == {"processing": 1}, "everything else is done")
    disk.fill()
    release.touch()
    worker.wait_for("could not settle: the disk with")
    assert worker.process.poll() is None
    disk.free()
    until_now(lambda: cli.documents("explain", task_id)[0]["task"]["state"] == "success", "the result is stored")
    worker.send(signal.SIGTERM)
    assert worker.end() == 0, worker.lines
    findings = [json.loads(line) for line in cli.run("doctor", "--json").stdout.splitlines()]
    assert [finding["check"] for finding in findings] == ["room"]
    assert integrity(cli.database) == "ok"


@pytest.fixture
def servers_disk(cli: Cli) -> Iterator[Disk]:
    """That of a PostgreSQL database, which the command line is on."""
    with small_tables() as (disk, _, url):
        cli.address = url
        yield disk


@pytest.mark.server
def test_a_worker_whose_server_runs_out_of_disk_says_so_waits_and_goes_on_when_there_is_room(
    servers_disk: Disk, cli: Cli, start: Callable[..., Process]
) -> None:
    cli.submit("node", {"name": "n", "depth": 3, "width": 6})
    servers_disk.fill()
    said = cli.bad("submit", APP, "node", json.dumps({"name": "x" * 200_000}))
    assert "full: free some space" in said
    worker = start("worker", APP, "--until-idle")
    worker.wait_for("the disk of")
    assert worker.process.poll() is None
    servers_disk.free()
    assert worker.end() == 0, worker.lines
    with connect(cli.address) as connection:
        found = connection.execute("SELECT state, tasks, live FROM ramet_lineages").fetchall()
    assert found == [("finished", sum(6**level for level in range(4)), 0)]


def counts(cli: Cli) -> dict[str, int]:
    """Live tasks by state."""
    connection = sqlite3.connect(cli.database)
    try:
        return dict(connection.execute("SELECT state, COUNT(*) FROM ramet_live GROUP BY state"))
    finally:
        connection.close()


def test_a_worker_that_starts_on_a_full_disk_ends_with_one_line(
    disk: Disk, cli: Cli, start: Callable[..., Process]
) -> None:
    on(disk, cli)
    disk.fill()
    worker = start("worker", APP, "--until-idle")
    assert worker.end() == 2
    assert len(worker.lines["stderr"]) == 1
    assert "is full: free some space" in worker.lines["stderr"][0]
    disk.free()
    cli.work()
    assert counts(cli) == {}
    assert integrity(cli.database) == "ok"
