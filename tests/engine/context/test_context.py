"""What a handler asks for: buffered things commit with its end, called ones when called, and nothing half-way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ramet import App, BlockReason, Client, Context, Limits, PayloadTooLarge, Retry, SyncContext, Transient, UnknownKind
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS, until, worked_off, working

TABLE = "CREATE TABLE IF NOT EXISTS effects (task TEXT, effect TEXT, value, UNIQUE (task, effect))"
WRITE = "INSERT INTO effects (task, effect, value) VALUES (?, ?, ?)"
AT_ONCE = random.Random(0)
AT_ONCE.random = lambda: 0.0  # type: ignore[method-assign]
"""Full jitter that always draws nothing: retries are due at once."""


@pytest.fixture
def app() -> App:
    app = App(retry=Retry.SEED, tables=[TABLE], limits=Limits(max_attempts=2))

    @app.task("child")
    async def child(ctx: Context, key: str) -> None: ...

    return app


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def effects(client: Client) -> list[str]:
    return sorted(row[0] for row in await client.read("SELECT effect FROM effects"))


async def children(client: Client, parent_id: str) -> list[str]:
    return sorted(task.key for task in (await client.tasks(parent_id=parent_id)).tasks)


async def stands_as(client: Client, task_id: str) -> Any:
    task = await client.get(task_id)
    assert task is not None
    return task


# --- buffered ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["success", "filtered", "skipped", "failed"])
async def test_everything_buffered_commits_with_the_end(app: App, client: Client, how: str) -> None:
    seen: list[Any] = []

    @app.task("parent")
    async def parent(ctx: Context, how: str) -> Any:
        ctx.spawn("child", "a")
        ctx.spawn("child", "b", key="chosen", priority=7, queue="default")
        ctx.write(WRITE, (ctx.id, "one", 1))
        ctx.write(WRITE, (ctx.id, "two", b"\x00\xff"))
        ends: dict[str, Callable[[], Any]] = {
            "success": lambda: {"done": True},
            "filtered": lambda: ctx.filter("why"),
            "skipped": lambda: ctx.skip("why"),
            "failed": lambda: ctx.fail("why"),
        }
        seen.append((await effects(ctx.client), await children(ctx.client, ctx.id)))
        return ends[how]()

    submitted = await client.submit(parent, how)
    await worked_off(app, client)
    task = await stands_as(client, submitted.id)
    assert seen == [([], [])], "nothing shows before the end"
    assert task.state == how
    assert task.reason == (None if how == "success" else "why")
    assert task.result == ({"done": True} if how == "success" else None)
    assert await effects(client) == ["one", "two"]
    assert await children(client, submitted.id) == ["chosen", '{"payload":"a"}']
    assert (await client.read("SELECT value FROM effects WHERE effect = 'two'")) == [(b"\x00\xff",)]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
async def test_an_exception_drops_what_came_after_the_last_checkpoint(app: App, client: Client, plain: bool) -> None:
    def first(ctx: Any) -> None:
        ctx.spawn("child", "before")
        ctx.write(WRITE, (ctx.id, "before", 1))

    def second(ctx: Any) -> None:
        ctx.spawn("child", "after")
        ctx.write(WRITE, (ctx.id, "after", 1))
        raise Transient("broke down")

    if plain:

        @app.task("parent", limits=Limits(max_attempts=1))
        def in_a_thread(ctx: SyncContext) -> None:
            first(ctx)
            ctx.checkpoint("half", {"n": 1})
            second(ctx)

    else:

        @app.task("parent", limits=Limits(max_attempts=1))
        async def in_the_loop(ctx: Context) -> None:
            first(ctx)
            await ctx.checkpoint("half", {"n": 1})
            second(ctx)

    submitted = await client.submit("parent")
    await worked_off(app, client)
    assert (await stands_as(client, submitted.id)).state == "failed"
    assert await effects(client) == ["before"]
    assert await children(client, submitted.id) == ['{"payload":"before"}']


async def test_a_task_resumes_with_the_stage_and_state_of_its_last_checkpoint(app: App, client: Client) -> None:
    runs: list[tuple[int, str | None, dict[str, Any]]] = []

    @app.task("staged")
    async def staged(ctx: Context) -> Any:
        runs.append((ctx.attempt, ctx.stage, dict(ctx.state)))
        if ctx.stage is None:
            await ctx.checkpoint("fetched", {"pages": [1]})
            runs.append((ctx.attempt, ctx.stage, dict(ctx.state)))
            raise Transient("broke down")
        await ctx.checkpoint(state={"pages": [1, 2]})
        assert ctx.stage == "fetched", "a checkpoint without a stage keeps it"
        await ctx.checkpoint("parsed")
        return ctx.state

    submitted = await client.submit(staged)
    await worked_off(app, client, rng=AT_ONCE)
    task = await stands_as(client, submitted.id)
    assert runs == [(1, None, {}), (1, "fetched", {"pages": [1]}), (2, "fetched", {"pages": [1]})]
    assert (task.state, task.stage, task.result) == ("success", "parsed", {"pages": [1, 2]})


async def test_a_state_that_was_changed_without_a_checkpoint_is_not_kept(app: App, client: Client) -> None:
    seen: list[dict[str, Any]] = []

    @app.task("staged")
    async def staged(ctx: Context) -> Any:
        seen.append(dict(ctx.state))
        if ctx.attempt == 1:
            state = {"items": [1]}
            await ctx.checkpoint(state=state)
            state["items"].append(2)
            ctx.state["more"] = True
            raise Transient("broke down")
        return None

    await client.submit(staged)
    await worked_off(app, client, rng=AT_ONCE)
    assert seen == [{}, {"items": [1]}]


# --- committed when called --------------------------------------------------------------------------------------


def call(ctx: Any, name: str) -> Any:
    """One of the calls that commit, with something buffered beside it."""
    match name:
        case "checkpoint":
            ctx.write(WRITE, (ctx.id, "once", 1))
            ctx.spawn("child", "from checkpoint")
            ctx.spawn("child", "from checkpoint")
            return ctx.checkpoint("half", {"n": 1})
        case "progress":
            ctx.spawn("child", "kept for the end")
            return ctx.progress(1, 3, "one of three")
        case _:
            return ctx.spawn_now("child", "at once", key="now")


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
async def test_checkpoint_progress_and_spawn_now_commit_when_called(app: App, client: Client, plain: bool) -> None:
    calls = ["checkpoint", "progress", "spawn_now"]
    answers: list[Any] = []

    async def look(ctx: Any) -> tuple[Any, ...]:
        state = await client.read("SELECT pipeline_state, progress FROM ramet_checkpoints")
        return (len((await client.tasks(parent_id=ctx.id)).tasks), *state)

    if plain:

        @app.task("parent")
        def in_a_thread(ctx: SyncContext) -> None:
            for name in calls:
                answers.append(call(ctx, name))
                seen.append(asyncio.run_coroutine_threadsafe(look(ctx), loop).result())

    else:

        @app.task("parent")
        async def in_the_loop(ctx: Context) -> None:
            for name in calls:
                answers.append(await call(ctx, name))
                seen.append(await look(ctx))

    loop = asyncio.get_running_loop()
    seen: list[tuple[Any, ...]] = []
    submitted = await client.submit("parent")
    await worked_off(app, client)
    told = '{"done": 1, "total": 3, "message": "one of three"}'
    assert seen == [(1, ('{"n":1}', None)), (1, ('{"n":1}', told)), (2, ('{"n":1}', told))]
    granted, refused = answers[0]
    assert granted.id is not None
    assert (refused.id, refused.reason, refused.winner) == (None, BlockReason.IN_FLIGHT, granted.id)
    assert answers[2].id is not None
    buffered = ['{"payload":"from checkpoint"}', '{"payload":"kept for the end"}']
    assert await children(client, submitted.id) == ["now", *buffered]
    assert (await stands_as(client, submitted.id)).state == "success"
    assert await effects(client) == ["once"]
    assert [block.count for block in await client.blocks(submitted.tracking_id)] == [1]


async def test_what_was_committed_by_a_call_survives_an_exception(app: App, client: Client) -> None:
    @app.task("parent", limits=Limits(max_attempts=1))
    async def parent(ctx: Context) -> None:
        assert (await ctx.spawn_now("child", "kept")).id is not None
        ctx.spawn("child", "dropped")
        await ctx.progress(1)
        raise ValueError("broke down")

    submitted = await client.submit(parent)
    await worked_off(app, client)
    assert await children(client, submitted.id) == ['{"payload":"kept"}']


async def test_a_blocked_spawn_tells_the_handler_why(app: App, client: Client) -> None:
    answers: list[Any] = []

    @app.task("parent")
    async def parent(ctx: Context, n: int) -> None:
        answers.extend([await ctx.spawn_now(kind, str(n), key="same") for kind in ("parent", "child", "child")])

    submitted = await client.submit(parent, 1, key="same")
    await worked_off(app, client)
    told = [(BlockReason.CYCLE, submitted.id), (None, None), (BlockReason.IN_FLIGHT, answers[1].id)]
    assert [(answer.reason, answer.winner) for answer in answers] == told


# --- refusals ---------------------------------------------------------------------------------------------------


async def test_a_handler_is_told_at_once_what_cannot_be(app: App, client: Client) -> None:
    refused: list[str] = []

    @app.task("parent", limits=Limits(pipeline_state_bytes_max=20, payload_bytes_max=50))
    async def parent(ctx: Context) -> None:
        app.registry.get("child")
        tries: Sequence[Callable[[], Any]] = (
            lambda: ctx.write("INSERT INTO ramet_tasks VALUES (1)"),
            lambda: ctx.write('UPDATE "RAMET_live" SET fence = 1'),
            lambda: ctx.write("COMMIT"),
            lambda: ctx.write("  rollback"),
            lambda: ctx.write("RELEASE part_1"),
            lambda: ctx.write("INSERT OR ROLLBACK INTO effects VALUES (1, 2, 3)"),
            lambda: ctx.write("INSERT\tor\n rollback INTO effects VALUES (1, 2, 3)"),
            lambda: ctx.write("PRAGMA synchronous = OFF"),
            lambda: ctx.write(WRITE, (ctx.id, "a", {"a": 1})),
            lambda: ctx.write(WRITE, (ctx.id, "a", object())),
            lambda: ctx.lower(max_attempts=1),
            lambda: ctx.lower(max_tasks="1"),  # type: ignore[arg-type]
            lambda: ctx.lower(max_tasks=-1),
            lambda: ctx.spawn("nobody"),
            lambda: ctx.spawn("parent", "x" * 50),
        )
        for attempt in tries:
            try:
                attempt()
            except (ValueError, TypeError, UnknownKind, PayloadTooLarge) as error:
                refused.append(type(error).__name__)
        try:
            await ctx.checkpoint(state={"a": "x" * 20})
        except ValueError as error:
            refused.append(str(error))

    submitted = await client.submit(parent)
    await worked_off(app, client)
    kinds = (
        ["ValueError"] * 8
        + ["TypeError"] * 2
        + ["ValueError"]
        + ["InvalidNumber"] * 2
        + ["UnknownKind", "PayloadTooLarge"]
    )
    assert refused == [*kinds, "pipeline_state has 28 bytes, over 20: keep the large part in a blob"]
    task = await stands_as(client, submitted.id)
    assert task.state == "success", "each was refused by itself"
    assert await effects(client) == []


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("INSERT INTO nowhere VALUES (?, ?, ?)", 1),
        ("INSERT INTO effects (task) VALUES (?)", 1),
        (WRITE, 2**70),
        (WRITE, "\ud800"),
    ],
    ids=["no table", "bindings", "large integer", "broken text"],
)
async def test_a_write_that_fails_fails_its_task_alone(app: App, client: Client, sql: str, value: Any) -> None:
    @app.task("bad", limits=Limits(max_attempts=1))
    async def bad(ctx: Context) -> str:
        ctx.write(WRITE, (ctx.id, "with it", 1))
        ctx.write(sql, (ctx.id, "bad", value))
        ctx.spawn("child", "with it")
        return "done"

    @app.task("good")
    async def good(ctx: Context, n: int) -> str:
        ctx.write(WRITE, (ctx.id, f"good {n}", None))
        return "done"

    submitted = await client.submit("bad")
    await client.submit_many([("good", n) for n in range(5)])
    async with working(app, client):
        task = await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
        await until(lambda: client.store.idle(["good", "bad"]), "all ended")
    assert (task.state, task.error is None) == ("failed", False)
    assert await effects(client) == [f"good {n}" for n in range(5)]
    assert await children(client, submitted.id) == []


@pytest.mark.parametrize("max_attempts", [1, 2])
async def test_a_write_that_fails_in_a_checkpoint_ends_the_handler(app: App, client: Client, max_attempts: int) -> None:
    went_on: list[int] = []

    @app.task("bad", limits=Limits(max_attempts=max_attempts))
    async def bad(ctx: Context) -> str:
        if ctx.attempt == 1:
            ctx.write("INSERT INTO nowhere VALUES (1)")
            await ctx.checkpoint("half")
            went_on.append(ctx.attempt)
        return "done"

    submitted = await client.submit(bad)
    await worked_off(app, client, heartbeat_seconds=300.0)
    history = await client.history(submitted.id)
    assert history is not None
    assert [attempt.outcome for attempt in history.attempts] == ["error", "success"][:max_attempts]
    assert "nowhere" in (history.attempts[0].error or "")
    assert went_on == []


# --- who am I ---------------------------------------------------------------------------------------------------


async def test_a_handler_knows_its_task(app: App, client: Client) -> None:
    told: dict[str, dict[str, Any]] = {}

    @app.task("parent")
    async def parent(ctx: Context, key: str) -> None:
        names = "id tracking_id kind key parent_id ancestry_chain spawn_depth attempt chain_depth snoozes".split()
        told[key] = {name: getattr(ctx, name) for name in names}
        if key == "root":
            ctx.spawn("parent", "leaf", key="leaf key")

    submitted = await client.submit(parent, "root", key="root key", tracking_id="lineage")
    await worked_off(app, client)
    leaf = (await client.tasks(parent_id=submitted.id)).tasks[0]
    counts = {"attempt": 1, "chain_depth": 0, "snoozes": 0}
    common = {"tracking_id": "lineage", "kind": "parent", **counts}
    root = {"id": submitted.id, "key": "root key", "parent_id": None, "ancestry_chain": (), "spawn_depth": 0}
    below = {"id": leaf.id, "key": "leaf key", "parent_id": submitted.id, "spawn_depth": 1}
    assert told == {"root": {**common, **root}, "leaf": {**common, **below, "ancestry_chain": (submitted.id,)}}


async def test_the_token_changes_with_every_claim(app: App, client: Client) -> None:
    tokens: list[str] = []

    @app.task("call")
    async def call(ctx: Context) -> None:
        tokens.extend([ctx.token, ctx.token])
        if ctx.attempt == 1:
            raise Transient("once more")

    submitted = await client.submit(call)
    await worked_off(app, client, rng=AT_ONCE)
    assert tokens == [f"{submitted.id}:1"] * 2 + [f"{submitted.id}:2"] * 2


async def test_lowered_limits_hold_for_the_spawns_beside_them(app: App, client: Client) -> None:
    @app.task("parent")
    async def parent(ctx: Context) -> None:
        ctx.lower(max_tasks=3)
        for number in range(5):
            ctx.spawn("child", str(number))

    submitted = await client.submit(parent)
    await worked_off(app, client)
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    assert (lineage.tasks, lineage.max_tasks) == (3, 3)
    assert [block.count for block in await client.blocks(submitted.tracking_id, reason="budget")] == [1, 1, 1]
