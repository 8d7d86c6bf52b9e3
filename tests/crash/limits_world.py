"""The garden's office: a warden who pauses and limits, and tasks that share a well, a mill and a spring.

Registered on the app of :mod:`tests.crash.handler_world`; every crash leaves the same ends here as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ramet import Client, Context, Limits, Outcome, Permanent, RetryAfter, TaskState, Transient
from ramet.model.flow.resources import ResourcePolicy
from tests.crash.handler_world import LIMITS, LONG, Bed, app, found, key_of, leave

LONG_CALL = Limits(invocation_seconds=LONG, task_seconds=None)

ENDS = {
    ("warden", "success"): 1, ("fern", "success"): 5, ("moss", "success"): 5, ("bucket", "success"): 4,
    ("grain", "failed"): 2, ("grain", "skipped"): 3, ("stubborn", "cancelled"): 2,
}  # fmt: skip

app.queue("shade", concurrency=2)
app.resource("well*", concurrency=2, rate_per_second=0.5, burst=2.0, breaker_failures=2, cooldown_seconds=20.0)
app.resource("mill", concurrency=1, breaker_failures=2)


@app.task("fern", key=key_of, queue="shade")
async def fern(ctx: Context, bed: Bed) -> None:
    """Waits while the shade is paused, and for its two places there."""
    leave(ctx, "end")


@app.task("moss", key=key_of, concurrency=1)
async def moss(ctx: Context, bed: Bed) -> None:
    leave(ctx, "end")


@app.task("bucket", key=key_of, resource="well deep")
async def bucket(ctx: Context, bed: Bed) -> None:
    """Comes back when the well says so, fails once, and opens the breaker with its like: they wait until it closes."""
    if not ctx.snoozes:
        raise RetryAfter(3.0)
    if ctx.attempt < 2:
        raise Transient("the rope is wet")
    leave(ctx, "end")


@app.task("grain", key=key_of, resource="mill")
async def grain(ctx: Context, bed: Bed) -> None:
    """Two that fail switch the mill off; the others are skipped."""
    raise Permanent("the stones are broken")


@app.task("stubborn", key=key_of, limits=LONG_CALL, resource="spring")
async def stubborn(ctx: Context, bed: Bed) -> None:
    """Runs until the warden cancels it, and holds its slot until its worker has heard of that."""
    await asyncio.sleep(LONG)


@app.task("warden", key=key_of, priority=9)
async def warden(ctx: Context, bed: Bed) -> Outcome | None:
    """Everything that a person can do to queues, lineages and resources. Doing so twice is doing it once."""
    client = ctx.client
    if ctx.stage is None:
        await client.pause_lineage("garden", by="warden", reason="frost")
        await client.pause_queue("shade", by="warden")
        await client.limit("kind", "leaf", 30, by="warden")
        await client.limit("queue", "shade", 3, by="warden")
        await client.limit_resource(ResourcePolicy("spring", concurrency=3), by="warden")
        await ctx.checkpoint("paused")
        return ctx.snooze(5)
    if ctx.stage == "paused":
        await client.resume_lineage("garden", by="warden")
        await client.resume_queue("shade", by="warden")
        await client.open_breaker("well deep", by="warden", reason="frozen")
        await ctx.checkpoint("resumed")
        return ctx.snooze(5)
    await client.close_breaker("well deep", by="warden")
    for task in await found(client, "stubborn"):
        if task.state is TaskState.PENDING:
            return ctx.snooze(5)
        await client.cancel(task.id, by="warden")
    if any(not task.state.terminal for task in await found(client, "grain")):
        return ctx.snooze(5)
    await client.close_breaker("mill", by="warden", reason="repaired")
    leave(ctx, "end")
    return None


def in_order(rows: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str, str], str]:
    """The state of every task by (tracking_id, kind, key), where that is the same whatever crashes.

    Of the grains two fail: the first two, unless a crash makes one of them come back when others had their turn.
    """
    states = {(tracking_id, kind, key): state for tracking_id, kind, key, state in rows}
    grains = sorted(name for name in states if name[1] == "grain")
    return states | dict(zip(grains, sorted(states[name] for name in grains), strict=True))


async def sow(client: Client) -> None:
    """What the office has to do. Submitting it again changes nothing."""
    new = app.registry.get
    tasks = [
        new("warden").new_task(Bed(name="eve")),
        *(new("stubborn").new_task(Bed(name=f"mule {number}")) for number in range(2)),
        *(
            new(kind).new_task(Bed(name=f"{kind} {number}"))
            for kind in ("fern", "moss", "grain")
            for number in range(5)
        ),
        *(new("bucket").new_task(Bed(name=f"bucket {number}")) for number in range(4)),
    ]
    await client.store.submit([client._lineage(tasks, "office", LIMITS)])
