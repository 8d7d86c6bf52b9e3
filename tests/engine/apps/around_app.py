"""An app with something around its handlers; each of its processes writes what it does into a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ramet import App, Context, SyncContext, TaskEvent, Transient

app = App()
told: list[tuple[str, str]] = []
"""(event, kind), in the process that told of it."""


def note(sign: str) -> None:
    folder = os.environ.get("RAMET_TEST_AROUND")
    if folder:
        (Path(folder) / f"{sign}-{os.getpid()}").touch()


@app.lifespan
async def resources(app: App) -> AsyncIterator[dict[str, int]]:
    if "RAMET_TEST_CANNOT_OPEN" in os.environ:
        raise ConnectionError("no answer")
    note("opened")
    yield {"opened_by": os.getpid()}
    note("closed")
    if "RAMET_TEST_CANNOT_CLOSE" in os.environ:
        raise ConnectionError("gone already")


@app.middleware
async def around(ctx: Any) -> AsyncIterator[None]:
    yield
    note(f"around-{ctx.kind}")


for name in ("start", "success", "failure", "retry", "block"):

    @app.on(name)
    def tell(event: TaskEvent) -> None:
        told.append((event.name, event.kind))


@app.task("work")
async def work(ctx: Context) -> list[int]:
    if ctx.attempt == 1:
        raise Transient("once more")
    return [ctx.lifespan["opened_by"], os.getpid()]


@app.task("isolated", process=True)
def isolated(ctx: SyncContext) -> list[int]:
    sys.stdout.write("printed by a handler\n")
    return [ctx.lifespan["opened_by"], os.getpid()]
