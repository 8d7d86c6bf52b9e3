"""The gate of a host: at most so many requests at once and a smallest gap, over all workers on a database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from ramet import App, Client, Context, Statement, StatementResult, Worker
from ramet.fetch import host_gate as gates
from ramet.fetch.host_gate import LEASE_SECONDS, SLOTS, LocalGate, SharedGate, through

HOST = "host:wiki.example"
REQUESTS = 24
HOLD_SECONDS = 0.01
SLOTS_NOW = "SELECT slot, holder, until FROM wiki_host_slots WHERE host = ? ORDER BY slot"


class Passed(NamedTuple):
    """A request: the loop's time when it began and when it ended."""

    began: float
    ended: float


class Crowd:
    """Requests that wait inside until as many as may be are there together."""

    def __init__(self) -> None:
        self.passed: list[Passed] = []
        self._inside = 0
        self._full = asyncio.Event()

    async def enter(self, gate: LocalGate | SharedGate) -> None:
        loop = asyncio.get_running_loop()
        async with gate.request():
            began = loop.time()
            self._inside += 1
            if self._inside == SLOTS:
                self._full.set()
            await self._full.wait()
            await asyncio.sleep(HOLD_SECONDS)
            self._inside -= 1
            self.passed.append(Passed(began, loop.time()))

    def at_once(self) -> int:
        """The most requests that were under way at one time."""
        changes = sorted([(one.began, 1) for one in self.passed] + [(one.ended, -1) for one in self.passed])
        under_way = most = 0
        for _, change in changes:
            under_way += change
            most = max(most, under_way)
        return most


class Number(BaseModel):
    number: int


class Asking:
    """An app whose tasks make one request each, through a gate of their own, as if each had a process to itself."""

    def __init__(self, requests_per_second: float | None = None) -> None:
        self.app = App(tables=gates.DEFINITIONS)
        self.crowd = Crowd()

        @self.app.task("ask", key=lambda payload: str(payload.number))
        async def ask(ctx: Context, payload: Number) -> None:
            with through(ctx.transaction):
                await self.crowd.enter(SharedGate(ctx.client, HOST, requests_per_second=requests_per_second))

        self.ask = ask

    async def run(self, place: str | Path, sql: str) -> tuple[float, list[tuple[Any, ...]]]:
        """All requests, by workers with a connection each; when they were submitted, and what `sql` says at the end."""
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(self.app.client(place)) for _ in range(3)]
            payloads = [(self.ask, Number(number=number)) for number in range(REQUESTS)]
            submitted_at = clients[0].clock.now()
            await clients[0].submit_many(payloads, one_lineage=True, tracking_id="all")
            running = [Worker(self.app, client, concurrency=8, until_ended="all").run() for client in clients]
            await asyncio.gather(*running)
            return submitted_at, await clients[0].read(sql, (HOST,))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """A database of each kind."""
    if request.param == "sqlite":
        return tmp_path / "gate.db"
    url: str = request.getfixturevalue("ramet_postgres_url")
    return url


async def test_workers_on_one_database_share_the_slots_of_a_host(place: str | Path) -> None:
    asking = Asking()
    _, left = await asking.run(place, SLOTS_NOW)
    assert len(asking.crowd.passed) == REQUESTS
    assert asking.crowd.at_once() == SLOTS
    assert left == [(slot, "", 0.0) for slot in range(SLOTS)]


async def test_workers_on_one_database_keep_one_pace(place: str | Path) -> None:
    asking = Asking(requests_per_second=50)
    submitted_at, [[next_at]] = await asking.run(place, "SELECT next_at FROM wiki_hosts WHERE host = ?")
    assert len(asking.crowd.passed) == REQUESTS
    # Each database clock read is later than the submission, and each request has moved the next one on.
    assert next_at - submitted_at >= REQUESTS / 50 - 0.001


