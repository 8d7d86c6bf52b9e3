"""A small world with something of everything, and hostile text in it, for tests of pages and the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ramet import App, Client, Context, Limits, Permanent, Retry, Transient
from ramet.testing import drain, fresh_client
from tests.postgres import database_pool

HOSTILE = "<script>alert(1)</script>\"'&{{7919*6101}}"
ODD = "a/b c?d=1#e%2f/../<b>&\"'\u202e"
"""A tracking id with all that means something in an address."""


class World(NamedTuple):
    """What was made."""

    app: App
    client: Client
    root: str
    """A root with children of several kinds and states."""
    failed: str
    waiting: str
    """Behind another on its path."""


def make_app() -> App:
    """Handlers for every end."""
    app = App(retry=Retry.SEED)

    @app.task("root", key=str)
    async def root(ctx: Context, name: str) -> Any:
        for number in range(30):
            ctx.spawn("leaf", number, key=f"{name} {number}")
        ctx.spawn("leaf", 0, key=f"{name} 0")
        ctx.spawn("fails", HOSTILE, key=HOSTILE)
        ctx.spawn("deep", 3, key="3")
        return {"said": HOSTILE}

    @app.task("leaf")
    async def leaf(ctx: Context, number: int) -> Any:
        return ctx.filter(f"too small: {HOSTILE}") if number % 3 == 0 else None

    @app.task("fails", limits=Limits(max_attempts=2))
    async def fails(ctx: Context, text: str) -> None:
        if text == "again":
            raise Transient(text)
        raise Permanent(text)

    @app.task("deep")
    async def deep(ctx: Context, left: int) -> None:
        if left:
            ctx.spawn("deep", left - 1, key=str(left - 1))

    return app


@asynccontextmanager
async def world(folder: Path, database: str | None = None) -> AsyncIterator[World]:
    """A database in which some lineages ended, one runs, one is paused."""
    app = make_app()
    async with fresh_client(app, folder=folder, database=database) as client:
        made = await client.submit("root", "seed", key="seed", tracking_id=ODD)
        await drain(app, client)
        [failed] = (await client.tasks(tracking_id=ODD, states=["failed"])).tasks
        first = await client.submit("elsewhere", key="1", path=[HOSTILE], tracking_id="running")
        second = await client.submit("elsewhere", key="2", path=[HOSTILE, "below"], tracking_id="behind")
        await client.submit("leaf", 1, key="later", delay_seconds=3_600, tracking_id="..")
        await client.pause_lineage("..", by="ada", reason=HOSTILE)
        assert first.created
        yield World(app, client, made.id, failed.id, second.id)


@contextmanager
def database_of(backend: str) -> Iterator[str | None]:
    """The address of a fresh database, None for a file."""
    if backend == "sqlite":
        yield None
        return
    url = database_pool.take()
    try:
        yield url
    finally:
        database_pool.give_back(url)
