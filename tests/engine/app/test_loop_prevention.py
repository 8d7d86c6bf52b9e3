"""The three tests that the first design of loop prevention asked for (its section 8), through the public API.

Depth differs on purpose: `max_spawn_depth` 10 means that a task at depth 10 may exist and its child may not.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, Context, Limits, SpawnResult, TaskState, Worker, url_key

ROOT = "https://company.example/job/1"
COMPANY = "https://company.example/"

Answers = dict[str, SpawnResult]
"""What the guard said, by the key of the task that asked."""


def app_with(answers: Answers, limits: Limits | None = None) -> App:
    """A job wants its company, the company the first job again; a level wants the level below."""
    app = App(limits=limits or Limits())

    @app.task("job", key=url_key)
    async def job(ctx: Context, url: str) -> None:
        answers[ctx.key] = await ctx.spawn_now("company", COMPANY)

    @app.task("company", key=url_key)
    async def company(ctx: Context, url: str) -> None:
        answers[ctx.key] = await ctx.spawn_now("job", ROOT)

    @app.task("level")
    async def level(ctx: Context, number: int) -> None:
        answers[str(number)] = await ctx.spawn_now("level", number + 1)

    return app


async def work_off(app: App, client: Client) -> None:
    """Work until nothing is live."""
    await Worker(app, client, until_idle=True, poll_seconds=0.05).run()


@pytest.fixture
def answers() -> Answers:
    return {}


@pytest.fixture
async def client(answers: Answers, tmp_path: Path) -> AsyncIterator[tuple[App, Client]]:
    app = app_with(answers)
    async with app.client(tmp_path / "ramet.db") as opened:
        yield app, opened


async def test_prevents_circular_dependency(client: tuple[App, Client], answers: Answers) -> None:
    app, asking = client
    root = await asking.submit("job", ROOT)
    await work_off(app, asking)

    company, job_again = answers[ROOT], answers[COMPANY]
    assert company.id is not None
    assert (job_again.id, job_again.reason, job_again.winner) == (None, "cycle", root.id)
    [block] = await asking.blocks(root.tracking_id)
    assert (block.kind, block.key, block.reason, block.count) == ("job", ROOT, "cycle", 1)
    assert (block.first_parent, block.winner) == (company.id, root.id)
    assert root.id in block.detail
    tasks = (await asking.tasks(tracking_id=root.tracking_id)).tasks
    assert [(task.kind, task.spawn_depth, task.state) for task in tasks] == [
        ("job", 0, "success"),
        ("company", 1, "success"),
    ]
    assert tasks[1].ancestry_chain == (root.id,)


async def test_prevents_excessive_depth(client: tuple[App, Client], answers: Answers) -> None:
    app, asking = client
    root = await asking.submit("level", 0)
    await work_off(app, asking)

    tasks = (await asking.tasks(tracking_id=root.tracking_id)).tasks
    assert [task.spawn_depth for task in tasks] == list(range(11))
    assert {task.state for task in tasks} == {TaskState.SUCCESS}
    deepest = tasks[-1]
    assert deepest.spawn_depth == deepest.max_spawn_depth == 10
    assert (answers["10"].id, answers["10"].reason) == (None, "depth")
    assert all(answers[str(number)].id for number in range(10))
    [block] = await asking.blocks(root.tracking_id)
    assert (block.reason, block.first_parent, block.count) == ("depth", deepest.id, 1)
    assert block.detail == "depth 11 is over max_spawn_depth 10"


@pytest.mark.parametrize("depth", [0, 1, 3])
async def test_prevents_excessive_depth_whatever_the_limit(depth: int, answers: Answers, tmp_path: Path) -> None:
    app = app_with(answers, Limits(max_spawn_depth=depth))
    async with app.client(tmp_path / "ramet.db") as asking:
        root = await asking.submit("level", 0)
        await work_off(app, asking)
        tasks = (await asking.tasks(tracking_id=root.tracking_id)).tasks
    assert [task.spawn_depth for task in tasks] == list(range(depth + 1))
    assert answers[str(depth)].reason == "depth"


async def test_prevents_duplicate_work(client: tuple[App, Client], answers: Answers) -> None:
    app, asking = client
    second = "https://company.example/job/2"
    roots = await asking.submit_many([("job", ROOT), ("job", second)], one_lineage=True)
    await work_off(app, asking)

    tracking_id = roots[0].tracking_id
    assert {root.tracking_id for root in roots} == {tracking_id}
    [company] = (await asking.tasks(tracking_id=tracking_id, kind="company")).tasks
    wished = {ROOT: answers[ROOT], second: answers[second]}
    [created] = [answer for answer in wished.values() if answer.id is not None]
    [refused] = [answer for answer in wished.values() if answer.id is None]
    assert created.id == company.id
    assert refused.reason in {"in_flight", "done"}, "the company may have ended in between"
    assert refused.winner == company.id
    blocks = await asking.blocks(tracking_id, kind="company")
    assert [(block.reason, block.count, block.winner) for block in blocks] == [(refused.reason, 1, company.id)]
    lineage = await asking.lineage(tracking_id)
    assert lineage is not None
    assert lineage.tasks == 3, "a duplicate spends no budget"


async def test_the_same_work_in_another_lineage_is_another_lineages_matter(client: tuple[App, Client]) -> None:
    app, asking = client
    await asking.submit_many([("job", ROOT), ("job", ROOT)])
    await work_off(app, asking)
    assert len((await asking.tasks(kind="company")).tasks) == 2
