"""A fault that is no `StoreError` (of one task, one row, one loop) ends no worker."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

import pytest

from ramet import App, Client, Context, Limits
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from ramet.store.store import Store
from tests.support.waiting import until, worked_off, working


class Faulty:
    """A store in which a fault of one task, or of one verb, is no `StoreError`."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.odd: set[int] = set()
        """Tasks whose settlement it cannot take, unless it is an error."""
        self.unsettleable: set[int] = set()
        """Tasks whose settlement it cannot take at all."""
        self.faults: dict[str, int] = {}
        """How often each verb fails."""

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not self.faults.get(name):
            return verb

        async def failing(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("a rate of zero")

        self.faults[name] -= 1
        return failing

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        for item in batch:
            if item.seq in self.unsettleable or (item.seq in self.odd and type(item.event) is not ev.Error):
                raise TypeError(f"task {item.seq} asks for something odd")
        settled: list[SettleResult] = await self._store.settle(batch)
        return settled


async def test_what_cannot_be_settled_is_that_tasks_error_and_the_worker_goes_on(
    app: App, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task("any", limits=Limits(max_attempts=1))
    async def any_(ctx: Context, n: int) -> int:
        if n == 3:
            faulty.odd.add(ctx._work.seq)
        return n

    faulty = Faulty(client.store)
    client.store = cast(Store, faulty)
    made = await client.submit_many([("any", n) for n in range(8)])
    with caplog.at_level(logging.ERROR):
        await worked_off(app, client)
    states = [(await client.get(each.id)).state for each in made]  # type: ignore[union-attr]
    assert [n for n, state in enumerate(states) if state != "success"] == [3]
    [attempt] = (await client.history(made[3].id)).attempts  # type: ignore[union-attr]
    assert attempt.outcome == "error"
    assert "asks for something odd" in str(attempt.error)
    assert "could not be settled" in caplog.text


async def test_what_cannot_even_become_an_error_is_let_go_and_the_worker_goes_on(app: App, client: Client) -> None:
    @app.task("any")
    async def any_(ctx: Context, n: int) -> int:
        if n == 3:
            faulty.unsettleable.add(ctx._work.seq)
        return n

    faulty = Faulty(client.store)
    client.store = cast(Store, faulty)
    made = await client.submit_many([("any", n) for n in range(8)])
    async with working(app, client) as worker:

        async def all_but_one() -> bool:
            return [(await client.get(each.id)).state for each in made].count("success") == 7  # type: ignore[union-attr]

        await until(all_but_one, "the others are settled")
        await until(lambda: not worker.in_hand, "nothing is held on to")
        faulty.unsettleable.clear()


@pytest.mark.parametrize("verb", ["claim", "heartbeat", "sweep", "ends", "tend_paths"])
async def test_a_fault_in_a_loop_of_the_worker_ends_no_worker(app: App, client: Client, verb: str) -> None:
    @app.task("any")
    async def any_(ctx: Context, n: int) -> int:
        await until(lambda: not faulty.faults.get(verb), f"{verb} failed")
        return n

    faulty = Faulty(client.store)
    faulty.faults[verb] = 1
    client.store = cast(Store, faulty)
    made = await client.submit("any", 1)
    await worked_off(app, client, heartbeat_seconds=0.05)
    task = await client.get(made.id)
    assert task is not None
    assert task.state == "success"
