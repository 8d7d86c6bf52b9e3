"""An app whose tasks ask for one another: every wish but the first is refused, each with its reason."""

from __future__ import annotations

from typing import Any

from ramet import App, Context, Limits, Retry

app = App(retry=Retry.SEED, limits=Limits(max_spawn_depth=3))


@app.task("listing", key=lambda payload: payload["key"])
async def listing(ctx: Context, payload: dict[str, Any]) -> None:
    """Asks for tasks, by kind and key."""
    for kind, key in payload.get("wants", ()):
        ctx.spawn(kind, {"key": key}, keep_edge=payload.get("keep_edge", True))


@app.task("company", key=lambda payload: payload["key"], unique="global")
async def company(ctx: Context, payload: dict[str, Any]) -> None:
    """One over all lineages."""
