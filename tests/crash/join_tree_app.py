"""A tree of 1,365 questions, each of which joins the answers of its four parts, and of which some end their process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from ramet import App, Context, Retry
from tests.crash.pids import say_who_runs

FAN_OUT = 4
LEVELS = 5  # a root, and 4 + 16 + 64 + 256 + 1,024 below it
TASKS = sum(FAN_OUT**depth for depth in range(LEVELS + 1))
KILLS = "RAMET_TEST_JOIN_KILLS"
"""Names a folder in the worker's environment: a file of it is a point (place and round) with its victim."""
SUPERVISOR = os.getppid()

app = App(retry=Retry.SEED)
say_who_runs()


def kill_at(place: str, round_: int) -> None:
    """Kill this process, or its supervisor, when the task reaches a point for the first time."""
    # A process that has lost its supervisor has another parent, which is not ours to kill.
    if KILLS not in os.environ or os.getppid() != SUPERVISOR:
        return
    point = Path(os.environ[KILLS]) / f"{place}-{round_}"
    if point.exists():
        victim = point.read_text()
        point.unlink()
        os.kill(SUPERVISOR if victim == "supervisor" else os.getpid(), signal.SIGKILL)


@app.task("ask", key=str)
async def ask(ctx: Context, place: str) -> object:
    """Answer with the place in the tree, and the answers of all that is below it, in the order of the spawns."""
    kill_at(place, ctx.joined.round if ctx.joined else 0)
    if len(place) <= LEVELS and ctx.joined is None:
        for number in range(FAN_OUT):
            ctx.spawn(ask, f"{place}{number}")
        return ctx.join()
    return f"{place}({' '.join(part.result for part in ctx.joined or ())})"


def answer(place: str = "r") -> str:
    """The answer to the question at this place."""
    parts = range(FAN_OUT) if len(place) <= LEVELS else ()
    return f"{place}({' '.join(answer(f'{place}{number}') for number in parts)})"


def places(place: str = "r") -> list[str]:
    """The questions at this place and below it."""
    parts = range(FAN_OUT) if len(place) <= LEVELS else ()
    return [place, *(below for number in parts for below in places(f"{place}{number}"))]