class Book:
    """A database of the test's own behind `through`, and a clock that is put forward by hand."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.slept: list[float] = []
        self.time = 1_000.0
        client.clock = self

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


async def taken_up(place: Path, slots_until: Sequence[float], *, rate: float | None = None) -> tuple[Book, list[float]]:
    """Where a request waits, on a database whose slots are held for so long by somebody who was killed."""
    app = App(tables=gates.DEFINITIONS)
    begun: list[float] = []

    @app.task("ask")
    async def ask(ctx: Context) -> None:
        book = Book(ctx.client)
        gate = SharedGate(ctx.client, HOST, requests_per_second=rate)

        async def transaction(statements: Sequence[Statement]) -> Sequence[StatementResult]:
            return await ctx.transaction(statements)

        held = [
            Statement(
                "INSERT INTO wiki_host_slots (host, slot, holder, until) VALUES (?, ?, 'dead', ?)", (HOST, slot, until)
            )
            for slot, until in enumerate(slots_until)
        ]
        if held:
            await transaction(held)
        with through(transaction):
            for _ in range(2):
                async with gate.request():
                    begun.append(book.time)
        books.append(book)

    books: list[Book] = []
    async with app.client(place) as client:
        submitted = await client.submit(ask)
        await Worker(app, client, until_ended=submitted.tracking_id).run()
    return books[0], begun


async def test_a_slot_of_a_killed_holder_comes_back_with_its_lease(tmp_path: Path) -> None:
    ends = [1_000.0 + LEASE_SECONDS, 1_010.0, 1_000.0 + LEASE_SECONDS]
    _, begun = await taken_up(tmp_path / "gate.db", ends)
    assert 1_010.0 <= begun[0] < 1_011.0
    assert begun[1] == begun[0]


async def test_a_slot_is_held_for_as_long_as_the_request_takes(tmp_path: Path) -> None:
    app = App(tables=gates.DEFINITIONS)
    held: list[float] = []

    @app.task("ask")
    async def ask(ctx: Context) -> None:
        with through(ctx.transaction):
            async with SharedGate(gates_own, HOST).request():
                while book.time < 1_000.0 + 3 * LEASE_SECONDS:
                    asked_at = book.time  # It goes on while the answer is on its way.
                    [(until,)] = await ctx.read("SELECT MAX(until) FROM wiki_host_slots WHERE host = ?", (HOST,))
                    held.append(until - asked_at)

    # Whoever sleeps puts a clock forward: the worker, with its beats, has another one.
    async with app.client(tmp_path / "gate.db") as client, app.client(tmp_path / "gate.db") as gates_own:
        book = Book(gates_own)
        submitted = await client.submit(ask)
        await Worker(app, client, until_ended=submitted.tracking_id).run()
        task = await client.get(submitted.id)
        assert task is not None
        assert task.state == "success", task.error
    assert min(held) > 0


async def test_requests_begin_at_the_pace_that_was_asked_for(tmp_path: Path) -> None:
    book, begun = await taken_up(tmp_path / "gate.db", [], rate=0.5)
    assert begun[1] - begun[0] == pytest.approx(2.0)
    assert book.slept == [pytest.approx(2.0)]


async def test_a_request_outside_of_a_transaction_is_an_error_of_the_program(tmp_path: Path) -> None:
    async with App(tables=gates.DEFINITIONS).client(tmp_path / "gate.db") as client:
        with pytest.raises(LookupError):
            async with SharedGate(client, HOST).request():
                pass


async def test_a_slot_is_given_back_when_the_request_fails(tmp_path: Path) -> None:
    app = App(tables=gates.DEFINITIONS)

    @app.task("ask")
    async def ask(ctx: Context) -> None:
        gate = SharedGate(ctx.client, HOST)
        for _ in range(2 * SLOTS):
            with through(ctx.transaction), pytest.raises(OSError, match="broke"):
                async with gate.request():
                    raise OSError("broke off")

    async with app.client(tmp_path / "gate.db") as client:
        submitted = await client.submit(ask)
        await Worker(app, client, until_ended=submitted.tracking_id).run()
        task = await client.get(submitted.id)
        assert task is not None
        assert task.state == "success", task.error
        assert await client.read(SLOTS_NOW, (HOST,)) == [(slot, "", 0.0) for slot in range(SLOTS)]


async def test_a_process_alone_needs_no_database() -> None:
    crowd = Crowd()
    gate = LocalGate()
    await asyncio.gather(*(crowd.enter(gate) for _ in range(REQUESTS)))
    assert crowd.at_once() == SLOTS


async def test_a_process_alone_keeps_its_pace() -> None:
    loop = asyncio.get_running_loop()
    began_at: list[float] = []

    async def skip(seconds: float) -> None:
        began_at.append(loop.time() + seconds)

    gate = LocalGate(requests_per_second=0.5, sleep=skip)
    before = loop.time()
    for _ in range(4):
        async with gate.request():
            pass
    assert len(began_at) == 3
    assert began_at[-1] - before >= 6.0
