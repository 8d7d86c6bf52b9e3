"""Scenario 4, a retry storm: a job that fails queues itself again before it ends, and so does every copy of it.

An ordinary queue retries the message and delivers the copies: one failing job is three, then nine, and a thousand
after six rounds. Here a task that spawns itself is a cycle, even under a URL that only looks new; what is left is one
row with a bounded number of attempts and growing pauses. To the guard, a copy under a URL that *is* new is other work,
and then the depth ends it: nothing in a lineage is deeper than `max_spawn_depth`.
"""

import argparse
import asyncio
import random
import tempfile

from ramet import App, Client, Context, Outcome, Retry, StoreError, Transient, Worker, url_key

JOB = "https://company.example/jobs/123"
SHORT_PAUSES = 8916
"""Seed for a quick example: the pauses before the next three attempts are drawn from [0, 1), [0, 2) and [0, 4) s."""
app = App(retry=Retry.SEED)


@app.task("job", key=url_key)
async def job(ctx: Context, url: str) -> None:
    """Queue two copies of itself, at once so that its failure does not undo that, and fail."""
    await ctx.spawn_now(job, url)
    await ctx.spawn_now(job, f"{url}?utm_source=retry-{ctx.attempt}")
    raise Transient("the site is busy")


@app.task("sly_job", key=url_key)
async def sly_job(ctx: Context, url: str) -> Outcome:
    """Queue itself under a new URL each time, and fail."""
    ctx.spawn(sly_job, f"{JOB}?try={ctx.spawn_depth + 1}")
    return ctx.fail("the site is busy")


async def report(client: Client, tracking_id: str) -> None:
    """Print a lineage: its tasks, what was refused and why, and how it ended."""
    for task in (await client.tasks(tracking_id=tracking_id)).tasks:
        reason = f" ({task.reason})" if task.reason else ""
        print(f"{'  ' * task.spawn_depth}{task.kind} {task.key}: {task.state}{reason}, attempts: {task.attempts}")
    for block in await client.blocks(tracking_id):
        print(f"blocked {block.count} x {block.kind} {block.key}, {block.reason}: {block.detail}")
    lineage = await client.lineage(tracking_id)
    assert lineage is not None
    print(f"the lineage is {lineage.state}: {lineage.tasks} tasks created, {lineage.live} live")


async def main(database: str) -> None:
    async with app.client(database) as client:
        roots = await client.submit_many([(job, JOB), (sly_job, f"{JOB}?try=0")])
        await Worker(app, client, until_idle=True, rng=random.Random(SHORT_PAUSES)).run()
        for root in roots:
            await report(client, root.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/loop.db"))
        except StoreError as error:
            parser.error(str(error))
