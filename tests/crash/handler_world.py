"""A small world of two hundred tasks that does everything a handler can, and leaves a row for everything it did."""

from __future__ import annotations

from pydantic import BaseModel

from ramet import App, Client, Context, Limits, LineageTotals, Outcome, Permanent, Retry, TaskState, Transient
from ramet.model.task.task import Task

LIMITS = Limits(max_tasks=400, max_fan_out=12, max_spawn_depth=3, lineage_seconds=1e6, task_seconds=None)
TABLES = ("CREATE TABLE IF NOT EXISTS effects (task TEXT NOT NULL, step TEXT NOT NULL)",)
ONCE = (
    "INSERT INTO effects (task, step) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM effects WHERE task = ? AND step = ?)"
)
LONG = 100_000.0
"""Seconds after everything that is not cancelled has ended."""


class Bed(BaseModel):
    """What a task is about."""

    name: str
    width: int = 0


def key_of(bed: Bed) -> str:
    return bed.name


app = App(retry=Retry.SEED, limits=LIMITS, tables=TABLES)


def leave(ctx: Context, step: str) -> None:
    """A row that must be there exactly once if this step of the task took effect, and never otherwise."""
    ctx.write("INSERT INTO effects (task, step) VALUES (?, ?)", (f"{ctx.kind} {ctx.key}", step))


@app.task("plant", key=key_of)
async def plant(ctx: Context, bed: Bed) -> dict[str, int]:
    """Spawns children of its own, some that its siblings want too, and one that would be a cycle."""
    for number in range(bed.width):
        ctx.spawn(plant, Bed(name=f"{bed.name}.{number}", width=bed.width - 1))
        ctx.spawn(KINDS[number % len(KINDS)], Bed(name=f"{bed.name}/{number}"))
        ctx.spawn("leaf", Bed(name=f"shared {number}"))
        ctx.spawn("leaf", Bed(name=bed.name))
    leave(ctx, "end")
    return {"width": bed.width}


@app.task("leaf", key=key_of, cycle_on="key")
async def leaf(ctx: Context, bed: Bed) -> None:
    leave(ctx, "end")


@app.task("flaky", key=key_of)
async def flaky(ctx: Context, bed: Bed) -> None:
    """Succeeds at the third attempt; what it asked for before is dropped."""
    leave(ctx, f"attempt {ctx.attempt}")
    ctx.spawn("leaf", Bed(name=f"of {bed.name} at {ctx.attempt}"))
    if ctx.attempt < 3:
        raise Transient("busy")


@app.task("staged", key=key_of)
async def staged(ctx: Context, bed: Bed) -> dict[str, int]:
    """Three steps; a crash resumes after the last one that was committed."""
    if ctx.stage is None:
        leave(ctx, "one")
        blob = await ctx.blob(f"soil of {bed.name}")
        await ctx.transaction([(ONCE, (f"{ctx.kind} {ctx.key}", "dug") * 2), ("SELECT 1 FROM effects", ())])
        ctx.spawn("leaf", Bed(name=f"of {bed.name}"))
        await ctx.checkpoint("dug", {"depth": 1, "soil": blob})
    if ctx.stage == "dug":
        await ctx.progress(1, 3, "dug")
        await ctx.spawn_now("leaf", Bed(name=f"now of {bed.name}"))
        leave(ctx, "two")
        await ctx.checkpoint("sown", {**ctx.state, "depth": ctx.state["depth"] + 1})
    leave(ctx, "three")
    assert await ctx.read_blob(ctx.state["soil"]) == f"soil of {bed.name}"
    return ctx.state


@app.task("growing", key=key_of)
async def growing(ctx: Context, bed: Bed) -> Outcome:
    """Continues itself until its chain is as deep as it may be."""
    leave(ctx, f"chain {ctx.chain_depth}")
    return ctx.continue_later()


@app.task("sleepy", key=key_of)
async def sleepy(ctx: Context, bed: Bed) -> Outcome | None:
    leave(ctx, f"snooze {ctx.snoozes}")
    return ctx.snooze(30) if ctx.snoozes < 2 else None


@app.task("picky", key=key_of)
async def picky(ctx: Context, bed: Bed) -> Outcome:
    leave(ctx, "end")
    return ctx.filter("too dry") if "0" in bed.name else ctx.skip("too wet")


@app.task("rotten", key=key_of)
async def rotten(ctx: Context, bed: Bed) -> None:
    leave(ctx, "never")
    raise Permanent("it is rotten")


@app.task("hopeless", key=key_of, limits=Limits(max_attempts=2, task_seconds=None))
async def hopeless(ctx: Context, bed: Bed) -> None:
    leave(ctx, "never")
    raise Transient("no rain")


