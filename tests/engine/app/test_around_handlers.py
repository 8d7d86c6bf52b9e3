"""What an app puts around its handlers: a lifespan, middleware, and functions for events."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ramet import (
    App,
    BatchContext,
    BlockReason,
    Client,
    Context,
    Limits,
    Outcome,
    Permanent,
    SyncContext,
    TaskEvent,
    Transient,
    Worker,
)
from ramet.testing import FakeClock, drain, fresh_client, run_task
from tests.engine.runner_harness import Bench
from tests.support.backends import BACKENDS

# --- lifespan ---------------------------------------------------------------------------------------------------


class Opened:
    """A lifespan that notes what is done to it."""

    def __init__(self, app: App) -> None:
        self.notes: list[str] = []

        @app.lifespan
        async def resources(given: App) -> AsyncIterator[Opened]:
            assert given is app
            self.notes.append("opened")
            yield self
            self.notes.append("closed")

        @app.task("work")
        async def work(ctx: Context) -> None:
            ctx.lifespan.notes.append("async")

        @app.task("plain")
        def plain(ctx: SyncContext) -> None:
            ctx.lifespan.notes.append("plain")

        @app.task("many", batch=2)
        async def many(batch: BatchContext) -> None:
            assert batch[0].lifespan is batch.lifespan
            batch.lifespan.notes.append("batch")

        @app.task("item", pulled=True)
        async def item(ctx: Context) -> None:
            ctx.lifespan.notes.append("pulled")

        @app.task("poll")
        async def poll(ctx: Context) -> None:
            await ctx.invoke(["item"], wait=False)
            ctx.lifespan.notes.append("poll")


KINDS = ("work", "plain", "many", "item", "poll")
CLOSED_LAST = ["opened", *sorted(["async", "batch", "plain", "poll", "pulled"]), "closed"]


def sorted_within(notes: list[str]) -> list[str]:
    return [notes[0], *sorted(notes[1:-1]), notes[-1]]


async def test_a_worker_opens_the_lifespan_once_and_closes_it_after_the_last_handler() -> None:
    app = App()
    opened = Opened(app)
    async with fresh_client(app) as client:
        for kind in KINDS:
            await client.submit(kind)
    assert opened.notes == [], "no handler runs: nothing is opened"
    async with fresh_client(app) as client:
        for kind in KINDS:
            await client.submit(kind)
        assert (await drain(app, client)).left == 0
    assert sorted_within(opened.notes) == CLOSED_LAST


def test_a_script_that_runs_an_app_opens_and_closes_its_lifespan(tmp_path: Path) -> None:
    app = App()
    opened = Opened(app)
    app.at_end(lambda: opened.notes.append("at_end"))

    @app.at_end
    async def close() -> None:
        await asyncio.sleep(0)
        opened.notes.append("awaited at_end")

    with app.sync_client(tmp_path / "ramet.db") as client:
        client.submit("work")
    app.run(tmp_path / "ramet.db")
    assert opened.notes == ["opened", "async", "awaited at_end", "at_end", "closed"], (
        "what handlers opened is closed before the rest"
    )


async def test_what_several_workers_of_one_loop_share_is_closed_by_the_last_of_them() -> None:
    app, closed = App(), list[str]()
    app.at_end(lambda: closed.append("closed"))
    async with app.opened():
        async with app.opened():
            pass
        assert closed == []
    assert closed == ["closed"]
    async with app.opened():
        pass
    assert closed == ["closed"] * 2


async def test_run_task_opens_and_closes_the_lifespan() -> None:
    app = App()
    opened = Opened(app)
    assert (await run_task(app, "work")).outcome == "success"
    assert opened.notes == ["opened", "async", "closed"]


async def test_a_lifespan_that_cannot_open_is_one_line_without_secrets_and_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "abcdefgh-12345")
    app = App()

    @app.lifespan
    async def resources(app: App) -> AsyncIterator[None]:
        raise ConnectionError("no answer\nfrom postgresql://me:hunter2@shop for abcdefgh-12345")
        yield

    @app.task("work")
    async def work(ctx: Context) -> None: ...

    said = r"could not open: ConnectionError: no answer from postgresql://me:\*\*\*@shop for \*\*\*$"
    async with fresh_client(app) as client:
        submitted = await client.submit(work)
        with pytest.raises(RuntimeError, match=said):
            await Worker(app, client).run()
        with pytest.raises(RuntimeError, match=said):
            await drain(app, client)
        task = await client.get(submitted.id)
        assert task is not None
        assert (task.state, task.fence) == ("pending", 0)
    with pytest.raises(RuntimeError, match=said):
        await run_task(app, work)


@contextmanager
def made_by_contextlib(app: App) -> Iterator[str]:
    yield "given"


def plain(app: App) -> Iterator[str]:
    yield "given"


@asynccontextmanager
async def async_made_by_contextlib(app: App) -> AsyncIterator[str]:
    yield "given"


def returns_one(app: App) -> AbstractAsyncContextManager[str]:
    return async_made_by_contextlib(app)


@pytest.mark.parametrize("function", [plain, made_by_contextlib, async_made_by_contextlib, returns_one])
async def test_every_way_to_write_a_context_manager_is_a_lifespan(function: Callable[[App], Any]) -> None:
    app = App()
    app.lifespan(function)

    @app.task("work")
    async def work(ctx: Context) -> Any:
        return ctx.lifespan

    assert (await run_task(app, work)).result == "given"


async def no_yield(app: App) -> None: ...


async def nothing_taken() -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_yield, r"no_yield needs a function that yields: write async def no_yield\(\w+\), with one yield"),
        (nothing_taken, r"nothing_taken needs a function of one argument: write async def nothing_taken\(\w+\)"),
    ],
)
def test_what_is_no_context_manager_is_refused_where_it_is_registered(function: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"@app.lifespan above {said}"):
        App().lifespan(function)
    with pytest.raises(ValueError, match=f"@app.middleware above {said}"):
        App().middleware(function)


def test_a_second_lifespan_is_refused() -> None:
    app = App()
    app.lifespan(plain)
    with pytest.raises(ValueError, match=r"@app.lifespan above made_by_contextlib is the second: open everything in"):
        app.lifespan(made_by_contextlib)


async def test_without_a_lifespan_there_is_none() -> None:
    app = App()

    @app.task("work")
    async def work(ctx: Context) -> bool:
        return ctx.lifespan is None

    assert (await run_task(app, work)).result is True


# --- middleware -------------------------------------------------------------------------------------------------

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST", default="none")


def noting(app: App, name: str, notes: list[Any]) -> None:
    @app.middleware
    async def around(ctx: Any) -> AsyncIterator[None]:
        notes.append(f"{name} begins")
        try:
            yield
        except BaseException as error:
            notes.append(f"{name} sees {type(error).__name__}")
            raise
        notes.append(f"{name} sees {ctx.returned!r}")


async def test_the_first_middleware_is_outermost_and_sees_what_was_returned() -> None:
    app, notes = App(), list[Any]()
    noting(app, "outer", notes)
    noting(app, "inner", notes)

    @app.task("work")
    async def work(ctx: Context) -> int:
        notes.append("handler")
        return 7

    assert (await run_task(app, work)).result == 7
    assert notes == ["outer begins", "inner begins", "handler", "inner sees 7", "outer sees 7"]


async def test_middleware_sees_the_end_that_a_handler_chose() -> None:
    app, notes = App(), list[Any]()
    noting(app, "it", notes)

    @app.task("work")
    def work(ctx: SyncContext) -> Outcome:
        return ctx.skip("not today")

    run = await run_task(app, work)
    assert (run.outcome, run.reason) == ("skipped", "not today")
    assert notes[1] == f"it sees {Outcome.skip('not today')!r}"


@pytest.mark.parametrize("is_async", [True, False])
async def test_middleware_sees_the_exception_and_the_attempt_ends_with_it(is_async: bool) -> None:
    app, notes = App(), list[Any]()
    noting(app, "it", notes)

    if is_async:

        @app.task("work")
        async def work(ctx: Context) -> None:
            raise Permanent("gone")
    else:

        @app.task("work")
        def plain_work(ctx: SyncContext) -> None:
            raise Permanent("gone")

    run = await run_task(app, "work")
    assert (run.error, run.error_class) == ("Permanent: gone", "permanent")
    assert notes == ["it begins", "it sees Permanent"]


@pytest.mark.parametrize("before", [True, False])
async def test_what_middleware_raises_is_the_error_of_the_attempt(before: bool) -> None:
    app, ran = App(), list[str]()

    @app.middleware
    async def broken(ctx: Context) -> AsyncIterator[None]:
        if before:
            raise Transient("no licence")
        yield
        raise Transient("no licence")

    @app.task("work")
    async def work(ctx: Context) -> None:
        ran.append(ctx.id)

    run = await run_task(app, work)
    assert (run.outcome, run.error, run.error_class) == ("error", "Transient: no licence", "transient")
    assert len(ran) == (0 if before else 1)


async def test_middleware_can_raise_another_error_in_the_place_of_the_handlers() -> None:
    app = App()

    @app.middleware
    async def translated(ctx: Context) -> AsyncIterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise Transient("the shop's database is busy") from error

    @app.task("work")
    async def work(ctx: Context) -> None:
        raise sqlite3.OperationalError("locked")

    run = await run_task(app, work)
    assert (run.error, run.error_class) == ("Transient: the shop's database is busy", "transient")


async def test_a_failure_that_middleware_suppresses_is_no_success() -> None:
    app, notes = App(), list[Any]()
    noting(app, "outer", notes)

    @app.middleware
    async def quiet(ctx: Context) -> AsyncIterator[None]:
        with suppress(ValueError):
            yield

    @app.task("work")
    async def work(ctx: Context) -> None:
        ctx.spawn("work", key="child")
        raise ValueError("lost")

    run = await run_task(app, work)
    assert (run.outcome, run.error, list(run.spawns)) == ("error", "ValueError: lost", [])


async def test_a_plain_handler_has_the_context_variables_of_its_middleware() -> None:
    app = App()

    @app.middleware
    def bound(ctx: SyncContext) -> Iterator[None]:
        token = REQUEST.set(ctx.key)
        yield
        REQUEST.reset(token)

    @app.task("work")
    def work(ctx: SyncContext) -> str:
        return REQUEST.get()

    assert (await run_task(app, work, key="k7")).result == "k7"
    assert REQUEST.get() == "none"


async def test_a_batch_is_one_call_with_the_batch_as_its_context() -> None:
    app, notes = App(), list[Any]()
    noting(app, "it", notes)

    @app.task("many", batch=3)
    async def many(batch: BatchContext, numbers: list[int]) -> list[int]:
        return [number * 2 for number in numbers]

    async with fresh_client(app) as client:
        told = await client.submit_many([("many", number) for number in range(3)], one_lineage=True)
        assert (await drain(app, client)).ran == 1
        assert [await client.result(each.id) for each in told] == [0, 2, 4]
    assert notes == ["it begins", "it sees [0, 2, 4]"]


async def test_pulled_tasks_and_on_end_handlers_run_within_middleware_too() -> None:
    app, notes = App(), list[str]()

    @app.middleware
    async def noted(ctx: Context) -> AsyncIterator[None]:
        notes.append(f"{ctx.kind} {ctx.ending}")
        yield

    @app.task("item", pulled=True)
    async def item(ctx: Context) -> None: ...

    @app.task("poll")
    async def poll(ctx: Context) -> Outcome:
        await ctx.invoke(["item"], wait=False)
        return ctx.snooze(60)

    @app.on_end("poll")
    async def clean(ctx: Context) -> None: ...

    async with fresh_client(app) as client:
        await client.submit("item")
        polled = await client.submit("poll")
        await drain(app, client, advance=False)
        await client.cancel(polled.id)
        await drain(app, client, advance=False)
    assert notes == ["poll None", "item None", "poll cancelled"]


async def test_a_plain_context_that_middleware_would_wait_with_is_an_error_and_no_standstill() -> None:
    app = App()

    @app.middleware
    async def hasty(ctx: SyncContext) -> AsyncIterator[None]:
        ctx.progress(1, 2)
        yield

    @app.task("work")
    def work(ctx: SyncContext) -> None: ...

    run = await run_task(app, work)
    assert run.error is not None
    assert "in the handler's thread only, not in middleware" in run.error


async def test_a_call_that_is_cut_short_leaves_its_middleware(bench: Bench) -> None:
    notes = list[Any]()
    noting(bench.app, "it", notes)

    @bench.app.task("work", limits=Limits(invocation_seconds=0.01))
    async def work(ctx: Context) -> None:
        await asyncio.Event().wait()

    event: Any = await bench.run("work")
    assert event.message == "Timeout: the handler ran longer than 0.01 s"
    assert notes == ["it begins", "it sees CancelledError"]


# --- events -----------------------------------------------------------------------------------------------------

NAMES = ("start", "success", "failure", "retry", "block")


@pytest.fixture(params=sorted(BACKENDS))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    if request.param == "sqlite":
        yield None
        return
    backend = BACKENDS[request.param](tmp_path)
    yield backend.address
    backend.close()


class Told:
    """An app and the events that were told."""

    def __init__(self) -> None:
        self.app = app = App(limits=Limits(max_attempts=2))
        self.events: list[TaskEvent] = []
        for name in NAMES:
            app.on(name)(self.events.append)  # type: ignore[arg-type]

        @app.task("flaky")
        async def flaky(ctx: Context, errors: int) -> int:
            if ctx.attempt <= errors:
                raise Transient(f"busy {ctx.attempt}")
            return ctx.attempt

        @app.task("ends")
        async def ends(ctx: Context, how: str) -> Outcome:
            return Outcome(how, "as asked", 1.0)

        @app.task("grow")
        async def grow(ctx: Context) -> None:
            ctx.spawn("grow")
            ctx.spawn("leaf")
            await ctx.checkpoint("spawned")
            ctx.spawn("leaf")

        @app.task("leaf")
        async def leaf(ctx: Context) -> None: ...

    def names(self, task_id: str) -> list[str]:
        return [event.name for event in self.events if event.task_id == task_id]


async def test_each_attempt_and_its_outcome_is_told(database: str | None) -> None:
    told = Told()
    async with fresh_client(told.app, database=database) as client:
        good, bad = [(await client.submit("flaky", errors)).id for errors in (1, 2)]
        await drain(told.app, client)
    assert told.names(good) == ["start", "retry", "start", "success"]
    assert told.names(bad) == ["start", "retry", "start", "failure"]
    [retry, failure] = [event for event in told.events if event.task_id == bad and event.error]
    assert (retry.state, retry.attempt, retry.error) == ("pending", 1, "Transient: busy 1")
    assert (failure.state, failure.attempt, failure.error) == ("failed", 2, "Transient: busy 2")
    assert failure.reason == "attempts_exhausted: 2"
    assert failure.seconds is not None
    assert failure.seconds >= 0.0
    assert "raise Transient" in (failure.traceback or "")
    assert (failure.kind, failure.key) == ("flaky", retry.key)


@pytest.mark.parametrize(("how", "name"), [("filter", None), ("skip", None), ("snooze", None), ("fail", "failure")])
async def test_an_end_that_is_neither_success_nor_failure_has_no_event(how: str, name: str | None) -> None:
    told = Told()
    async with fresh_client(told.app) as client:
        task = (await client.submit("ends", how)).id
        await drain(told.app, client, advance=False)
    assert told.names(task) == ["start", *([name] if name else [])]


async def test_every_refused_spawn_is_told_by_the_task_that_asked() -> None:
    told = Told()
    async with fresh_client(told.app) as client:
        task = (await client.submit("grow")).id
        await drain(told.app, client)
    assert told.names(task) == ["start", "block", "block", "success"]
    found = [event.spawn for event in told.events if event.name == "block"]
    assert [(spawn.kind, spawn.reason) for spawn in found if spawn is not None] == [
        ("grow", BlockReason.CYCLE),
        ("leaf", BlockReason.IN_FLIGHT),
    ]


async def test_a_failure_that_no_attempt_brought_about_is_told(database: str | None) -> None:
    told, clock = Told(), FakeClock()
    async with fresh_client(told.app, clock=clock, database=database) as client:
        task = (await client.submit("leaf", limits=Limits(lineage_seconds=60.0), delay_seconds=10.0)).id
        cancelled = await client.submit("leaf", delay_seconds=10.0)
        await client.cancel(cancelled.id)
        clock.advance(71.0)
        await drain(told.app, client, kinds=["grow"])
    assert [(event.name, event.task_id, event.state) for event in told.events] == [("failure", task, "failed")]
    assert told.events[0].seconds is None


async def test_a_function_that_fails_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    told, seen = App(), list[str]()

    @told.on("success")
    def broken(event: TaskEvent) -> None:
        raise OSError("the pager is away")

    @told.on("success")
    def well(event: TaskEvent) -> None:
        seen.append(event.task_id)

    @told.task("leaf")
    async def leaf(ctx: Context) -> int:
        return 3

    with caplog.at_level(logging.ERROR, "ramet.events"):
        async with fresh_client(told) as client:
            task = (await client.submit("leaf")).id
            await drain(told, client)
            assert await client.result(task) == 3
    assert seen == [task]
    [record] = [record for record in caplog.records if record.name == "ramet.events"]
    assert record.getMessage() == f"a function for the event 'success' failed at task {task}"
    assert record.exc_info is not None


async def test_what_a_program_pulls_is_told_there() -> None:
    told = Told()
    async with fresh_client(told.app) as client:
        task = (await client.submit("leaf")).id
        [claim] = await client.claim("leaf")
        assert told.events == []
        await claim.complete()
    assert told.names(task) == ["success"]


def test_an_event_that_there_is_not_and_a_function_that_would_wait_are_refused() -> None:
    app = App()
    names: Mapping[str, Any] = {"name": "succeeded"}
    with pytest.raises(ValueError, match="there is no event 'succeeded': give one of start, success, failure, retry,"):
        app.on(names["name"])
    with pytest.raises(ValueError, match=r"no parentheses: write @app.on\(\)"):
        app.on(plain)  # type: ignore[arg-type]

    async def slow(event: TaskEvent) -> None: ...

    with pytest.raises(ValueError, match="slow for the event 'retry' is async: give a plain function"):
        app.on("retry")(slow)


async def test_an_app_without_functions_for_events_has_its_store_unwatched() -> None:
    async with fresh_client(App()) as client:
        assert type(client.store).__name__ == "SqliteStore"
    app = App()
    app.on("block")(lambda event: None)
    async with fresh_client(app) as watched:
        assert isinstance(watched, Client)
        assert type(watched.store).__name__ != "SqliteStore"
