"""ramet itself, through its public API and its command, on either database: only the address differs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ramet
from benchmarks.peers.ramet_app import Branch, Payload, app, effect, noop, tree
from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, run

HANDLERS: dict[str, tuple[Any, type[Payload] | type[Branch]]] = {
    "noop": (noop, Payload),
    "effect": (effect, Payload),
    "tree": (tree, Branch),
}
SOURCE = "BENCH_SOURCE"
"""The environment variable that names the folder whose ramet is meant: of two checkouts, each is to be itself."""


class Ramet(Peer):
    """All promises on, every setting as it comes; lineages of 1,000, as the bulk of a submit."""

    packages = ("ramet",)
    settings = "`ramet worker APP --db ADDRESS`, all defaults; submit_many of 1,000 in one lineage"
    unfinished = "SELECT EXISTS (SELECT 1 FROM ramet_live)"
    after_kill = "at once on the machine that knows the process is dead, else when its lease ends; costs no attempt"

    app = app
    target = "benchmarks.peers.ramet_app:app"

    async def prepare(self) -> None:
        async with self.app.client(self.address):
            pass

    async def open(self) -> None:
        self.client = self.app.client(self.address)

    async def submit(self, jobs: Sequence[Job]) -> None:
        handler, model = HANDLERS[jobs[0].task]
        if len(jobs) == 1:
            await self.client.submit(handler, model(**jobs[0].payload()))
            return
        wanted = ((handler, model(**job.payload())) for job in jobs)
        await self.client.submit_many(wanted, one_lineage=True)

    async def close(self) -> None:
        await self.client.close()

    def serve(self) -> None:
        worker = [
            sys.executable,
            "-m",
            "ramet.cli",
            "worker",
            self.target,
            "--db",
            self.address,
            "--log-level",
            "error",
        ]
        os.execv(sys.executable, worker)

    def work(self, record: Record) -> None:
        raise NotImplementedError("the handler process of `ramet worker` keeps the record")

    async def durability(self) -> str:
        return "" if "://" in self.address else "journal wal, synchronous FULL"


def main(peer: type[Ramet]) -> None:
    """Do what the command line asks, with the ramet that is meant."""
    if not Path(ramet.__file__).is_relative_to(os.environ[SOURCE]):
        sys.exit(f"this is ramet of {ramet.__file__}, and that of {os.environ[SOURCE]} was meant")
    run(peer)


if __name__ == "__main__":
    main(Ramet)
