"""What a handler asks for and can never be kept ends its task at the first attempt: another try asks for the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ramet import App, Client, Context, InvalidPath, InvalidText, Limits, PayloadTooLarge, SyncContext, Worker, url_key
from tests.invariants.check import violations
from tests.support.backends import Backend

LARGE = "x" * 200
Handler = Callable[[Context], Coroutine[Any, Any, Any]]


async def _spawns(ctx: Context) -> None:
    ctx.spawn("child", LARGE)


async def _spawns_now(ctx: Context) -> None:
    await ctx.spawn_now("child", LARGE)


async def _returns(ctx: Context) -> Any:
    return LARGE


async def _returns_no_text(ctx: Context) -> Any:
    return "a\ud800"


async def _returns_no_number(ctx: Context) -> Any:
    return float("nan")


async def _names_no_text(ctx: Context) -> None:
    ctx.spawn("child", "a", queue="a\0b")


async def _names_no_path(ctx: Context) -> None:
    ctx.spawn("child", "a", path=[""] * 1_000)


async def _makes_no_key(ctx: Context) -> None:
    url_key("no address at all")


HANDLERS: dict[str, Handler] = {
    "spawn": _spawns, "spawn_now": _spawns_now, "result": _returns, "half a character": _returns_no_text,
    "no number": _returns_no_number, "queue": _names_no_text, "path": _names_no_path, "key": _makes_no_key,
}  # fmt: skip


def unfit_app() -> App:
    app = App(limits=Limits(payload_bytes_max=150, max_attempts=4))

    @app.task("child")
    async def child(ctx: Context, text: str) -> None: ...

    @app.task("asks", key=str)
    async def asks(ctx: Context, how: str) -> Any:
        return await HANDLERS[how](ctx)

    @app.task("threaded", key=str)
    def threaded(ctx: SyncContext, how: str) -> Any:
        ctx.spawn("child", LARGE)

    return app


async def test_what_can_never_be_kept_is_tried_once(backend: Backend) -> None:
    app = unfit_app()
    async with app.client(backend.address) as client:
        ids = {how: (await client.submit("asks", how)).id for how in HANDLERS}
        ids["thread"] = (await client.submit("threaded", "spawn")).id
        await Worker(app, client, until_idle=True).run()
        for how, task_id in ids.items():
            history = await client.history(task_id)
            assert history is not None
            assert (history.task.state, len(history.attempts)) == ("failed", 1), how
        assert await violations(client.store) == []


async def test_a_puller_that_reports_it_ends_the_task_as_well(backend: Backend) -> None:
    app = unfit_app()
    async with app.client(backend.address) as client:
        for error in (PayloadTooLarge("a"), InvalidText("b"), InvalidPath("c")):
            submitted = await client.submit("asks", type(error).__name__)
            [claim] = await client.claim("asks")
            await claim.fail(error)
            assert await _state(client, submitted.id) == "failed"


async def _state(client: Client, task_id: str) -> str:
    task = await client.get(task_id)
    assert task is not None
    return task.state
