"""An app for traces: a lineage of three levels whose levels alternate between two kinds, one for each worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from opentelemetry import trace

from ramet import App, BatchContext, Context, Limits, Retry, SyncContext, Transient

app = App(retry=Retry.SEED)


def note(name: str) -> None:
    """A span of the handler's own."""
    with trace.get_tracer("tests").start_as_current_span(name):
        pass


@app.task("left", limits=Limits(max_spawn_depth=2))
async def left(ctx: Context, name: str) -> str:
    """Roots and grandchildren: async."""
    note(f"in {name}")
    if ctx.spawn_depth == 0:
        for n in range(3):
            ctx.spawn("right", f"{name}.{n}", key=f"{name}.{n}")
        ctx.spawn("right", f"{name}.0", key=f"{name}.0")
    return ctx.traceparent


@app.task("right")
def right(ctx: SyncContext, name: str) -> str:
    """Children: plain, in a thread."""
    note(f"in {name}")
    ctx.spawn("left", f"{name}.x", key=f"{name}.x")
    return ctx.traceparent


@app.task("again", limits=Limits(max_attempts=2))
async def again(ctx: Context, secret: str) -> None:
    """Fails once."""
    if ctx.attempt == 1:
        raise Transient("busy")


@app.task("alone", process=True)
async def alone(ctx: Context, name: str) -> None:
    """In a process of its own."""
    note(f"in {name}")


@app.task("dies")
async def dies(ctx: Context, folder: str) -> None:
    """Takes its process along, the first time."""
    died = Path(folder) / "died"
    if not died.exists():
        died.touch()
        os._exit(3)


@app.task("many", batch=2, batch_seconds=5.0)
async def many(ctx: BatchContext, names: list[str]) -> list[Any]:
    """Two at once."""
    note("in both")
    return [None] * len(names)


@app.task("steps", limits=Limits(max_chain_depth=1))
def steps(ctx: SyncContext, name: str) -> object:
    """Plain: spawns at a checkpoint, then at once, then goes on in a continuation."""
    note(f"step {ctx.chain_depth}")
    if ctx.chain_depth == 1:
        return None
    ctx.spawn("again", name, key="at the checkpoint")
    ctx.checkpoint("half")
    ctx.spawn_now("again", name, key="at once")
    return ctx.continue_later()
