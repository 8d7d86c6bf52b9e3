"""An app whose handler spends money from a child process."""

from __future__ import annotations

from ramet import App, Context, CostRefused, Limits, Retry

app = App(retry=Retry.SEED, limits=Limits(max_cost=100, max_attempts=1))


@app.task("ask")
async def ask(ctx: Context, price: int) -> str:
    try:
        call = await ctx.reserve(2 * price)
    except CostRefused as error:
        return f"refused: {error}"
    await call.settle(price)
    ctx.charge(7)
    return "asked"
