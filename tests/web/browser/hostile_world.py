"""A database in which every text that somebody can bring is one of the payloads, or all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ramet import App, Client, Context, Limits, Permanent, ResourcePolicy, Transient
from ramet.model.flow.resources import WorkerStatus
from ramet.testing import drain
from tests.web.browser.payloads import ALL, PAYLOADS

app = App()
ELEMENT_CHARACTERS = 250
"""Of an element of a path, in whatever characters."""


class Hostile(NamedTuple):
    """What was made."""

    tasks: tuple[str, ...]
    """A root for each payload."""
    failed: str
    """A task whose payload and error are all of them."""
    failures: tuple[str, ...]
    """Every task that failed."""
    alerts: tuple[int, ...]


@app.task("echo", key=lambda payload: payload["key"])
async def echo(ctx: Context, payload: dict[str, Any]) -> dict[str, str]:
    """Says what it is given in every way in which a handler can speak."""
    text = payload["text"]
    await ctx.progress(1, 2, text)
    for below in ("fails", "again", "small"):
        ctx.spawn(below, {"key": f"{payload['key']} {below}"[:400], "text": text})
    ctx.spawn("fails", {"key": f"stopped {payload['key']}"[:400], "text": text})
    return {"said": text, text: text}


@app.task("fails", key=lambda payload: payload["key"], resource=lambda payload: payload["text"][:250])
async def fails(ctx: Context, payload: dict[str, Any]) -> None:
    """Fails for good."""
    raise Permanent(payload["text"], payload["text"])


@app.task("again", key=lambda payload: payload["key"], limits=Limits(max_attempts=1))
async def again(ctx: Context, payload: dict[str, Any]) -> None:
    """Fails for now."""
    raise Transient(payload["text"])


@app.task("small", key=lambda payload: payload["key"])
async def small(ctx: Context, payload: dict[str, Any]) -> Any:
    """Is filtered."""
    return ctx.filter(payload["text"])


async def furnish(client: Client) -> Hostile:
    """Each payload as the name of everything that has a name, and as everything that is said."""
    await client.stop("pattern", "stopped *", by=ALL[:200], reason=ALL)
    roots = []
    for text in PAYLOADS.values():
        path = [text[:ELEMENT_CHARACTERS], "below"]
        made = await client.submit("echo", {"key": text, "text": text}, tracking_id=text, path=path)
        roots.append(made.id)
    big = await client.submit("fails", {"key": ALL[:500], "text": ALL}, tracking_id="all of them")
    await drain(app, client, advance=False)
    for _ in range(4):
        failed = [task.id async for task in client.all_tasks(states=["failed"])]
        await client.revive(failed, by=ALL[:200], reason=ALL)
        await drain(app, client, advance=False)
    for number, text in enumerate(PAYLOADS.values()):
        await _operate(client, number, text)
    alerts = await client.check_alerts()
    await client.acknowledge_alert(alerts[0].id, by=ALL[:200], reason=ALL)
    failures = [task.id async for task in client.all_tasks(states=["failed"])]
    return Hostile(tuple(roots), big.id, tuple(failures), tuple(alert.id for alert in alerts))


async def _operate(client: Client, number: int, text: str) -> None:
    who: dict[str, Any] = {"by": text, "reason": text}
    await client.pause_queue(text, **who)
    await client.limit("kind", text, 3, **who)
    await client.limit_resource(ResourcePolicy(text[:250].replace("*", "×"), concurrency=1), **who)
    await client.open_breaker(text[:250], **who)
    await client.stop("pattern", f"no such thing {text}"[:500], **who)
    await client.store.see_worker(WorkerStatus(text, text, number, (text,), (text,), 1))
    await client.schedules.add("echo", {"key": text, "text": text}, name=f"s{number}", cron="@hourly", by=text)
    await client.schedules.pause(f"s{number}", **who)
    held, path = f"held {text}"[:400], [text[:ELEMENT_CHARACTERS]] * 2
    await client.submit(text[:200], {"key": text}, key=text, queue="odd", tracking_id=held, path=path)
    await client.submit(text[:200], {"key": text}, key=text, queue="odd", path=path)
    client._puller = text  # The name under which this program claims, which another one chooses for itself.
    await client.claim(text[:200], queues=["odd"])
    await client.pause_lineage(held, **who)
