"""The client: submit and ask, cancel and revive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import (
    Allowed,
    App,
    Blocked,
    BlockReason,
    Client,
    Context,
    Limits,
    LineageExists,
    PayloadTooLarge,
    Retry,
    StoreError,
    Task,
    TaskFailed,
    TaskState,
    TreeNode,
    UnknownKind,
    Worker,
)
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS, until, worked_off, working


@pytest.fixture
def app() -> App:
    app = App(retry=Retry.SEED)

    @app.task("work", limits=Limits(payload_bytes_max=100, max_attempts=2))
    async def work(ctx: Context, name: str) -> Any:
        if name.startswith("fail"):
            return ctx.fail("asked to")
        return f"did {name}"

    @app.task("node")
    async def node(ctx: Context, name: str) -> str:
        for letter in "abc" if len(name) < 3 else "":
            ctx.spawn("node", name + letter)
        return name

    return app


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


# --- submitting -------------------------------------------------------------------------------------------------


async def test_a_submitted_task_can_be_looked_up_at_once(client: Client) -> None:
    submitted = await client.submit("work", "x", key="the key", priority=3, queue="other", delay_seconds=60)
    task = await client.get(submitted.id)
    assert task is not None
    assert (task.id, task.tracking_id, task.kind, task.key) == (submitted.id, submitted.tracking_id, "work", "the key")
    assert (task.payload, task.priority, task.queue, task.state) == ("x", 3, "other", TaskState.PENDING)
    assert (task.spawn_depth, task.parent_id, task.ancestry_chain, task.wait) == (0, None, (), "due")
    assert task.available_at == pytest.approx(task.created_at + 60)
    assert submitted.created
    assert await client.get("no such id") is None
    assert await client.history("no such id") is None


async def test_a_submit_that_is_repeated_under_its_tracking_id_changes_nothing(client: Client) -> None:
    first = await client.submit("work", "x", tracking_id="mine")
    again = await client.submit("work", "x", tracking_id="mine")
    assert (again.id, again.created) == (first.id, False)
    with pytest.raises(LineageExists, match="lineage mine exists and has no work"):
        await client.submit("work", "y", tracking_id="mine")
    assert sum(kind.tasks for kind in await client.counts()) == 1


async def test_many_are_submitted_each_with_a_lineage_or_all_in_one(client: Client) -> None:
    apart = await client.submit_many([("work", "x"), ("work", "y"), ("work", "x")])
    assert len({item.tracking_id for item in apart}) == 3
    assert all(item.created for item in apart)
    together = await client.submit_many(
        [("work", "x"), ("node", "y"), ("work", "x")], one_lineage=True, tracking_id="ours"
    )
    assert {item.tracking_id for item in together} == {"ours"}
    assert [item.created for item in together] == [True, True, False]
    assert together[2].id == together[0].id
    assert [task.id for task in await client.roots("ours")] == [together[0].id, together[1].id]
    assert await client.submit_many([]) == []


async def test_many_are_submitted_all_or_none(client: Client) -> None:
    for bad in (("work", {"not": "a name"}), ("work", "x" * 99)):
        with pytest.raises(ValueError, match=r"validation error|over 100"):
            await client.submit_many([("work", "x"), bad, ("work", "y")])
    with pytest.raises(PayloadTooLarge):
        await client.submit("work", "x" * 99)
    with pytest.raises(StoreError, match="over the lineage's max_tasks of 2"):
        await client.submit_many([("work", str(n)) for n in range(3)], one_lineage=True, limits=Limits(max_tasks=2))
    with pytest.raises(ValueError, match="tracking_id names one lineage: give one_lineage=True"):
        await client.submit_many([("work", "x"), ("work", "y")], tracking_id="one")
    assert await client.counts() == []
    assert await client.lineages() == []


async def test_a_kind_that_lives_elsewhere_is_submitted_by_name_but_not_by_handler(client: Client) -> None:
    submitted = await client.submit("elsewhere", {"any": ["json"]})
    task = await client.get(submitted.id)
    assert task is not None
    assert task.payload == {"any": ["json"]}
    with pytest.raises(UnknownKind, match="registered: node, work"):
        await client.submit(print, "x")


async def test_limits_given_at_submission_are_the_lineages(client: Client) -> None:
    limits = Limits(max_spawn_depth=1, max_tasks=50, max_fan_out=2, lineage_seconds=600)
    submitted = await client.submit("node", "x", limits=limits)
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    assert (lineage.max_spawn_depth, lineage.max_tasks, lineage.max_fan_out) == (1, 50, 2)
    assert lineage.deadline_at == pytest.approx(lineage.created_at + 600)


async def test_many_can_submit_and_ask_at_the_same_time(app: App, client: Client) -> None:
    async def one(n: int) -> str:
        submitted = await client.submit("work", str(n))
        return str(await client.result(submitted.id, timeout_seconds=HANG_SECONDS))

    async with working(app, client):
        results = await asyncio.gather(*(one(n) for n in range(50)))
    assert results == [f"did {n}" for n in range(50)]


# --- asking -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def grown(app: App, client: Client) -> str:
    """The id of the root of a finished tree: a root, three below it, nine below those."""
    submitted = await client.submit("node", "x")
    await worked_off(app, client)
    return submitted.id


def names(node: TreeNode) -> Any:
    return {node.task.payload: [names(child) for child in node.children]} if node.children else node.task.payload


async def test_a_tree_is_shown_as_deep_and_wide_as_asked(client: Client, grown: str) -> None:
    whole = await client.tree(grown)
    assert whole is not None
    assert names(whole) == {"x": [{f"x{a}": [f"x{a}{b}" for b in "abc"]} for a in "abc"]}
    assert (whole.more, whole.children[0].more, whole.children[0].children[0].more) == (0, 0, 0)
    shallow = await client.tree(grown, depth=1)
    assert shallow is not None
    assert (names(shallow), shallow.more) == ({"x": ["xa", "xb", "xc"]}, 0)
    assert [child.more for child in shallow.children] == [1, 1, 1]
    narrow = await client.tree(grown, width=2)
    assert narrow is not None
    assert (names(narrow), narrow.more) == ({"x": [{f"x{a}": [f"x{a}a", f"x{a}b"]} for a in "ab"]}, 1)
    alone = await client.tree(grown, depth=0)
    assert alone is not None
    assert (alone.children, alone.more) == ((), 1)
    assert await client.tree("no such id") is None


async def test_tasks_are_listed_by_what_is_asked_and_page_after_page(client: Client, grown: str) -> None:
    other = await client.submit("work", "y")
    root = await client.get(grown)
    assert root is not None
    mine = await client.tasks(tracking_id=root.tracking_id)
    assert len(mine.tasks) == 13
    assert mine.next_after is None
    assert [task.id for task in (await client.tasks(states=["pending"])).tasks] == [other.id]
    assert len((await client.tasks(min_depth=2)).tasks) == 9
    assert [task.payload for task in (await client.tasks(parent_id=grown)).tasks] == ["xa", "xb", "xc"]
    assert [task.payload for task in (await client.tasks(kind="node", key=root.key)).tasks] == ["x"]
    first = await client.tasks(kind="node", limit=5)
    assert len(first.tasks) == 5
    assert first.next_after is not None
    second = await client.tasks(kind="node", limit=50, after=first.next_after)
    assert [task.id for task in (*first.tasks, *second.tasks)] == [task.id for task in mine.tasks]
    assert [task.id async for task in client.all_tasks(kind="node")] == [task.id for task in mine.tasks]
    with pytest.raises(ValueError, match="'lost' is not a valid TaskState"):
        await client.tasks(states=["lost"])


async def test_has_live_is_true_while_a_task_is_pending_or_processing(app: App, client: Client) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    @app.task("held")
    async def held(ctx: Context) -> None:
        began.set()
        await go_on.wait()

    submitted = await client.submit("held", key="k")
    assert await client.has_live("held", "k")
    assert await client.has_live("held", "k", submitted.tracking_id)
    assert not await client.has_live("held", "k", "another lineage")
    assert not await client.has_live("work", "k")
    assert not await client.has_live("held", "j")
    async with working(app, client):
        await began.wait()
        assert await client.has_live("held", "k"), "while it runs"
        go_on.set()
        await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
    assert not await client.has_live("held", "k")


async def test_lineages_are_listed_newest_first_and_by_state(app: App, client: Client) -> None:
    done = await client.submit("work", "x")
    await worked_off(app, client)
    waiting = await client.submit("elsewhere")
    gone = await client.submit("elsewhere")
    assert await client.cancel_lineage(gone.tracking_id)
    assert [one.tracking_id for one in await client.lineages()] == [
        gone.tracking_id,
        waiting.tracking_id,
        done.tracking_id,
    ]
    for state, submitted in (("running", waiting), ("finished", done), ("cancelled", gone)):
        assert [one.tracking_id for one in await client.lineages(states=[state])] == [submitted.tracking_id]
    assert len(await client.lineages(limit=2)) == 2
    assert await client.lineage("no such lineage") is None


async def test_counts_tell_kinds_states_and_mean_depths(client: Client, grown: str) -> None:
    await client.submit("work", "y", delay_seconds=60)
    assert [(c.kind, c.state, c.wait, c.tasks) for c in await client.counts()] == [
        ("node", "success", None, 13),
        ("work", "pending", "due", 1),
    ]
    assert (await client.counts())[0].mean_depth == pytest.approx((3 + 9 * 2) / 13)
    root = await client.get(grown)
    assert root is not None
    assert len(await client.counts(root.tracking_id)) == 1


# --- waiting ----------------------------------------------------------------------------------------------------


async def test_result_is_what_the_handler_returned_and_raises_for_any_other_end(app: App, client: Client) -> None:
    good, bad = await client.submit("work", "x"), await client.submit("work", "fail")
    async with working(app, client):
        assert await client.result(good.id, timeout_seconds=HANG_SECONDS) == "did x"
        with pytest.raises(TaskFailed, match=rf"task {bad.id} \(work\) is failed: asked to") as caught:
            await client.result(bad.id, timeout_seconds=HANG_SECONDS)
        assert caught.value.task.id == bad.id
        assert (await client.wait(bad.id)).state == "failed"


async def test_waiting_ends_at_its_time_out_and_for_unknown_tasks(client: Client) -> None:
    submitted = await client.submit("elsewhere")
    with pytest.raises(TimeoutError):
        await client.wait(submitted.id, timeout_seconds=0.01)
    with pytest.raises(LookupError, match="no task nobody"):
        await client.wait("nobody")


# --- acting -----------------------------------------------------------------------------------------------------


async def test_cancelling_a_tree_ends_what_grew_from_it_and_nothing_beside_it(app: App, client: Client) -> None:
    @app.task("branch")
    async def branch(ctx: Context, name: str) -> None:
        if len(name) < 2:
            ctx.spawn("branch", name + "a")
            ctx.spawn("branch", name + "b")
        elif len(name) < 4:
            ctx.spawn("branch", name + "c", delay_seconds=3_600)

    root = await client.submit("branch", "x")
    async with working(app, client):

        async def delayed() -> tuple[Task, ...]:
            found = (await client.tasks(states=["pending"], min_depth=2)).tasks
            return found if len(found) == 2 else ()

        pending = await until(delayed, "both branches wait")
        keep, cut = sorted(pending, key=lambda task: str(task.payload))
        assert cut.parent_id is not None
        assert await client.cancel(cut.parent_id, tree=True, by="me", reason="enough")
        task = await client.wait(cut.id, timeout_seconds=HANG_SECONDS)
    assert task.state == "cancelled"
    left = await client.get(keep.id)
    assert left is not None
    assert left.state == "pending"
    assert not await client.cancel("no such task")
    assert await client.cancel(root.id, tree=True), "a single root stands for its lineage"
    await worked_off(app, client)
    lineage = await client.lineage(root.tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.live, lineage.cancelled) == ("cancelled", 0, 2)


async def test_a_revived_task_runs_again_under_its_id_with_new_attempts(app: App, client: Client) -> None:
    mood = {"good": False}

    @app.task("moody", limits=Limits(max_attempts=1))
    async def moody(ctx: Context) -> int:
        if not mood["good"]:
            raise ValueError("bad mood")
        return ctx.attempt

    submitted = await client.submit("moody")
    await worked_off(app, client)
    fine = await client.submit("work", "x")
    await worked_off(app, client)
    mood["good"] = True
    assert await client.revive([submitted.id, fine.id], by="me", reason="cheered up") == [submitted.id]
    assert await client.revive([submitted.id]) == [], "it is live"
    await worked_off(app, client)
    history = await client.history(submitted.id)
    assert history is not None
    assert (history.task.state, history.task.result, history.task.fence) == ("success", 1, 2)
    assert [(t.name, t.by, t.reason) for t in history.transitions] == [("revive", "me", "cheered up")]
    with pytest.raises(StoreError, match="no task nobody: look it up"):
        await client.revive(["nobody"])


async def test_a_revived_task_that_fails_in_the_same_way_is_not_retried(app: App, client: Client) -> None:
    @app.task("moody", limits=Limits(max_attempts=1))
    async def moody(ctx: Context) -> None:
        raise ValueError("bad mood 17")

    submitted = await client.submit("moody")
    await worked_off(app, client)
    await client.revive([submitted.id])
    await worked_off(app, client)
    task = await client.get(submitted.id)
    assert task is not None
    assert task.reason == f"repeated_error: as task {submitted.id}"


async def test_reviving_past_the_lineages_deadline_needs_an_extension(app: App, client: Client) -> None:
    submitted = await client.submit("elsewhere", limits=Limits(lineage_seconds=0.01))
    async with working(app, client):
        assert (await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)).reason == "lineage_deadline"
    with pytest.raises(StoreError, match="has passed: give --extend SECONDS"):
        await client.revive([submitted.id])
    assert await client.revive([submitted.id], extend_seconds=600) == [submitted.id]
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.live) == ("running", 1)


async def test_a_database_that_is_not_there_is_not_made_by_asking(app: App, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database at"):
        app.client(tmp_path / "absent.db", create=False)
    with pytest.raises(StoreError, match="does not exist: create it or give another path"):
        app.client(tmp_path / "absent" / "ramet.db")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - a folder of this test


async def test_who_waits_in_vain_learns_for_what_and_in_which_state_it_is(client: Client) -> None:
    submitted = await client.submit("elsewhere", delay_seconds=5_000.0)
    with pytest.raises(TimeoutError, match=rf"^task {submitted.id} \(elsewhere\) is still pending .*after 0.01 s$"):
        await client.result(submitted.id, timeout_seconds=0.01)
    with pytest.raises(TimeoutError, match=r"^lineage .* is still running \(1 live tasks of 1\) after 0.01 s$"):
        await client.wait_lineage(submitted.tracking_id, timeout_seconds=0.01)


async def test_a_dry_run_of_the_guard_says_what_a_handler_would_be_answered(app: App, client: Client) -> None:
    @app.task("page", key=lambda payload: payload["title"])
    async def page(ctx: Context, payload: dict[str, str]) -> None:
        if ctx.spawn_depth == 0:
            ctx.spawn("page", {"title": "Night"}, delay_seconds=3_600.0)

    with pytest.raises(LookupError, match="no task nothing"):
        await client.can_spawn("nothing", page, {"title": "Owl"})
    owl = await client.submit(page, {"title": "Owl"})
    await Worker(app, client, once=True).run()
    assert await client.can_spawn(owl.id, "page", {"title": "Day"}) == Allowed()
    blocked = await client.can_spawn(owl.id, page, {"title": "Night"})
    assert isinstance(blocked, Blocked)
    assert (blocked.reason, blocked.winner is not None) == (BlockReason.IN_FLIGHT, True)
    assert blocked.detail
    cycle = await client.can_spawn(owl.id, page, {"title": "other"}, key="Owl")
    assert isinstance(cycle, Blocked)
    assert cycle.reason is BlockReason.CYCLE
