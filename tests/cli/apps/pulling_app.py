"""An app with a poller: items that no worker claims, and a schedule whose task takes fifteen of them at a time.

A module of its own, because the commands about kinds and schedules list all of the sample app's. Handlers do nothing:
the tests count who ran.
"""

from __future__ import annotations

from ramet import App, Context, Limits

ITEMS_MAX = 15
"""Items of one invocation: forty of them take three, more than the default chain depth would allow in the seed."""

app = App()


@app.task("item", pulled=True)
async def item(ctx: Context, n: int) -> int:
    """Return its number."""
    return n


@app.schedule(pulls=[item])
@app.task("poll", limits=Limits(invocation_items=ITEMS_MAX))
async def poll(ctx: Context) -> int:
    """Take what is due."""
    return (await ctx.invoke([item])).claimed
