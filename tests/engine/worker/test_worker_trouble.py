"""The worker in trouble: lost claims, a database that is slow or fails, and ends that come at a bad moment."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from ramet import App, ClaimLost, Client, Context, StoreError, Worker
from ramet.engine.base.clock import SystemClock
from ramet.engine.running.settle_batch import SETTLE_BATCH
from ramet.model.flow.resources import DeclaredFlow
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.errors import StoreFull
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.fakes import Greedy, Held
from tests.support.waiting import HANG_SECONDS, outcomes, until, worked_off, working

TABLE = "CREATE TABLE IF NOT EXISTS effects (task TEXT, effect TEXT, UNIQUE (task, effect))"
WRITE = "INSERT INTO effects (task, effect) VALUES (?, ?)"


class Troubled:
    """A store whose claims, settlements and heartbeats a test can fail or hold back; everything else passes."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.fail: dict[str, int] = {}
        """How often each verb is still to fail, before it reaches the database."""
        self.hold: dict[str, asyncio.Event] = {}
        """Verbs whose answer waits, after the database has done them."""
        self.done: list[str] = []
        self.settled: list[Settlement] = []
        self.settle_begins: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def _pass(self, name: str, *arguments: Any) -> Any:
        if self.fail.get(name, 0) > 0:
            self.fail[name] -= 1
            raise StoreError(f"{name} failed")
        answer = await getattr(self._store, name)(*arguments)
        self.done.append(name)
        if name in self.hold:
            await self.hold[name].wait()
        return answer

    async def claim(self, request: ClaimRequest) -> list[ClaimedTask]:
        claimed: list[ClaimedTask] = await self._pass("claim", request)
        return claimed

    async def declare(self, declared: DeclaredFlow) -> None:
        if self.fail.get("declare", 0) > 0:
            self.fail["declare"] -= 1
            raise StoreFull("the disk is full")
        await self._store.declare(declared)
        self.done.append("declare")

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        self.settle_begins()
        self.settled += batch
        settled: list[SettleResult] = await self._pass("settle", batch)
        return settled

    async def heartbeat(self, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
        lost: frozenset[int] = await self._pass("heartbeat", held, lease_seconds)
        return lost


@pytest.fixture
def app() -> App:
    return App(tables=[TABLE])


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture
def troubled(client: Client) -> Troubled:
    store = Troubled(client.store)
    client.store = cast(Store, store)
    return store


async def get(client: Client, task_id: str) -> Any:
    task = await client.get(task_id)
    assert task is not None
    return task


# --- the beginning ----------------------------------------------------------------------------------------------


async def test_a_worker_that_begins_on_a_full_disk_waits_and_claims_nothing_before_its_limits_are_stored(
    app: App, client: Client, troubled: Troubled
) -> None:
    @app.task("plain")
    async def plain(ctx: Context) -> None: ...

    troubled.fail["declare"] = 2
    submitted = await client.submit(plain)
    await worked_off(app, client)
    assert troubled.done.index("declare") < troubled.done.index("claim")
    assert (await get(client, submitted.id)).state == "success"


# --- leases -----------------------------------------------------------------------------------------------------


async def test_heartbeats_keep_a_handler_that_outlasts_its_lease(app: App, client: Client, tmp_path: Path) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    async with app.client(tmp_path / "ramet.db") as second, working(app, client, lease_seconds=2.0):
        await until(lambda: held.running, "it runs")
        first = (await get(client, submitted.id)).lease_until
        async with working(app, second, lease_seconds=2.0):

            async def outlasted() -> bool:
                return bool((await get(client, submitted.id)).lease_until > first + 2.0)

            await until(outlasted, "a heartbeat after the first lease would have lapsed")
            held.go_on.set()
            assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    task = await get(client, submitted.id)
    assert (task.fence, task.losses, held.began) == (1, 0, [1])


async def test_a_worker_whose_lease_lapsed_stops_by_itself_and_another_takes_over(
    app: App, client: Client, troubled: Troubled, tmp_path: Path
) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    # Its lease ends for the worker before it does in the database, where what it lets go of could still go back.
    troubled.fail = {"heartbeat": 1_000_000, "settle": 1_000_000}
    async with app.client(tmp_path / "ramet.db") as second, working(app, client, lease_seconds=1.0) as worker:
        await until(lambda: held.running, "it runs")
        worker._draining.set()
        async with working(app, second, lease_seconds=30.0):
            await until(lambda: held.began == [1, 1], "another took over")
            troubled.fail["settle"] = 0
            await until(lambda: worker.in_hand == 0, "the first let go")
            held.go_on.set()
            assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    task = await get(client, submitted.id)
    assert (task.fence, task.losses, task.attempts) == (2, 1, 1)
    assert await outcomes(client, submitted.id) == ["lost", "success"]


class TrustingClock(SystemClock):
    """A clock on which no lease ever lapses."""

    def monotonic(self) -> float:
        return 0.0


class TwoClaims:
    """A handler that ends, or calls, when its claim is told to."""

    def __init__(self, app: App, call: str) -> None:
        self.began: list[str] = []
        self.refused: list[str] = []
        self.go_on = {"1": asyncio.Event(), "2": asyncio.Event()}

        @app.task("child", queue="nobody's")
        async def child(ctx: Context, claim: str) -> None: ...

        @app.task("work")
        async def work(ctx: Context) -> str:
            claim = ctx.token.rpartition(":")[2]
            self.began.append(claim)
            await self.go_on[claim].wait()
            ctx.write(WRITE, (ctx.id, f"claim {claim}"))
            ctx.spawn("child", claim)
            try:
                match call:
                    case "checkpoint":
                        await ctx.checkpoint("stage", {"claim": claim})
                    case "progress":
                        await ctx.progress(1)
                    case "spawn_now":
                        await ctx.spawn_now("child", f"now {claim}")
            except ClaimLost:
                self.refused.append(claim)
                raise
            return claim


@pytest.mark.parametrize(
    ("call", "blocked"),
    [("return", {"1"}), ("checkpoint", {"1"}), ("progress", set()), ("spawn_now", {"now 1"})],
)
async def test_a_worker_that_wrongly_trusts_its_lease_is_refused_by_the_database(
    app: App, client: Client, troubled: Troubled, tmp_path: Path, *, call: str, blocked: set[str]
) -> None:
    claims = TwoClaims(app, call)
    submitted = await client.submit("work")
    troubled.fail["heartbeat"] = 1_000_000
    own = {"queues": ["default"], "kinds": ["work"]}
    trusting = {"lease_seconds": 1.0, "clock": TrustingClock(), **own}
    async with app.client(tmp_path / "ramet.db") as second, working(app, client, **trusting) as worker:
        await until(lambda: claims.began == ["1"], "it runs")
        worker._pace = Greedy(1)  # type: ignore[assignment]
        async with working(app, second, lease_seconds=300.0, **own):
            await until(lambda: claims.began == ["1", "2"], "another took over, although the first has not noticed")
            before = await get(client, submitted.id)
            claims.go_on["1"].set()
            await until(lambda: worker.in_hand == 0, "the first is refused")
            assert await get(client, submitted.id) == before, "neither fence nor lease nor stage moved"
            assert await client.read("SELECT * FROM effects") == []
            claims.go_on["2"].set()
            assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "2"
    assert claims.refused == ([] if call == "return" else ["1"])
    assert await client.read("SELECT effect FROM effects") == [("claim 2",)]
    assert await outcomes(client, submitted.id) == ["lost", "success"]
    stale = {block.key for block in await client.blocks(submitted.tracking_id, reason="stale")}
    assert stale == {f'{{"payload":"{key}"}}' for key in blocked}, "and the reason is stored"


@pytest.mark.parametrize("resists", [False, True])
async def test_a_cancelled_task_stops_its_handler_and_its_late_result_is_refused(
    app: App, client: Client, resists: bool
) -> None:
    told: list[str] = []

    @app.task("work")
    async def work(ctx: Context) -> str:
        ctx.write(WRITE, (ctx.id, "late"))
        ctx.spawn("work", key="late")
        told.append("began")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("told")
            if not resists:
                raise
        return "late"

    submitted = await client.submit(work)
    async with working(app, client, heartbeat_seconds=0.05) as worker:
        await until(lambda: told == ["began"], "it runs")
        assert await client.cancel(submitted.id, by="somebody")
        await until(lambda: told == ["began", "told"], "its handler was told")
        await until(lambda: worker.in_hand == 0, "the claim was let go")
        assert not await client.cancel(submitted.id), "there is nothing left to cancel"
    task = await get(client, submitted.id)
    assert (task.state, task.reason, task.result) == ("cancelled", "cancelled by somebody", None)
    assert await client.read("SELECT * FROM effects") == []
    assert (await client.tasks(parent_id=submitted.id)).tasks == ()
    assert await outcomes(client, submitted.id) == ["ended"]


async def test_the_end_of_a_cancelled_handler_is_told_to_the_database(
    app: App, client: Client, troubled: Troubled
) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    async with working(app, client, heartbeat_seconds=0.05):
        await until(lambda: held.running, "it runs")
        await client.cancel(submitted.id)
        assert troubled.settled == []
        await until(lambda: troubled.settled, "the word about its end")
        assert held.running == set(), "after the handler has ended, not before"

        async def slot_is_free() -> bool:
            return not await client.store.read("SELECT 1 FROM ramet_holds")

        await until(slot_is_free, "what was held on for it")
    [settlement] = troubled.settled
    assert settlement.event == ev.HandBack(1)
    assert (await get(client, submitted.id)).state == "cancelled"


async def test_a_result_that_comes_before_the_heartbeat_noticed_is_refused_by_the_database(
    app: App, client: Client
) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    async with working(app, client, heartbeat_seconds=100.0) as worker:
        await until(lambda: held.running, "it runs")
        assert await client.cancel(submitted.id)
        held.go_on.set()
        await until(lambda: worker.settled == 1, "it was settled")
    task = await get(client, submitted.id)
    assert (task.state, task.result) == ("cancelled", None)


# --- a database that fails --------------------------------------------------------------------------------------


async def test_a_settlement_that_could_not_be_stored_is_tried_again_and_counts_once(
    app: App, client: Client, troubled: Troubled, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task("work")
    async def work(ctx: Context, n: int) -> None:
        ctx.write(WRITE, (ctx.id, f"effect {n}"))

    await client.submit_many([("work", n) for n in range(5)])
    troubled.fail = {"settle": 3, "claim": 2}
    await worked_off(app, client)
    assert len(await client.read("SELECT * FROM effects")) == 5
    assert caplog.messages.count("could not settle: settle failed") == 3
    assert caplog.messages.count("could not claim: claim failed") == 2


async def test_maintenance_goes_on_after_a_failure(
    app: App, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(app)
    held.go_on.set()
    sweep, failures = client.store.sweep, iter([StoreError("busy"), StoreError("busy")])

    async def sometimes(**options: Any) -> Any:
        for error in failures:
            raise error
        return await sweep(**options)

    monkeypatch.setattr(client.store, "sweep", sometimes)
    submitted = await client.submit("held", 1)
    await client.cancel_lineage(submitted.tracking_id)
    await worked_off(app, client)
    assert (await get(client, submitted.id)).state == "cancelled", "the sweep ended it"
    assert caplog.messages.count("maintenance could not run: busy") == 2


@pytest.mark.parametrize("draining", [False, True])
async def test_a_worker_that_cannot_go_on_says_so_instead_of_hanging(
    app: App, client: Client, caplog: pytest.LogCaptureFixture, draining: bool
) -> None:
    caplog.set_level(logging.INFO, logger="ramet.worker")
    held = Held(app)
    await client.submit("held", 1)
    worker = Worker(app, client)
    run = asyncio.create_task(worker.run())
    await until(lambda: held.running, "it runs")
    if draining:
        worker.drain()
        await until(lambda: any("draining" in message for message in caplog.messages), "the drain")
    worker.broken(RuntimeError("no handler can be run"))
    with pytest.raises(RuntimeError, match="no handler can be run"):
        await run
    assert worker.in_hand == 0


# --- ends at a bad moment ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_claims_that_are_on_their_way_when_the_worker_ends_go_back(
    app: App, client: Client, troubled: Troubled, how: str
) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    answer = troubled.hold["claim"] = asyncio.Event()
    worker = Worker(app, client)
    run = asyncio.create_task(worker.run())
    await until(lambda: "claim" in troubled.done, "the database gave the claim away")
    if how == "stop":
        worker.stop()
    else:
        run.cancel()
    for _ in range(100):
        await asyncio.sleep(0)  # It may end all that it wants to end before the answer comes.
    answer.set()
    await asyncio.gather(run, return_exceptions=True)
    task = await get(client, submitted.id)
    assert (task.state, task.attempts, task.fence) == ("pending", 0, 1)
    assert held.began == []


async def test_a_settlement_that_is_on_its_way_when_the_worker_ends_is_not_sent_twice(
    app: App, client: Client, troubled: Troubled
) -> None:
    @app.task("parent")
    async def parent(ctx: Context) -> None:
        ctx.spawn("child")

    @app.task("child", queue="nobody's")
    async def child(ctx: Context) -> None: ...

    submitted = await client.submit(parent)
    answer = troubled.hold["settle"] = asyncio.Event()
    worker = Worker(app, client, queues=["default"])
    run = asyncio.create_task(worker.run())
    await until(lambda: "settle" in troubled.done, "the database has it")
    worker.stop()
    for _ in range(100):
        await asyncio.sleep(0)  # It may end all that it wants to end before the answer comes.
    answer.set()
    await run
    assert (await get(client, submitted.id)).state == "success"
    assert await client.blocks(submitted.tracking_id) == [], "the child was not refused: it exists"
    assert troubled.done.count("settle") == 1


async def test_the_next_settlements_are_on_their_way_before_the_last_ones_are_noted(app: App, tmp_path: Path) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None: ...

    async with app.client(tmp_path / "own.db") as client:
        store, noted = Troubled(client.store), list[int]()
        worker = Worker(app, Client(app.registry, cast(Store, store), app.limits))
        store.hold["settle"] = asyncio.Event()
        outcomes = [Settlement(seq, 1, ev.Complete(1)) for seq in range(1, SETTLE_BATCH * 2)]
        worker._claims.take([(item.seq, item.fence) for item in outcomes], math.inf)
        worker.outcomes(outcomes)
        settling = asyncio.create_task(worker._settle_loop())
        await until(lambda: store.done == ["settle"], "the first batch is with the database")
        store.settle_begins = lambda: noted.append(worker.settled)
        store.hold["settle"].set()
        await until(lambda: worker.settled == len(outcomes), "all are settled")
        assert noted == [0], "the second batch was sent while the first was not noted"
        assert worker.in_hand == 0
        settling.cancel()


async def test_an_error_while_settled_tasks_are_let_go_ends_the_worker(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop that makes the call would only log it, and the tasks would be in hand for ever."""

    @app.task("work")
    async def work(ctx: Context) -> None: ...

    def faulty(*_: object) -> None:
        raise TypeError("a fault of ours")

    monkeypatch.setattr("ramet.engine.worker.worker.log_outcomes", faulty)
    async with app.client(tmp_path / "own.db") as client:
        await client.submit(work)
        with pytest.raises(RuntimeError, match="a fault of ours"):
            await Worker(app, client).run()
