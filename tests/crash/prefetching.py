"""A worker that fetches a thousand tasks ahead: ``python -m tests.crash.prefetching DATABASE FOLDER``.

Its handlers run until there is a file named ``go`` in the folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ramet import App, Context, Worker
from tests.support.fakes import Greedy

FETCHED = 1_004
CONCURRENCY = 4
LOOK_SECONDS = 0.01

app = App()


@app.task("held")
async def held(ctx: Context, number: int) -> int:
    while True:
        if (Path(os.environ["RAMET_TEST_FOLDER"]) / "go").exists():
            return number
        await asyncio.sleep(LOOK_SECONDS)


async def main(database: str, folder: str) -> None:
    os.environ["RAMET_TEST_FOLDER"] = folder
    async with app.client(database) as client:
        worker = Worker(app, client, target="tests.crash.prefetching:app", concurrency=CONCURRENCY, until_idle=True,
                        poll_seconds=0.05, sweep_seconds=0.05)  # fmt: skip
        worker._pace = Greedy(FETCHED)  # type: ignore[assignment]
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
