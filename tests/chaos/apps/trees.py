"""What is no pipeline: trees that grow, lines of paths, poison, a crawler, and an agent that does what a model says.

The trees are those of the fault tests, the crawler looks at sites without an end. All others note what they do in the
effect log and keep an effect with their end, so that the checker can tell what was done twice, under which claim, and
while who else was at it.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import urllib.request
from typing import Any

from pydantic import BaseModel

from ramet import App, Context, Limits, Permanent, Retry, SyncContext, Transient
from tests.faults import fault_app
from tests.faults.effects import note
from tests.hostile.crawler import MAPPING, OverHttp, add_crawler

LINEAGE_SECONDS = 180.0
LIMITS = Limits(lineage_seconds=LINEAGE_SECONDS, task_seconds=120.0, invocation_seconds=20.0, max_attempts=4)
POISON = Limits(
    lineage_seconds=LINEAGE_SECONDS, task_seconds=60.0, invocation_seconds=1.5, max_attempts=2
)  # fmt: skip
ERRANDS = Limits(
    lineage_seconds=LINEAGE_SECONDS, task_seconds=60.0, invocation_seconds=30.0, max_attempts=4,
    max_fan_out=40, max_tasks=120, max_spawn_depth=3,
)  # fmt: skip
"""What an errand may come to, whatever a model says."""
MEMORY_BYTES = 50_000_000
ONE_OF = 7
"""So many things there are one of in all lineages."""

app = App(retry=Retry.SEED, tables=fault_app.TABLES, limits=LIMITS)
app.task("async", key=fault_app.key_of)(fault_app.in_the_loop)
app.task("thread", key=fault_app.key_of)(fault_app.in_a_thread)
add_crawler(app, OverHttp(os.environ.get(MAPPING, "")))


class Spot(BaseModel):
    """A place in a line."""

    name: str
    path: list[str]
    deeper: int = 0
    """So many levels below it are to be visited as well."""
    seconds: float = 0.02


@app.task("line", key=lambda spot: spot.name, path=lambda spot: spot.path)
async def line(ctx: Context, spot: Spot) -> None:
    """Be in a place for a while, alone, then have what is below it visited."""
    note(ctx.token, "began")
    note(ctx.token, "entered", json.dumps(spot.path))
    await asyncio.sleep(spot.seconds)
    fault_app.keep(ctx, "second")
    for n in range(2 if spot.deeper else 0):
        below = Spot(name=f"{spot.name}.{n}", path=[*spot.path, str(n)], deeper=spot.deeper - 1, seconds=spot.seconds)
        ctx.spawn("line", below)
    ctx.spawn("once", sum(spot.name.encode()) % ONE_OF)
    note(ctx.token, "left", json.dumps(spot.path))


@app.task("once", key=str, unique="global", unique_seconds=20.0)
async def once(ctx: Context, number: int) -> None:
    """There is one of these at a time, wherever it was asked for."""
    note(ctx.token, "began")
    fault_app.keep(ctx, "second")


@app.schedule(every_seconds=5.0, payload={})
@app.task("beat")
async def beat(ctx: Context, payload: dict[str, Any]) -> None:
    """Comes again and again."""
    note(ctx.token, "began")
    fault_app.keep(ctx, "second")


# --- poison


@app.task("poison.crash", key=str, limits=POISON)
async def crash(ctx: Context, number: int) -> None:
    """A segmentation fault, in the process that all share."""
    note(ctx.token, "began")
    ctypes.string_at(0)


@app.task("poison.memory", key=str, limits=POISON, process=True, memory_bytes_max=MEMORY_BYTES)
def memory(ctx: SyncContext, number: int) -> int:
    """More memory than it may have."""
    note(ctx.token, "began")
    return len(bytearray(10 * MEMORY_BYTES))


@app.task("poison.regex", key=str, limits=POISON)
async def regex(ctx: Context, number: int) -> None:
    """A regular expression that never comes back, and holds the interpreter."""
    note(ctx.token, "began")
    re.match(r"(a+)+$", "a" * 64 + "b")


# --- an agent


class Errand(BaseModel):
    """What an agent is to read, and ask a model about."""

    name: str
    model_url: str
    page: str
    """Whatever somebody wrote."""


ALLOWED = frozenset({"agent"})
"""Kinds that an answer may ask for."""
ORDER = re.compile(r"spawn (\d+) ([a-z.]+)")


@app.task("agent", key=lambda errand: errand.name, limits=ERRANDS)
def agent(ctx: SyncContext, errand: Errand) -> dict[str, int]:
    """Ask the model what to do about a page, and do it: where it is allowed, and as far as the limits let it."""
    note(ctx.token, "began")
    asked = refused = 0
    for count, kind in ORDER.findall(answer_of(errand)):
        if kind not in ALLOWED:
            refused += int(count)
            continue
        # A page that a child reads is as hostile, and asks for less: each order costs a look of the guard's.
        page = errand.page.replace(count, "100")
        for n in range(int(count)):
            ctx.spawn(kind, Errand(name=f"{errand.name}.{n}", model_url=errand.model_url, page=page))
        asked += int(count)
    fault_app.keep(ctx, "second")
    return {"asked": asked, "refused": refused}


def answer_of(errand: Errand) -> str:
    """What the model says to a page."""
    body = {"model": "small", "messages": [{"role": "user", "content": errand.page}], "max_tokens": 100}
    request = urllib.request.Request(
        f"{errand.model_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            said = json.load(answer)
    except OSError as error:
        raise Transient(f"the model cannot be asked: {error}") from error
    try:
        return str(said["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError) as error:
        raise Permanent(f"the model said {said!r:.200}") from error
