"""Ceilings under several workers that are killed: never passed at any change, and the books are the provider's bills.

What equals what, exactly: a reservation that was settled is booked with what the provider billed under its name. One
that nobody settled, because its task ended first (a poisoned one, say), counts whole; once it is settled by the bill,
all that is booked is all that was billed.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ramet import Client, Limits, TaskOptions
from ramet.model.money import ActualCost
from tests.crash.process import WorkerProcess
from tests.faults import paid_calls
from tests.faults.money_app import AMOUNT_MAX, DEATHS, amount_of, app, dies_after, price_of
from tests.faults.money_watch import seen, unwatch, watch, wrong_now
from tests.invariants.check import violations
from tests.support.backends import Backend
from tests.support.waiting import until

CONCURRENCY = 4
QUICK = {
    "worker.lease_seconds": 6.0,
    "worker.heartbeat_seconds": 1.0,
    "worker.poll_seconds": 0.2,
    "maintenance.sweep_seconds": 0.3,
}
READY = " serves "
RECOUNT_EVERY = 20
ALONE_FIRST = 2
"""The lineage with money for all its items; its handlers die after each step."""


class Run:
    """Workers on one database, and the provider that they call."""

    def __init__(self, address: str, folder: Path, items: int, crew: int) -> None:
        self.address, self.folder, self.items, self.crew = address, folder, items, crew
        self.bills = paid_calls.prepare(folder)
        self.workers: list[WorkerProcess] = []
        self.submitted = False
        """All four lineages are there."""
        self.asked = 0
        """How often the test has asked whether everything ended."""
        prices = [sum(map(price_of, numbers)) for numbers in self.parts_of(items)]
        self.limits = [
            Limits(max_cost=prices[0] // 2),
            Limits(max_cost=prices[1] // 2 + 50, soft_cost=prices[1] // 2),
            Limits(),
            Limits(),
        ]
        self.most = [prices[0] // 2, prices[1] // 2]
        self.global_max = sum(self.most) + prices[2] + prices[3] // 2
        """Room for what two lineages may spend, for all that the third wants, and half of the fourth's."""

    @staticmethod
    def parts_of(items: int) -> list[range]:
        """The numbers of the items of each of four lineages."""
        return [range(at * items // 4, (at + 1) * items // 4) for at in range(4)]

    def start_worker(self) -> None:
        self.workers.append(
            WorkerProcess(
                self.address, "--concurrency", str(CONCURRENCY), app="tests.faults.money_app:app",
                environment={paid_calls.BILLS: str(self.bills)}, folder=self.folder,
            )
        )  # fmt: skip

    async def begin(self, client: Client) -> None:
        """The first lineage is submitted and watched, the workers run, and handlers have died after each step."""
        await client.ensure_tables()
        for name, value in (QUICK | {"cost.global_max": self.global_max}).items():
            await client.settings.set(name, value)
        watch(self.address)
        # The global ceiling covers every bound of this lineage, so while it is alone nothing keeps a handler of it from
        # the step that it dies after.
        await self.submit(client, ALONE_FIRST)
        for _ in range(self.crew):
            self.start_worker()
        await until(lambda: self.deaths() == set(DEATHS), "a handler has died after each step", 120.0)

    async def submit_the_others(self, client: Client) -> None:
        """Submit the fourth, for which the global ceiling is too low, once two others have met their own ceilings."""
        for at in (0, 1):
            await self.submit(client, at)

        async def refused() -> bool:
            return {"line-0", "line-1"} <= await refused_money(client)

        await until(refused, "two lineages are refused money", 600.0)
        await self.submit(client, 3)
        self.submitted = True

    async def submit(self, client: Client, at: int) -> None:
        """Submit one of the four lineages."""
        items = [
            ("pay", number, TaskOptions(priority=int(dies_after(number) is not None)))
            for number in self.parts_of(self.items)[at]
        ]
        await client.submit_many(items, one_lineage=True, tracking_id=f"line-{at}", limits=self.limits[at])

    def deaths(self) -> set[str]:
        """The steps after which a handler has killed its process."""
        return {death.name.partition("-")[2] for death in (self.folder / "once").iterdir()}

    def progress(self) -> int:
        """Calls made so far."""
        return sum(1 for _ in self.bills.iterdir())

    def kill_one(self, rng: random.Random) -> None:
        """kill -9 of a worker at whatever it does; another takes its place."""
        victim = rng.choice(self.workers)
        victim.kill()
        self.workers.remove(victim)
        self.start_worker()

    async def stop(self) -> None:
        """All workers end in good order."""
        await until(lambda: all(READY in worker.log for worker in self.workers), "every worker serves")
        for worker in self.workers:
            worker.send(signal.SIGTERM)
        for worker in self.workers:
            assert await asyncio.to_thread(worker.code) == 0, worker.log


@contextmanager
def running(run: Run) -> Iterator[Run]:
    """Whatever happens, nothing of it runs afterwards."""
    try:
        yield run
    finally:
        for worker in run.workers:
            worker.end_whatever_it_does()


async def ended(run: Run, client: Client) -> bool:
    """Now and then it recounts the sums, too; at every change the database itself looks at them."""
    if run.asked % RECOUNT_EVERY == 0:
        assert await wrong_now(client, run.global_max) == []
    run.asked += 1
    for worker in run.workers:
        assert not worker.ended, f"a worker ended by itself:\n{worker.log}"
    return run.submitted and not await client.read("SELECT 1 FROM ramet_lineages WHERE ended_at IS NULL LIMIT 1")


async def refused_money(client: Client) -> set[str]:
    """The lineages in which a reservation was refused."""
    rows = await client.read("SELECT DISTINCT tracking_id FROM ramet_blocks WHERE reason = 'reserve'")
    return {tracking_id for (tracking_id,) in rows}


async def kill_at_seeded_moments(run: Run, client: Client, kills: int) -> None:
    rng = random.Random(7)
    for _ in range(kills):
        target = run.progress() + rng.randint(1, run.items // (4 * kills))

        async def far_enough(target: int = target) -> bool:
            return await ended(run, client) or run.progress() >= target

        await until(far_enough, "more calls")
        run.kill_one(rng)


@pytest.fixture(autouse=True)
def unwatched(backend: Backend) -> Iterator[None]:
    """Whatever a test watched is as it was before."""
    yield
    unwatch(backend.address)


@pytest.mark.parametrize(
    ("items", "crew", "kills"),
    [
        pytest.param(160, 4, 3, id="160 items"),
        pytest.param(10_000, 8, 40, id="10,000 items", marks=[pytest.mark.nightly, pytest.mark.timeout(900)]),
    ],
)
async def test_no_ceiling_is_ever_passed_and_what_is_booked_is_what_was_billed(
    items: int, crew: int, kills: int, backend: Backend, tmp_path: Path
) -> None:
    async with app.client(backend.address) as client:
        with running(Run(backend.address, tmp_path, items, crew)) as run:
            await run.begin(client)
            async with asyncio.TaskGroup() as group:
                group.create_task(run.submit_the_others(client))
                await kill_at_seeded_moments(run, client, kills)
            await until(lambda: ended(run, client), "everything has ended", 600.0)
            await run.stop()
        await assert_no_ceiling_was_passed(run, client)
        await assert_the_books_are_the_bills(run, client)
        assert await violations(client.store) == []


async def assert_no_ceiling_was_passed(run: Run, client: Client) -> None:
    """Not at any change, and each was worked against: nearly all of it was used, or it kept somebody out."""
    sums = await seen(client)
    for name, most in [("line-0", run.most[0]), ("line-1", run.most[1]), ("day -1", run.global_max)]:
        assert most - AMOUNT_MAX < sums[name].most <= most, name
        assert sums[name].looks > len(paid_calls.bills(run.bills)) // 4
    assert {"line-0", "line-1"} <= await refused_money(client)


async def assert_the_books_are_the_bills(run: Run, client: Client) -> None:
    billed = paid_calls.bills(run.bills)
    rows = await client.read("SELECT id, amount, actual, settled_at IS NOT NULL, closed_at FROM ramet_reservations")
    left = {name: amount for name, amount, _, settled, _ in rows if not settled}
    for name, amount, actual, settled, closed_at in rows:
        if settled:
            assert actual == billed[name] <= amount
        else:
            assert closed_at is not None, f"{name} is open and everything has ended"
    assert set(billed) <= {row[0] for row in rows}, "a call without a reservation"
    costs = await client.costs()
    assert costs.total.reserved == 0
    assert costs.total.spent == sum(left.values()) + sum(price for name, price in billed.items() if name not in left)
    await client.store.settle_reserved([ActualCost(name, billed.get(name, 0)) for name in left])
    costs = await client.costs()
    assert costs.total.spent == sum(lineage.spent for lineage in costs.lineages) == sum(billed.values())
    assert all(lineage.under_reserved == 0 for lineage in costs.lineages)
    ends = await client.read("SELECT DISTINCT reason FROM ramet_tasks WHERE state <> 'success'")
    assert {reason for (reason,) in ends} <= {"cost", "poison"}


def test_handlers_die_after_each_step_and_prices_stay_under_their_bounds() -> None:
    assert {dies_after(number) for number in Run.parts_of(160)[ALONE_FIRST]} == {None, *DEATHS}
    assert all(0 <= price_of(number) <= amount_of(number) <= AMOUNT_MAX for number in range(800))


@pytest.mark.parametrize("items", [160, 10_000])
def test_the_first_lineage_fits_under_the_global_ceiling_with_all_its_bounds(items: int, tmp_path: Path) -> None:
    run = Run("", tmp_path, items, crew=0)
    assert sum(map(amount_of, run.parts_of(items)[ALONE_FIRST])) <= run.global_max


async def test_the_watch_sees_a_ceiling_that_is_passed(backend: Backend) -> None:
    async with app.client(backend.address) as client:
        await client.ensure_tables()
        watch(backend.address)
        await client.submit("pay", 1, tracking_id="line", limits=Limits(max_cost=100))
        [claim] = await client.claim("pay")
        call = await claim.reserve(60)
        assert (await seen(client))["line"] == (60, 1)
        assert await wrong_now(client, 60) == []
        assert await wrong_now(client, 59) == ["all spent 0 and reserved 60, over 59"]
        await call.settle(101)
        assert (await seen(client))["line"] == (101, 2)
        assert await wrong_now(client, 200) == ["line spent 101 and reserved 0, over 100"]
        await claim.complete()
