"""An app whose handlers take from buckets, for a child process to import."""

from __future__ import annotations

from ramet import App, Context, Retry

app = App(retry=Retry.SEED)
app.resource("api:*", rate_per_second=0.001, burst=3)


@app.task("ask")
async def ask(ctx: Context, amount: int) -> str:
    """Take so much, or from what is switched off; tell the answer."""
    seconds = await ctx.take({"api:requests": amount} if amount else {"off": 1})
    await ctx.adapt("api:requests", limit_per_minute=60)
    return f"{seconds:.0f}"
