"""The runner: every claimed task becomes exactly one settlement, whatever its handler does."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from ramet import App, Client, Context, ErrorClass, Limits, Permanent, RetryAfter, SyncContext, Transient
from ramet.engine.runner import Runner
from ramet.engine.work import Work
from ramet.model import events as ev
from ramet.model.retry import ErrorTable
from ramet.store.base import Settled, Settlement
from tests.engine.waiting import until


class Count(BaseModel):
    n: int


class Desk:
    """Takes what a runner delivers, and answers its calls."""

    def __init__(self) -> None:
        self.delivered: list[Settlement] = []
        self.calls: list[Settlement] = []
        self.refuse: str | None = None

    def deliver(self, settlement: Settlement) -> None:
        self.delivered.append(settlement)

    async def call(self, settlement: Settlement) -> Settled:
        self.calls.append(settlement)
        return Settled(settlement.seq, None if self.refuse else "processing", self.refuse)

    def client(self) -> Client:
        raise AssertionError("no handler here asks for a client")

    @property
    def events(self) -> list[ev.Event]:
        return [item.event for item in self.delivered]


class Bench(Desk):
    """An app, its runner and where its outcomes go."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.app = App(limits=limits)
        self.slots: list[int] = []
        self.runner: Runner | None = None

    def start(self, concurrency: int = 2) -> Runner:
        self.slots = [0] * concurrency
        self.runner = Runner(
            self.app.registry,
            self,
            concurrency=concurrency,
            lease_seconds=300.0,
            rng=random.Random(1),
            started=self.slots,
        )
        self.runner.start()
        return self.runner

    async def run(self, kind: str, payload: str = "null") -> ev.Event:
        """The event of one task of this kind."""
        before = len(self.delivered)
        runner = self.runner or self.start()
        runner.add([work(before + 1, kind, payload)])
        await until(lambda: len(self.delivered) > before, f"the outcome of {kind}")
        [settlement] = self.delivered[before:]
        assert (settlement.seq, settlement.fence) == (before + 1, 5)
        return settlement.event


def work(seq: int, kind: str, payload: str = "null", fence: int = 5) -> Work:
    return Work(
        seq=seq,
        fence=fence,
        id=f"id-{seq}",
        tracking_id="lineage",
        kind=kind,
        key="key",
        parent_id=None,
        payload=payload,
        ancestry_chain="[]",
        spawn_depth=0,
        max_spawn_depth=10,
        attempts=1,
        max_attempts=4,
        losses=0,
        snoozes=0,
        chain_depth=0,
        stage=None,
        pipeline_state=None,
        created_at=0.0,
        deadline_at=None,
    )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(Limits(invocation_seconds=60.0))
    yield bench
    if bench.runner is not None:
        await bench.runner.stop()


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
    assert await bench.run("busy") == ev.Snooze(5, 17, "retry after 17 s (example.com)")


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


# --- time and turns ---------------------------------------------------------------------------------------------


async def test_a_handler_past_its_invocation_limit_is_ended_as_a_transient_error(bench: Bench) -> None:
    ended: list[str] = []

    @bench.app.task("slow", limits=Limits(invocation_seconds=0.01))
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    bench.start(concurrency=1)
    for _ in range(2):
        event = await bench.run("slow")
        assert isinstance(event, ev.Error)
        assert (event.error_class, event.message) == ("transient", "Timeout: the handler ran longer than 0.01 s")
    assert ended == ["cleaned up"] * 2


async def test_a_thread_past_its_limit_frees_its_slot_and_its_late_return_is_dropped(bench: Bench) -> None:
    go_on, returned = threading.Event(), threading.Event()

    @bench.app.task("slow", limits=Limits(invocation_seconds=0.01))
    def slow(ctx: SyncContext) -> str:
        go_on.wait(60)
        returned.set()
        return "late"

    @bench.app.task("quick")
    async def quick(ctx: Context) -> str:
        return "in time"

    bench.start(concurrency=1)
    assert isinstance(await bench.run("slow"), ev.Error)
    assert await bench.run("quick") == ev.Complete(5)
    go_on.set()
    await until(returned.is_set, "the thread's return")
    await asyncio.sleep(0)
    assert len(bench.delivered) == 2


