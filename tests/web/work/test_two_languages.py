"""Workers in TypeScript and Python on one database, both killed again and again: every answer is there, once."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from ramet import Client, Limits
from tests.crash.join_tree_app import answer, places
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.support.waiting import HANG_SECONDS, until
from tests.web.work.served import Program, serving
from tests.web.work.tree_app import app, ask

SEED = 27
ROOTS = ("r", "s", "t", "u")
"""Of four whole trees: 5,460 tasks."""
SMALL = ("r00", "r01", "r02")
"""Of three parts of one: 255 tasks."""
FEW = 40
"""Tasks that a lineage with a small budget may have."""


def worker_in_python(database: str, folder: Path) -> Program:
    words = ["worker", "tests.web.work.tree_app:app", "--db", database, "--concurrency", "4"]
    return Program([sys.executable, "-m", "ramet.cli", *words], folder)


async def ended(client: Client) -> int:
    return sum(count.tasks for count in await client.counts() if count.state == "success")


async def check(roots: tuple[str, ...], kills: int, backend: str, folder: Path) -> None:
    """Work off a tree for each root while workers are killed, and look at every promise."""
    place, chance = BACKENDS[backend](folder), random.Random(SEED)
    async with app.client(place.address) as client:
        made = [await client.submit(ask, root, tracking_id=root) for root in roots]
        tight = await client.submit(ask, "z00", tracking_id="tight", limits=Limits(max_tasks=FEW))
        total = sum(len(places(root)) for root in roots) + FEW
        with serving(place.address, folder) as origin:
            programs: dict[str, Program] = {}
            names = iter(range(1_000_000))

            def start(language: str) -> None:
                if language == "python":
                    programs[language] = worker_in_python(place.address, folder)
                else:
                    programs[language] = Program.of_node("tree_worker.ts", origin, f"ts-{next(names)}", folder)

            try:
                start("python")
                start("typescript")
                for number in range(1, kills + 1):
                    enough = total * number // (kills + 1)
                    await until(lambda wanted=enough: reached(client, wanted), f"{enough} ends")  # type: ignore[misc]
                    victim = chance.choice(sorted(programs))
                    programs[victim].kill()
                    start(victim)
                for root in (*roots, "tight"):
                    await client.wait_lineage(root, timeout_seconds=HANG_SECONDS * 10)
                assert programs["typescript"].stopped() == 0
                assert programs["typescript"].errors == ""
            finally:
                for program in programs.values():
                    program.kill()
        for root, task in zip(roots, made, strict=True):
            assert await client.result(task.id) == answer(root)
        assert (await client.result(tight.id)).count("(") == FEW
        [counted] = await client.counts()
        assert (counted.state, counted.tasks) == ("success", total)
        assert await violations(client.store) == []
        claims = "SELECT COUNT(*) FROM ramet_attempts WHERE worker {} LIKE 'remote:%'"
        for language, which in (("TypeScript", ""), ("Python", "NOT")):
            [[number]] = await client.read(claims.format(which))
            assert number > 0, f"nothing was done in {language}"
    place.close()


async def reached(client: Client, wanted: int) -> bool:
    return await ended(client) >= wanted


@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
async def test_two_languages_and_six_kills_leave_every_answer_once(backend: str, tmp_path: Path) -> None:
    await check(SMALL, 6, backend, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
async def test_two_languages_and_forty_kills_in_five_thousand_tasks(backend: str, tmp_path: Path) -> None:
    await check(ROOTS, 40, backend, tmp_path)
