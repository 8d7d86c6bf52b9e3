"""A process that dies at any statement: what was paid is read and not paid again, and what was billed is booked."""

from __future__ import annotations

from typing import cast

import pytest

from ramet import App, Client, Context, Limits, Outcome
from ramet.llm import ask, declare_models
from ramet.llm.asking.model import connections
from ramet.llm.providers.base import Mode, Provider
from ramet.testing import FakeClock, crash_everywhere
from tests.invariants.check import violations
from tests.llm.asking.conftest import CALL, MODEL, in_turn, says
from tests.llm.fake_provider import FakeProvider


class Bill:
    """What the provider billed since the last look, and how often it was asked the same."""

    def __init__(self) -> None:
        self.provider = FakeProvider(
            Mode.CHAT, FakeClock().now, in_turn(says(None, ("look", "{}")), says("no JSON"), says('"done"'))
        )

    def take(self) -> tuple[int, int]:
        """Return the money, and the largest number of times that one question was asked; begin again."""
        journal = self.provider.journal
        self.provider.taken.clear()
        return sum(journal.values()) * CALL, max(journal.values(), default=0)


async def test_a_crash_at_every_statement_pays_for_at_most_one_call_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bill = Bill()
    monkeypatch.setattr(connections, "opener", lambda model: cast(Provider, bill.provider))
    app = declare_models(App(limits=Limits(max_cost=10**9)))
    again: list[int] = []

    def look() -> str:
        """Look."""
        return "a tree"

    @app.task()
    async def leaf(ctx: Context) -> None: ...

    @app.task()
    async def work(ctx: Context) -> Outcome | str:
        answer = await ask(ctx, MODEL, "hello", schema=str, tools=[look], cache="lineage")
        if ctx.joined is None:
            ctx.spawn(leaf)
            return ctx.join()
        return answer.value

    async def season(client: Client) -> None:
        if await client.lineage("line") is None:
            await client.submit(work, tracking_id="line")

    async def check(client: Client) -> None:
        billed, most = bill.take()
        lineage = await client.lineage("line")
        assert lineage is not None
        [task] = [task async for task in client.all_tasks(kind="work")]
        assert (task.state, task.result) == ("success", "done")
        assert billed in (3 * CALL, 4 * CALL)
        assert most <= 2
        assert lineage.reserved == 0
        # A call whose answer was lost is booked at the most that it could cost.
        assert (lineage.spent == billed) if billed == 3 * CALL and lineage.spent == billed else lineage.spent > billed
        assert await violations(client.store) == []
        again.append(most)

    crashes = await crash_everywhere(app, season, check, every=3)
    await connections.close()
    assert crashes > 30
    assert again[0] == 1, "without a crash each is asked once"
    assert 2 in again, "a crash between the call and its transaction is among them"
    assert again.count(2) <= crashes / 5
