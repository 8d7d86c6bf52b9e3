"""The app that ``ramet bench`` drains: kinds that do nothing, or nothing but spawn.

Its process notes the processor time that it had used when the app was loaded and when it ends, in the files that the
environment names, so that starting an interpreter is not booked on tasks.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from pydantic import BaseModel

from ramet import App, Context, Limits

LOADED_CPU_FILE = "RAMET_BENCH_LOADED_CPU_FILE"
"""Where a process of ``ramet bench`` tells it what loading cost. Not for people."""
ENDED_CPU_FILE = "RAMET_BENCH_ENDED_CPU_FILE"
"""Where a process of ``ramet bench`` tells it what all cost. Not for people."""
TEXT = "x" * 150
"""Makes the payload about 200 bytes, as in the measurements of other queues."""

app = App(limits=Limits(max_tasks=2_000_000, max_fan_out=2_000_000))


class Payload(BaseModel):
    """What a no-op task carries."""

    number: int
    text: str = TEXT


@app.task("bench.noop", key=lambda payload: str(payload.number))
async def noop(context: Context, payload: Payload) -> None:
    """Nothing."""


class Branch(BaseModel):
    """A node of the spawn tree."""

    place: str
    """The numbers of the branches that lead to it."""
    levels: int
    """Generations that it still is to have."""


FAN_OUT = 10


@app.task("bench.tree", key=lambda branch: branch.place)
async def tree(context: Context, branch: Branch) -> None:
    """Spawn the next generation."""
    if branch.levels:
        for number in range(FAN_OUT):
            context.spawn(tree, Branch(place=f"{branch.place}.{number}", levels=branch.levels - 1))


@app.task("bench.pickup")
async def pickup(context: Context) -> float:
    """Tell when it began."""
    return time.time()


def note_cpu(variable: str) -> None:
    """Write this process's processor seconds so far to the file that a variable names."""
    path = os.environ.get(variable)
    if path:
        Path(path).write_text(str(time.process_time()), encoding="ascii")


note_cpu(LOADED_CPU_FILE)


@app.at_end
def ended() -> None:
    """The handler process ends in good order."""
    note_cpu(ENDED_CPU_FILE)
