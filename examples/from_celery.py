"""A chord and a graph that came from Celery: both are tasks that come *after* others.

In Celery, with a backend for the results (``bind=True`` and other options are left out):

    chord([thumbnail.s(picture) for picture in pictures], report.s())()

    chain(extract.s(day), chord([orders.s(), visits.s()], merge.s()), publish.s())()

Here the header's tasks and the body are one lineage, created in one transaction. A body finds in ``ctx.after`` the
tasks that it came after, in the order in which they were named. If one of those fails, the body is skipped, and
``ramet explain`` says why; the report below says ``on_dependency_failure="run"`` and counts the pictures that exist.

The graph has an edge that a chain cannot have: ``publish`` needs the day's ``extract`` as well as the ``merge``.
"""

import argparse
import asyncio
import tempfile
from typing import Any

from ramet import App, Client, Context, Permanent, StoreError, TaskOptions, Worker

PICTURES = ["owl", "bird", "blank", "night"]
DAYS = ["monday", "sunday"]
Item = tuple[Any, Any, TaskOptions]
"""A task to be submitted: its handler, its payload, and its options."""

app = App()


@app.task("thumbnail", key=str)
async def thumbnail(ctx: Context, picture: str) -> str:
    """Make one small picture."""
    if picture == "blank":
        raise Permanent("nothing can be seen on it")
    return f"small-{picture}.jpg"


@app.task("report")
async def report(ctx: Context, album: str) -> str:
    """Name the pictures that exist, however the other tasks ended."""
    names = [task.result for task in ctx.after or () if task.ok]
    missing = [task.key for task in ctx.after or () if not task.ok]
    return f"{album}: {', '.join(names)}; without {', '.join(missing) or 'none'}"


def chord(album: str, pictures: list[str]) -> list[Item]:
    """Return all thumbnails, to run at once, and a report for when the last of them has ended."""
    header: list[Item] = [(thumbnail, picture, {}) for picture in pictures]
    after = [("thumbnail", picture) for picture in pictures]
    return [*header, (report, album, {"after": after, "on_dependency_failure": "run"})]


@app.task("extract", key=str)
async def extract(ctx: Context, day: str) -> list[int]:
    """Fetch the numbers of a day; on Sundays there are none."""
    if day == "sunday":
        raise Permanent("the shop is closed")
    return [3, 4, 5]


@app.task("orders", key=str)
async def orders(ctx: Context, day: str) -> int:
    """Count the orders of a day."""
    assert ctx.after is not None
    return len(ctx.after[0].result)


@app.task("visits", key=str)
async def visits(ctx: Context, day: str) -> int:
    """Add up the visits of a day."""
    assert ctx.after is not None
    return sum(ctx.after[0].result)


@app.task("merge", key=str)
async def merge(ctx: Context, day: str) -> str:
    """Put both together."""
    assert ctx.after is not None
    return " of ".join(str(task.result) for task in ctx.after)


@app.task("publish", key=str)
async def publish(ctx: Context, day: str) -> str:
    """Publish a day, with its largest number."""
    assert ctx.after is not None
    merged, extracted = ctx.after
    return f"{day}: {merged.result}, {max(extracted.result)} at most"


def graph(day: str) -> list[Item]:
    """Return a day's tasks: extract; orders and visits side by side; merge; publish, which needs the extract too."""
    return [
        (extract, day, {}),
        (orders, day, {"after": [("extract", day)]}),
        (visits, day, {"after": [("extract", day)]}),
        (merge, day, {"after": [("orders", day), ("visits", day)]}),
        (publish, day, {"after": [("merge", day), ("extract", day)]}),
    ]


async def print_end(client: Client, tracking_id: str) -> None:
    """Print what became of the tasks of a lineage."""
    async for task in client.all_tasks(tracking_id=tracking_id):
        print(f"{tracking_id}, {task.kind} {task.key}: {task.state}, {task.why or task.result}")


async def main(database: str) -> None:
    async with app.client(database) as client:
        await client.submit_many(chord("album", PICTURES), tracking_id="album")
        for day in DAYS:
            await client.submit_many(graph(day), tracking_id=day)
        await Worker(app, client, until_idle=True).run()
        for tracking_id in ("album", *DAYS):
            await print_end(client, tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/celery.db"))
        except StoreError as error:
            parser.error(str(error))
