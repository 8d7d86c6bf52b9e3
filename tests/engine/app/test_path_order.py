"""Programs that use paths, on both stores: what users see of the order, whichever way a task came to be."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Permanent, Spawn
from tests.invariants.check import violations
from tests.support.waiting import worked_off


@pytest.fixture
def ran(app: App) -> list[str]:
    """Names of the tasks that ran, with ``+`` when they began and ``-`` when they ended."""
    log: list[str] = []

    @app.task("edit", key=lambda name: name)
    async def edit(ctx: Context, name: str) -> None:
        log.append(f"+{name}")
        await ctx.progress(1)
        log.append(f"-{name}")
        if "fail" in name:
            raise Permanent("asked to")

    return log


async def states(client: Client) -> dict[str, str]:
    return {task.key: str(task.state) async for task in client.all_tasks(kind="edit")}


async def test_tasks_of_one_document_run_one_by_one_in_the_order_of_their_submission(
    app: App, client: Client, ran: list[str]
) -> None:
    names = [f"{document}{n}" for n in range(6) for document in "abc"]
    await client.submit_many([("edit", name, {"document_id": name[0]}) for name in names])
    await worked_off(app, client)
    for document in "abc":
        mine = [step for step in ran if step[1] == document]
        assert mine == [f"{sign}{document}{n}" for n in range(6) for sign in "+-"]


async def test_the_same_for_submits_one_after_the_other_and_for_all_roots_of_a_lineage(
    app: App, client: Client, ran: list[str]
) -> None:
    for name in ("one", "two"):
        await client.submit("edit", name, path=["d"])
    await client.submit_many([("edit", name, {"path": ["d", "x"]}) for name in ("three", "four")], one_lineage=True)
    await client.submit("edit", "five", document_id="d")
    await worked_off(app, client)
    assert [step[1:] for step in ran if step[0] == "+"] == ["one", "two", "three", "four", "five"]


async def test_a_task_that_is_submitted_with_ones_own_rows_takes_its_place_soon_after_the_commit(
    app: App, tmp_path: Path, ran: list[str]
) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        connection = sqlite3.connect(tmp_path / "ramet.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        for name in ("one", "two"):
            await client.submit("edit", name, document_id="d", connection=connection)
        connection.execute("COMMIT")
        connection.close()
        await worked_off(app, client)
        assert ran == ["+one", "-one", "+two", "-two"]
        assert await violations(client.store) == []


async def test_a_delayed_task_takes_its_place_when_it_is_due_or_at_once_where_it_is_reserved(client: Client) -> None:
    for document, reserve in (("now", True), ("later", False)):
        await client.submit(
            "edit",
            f"{document} 1",
            document_id=document,
            reserve_path=reserve,
            delay_seconds=3_600,
            key=f"{document} 1",
        )
        await client.submit("edit", f"{document} 2", document_id=document, key=f"{document} 2")
    assert [claim.key for claim in await client.claim("edit", 10)] == ["later 2"]


@pytest.mark.parametrize(("rule", "state"), [("skip", "skipped"), ("run", "success")])
async def test_what_becomes_of_those_below_when_one_fails(
    app: App, client: Client, ran: list[str], rule: str, state: str
) -> None:
    await client.submit("edit", "fails", path=["d"])
    await client.submit("edit", "below", path=["d", "x"], on_dependency_failure=rule)
    await client.submit("edit", "beside", path=["e"], on_dependency_failure=rule)
    await client.submit("edit", "same", path=["d"], on_dependency_failure=rule)
    await worked_off(app, client)
    assert await states(client) == {"fails": "failed", "below": state, "beside": "success", "same": "success"}


async def test_a_handlers_children_stand_below_beside_and_at_its_path(app: App, client: Client, ran: list[str]) -> None:
    @app.task("plan")
    async def plan(ctx: Context) -> None:
        ctx.spawn("edit", "below", path=[*ctx.path, "x"])
        ctx.spawn("edit", "at", path=ctx.path)
        await ctx.spawn_now("edit", "beside", path=[ctx.path[0], "other"])
        ran.append("planned")

    await client.submit("plan", path=["d", "p"])
    await worked_off(app, client)
    began = [step for step in ran if step[0] != "-"]
    assert sorted(began) == ["+at", "+below", "+beside", "planned"]
    assert began.index("planned") < began.index("+below") < began.index("+at"), "in the order in which they were asked"
    assert ran.index("-below") < ran.index("+at")


async def test_the_spawns_of_a_pulled_claim_stand_in_line_too(app: App, client: Client, ran: list[str]) -> None:
    await client.submit("plan")
    [claim] = await client.claim("plan")
    await claim.complete(spawns=[Spawn("edit", name, document_id="d") for name in ("one", "two", "three")])
    await worked_off(app, client)
    assert [step for step in ran if step[0] == "+"] == ["+one", "+two", "+three"]


async def test_a_blocked_spawn_that_is_offered_again_stands_where_it_was_to_stand(app: App, client: Client) -> None:
    submitted = await client.submit("plan", limits=Limits(max_fan_out=0))
    [claim] = await client.claim("plan")
    await claim.complete(spawns=[Spawn("edit", "one", path=["d", "x"], on_dependency_failure="run")])
    await client.raise_limits(submitted.tracking_id, max_fan_out=5)
    offered = await client.reoffer(submitted.tracking_id)
    [task_id] = offered.created
    task: Any = await client.get(task_id)
    assert task.path == ("d", "x")
    rule = await client.read("SELECT path_scope, on_dependency_failure FROM ramet_tasks WHERE id = ?", (task_id,))
    assert rule == [(None, "run")]


async def test_a_slot_of_a_schedule_stands_in_line(app: App, client: Client, ran: list[str]) -> None:
    await client.submit("edit", "before", document_id="d")
    await client.schedules.add("edit", "slot", every_seconds=3_600.0, document_id="d")
    slot = await client.schedules.run("edit")
    assert slot.tracking_id is not None
    [root] = await client.roots(slot.tracking_id)
    assert (root.path, root.wait) == (("d",), "path")
    await worked_off(app, client)
    assert ran == ["+before", "-before", "+slot", "-slot"]
