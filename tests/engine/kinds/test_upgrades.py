"""Payload versions: a changed program reads what waits, and leaves what a newer one wrote."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ramet import App, Client, Context, Limits, Outcome, Retry, TaskState, UnknownKind, Worker
from ramet.model.values import InvalidNumber
from ramet.testing import run_task
from tests.support.waiting import get, history, outcomes, worked_off


class Order(BaseModel):
    """Of version 3: cents instead of euros, and a country."""

    cents: int
    country: str


def first_program() -> App:
    """Version 1: ``{"euros": 5}``. Its handler asks for one more of itself."""
    app = App()

    @app.task("order")
    async def order(ctx: Context, payload: dict[str, int]) -> None:
        raise AssertionError("these tests run the later program only")

    return app


def third_program(seen: list[Order], **options: Any) -> App:
    """Version 3, which reads both that came before."""
    app = App(retry=Retry.SEED)

    @app.task("order", version=3, **options)
    async def order(ctx: Context, payload: Order) -> int:
        seen.append(payload)
        return payload.cents

    @app.upgrade(order, from_version=2)
    def country(payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "country": "DE"}

    @app.upgrade("order", from_version=1)
    def cents(payload: dict[str, Any]) -> Mapping[str, Any]:
        return {"cents": payload["euros"] * 100}

    return app


async def worked(app: App, address: Path, **options: Any) -> None:
    """Work everything off."""
    async with app.client(address) as client:
        await worked_off(app, client, **options)


# --- what is refused --------------------------------------------------------------------------------------------


def test_steps_that_cannot_be_are_refused(app: App) -> None:
    @app.task("plain")
    async def plain(ctx: Context) -> None: ...

    @app.task("later", version=3)
    async def later(ctx: Context, payload: int) -> None: ...

    def step(payload: Any) -> Any:
        return payload

    with pytest.raises(UnknownKind, match="no kind 'nothing'"):
        app.upgrade("nothing", from_version=1)(step)
    with pytest.raises(ValueError, match="of version 1: register it with version=2"):
        app.upgrade(plain, from_version=1)(step)
    for version in (0, 3):
        with pytest.raises(ValueError, match="give 1 to 2"):
            app.upgrade(later, from_version=version)(step)
    app.upgrade(later, from_version=1)(step)
    with pytest.raises(ValueError, match="two upgrades from version 1"):
        app.upgrade(later, from_version=1)(step)
    with pytest.raises(InvalidNumber, match="version of kind 'zero'"):
        app.task("zero", version=0)(later)


async def test_a_worker_does_not_start_while_a_step_is_missing(app: App, client: Client) -> None:
    @app.task("later", version=3)
    async def later(ctx: Context, payload: int) -> None: ...

    app.upgrade(later, from_version=1)(lambda payload: payload)
    with pytest.raises(ValueError, match=r"cannot read version 2: register @app.upgrade\('later', from_version=2\)"):
        Worker(app, client)


async def test_what_an_upgrade_raises_is_the_tasks_error(tmp_path: Path) -> None:
    async with first_program().client(tmp_path / "ramet.db") as client:
        wanted = await client.submit("order", {"dollars": 5}, max_attempts=1)
        app = third_program([])
        await worked(app, tmp_path / "ramet.db")
        task = await get(client, wanted.id)
        assert (task.state, task.attempts) == (TaskState.FAILED, 1)
        assert task.error is not None
        assert "KeyError: 'euros'" in task.error


# --- what is read -----------------------------------------------------------------------------------------------


async def test_a_changed_program_reads_what_waits_of_each_version(tmp_path: Path) -> None:
    seen: list[Order] = []
    app = third_program(seen)
    async with first_program().client(tmp_path / "ramet.db") as client:
        first = await client.submit("order", {"euros": 5})
        second = await client.submit("order", {"cents": 7}, payload_version=2)
    async with app.client(tmp_path / "ramet.db") as client:
        third = await client.submit("order", Order(cents=9, country="FR"))
        await worked_off(app, client)
        assert [await client.result(one.id) for one in (first, second, third)] == [500, 7, 9]
        assert (await get(client, first.id)).payload == {"euros": 5}
    assert sorted((one.cents, one.country) for one in seen) == [(7, "DE"), (9, "FR"), (500, "DE")]


async def test_batches_and_pulled_claims_read_older_payloads_too(tmp_path: Path) -> None:
    app, seen = App(), list[int]()

    @app.task("many", version=2, batch=3, batch_seconds=0.0)
    async def many(batch: Any, payloads: list[int]) -> list[None]:
        seen.extend(payloads)
        return [None] * len(payloads)

    @app.task("pulled", version=2, pulled=True)
    async def pulled(ctx: Context, payload: int) -> None: ...

    for kind in (many, pulled):
        app.upgrade(kind, from_version=1)(lambda payload: payload["n"])
    async with App().client(tmp_path / "ramet.db") as client:
        await client.submit_many([("many", {"n": 1}), ("many", {"n": 2}), ("pulled", {"n": 3})])
    async with app.client(tmp_path / "ramet.db") as client:
        await client.submit(many, 4)
        await worked_off(app, client, kinds=["many"])
        [claim] = await client.claim(pulled)
        assert claim.payload == 3
        await claim.complete()
    assert sorted(seen) == [1, 2, 4]


async def test_spawns_blocks_and_revived_tasks_keep_the_version_they_were_written_in(tmp_path: Path) -> None:
    old, seen = App(limits=Limits(max_tasks=2)), list[Order]()

    @old.task("parent")
    async def parent(ctx: Context) -> None:
        for euros in (1, 2):
            ctx.spawn("order", {"euros": euros})

    @old.task("order")
    async def order(ctx: Context, payload: dict[str, int]) -> Outcome:
        return ctx.fail("not yet")

    async with old.client(tmp_path / "ramet.db") as client:
        root = await client.submit(parent)
        await worked_off(old, client)
        [child] = (await client.tasks(kind="order")).tasks
        await client.revive([child.id], by="test")
        await client.raise_limits(root.tracking_id, by="test", max_tasks=10)
    app = third_program(seen)
    async with app.client(tmp_path / "ramet.db") as client:
        assert len((await client.reoffer(root.tracking_id, by="test")).created) == 1
        await worked_off(app, client)
    assert sorted(one.cents for one in seen) == [100, 200]


async def test_a_stage_reads_the_payload_that_the_first_one_was_given(tmp_path: Path) -> None:
    old, app, seen = App(), App(), list[tuple[str, int]]()
    before = old.pipeline("line", task_per_stage=True)
    line = app.pipeline("line", task_per_stage=True, version=2)

    @before.stage("first")
    async def one(ctx: Context, payload: dict[str, int]) -> None: ...

    def stage(name: str) -> Callable[[Context, int], Coroutine[Any, Any, int]]:
        async def run(ctx: Context, payload: int) -> int:
            seen.append((name, payload))
            return payload

        run.__name__ = name
        return run

    for name in ("one", "two"):
        line.stage(name)(stage(name))
    app.upgrade("line", from_version=1)(lambda payload: payload["n"])
    async with old.client(tmp_path / "ramet.db") as client:
        await client.submit("line", {"n": 5}, key="a")
    await worked(app, tmp_path / "ramet.db")
    assert seen == [("one", 5), ("two", 5)]


async def test_a_schedule_keeps_the_version_in_which_it_was_declared(tmp_path: Path) -> None:
    seen: list[Order] = []
    async with first_program().client(tmp_path / "ramet.db") as client:
        await client.schedules.add("order", {"euros": 3}, every_seconds=86_400.0, name="daily")
    app = third_program(seen)
    async with app.client(tmp_path / "ramet.db") as client:
        await client.schedules.run("daily", by="test")
        await worked_off(app, client)
    assert [one.cents for one in seen] == [300]


async def test_a_payload_of_a_newer_version_goes_back_without_an_attempt(app: App, client: Client) -> None:
    @app.task("order")
    async def order(ctx: Context, payload: int) -> None: ...

    wanted = await client.submit(order, 1, payload_version=2)
    plain = await client.submit(order, 2)
    await worked_off(app, client, until_idle=False, until_ended=plain.tracking_id)
    worker = Worker(app, client, once=True)
    await worker.run()
    task = await get(client, wanted.id)
    assert (task.state, task.attempts, await outcomes(client, wanted.id)) == (TaskState.PENDING, 0, ["snooze"])
    [attempt] = (await history(client, wanted.id)).attempts
    assert attempt.reason is not None
    assert "the payload of order is of version 2, this program reads 1" in attempt.reason


async def test_a_test_runs_a_kind_of_a_later_version(app: App) -> None:
    seen: list[Order] = []
    ran = await run_task(third_program(seen), "order", Order(cents=4, country="FR"))
    assert (ran.result, len(seen)) == (4, 1)


# --- options of one task ----------------------------------------------------------------------------------------


async def test_a_submit_lowers_attempts_and_never_raises_them(app: App, client: Client) -> None:
    @app.task("work", retry=Retry(attempts=3, base_seconds=0.0))
    async def work(ctx: Context, n: int) -> None:
        raise TimeoutError("again")

    few, many, own = [
        await client.submit(work, 1, max_attempts=2),
        await client.submit(work, 2, max_attempts=9),
        await client.submit(work, 3, retry=Retry(attempts=1)),
    ]
    with pytest.raises(InvalidNumber, match="max_attempts is 0"):
        await client.submit(work, 4, max_attempts=0)
    await worked_off(app, client)
    assert [(await get(client, one.id)).attempts for one in (few, many, own)] == [2, 3, 1]


async def test_a_submit_says_when_its_task_is_tried_again(app: App, client: Client) -> None:
    @app.task("work", retry=Retry(base_seconds=0.0))
    async def work(ctx: Context, n: int) -> None:
        if n:
            raise TimeoutError("again")

    later = await client.submit(work, 1, retry=Retry(base_seconds=3_600.0, cap_seconds=3_600.0, jitter=0.0))
    worker = Worker(app, client, once=True)
    await worker.run()
    task = await get(client, later.id)
    assert (task.state, task.attempts) == (TaskState.PENDING, 1)
    assert task.available_at is not None
    [attempt] = (await history(client, later.id)).attempts
    assert task.available_at == pytest.approx(attempt.ended_at + 3_600.0)
