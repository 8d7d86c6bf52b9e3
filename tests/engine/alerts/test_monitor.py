"""The monitor on the four scenarios of the first design, run by a real worker; and on honest work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ramet import Alert, App, Client, Context, Limits, Outcome, Retry, Transient, Worker, url_key
from ramet.engine.alerts.monitor import Monitor, monitor_limits, notice_rules
from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.store.answers import MonitorStepResult
from tests.support.waiting import until

JOB, COMPANY, BOARD = (f"https://company.example/{path}" for path in ("jobs/1", "", "careers"))


class NoJitter(random.Random):
    """Retries follow at once."""

    def random(self) -> float:
        return 0.0


async def run(app: App, client: Client, *roots: tuple[str, Any]) -> dict[str, Alert]:
    """Work off one lineage with these roots, look, and give the alerts by pattern."""
    await client.submit_many(roots, one_lineage=True)
    await Worker(app, client, until_idle=True, poll_seconds=0.01, rng=NoJitter()).run()
    return {alert.pattern: alert for alert in await client.check_alerts()}


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Callable[[App], Client]]:
    clients = []

    def open_client(app: App) -> Client:
        clients.append(app.client(tmp_path / "ramet.db"))
        return clients[-1]

    yield open_client
    for client in clients:
        await client.close()


async def test_scenario_1_a_company_that_wants_its_job_again_at_every_try(opened: Callable[[App], Client]) -> None:
    app = App(retry=Retry.SEED)

    @app.task("job", key=url_key)
    async def job(ctx: Context, url: str) -> None:
        ctx.spawn("company", COMPANY)

    @app.task("company", key=url_key)
    async def company(ctx: Context, url: str) -> None:
        await ctx.spawn_now("job", JOB)
        raise Transient("no data")

    alerts = await run(app, opened(app), ("job", JOB))
    [worst] = alerts["possible_loop"].evidence["worst"]
    assert (worst["kind"], worst["key"], worst["weight"]) == ("job", JOB, 5)


async def test_scenario_2_a_board_that_wants_the_company_it_came_from(opened: Callable[[App], Client]) -> None:
    app = App(retry=Retry.SEED)

    @app.task("company", key=url_key)
    async def company(ctx: Context, url: str) -> None:
        ctx.spawn("board", BOARD)

    @app.task("board", key=url_key)
    async def board(ctx: Context, url: str) -> None:
        await ctx.spawn_now("company", COMPANY)
        raise Transient("the company is not known yet")

    alerts = await run(app, opened(app), ("company", COMPANY))
    assert alerts["possible_cycle"].evidence["worst"][0]["key"] == COMPANY
    assert alerts["possible_cycle"].evidence["worst"][0]["blocked"] == {"cycle": 4}


async def test_scenario_3_three_jobs_that_go_on_wanting_one_company(opened: Callable[[App], Client]) -> None:
    # Their order is chance, and what a block remembers of its parents is three: the seed's four attempts are too few to
    # be noticed in every order.
    app = App(retry=replace(Retry.SEED, attempts=12))

    @app.task("job", key=url_key)
    async def job(ctx: Context, url: str) -> None:
        await ctx.spawn_now("company", COMPANY)
        raise Transient("the company is not known yet")

    @app.task("company", key=url_key)
    async def company(ctx: Context, url: str) -> None:
        pass

    alerts = await run(app, opened(app), *(("job", f"{BOARD}/{number}") for number in range(3)))
    [worst] = alerts["possible_loop"].evidence["worst"]
    assert (worst["kind"], worst["key"]) == ("company", COMPANY)
    assert 3 < worst["weight"] <= 1 + 3 * 12


async def test_scenario_4_a_job_that_queues_itself_when_it_fails(opened: Callable[[App], Client]) -> None:
    app = App(retry=Retry.SEED, limits=Limits(retries_per_minute=2))

    @app.task("job", key=url_key)
    async def job(ctx: Context, url: str) -> Outcome:
        ctx.spawn("job", f"{JOB}?copy={ctx.spawn_depth + 1}")
        return ctx.fail("busy")

    @app.task("storm", limits=Limits(max_attempts=2))
    async def storm(ctx: Context, number: int) -> None:
        raise Transient("busy")

    client = opened(app)
    alerts = await run(app, client, ("job", JOB))
    assert alerts["deep_spawn"].evidence["worst"][0]["weight"] == 10
    await client.submit_many([("storm", number) for number in range(5)], one_lineage=True)
    worker = Worker(app, client, poll_seconds=0.01, rng=NoJitter())
    working = asyncio.create_task(worker.run())

    async def put_off() -> bool:
        return any(alert.pattern == "retry_storm" for alert in await client.check_alerts())

    await until(put_off, "retries are put off")
    worker.stop()
    await working


async def test_a_site_whose_pages_all_link_to_each_other_is_no_alarm(opened: Callable[[App], Client]) -> None:
    app = App(retry=Retry.SEED)

    @app.task("home", key=str)
    async def home(ctx: Context, number: int) -> None:
        for page in range(200):
            ctx.spawn("page", page)

    @app.task("page", key=str)
    async def page(ctx: Context, number: int) -> None:
        for other in (1, 1, 2, (number + 1) % 200, (number + 2) % 200):
            if other != number:
                ctx.spawn("page", other)
        ctx.spawn("image", 1_000)

    @app.task("image", key=str)
    async def image(ctx: Context, number: int) -> None:
        pass

    client = opened(app)
    assert await run(app, client, ("home", 5_000)) == {}
    [lineage] = await client.lineages()
    assert sum((await client.block_totals(lineage.tracking_id)).values()) > 500


async def test_a_kind_sets_its_own_threshold(opened: Callable[[App], Client]) -> None:
    def stubborn(alert_over: int | None) -> App:
        app = App(retry=Retry.SEED, limits=Limits(max_attempts=6))

        @app.task("poll", key=str, alert_over=alert_over)
        async def poll(ctx: Context, number: int) -> None:
            await ctx.spawn_now("poll", number)
            raise Transient("not yet")

        return app

    client = opened(stubborn(None))
    assert await run(stubborn(None), client, ("poll", 1)) == {}
    assert await run(stubborn(7), client, ("poll", 1)) == {}
    assert set(await run(stubborn(6), client, ("poll", 1))) == {"possible_loop", "possible_cycle"}


@pytest.mark.parametrize(("alert_over", "patterns"), [(None, set()), ("default", {"budget", "deep_spawn"})])
async def test_a_kind_that_is_never_alerted_about_may_grow_deep_and_use_up_its_lineage(
    opened: Callable[[App], Client], alert_over: Any, patterns: set[str]
) -> None:
    app, found = App(limits=Limits(max_tasks=12, max_spawn_depth=20)), set[str]()

    @app.task("step", key=str, alert_over=alert_over)
    async def step(ctx: Context, number: int) -> None:
        if number == 11:
            found.update(alert.pattern for alert in await client.check_alerts())
        else:
            ctx.spawn("step", number + 1)

    client = opened(app)
    await run(app, client, ("step", 0))
    assert found == patterns


# --- the part of the maintenance loop


class Clockwork:
    """A monotonic clock that the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Asked:
    """A store that counts how often the monitor turns to it."""

    def __init__(self, *answers: MonitorStepResult) -> None:
        self.answers = list(answers)
        self.asked: list[MonitorLimits] = []

    async def settings(self) -> dict[str, object]:
        return {"monitor.seconds": 120.0, "monitor.depth_max": 4, "monitor.demands_max": "three"}

    async def look(
        self, limits: MonitorLimits, *, force: bool = False, rules: NoticeRules | None = None
    ) -> MonitorStepResult:
        self.asked.append(limits)
        return self.answers.pop(0)


