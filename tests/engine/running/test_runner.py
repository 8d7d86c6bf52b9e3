"""The runner: every claimed task becomes exactly one settlement, whatever its handler does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from ramet import Context, ErrorClass, Permanent, RetryAfter, SyncContext, Transient
from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorTable
from tests.engine.runner_harness import Bench


class Count(BaseModel):
    n: int


def raising(error: BaseException) -> Callable[[Any], Any]:
    async def handler(ctx: Any) -> NoReturn:
        raise error

    return handler


# --- ways to end ------------------------------------------------------------------------------------------------


async def test_async_and_thread_handlers_return_results(bench: Bench) -> None:
    @bench.app.task("async")
    async def in_the_loop(ctx: Context, count: Count) -> dict[str, Any]:
        return {"n": count.n, "thread": threading.current_thread() is threading.main_thread()}

    @bench.app.task("thread")
    def in_a_thread(ctx: SyncContext, count: Count) -> dict[str, Any]:
        return {"n": count.n, "thread": threading.current_thread() is threading.main_thread()}

    assert await bench.run("async", '{"n": 3}') == ev.Complete(5)
    assert await bench.run("thread", '{"n": 4}') == ev.Complete(5)
    assert [item.result for item in bench.delivered] == ['{"n":3,"thread":true}', '{"n":4,"thread":false}']


async def test_each_outcome_of_a_handler_is_its_event(bench: Bench) -> None:
    outcomes: dict[str, Callable[[Context], Any]] = {
        "nothing": lambda ctx: None,
        "filter": lambda ctx: ctx.filter("too short"),
        "skip": lambda ctx: ctx.skip("not needed"),
        "fail": lambda ctx: ctx.fail("given up"),
        "snooze": lambda ctx: ctx.snooze(30, "not yet"),
        "continue": lambda ctx: ctx.continue_later(),
    }

    @bench.app.task("end")
    async def end(ctx: Context, how: str) -> Any:
        return outcomes[how](ctx)

    assert [await bench.run("end", f'"{how}"') for how in outcomes] == [
        ev.Complete(5),
        ev.Filter(5, "too short"),
        ev.Skip(5, "not needed"),
        ev.Fail(5, "given up"),
        ev.Snooze(5, 30, "not yet"),
        ev.Continue(5, progressed=False),
    ]
    assert all(item.result is None for item in bench.delivered)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
async def test_what_was_buffered_goes_with_every_end_but_an_exception(bench: Bench, plain: bool) -> None:
    def buffer(ctx: Any, how: str) -> Any:
        ctx.spawn("end", "child")
        ctx.write("INSERT INTO mine VALUES (?)", (1,))
        ctx.lower(max_tasks=5)
        if how == "raise":
            raise Transient("busy")
        return ctx.fail("no") if how == "fail" else None

    if plain:
        bench.app.task("end")(buffer)
    else:

        @bench.app.task("end")
        async def end(ctx: Context, how: str) -> Any:
            return buffer(ctx, how)

    for how in ("return", "fail", "raise"):
        await bench.run("end", f'"{how}"')
    assert [(len(i.spawns), len(i.writes), i.lower) for i in bench.delivered] == [
        (1, 1, (("max_tasks", 5),)),
        (1, 1, (("max_tasks", 5),)),
        (0, 0, ()),
    ]


# --- errors -----------------------------------------------------------------------------------------------------


class Busy(Exception):
    pass


class VeryBusy(Busy):
    pass


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        (Transient("x"), "transient"),
        (Permanent("x"), "permanent"),
        (TimeoutError("x"), "transient"),
        (ConnectionResetError("x"), "transient"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), "permanent"),
        (ValueError("x"), "unclassified"),
        (KeyError("x"), "permanent"),
        (Busy("x"), "transient"),
        (VeryBusy("x"), "permanent"),
        (SystemExit(3), "unclassified"),
        (asyncio.CancelledError(), "unclassified"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
async def test_an_exception_is_an_error_of_its_class(bench: Bench, error: BaseException, error_class: str) -> None:
    table: ErrorTable = {KeyError: ErrorClass.PERMANENT, Busy: ErrorClass.TRANSIENT, VeryBusy: ErrorClass.PERMANENT}
    bench.app.task("async", errors=table)(raising(error))

    @bench.app.task("thread", errors=table)
    def in_a_thread(ctx: SyncContext) -> None:
        raise error

    for kind in ("async", "thread"):
        event = await bench.run(kind)
        assert isinstance(event, ev.Error)
        assert event.error_class == error_class
        assert event.message.startswith(type(error).__name__)
        assert 0 <= event.jitter < 1


async def test_retry_after_is_a_snooze_and_costs_no_attempt(bench: Bench) -> None:
    bench.app.task("busy")(raising(RetryAfter(17, "example.com")))
    later = ev.Snooze(5, 17, "retry after 17 s (example.com)", "example.com", uses_time=False)
    assert await bench.run("busy") == later


async def test_equal_errors_have_equal_fingerprints_and_others_have_not(bench: Bench) -> None:
    @bench.app.task("fail")
    async def fail(ctx: Context, text: str) -> None:
        raise ValueError(text)

    prints = [(await bench.run("fail", f'"{text}"')).fingerprint for text in ("row 17 bad", "row 18 bad", "bad row")]  # type: ignore[union-attr]
    assert prints[0] == prints[1] != prints[2]


async def test_a_payload_that_no_longer_fits_is_permanent(bench: Bench) -> None:
    @bench.app.task("typed")
    async def typed(ctx: Context, count: Count) -> None: ...

    event = await bench.run("typed", '{"m": 1}')
    assert isinstance(event, ev.Error)
    assert event.error_class == "permanent"
    assert "n" in event.message


async def test_a_result_that_is_no_json_is_an_error_of_the_task(bench: Bench) -> None:
    @bench.app.task("odd")
    async def odd(ctx: Context) -> object:
        ctx.spawn("odd")
        return object()

    assert isinstance(await bench.run("odd"), ev.Error)
    assert not bench.delivered[0].spawns


async def test_stop_iteration_from_a_thread_is_an_error_too(bench: Bench) -> None:
    @bench.app.task("next")
    def take_next(ctx: SyncContext) -> Any:
        return next(iter(()))

    event = await bench.run("next")
    assert isinstance(event, ev.Error)
    assert "StopIteration" in event.message


async def test_a_long_error_with_broken_characters_is_stored_cut_and_mended(bench: Bench) -> None:
    bench.app.task("fail")(raising(ValueError("\ud800" + "x" * 100_000)))
    event = await bench.run("fail")
    assert isinstance(event, ev.Error)
    assert len(event.message) == 2_000
    assert event.message.startswith("ValueError: ?xx")


async def test_broken_characters_in_a_reason_are_mended(bench: Bench) -> None:
    @bench.app.task("end")
    async def end(ctx: Context, how: str) -> Any:
        return ctx.snooze(1, "a\ud800") if how == "snooze" else getattr(ctx, how)("a\ud800")

    for how in ("filter", "skip", "fail", "snooze"):
        assert (await bench.run("end", f'"{how}"')).reason == "a?"  # type: ignore[union-attr]


async def test_a_kind_that_this_process_does_not_know_is_an_error_and_blocks_no_slot(bench: Bench) -> None:
    bench.app.task("known")(raising(Permanent("x")))
    bench.start(concurrency=1)
    event = await bench.run("unknown")
    assert isinstance(event, ev.Error)
    assert "no kind 'unknown' is registered (registered: known)" in event.message
    assert isinstance(await bench.run("known"), ev.Error)
