"""Scenario 2, a circular dependency: the job needs the company, the company its job board, and the board the company.

In an ordinary queue each waits for a newer copy of the next, and none ever finishes: three kinds of work, none of
which calls itself, so no handler can see the circle. Here a task knows its ancestors (`ancestry_chain`), and a spawn of
work that an ancestor is already doing closes a circle and is refused, however many steps lie between.
"""

import argparse
import asyncio
import tempfile

from ramet import App, Client, Context, StoreError, Worker, url_key

JOB = "https://company.example/jobs/123"
COMPANY = "https://company.example/"
BOARD = "https://company.example/careers"
app = App()


@app.task("job", key=url_key)
async def job(ctx: Context, url: str) -> None:
    """Ask for the company, without which a listing cannot be judged."""
    ctx.spawn(company, COMPANY)


@app.task("company", key=url_key)
async def company(ctx: Context, url: str) -> None:
    """Find the company's job board: a company is described by the jobs that it offers."""
    ctx.spawn(source_discovery, BOARD)


@app.task("source_discovery", key=url_key)
async def source_discovery(ctx: Context, url: str) -> None:
    """Ask for the company, to learn whose board it is. The same URL in another spelling is the same key."""
    ctx.spawn(company, "HTTPS://Company.example:443/?utm_source=board#top")


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
        root = await client.submit(job, JOB)
        await Worker(app, client, until_idle=True).run()
        await report(client, root.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/loop.db"))
        except StoreError as error:
            parser.error(str(error))
