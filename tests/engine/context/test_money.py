"""Money in a handler's hands: in the loop, in a thread, in a child process, and what a refusal does to the task."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, ClaimLost, Client, Context, CostRefused, Limits, Outcome, SyncContext, Task, TransactionRefused
from tests.invariants.check import violations
from tests.support.waiting import until, worked_off, working

TARGET = "tests.engine.apps.money_app:app"


@pytest.fixture
def app() -> App:
    return App(limits=Limits(max_cost=100, max_attempts=1))


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def sums(client: Client, tracking_id: str) -> tuple[int, int, int]:
    lineage = await client.lineage(tracking_id)
    assert lineage is not None
    return lineage.spent, lineage.reserved, lineage.under_reserved


async def ended(client: Client, task_id: str) -> Task:
    task = await client.get(task_id)
    assert task is not None
    return task


async def test_a_handler_reserves_settles_and_charges(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> None:
        call = await ctx.reserve(60)
        await call.settle(25)
        ctx.charge(5)
        ctx.charge(2)

    @app.task("plain")
    def plain(ctx: SyncContext) -> None:
        call = ctx.reserve(60)
        call.settle(25)
        ctx.charge(7)

    for kind in (ask, plain):
        submitted = await client.submit(kind)
        await worked_off(app, client)
        assert (await ended(client, submitted.id)).state == "success"
        assert await sums(client, submitted.tracking_id) == (32, 0, 0)


async def test_a_handler_in_a_child_process_does_too(tmp_path: Path) -> None:
    from tests.engine.apps.money_app import app

    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("ask", 25)
        refused = await client.submit("ask", 200)
        await worked_off(app, client, target=TARGET)
        assert await sums(client, submitted.tracking_id) == (32, 0, 0)
        task = await ended(client, refused.id)
        assert task.result is not None
        assert task.result.startswith("refused: cost: the ceiling of the lineage is $0.0000001")


async def test_a_refusal_that_the_handler_lets_through_fails_the_task_for_its_cost(app: App, client: Client) -> None:
    @app.task("ask", limits=Limits(max_attempts=4))
    async def ask(ctx: Context) -> None:
        ctx.charge(1)
        await ctx.reserve(101)

    submitted = await client.submit(ask)
    await worked_off(app, client)
    task = await ended(client, submitted.id)
    assert (task.state, task.attempts) == ("failed", 1)
    assert task.reason is not None
    assert task.reason.startswith("cost: the ceiling of the lineage is $0.0000001: $0.00 spent")
    assert await sums(client, submitted.tracking_id) == (0, 0, 0), "what was buffered is dropped"
    [block] = await client.blocks(submitted.tracking_id, reason="reserve")
    assert block.first_parent == submitted.id


async def test_where_others_may_give_room_back_the_task_is_put_off(app: App, client: Client) -> None:
    @app.task("keeps")
    async def keeps(ctx: Context) -> Outcome:
        await ctx.reserve(90)
        return ctx.snooze(1_000)

    @app.task("wants")
    async def wants(ctx: Context) -> None:
        await ctx.reserve(20)

    first, second = await client.submit_many([(keeps, None), (wants, None)], one_lineage=True)
    async with working(app, client, concurrency=1):
        await until(lambda: has_snoozed(client, first.id), "the money is kept")
        await until(lambda: has_snoozed(client, second.id), "the other is put off")
    task = await ended(client, second.id)
    assert (task.state, task.wait, task.attempts) == ("pending", "due", 0)
    history = await client.history(second.id)
    assert history is not None
    assert (history.attempts[-1].reason or "").startswith("cost: ")


async def has_snoozed(client: Client, task_id: str) -> bool:
    return (await ended(client, task_id)).snoozes > 0


async def test_a_handler_may_go_on_without_the_call(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> str:
        with pytest.raises(CostRefused) as refused:
            await ctx.reserve(101)
        assert refused.value.retry_seconds is None
        return "from the cache"

    submitted = await client.submit(ask)
    await worked_off(app, client)
    assert await client.result(submitted.id) == "from the cache"


async def test_a_call_that_cost_more_is_told_in_the_log(
    app: App, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> None:
        call = await ctx.reserve(60)
        await call.settle(150)
        await call.settle(1)

    with caplog.at_level(logging.WARNING, logger="ramet.cost"):
        submitted = await client.submit(ask)
        await worked_off(app, client)
    assert await sums(client, submitted.tracking_id) == (150, 0, 90)
    [over, again] = caplog.records
    assert "cost $0.00000015, $0.00000009 more than reserved" in over.getMessage()
    assert "was settled before at $0.00000015: $0.000000001 are not booked" in again.getMessage()


async def test_money_is_settled_after_the_claim_was_lost(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> None:
        call = await ctx.reserve(60)
        await ctx.client.cancel(ctx.id)
        await call.settle(10)

    submitted = await client.submit(ask)
    await worked_off(app, client)
    assert (await ended(client, submitted.id)).state == "cancelled"
    assert await sums(client, submitted.tracking_id) == (10, 0, 0)


@pytest.mark.parametrize("wrong", [-1, 0.5, True])
async def test_amounts_are_whole_nano_dollars(app: App, client: Client, wrong: int) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> str:
        with pytest.raises(ValueError, match="give whole nano-dollars"):
            await ctx.reserve(wrong)
        with pytest.raises(ValueError, match="give whole nano-dollars"):
            ctx.charge(wrong)
        return "refused"

    submitted = await client.submit(ask)
    await worked_off(app, client)
    assert await client.result(submitted.id) == "refused"


async def test_a_pulled_claim_reserves_and_settles(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> None: ...

    submitted = await client.submit(ask)
    [claim] = await client.claim("ask")
    call = await claim.reserve(60)
    await call.settle(25)
    claim.charge(7)
    with pytest.raises(CostRefused, match="ceiling of the lineage"):
        await claim.reserve(76)
    await claim.complete()
    assert await sums(client, submitted.tracking_id) == (32, 0, 0)


async def test_a_later_claim_settles_what_an_earlier_one_reserved(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> Outcome | None:
        if ctx.stage is None:
            call = await ctx.reserve(60)
            await ctx.checkpoint("sent", {"call": call.id, "amount": call.amount})
            return ctx.snooze(1)
        await ctx.reservation(ctx.state["call"], ctx.state["amount"]).settle(25)
        return None

    @app.task("plain")
    def plain(ctx: SyncContext) -> Outcome | None:
        if ctx.stage is None:
            call = ctx.reserve(60)
            ctx.checkpoint("sent", {"call": call.id, "amount": call.amount})
            return ctx.snooze(1)
        ctx.reservation(ctx.state["call"], ctx.state["amount"]).settle(25)
        return None

    asked = [await client.submit(kind) for kind in (ask, plain)]
    await worked_off(app, client)
    assert [await sums(client, told.tracking_id) for told in asked] == [(25, 0, 0)] * 2


@pytest.mark.parametrize("deduplicates", [True, False])
async def test_a_named_call_of_a_lost_attempt_counts_as_made_unless_the_provider_deduplicates(
    app: App, client: Client, deduplicates: bool
) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> Outcome | str:
        call = await ctx.reserve(40, name="first", provider_deduplicates=deduplicates)
        if not ctx.snoozes:
            return ctx.snooze(1)  # As after a crash: the next claim asks again.
        await call.settle(25)
        return call.id

    submitted = await client.submit(ask)
    await worked_off(app, client)
    name = f"{submitted.id}.first"
    assert (await client.result(submitted.id) == name) is deduplicates
    assert (await client.result(submitted.id)).startswith(name)
    assert await sums(client, submitted.tracking_id) == (25 if deduplicates else 65, 0, 0)


async def test_a_named_call_that_was_settled_says_so_and_books_nothing_more(
    app: App, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> int | None:
        await (await ctx.reserve(60, name="first")).settle(25)
        again = await ctx.reserve(60, name="first")
        with caplog.at_level(logging.WARNING, logger="ramet.cost"):
            await again.settle(40)
        return again.actual

    submitted = await client.submit(ask)
    await worked_off(app, client)
    assert await client.result(submitted.id) == 25
    assert "was settled before at $0.000000025: $0.00000004 are not booked" in caplog.text
    assert await sums(client, submitted.tracking_id) == (25, 0, 0)


async def test_a_name_whose_call_was_open_at_the_end_reserves_again_after_a_revive(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> Outcome | int | None:
        call = await ctx.reserve(40, name="first")
        if call.id.endswith(".first"):
            return ctx.fail("left open")
        await call.settle(5)
        return call.actual

    submitted = await client.submit(ask)
    await worked_off(app, client)
    await client.revive([submitted.id], by="test")
    await worked_off(app, client)
    assert await client.result(submitted.id) is None
    assert await sums(client, submitted.tracking_id) == (45, 0, 0)


TABLE = "CREATE TABLE IF NOT EXISTS answers (task_id TEXT PRIMARY KEY, words TEXT NOT NULL)"
KEEP = "INSERT INTO answers (task_id, words) VALUES (?, ?)"


@pytest.fixture
async def keeping(tmp_path: Path) -> AsyncIterator[tuple[App, Client]]:
    app = App(limits=Limits(max_cost=100, max_attempts=1), tables=[TABLE])
    async with app.client(tmp_path / "kept.db") as client:
        yield app, client
        assert await violations(client.store) == []


async def test_a_transaction_books_what_a_call_cost_with_what_it_brought(
    keeping: tuple[App, Client], caplog: pytest.LogCaptureFixture
) -> None:
    app, client = keeping

    @app.task("ask")
    async def ask(ctx: Context) -> None:
        call = await ctx.reserve(60)
        await ctx.transaction([(KEEP, (ctx.id, "yes"))], settle=[(call, 70)])

    @app.task("plain")
    def plain(ctx: SyncContext) -> None:
        call = ctx.reserve(60)
        ctx.transaction([(KEEP, (ctx.id, "yes"))], settle=[(call, 70)])

    for kind in (ask, plain):
        submitted = await client.submit(kind)
        await worked_off(app, client)
        assert await sums(client, submitted.tracking_id) == (70, 0, 10)
    assert await client.store.read("SELECT words FROM answers") == [("yes",)] * 2
    assert "cost $0.00000007, $0.00000001 more than reserved" in caplog.text


async def test_a_transaction_that_is_refused_books_nothing(keeping: tuple[App, Client]) -> None:
    app, client = keeping

    @app.task("ask")
    async def ask(ctx: Context, how: str) -> None:
        call = await ctx.reserve(60)
        if how == "lost":
            await ctx.client.cancel(ctx.id)
        words = None if how == "wrong" else "yes"
        with pytest.raises(ClaimLost if how == "lost" else TransactionRefused):
            await ctx.transaction([(KEEP, (ctx.id, words))], settle=[(call, 10)])
        await call.settle(10)

    for how in ("lost", "wrong"):
        submitted = await client.submit(ask, how)
        await worked_off(app, client)
        assert await sums(client, submitted.tracking_id) == (10, 0, 0), "it was settled by itself"
    assert await client.store.read("SELECT words FROM answers") == []