async def test_handlers_that_never_wait_yield_to_the_loop(bench: Bench) -> None:
    @bench.app.task("quick")
    async def quick(ctx: Context) -> None: ...

    bench.start(concurrency=1).add([work(number, "quick") for number in range(1, 1_001)])
    turns = 0
    while len(bench.delivered) < 1_000:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 1_000 / 64, "others had their turn every 64 tasks"


async def test_no_more_handlers_run_at_once_than_there_are_slots(bench: Bench) -> None:
    running: set[int] = set()
    most: list[int] = []
    go_on = asyncio.Event()

    @bench.app.task("wait")
    async def wait(ctx: Context) -> None:
        running.add(ctx._work.seq)
        most.append(len(running))
        await go_on.wait()
        running.discard(ctx._work.seq)

    runner = bench.start(concurrency=3)
    runner.add([work(number, "wait") for number in range(1, 11)])
    await until(lambda: len(running) == 3, "three running")
    assert sorted(bench.slots) == [1, 2, 3], "a supervisor can see which tasks run"
    assert [item.seq for item in runner.take_unstarted()] == [4, 5, 6, 7, 8, 9, 10]
    assert runner.take_unstarted() == []
    go_on.set()
    await until(lambda: len(bench.delivered) == 3, "the three outcomes")
    await until(lambda: not runner.busy, "an idle runner")
    assert max(most) == 3
    assert bench.slots == [0, 0, 0]


# --- cancelling -------------------------------------------------------------------------------------------------


async def test_a_cancelled_handler_is_told_and_delivers_nothing(bench: Bench) -> None:
    told: list[int] = []

    @bench.app.task("wait")
    async def wait(ctx: Context) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(ctx._work.seq)
            raise
        return "never"

    @bench.app.task("quick")
    async def quick(ctx: Context) -> None: ...

    runner = bench.start(concurrency=2)
    runner.add([work(number, "wait") for number in (101, 102, 103)])
    await until(lambda: 102 in bench.slots, "two running")
    runner.cancel(frozenset({102, 103}))
    await until(lambda: told, "the cancelled handler's end")
    assert told == [102], "103 had not begun"
    assert bench.slots == [101, 0]
    assert await bench.run("quick") == ev.Complete(5)
    assert len(bench.delivered) == 1


@pytest.mark.parametrize("answer", ["returns", "raises"])
async def test_a_handler_that_resists_its_cancellation_is_not_listened_to(bench: Bench, answer: str) -> None:
    resisted = asyncio.Event()

    @bench.app.task("stubborn")
    async def stubborn(ctx: Context) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            resisted.set()
            if answer == "raises":
                raise ValueError("something else") from None
        return "anyway"

    @bench.app.task("quick")
    async def quick(ctx: Context) -> None: ...

    runner = bench.start(concurrency=1)
    runner.add([work(100, "stubborn")])
    await until(lambda: bench.slots == [100], "it runs")
    runner.cancel(frozenset({100}))
    await until(resisted.is_set, "its answer")
    assert await bench.run("quick") == ev.Complete(5), "the slot goes on"
    assert len(bench.delivered) == 1


async def test_a_handler_that_lost_its_claim_delivers_nothing(bench: Bench) -> None:
    @bench.app.task("checks")
    async def checks(ctx: Context) -> str:
        await ctx.checkpoint("half")
        return "never"

    @bench.app.task("quick")
    async def quick(ctx: Context) -> None: ...

    bench.refuse = "stale"
    bench.start(concurrency=1).add([work(100, "checks")])
    await until(lambda: bench.calls, "the checkpoint")
    assert await bench.run("quick") == ev.Complete(5)
    assert len(bench.delivered) == 1


@pytest.mark.parametrize("resists", [False, True])
async def test_stop_ends_every_handler_and_delivers_nothing_more(bench: Bench, resists: bool) -> None:
    @bench.app.task("wait")
    async def wait(ctx: Context) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not resists:
                raise
        return "anyway"

    runner = bench.start(concurrency=2)
    runner.add([work(number, "wait") for number in (1, 2, 3)])
    await until(lambda: all(bench.slots), "two running")
    async with asyncio.timeout(30):
        await runner.stop()
    assert bench.delivered == []
    assert [item.seq for item in runner.take_unstarted()] == [3]
