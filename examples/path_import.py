"""An import with records and validation: everything waits for what is above it, and for nothing beside it.

The import runs first, on ``["import-123"]``. Its records are below it, side by side; the validation of a record is
below that record. The task that finishes the import is on the path of the import itself, behind all of them, so it
runs when they have ended, in whatever state: fan-in without another mechanism. If a record fails, its
validation is skipped, and nothing else. When the row is corrected and the record retried, its validation comes back
behind it.
"""

import argparse
import asyncio
import tempfile
from collections import Counter

from ramet import App, Client, Context, Permanent, StoreError, Worker, path_key

ROWS = {
    "1": {"born": "1815-12-10", "name": "Ada Lovelace"},
    "2": {"born": "unknown", "name": "Alan Turing"},
    "3": {"born": "1906-12-09", "name": "Grace Hopper"},
}
"""Rows of the file."""
CORRECTED = "1912-06-23"

people: dict[str, tuple[int, str]] = {}
"""Imported people: year of birth and name."""
app = App()


@app.task("import", path=lambda name: [name])
async def load(ctx: Context, name: str) -> int:
    """Read the file and spawn all the work, in order: it begins after this task."""
    print(f"begins {path_key(ctx.path)}")
    for row in ROWS:
        place = [*ctx.path, f"record-{row}"]
        ctx.spawn(record, row, path=place)
        ctx.spawn(validate, row, path=[*place, "validate"])
    ctx.spawn(finish, path=ctx.path)
    print(f"ends   {path_key(ctx.path)}")
    return len(ROWS)


@app.task("record")
async def record(ctx: Context, row: str) -> None:
    """Import one row, if its fields make sense."""
    print(f"begins {path_key(ctx.path)}")
    for field, value in ROWS[row].items():
        await asyncio.sleep(0)  # all other records go on meanwhile
        if field == "born" and not value[:4].isdigit():
            print(f"fails  {path_key(ctx.path)}")
            raise Permanent(f"born {value!r} is no date")
    people[row] = int(ROWS[row]["born"][:4]), ROWS[row]["name"]
    print(f"ends   {path_key(ctx.path)}")


@app.task("validate")
async def validate(ctx: Context, row: str) -> str:
    """Check one record once it is imported."""
    print(f"begins {path_key(ctx.path)}")
    born, name = people[row]
    print(f"ends   {path_key(ctx.path)}")
    return f"{name} is sound" if born > 1800 else f"{name} is too old"


@app.task("finish")
async def finish(ctx: Context) -> dict[str, int]:
    """Count the ends of all tasks below its path: none of them is still running."""
    print(f"begins {path_key(ctx.path)}, to finish")
    below = [task async for task in ctx.client.all_tasks(tracking_id=ctx.tracking_id) if task.path > ctx.path]
    print(f"ends   {path_key(ctx.path)}, to finish")
    return dict(Counter(f"{task.kind} {task.state}" for task in below))


async def report(client: Client, tracking_id: str) -> None:
    """Print what became of each task."""
    async for task in client.all_tasks(tracking_id=tracking_id):
        told = task.reason or task.result
        print(f"{path_key(task.path)}, {task.kind}: {task.state}" + (f", {told}" if told is not None else ""))


async def main(database: str) -> None:
    async with app.client(database) as client:
        root = await client.submit(load, "import-123")
        await Worker(app, client, until_idle=True).run()
        await report(client, root.tracking_id)
        for failed in (await client.tasks(tracking_id=root.tracking_id, states=["failed"])).tasks:
            print(f"row {failed.payload} is corrected, and its record revived")
            ROWS[failed.payload]["born"] = CORRECTED
            await client.revive([failed.id], by="example", reason="the row is corrected")
        await Worker(app, client, until_idle=True).run()
        await report(client, root.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/import.db"))
        except StoreError as error:
            parser.error(str(error))
