"""What the stages of a task per stage may have of their own: queues, resources, attempts, calls for many at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ramet import App, BatchContext, Client, Context, Limits, Permanent, SyncBatchContext, SyncContext, Task, TaskState
from tests.invariants.check import violations
from tests.support.waiting import worked_off


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def tasks(client: Client) -> list[Task]:
    return [task async for task in client.all_tasks()]


class Seen(BaseModel):
    """A payload whose fields the options look at."""

    url: str


async def test_each_stage_has_a_queue_a_resource_and_attempts_of_its_own(app: App, client: Client) -> None:
    pages = app.pipeline("page", task_per_stage=True, key=lambda page: page.url, queue="fetching")

    @pages.stage(resource=lambda page: f"host:{page.url}", limits=Limits(max_attempts=2))
    async def fetch(ctx: Context, page: Seen) -> str:
        return "text"

    @pages.stage(queue="writing", resource=lambda page: f"disk:{page.url}", priority=3)
    def write(ctx: SyncContext, page: Seen) -> None:
        return None

    await client.submit("page", Seen(url="a"))
    await worked_off(app, client)
    first, second = await tasks(client)
    assert (first.kind, first.queue, first.resource, first.max_attempts) == ("page.fetch", "fetching", "host:a", 2)
    assert (second.kind, second.queue, second.resource, second.priority) == ("page.write", "writing", "disk:a", 3)
    assert {first.state, second.state} == {TaskState.SUCCESS}


@pytest.mark.parametrize("plain", [False, True])
async def test_a_batch_stage_hands_each_task_on_by_its_own_result(app: App, client: Client, plain: bool) -> None:
    calls: list[int] = []
    pages = app.pipeline("page", task_per_stage=True, key=lambda url: url, limits=Limits(max_attempts=1))

    def fetched(batch: Sequence[Context | SyncContext], urls: list[str]) -> list[Any]:
        calls.append(len(urls))
        return [
            Permanent("gone") if url == "gone" else ctx.skip("dull") if url == "dull" else url.upper()
            for ctx, url in zip(batch, urls, strict=True)
        ]

    def fetch_plain(batch: SyncBatchContext, urls: list[str]) -> list[Any]:
        return fetched(batch, urls)

    async def fetch(batch: BatchContext, urls: list[str]) -> list[Any]:
        return fetched(batch, urls)

    fetch_plain.__name__ = "fetch"
    stage = pages.stage(batch=4, batch_seconds=60.0)
    if plain:
        stage(fetch_plain)
    else:
        stage(fetch)

    @pages.stage()
    async def keep(ctx: Context, url: str) -> str:
        return str(ctx.state["fetch"])

    await client.submit_many([("page", url) for url in ("a", "gone", "dull", "b")], one_lineage=True)
    await worked_off(app, client)
    assert calls == [4]
    ends = {(task.kind, task.key): (task.state, task.result) for task in await tasks(client)}
    assert ends == {
        ("page.fetch", "a"): (TaskState.SUCCESS, "A"),
        ("page.fetch", "gone"): (TaskState.FAILED, None),
        ("page.fetch", "dull"): (TaskState.SKIPPED, None),
        ("page.fetch", "b"): (TaskState.SUCCESS, "B"),
        ("page.keep", "a"): (TaskState.SUCCESS, "A"),
        ("page.keep", "b"): (TaskState.SUCCESS, "B"),
    }


def test_a_stage_chooses_only_what_is_a_stage_s_to_choose(app: App) -> None:
    pages, one = app.pipeline("page", task_per_stage=True), app.pipeline("one")
    with pytest.raises(ValueError, match="key is one of the whole kind: give it to"):

        @pages.stage(key=lambda url: url)
        async def fetch(ctx: Context, url: str) -> None: ...

    with pytest.raises(ValueError, match="queue is for a task per stage"):

        @one.stage(queue="other")
        async def sift(ctx: Context, url: str) -> None: ...
