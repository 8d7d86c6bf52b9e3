"""The pull API: a program that is no worker takes tasks, keeps them and settles them, fenced like everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import (
    App,
    Claim,
    ClaimLost,
    ClaimResult,
    Client,
    Limits,
    Outcome,
    Retry,
    RetryAfter,
    Spawn,
    TaskState,
    Transient,
)
from ramet.engine.client.client import Client as AnyClient
from ramet.store.errors import StoreBusy
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.support.fakes import Hands
from tests.support.waiting import until, worked_off
from tests.support.world import SettableClock

TABLE = "CREATE TABLE IF NOT EXISTS effects (name TEXT NOT NULL UNIQUE)"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


class Still(Hands):
    """A clock on which nothing that sleeps ever wakes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


@pytest.fixture
def hands() -> Hands:
    return Still()


@pytest.fixture
async def client(tmp_path: Path, clock: SettableClock, hands: Hands) -> AsyncIterator[Client]:
    app = App(retry=Retry.SEED, limits=Limits(max_attempts=2))
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True)
    async with AnyClient(app.registry, store, app.limits, tables=[TABLE], clock=hands) as client:
        yield client
        assert await violations(store) == []


async def taken(client: Client, payload: Any = None, **options: Any) -> Claim:
    """A fresh task in hand."""
    await client.submit("page", payload)
    [claim] = await client.claim("page", **options)
    return claim


async def state(client: Client, claim: Claim) -> str:
    task = await client.get(claim.id)
    assert task is not None
    return str(task.state)


# --- claiming ---------------------------------------------------------------------------------------------------


async def test_a_claim_shows_its_task_and_comes_in_order_of_priority_then_age(client: Client) -> None:
    await client.submit("page", {"n": 1}, key="first")
    await client.submit("page", {"n": 2}, key="second")
    await client.submit("page", {"n": 3}, key="urgent", priority=5)
    await client.submit("other", None, key="of another kind")
    claims = await client.claim("page", n=10)
    assert [claim.key for claim in claims] == ["urgent", "first", "second"]
    first = claims[1]
    assert (first.kind, first.payload, first.fence, first.stage, first.attempt) == ("page", {"n": 1}, 1, None, 1)
    assert await state(client, first) == "processing"
    assert await client.claim("page") == []
    for claim in [*claims, *await client.claim(["page", "other"])]:
        await claim.complete()


