"""The runner's slots: time limits, turns, and handlers that are told to stop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ramet import Context, Limits, SyncContext
from ramet.engine.running import runner as running
from ramet.model.task import events as ev
from tests.engine.runner_harness import Bench, work
from tests.support.waiting import HANG_SECONDS, until

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
        go_on.wait(HANG_SECONDS)
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


async def test_what_waits_for_a_slot_goes_back_when_no_call_begins_for_a_while(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "OVERDUE_CHECK_SECONDS", 3_600.0)
    go_on = asyncio.Event()

    @bench.app.task("held")
    async def held(ctx: Context) -> None:
        await go_on.wait()

    runner = bench.start(concurrency=1)
    runner.add([work(number, "held") for number in (1, 2, 3)])
    await until(lambda: bench.slots == [1], "the first call")
    for _ in range(running.STALLED_CHECKS):
        runner._hand_back_queued()
    assert bench.ended == []
    runner._hand_back_queued()
    assert bench.ended == [(2, 5), (3, 5)]
    go_on.set()
    await until(lambda: bench.delivered, "the end of the first")
    runner._hand_back_queued()
    assert await bench.run("held") == ev.Complete(5)
    assert [item.seq for item in bench.delivered] == [1, 2]
    assert bench.ended == [(2, 5), (3, 5)]


async def test_what_waits_for_a_slot_stays_while_calls_begin(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "OVERDUE_CHECK_SECONDS", 3_600.0)
    turn = asyncio.Semaphore(0)

    @bench.app.task("held")
    async def held(ctx: Context) -> None:
        await turn.acquire()

    runner = bench.start(concurrency=1)
    runner.add([work(number, "held") for number in range(1, 6)])
    for number in range(1, 6):
        await until(lambda number=number: bench.slots == [number], "the next call")  # type: ignore[misc, arg-type]
        for _ in range(running.STALLED_CHECKS - 1):
            runner._hand_back_queued()
        turn.release()
    await until(lambda: len(bench.delivered) == 5, "the end of all")
    assert bench.ended == []


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
    runner.cancel({(102, 5), (103, 5)})
    await until(lambda: told, "the cancelled handler's end")
    assert told == [102], "103 had not begun"
    await until(lambda: sorted(bench.ended) == [(102, 5), (103, 5)], "both are reported")
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
    runner.cancel({(100, 5)})
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
    async with asyncio.timeout(HANG_SECONDS):
        await runner.stop()
    assert bench.delivered == []
    assert [item.seq for item in runner.take_unstarted()] == [3]
