"""Handlers that require a child which the guard refuses, in every way in which handlers run."""

from __future__ import annotations

from typing import Any

from ramet import App, BatchContext, Context, Limits, SyncContext

app = App(
    tables=["CREATE TABLE IF NOT EXISTS effects (name TEXT NOT NULL)"], limits=Limits(max_spawn_depth=0), processes=1
)


@app.task("child")
async def child(ctx: Context) -> None: ...


def ask(ctx: Any) -> str:
    ctx.write("INSERT INTO effects (name) VALUES (?)", (ctx.id,))
    ctx.spawn("child", required=True)
    return "done"


@app.task("async")
async def in_loop(ctx: Context) -> str:
    return ask(ctx)


@app.task("thread")
def in_thread(ctx: SyncContext) -> str:
    return ask(ctx)


@app.task("process", process=True)
def in_process(ctx: SyncContext) -> str:
    return ask(ctx)


@app.task("batch", batch=8, batch_seconds=0.01)
async def in_batch(batch: BatchContext, payloads: list[str]) -> list[str]:
    # Each task of a batch answers for itself.
    return [ask(ctx) if payload == "ask" else "asked for nothing" for ctx, payload in zip(batch, payloads, strict=True)]


@app.task("checkpoint")
async def early(ctx: Context) -> str:
    ask(ctx)
    await ctx.checkpoint()
    raise AssertionError("its claim is over")


@app.task("at once")
async def at_once(ctx: Context) -> str:
    ctx.write("INSERT INTO effects (name) VALUES (?)", (ctx.id,))
    await ctx.spawn_now("child", required=True)
    raise AssertionError("its claim is over")
