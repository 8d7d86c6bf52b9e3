"""litequeue on SQLite: a queue without a worker, so the loop is ours, as its documentation shows it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from litequeue import LiteQueue

from benchmarks.peers.record import Record
from benchmarks.peers.role import SYNCHRONOUS, Job, Peer, children, handle, run

POLL_SECONDS = 0.005


class Litequeue(Peer):
    """pop, run, done; puts of a batch in one transaction."""

    packages = ("litequeue",)
    settings = "pop, run, done in a loop, polling after 5 ms; bulk: put in a transaction of 1,000"
    # 0 is ready, 1 is locked.
    unfinished = "SELECT EXISTS (SELECT 1 FROM Queue WHERE status = 0) OR EXISTS (SELECT 1 FROM Queue WHERE status = 1)"
    after_kill = "what a killed worker had stays locked until the program calls retry on it"

    async def prepare(self) -> None:
        LiteQueue(self.address)

    async def open(self) -> None:
        self.queue = LiteQueue(self.address, timeout=30)

    async def submit(self, jobs: Sequence[Job]) -> None:
        self._put(self.queue, jobs)

    @staticmethod
    def _put(queue: LiteQueue, jobs: Sequence[Job]) -> None:
        with queue.transaction():
            for job in jobs:
                queue.put(json.dumps({"task": job.task} | job.payload()))

    def work(self, record: Record) -> None:
        queue = LiteQueue(self.address, timeout=30)
        while True:
            message = queue.pop()
            if message is None:
                time.sleep(POLL_SECONDS)
                continue
            job = json.loads(message.data)
            if job["task"] == "noop":
                record.ran(job["number"])
            elif job["task"] == "tree":
                record.ran(job["number"])
                self._put(queue, children(job["number"], job["levels"]))
            else:
                handle(record, job["number"], job["seconds"])
            queue.done(message.message_id)

    async def durability(self) -> str:
        connection = LiteQueue(self.address).conn
        [journal] = connection.execute("PRAGMA journal_mode").fetchone()
        [synchronous] = connection.execute("PRAGMA synchronous").fetchone()
        return f"journal {journal}, synchronous {SYNCHRONOUS[synchronous]}"


if __name__ == "__main__":
    run(Litequeue)
