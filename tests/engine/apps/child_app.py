"""An app for handler processes. Handlers and tests meet at files in a folder, which works across processes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ramet import App, Context, Limits, Permanent, Retry, SyncContext, Transient

EFFECTS = "CREATE TABLE IF NOT EXISTS effects (task TEXT, effect TEXT, value, UNIQUE (task, effect))"
WRITE = "INSERT INTO effects (task, effect, value) VALUES (?, ?, ?)"
LOOK_SECONDS = 0.005

app = App(retry=Retry.SEED, tables=[EFFECTS])


class Meeting(BaseModel):
    """Where handler and test meet, under a name of its own."""

    folder: str
    name: str

    def path(self, sign: str) -> Path:
        return Path(self.folder) / f"{self.name}.{sign}"

    def put(self, sign: str, text: str = "") -> None:
        """Whole or not at all, so that nobody reads half of it."""
        early = self.path(f"{sign}.early")
        early.write_text(text)
        early.rename(self.path(sign))

    def seen(self, sign: str) -> bool:
        return self.path(sign).exists()

    async def until(self, sign: str) -> None:
        while True:
            if self.seen(sign):
                return
            await asyncio.sleep(LOOK_SECONDS)


@app.task("meet", key=lambda meeting: meeting.name)
async def meet(ctx: Context, meeting: Meeting) -> dict[str, Any]:
    """Say that it began, and go on when told."""
    ctx.write(WRITE, (ctx.id, "met", None))
    meeting.put("began", str(os.getpid()))
    await meeting.until("go")
    return {"attempt": ctx.attempt, "pid": os.getpid()}


@app.task("block", key=lambda meeting: meeting.name)
async def block(ctx: Context, meeting: Meeting) -> str:
    """Keep the whole loop of the handler process to itself until told to go on."""
    meeting.put("began")
    while not meeting.seen("go"):
        time.sleep(LOOK_SECONDS)  # noqa: ASYNC251 - on purpose
    return "done"


@app.task("call", key=lambda meeting: meeting.name)
async def call(ctx: Context, meeting: Meeting) -> str:
    """Ask for a checkpoint after being told to go on; put down what came of it."""
    meeting.put("began")
    await meeting.until("go")
    try:
        await ctx.checkpoint("after")
    except Exception as error:
        meeting.put("told", type(error).__name__)
        raise
    meeting.put("told", "nothing")
    return "done"


@app.task("die", key=lambda meeting: meeting.name, limits=Limits(max_attempts=1))
def die(ctx: SyncContext, meeting: Meeting) -> str:
    """End the whole process as often as the test says."""
    deaths = len(list(Path(meeting.folder).glob(f"{meeting.name}.death-*")))
    if not meeting.seen("go"):
        meeting.put(f"death-{deaths + 1}")
        os._exit(7)
    return f"lived after {deaths} deaths"


@app.task("quick")
async def quick(ctx: Context, n: int) -> int:
    return n


@app.task("tree", limits=Limits(max_attempts=3))
async def tree(ctx: Context, depth: int) -> dict[str, Any]:
    """Everything that a handler can ask for, in one."""
    if ctx.stage is None:
        ctx.write(WRITE, (ctx.id, "first", b"\x00\xff"))
        for number in range(2 if depth else 0):
            ctx.spawn("tree", depth - 1, key=f"{ctx.key}{number}")
        told = await ctx.checkpoint("second", {"children": 2 if depth else 0})
        assert [answer.id is not None for answer in told] == [True] * len(told)
        await ctx.progress(1, 2, "half")
        raise Transient("once more")
    ctx.write(WRITE, (ctx.id, "second", 1.5))
    again = await ctx.spawn_now("leaf", depth, key=f"leaf of {ctx.key}")
    lineage = await ctx.client.lineage(ctx.tracking_id)
    assert lineage is not None
    return {"stage": ctx.stage, **ctx.state, "leaf": again.reason, "lineage": lineage.state}


@app.task("leaf")
def leaf(ctx: SyncContext, depth: int) -> str:
    ctx.write(WRITE, (ctx.id, "leaf", "é"))
    ctx.checkpoint("written")
    if depth == 0:
        raise Permanent("no leaf at the bottom")
    return f"leaf at {ctx.spawn_depth}"


@app.task("unwritable")
async def unwritable(ctx: Context) -> None:
    """Something that no frame can hold."""
    ctx.spawn("quick", 1, queue="\ud800")


@app.at_end
def leave_a_trace() -> None:
    folder = os.environ.get("RAMET_TEST_TRACES")
    if folder:
        (Path(folder) / f"ended-{os.getpid()}").touch()


not_an_app = object()


def _wait_for_leave_to_start() -> None:
    """Where a test asks for it, each process says that it is loading, and waits."""
    folder = os.environ.get("RAMET_TEST_STARTS")
    if folder:
        (Path(folder) / f"start-{os.getpid()}").touch()
        while not (Path(folder) / "start").exists():
            time.sleep(LOOK_SECONDS)


_wait_for_leave_to_start()
