"""Nobody waits, with a task in hand, for what that task's own path holds back: it is refused at once (DESIGN §7)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ramet import App, BatchContext, Claim, Client, Context, SyncContext, Task, WaitRefused
from tests.support.waiting import HANG_SECONDS, until, worked_off, working

INSTEAD = "return, and let a task on the same path, spawned after the others, do the rest"


async def submitted(client: Client, name: str, path: list[str] | None = None, **options: Any) -> str:
    """The id of a new task of the kind ``part``."""
    return (await client.submit("part", name, path=path, **options)).id


async def taken(client: Client, path: list[str], **options: Any) -> Claim:
    """A task on this path, in hand."""
    await client.submit("mine", path=path, **options)
    [claim] = await client.claim("mine")
    return claim


async def refused(client: Client, task_id: str) -> str:
    with pytest.raises(WaitRefused) as caught:
        await client.wait(task_id, timeout_seconds=HANG_SECONDS)
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def still_waits(client: Client, task_id: str) -> bool:
    with pytest.raises(TimeoutError):
        await client.wait(task_id, timeout_seconds=0.05)
    return True


async def ended(client: Client, task_id: str) -> Task:
    return await client.wait(task_id, timeout_seconds=HANG_SECONDS)


# --- handlers


async def test_a_handler_that_waits_for_its_own_child_fails_at_once_and_is_told_what_to_do(
    app: App, client: Client
) -> None:
    @app.task("plan")
    async def plan(ctx: Context) -> Any:
        child = await ctx.spawn_now("part", "child", path=[*ctx.path, "child"])
        assert child.id is not None
        return await ctx.client.result(child.id)

    @app.task("part")
    async def part(ctx: Context, name: str) -> None: ...

    root = await client.submit("plan", path=["doc1"])
    await worked_off(app, client)
    task = await ended(client, root.id)
    [child] = (await client.tasks(parent_id=root.id)).tasks
    assert (task.state, task.attempts) == ("failed", 1)
    assert task.error is not None
    assert f"task {root.id} must not wait for task {child.id}: its own path holds that one back" in task.error
    assert INSTEAD in task.error
    assert (child.state, child.reason) == ("skipped", f"dependency_failed: {root.id}")


async def test_what_it_is_told_to_do_works(app: App, client: Client) -> None:
    done: list[str] = []

    @app.task("plan")
    async def plan(ctx: Context) -> None:
        for name in "abc":
            ctx.spawn("part", name, path=[*ctx.path, name])
        ctx.spawn("part", "rest", path=ctx.path)

    @app.task("part")
    async def part(ctx: Context, name: str) -> None:
        done.append(name)

    await client.submit("plan", path=["doc1"])
    await worked_off(app, client)
    assert (sorted(done[:3]), done[3:]) == (["a", "b", "c"], ["rest"])


async def test_a_plain_handler_with_a_client_of_its_own_is_refused_too(app: App, tmp_path: Path) -> None:
    address = tmp_path / "ramet.db"

    @app.task("plan")
    def plan(ctx: SyncContext) -> None:
        child = ctx.spawn_now("part", path=[*ctx.path, "child"])
        assert child.id is not None
        with app.sync_client(address) as own:
            own.wait(child.id)

    @app.task("part")
    def part(ctx: SyncContext) -> None: ...

    async with app.client(address) as client:
        root = await client.submit("plan", path=["doc1"])
        await worked_off(app, client)
        task = await ended(client, root.id)
    assert "its own path holds that one back" in str(task.error)


async def test_in_a_batch_each_task_in_hand_counts(app: App, client: Client) -> None:
    behind: dict[str, str] = {}
    seen: list[str] = []

    @app.task("plan", batch=2, batch_seconds=60.0)
    async def plan(batch: BatchContext, names: list[str]) -> None:
        for name in names:
            with pytest.raises(WaitRefused, match="one of 2 held tasks"):
                await batch[0].client.wait(behind[name], timeout_seconds=HANG_SECONDS)
            seen.append(name)

    @app.task("part")
    async def part(ctx: Context, name: str) -> None: ...

    for name in "ab":
        await client.submit("plan", name, path=[name])
        behind[name] = await submitted(client, name, [name, "below"])
    await worked_off(app, client)
    assert sorted(seen) == ["a", "b"]


async def test_a_handler_may_wait_for_what_stands_in_nobodys_way(app: App, client: Client) -> None:
    @app.task("plan", concurrency=1)
    async def plan(ctx: Context) -> str:
        child = await ctx.spawn_now("part", "child", path=[*ctx.path[:-1], "beside"])
        assert child.id is not None
        return str(await ctx.client.result(child.id, timeout_seconds=HANG_SECONDS))

    @app.task("part")
    async def part(ctx: Context, name: str) -> str:
        return name

    root = await client.submit("plan", path=["doc1", "mine"])
    await worked_off(app, client)
    assert (await ended(client, root.id)).result == "child"


# --- which tasks are held back


@pytest.mark.parametrize(
    ("mine", "other"),
    [(["d"], ["d"]), (["d"], ["d", "x", "y"]), (["d", "x"], ["d"]), (["d", ""], ["d", "", "z"])],
)
async def test_whoever_conflicts_and_comes_later_is_held_back(
    client: Client, mine: list[str], other: list[str]
) -> None:
    async with await taken(client, mine) as claim:
        now, later = await submitted(client, "now", other), await submitted(client, "later", other, delay_seconds=900.0)
        assert f"task {claim.id} must not wait for task {now}: its own path holds that one back" in await refused(
            client, now
        )
        assert "its own path holds that one back" in await refused(client, later), "it has no place in line yet"
        await claim.complete()


async def test_whoever_stands_behind_one_that_is_held_back_is_held_back(client: Client) -> None:
    before = await submitted(client, "before", ["d", "b"])
    async with await taken(client, ["d", "a"]) as claim:
        early = await submitted(client, "early", ["d", "c"])
        between = await submitted(client, "between", ["d"])
        late = await submitted(client, "late", ["d", "c", "x"])
        assert await still_waits(client, before)
        assert await still_waits(client, early), "it took its place before the one between"
        said = f"that one is behind task {between}, which its own path holds back"
        assert said in await refused(client, late)
        delayed = await submitted(client, "delayed", ["d", "e"], delay_seconds=900.0)
        assert said in await refused(client, delayed)
        await claim.complete()


async def test_who_is_none_of_ones_path_is_waited_for(client: Client) -> None:
    async with await taken(client, ["d"]) as claim:
        others = [
            await submitted(client, "1"),
            await submitted(client, "2", ["e"]),
            await submitted(client, "3", ["d"], queue="other"),
            await submitted(client, "4", ["d"], path_scope="lineage"),
        ]
        for task_id in others:
            assert await still_waits(client, task_id)
        [part] = await client.claim("part")
        await part.complete("done")
        assert await client.result(part.id, timeout_seconds=HANG_SECONDS) == "done"
        await claim.complete()


async def test_within_a_lineage_a_narrow_path_holds_back_its_own(client: Client) -> None:
    async with await taken(client, ["d"], path_scope="lineage") as claim:
        child = await claim.spawn_now("part", path=["d", "x"], path_scope="lineage")
        assert child.id is not None
        assert "its own path holds that one back" in await refused(client, child.id)
        assert await still_waits(client, await submitted(client, "wide", ["d", "x"]))
        await claim.complete()


async def test_one_that_comes_in_between_later_is_noticed_while_waiting(client: Client) -> None:
    async with await taken(client, ["d", "a"]) as claim:
        delayed = await submitted(client, "delayed", ["d", "b"], delay_seconds=900.0)
        waiting = asyncio.create_task(client.wait(delayed, timeout_seconds=HANG_SECONDS))
        await asyncio.sleep(0)
        between = await submitted(client, "between", ["d"])
        with pytest.raises(WaitRefused, match=f"is behind task {between}"):
            await waiting
        await claim.complete()


# --- claims that a program pulled


async def test_a_pulled_claim_counts_until_it_is_over(app: App, client: Client) -> None:
    @app.task("part")
    async def part(ctx: Context, name: str) -> None: ...

    behind = ""
    async with await taken(client, ["d"]) as claim:
        behind = await submitted(client, "behind", ["d"])
        await refused(client, behind)
        await claim.complete()
        async with working(app, client):
            assert (await ended(client, behind)).state == "success"


async def test_outside_of_the_block_nobody_is_refused(client: Client) -> None:
    async with await taken(client, ["d"]) as claim:
        behind = await submitted(client, "behind", ["d"])
        await claim.release()
    await still_waits(client, behind)


def test_a_pulled_claim_of_a_plain_program_counts_too(app: App, tmp_path: Path) -> None:
    with app.sync_client(tmp_path / "ramet.db") as client:
        client.submit("mine", path=["d"])
        [claim] = client.claim("mine")
        behind = client.submit("part", path=["d", "x"])
        with claim:
            with pytest.raises(WaitRefused, match="its own path holds that one back"):
                client.wait(behind.id, timeout_seconds=HANG_SECONDS)
            claim.release()
        with client.keep(client.claim("mine")), pytest.raises(WaitRefused):
            client.wait(behind.id, timeout_seconds=HANG_SECONDS)
        with pytest.raises(TimeoutError):
            client.wait(behind.id, timeout_seconds=0.05)


async def test_claims_that_are_kept_count_too(client: Client) -> None:
    await client.submit("mine", path=["d"])
    claims = await client.claim("mine")
    behind = await submitted(client, "behind", ["d"])
    async with client.keep(claims):
        await refused(client, behind)
        await claims[0].complete()
        assert await still_waits(client, behind)


# --- itself, and lineages


async def test_no_task_waits_for_itself(client: Client) -> None:
    await client.submit("mine")
    [claim] = await client.claim("mine")
    async with claim:
        assert f"task {claim.id} must not wait for itself: return" in await refused(client, claim.id)
        await claim.complete()
        assert (await ended(client, claim.id)).state == "success"


async def test_no_task_waits_for_its_own_lineage(client: Client) -> None:
    await client.submit("mine")
    [claim] = await client.claim("mine")
    async with claim:
        with pytest.raises(WaitRefused, match=f"task {claim.id} must not wait for lineage .* on_lineage_end"):
            await client.wait_lineage(claim.tracking_id, timeout_seconds=HANG_SECONDS)
        await claim.complete()
        assert (await client.wait_lineage(claim.tracking_id, timeout_seconds=HANG_SECONDS)).state == "finished"


async def test_a_lineage_with_a_task_that_is_held_back_is_not_waited_for(client: Client) -> None:
    async with await taken(client, ["d"]) as claim:
        other = (await client.submit_many([("part", 1), ("part", 2, {"path": ["d", "x"]})], one_lineage=True))[0]
        free = await client.submit("part", 3, path=["e"])
        with pytest.raises(WaitRefused, match=f"lineage {other.tracking_id}: its own path holds that one back"):
            await client.wait_lineage(other.tracking_id, timeout_seconds=HANG_SECONDS)
        with pytest.raises(TimeoutError):
            await client.wait_lineage(free.tracking_id, timeout_seconds=0.05)
        await claim.complete()


async def test_what_a_handler_left_running_may_wait_for_its_lineage(app: App, client: Client) -> None:
    left: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    @app.task("plan")
    async def plan(ctx: Context) -> None:
        async def afterwards(tracking_id: str = ctx.tracking_id) -> Any:
            await over.wait()
            return await client.wait_lineage(tracking_id, timeout_seconds=HANG_SECONDS)

        left.append(asyncio.create_task(afterwards()))
        ctx.spawn("part", "child", delay_seconds=0.2)

    @app.task("part")
    async def part(ctx: Context, name: str) -> None: ...

    root = await client.submit("plan")
    async with working(app, client):
        await ended(client, root.id)
        over.set()
        await until(lambda: left and left[0].done(), "what was left running ends")
    assert left[0].result().state == "finished"
