"""One world in which each action of the dashboard has something of its own to be done to."""

from __future__ import annotations

from typing import Any, NamedTuple

from ramet import App, Client, Context, Permanent
from ramet.testing import drain

HOUR = 3_600
WAITING = ("cancel", "exclude", "cancel-lineage", "pause-lineage", "resume-lineage", "raise-limits",
           "reprioritise", "reschedule")  # fmt: skip
"""Lineages of one task that nobody claims for an hour."""
LOOP = "possible_loop"

app = App()


@app.task("page", key=str)
async def page(ctx: Context, url: str) -> None:
    """Fails, or spawns two that wait, for what says so."""
    if "fail" in url:
        raise Permanent("it was told to fail")
    if "grow" in url:
        for number in (1, 2):
            ctx.spawn(page, f"{url.replace('grow', 'below')}/{number}", delay_seconds=HOUR)


class Record(NamedTuple):
    """What is kept of something that a person did."""

    by: str | None
    reason: str | None
    at: float


async def furnish(client: Client) -> None:
    """Make it; what is done here is done by nobody that a test asks about."""
    await client.stop("pattern", "*e.org/below*")
    for name, urls in {
        "retry": ["https://a.org/fail"], "retry-failed": ["https://b.org/fail/1", "https://b.org/fail/2"],
        "cancel-tree": ["https://c.org/grow"], "reoffer": ["https://e.org/grow"], "acknowledge": ["d.org/fail"],
    }.items():  # fmt: skip
        await client.submit_many([(page, url) for url in urls], one_lineage=True, tracking_id=name)
    await drain(app, client, advance=False)
    await client.unstop("pattern", "*e.org/below*")
    for _ in range(5):
        failed = await client.tasks(tracking_id="acknowledge", states=["failed"])
        await client.revive([task.id for task in failed.tasks])
        await drain(app, client, advance=False)
    assert LOOP in [alert.pattern for alert in await client.check_alerts()]
    for name in WAITING:
        await client.submit(page, f"https://{name}.org/", tracking_id=name, delay_seconds=HOUR)
    await client.pause_lineage("resume-lineage")
    for name in ("pause-queue", "resume-queue", "limit-queue"):
        await client.limit("queue", name, 3)
    await client.pause_queue("resume-queue")
    await client.pause_path(["shut"])
    await client.block_queue("unblock-queue")
    await client.limit("kind", "limit-kind", 3)
    for name in ("limit-resource", "open-breaker", "close-breaker"):
        await client.open_breaker(name)
        await client.close_breaker(name)
    await client.open_breaker("close-breaker")
    await client.settings.set("limits.max_fan_out", 77)
    await client.stop("host", "unstop.org")
    for name in ("pause-schedule", "resume-schedule", "run-schedule", "remove-schedule"):
        await client.schedules.add(page, f"https://{name}.org/", name=name, cron="@hourly")
    await client.schedules.pause("resume-schedule")


async def states(client: Client, tracking_id: str) -> list[str]:
    """Of all tasks of a lineage, in order."""
    found = await client.tasks(tracking_id=tracking_id, limit=1_000)
    return sorted(str(task.state) for task in found.tasks)


async def task(client: Client, tracking_id: str) -> Any:
    """The only task of a lineage."""
    [found] = await client.roots(tracking_id)
    return found


async def swept(client: Client, tracking_id: str) -> list[str]:
    """The same, after the sweep that a worker makes every few seconds."""
    await client.store.sweep()
    return await states(client, tracking_id)


async def records(client: Client) -> list[Record]:
    """Everything that is recorded as done by somebody: acts, and what was done to single tasks."""
    acts = [Record(one.by, one.reason, one.at) for one in await client.acts(limit=1_000)]
    tasks = [task async for task in client.all_tasks()]
    histories = [await client.history(task.id) for task in tasks]
    return acts + [
        Record(one.by, one.reason, one.at) for history in histories if history for one in history.transitions
    ]


async def lineage(client: Client, name: str) -> Any:
    """A lineage that is there."""
    found = await client.lineage(name)
    assert found is not None
    return found


async def queue(client: Client, name: str) -> Any:
    """A queue that somebody limited or paused."""
    return next(one for one in await client.queues() if one.name == name)


async def breaker(client: Client, name: str) -> bool:
    """Whether a resource is switched off."""
    [found] = await client.resources(name)
    return found.opened_at is not None


async def policy(client: Client, name: str) -> int | None:
    """How many claims at once a resource bears."""
    [found] = [one.concurrency for one in await client.policies() if one.pattern == name] or [None]
    return found


async def stopped(client: Client, value: str) -> bool:
    """Whether something is on the deny list."""
    return any(one.value == value for one in await client.stop_list())


async def schedule(client: Client, name: str) -> Any:
    """A schedule; None where it was removed."""
    return await client.schedules.get(name)


async def noticed(client: Client) -> str | None:
    """Who took notice of the alert about demands."""
    [who] = [alert.acknowledged_by for alert in await client.alerts() if alert.pattern == LOOP]
    return who