async def test_a_claim_that_waits_gets_what_is_submitted_meanwhile(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        waiting = asyncio.create_task(client.claim("page", wait_seconds=60))
        await asyncio.sleep(0)
        await client.submit("page")
        [claim] = await waiting
        await claim.complete()


async def test_a_caller_that_is_cancelled_while_it_claims_leaves_nothing_claimed(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        submitted = await client.submit("page")
        asking = asyncio.create_task(client.claim("page"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        task = await client.get(submitted.id)
        assert task is not None
        assert (task.state, task.attempts) == ("pending", 0)
        await client.cancel(submitted.id)


@pytest.mark.parametrize("wrong", [{"kinds": []}, {"n": 0}, {"lease_seconds": 0}])
async def test_a_claim_that_makes_no_sense_is_refused(client: Client, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least one kind"):
        await client.claim(**{"kinds": "page", **wrong})


# --- ending -----------------------------------------------------------------------------------------------------


async def test_completing_keeps_result_spawns_and_writes_and_tells_the_guards_answers(client: Client) -> None:
    claim = await taken(client, "parent")
    claim.spawn("page", "buffered")
    claim.write("INSERT INTO effects (name) VALUES (?)", ("done",))
    ended = await claim.complete({"links": 2}, spawns=[Spawn("page", "given", key="chosen"), Spawn("page", "parent")])
    assert (ended.state, ended.reason) == (TaskState.SUCCESS, None)
    assert [answer.reason and answer.reason.value for answer in ended.spawns] == [None, None, "cycle"]
    task = await client.get(claim.id)
    assert task is not None
    assert (task.result, claim.over) == ({"links": 2}, True)
    children = await client.claim("page", n=5)
    assert [(child.key, child.spawn_depth, child.parent_id) for child in children] == [
        ('{"payload":"buffered"}', 1, claim.id), ("chosen", 1, claim.id)
    ]  # fmt: skip
    assert await client.read("SELECT name FROM effects") == [("done",)]
    await client.settle_many([(child, None) for child in children])


@pytest.mark.parametrize(
    ("verb", "arguments", "expected"),
    [
        ("filter", ("thin",), ("filtered", "thin")),
        ("skip", ("known",), ("skipped", "known")),
        ("snooze", (30, "later"), ("pending", "later")),
        ("fail", ("no such page",), ("pending", None)),
        ("release", (), ("pending", None)),
        ("continue_later", (), ("success", "no_progress")),
    ],
)
async def test_every_end_of_a_handler_is_a_verb(client: Client, verb: str, arguments: Any, expected: Any) -> None:
    claim = await taken(client)
    ended = await getattr(claim, verb)(*arguments)
    assert await state(client, claim) == expected[0]
    if expected[1] is not None:
        assert (ended.state, ended.reason) == expected
    with pytest.raises(ClaimLost, match="has ended already"):
        await claim.complete()
    await client.cancel(claim.id)


@pytest.mark.parametrize(
    ("error", "retry", "states"),
    [
        (Transient("busy"), None, ["pending", "failed"]),
        (ValueError("odd"), True, ["pending", "failed"]),
        (ValueError("odd"), False, ["failed"]),
        ("gone", False, ["failed"]),
        (NotImplementedError("never"), None, ["failed"]),
        (RetryAfter(5), None, ["pending", "pending", "pending"]),
    ],
)
async def test_a_failure_is_retried_by_its_class_or_as_told(
    client: Client, clock: SettableClock, error: Any, retry: bool | None, states: list[str]
) -> None:
    claim = await taken(client)
    claim.write("INSERT INTO effects (name) VALUES ('dropped')")
    for expected in states:
        ended = await claim.fail(error, retry=retry)
        assert ended.state == expected
        clock.advance(10)
        again = await client.claim("page")
        assert bool(again) == (expected == "pending")
        claim = again[0] if again else claim
    assert await client.read("SELECT name FROM effects") == []
    await client.cancel(claim.id)


async def test_advancing_moves_the_stage_and_a_crash_resumes_after_it(client: Client, clock: SettableClock) -> None:
    claim = await taken(client)
    claim.write("INSERT INTO effects (name) VALUES ('loaded')")
    await claim.advance("loaded", {"words": 7})
    assert (claim.stage, claim.state) == ("loaded", {"words": 7})
    clock.advance(301)
    assert [task.id for task in await client.stale()] == [claim.id]
    assert await client.reclaim() == 1
    assert await client.stale() == []
    [second] = await client.claim("page")
    assert (second.stage, second.state, second.fence) == ("loaded", {"words": 7}, 2)
    await second.complete()
    assert await client.read("SELECT name FROM effects") == [("loaded",)]


# --- fenced -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["heartbeat", "advance", "complete", "release"])
@pytest.mark.parametrize("how", ["expired", "taken", "cancelled", "lineage"])
async def test_a_claim_that_is_not_current_writes_nothing_and_says_why(
    client: Client, clock: SettableClock, verb: str, how: str
) -> None:
    claim = await taken(client)
    claim.spawn("page", "child")
    if how in ("expired", "taken"):
        clock.advance(301)
    if how == "taken":
        await client.reclaim()
        await client.claim("page")
    if how == "cancelled":
        await client.cancel(claim.id, reason="by ann")
    if how == "lineage":
        await client.cancel_lineage(claim.tracking_id, reason="by ann")
    with pytest.raises(ClaimLost, match=claim.id):
        await getattr(claim, verb)()
    assert claim.lost
    assert claim.cancelled
    with pytest.raises(ClaimLost, match="lost before"):
        await claim.complete()
    assert (await client.tasks(parent_id=claim.id)).tasks == ()
    await client.cancel_lineage(claim.tracking_id)
    await client.reclaim()


async def test_a_heartbeat_starts_the_lease_anew(client: Client, clock: SettableClock) -> None:
    claim = await taken(client)
    for _ in range(3):
        clock.advance(299)
        await claim.heartbeat()
    assert (await claim.complete()).state == "success"


async def test_a_write_that_the_database_refuses_is_told_and_nothing_is_kept(client: Client) -> None:
    claim = await taken(client)
    claim.spawn("page", "child")
    claim.write("INSERT INTO nowhere VALUES (1)")
    with pytest.raises(ClaimLost, match="pending again"):
        await claim.complete()
    assert (await client.tasks(parent_id=claim.id)).tasks == ()
    await client.cancel(claim.id)


async def test_after_a_busy_database_the_same_call_ends_the_task_with_everything_buffered(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await taken(client)
    claim.spawn("page", "child")

    async def busy(batch: Any) -> Any:
        raise StoreBusy("busy")

    with monkeypatch.context() as patched:
        patched.setattr(client.store, "settle", busy)
        with pytest.raises(StoreBusy):
            await claim.complete(spawns=[Spawn("page", "second")])
        with pytest.raises(StoreBusy):
            await client.settle_many([(claim, None)])
    ended = await claim.complete(spawns=[Spawn("page", "second")])
    assert [answer.reason for answer in ended.spawns] == [None, None]
    await client.cancel_lineage(claim.tracking_id)


async def test_a_claim_that_is_lost_while_its_end_fails_stays_lost(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await taken(client)
    claim.spawn("page", "buffered")
    await claim.keep_alive()

    async def busy(batch: Any) -> Any:
        claim._hold.keeper._on_lost[claim.pair]()  # A heartbeat learns meanwhile that the claim is lost.
        raise StoreBusy("busy")

    monkeypatch.setattr(client.store, "settle", busy)
    with pytest.raises(StoreBusy):
        await claim.complete()
    assert claim.lost
    assert len(claim.buffered()["_spawns"]) == 1
    claim.let_go()


# --- batches ----------------------------------------------------------------------------------------------------


async def test_many_are_settled_at_once_and_a_stale_one_disturbs_no_other(client: Client) -> None:
    for n in range(6):
        await client.submit("page", n)
    claims = await client.claim("page", n=6)
    await client.cancel(claims[2].id)
    outcomes = ["text", Outcome.filter("thin"), "late", ValueError("odd"), Outcome.snooze(60), None]
    answers = await client.settle_many(list(zip(claims, outcomes, strict=True)))
    states = [answer.state.value if isinstance(answer, ClaimResult) else "lost" for answer in answers]
    assert states == ["success", "filtered", "lost", "pending", "pending", "success"]
    again = await client.settle_many([(claims[0], "twice")])
    assert isinstance(again[0], ClaimLost)
    task = await client.get(claims[0].id)
    assert task is not None
    assert task.result == "text"
    for claim in claims:
        await client.cancel(claim.id)


# --- keeping ----------------------------------------------------------------------------------------------------


async def test_a_block_without_outcome_hands_the_task_back_and_one_that_raises_has_failed(client: Client) -> None:
    claim = await taken(client)
    async with claim:
        pass
    assert await state(client, claim) == "pending"
    [claim] = await client.claim("page")
    assert claim.attempt == 1, "the attempt came back"
    with pytest.raises(ZeroDivisionError):
        async with claim:
            raise ZeroDivisionError("oh")
    task = await client.get(claim.id)
    assert task is not None
    assert (task.state, task.attempts) == ("pending", 1)
    await client.cancel(claim.id)


async def test_a_task_that_was_cancelled_frees_its_slot_when_the_block_ends(client: Client) -> None:
    claim = await taken(client)

    async def held() -> list[tuple[Any, ...]]:
        return await client.read("SELECT 1 FROM ramet_holds")

    async def work() -> None:
        async with claim:
            await client.cancel(claim.id)
            assert len(await held()) == 1
            await claim.advance("never")

    with pytest.raises(ClaimLost):
        await work()
    assert await held() == []


async def test_a_cancelled_block_hands_the_task_back(client: Client) -> None:
    claim = await taken(client)
    inside = asyncio.Event()

    async def work() -> None:
        async with claim:
            inside.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await inside.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await state(client, claim) == "pending"
    await client.cancel(claim.id)


# --- beside a worker, and how far it is -------------------------------------------------------------------------


async def test_workers_and_pullers_share_a_queue(tmp_path: Path) -> None:
    app = App(retry=Retry.SEED)
    ran: list[int] = []

    @app.task("page")
    async def page(ctx: Any, n: int) -> None:
        ran.append(n)

    async with app.client(tmp_path / "real.db") as client:
        await client.submit_many([("page", n) for n in range(10)])
        claims = await client.claim(page, n=4)
        assert [claim.payload for claim in claims] == [0, 1, 2, 3]
        await client.settle_many([(claim, None) for claim in claims])
        await worked_off(app, client)
        assert sorted(ran) == [4, 5, 6, 7, 8, 9]


async def test_the_state_queries_of_a_queue(client: Client, clock: SettableClock) -> None:
    assert await client.percent_complete() == 100.0
    one = await client.submit_many([("page", n) for n in range(4)], one_lineage=True)
    await client.submit("page", "elsewhere")
    [claim] = await client.claim("page")
    await claim.complete(spawns=[Spawn("page", "child"), Spawn("page", "second child")])
    tracking_id = one[0].tracking_id
    counts = await client.distribution(tracking_id)
    assert counts == [("pending", 5, 0.4), ("success", 1, 0.0)]
    assert (await client.queue_size(), await client.queue_size(tracking_id)) == (6, 5)
    assert await client.percent_complete(tracking_id) == pytest.approx(100 / 6)
    assert await client.percent_complete() == pytest.approx(100 / 7)
    with pytest.raises(LookupError):
        await client.percent_complete("nowhere")
    [held] = await client.claim("page")
    clock.advance(301)
    [stale] = await client.stale(held.tracking_id)
    assert (stale.key, stale.spawn_depth, stale.lease_until) == (held.key, 0, clock.now - 1)
    assert await client.stale("another") == []
    await client.reclaim()


async def test_heartbeats_keep_a_block_and_a_lost_claim_ends_it(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        submitted = await client.submit("page")
        [claim] = await client.claim("page", lease_seconds=3.0)
        task = await client.get(submitted.id)
        assert task is not None
        first_end = task.lease_until or 0.0

        async def work() -> None:
            async with claim:
                await until(lambda: lease_past(client, claim, first_end + 1.2), "a second heartbeat")
                await client.cancel(claim.id)
                await asyncio.Event().wait()

        with pytest.raises(ClaimLost, match="while working on it"):
            await work()
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0
        assert claim.lost


async def lease_past(client: Client, claim: Claim, moment: float) -> bool:
    task = await client.get(claim.id)
    return task is not None and (task.lease_until or 0.0) > moment


async def test_a_batch_is_kept_and_what_has_no_outcome_goes_back(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        for n in range(3):
            await client.submit("page", n)
        claims = await client.claim("page", n=3, lease_seconds=3.0)
        before = {task.id: task.lease_until or 0.0 for task in (await client.tasks()).tasks}
        async with client.keep(claims):
            for claim in claims:
                await until(lambda c=claim: lease_past(client, c, before[c.id]), "a heartbeat")  # type: ignore[misc]
            await claims[0].complete()
        states = [str(task.state) for task in (await client.tasks()).tasks]
        assert sorted(states) == ["pending", "pending", "success"]
        for claim in claims:
            await client.cancel(claim.id)
