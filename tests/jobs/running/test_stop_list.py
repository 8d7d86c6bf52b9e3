"""What a stop list names is not asked for, whatever kind of task comes to it."""

from __future__ import annotations

import pytest

from ramet.jobs.kinds import COMPANY, LISTING
from tests.jobs.running.conftest import Desk
from tests.jobs.world.openings import Opening

pytestmark = pytest.mark.network

SITE = "https://acme.example/"


async def test_nothing_is_fetched_from_a_domain_that_is_stopped(desk: Desk) -> None:
    await desk.set(stop__domains=["acme.example", "greenhouse.io"])
    desk.world.company("Acme", SITE)
    board = desk.world.board("greenhouse", "acme", [Opening("1", "Python Engineer")], company="Acme")
    told = [
        await desk.company(SITE),
        await desk.discover(board.url, approved=True),
        await desk.run(LISTING, {"url": "https://careers.acme.example/jobs/1"}),
    ]
    assert {task.state for task in told} <= {"failed", "skipped", "filtered"}
    assert all("stop list: domain" in str(task.reason or task.error) for task in told)
    assert not desk.world.asked(SITE)
    assert not desk.world.asked(board.list_url)
    assert not desk.world.asked("https://careers.acme.example/")


@pytest.mark.parametrize("named", [{"name": "Acme, Inc."}, {}])
async def test_a_company_that_is_stopped_is_not_looked_at_until_it_is_taken_off_the_list(
    desk: Desk, named: dict[str, str]
) -> None:
    await desk.set(stop__companies=["acme"])
    desk.world.company("Acme", SITE)
    task = await desk.run(COMPANY, {"website": SITE, **named})
    assert (task.state, task.reason) == ("skipped", "stop list: company acme")
    assert not desk.world.asked(SITE)
    assert await desk.rows("jobs_companies", "name") == []
    await desk.set(stop__companies=[])
    assert (await desk.run(COMPANY, {"website": SITE, **named})).state == "success"
