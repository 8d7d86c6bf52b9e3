"""What a reader has before a page begins: a program of their own, and a database in which something happened."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import ramet
from ramet import App, Context, Limits
from ramet.testing import drain
from tests.docs.blocks import blocks
from tests.postgres.servers import databases

PROGRAM = '''"""The reader's own program."""

from ramet import App, Context

app = App()


@app.task("page", key=str)
async def page(ctx: Context, url: str) -> None:
    """Fetch it."""


@app.task("poll")
async def poll(ctx: Context) -> None:
    """Look."""
'''
FILES = ("module.py", "app.py", "shop/tasks.py")
PROMPTS = '{"id": "a1", "prompt": "Why is the sky blue?"}\n{"id": "a2", "prompt": "And at night?"}\n'
QUEUE = '{"id": "1", "kind": "page", "payload": "a"}\n{"id": "2", "kind": "page", "payload": "b", "parent_id": "1"}\n'
TRACKING_ID = "site"


class Page(BaseModel):
    """A payload of the reader's own."""

    url: str = "https://example.com/"
    website: str = ""
    name: str = ""


class Provider:
    """Somebody else's service."""

    async def send(self, *words: Any, **named: Any) -> str:
        """Take work."""
        return "job"


GIVEN: dict[str, Any] = {
    **{name: getattr(ramet, name) for name in ramet.__all__},
    "ramet": ramet, "Any": Any, "Page": Page, "Prompt": Page, "Text": Page, "Company": Page, "provider": Provider(),
    "url": "https://example.com/", "call": None, "fetch": None, "host_of": str, "model": None, "parts": None,
    "work": None, "collect": None,
}  # fmt: skip
"""What snippets take for granted: the public names, and things that every reader has of their own."""


def given() -> dict[str, Any]:
    """The names that a page begins with."""
    import asyncio

    return {**GIVEN, "asyncio": asyncio, "app": App(), "sys": sys}


@contextmanager
def servers(page: str) -> Iterator[str]:
    """The page with addresses of servers of the tests in the place of the reader's, where it has such."""
    acts = "".join(block.text for block in blocks(page) if block.language == "console" and not block.not_run)
    with ExitStack() as started:
        for address in (READERS_DATABASE, EMPTY_DATABASE):
            if address in acts:
                page = page.replace(address, started.enter_context(_database()))
        if MODEL_SERVER in acts:
            page = page.replace(MODEL_SERVER, started.enter_context(_model_server()))
        yield page


READERS_DATABASE = "postgresql://ramet@db.example/tasks"
EMPTY_DATABASE = "postgresql://..."
MODEL_SERVER = "http://localhost:8000"


@contextmanager
def _database() -> Iterator[str]:
    url = databases().create()
    try:
        yield url
    finally:
        databases().drop(url)


@contextmanager
def _model_server() -> Iterator[str]:
    command = [sys.executable, "-m", "ramet.llm.testing", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip().removesuffix("/v1")
        finally:
            running.terminate()


async def prepare(folder: Path) -> dict[str, str]:
    """A program in ``folder``, and a database with a crawl that met its limit; ids of a task and its lineage."""
    for name in FILES:
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(PROGRAM, encoding="utf-8")
    (folder / "prompts.jsonl").write_text(PROMPTS, encoding="utf-8")
    (folder / "queue.jsonl").write_text(QUEUE, encoding="utf-8")
    app = App(limits=Limits(max_tasks=5))

    @app.task("page", key=str)
    async def page(ctx: Context, url: str) -> None:
        for later in ("login", "later"):
            ctx.spawn(page, f"{url}{later}", delay_seconds=3_600.0)
        for below in ("a", "b", "c"):
            ctx.spawn(page, f"{url}{below}/")
        ctx.spawn(page, url)

    async with app.client(folder / "ramet.db") as client:
        root = await client.submit(page, "https://example.com/", tracking_id=TRACKING_ID)
        await drain(app, client)
        [*_, later] = (await client.tasks(tracking_id=TRACKING_ID, states=["pending"])).tasks
    return {"TASK_ID": later.id, "TRACKING_ID": root.tracking_id}
