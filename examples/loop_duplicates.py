"""Scenario 3, duplicate spawning: three jobs want the same company, and so does a fourth that is found later.

An ordinary queue has three messages with three ids, and three workers scrape the same company at the same moment; a
check before the insert does not help, because all three check before any of them inserts. Here (lineage, kind, key) is
a unique index: the first spawn creates the task, each later one is answered with the reason and the id of the winner,
and takes nothing from the lineage's budget.
"""

import argparse
import asyncio
import tempfile

from ramet import App, Client, Context, StoreError, Worker, url_key

JOBS = [f"https://board.example/jobs/{number}" for number in (1, 2, 3)]
LATE_JOB = "https://board.example/jobs/4"
BOARD = "https://board.example/jobs"
COMPANY = "https://company.example/"
app = App()


@app.task("job", key=url_key)
async def job(ctx: Context, url: str) -> None:
    """Spawn the company of a listing; the first listing also shows where more listings are."""
    ctx.spawn(company, COMPANY)
    if url == JOBS[0]:
        ctx.spawn(source_discovery, BOARD)


@app.task("company", key=url_key)
async def company(ctx: Context, url: str) -> dict[str, str]:
    """Do the work that must be done once."""
    return {"company": url}


@app.task("source_discovery", key=url_key)
async def source_discovery(ctx: Context, url: str) -> None:
    """Find a listing when the company is done already."""
    ctx.spawn(job, LATE_JOB)


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
        roots = await client.submit_many([(job, url) for url in JOBS], one_lineage=True)
        await Worker(app, client, until_idle=True).run()
        await report(client, roots[0].tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/loop.db"))
        except StoreError as error:
            parser.error(str(error))
