"""The mixed load, of ramet alone: what a plain drain leaves out. Two versions of ramet do it in the same run.

Payloads and results of 1 KB; one of twenty tasks fails for good, so that nothing waits for another attempt; one of ten
spawns a task; all use one resource, which is counted and never holds them back. Lineages take turns, so those that fail
are spread over the places of a lineage: five failures in a row would open the resource's breaker.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from benchmarks.peers.ramet_app import record
from benchmarks.peers.ramet_peer import Ramet, main
from benchmarks.peers.role import Job
from ramet import App, Context, Limits, Permanent

FAILS_OF, SPAWNS_OF, LINEAGE = 20, 10, 1_000
TEXT = "x" * 1_000
SPAWNED_FROM = 1_000_000
"""Numbers of the tasks that others spawned: they spawn nothing, and succeed."""


def fails(number: int) -> bool:
    """Whether the task fails, of those that no other spawned."""
    return (number + number // LINEAGE) % FAILS_OF == 0


def spawns(number: int) -> bool:
    """Whether it spawns another, of those that no other spawned."""
    return (number + number // LINEAGE) % SPAWNS_OF == 1


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
        if fails(payload.number):
            raise Permanent("one of twenty")
        if spawns(payload.number):
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
