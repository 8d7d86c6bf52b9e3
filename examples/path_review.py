"""A review workflow: paths say what comes after what, all at once and before anything runs.

``INIT`` is first, being on the path of the document. Below it are three branches that know nothing of each other:
the review, the validation and the publication. Both reviewers wait for the review to be set up, and then work at the
same time: each reads what the other thinks before deciding, so this example would never end if they took turns.
``CLOSE`` is on the document's path again, behind everything. If the publication had to wait for a valid document,
and be skipped without one, its path would be ``["doc-123", "validation", "publish"]``.
"""

import argparse
import asyncio
import tempfile

from ramet import App, Client, Context, StoreError, TaskOptions, Worker, path_key

DOCUMENT = "doc-123"
STEPS = {
    "INIT": [DOCUMENT],
    "START_REVIEW": [DOCUMENT, "review"],
    "REVIEW A": [DOCUMENT, "review", "A"],
    "REVIEW B": [DOCUMENT, "review", "B"],
    "VALIDATE": [DOCUMENT, "validation"],
    "PUBLISH": [DOCUMENT, "publish"],
    "CLOSE": [DOCUMENT],
}
OPINIONS = {"A": "too long", "B": "well said"}

heard: dict[str, asyncio.Queue[str]] = {"A": asyncio.Queue(), "B": asyncio.Queue()}
"""Messages to each reviewer from the other."""
app = App()


@app.task("step")
async def step(ctx: Context, name: str) -> str:
    """Do one step of the workflow."""
    print(f"begins {name}")
    done = await review(name.removeprefix("REVIEW ")) if name.startswith("REVIEW ") else "done"
    print(f"ends   {name}")
    return done


async def review(reviewer: str) -> str:
    """Send the other reviewer an opinion, and wait for the answer."""
    [other] = OPINIONS.keys() - {reviewer}
    heard[other].put_nowait(OPINIONS[reviewer])
    return f"{OPINIONS[reviewer]!r}, after hearing {await heard[reviewer].get()!r}"


async def report(client: Client, tracking_id: str) -> None:
    """Print the path of each step, and its result."""
    async for task in client.all_tasks(tracking_id=tracking_id):
        print(f"{path_key(task.path)}, {task.payload}: {task.state}, {task.result}")


async def main(database: str) -> None:
    async with app.client(database) as client:
        steps: list[tuple[str, str, TaskOptions]] = [("step", name, {"path": path}) for name, path in STEPS.items()]
        [first, *_] = await client.submit_many(steps, one_lineage=True)
        await Worker(app, client, until_idle=True).run()
        await report(client, first.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/review.db"))
        except StoreError as error:
            parser.error(str(error))
