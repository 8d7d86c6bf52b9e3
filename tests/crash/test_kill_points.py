"""kill -9 at every point of the engine's work: nothing is lost, nothing is done twice, and the rest goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import Client
from tests.crash.crash_app import app, submit_lineage
from tests.crash.kill_points import FOLDER, POINT, Point, seen
from tests.crash.process import IMPORTS, PROJECT, WorkerProcess
from tests.crash.promises import assert_promises_hold
from tests.support.waiting import until_now

FIRST = Point("worker", "frame run", "after")
"""Where a worker dies before one whose points of recovery are looked for."""
STARTING = Point("child", "frame ready", "before")
SAMPLE = (
    Point("worker", "COMMIT", "after"),
    Point("child", "frame done", "before"),
    Point("client", "COMMIT", "after"),
)
PARTS = 12
LATE = 4
"""The occurrence at which, beside the first, a process dies in the full set."""


class Reached(NamedTuple):
    """Every point that there is."""

    fresh: list[Point]
    recovering: list[Point]
    """Those that only a worker comes to that finds what a dead one left."""
    client: list[Point]


def new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def environment(folder: Path, point: Point | None, occurrence: int = 1) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    told = "" if point is None else "|".join((*point, str(occurrence)))
    return {FOLDER: str(folder), POINT: told}


def work(database: Path, folder: Path, point: Point | None, occurrence: int = 1) -> bool:
    """A worker until everything is done, or until its death; whether it died there."""
    worker = WorkerProcess(
        database, "--concurrency", "4", "--until-idle", app="tests.crash.kill_app:app",
        environment=environment(folder, point, occurrence),
    )  # fmt: skip
    try:
        until_now(lambda: worker.ended, "the end of the worker")
        died = (folder / "died").exists()
        expected = {0}
        if died and point is not None and point.role == "worker":
            expected = {-signal.SIGKILL}
        elif died and point == STARTING:
            expected = {0, 2}  # A worker whose very first handler process cannot start says so and ends.
        assert worker.code() in expected, worker.log
        return died
    finally:
        worker.end_whatever_it_does()


def submit(database: Path, folder: Path, name: str, point: Point | None, occurrence: int = 1) -> str:
    """In a process of its own; what it said before it died or ended."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.submitting", str(database), name], cwd=PROJECT, check=False, text=True,
        env={**os.environ, "PYTHONPATH": IMPORTS, **environment(folder, point, occurrence)}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == (-signal.SIGKILL if (folder / "died").exists() else 0), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Reached:
    """What processes that nobody kills come to, and a worker after one that was killed."""
    folder = tmp_path_factory.mktemp("reached")
    database = folder / "ramet.db"
    submit(database, folder / "submitting", "a", None)
    assert not work(database, folder / "fresh", None)
    submit(database, folder / "again", "b", None)
    assert work(database, folder / "dying", FIRST)
    assert not work(database, folder / "recovering", None)
    fresh, client = seen(folder / "fresh"), seen(folder / "submitting")
    return Reached(fresh, [point for point in seen(folder / "recovering") if point not in fresh], client)


async def survive(folder: Path, point: Point, *, recovering: bool = False, occurrence: int = 1) -> bool:
    """Die there, and let others go on; False when this run never came there so often."""
    database = new_folder(folder) / "ramet.db"
    acknowledged: str | None = None
    if point.role == "client":
        acknowledged = submit(database, folder / "dead", "a", point, occurrence) or None
    async with app.client(database) as client:
        roots = {name: await submit_lineage(client, name) for name in ("a", "b")}
        assert acknowledged in (None, roots["a"]), "an acknowledged task is another one now"
        if recovering:
            assert work(database, folder / "before", FIRST)
        died = (folder / "dead" / "died").exists() or work(database, folder / "dead", point, occurrence)
        work(database, folder / "after", None)
        await assert_promises_hold(client, roots, {})
        await nobody_is_blamed(client)
    return died


async def nobody_is_blamed(client: Client) -> None:
    """A death costs nobody an attempt: what failed once by itself is all that failed."""
    errors = await client.read("SELECT COUNT(*) FROM ramet_attempts WHERE outcome = 'error' AND error NOT LIKE '%once'")
    assert errors == [(0,)]


@pytest.mark.parametrize("point", SAMPLE, ids=" ".join)
async def test_a_death_at_a_point_loses_nothing(point: Point, tmp_path: Path) -> None:
    assert await survive(tmp_path / "run", point), "nobody came to this point"


@pytest.mark.nightly
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("part", range(PARTS))
async def test_a_death_at_any_point_loses_nothing(part: int, reached: Reached, tmp_path: Path) -> None:
    everything = [(point, False) for point in (*reached.client, *reached.fresh)]
    everything += [(point, True) for point in reached.recovering]
    for number, (point, recovering) in list(enumerate(everything))[part::PARTS]:
        early = await survive(tmp_path / f"early-{number}", point, recovering=recovering)
        # Which of several statements a busy moment needs is chance; those that open and close everything are not.
        always = point.name.startswith(("BEGIN", "COMMIT", "frame"))
        assert early or not always, f"nobody came to {point}"
        if always and point.role != "client":
            await survive(tmp_path / f"late-{number}", point, recovering=recovering, occurrence=LATE)


@pytest.mark.nightly
def test_the_points_are_all_that_the_engine_does(reached: Reached) -> None:
    names = {(point.role, point.name.split(" (")[0]) for point in (*reached.fresh, *reached.recovering)}
    for beginning in (
        "BEGIN IMMEDIATE", "COMMIT", "SAVEPOINT", "RELEASE", "INSERT INTO ramet_live", "DELETE FROM ramet_live",
        "INSERT INTO ramet_attempts", "INSERT INTO ramet_tasks", "UPDATE ramet_tasks SET state",
        "UPDATE ramet_live SET", "frame run",
    ):  # fmt: skip
        assert any(role == "worker" and name.startswith(beginning) for role, name in names), beginning
    assert {"frame ready", "frame done", "frame call"} <= {name for role, name in names if role == "child"}
    assert {when for _, _, when in reached.fresh} == {"before", "after"}
    assert len(reached.fresh) > 80
    assert reached.recovering
