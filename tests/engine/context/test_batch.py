"""Batch handlers: many tasks in one call, and still each its own claim, requests and outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, BatchContext, Client, Context, Limits, Retry, RetryAfter, SyncBatchContext
from ramet.model.task import events as ev
from tests.engine.apps.endless_app import Text
from tests.engine.apps.endless_app import app as force_app
from tests.engine.runner_harness import Bench, work
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS, get, history, until, worked_off

TARGET = "tests.engine.apps.endless_app:app"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with force_app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


# --- with a database --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, TARGET])
@pytest.mark.parametrize("kind", ["batch", "batch in threads", "batch alone"])
async def test_each_task_of_a_call_has_its_own_outcome(client: Client, kind: str, target: str | None) -> None:
    texts = ["one", "three", "bad one", "skip this", "spawn", "seven", "eleven", "thirteen"]
    submitted = await client.submit_many([(kind, Text(text=text)) for text in texts])
    worker = await worked_off(force_app, client, target=target, concurrency=2)
    assert worker._lanes.held == 0
    tasks = [await get(client, item.id) for item in submitted]
    assert [str(task.state) for task in tasks] == ["success", "success", "failed", "skipped"] + ["success"] * 4
    assert (tasks[2].error, tasks[3].reason) == ("Permanent: bad text", "no need")
    results = [task.result for task in tasks if task.state == "success"]
    assert [result[0] for result in results] == [3, 5, 5, 5, 6, 8]
    assert {result[1] for result in results} == {8}, "all of them in one call"
    assert len({result[2] for result in results}) == 1
    [child] = (await client.tasks(parent_id=submitted[4].id)).tasks
    assert child.result == 5
    assert {len((await history(client, item.id)).attempts) for item in submitted} == {1}


async def test_a_batch_of_slow_calls_fetches_what_its_batches_hold_and_no_more_of_other_kinds(tmp_path: Path) -> None:
    app, go_on = App(retry=Retry.SEED), asyncio.Event()
    sizes: list[int] = []

    @app.task("many", batch=10, batch_seconds=0.0)
    async def many(batch: BatchContext, payloads: list[int]) -> None:
        sizes.append(len(payloads))
        await go_on.wait()

    @app.task("one")
    async def one(ctx: Context, n: int) -> None:
        await go_on.wait()

    async with app.client(tmp_path / "own.db") as client:
        await client.submit_many([("many", n) for n in range(50)] + [("one", n) for n in range(50)])

        async def all_fetched() -> bool:
            held = {row.kind: row.tasks for row in await client.counts() if row.state == "processing"}
            assert held.get("many", 0) <= 30
            assert held.get("one", 0) <= 3
            return held == {"many": 30, "one": 3}

        done = asyncio.create_task(worked_off(app, client, concurrency=3))
        await until(all_fetched, "what three slots can hold")
        go_on.set()
        await done
        assert sum(sizes) == 50
        assert max(sizes) == 10


# --- on the bench -----------------------------------------------------------------------------------------------


def deal(bench: Bench, kind: str, *payloads: str) -> None:
    assert bench.runner is not None
    bench.runner.add([work(seq, kind, payload) for seq, payload in enumerate(payloads, start=1)])


def events(bench: Bench) -> dict[int, ev.Event]:
    return {item.seq: item.event for item in bench.delivered}


async def test_a_call_starts_when_it_is_full_or_the_first_has_waited_long_enough(bench: Bench) -> None:
    calls: list[list[int]] = []

    @bench.app.task("full", batch=3, batch_seconds=3_600.0)
    async def full(batch: BatchContext, numbers: list[int]) -> None:
        calls.append(numbers)

    @bench.app.task("soon", batch=3, batch_seconds=0.01)
    async def soon(batch: BatchContext, numbers: list[int]) -> None:
        calls.append(numbers)

    bench.start(width=3)
    deal(bench, "full", *map(str, range(1, 8)))
    await until(lambda: len(bench.delivered) == 6, "two full calls")
    assert calls == [[1, 2, 3], [4, 5, 6]]
    assert bench.runner is not None
    assert bench.runner.busy, "the seventh waits for company"
    assert [item.seq for item in bench.runner.take_unstarted()] == [7]
    assert not bench.runner.busy
    deal(bench, "soon", "10", "11")
    await until(lambda: len(bench.delivered) == 8, "a call of two")
    assert calls[2:] == [[10, 11]]


@pytest.mark.parametrize(
    ("returned", "event"),
    [
        ([1], "MiscountedResults: a batch handler returned 1 results for 2 tasks: one for each"),
        ("ab", "MiscountedResults: a batch handler returned a str: return a list, or None"),
        (7, "MiscountedResults: a batch handler returned a int: return a list, or None"),
        (ValueError("all wrong"), "ValueError: all wrong"),
    ],
)
async def test_what_a_call_raises_or_returns_wrongly_is_the_error_of_all(
    bench: Bench, returned: Any, event: str
) -> None:
    @bench.app.task("many", batch=2)
    async def many(batch: BatchContext, payloads: list[int]) -> Any:
        batch[0].spawn("many", 1)
        if isinstance(returned, Exception):
            raise returned
        return returned

    bench.start(width=2)
    deal(bench, "many", "1", "2")
    await until(lambda: len(bench.delivered) == 2, "both outcomes")
    for item in bench.delivered:
        assert isinstance(item.event, ev.Error)
        assert item.event.message == event
        assert item.spawns == (), "what was buffered is dropped"


async def test_a_task_whose_payload_is_wrong_or_whose_result_cannot_be_kept_fails_alone(bench: Bench) -> None:
    @bench.app.task("many", batch=4)
    async def many(batch: BatchContext, numbers: list[int]) -> list[Any]:
        assert numbers == [1, 3, 4]
        return [{1: object()}, RetryAfter(5.0), "fine"]

    bench.start(width=4)
    deal(bench, "many", "1", '"two"', "3", "4")
    await until(lambda: len(bench.delivered) == 4, "all outcomes")
    told = events(bench)
    assert isinstance(told[1], ev.Error)
    assert isinstance(told[2], ev.Error)
    assert told[2].error_class == "permanent"
    assert told[3] == ev.Snooze(5, 5.0, "retry after 5 s", "", uses_time=False)
    assert told[4] == ev.Complete(5)


async def test_a_call_past_its_limit_is_the_timeout_of_all_its_tasks(bench: Bench) -> None:
    left: list[float] = []

    @bench.app.task("many", batch=3, limits=Limits(invocation_seconds=0.05))
    async def many(batch: BatchContext, payloads: list[int]) -> None:
        left.append(batch.remaining_seconds)
        await asyncio.Event().wait()

    bench.start(width=3)
    deal(bench, "many", "1", "2", "3")
    await until(lambda: len(bench.delivered) == 3, "all outcomes")
    assert {getattr(event, "message", "") for event in events(bench).values()} == {
        "Timeout: the handler ran longer than 0.05 s"
    }
    assert 0 < left[0] <= 0.05


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_call_goes_on_until_the_last_of_its_claims_is_lost(bench: Bench, *, in_thread: bool) -> None:
    go_on, told, began = threading.Event(), list[bool](), list[bool]()

    if in_thread:

        @bench.app.task("many", batch=2)
        def in_a_thread(batch: SyncBatchContext, payloads: list[int]) -> list[int]:
            began.append(True)
            go_on.wait(HANG_SECONDS)
            told.extend(ctx.cancelled for ctx in batch)
            return payloads
    else:

        @bench.app.task("many", batch=2)
        async def in_the_loop(batch: BatchContext, payloads: list[int]) -> list[int]:
            began.append(True)
            while not go_on.is_set():  # noqa: ASYNC110 - set by the test, which has another loop in the other case
                await asyncio.sleep(0.005)
            told.extend(ctx.cancelled for ctx in batch)
            return payloads

    runner = bench.start(width=2)
    deal(bench, "many", "1", "2")
    await until(lambda: began, "the call")
    runner.cancel([(1, 5)])
    assert bench.ended == []
    go_on.set()
    await until(lambda: bench.ended == [(1, 5)], "its end is reported")
    assert told == [True, False]
    assert list(events(bench)) == [2]
    go_on.clear()
    began.clear()
    deal(bench, "many", "1", "2")
    await until(lambda: began, "another call")
    runner.cancel([(1, 5), (2, 5)])
    go_on.set()
    await until(lambda: len(bench.ended) == 3, "both are reported")
    assert len(bench.delivered) == 1


async def test_all_tasks_of_a_call_are_in_its_slot(bench: Bench) -> None:
    go_on = asyncio.Event()

    @bench.app.task("many", batch=3, batch_seconds=0.0)
    async def many(batch: BatchContext, payloads: list[int]) -> None:
        await go_on.wait()

    bench.start(concurrency=2, width=3)
    deal(bench, "many", *map(str, range(1, 6)))
    await until(lambda: sum(map(bool, bench.slots)) == 5, "two calls run")
    assert bench.slots == [1, 2, 3, 4, 5, 0]
    go_on.set()
    await until(lambda: len(bench.delivered) == 5, "their outcomes")
    assert bench.slots == [0] * 6


def test_a_batch_handler_says_what_its_list_holds() -> None:
    def single(batch: SyncBatchContext, payload: int) -> None: ...

    with pytest.raises(ValueError, match=r"batch handler single takes many payloads: annotate them as list\[\.\.\.\]"):
        App().task("many", batch=2)(single)
