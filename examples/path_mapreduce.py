"""Fan-out and fan-in with nothing but paths: count the words of a poem, line by line, and add them up.

``split`` spawns one task for each line *below* its own path, and ``total`` *on* its own path. It does not wait for
anything: it ends, the lines are counted at the same time, and ``total``, which is behind all of them, runs when the
last has ended. Each line also spawns a note *beside*, on the path of the journal, where notes are written one after the
other while the counting goes on.

A fan-in waits for the tasks that came before it. If a line spawned work of its own, that would come after ``total``.
"""

import argparse
import asyncio
import tempfile
from collections import Counter

from ramet import App, Client, Context, StoreError, Worker, path_key

POEM = ["the owl and the pussycat", "went to sea in a beautiful boat", "they took some honey", "and plenty of money"]
JOURNAL = ["journal"]

journal: list[str] = []
"""Lines of the journal."""
everybody = asyncio.Barrier(len(POEM))
"""Each line waits here for the others: if they took turns, this example would never end."""
app = App()


@app.task("split", path=lambda name: [name])
async def split(ctx: Context, name: str) -> int:
    """Spawn the work, in order, and end."""
    print(f"begins {path_key(ctx.path)}, split")
    for number, line in enumerate(POEM, 1):
        ctx.spawn(count, line, path=[*ctx.path, f"line-{number}"])
    ctx.spawn(total, path=ctx.path)
    print(f"ends   {path_key(ctx.path)}, split")
    return len(POEM)


@app.task("count")
async def count(ctx: Context, line: str) -> dict[str, int]:
    """Count the words of one line."""
    print(f"begins {path_key(ctx.path)}, count")
    await everybody.wait()
    words = Counter(line.split())
    ctx.spawn(note, f"{path_key(ctx.path)} has {words.total()} words", path=JOURNAL)
    print(f"ends   {path_key(ctx.path)}, count")
    return dict(words)


@app.task("total")
async def total(ctx: Context) -> dict[str, int]:
    """Add up the counts: all of them are there."""
    print(f"begins {path_key(ctx.path)}, total")
    words: Counter[str] = Counter()
    async for task in ctx.client.all_tasks(tracking_id=ctx.tracking_id, kind="count"):
        words.update(task.result)
    print(f"ends   {path_key(ctx.path)}, total")
    return dict(words.most_common(2))


@app.task("note")
async def note(ctx: Context, told: str) -> None:
    """Write one line into the journal, which takes a moment in which no other task may write."""
    print(f"begins {path_key(ctx.path)}, note")
    page = len(journal)
    await asyncio.sleep(0)
    journal[page:] = [f"{page + 1}. {told}"]
    print(f"ends   {path_key(ctx.path)}, note")


async def report(client: Client, tracking_id: str) -> None:
    """Print the counts and the journal."""
    async for task in client.all_tasks(tracking_id=tracking_id):
        if task.kind != "note":
            print(f"{path_key(task.path)}, {task.kind}: {task.state}, {task.result}")
    print("\n".join(journal))


async def main(database: str) -> None:
    async with app.client(database) as client:
        root = await client.submit(split, "poem")
        await Worker(app, client, until_idle=True).run()
        await report(client, root.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/poem.db"))
        except StoreError as error:
            parser.error(str(error))
