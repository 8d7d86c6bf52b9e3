"""An app whose tasks stand in line, are tried again, break a resource, and run for as long as a test looks at them."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

from ramet import App, Context, Limits, Permanent, Transient

PRINTER = "host:press.example"
DOCUMENTS = ("atlas", "cookbook", "manual")
PAGES = 4
HELD = 6
"""Claims that two workers hold in the end: a page of each document, and so many letters."""

app = App(limits=Limits(max_tasks=40))
app.resource(PRINTER, breaker_failures=3, cooldown_seconds=3_600.0)
app.resource("letters", concurrency=3)


class Held:
    """How many handlers are held up, and when it is all of them. Workers have loops of their own."""

    def __init__(self) -> None:
        self.everybody = threading.Event()
        self._number = itertools.count(1)

    async def hold(self) -> None:
        """Never returns: the worker is stopped under it."""
        if next(self._number) == HELD:
            self.everybody.set()
        await asyncio.Event().wait()


held: list[Held] = []
"""The one in force; none: nobody is held up."""


@app.task("document", key=str)
async def document(ctx: Context, name: str) -> dict[str, Any]:
    """Its pages side by side, then its binding, which waits for them; the table of contents is wanted twice."""
    for number in range(1, PAGES + 1):
        ctx.spawn(page, {"document": name, "page": number}, path=[name, f"page-{number}"])
    for _ in range(2):
        ctx.spawn("contents", name, keep_edge=True)
    ctx.spawn("binding", name, path=[name])
    return {"pages": PAGES}


@app.task("page", key=lambda payload: f"{payload['document']}, page {payload['page']}", limits=Limits(max_attempts=3))
async def page(ctx: Context, payload: dict[str, Any]) -> dict[str, Any]:
    """Page 2 is tried twice; page 3 of the atlas until its attempts are used up."""
    if payload["page"] == 2 and ctx.attempt == 1:
        raise Transient("the layout server answered 503 Service Unavailable")
    if payload["page"] == 3 and payload["document"] == DOCUMENTS[0]:
        raise Transient("TimeoutError: no answer from layout.example within 30 s")
    if held and payload["page"] == 1:
        await held[0].hold()
    return {"words": 300 + payload["page"]}


@app.task("contents", key=lambda name: f"{name}, contents")
async def contents(ctx: Context, name: str) -> None:
    """Wants the document that wants it, which is a circle; that of the first document asks again and again."""
    for _ in range(6 if name == DOCUMENTS[0] else 1):
        await ctx.spawn_now(document, name)


@app.task("binding", key=lambda name: f"{name}, binding", on_dependency_failure="run")
async def binding(ctx: Context, name: str) -> None:
    """Prints."""
    ctx.spawn("print", name)


@app.task("print", key=lambda name: f"{name}, print", resource=PRINTER, queue="bindery")
async def printed(ctx: Context, name: str) -> None:
    """The press is out of order."""
    raise Transient(f"connection to {PRINTER.partition(':')[2]} refused")


@app.task("letter", key=str, resource="letters", queue="post")
async def letter(ctx: Context, to: str) -> str:
    """Some addresses do not exist."""
    if to.startswith("nobody"):
        raise Permanent(f"550 no such mailbox: {to}")
    if held and to.startswith("editor"):
        await held[0].hold()
    return "sent"


@app.task("edition", key=str)
async def edition(ctx: Context, name: str) -> dict[str, int]:
    """Joins its articles, then what the first of them led to."""
    if ctx.joined is None:
        ctx.spawn("article", f"{name}, cover story")
        ctx.spawn("article", f"{name}, letters")
        return ctx.join()  # type: ignore[return-value]
    if ctx.joined.round == 1:
        ctx.spawn("article", f"{name}, index")
        return ctx.join()  # type: ignore[return-value]
    return {"rounds": ctx.joined.round}


@app.task("article", key=str)
async def article(ctx: Context, name: str) -> int:
    """What an edition waits for."""
    return len(name)


@app.task("proof", key=str, queue="readers")
async def proof(ctx: Context, name: str) -> None:
    """Served by nobody but a person."""


@app.task("nightly", key=str)
async def nightly(ctx: Context, name: str) -> None:
    """What a schedule runs."""
    ctx.spawn(letter, f"reader@{name}.example")
