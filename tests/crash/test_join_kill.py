"""kill -9 in the middle of a tree of joins: each round is joined once, and the answers are those of a quiet run."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.crash.join_tree_app import KILLS, LEVELS, TASKS, answer, app, ask, places
from tests.crash.process import WorkerProcess
from tests.crash.test_kill import SEED
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.support.waiting import get


def put_points(folder: Path, rng: random.Random, count: int) -> None:
    """Choose runs of tasks, first ones and those after a join, that end their process or its supervisor."""
    every = places()
    joining = [place for place in every if len(place) <= LEVELS]
    runs = [f"{place}-0" for place in rng.sample(every, count // 2)]
    runs += [f"{place}-1" for place in rng.sample(joining, count - count // 2)]
    folder.mkdir()
    for number, run in enumerate(runs):
        (folder / run).write_text("supervisor" if number % 2 else "handler process")


@pytest.mark.parametrize("slots", [4, 1])
@pytest.mark.parametrize("backend", [pytest.param("postgres", marks=pytest.mark.server), "sqlite"])
async def test_a_tree_of_joins_that_is_killed_ten_times_has_all_answers(
    backend: str, slots: int, tmp_path: Path
) -> None:
    place, points = BACKENDS[backend](tmp_path), tmp_path / "points"
    put_points(points, random.Random(SEED + slots), 10)
    async with app.client(place.address) as client:
        root = await client.submit(ask, "r")
        codes: list[int] = []
        while not codes or codes[-1]:
            worker = WorkerProcess(
                place.address, "--concurrency", str(slots), "--until-idle", app="tests.crash.join_tree_app:app",
                environment={KILLS: str(points)}, folder=tmp_path,
            )  # fmt: skip
            try:
                codes.append(worker.code())
            finally:
                worker.end_whatever_it_does()
            assert codes[-1] in {0, -signal.SIGKILL}, worker.log
        assert len(codes) > 1, "no supervisor was killed"
        assert [*points.iterdir()] == []
        assert (await get(client, root.id)).result == answer()
        [counted] = await client.counts()
        assert (counted.state, counted.tasks) == ("success", TASKS)
        assert await violations(client.store) == []
        [[lost]] = await client.read("SELECT COUNT(*) FROM ramet_attempts WHERE outcome = 'lost'")
        assert lost >= 10
    place.close()
