"""An app whose handlers hold keys and switch resources off, in a process of their own too."""

from __future__ import annotations

from typing import Any

from ramet import App, Context, Permanent, SyncContext

app = App()
OFF = "the board is gone (404)"


def source_of(payload: dict[str, Any]) -> str | None:
    """The payload names it."""
    source: str | None = payload.get("source")
    return source


@app.task("held", unique="global", unique_seconds=3_600.0, key=lambda payload: payload["key"], resource=source_of)
async def held(ctx: Context, payload: dict[str, Any]) -> Any:
    """Ask, and end as the payload says."""
    return await _ask(ctx, payload)


@app.task("plain", unique="global", unique_seconds=3_600.0, key=lambda payload: payload["key"], resource=source_of)
def plain(ctx: SyncContext, payload: dict[str, Any]) -> Any:
    """Ask, in a thread."""
    _say(ctx, payload)
    if payload.get("checkpoint"):
        ctx.checkpoint("half")
    return _end(ctx, payload)


@app.task("apart", unique="global", unique_seconds=3_600.0, process=True, key=lambda payload: payload["key"],
          resource=source_of)  # fmt: skip
async def apart(ctx: Context, payload: dict[str, Any]) -> Any:
    """Ask, in a process."""
    return await _ask(ctx, payload)


async def _ask(ctx: Context, payload: dict[str, Any]) -> Any:
    _say(ctx, payload)
    if payload.get("checkpoint"):
        await ctx.checkpoint("half")
    return _end(ctx, payload)


def _say(ctx: Context | SyncContext, payload: dict[str, Any]) -> None:
    if "hold" in payload:
        ctx.hold_key(payload["hold"])
    if payload.get("source"):
        ctx.switch_off(OFF)


def _end(ctx: Context | SyncContext, payload: dict[str, Any]) -> Any:
    if payload.get("end") == "raise":
        raise Permanent("broken")
    return ctx.filter("no") if payload.get("end") == "filter" else None
