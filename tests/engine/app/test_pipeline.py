"""Staged kinds: one task that gathers state, and a task per stage that no limit of its own can strand."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Outcome, Permanent, Retry, StageCount, SyncContext, Task, Transient
from ramet.engine.app.pipeline import Pipeline
from tests.invariants.check import violations
from tests.support.fakes import always
from tests.support.waiting import worked_off

AT_ONCE: random.Random = always(0.0)


@pytest.fixture
def app() -> App:
    return App(retry=Retry.SEED)


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def tasks(client: Client) -> list[Task]:
    return [task async for task in client.all_tasks()]


def listing(app: App, ran: list[str], *, task_per_stage: bool) -> Pipeline:
    """The stages of the seeds: scrape, filter, analyse, save."""
    pipeline = app.pipeline("listing", task_per_stage=task_per_stage, key=lambda url: url)

    @pipeline.stage("job_data")
    async def scrape(ctx: Context, url: str) -> dict[str, str]:
        ran.append("scrape")
        return {"title": f"job at {url}"}

    @pipeline.stage("filter_result")
    async def sift(ctx: Context) -> Outcome | int:
        ran.append("sift")
        title = ctx.state["job_data"]["title"]
        return ctx.filter("unwanted") if "spam" in title else len(title)

    @pipeline.stage("match_result")
    async def analyse(ctx: Context, url: str) -> float:
        ran.append("analyse")
        if "flaky" in url and ctx.attempt < 3:
            raise Transient("busy")
        if "broken" in url:
            raise Permanent("no model")
        return 0.5

    @pipeline.stage()
    async def save(ctx: Context, url: str) -> dict[str, Any]:
        ran.append("save")
        return ctx.state

    return pipeline


RESULT = {"job_data": {"title": "job at a"}, "filter_result": 8, "match_result": 0.5}


@pytest.mark.parametrize("per_stage", [False, True], ids=["one task", "a task per stage"])
async def test_the_first_stage_whose_product_is_missing_runs_next(app: App, client: Client, per_stage: bool) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=per_stage)
    submitted = await client.submit("listing", "a")
    await worked_off(app, client)
    assert ran == ["scrape", "sift", "analyse", "save"]
    found = await tasks(client)
    assert found[-1].result == RESULT
    names = ["listing.scrape", "listing.sift", "listing.analyse", "listing.save"] if per_stage else ["listing"]
    assert [task.kind for task in found] == names
    assert {task.state for task in found} == {"success"}
    assert {(task.spawn_depth, task.key, task.payload) for task in found} == {(0, "a", "a")}
    at = [StageCount(name, "success", 1) for name in ("analyse", "save", "scrape", "sift")]
    expected = at if per_stage else [StageCount("save", "success", 1)]
    assert await client.stage_counts("listing") == expected
    assert await client.stage_counts("listing", submitted.tracking_id) == expected
    assert await client.stage_counts("list") == await client.stage_counts("listing", "elsewhere") == []
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    assert (lineage.tasks, lineage.success, lineage.state) == (len(names), len(names), "finished")


@pytest.mark.parametrize("per_stage", [False, True], ids=["one task", "a task per stage"])
async def test_a_retry_begins_at_the_stage_that_failed(app: App, client: Client, per_stage: bool) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=per_stage)
    await client.submit("listing", "flaky")
    await worked_off(app, client, rng=AT_ONCE)
    assert ran == ["scrape", "sift", "analyse", "analyse", "analyse", "save"]


@pytest.mark.parametrize("per_stage", [False, True], ids=["one task", "a task per stage"])
async def test_a_stage_whose_product_an_earlier_one_brought_is_left_out(
    app: App, client: Client, per_stage: bool
) -> None:
    ran: list[str] = []
    pipeline = app.pipeline("page", task_per_stage=per_stage, key=lambda title: title)

    @pipeline.stage()
    async def fetch(ctx: Context, title: str) -> str:
        ran.append("fetch")
        if title == "plain":
            ctx.state.update(vectors=None, load=None)
        return title

    @pipeline.stage()
    async def parse(ctx: Context, title: str) -> None:
        ran.append("parse")

    @pipeline.stage("vectors")
    async def embed(ctx: Context, title: str) -> list[int]:
        ran.append("embed")
        return [1]

    @pipeline.stage()
    async def load(ctx: Context, title: str) -> Any:
        ran.append("load")
        return ctx.state["vectors"]

    for title in ("plain", "rich"):
        ran.clear()
        submitted = await client.submit("page", title)
        await worked_off(app, client)
        assert ran == ["fetch", "parse", *(["embed"] if title == "rich" else []), "load"]
        found = (await client.tasks(tracking_id=submitted.tracking_id)).tasks
        assert [one.result for one in found if one.kind in ("page", "page.load")] == [[1] if title == "rich" else None]
        assert len(found) == (len(ran) if per_stage else 1)
        lineage = await client.lineage(submitted.tracking_id)
        assert lineage is not None
        assert (lineage.live, lineage.state) == (0, "finished")


@pytest.mark.parametrize("per_stage", [False, True], ids=["one task", "a task per stage"])
async def test_a_stage_can_end_the_whole(app: App, client: Client, per_stage: bool) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=per_stage)
    await client.submit("listing", "spam")
    await worked_off(app, client)
    assert ran == ["scrape", "sift"]
    assert (await tasks(client))[-1].state == "filtered"


async def test_the_stage_is_shown_while_state_is_gathered(app: App, client: Client) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=False)
    await client.submit("listing", "broken")
    await worked_off(app, client)
    [task] = await tasks(client)
    assert (task.state, task.stage) == ("failed", "analyse")


async def test_plain_functions_make_stages_too(app: App, client: Client) -> None:
    for per_stage in (False, True):
        pipeline = app.pipeline(f"plain{int(per_stage)}", task_per_stage=per_stage)

        @pipeline.stage()
        def one(ctx: SyncContext, n: int) -> int:
            return n + 1

        @pipeline.stage()
        def two(ctx: SyncContext, n: int) -> int:
            return n + int(ctx.state["one"])

        await client.submit(f"plain{int(per_stage)}", 5)
    await worked_off(app, client)
    assert [task.result for task in await tasks(client) if task.kind in ("plain0", "plain1.two")] == [11, 11]


async def test_wanting_it_again_is_in_flight_until_the_last_stage_ended_and_then_done(app: App, client: Client) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=True)
    told: list[Any] = []

    @app.task("asker")
    async def asker(ctx: Context) -> Outcome | None:
        [stage, *_] = [task for task in await tasks(ctx.client) if task.kind.startswith("listing.")][-1:]
        answer = await ctx.spawn_now("listing", "a")
        told.append((stage.kind, None if answer.reason is None else answer.reason.value))
        return None if answer.reason == "done" else ctx.snooze(1)

    await client.submit_many([("listing", "a"), (asker, None)], one_lineage=True)
    await worked_off(app, client, concurrency=1)
    assert told[-1] == ("listing.save", "done")
    assert {reason for _, reason in told[:-1]} <= {"in_flight"}


@pytest.mark.parametrize("url", ["broken", "spam"])
async def test_after_a_stage_failed_or_was_filtered_it_is_done_too(app: App, client: Client, url: str) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=True)
    answers: list[Any] = []

    @app.task("asker")
    async def asker(ctx: Context) -> None:
        answers.append((await ctx.spawn_now("listing", url)).reason)

    await client.submit_many([("listing", url), (asker, None)], one_lineage=True)
    await worked_off(app, client, kinds=[task.name for task in app.registry.kinds if task.name != "asker"])
    await worked_off(app, client)
    assert answers == ["done"]


async def test_no_limit_strands_a_later_stage(app: App, client: Client) -> None:
    ran: list[str] = []
    listing(app, ran, task_per_stage=True)

    @app.task("parent")
    async def parent(ctx: Context) -> None:
        for url in ("a", "b"):
            ctx.spawn("listing", url)

    limits = Limits(max_tasks=5, max_fan_out=1, max_spawn_depth=1)
    submitted = await client.submit(parent, limits=limits)
    await worked_off(app, client)
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    assert (lineage.tasks, lineage.success) == (5, 5)
    [block] = await client.blocks(submitted.tracking_id)
    assert (block.key, block.reason) == ("b", "budget")
    assert "this takes 4: one for each stage" in block.detail


async def test_a_lineage_that_has_no_room_for_all_stages_is_not_begun(app: App, client: Client) -> None:
    listing(app, [], task_per_stage=True)
    with pytest.raises(Exception, match="4 roots are over the lineage's max_tasks of 3"):
        await client.submit("listing", "a", limits=Limits(max_tasks=3))


async def test_a_key_that_an_ancestor_works_on_is_a_cycle_for_a_staged_kind_too(app: App, client: Client) -> None:
    pipeline = app.pipeline("page", task_per_stage=True, key=lambda url: url, cycle_on="kind+key")
    told: list[Any] = []

    @pipeline.stage()
    async def fetch(ctx: Context, url: str) -> None: ...

    @pipeline.stage()
    async def parse(ctx: Context, url: str) -> None:
        told.append((await ctx.spawn_now("page", url)).reason)
        if url == "a":
            told.append((await ctx.spawn_now("page", "b")).reason)
        else:
            told.append((await ctx.spawn_now("page", "a")).reason)

    await client.submit("page", "a")
    await worked_off(app, client)
    assert told == ["cycle", None, "cycle", "cycle"]


async def test_a_stage_is_not_asked_for_by_itself(app: App, client: Client) -> None:
    listing(app, [], task_per_stage=True)
    with pytest.raises(ValueError, match=r"listing\.sift is a stage of listing: ask for listing"):
        await client.submit("listing.sift", "a")
    with pytest.raises(ValueError, match=r"kind 'listing\.other' reads like a stage of 'listing'"):
        app.task("listing.other")(lambda ctx: None)
    with pytest.raises(ValueError, match="give the pipeline another name"):
        app.pipeline("listing", task_per_stage=True)


def test_stages_have_names_and_products_of_their_own_and_are_all_of_one_sort(app: App) -> None:
    pipeline = app.pipeline("x")

    @pipeline.stage("product")
    async def one(ctx: Context) -> None: ...

    with pytest.raises(ValueError, match="has a stage 'two' or its product already"):

        @pipeline.stage("product")
        async def two(ctx: Context) -> None: ...

    with pytest.raises(ValueError, match="make all of its stages async, or none"):

        @pipeline.stage()
        def three(ctx: SyncContext) -> None: ...

    with pytest.raises(ValueError, match="its first stage takes no payload"):

        @pipeline.stage()
        async def four(ctx: Context, n: int) -> None: ...
