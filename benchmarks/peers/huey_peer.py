"""huey on SQLite."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from huey import SqliteHuey

from benchmarks.peers.record import Record
from benchmarks.peers.role import SYNCHRONOUS, Job, Peer, children, handle, run


class Huey(Peer):
    """As shipped; one thread, because each pop takes the whole database for itself."""

    packages = ("huey",)
    settings = "SqliteHuey as shipped, results off; 1 thread, polling after 5 ms"
    unfinished = "SELECT EXISTS (SELECT 1 FROM task)"
    after_kill = "a task is deleted when it is taken: what a killed worker had is lost"

    async def prepare(self) -> None:
        Path(self.address).parent.mkdir(parents=True, exist_ok=True)
        self._make(None)

    def _make(self, record: Record | None) -> None:
        self.queue = SqliteHuey(filename=self.address, results=False)

        def noop(number: int, seconds: float, text: str) -> None:
            assert record is not None
            record.ran(number)

        def effect(number: int, seconds: float, text: str) -> None:
            assert record is not None
            handle(record, number, seconds)

        def tree(number: int, levels: int, text: str) -> None:
            assert record is not None
            record.ran(number)
            for child in children(number, levels):
                self.tasks["tree"](**child.payload())

        self.tasks = {body.__name__: self.queue.task(name=body.__name__)(body) for body in (noop, effect, tree)}

    async def open(self) -> None:
        self._make(None)

    async def submit(self, jobs: Sequence[Job]) -> None:
        # It has no call for many, and no documented way to put several into one transaction.
        for job in jobs:
            self.tasks[job.task](**job.payload())

    def work(self, record: Record) -> None:
        self._make(record)
        logging.disable(logging.INFO)
        # The scheduler thread and periodic tasks are not needed here.
        self.queue.create_consumer(workers=1, initial_delay=0.005, max_delay=0.005, periodic=False).run()

    async def durability(self) -> str:
        self._make(None)
        connection = self.queue.storage.conn
        [journal] = connection.execute("PRAGMA journal_mode").fetchone()
        [synchronous] = connection.execute("PRAGMA synchronous").fetchone()
        return f"journal {journal}, synchronous {SYNCHRONOUS[synchronous]}"


if __name__ == "__main__":
    run(Huey)
