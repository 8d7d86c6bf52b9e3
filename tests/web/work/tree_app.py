"""The Python half of a tree of questions that two languages answer; `typescript/tree_worker.ts` is the other.

Its places and answers are those of :mod:`tests.crash.join_tree_app`; a part that was refused for the budget is empty.
"""

from __future__ import annotations

from ramet import App, Context, Retry
from tests.crash.join_tree_app import FAN_OUT, LEVELS

app = App(retry=Retry.SEED)


@app.task("ask", key=str)
async def ask(ctx: Context, place: str) -> object:
    """Answer with the place, and the answers of all that is below it, in the order of the spawns."""
    if len(place) <= LEVELS and ctx.joined is None:
        for number in range(FAN_OUT):
            ctx.spawn(ask, f"{place}{number}")
        return ctx.join()
    return f"{place}({' '.join(part.result or '' for part in ctx.joined or ())})"
