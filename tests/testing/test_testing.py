"""What users are given for their tests: the same run every time, no waiting, crashes that find bugs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from ramet import App, BatchContext, Client, Context, Limits, Outcome, Permanent, SyncContext, Transient, UnknownKind
from ramet.testing import (
    FakeClock,
    NeedsDatabase,
    SimulatedCrash,
    Spawned,
    crash_at,
    crash_everywhere,
    drain,
    fresh_client,
    run_task,
)
from tests.invariants.check import violations

pytest_plugins = ["ramet.testing.plugin"]
EFFECTS = "CREATE TABLE IF NOT EXISTS effects (name TEXT)"


@pytest.fixture
def app() -> App:
    app = App(tables=[EFFECTS], limits=Limits(max_attempts=3))

    @app.task("grow")
    async def grow(ctx: Context, name: str) -> Any:
        ctx.write("INSERT INTO effects (name) VALUES (?)", (name,))
        if len(name) < 3:
            ctx.spawn("grow", name + "a")
            ctx.spawn("grow", name + "b")
        return name

    @app.task("sleepy")
    async def sleepy(ctx: Context) -> Outcome | int:
        return ctx.snooze(1_800) if ctx.snoozes < 3 else ctx.snoozes

    @app.task("flaky")
    def flaky(ctx: SyncContext) -> int:
        if ctx.attempt < 3:
            raise Transient("busy")
        return ctx.attempt

    return app


# --- drain ------------------------------------------------------------------------------------------------------


async def test_a_slow_handler_lets_no_time_pass_and_one_that_waits_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.testing.drain_loop.LOOK_SECONDS", 1e-9)  # Every turn of the loop is a busy machine's.
    app, passed = App(), []

    @app.task("slow")
    async def slow(ctx: Context) -> None:
        began_at = ctx.client.clock.now()
        for _ in range(100):
            await asyncio.sleep(0)
        passed.append(ctx.client.clock.now() - began_at)

    @app.task("waiting")
    async def waiting(ctx: Context) -> None:
        began_at = ctx.client.clock.now()
        await asyncio.to_thread(threading.Event().wait, 0.05)
        passed.append(ctx.client.clock.now() - began_at)

    async with fresh_client(app, clock=FakeClock(0.0)) as client:
        for kind in ("slow", "waiting"):
            await client.submit(kind)
            await drain(app, client)
    assert passed[0] == 0.0
    assert passed[1] > 0.0


async def test_a_test_may_run_on_a_server(app: App, postgres_url: str) -> None:
    async with fresh_client(app, database=postgres_url) as client:
        await client.submit("grow", "a")
        await client.submit("sleepy")
        drained = await drain(app, client)
        assert drained.advanced_seconds >= 3 * 1_800
        assert len(await client.read("SELECT name FROM effects")) == 7
        assert await violations(client.store) == []


async def test_draining_works_off_everything_without_waiting(app: App) -> None:
    began = time.monotonic()
    async with fresh_client(app) as client:
        ids = [(await client.submit(kind, *payload)).id for kind, *payload in (("grow", "x"), ("sleepy",), ("flaky",))]
        done = await drain(app, client)
        assert (done.ran, done.left) == (7 + 4 + 3, 0)
        assert done.advanced_seconds >= 3 * 1_800
        assert [await client.result(task_id) for task_id in ids] == ["x", 3, 3]
        assert await violations(client.store) == []
    assert time.monotonic() - began < 1_800


async def test_the_same_seed_gives_the_same_run(app: App) -> None:
    async def run(seed: int) -> list[tuple[Any, ...]]:
        async with fresh_client(app, clock=FakeClock()) as client:
            await client.submit("flaky")
            await client.submit("grow", "x")
            await drain(app, client, seed=seed)
            return await client.read("SELECT t.kind, t.key, a.claimed_at, a.outcome FROM ramet_attempts a "
                                     "JOIN ramet_tasks t ON t.seq = a.seq ORDER BY t.key, a.fence")  # fmt: skip

    assert await run(1) == await run(1)
    assert await run(1) != await run(2)


async def test_what_the_app_declares_holds_while_draining() -> None:
    app = App()
    app.resource("api", rate_per_second=0.5, burst=1.0)

    @app.task("call", resource="api")
    async def call(ctx: Context, number: int) -> float:
        return ctx.now

    async with fresh_client(app) as client:
        await client.submit_many([(call, number) for number in range(4)])
        drained = await drain(app, client)
        told = sorted([task.result async for task in client.all_tasks()])
    assert (drained.ran, drained.left) == (4, 0)
    assert [later - told[0] for later in told] == pytest.approx([0.0, 2.0, 4.0, 6.0], abs=0.1)


async def test_what_cannot_be_brought_on_is_left(app: App) -> None:
    async with fresh_client(app) as client:
        await client.submit("nobody serves this")
        await client.submit("sleepy", delay_seconds=60)
        await client.submit("grow", "xxx")
        [held] = await client.claim("grow")
        done = await drain(app, client, advance=False)
        assert (done.ran, done.left, done.advanced_seconds) == (0, 3, 0.0)
        done = await drain(app, client, kinds=["grow"], outlive_leases=True)
        assert done.left == 2
        assert (await client.get(held.id)).state == "success"  # type: ignore[union-attr]


async def test_what_feeds_itself_is_given_up() -> None:
    app = App()

    @app.task("hydra")
    async def hydra(ctx: Context, n: int) -> None:
        for head in range(9):
            ctx.spawn("hydra", 10 * n + head)

    async with fresh_client(app) as client:
        await client.submit("hydra", 1)
        with pytest.raises(RuntimeError, match="still more"):
            await drain(app, client, tasks_max=50)


async def test_a_handler_that_loses_its_claim_does_not_hang_the_test() -> None:
    app = App()

    @app.task("suicidal")
    async def suicidal(ctx: Context) -> None:
        await ctx.client.cancel(ctx.id)
        await ctx.checkpoint("never")

    async with fresh_client(app) as client:
        submitted = await client.submit("suicidal")
        drained = await drain(app, client)
        assert (drained.ran, drained.left, drained.advanced_seconds) == (1, 0, 0.0)
        assert (await client.get(submitted.id)).state == "cancelled"  # type: ignore[union-attr]


async def test_a_handler_that_hangs_meets_its_time_limit() -> None:
    app = App(limits=Limits(invocation_seconds=0.5, max_attempts=1))

    @app.task("stuck")
    async def stuck(ctx: Context) -> None:
        await asyncio.Event().wait()

    async with fresh_client(app) as client:
        submitted = await client.submit("stuck")
        await drain(app, client)
        task = await client.get(submitted.id)
        assert task is not None
        assert "Timeout" in (task.error or "")


async def test_batch_handlers_get_their_company_at_once() -> None:
    app, calls = App(), []

    @app.task("embed", batch=4, batch_seconds=3_600)
    async def embed(batch: BatchContext, payloads: list[int]) -> list[int]:
        calls.append(list(payloads))
        return [n * n for n in payloads]

    async with fresh_client(app) as client:
        submitted = await client.submit_many([("embed", n) for n in range(6)])
        assert (await drain(app, client)).left == 0
        assert calls == [[0, 1, 2, 3], [4, 5]]
        assert [await client.result(item.id) for item in submitted] == [0, 1, 4, 9, 16, 25]
    assert (await run_task(app, "embed", 3)).result == 9


async def test_the_fixtures_go_together(
    app: App, fake_clock: FakeClock, fresh_ramet: Callable[..., AbstractAsyncContextManager[Client]], tmp_path: Path
) -> None:
    async with fresh_ramet(app) as client:
        await client.submit("grow", "xxx", delay_seconds=30)
        before = fake_clock.now()
        await drain(app, client)
        assert fake_clock.now() == before + 30
    assert (tmp_path / "ramet.db").exists()


async def test_the_clock_wakes_what_slept_long_enough() -> None:
    clock, woken = FakeClock(now=100.0), []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    sleeping = [asyncio.create_task(sleep(seconds)) for seconds in (5.0, 1.0, 0.0)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert woken == [0.0]
    clock.advance(4.9)
    clock.set_back(1_000)
    clock.advance(0.1)
    await asyncio.gather(*sleeping)
    assert woken == [0.0, 1.0, 5.0]
    assert (clock.now(), clock.monotonic()) == (-895.0, 1_005.0)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


# --- run_task ---------------------------------------------------------------------------------------------------


async def test_one_handler_tells_everything_that_it_asked_for() -> None:
    app = App()

    @app.task("staged")
    async def staged(ctx: Context, n: int) -> Any:
        ctx.spawn("staged", n + 1, delay_seconds=5)
        await ctx.checkpoint("half", {"seen": [*ctx.state.get("seen", []), n]})
        await ctx.progress(1, 2, "half")
        assert (await ctx.spawn_now("staged", n + 2)).reason is None
        ctx.write("INSERT INTO t VALUES (?)", (ctx.stage,))
        return {"depth": ctx.spawn_depth, "ancestors": len(ctx.ancestry_chain)}

    run = await run_task(app, staged, 1, state={"seen": [0]}, spawn_depth=2, key="k")
    assert (run.outcome, run.result, run.error) == ("success", {"depth": 2, "ancestors": 2}, None)
    assert run.checkpoints == [("half", {"seen": [0, 1]})]
    assert run.progress == [{"done": 1, "total": 2, "message": "half"}]
    assert run.spawns == [
        Spawned("staged", '{"payload":2}', 2, 5.0),
        Spawned("staged", '{"payload":3}', 3),
    ]
    assert [write.parameters for write in run.writes] == [("half",)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda ctx: ctx.filter("thin"), ("filtered", "thin", None, None)),
        (lambda ctx: ctx.snooze(9, "later"), ("snooze", "later", None, None)),
        (lambda ctx: ctx.fail("no"), ("failed", "no", None, None)),
        (lambda ctx: ctx.continue_later(), ("continue", None, None, None)),
        (lambda ctx: 1 / 0, ("error", None, "ZeroDivisionError: division by zero", "unclassified")),
        (lambda ctx: (_ for _ in ()).throw(Permanent("gone")), ("error", None, "Permanent: gone", "permanent")),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
async def test_every_way_to_end_is_told(plain: bool, end: Callable[[Any], Any], expected: tuple[Any, ...]) -> None:
    app = App()

    async def awaited(ctx: Context) -> Any:
        return end(ctx)

    def threaded(ctx: SyncContext) -> Any:
        return end(ctx)

    app.task("end")(threaded if plain else awaited)
    run = await run_task(app, "end")
    assert (run.outcome, run.reason, run.error, run.error_class) == expected
    assert run.snooze_seconds == (9 if expected[0] == "snooze" else None)


async def test_what_needs_a_database_says_so_and_a_client_may_be_given(app: App) -> None:
    @app.task("asks")
    async def asks(ctx: Context) -> int:
        return len((await ctx.client.tasks()).tasks)

    @app.task("stores")
    async def stores(ctx: Context) -> None:
        await ctx.blob("x")

    for kind in ("asks", "stores"):
        with pytest.raises(NeedsDatabase, match="drain"):
            await run_task(app, kind)
    async with fresh_client(app) as client:
        await client.submit("grow", "x")
        assert (await run_task(app, "asks", client=client)).result == 1
    with pytest.raises(UnknownKind):
        await run_task(app, "nothing")


# --- crashes ----------------------------------------------------------------------------------------------------


async def season(client: Client) -> None:
    await client.submit("grow", "xx", tracking_id="spring")


async def once_each(client: Client) -> None:
    names = sorted(row[0] for row in await client.read("SELECT name FROM effects"))
    assert names == ["xx", "xxa", "xxb"]
    assert await violations(client.store) == []


async def test_a_sound_program_survives_a_crash_before_every_statement(app: App) -> None:
    assert await crash_everywhere(app, season, once_each) > 50


async def test_a_program_that_does_things_twice_after_a_crash_is_found(tmp_path: Path) -> None:
    app, log = App(tables=[EFFECTS]), tmp_path / "outside"

    @app.task("grow")
    async def grow(ctx: Context, name: str) -> None:
        with log.open("a") as file:
            file.write(".")

    async def check(client: Client) -> None:
        written = len(log.read_text())
        log.write_text("")
        assert written == 1

    with pytest.raises(AssertionError) as found:
        await crash_everywhere(app, season, check)
    assert "after a crash before statement" in found.value.__notes__[0]


async def test_a_season_that_does_not_repeat_itself_is_refused(app: App) -> None:
    """Only its first life reads once more than the others."""
    first = True

    async def longer(client: Client) -> None:
        nonlocal first
        await season(client)
        if first:
            await client.lineage("spring")
        first = False

    with pytest.raises(AssertionError, match="does not repeat itself"):
        await crash_everywhere(app, longer, once_each)


async def test_one_crash_ends_the_block_and_leaves_what_was_committed(app: App, tmp_path: Path) -> None:
    reached = False
    async with crash_at(app, 3, folder=tmp_path) as client:
        await client.submit("grow", "x")
        reached = True
    assert not reached
    async with fresh_client(app, folder=tmp_path) as client:
        assert await client.queue_size() == 0
        await client.submit("grow", "xxx")
    async with crash_at(app, 10_000, folder=tmp_path) as client:
        assert await client.queue_size() == 1
    assert not issubclass(SimulatedCrash, Exception)
