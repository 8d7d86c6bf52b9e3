"""An app whose handlers run in a process of their own and say what they know of their paths."""

from __future__ import annotations

from typing import Any

from ramet import App, Context, Retry, WaitRefused
from tests.support.waiting import HANG_SECONDS

app = App(retry=Retry.SEED, tables=["CREATE TABLE IF NOT EXISTS steps (at INTEGER PRIMARY KEY, step TEXT NOT NULL)"])
STEP = "INSERT INTO steps (step) VALUES (?)"

staged = app.pipeline("staged", task_per_stage=True, key=lambda name: name)


@staged.stage()
async def first(ctx: Context, name: str) -> list[str]:
    ctx.write(STEP, (f"first {name}",))
    return list(ctx.path)


@staged.stage()
async def second(ctx: Context, name: str) -> list[Any]:
    ctx.write(STEP, (f"second {name}",))
    return [ctx.state["first"], list(ctx.path)]


@app.task("waits")
async def waits(ctx: Context) -> str:
    child = await ctx.spawn_now("part", "child", path=[*ctx.path, "below"], on_dependency_failure="run")
    assert child.id is not None
    try:
        await ctx.client.wait(child.id, timeout_seconds=HANG_SECONDS)
    except WaitRefused as error:
        return str(error)
    return "waited"


@app.task("part")
async def part(ctx: Context, name: str) -> list[str]:
    ctx.write(STEP, (f"part {name}",))
    return list(ctx.path)
