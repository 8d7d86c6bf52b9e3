"""The mixed load, of ramet alone: what a plain drain leaves out. Two versions of ramet do it in the same run.

Payloads and results of 1 KB; one of twenty tasks fails for good, so that nothing waits for another attempt; one of ten
spawns a task; all use one resource, which is counted and never holds them back.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from benchmarks.peers.ramet_app import record
from benchmarks.peers.ramet_peer import Ramet, main
from benchmarks.peers.role import Job
from ramet import App, Context, Limits, Permanent

FAILS_OF, SPAWNS_OF = 20, 10
TEXT = "x" * 1_000
SPAWNED_FROM = 1_000_000
"""Numbers of the tasks that others spawned: they spawn nothing, and succeed."""

app = App(limits=Limits(max_tasks=2_000_000, max_fan_out=2_000_000))
app.resource("bench", concurrency=10_000)


class Payload(BaseModel):
    """About 1 KB."""

    number: int
    text: str = TEXT


@app.task("bench.mixed", key=lambda payload: str(payload.number), resource="bench")
async def mixed(context: Context, payload: Payload) -> str:
    """Fail, spawn, or just return 1 KB."""
    record().ran(payload.number)
    if payload.number < SPAWNED_FROM:
        if payload.number % FAILS_OF == 0:
            raise Permanent("one of twenty")
        if payload.number % SPAWNS_OF == 1:
            context.spawn(mixed, Payload(number=SPAWNED_FROM + payload.number))
    return TEXT


@app.at_end
def ended() -> None:
    """The worker has drained."""
    record().write()


class Mixed(Ramet):
    """The same worker, with the app above."""

    app = app
    target = "benchmarks.peers.ramet_mixed:app"

    async def submit(self, jobs: Sequence[Job]) -> None:
        await self.client.submit_many(((mixed, Payload(number=job.number)) for job in jobs), one_lineage=True)


if __name__ == "__main__":
    main(Mixed)
