"""Scenario 1, a direct loop: a job asks for its company, and the company, having failed, asks for the job again.

An ordinary queue takes each request as one more message: job, company, job, company, for ever, each of them a success
or an honest failure. Here the second spawn of the job would make it its own descendant. The guard refuses it in the
transaction that would have created it, the refusal is stored with its reason, and the lineage ends.
"""

import argparse
import asyncio
import tempfile

from ramet import App, Client, Context, Outcome, StoreError, Worker, url_key

JOB = "https://company.example/jobs/123"
COMPANY = "https://company.example/"
app = App()


@app.task("job", key=url_key)
async def job(ctx: Context, url: str) -> None:
    """Spawn the company that the listing names: it has not been looked at yet."""
    ctx.spawn(company, COMPANY)


@app.task("company", key=url_key)
async def company(ctx: Context, url: str) -> Outcome:
    """Ask for the job once more, since there is no data. The spawn is kept although the task fails."""
    ctx.spawn(job, JOB)
    return ctx.fail("the company's page has no data")


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
