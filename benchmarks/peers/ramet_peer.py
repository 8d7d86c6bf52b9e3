"""ramet itself, through its public API and its command, on either database: only the address differs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from benchmarks.peers.ramet_app import Payload, app, effect, noop
from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, run

TARGET = "benchmarks.peers.ramet_app:app"
HANDLERS = {"noop": noop, "effect": effect}


class Ramet(Peer):
    """All promises on, every setting as it comes; lineages of 1,000, as the bulk of a submit."""

    packages = ("ramet",)
    settings = "`ramet worker APP --db ADDRESS`, all defaults; submit_many of 1,000 in one lineage"
    unfinished = "SELECT EXISTS (SELECT 1 FROM ramet_live)"
    after_kill = "at once on the machine that knows the process is dead, else when its lease ends; costs no attempt"

    async def prepare(self) -> None:
        async with app.client(self.address):
            pass

    async def open(self) -> None:
        self.client = app.client(self.address)

    async def submit(self, jobs: Sequence[Job]) -> None:
        if len(jobs) == 1:
            await self.client.submit(HANDLERS[jobs[0].task], Payload(**jobs[0].payload()))
            return
        wanted = ((HANDLERS[job.task], Payload(**job.payload())) for job in jobs)
        await self.client.submit_many(wanted, one_lineage=True)

    async def close(self) -> None:
        await self.client.close()

    def serve(self) -> None:
        worker = [sys.executable, "-m", "ramet.cli", "worker", TARGET, "--db", self.address, "--log-level", "error"]
        os.execv(sys.executable, worker)

    def work(self, record: Record) -> None:
        raise NotImplementedError("the handler process of `ramet worker` keeps the record")

    async def durability(self) -> str:
        return "" if "://" in self.address else "journal wal, synchronous FULL"


if __name__ == "__main__":
    run(Ramet)
