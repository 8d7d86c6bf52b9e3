"""`ramet costs`: what was spent, in dollars for people and in nano-dollars for machines."""

from __future__ import annotations

import asyncio

from ramet import App, Context, Limits
from tests.cli.conftest import Cli

TENTH = 100_000_000


def spend(database: str) -> str:
    """A lineage that charged a tenth of a dollar twice and reserved one; returns its tracking id."""
    app = App()

    @app.task("ask")
    async def ask(ctx: Context, prompt: str) -> None:
        await (await ctx.reserve(3 * TENTH)).settle(TENTH)
        ctx.charge(TENTH)

    async def submit() -> str:
        async with app.client(database) as client:
            limits = Limits(max_cost=10 * TENTH, soft_cost=8 * TENTH)
            return (await client.submit(ask, "why?", limits=limits)).tracking_id

    tracking_id = asyncio.run(submit())
    app.run(database, poll_seconds=0.01)
    return tracking_id


def test_costs_are_told_in_dollars(cli: Cli) -> None:
    tracking_id = spend(cli.address)
    assert f"{tracking_id}  $0.20     $0.00         $0.80    $1.00" in cli.good("costs")
    shown = cli.good("costs", tracking_id)
    assert "ask       2  $0.20     $0.00" in shown
    assert "today (UTC)" in shown


def test_costs_are_told_in_nano_dollars_as_json(cli: Cli) -> None:
    tracking_id = spend(cli.address)
    [found] = cli.documents("costs", tracking_id)
    assert found["day"] == {"name": "day", "spent": 2 * TENTH, "reserved": 0, "most": None, "soft": None}
    assert found["total"]["spent"] == 2 * TENTH
    [lineage], [kind], [task] = found["lineages"], found["kinds"], found["tasks"]
    assert lineage == {"tracking_id": tracking_id, "spent": 2 * TENTH, "reserved": 0, "max_cost": 10 * TENTH,
                       "under_reserved": 0, "soft_cost": 8 * TENTH}  # fmt: skip
    assert (kind["kind"], kind["calls"], task["calls"]) == ("ask", 2, 2)


def test_a_lineage_that_cost_nothing_says_so(cli: Cli) -> None:
    _, tracking_id = cli.submit("node", {"name": "a"})
    assert "nothing was spent by this lineage" in cli.good("costs", tracking_id)
    assert "no lineage nope" in cli.bad("costs", "nope")
