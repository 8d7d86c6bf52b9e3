"""Handlers that do not end by themselves, for processes that are ended by force."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from typing import Any

from pydantic import BaseModel

from ramet import App, BatchContext, Context, Limits, Permanent, Retry, SyncBatchContext, SyncContext
from tests.engine.apps.child_app import LOOK_SECONDS, Meeting

app = App(retry=Retry.SEED)
SHORT = Limits(invocation_seconds=0.3, max_attempts=2)


def hold_the_interpreter(seconds: float) -> None:
    """As a regular expression that went wrong does: no other thread of this process runs meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


@app.task("hold", key=lambda meeting: meeting.name, limits=SHORT)
async def hold(ctx: Context, meeting: Meeting) -> str:
    """Hold the interpreter on the first attempt."""
    meeting.put(f"began-{ctx.attempt}", str(os.getpid()))
    if ctx.attempt == 1:
        hold_the_interpreter(3_600)
    return f"attempt {ctx.attempt}"


@app.task("hold for", key=str)
async def hold_for(ctx: Context, seconds: float) -> str:
    """Hold the interpreter for so long, within the limit."""
    hold_the_interpreter(seconds)
    return ctx.token.rpartition(":")[2]


@app.task("thread", key=lambda meeting: meeting.name, limits=SHORT)
def thread(ctx: SyncContext, meeting: Meeting) -> str:
    """A thread that runs on, past its limit, on the first attempt."""
    meeting.put(f"began-{ctx.attempt}", str(os.getpid()))
    while ctx.attempt == 1:
        if ctx.cancelled:
            meeting.put("told")
        time.sleep(LOOK_SECONDS)
    return f"attempt {ctx.attempt}"


@app.task("polite thread", key=lambda meeting: meeting.name)
def polite_thread(ctx: SyncContext, meeting: Meeting) -> str:
    """A thread that asks whether it is to go on."""
    meeting.put("began", str(os.getpid()))
    while not ctx.cancelled:
        time.sleep(LOOK_SECONDS)
    meeting.put("told")
    return "late"


@app.task("stubborn", key=lambda meeting: meeting.name)
async def stubborn(ctx: Context, meeting: Meeting) -> str:
    """Does not let itself be cancelled."""
    meeting.put("began", str(os.getpid()))
    while True:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            meeting.put("told")


@app.task("meet", key=lambda meeting: meeting.name)
async def meet(ctx: Context, meeting: Meeting) -> dict[str, Any]:
    """Say that it began, and go on when told; say when it was cancelled."""
    began = len(list(os.scandir(meeting.folder)))
    meeting.put("began", str(os.getpid()))
    meeting.put(f"began-{os.getpid()}", str(began))
    try:
        await meeting.until("go")
    except asyncio.CancelledError:
        meeting.put("told")
        raise
    return {"attempt": ctx.attempt, "pid": os.getpid()}


@app.task("share", key=lambda meeting: meeting.name, probation=False)
async def share(ctx: Context, meeting: Meeting) -> int:
    """Shares its process with the others, whatever happened."""
    meeting.put(f"began-{ctx.token.rpartition(':')[2]}")
    await meeting.until("go")
    return os.getpid()


@app.task("family", key=lambda meeting: meeting.name)
async def family(ctx: Context, meeting: Meeting) -> None:
    """A parent whose child meets."""
    ctx.spawn("meet", Meeting(folder=meeting.folder, name=f"child of {meeting.name}"))


@app.task("kill", key=lambda meeting: meeting.name)
async def kill(ctx: Context, meeting: Meeting) -> None:
    """kill -9 of the process that it runs in, always."""
    meeting.put(f"death-{ctx.token.rpartition(':')[2]}")
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.Event().wait()


@app.task("quick")
async def quick(ctx: Context, n: int) -> int:
    return n


@app.task("alone", key=lambda meeting: meeting.name, limits=SHORT, process=True)
def alone(ctx: SyncContext, meeting: Meeting) -> dict[str, Any]:
    """A process of its own, in which the first attempt runs past its limit."""
    meeting.put(f"began-{ctx.attempt}", str(os.getpid()))
    if ctx.attempt == 1:
        hold_the_interpreter(3_600)
    return {"attempt": ctx.attempt, "pid": os.getpid()}


@app.task("at ease", key=lambda meeting: meeting.name, process=True)
def at_ease(ctx: SyncContext, meeting: Meeting) -> dict[str, Any]:
    """A process of its own that has time."""
    return {"attempt": ctx.attempt, "pid": os.getpid()}


@app.task("patient", key=lambda meeting: meeting.name, process=True)
def patient(ctx: SyncContext, meeting: Meeting) -> None:
    """A process of its own that is killed, whatever happens."""
    meeting.put("began", str(os.getpid()))
    while True:
        time.sleep(LOOK_SECONDS)


@app.task("large", process=True, memory_bytes_max=50_000_000, limits=Limits(max_attempts=1))
def large(ctx: SyncContext, size: int) -> int:
    """As much memory as it is told to take, while it runs."""
    return len(bytearray(size))


@app.task("crash", key=lambda meeting: meeting.name, process=True)
async def crash(ctx: Context, meeting: Meeting) -> None:
    """A segmentation fault."""
    meeting.put(f"death-{ctx.token.rpartition(':')[2]}")
    ctypes.string_at(0)


class Text(BaseModel):
    text: str
    folder: str = ""

    @property
    def meeting(self) -> Meeting:
        return Meeting(folder=self.folder, name=self.text)


def lengths(batch: Any, texts: list[Text]) -> list[Any]:
    """Whatever a batch can do: results, ends of its own, errors, spawns."""
    results: list[Any] = []
    for ctx, item in zip(batch, texts, strict=True):
        if item.text.startswith("bad"):
            results.append(Permanent("bad text"))
        elif item.text.startswith("skip"):
            results.append(ctx.skip("no need"))
        else:
            if item.text.startswith("spawn"):
                ctx.spawn("quick", len(item.text))
            results.append([len(item.text), len(texts), os.getpid()])
    return results


@app.task("batch", batch=8, batch_seconds=0.2)
async def batch(batch: BatchContext, texts: list[Text]) -> list[Any]:
    return lengths(batch, texts)


@app.task("batch in threads", batch=8, batch_seconds=0.2)
def batch_in_threads(batch: SyncBatchContext, texts: list[Text]) -> list[Any]:
    return lengths(batch, texts)


@app.task("batch alone", batch=8, batch_seconds=0.2, process=True)
def batch_alone(batch: SyncBatchContext, texts: list[Text]) -> list[Any]:
    return lengths(batch, texts)
