"""Whatever a handler raises or leaves behind ends its own attempt, and its slot serves on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel, field_validator

from ramet import BatchContext, Context, Limits, RetryAfter, SyncContext
from ramet.model.task import events as ev
from tests.engine.runner_harness import Bench, work
from tests.support.waiting import until


class Panic(BaseException):
    """As an extension written in Rust raises it."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise AttributeError("nobody set it")


class NoText(Exception):
    __str__: Any = lambda self: None


class Unsent(Exception):
    @property
    def response(self) -> NoReturn:
        raise RuntimeError("the request was never sent")


class Headers(RetryAfter):
    def __init__(self) -> None:
        super().__init__(1)
        self.seconds: Any = "120"


class Hidden(Exception):
    def __getattribute__(self, name: str) -> NoReturn:
        raise KeyboardInterrupt


class Checked(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def panics_at_one(cls, value: int) -> int:
        if value == 1:
            raise Panic("one")
        return value


RAISED: list[Callable[[], BaseException]] = [
    Panic,
    Unprintable,
    NoText,
    Unsent,
    Headers,
    Hidden,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt()]),
]
NAMES = [type(error()).__name__ for error in RAISED]


@pytest.fixture
async def raising(bench: Bench) -> Bench:
    """Kinds that raise what their payload numbers, in every way of running; each also has a good run."""

    def act(number: int) -> int:
        if number >= 0:
            raise RAISED[number]()
        return number

    @bench.app.task("async")
    async def in_the_loop(ctx: Context, number: int) -> int:
        return act(number)

    @bench.app.task("thread")
    def in_a_thread(ctx: SyncContext, number: int) -> int:
        return act(number)

    @bench.app.task("batch", batch=2, batch_seconds=0.0)
    async def in_a_batch(batch: BatchContext, numbers: list[int]) -> list[int]:
        return [act(number) for number in numbers]

    @bench.app.task("member", batch=2, batch_seconds=0.0)
    async def one_of_a_batch(batch: BatchContext, numbers: list[int]) -> list[Any]:
        return [RAISED[number]() if number >= 0 else number for number in numbers]

    bench.start(concurrency=1, width=2)
    return bench


@pytest.mark.parametrize("kind", ["async", "thread", "batch", "member"])
@pytest.mark.parametrize("number", range(len(RAISED)), ids=NAMES)
async def test_anything_raised_is_an_error_and_the_only_slot_serves_on(raising: Bench, kind: str, number: int) -> None:
    event = await raising.run(kind, str(number))
    assert isinstance(event, ev.Error)
    wrapped = {"StopIteration", "StopAsyncIteration"} if kind in ("async", "thread", "batch") else set()
    if NAMES[number] not in wrapped:  # Python itself turns these into a RuntimeError.
        assert event.message.startswith(NAMES[number])
    assert await raising.run(kind, "-1") == ev.Complete(5)
    await until(lambda: not any(raising.slots), "its place is free")


async def test_a_payload_whose_own_check_raises_ends_one_of_a_batch(bench: Bench) -> None:
    @bench.app.task("batch", batch=2, batch_seconds=0.0)
    async def batch(batch: BatchContext, numbers: list[Checked]) -> None:
        assert [number.n for number in numbers] == [2]

    bench.start(width=2)
    assert bench.runner is not None
    bench.runner.add([work(n, "batch", f'{{"n": {n}}}') for n in (1, 2)])
    await until(lambda: len(bench.delivered) == 2, "both ended")
    assert {item.seq: type(item.event) for item in bench.delivered} == {1: ev.Error, 2: ev.Complete}


async def test_results_that_cannot_be_read_are_an_error_of_each_once(bench: Bench) -> None:
    class Odd(list[int]):
        def __iter__(self) -> Any:
            yield 1
            raise Panic("no more")

    @bench.app.task("batch", batch=2, batch_seconds=0.0)
    async def batch(batch: BatchContext, numbers: list[int]) -> Any:
        return Odd([1, 2])

    bench.start(width=2)
    assert bench.runner is not None
    bench.runner.add([work(1, "batch", "1"), work(2, "batch", "2")])
    await until(lambda: len(bench.delivered) == 2, "both ended")
    assert sorted((item.seq, type(item.event)) for item in bench.delivered) == [(1, ev.Error), (2, ev.Error)]


async def test_what_a_task_of_the_handlers_own_raises_is_its_error_too(bench: Bench) -> None:
    async def ends_as_a_generator() -> NoReturn:
        raise GeneratorExit("of its own")

    @bench.app.task("waits")
    async def waits(ctx: Context) -> None:
        await asyncio.create_task(ends_as_a_generator())

    @bench.app.task("good")
    async def good(ctx: Context) -> None: ...

    bench.start(concurrency=1)
    event = await bench.run("waits")
    assert isinstance(event, ev.Error)
    assert event.message == "GeneratorExit: of its own"
    assert await bench.run("good") == ev.Complete(5)


# --- what a handler leaves behind ------------------------------------------------------------------------------


async def test_a_handler_that_cancels_every_task_of_the_loop_stops_no_slot(bench: Bench) -> None:
    @bench.app.task("cancels")
    async def cancels(ctx: Context) -> None:
        me = asyncio.current_task()
        for task in asyncio.all_tasks():
            if task is not test and task is not me:
                task.cancel()

    @bench.app.task("good")
    async def good(ctx: Context) -> None: ...

    test = asyncio.current_task()
    bench.start(concurrency=2)
    assert await bench.run("cancels") == ev.Complete(5)
    for _ in range(4):
        assert await bench.run("good") == ev.Complete(5)


async def test_a_cancellation_that_a_handler_leaves_pending_reaches_no_other_call(bench: Bench) -> None:
    @bench.app.task("cancels")
    async def cancels(ctx: Context) -> None:
        me = asyncio.current_task()
        assert me is not None
        me.cancel()

    @bench.app.task("good")
    async def good(ctx: Context) -> int:
        me = asyncio.current_task()
        assert me is not None
        await asyncio.sleep(0)
        return me.cancelling()

    bench.start(concurrency=1)
    assert await bench.run("cancels") == ev.Complete(5)
    assert await bench.run("good") == ev.Complete(5)
    assert bench.delivered[-1].result == "0"


def test_a_loop_that_ends_while_a_runner_was_never_stopped_waits_for_none_of_its_tasks() -> None:
    async def leaves(busy: bool) -> None:
        bench = Bench(Limits())

        @bench.app.task("waits")
        async def waits(ctx: Context) -> None:
            begun.set()
            await asyncio.Event().wait()

        begun = asyncio.Event()
        runner = bench.start(concurrency=2)
        if busy:
            runner.add([work(1, "waits", "null")])
            await begun.wait()
        await asyncio.sleep(0)

    for busy in (False, True):
        asyncio.run(leaves(busy))


async def test_a_slot_that_ends_is_told_settled_and_started_again(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @bench.app.task("good")
    async def good(ctx: Context) -> None: ...

    runner = bench.start(concurrency=1)
    monkeypatch.setattr(type(runner), "_call_over", raises_panic)
    with caplog.at_level(logging.ERROR):
        event = await bench.run("good")
    assert isinstance(event, ev.Error)
    assert "a slot for handlers ended" in caplog.text
    monkeypatch.undo()
    assert await bench.run("good") == ev.Complete(5)
    await until(lambda: not any(bench.slots), "its place is free")


def raises_panic(*_: object) -> NoReturn:
    raise Panic("a fault of the runner's own")