async def test_a_worker_asks_once_a_minute_and_takes_every_step_of_a_look() -> None:
    clock, store = (
        Clockwork(),
        Asked(MonitorStepResult(True, True), MonitorStepResult(True, False), MonitorStepResult(False)),
    )
    monitor = Monitor(store, clock)  # type: ignore[arg-type]
    for clock.seconds in (0.0, 59.0):
        await monitor.look_when_due()
    assert store.asked == []
    for clock.seconds in (60.0, 61.0, 119.0):
        await monitor.look_when_due()
    assert len(store.asked) == 2
    assert (store.asked[0].seconds, store.asked[0].depth_max, store.asked[0].demands_max) == (120.0, 4, 3)
    clock.seconds = 120.0
    await monitor.look_when_due()
    assert len(store.asked) == 3


def test_a_setting_that_is_no_sound_number_leaves_the_default() -> None:
    odd = {"monitor.seconds": -1, "monitor.depth_max": "8", "monitor.quiet_seconds": 60, "other": 3}
    assert monitor_limits(odd) == MonitorLimits(quiet_seconds=60.0)
    odd = {"alerts.cooldown_seconds": -1, "alerts.repeat_seconds": None, "alerts.attempts_max": "3"}
    assert notice_rules(odd) == NoticeRules(repeat_seconds=None)
