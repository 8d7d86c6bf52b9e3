"""Acts on many tasks: counted first, done in batches, to exactly the tasks that were counted."""

from __future__ import annotations

import pytest

from ramet import App, Client, Context, Limits, Permanent, StoreError, StoreUnreachable, SyncContext, TaskFilter
from ramet.engine.client import operate
from ramet.testing import FakeClock, drain, fresh_client


@pytest.fixture
def app() -> App:
    app = App()

    @app.task(key=lambda text: text)
    async def sync(ctx: Context, text: str) -> None:
        if ctx.attempt == 1 and "fine" not in text and not ctx.chain_depth:
            raise Permanent(text)

    @app.task(key=lambda text: text)
    async def other(ctx: Context, text: str) -> None:
        raise Permanent(text)

    @app.task(key=lambda text: text, unique="global")
    def once(ctx: SyncContext, text: str) -> None:
        raise Permanent(text)

    return app


async def failures(app: App, client: Client, *texts: str, kind: str = "sync", prefix: str = "") -> list[str]:
    """Ids of tasks, each in a lineage of its own, as a web application has them."""
    ids = [(await client.submit(kind, text, tracking_id=f"{prefix}{kind} {text}")).id for text in texts]
    await drain(app, client)
    return ids


async def test_a_filter_selects_by_all_that_is_given(app: App, client: Client) -> None:
    timeouts = await failures(app, client, "Timeout 1", "timeout 2")
    [crash] = await failures(app, client, "crash")
    [fine] = await failures(app, client, "fine")
    [foreign] = await failures(app, client, "timeout 3", kind="other", prefix="tenant-1 ")
    waiting = (await client.submit("sync", "fine and late", delay_seconds=3_600)).id
    every: list[tuple[str, TaskFilter, list[str]]] = [
        ("retry", TaskFilter(), [*timeouts, crash, foreign]),
        ("retry", TaskFilter(kind="sync"), [*timeouts, crash]),
        ("retry", TaskFilter(error="TIMEOUT"), [*timeouts, foreign]),
        ("retry", TaskFilter(kind="sync", error="timeout"), timeouts),
        ("retry", TaskFilter(lineage_prefix="tenant-1"), [foreign]),
        ("retry", TaskFilter(lineage_prefix="tenant-2"), []),
        ("exclude", TaskFilter(), [*timeouts, crash, foreign]),
        ("exclude", TaskFilter(states=["pending"]), [waiting]),
        ("cancel", TaskFilter(), [waiting]),
        ("cancel", TaskFilter(kind="other"), []),
    ]
    for act, wanted, ids in every:
        selection = await client.bulk_select(act, wanted)
        assert list(selection.task_ids) == ids, (act, wanted)
        assert sum(selection.counts.values()) == len(ids)
    task = await client.get(crash)
    assert task is not None
    assert task.finished_at is not None
    later = await client.bulk_select("retry", TaskFilter(kind="sync", since=task.finished_at))
    assert crash in later.task_ids
    assert not (await client.bulk_select("retry", TaskFilter(since=task.finished_at + 3_600))).task_ids
    assert fine not in later.task_ids


async def test_a_state_from_which_an_act_leads_nowhere_is_refused(client: Client) -> None:
    for act, state in (("retry", "success"), ("retry", "pending"), ("cancel", "failed"), ("exclude", "processing")):
        with pytest.raises(ValueError, match=f"cannot {act} tasks that are {state}: give"):
            await client.bulk_select(act, TaskFilter(states=[state]))
    with pytest.raises(ValueError, match="not a valid BulkAct"):
        await client.bulk_select("delete", TaskFilter())
    with pytest.raises(ValueError, match="since is nan"):
        TaskFilter(since=float("nan"))


async def test_only_what_was_counted_is_touched_in_small_transactions_each_with_its_record(
    app: App, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate, "BATCH", 2)
    ids = await failures(app, client, *"abcde")
    selection = await client.bulk_select("retry", TaskFilter(kind="sync"))
    assert selection.counts == {("sync", "failed"): 5}
    [late] = await failures(app, client, "f")
    result = await client.bulk_run(selection, by="ada", reason="outage over")
    assert sorted(result.done) == sorted(ids)
    assert result.left == {}
    untouched = await client.get(late)
    assert untouched is not None
    assert untouched.state == "failed"
    acts = await client.acts()
    assert [(act.by, act.act, act.reason, act.subject) for act in acts] == [
        ("ada", "bulk_retry", "outage over", subject) for subject in ("1 tasks", "2 tasks", "2 tasks")
    ]
    assert acts[0].detail == {"tasks": 1, "states": ["failed"], "kind": "sync"}
    again = await client.bulk_run(selection)
    assert again.done == ()
    assert set(again.left) == set(ids)
    assert set(again.left.values()) == {"it is pending by now"}


async def test_one_that_cannot_be_revived_is_left_and_named_and_holds_up_no_other(app: App, client: Client) -> None:
    [first] = await failures(app, client, "x", kind="once", prefix="1 ")
    await client.revive([first])
    await client.cancel(first)
    ids = await failures(app, client, "a", "b")
    short = await client.submit("sync", "late", limits=Limits(lineage_seconds=0.001))
    await drain(app, client)
    selection = await client.bulk_select("retry", TaskFilter())
    result = await client.bulk_run(selection)
    assert set(ids) <= set(result.done)
    assert set(result.done) | set(result.left) == set(selection.task_ids)
    if short.id in selection.task_ids and short.id in result.left:
        assert "deadline" in result.left[short.id]


async def test_a_lineage_past_its_deadline_is_left_unless_it_is_extended() -> None:
    app, clock = App(), FakeClock()

    @app.task(key=lambda text: text)
    async def sync(ctx: Context, text: str) -> None:
        raise Permanent(text)

    async with fresh_client(app, clock=clock) as client:
        old = (await client.submit("sync", "old", limits=Limits(lineage_seconds=60))).id
        new = (await client.submit("sync", "new")).id
        await drain(app, client)
        clock.advance(3_600)
        selection = await client.bulk_select("retry", TaskFilter(kind="sync"))
        result = await client.bulk_run(selection)
        assert result.done == (new,)
        assert "the deadline of lineage" in result.left[old]
        extended = await client.bulk_run(await client.bulk_select("retry", TaskFilter()), extend_seconds=60)
        assert extended.done == (old,)


async def test_a_database_that_goes_away_is_told_and_what_was_done_is_kept(
    app: App, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate, "BATCH", 1)
    ids = await failures(app, client, "a", "b")
    selection = await client.bulk_select("exclude", TaskFilter())
    act_on_tasks, calls = client.store.act_on_tasks, list[object]()

    async def once(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) > 1:
            raise StoreUnreachable("gone")
        return await act_on_tasks(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(client.store, "act_on_tasks", once)
    with pytest.raises(StoreError, match="gone"):
        await client.bulk_run(selection)
    found = [await client.get(task_id) for task_id in ids]
    assert [task.state for task in found if task is not None] == ["skipped", "failed"]
