"""An app for a handler process that invokes: how often items began is counted in a file."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from ramet import App, Context, Limits, Outcome
from tests.engine.apps.child_app import Meeting

ITEMS_MAX = 5
CHAIN_MAX = 1

app = App()


class Numbered(BaseModel):
    """An item, and the file to which it adds a line when it begins."""

    n: int
    file: str


def _note(file: Path, n: int) -> None:
    with file.open("a", encoding="ascii") as lines:
        lines.write(f"{n}\n")


@app.task("item", pulled=True, key=lambda numbered: str(numbered.n))
async def item(ctx: Context, numbered: Numbered) -> Outcome | None:
    """Write down that it began; number 2 waits until it is told to go on, once."""
    _note(Path(numbered.file), numbered.n)
    meeting = Meeting(folder=str(Path(numbered.file).parent), name="item")
    if numbered.n == 2 and not meeting.seen("go"):
        meeting.put("began")
        await meeting.until("go")
    return None


@app.task("poll", limits=Limits(invocation_items=ITEMS_MAX, max_chain_depth=CHAIN_MAX))
async def poll(ctx: Context) -> Outcome | None:
    """Take what there is, again and again."""
    told = await ctx.invoke(["item"], concurrency=2, wait=False)
    return ctx.continue_later() if told.left else None
