"""An app whose handlers log a word, in every way in which a handler can run."""

from __future__ import annotations

import logging

from ramet import App, BatchContext, Context, SyncContext

app = App()
log = logging.getLogger("logging_app")


@app.task("coroutine")
async def coroutine(ctx: Context) -> None:
    log.info("hello", extra={"told": ctx.id})


@app.task("thread")
def thread(ctx: SyncContext) -> None:
    log.info("hello", extra={"told": ctx.id})


@app.task("process", process=True)
def process(ctx: SyncContext) -> None:
    log.info("hello", extra={"told": ctx.id})


@app.task("batch", batch=10)
async def batch(ctx: BatchContext) -> None:
    log.info("hello", extra={"told": [task.id for task in ctx]})