@app.task("clumsy", key=key_of, limits=Limits(max_attempts=2, task_seconds=None))
async def clumsy(ctx: Context, bed: Bed) -> None:
    leave(ctx, "never")
    ctx.write("INSERT INTO nowhere VALUES (1)")


@app.task("report")
async def report(ctx: Context, totals: LineageTotals) -> int:
    """Runs once after the neighbour's lineage has ended."""
    leave(ctx, "end")
    return totals.cancelled


@app.task("tidy", key=key_of)
async def tidy(ctx: Context, bed: Bed) -> Outcome:
    """Waits until the gardener cancels it."""
    return ctx.snooze(LONG)


@app.on_end(tidy)
async def tidy_up(ctx: Context, bed: Bed) -> None:
    """Leaves nothing: a crash in it is the end of the task as well."""
    await ctx.progress(1, 1, f"{ctx.ending}")


@app.task("sower", key=key_of)
async def sower(ctx: Context, bed: Bed) -> Outcome | None:
    """Binds seeds, which no handler serves, and settles them at its second call."""
    if ctx.stage is None:
        await ctx.bind([task.id for task in await found(ctx.client, "seed")])
        await ctx.checkpoint("bound")
        return ctx.snooze(5)
    *others, last = await ctx.bound()
    for told in others:
        ctx.settle_item(told.task_id, told.number, "success")
    ctx.settle_item(last.task_id, last.number, "failed", reason="rotten")
    leave(ctx, "end")
    return None


@app.task("buyer", key=key_of)
async def buyer(ctx: Context, bed: Bed) -> None:
    """Pays for seeds: what a crash leaves open counts as spent."""
    kept = await ctx.reserve(5)
    await kept.settle(int(bed.name[-1]))
    await ctx.reserve(1)
    ctx.charge(2)
    leave(ctx, "end")


@app.task("compost", key=key_of)
async def compost(ctx: Context, bed: Bed) -> None:
    """Its children would run long after everything else: the gardener cancels them."""
    for number in range(11):
        ctx.spawn("leaf", Bed(name=f"{bed.name} {number}"), delay_seconds=LONG)
    leave(ctx, "end")


@app.task("gardener", key=key_of)
async def gardener(ctx: Context, bed: Bed) -> Outcome | None:
    """Cancels a tree, a task and a lineage. Doing so twice is doing it once."""
    heaps = await found(ctx.client, "compost")
    if any(not heap.state.terminal for heap in heaps):
        return ctx.snooze(5)
    await ctx.client.cancel(heaps[0].id, tree=True, by="gardener")
    for task in await found(ctx.client, "tidy"):
        if not task.snoozes:
            return ctx.snooze(5)
        await ctx.client.cancel(task.id, by="gardener")
    [weed] = (await ctx.client.tasks(kind="leaf", key="weed")).tasks
    await ctx.client.cancel(weed.id, by="gardener")
    await ctx.client.cancel_lineage("neighbour", by="gardener")
    ctx.lower(max_fan_out=10)
    leave(ctx, "end")
    return None


KINDS = ("leaf", "flaky", "staged", "growing", "sleepy", "picky", "rotten", "hopeless", "clumsy")


async def found(client: Client, kind: str) -> list[Task]:
    return [task async for task in client.all_tasks(kind=kind)]


async def sow(client: Client) -> None:
    """Everything that is submitted. Submitting it again changes nothing."""
    store, new = client.store, app.registry.get
    garden = [
        new("plant").new_task(Bed(name="bed", width=4)),
        new("gardener").new_task(Bed(name="ann")),
        new("compost").new_task(Bed(name="heap")),
        new("tidy").new_task(Bed(name="shed")),
        new("sower").new_task(Bed(name="bob"), priority=9),
        *(app.registry.known("seed").new_task(key=f"seed {number}") for number in range(3)),
        new("leaf").new_task(Bed(name="weed"), delay_seconds=LONG),
        *(new("buyer").new_task(Bed(name=f"buyer {number}")) for number in range(2)),
        *(new(kind).new_task(Bed(name=f"{kind} {number}")) for kind in KINDS for number in range(6)),
    ]
    neighbour = [new("leaf").new_task(Bed(name=f"far {number}"), delay_seconds=LONG) for number in range(14)]
    await store.submit([client._lineage(garden, "garden", LIMITS)])
    await store.submit([client._lineage(neighbour, "neighbour", LIMITS, on_lineage_end=report)])


async def revive_rotten(client: Client) -> None:
    """A person gives what was rotten another chance, once."""
    for task in await found(client, "rotten"):
        history = await client.history(task.id)
        assert history is not None
        if task.state is TaskState.FAILED and not history.transitions:
            await client.revive([task.id], by="ann", reason="after rain")
