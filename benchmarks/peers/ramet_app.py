"""The app that ramet's worker serves in the comparison. Loaded in the handler process, which keeps the record."""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel

from benchmarks.peers.record import Record, folder
from benchmarks.peers.role import children, handle_async
from ramet import App, Context, Limits

app = App(limits=Limits(max_tasks=2_000_000, max_fan_out=2_000_000))


class Payload(BaseModel):
    """As every peer stores it."""

    number: int
    seconds: float
    text: str


class Branch(BaseModel):
    """A task of the tree, as every peer stores it."""

    number: int
    levels: int
    text: str


@cache
def record() -> Record:
    """This process's; made by the first body, so that a process that only submits makes none."""
    return Record(folder())


@app.task("bench.noop", key=lambda payload: str(payload.number))
async def noop(context: Context, payload: Payload) -> None:
    """Nothing."""
    record().ran(payload.number)


@app.task("bench.effect", key=lambda payload: str(payload.number))
async def effect(context: Context, payload: Payload) -> None:
    """What cannot be undone."""
    await handle_async(record(), payload.number, payload.seconds)


@app.task("bench.tree", key=lambda branch: str(branch.number))
async def tree(context: Context, branch: Branch) -> None:
    """Spawn the next generation."""
    record().ran(branch.number)
    for child in children(branch.number, branch.levels):
        context.spawn(tree, Branch(**child.payload()))


@app.at_end
def ended() -> None:
    """The worker has drained."""
    record().write()
