"""kill -9, again and again, of the worker and of its handler process: nothing is lost and nothing is done twice."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from ramet import Client
from tests.crash.crash_app import app, submit_lineage
from tests.crash.process import WorkerProcess
from tests.crash.promises import assert_promises_hold
from tests.support.waiting import until

EFFECTS_BETWEEN_KILLS_MAX = 28
BUDGET = 25
SEED = int(os.environ.get("RAMET_CRASH_SEED", "20260101"))


class Round:
    """A run that is killed at seeded moments of its progress."""

    def __init__(self, client: Client, database: Path, seed: int) -> None:
        self.client = client
        self.rng = random.Random(seed)
        self.database = database
        self.roots: dict[str, str] = {}
        self.budgets: dict[str, int] = {}
        self.worker: WorkerProcess | None = None
        self.killed = {"worker": 0, "child": 0}

    async def submit(self) -> None:
        """One more lineage, also while nobody works; every third with less budget than it would use."""
        name = f"lineage-{len(self.roots)}"
        if len(self.roots) % 3 == 0:
            self.budgets[name] = BUDGET
        self.roots[name] = await submit_lineage(self.client, name, max_tasks=self.budgets.get(name))

    async def progress(self) -> int:
        [(count,)] = await self.client.read("SELECT COUNT(*) FROM crash_log")
        return int(count)

    async def kill_after(self, effects: int, victim: str) -> None:
        """Let the run come so far, then kill without a warning."""
        self.worker = self.worker or WorkerProcess(self.database, "--concurrency", "4")
        worker, target = self.worker, await self.progress() + effects

        async def far_enough() -> bool:
            assert not worker.ended, f"the worker ended by itself:\n{worker.log}"
            return await self.progress() >= target

        await until(far_enough, f"{effects} more effects")
        if victim == "worker":
            worker.kill()
            self.worker = None
        else:
            worker.kill_child()
        self.killed[victim] += 1

    async def finish(self) -> str:
        """Run to the end; what the last worker said."""
        if self.worker is not None:
            self.worker.kill()
        self.worker = WorkerProcess(self.database, "--concurrency", "4", "--until-idle")
        assert self.worker.code() == 0, self.worker.log
        return self.worker.log

    def end(self) -> None:
        if self.worker is not None:
            self.worker.end_whatever_it_does()


@pytest.mark.parametrize(
    ("kills", "seed"),
    [
        pytest.param(6, SEED, id="6 kills"),
        pytest.param(50, SEED + 1, id="50 kills", marks=[pytest.mark.nightly, pytest.mark.timeout(900)]),
    ],
)
async def test_every_promise_holds_after_any_number_of_kills(tmp_path: Path, kills: int, seed: int) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        run = Round(client, tmp_path / "ramet.db", seed)
        victims = ["worker", "child"] * (kills // 2)
        run.rng.shuffle(victims)
        try:
            for number, victim in enumerate(victims):
                while len(run.roots) < 2 + number // 2:
                    await run.submit()
                await run.kill_after(run.rng.randint(1, EFFECTS_BETWEEN_KILLS_MAX), victim)
            await run.submit()
            await run.finish()
        finally:
            run.end()
        assert run.killed == {"worker": kills // 2, "child": kills // 2}
        await assert_promises_hold(client, run.roots, run.budgets)
        lost = await client.read("SELECT COUNT(*) FROM ramet_attempts WHERE outcome = 'lost'")
        assert lost[0][0] > 0, "no kill hit a running task: nothing was shown"
