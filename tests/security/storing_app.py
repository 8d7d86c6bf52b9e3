"""An app whose handlers do with a text what their payload says: every place where a handler's text is stored."""

from __future__ import annotations

from typing import Any

from ramet import App, Context, Limits, Outcome, RetryAfter

OWN = "CREATE TABLE IF NOT EXISTS mine (said TEXT)"
app = App(limits=Limits(max_attempts=1))


@app.task("child", key=None)
async def child(ctx: Context, payload: dict[str, Any]) -> None:
    """Nothing; pulled in by the others."""


async def _stored(ctx: Context, how: str, text: Any) -> Any:
    match how:
        case "result":
            return {"said": text}
        case "name in result":
            return {text: 1}
        case "skip":
            return ctx.skip(text)
        case "filter":
            return ctx.filter(text)
        case "fail":
            return ctx.fail(text)
        case "error":
            raise RuntimeError(text)
        case "snooze":
            return ctx.snooze(86_400, text)
        case "retry after":
            raise RetryAfter(86_400, text)
        case "progress":
            await ctx.progress(1, 2, text)
        case "stage":
            await ctx.checkpoint(text, {"a": 1})
        case "state":
            await ctx.checkpoint("next", {"said": text})
        case "key":
            ctx.spawn("child", {}, key=text)
        case "payload":
            ctx.spawn("child", {"said": text}, key="payload")
        case "queue":
            ctx.spawn("child", {}, key="queue", queue=text)
        case "path":
            ctx.spawn("child", {}, key="path", path=[text])
        case "at once":
            await ctx.spawn_now("child", {"said": text}, key="at once")
        case "write":
            ctx.write("INSERT INTO mine (said) VALUES (?)", [text])
        case "transaction":
            await ctx.transaction([("INSERT INTO mine (said) VALUES (?)", [text])])
        case "call":
            await ctx.reserve(1, name=text)
    return None


PLACES = (
    "result",
    "name in result",
    "skip",
    "filter",
    "fail",
    "error",
    "snooze",
    "retry after",
    "progress",
    "stage",
    "state",
    "key",
    "payload",
    "queue",
    "path",
    "at once",
    "write",
    "transaction",
    "call",
)
TEXTS: dict[str, Any] = {}
"""What a payload names; filled by the test, in whose process the handlers run."""


@app.task("taking", key=None)
async def taking(ctx: Context, payload: dict[str, str]) -> Outcome | Any:
    """Store the named text in the named place."""
    return await _stored(ctx, payload["how"], TEXTS[payload["text"]])
