"""Scenario 3 of the first design when the jobs are roots of different lineages: one company over all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet import App, Context, SpawnResult, StopListed, Worker, url_key

JOBS = [f"https://board.example/jobs/{number}" for number in (1, 2, 3)]
COMPANY = "https://company.example/"


def app_with(unique: str, answers: dict[str, SpawnResult]) -> App:
    """Jobs that each want the one company."""
    app = App()

    @app.task("job", key=url_key)
    async def job(ctx: Context, url: str) -> None:
        answers[url] = await ctx.spawn_now("company", COMPANY)

    @app.task("company", key=url_key, unique=unique)
    async def company(ctx: Context, url: str) -> str:
        return f"scraped {url}"

    return app


@pytest.mark.parametrize(("unique", "companies"), [("lineage", 3), ("global", 1)])
async def test_three_jobs_of_three_lineages_scrape_the_company(unique: str, companies: int, tmp_path: Path) -> None:
    answers: dict[str, SpawnResult] = {}
    app = app_with(unique, answers)
    async with app.client(tmp_path / "ramet.db") as client:
        roots = await client.submit_many([("job", url) for url in JOBS])
        assert len({root.tracking_id for root in roots}) == 3
        await Worker(app, client, until_idle=True, poll_seconds=0.05).run()
        tasks = (await client.tasks(kind="company")).tasks
        assert len(tasks) == companies
        granted = [answer for answer in answers.values() if answer.id is not None]
        refused = [answer for answer in answers.values() if answer.id is None]
        assert {answer.id for answer in granted} == {task.id for task in tasks}
        assert {(answer.reason, answer.winner) for answer in refused} <= {("elsewhere", tasks[0].id)}
        assert (await client.submit("company", COMPANY)).created is (unique == "lineage")


async def test_whoever_asks_for_a_held_key_can_wait_for_its_result(tmp_path: Path) -> None:
    app = app_with("global", {})
    async with app.client(tmp_path / "ramet.db") as client:
        first = await client.submit("company", COMPANY)
        second = await client.submit("company", COMPANY)
        await Worker(app, client, until_idle=True, poll_seconds=0.05).run()
        assert second == first._replace(created=False)
        assert await client.result(second.id) == f"scraped {COMPANY}"


async def test_a_stopped_domain_is_neither_submitted_nor_spawned(tmp_path: Path) -> None:
    answers: dict[str, SpawnResult] = {}
    app = app_with("lineage", answers)
    async with app.client(tmp_path / "ramet.db") as client:
        await client.stop("domain", "company.example", reason="asked us to stop")
        await client.submit("job", JOBS[0])
        with pytest.raises(StopListed, match="asked us to stop"):
            await client.submit("company", COMPANY)
        await Worker(app, client, until_idle=True, poll_seconds=0.05).run()
        assert answers[JOBS[0]].reason == "stop_list"
        assert (await client.tasks(kind="company")).tasks == ()
