"""ctx.transaction: statements on own tables, all or none, at once, under the claim's fence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, ClaimLost, Client, Context, Limits, Statement, StatementResult, SyncContext, TransactionRefused
from tests.invariants.check import violations
from tests.support.waiting import worked_off

STOCK = "CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, quantity INTEGER CHECK (quantity >= 0), picture BLOB)"
TAKE = "UPDATE stock SET quantity = quantity - ? WHERE item = ? AND quantity >= ?"
ADD = "INSERT INTO stock (item, quantity) VALUES (?, ?)"


@pytest.fixture
def app() -> App:
    return App(tables=[STOCK], limits=Limits(max_attempts=1))


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        await client.store.ensure_tables(["INSERT OR IGNORE INTO stock VALUES ('owl', 10, x'00ff')"])
        yield client
        assert await violations(client.store) == []


async def quantity(client: Client, item: str = "owl") -> Any:
    rows = await client.read("SELECT quantity FROM stock WHERE item = ?", (item,))
    return rows[0][0] if rows else None


async def test_it_is_committed_at_once_and_tells_what_it_did(app: App, client: Client) -> None:
    seen: list[Any] = []

    @app.task("take")
    async def take(ctx: Context) -> None:
        seen.append(await ctx.transaction([
            (TAKE, (3, "owl", 3)),
            Statement("SELECT quantity, picture FROM stock WHERE item = ?", ("owl",)),
            ("INSERT INTO stock (item, quantity) VALUES ('eagle', 1) RETURNING item", ()),
        ]))  # fmt: skip
        seen.append(await quantity(client))
        raise RuntimeError("what was committed stays")

    submitted = await client.submit("take")
    await worked_off(app, client)
    assert seen == [[StatementResult(1), StatementResult(1, ((7, b"\x00\xff"),)), StatementResult(1, (("eagle",),))], 7]
    assert (await client.get(submitted.id)).state == "failed"  # type: ignore[union-attr]
    assert await quantity(client) == 7


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (Statement(TAKE, (99, "owl", 99), expect_rows=1), "met 0 rows, not 1"),
        (Statement("SELECT 1 FROM stock WHERE item = 'owl'", expect_rows=0), "met 1 rows, not 0"),
        (Statement("UPDATE stock SET quantity = -1"), "CHECK"),
        (Statement("INSERT INTO nowhere VALUES (1)"), "nowhere"),
    ],
)
async def test_all_or_none_and_the_claim_goes_on(app: App, client: Client, last: Statement, why: str) -> None:
    told: list[TransactionRefused] = []

    @app.task("take")
    async def take(ctx: Context) -> str:
        with pytest.raises(TransactionRefused) as refused:
            await ctx.transaction([(TAKE, (3, "owl", 3)), last])
        told.append(refused.value)
        await ctx.transaction([(ADD, ("eagle", 1))])
        return "went on"

    submitted = await client.submit("take")
    await worked_off(app, client)
    assert await client.result(submitted.id) == "went on"
    assert told[0].statement == 1
    assert why in str(told[0])
    assert (await quantity(client), await quantity(client, "eagle")) == (10, 1)


async def test_of_many_that_want_the_last_exactly_as_many_get_it_as_there_are(app: App, client: Client) -> None:
    @app.task("take")
    def take(ctx: SyncContext, n: int) -> bool:
        while True:
            [(left,)] = ctx.read("SELECT quantity FROM stock WHERE item = 'owl'")
            if not left:
                return False
            change = "UPDATE stock SET quantity = ? WHERE item = 'owl' AND quantity = ?"
            try:
                ctx.transaction([Statement(change, (left - 1, left), expect_rows=1)])
            except TransactionRefused:
                continue
            return True

    submitted = await client.submit_many([("take", n) for n in range(16)])
    await worked_off(app, client, concurrency=8)
    got = await asyncio.gather(*(client.result(item.id) for item in submitted))
    assert sum(got) == 10
    assert await quantity(client) == 0


@pytest.mark.parametrize("how", ["expired", "cancelled"])
async def test_a_claim_that_is_not_current_changes_nothing(client: Client, how: str) -> None:
    submitted = await client.submit("page")
    [claim] = await client.claim("page", lease_seconds=300.0 if how == "cancelled" else 0.001)
    await client.cancel(submitted.id)
    with pytest.raises(ClaimLost):
        await claim.transaction([(ADD, ("eagle", 1))])
    assert await quantity(client, "eagle") is None


async def test_it_counts_as_progress(app: App, client: Client) -> None:
    @app.task("grow")
    async def grow(ctx: Context) -> Any:
        await ctx.transaction([(ADD, (f"egg {ctx.chain_depth}", 1))])
        return ctx.continue_later()

    submitted = await client.submit("grow")
    await worked_off(app, client)
    task = await client.get(submitted.id)
    assert task is not None
    assert (task.reason, task.chain_depth) == ("chain_depth: 2", 2)


@pytest.mark.parametrize(
    "wrong",
    ["COMMIT", "BEGIN", "PRAGMA user_version", "ATTACH 'x' AS y", "DROP TABLE stock", "SELECT * FROM ramet_tasks",
     "UPDATE OR ROLLBACK stock SET quantity = 1", "VACUUM", "SAVEPOINT a"],
)  # fmt: skip
async def test_what_would_touch_others_is_refused(client: Client, wrong: str) -> None:
    await client.submit("page")
    [claim] = await client.claim("page")
    with pytest.raises(ValueError, match=r"ctx\.transaction"):
        await claim.transaction([(wrong, ())])
    with pytest.raises(ValueError, match="at least one"):
        await claim.transaction([])
    with pytest.raises(TypeError, match="list"):
        await claim.transaction([(ADD, (["eagle"], 1))])
    await claim.complete()


async def test_two_statements_in_one_are_refused_and_leave_nothing(client: Client) -> None:
    await client.submit("page")
    [claim] = await client.claim("page")
    with pytest.raises(TransactionRefused):
        await claim.transaction([("UPDATE stock SET quantity = 0; DELETE FROM stock", ())])
    assert await quantity(client) == 10
    await claim.complete()
