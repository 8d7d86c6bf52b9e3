"""An app for the command line's tests. Handlers that have to wait, wait for a file that the test makes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from pydantic import BaseModel

from ramet import App, Context, Limits, Outcome, Permanent, Retry, Transient

app = App(retry=Retry.SEED, limits=Limits(max_tasks=1_000, max_spawn_depth=4))
empty = App()


class Node(BaseModel):
    """Spawns ``width`` children, ``depth`` levels down."""

    name: str
    depth: int = 0
    width: int = 2


class Text(BaseModel):
    """Any text."""

    text: str


class Wait(BaseModel):
    """Waits for the file ``release``; says in ``started`` that it runs."""

    started: str
    release: str


@app.task("node", key=lambda payload: payload.name)
async def node(context: Context, payload: Node) -> dict[str, str]:
    """A tree of itself, whose first child asks for its own parent: a cycle."""
    for at in range(payload.width if payload.depth else 0):
        context.spawn("node", Node(name=f"{payload.name}.{at}", depth=payload.depth - 1, width=payload.width))
    if "." in payload.name:
        context.spawn("node", Node(name=payload.name.rpartition(".")[0]))
    return {"name": payload.name}


@app.task("fails", key=lambda payload: payload.text)
async def fails(context: Context, payload: Text) -> None:
    """Fails for good."""
    raise Permanent(payload.text)


@app.task("busy", key=lambda payload: payload.text)
async def busy(context: Context, payload: Text) -> None:
    """Fails in a way that is tried again."""
    raise Transient(payload.text)


@app.task("rejects", key=lambda payload: payload.text)
async def rejects(context: Context, payload: Text) -> Outcome:
    """Ends as filtered."""
    return context.filter(payload.text)


@app.task("wait", key=lambda payload: payload.started)
async def wait(context: Context, payload: Wait) -> int:
    """Runs until the test lets it end."""
    mark(payload.started)
    while not marked(payload.release):  # noqa: ASYNC110 - the test is another process
        await asyncio.sleep(0.01)
    return os.getpid()


def mark(name: str) -> None:
    Path(name).touch()


def marked(name: str) -> bool:
    return Path(name).exists()


@app.task("bare")
async def bare(context: Context) -> None:
    """Takes no payload."""


@app.task("greedy", key=lambda payload: payload.text)
async def greedy(context: Context, payload: Text) -> None:
    """Wants itself at every attempt, and fails in a way that is tried again."""
    await context.spawn_now("greedy", payload)
    raise Transient("again")
