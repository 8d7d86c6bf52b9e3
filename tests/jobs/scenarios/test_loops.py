"""The four loops of the first design, in the real pipeline: each ends, and what was refused can be asked for.

The records stop most of them before the guard is asked: who is known is not asked for again. So each is also run with
records that know nobody, where the guard alone has to hold.
"""

from __future__ import annotations

from collections import Counter

import pytest

from ramet.jobs import pipeline, records
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE_SOURCE
from ramet.jobs.tasks import source
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.scenarios.feed_circle import NAMES, OPENINGS, address_of, feed_of, put_up, site_of
from tests.jobs.world.faults import trouble

pytestmark = pytest.mark.network


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that know nobody."""

    async def nobody(*_: object) -> None:
        return None

    async def none(*_: object) -> set[str]:
        return set()

    monkeypatch.setattr(records, "company_by_id", nobody)
    monkeypatch.setattr(records, "company_by_name", nobody)
    monkeypatch.setattr(source.Run, "_known", none)


async def kinds(desk: Desk, tracking_id: str) -> Counter[str]:
    return Counter({row.kind: 0 for row in await desk.client.counts(tracking_id)}) + Counter(
        [task.kind async for task in desk.client.all_tasks(tracking_id=tracking_id)]
    )


async def explained(desk: Desk, tracking_id: str) -> None:
    """Every block of a lineage is in the explanation of the task to which it was refused."""
    stored = {(block.kind, block.key, block.reason) for block in await desk.client.blocks(tracking_id)}
    told = set()
    async for task in desk.client.all_tasks(tracking_id=tracking_id):
        explanation = await desk.client.explain(task.id)
        assert explanation is not None
        assert explanation.headline
        told |= {(block.kind, block.key, block.reason) for block in explanation.history.blocks}
    assert told == stored


def fetched(desk: Desk, name: str) -> int:
    """How often a company was looked at: its home page is asked for once in each look."""
    return len([asked for asked in desk.world.asked(site_of(name)) if asked.path in ("", "/")])


@pytest.mark.parametrize("knows", [True, False])
async def test_a_closed_circle_ends_and_looks_at_each_company_once(
    desk: Desk, knows: bool, request: pytest.FixtureRequest
) -> None:
    if not knows:
        request.getfixturevalue("forgetful")
    await desk.set(**EAGER)
    put_up(desk.world)
    root = await desk.company(site_of("Alder"), "Alder")
    lineage = await desk.client.lineage(root.tracking_id)
    assert lineage is not None
    assert lineage.state == "finished"
    made = await kinds(desk, root.tracking_id)
    assert made[COMPANY] == len(NAMES)
    assert made[LISTING] == len(NAMES) * OPENINGS
    assert made[SCRAPE_SOURCE] == len(NAMES)
    assert [fetched(desk, name) for name in NAMES] == [1] * len(NAMES)
    assert Counter((await desk.listings()).values()) == {"matched": OPENINGS}  # titles are the same for all
    assert len(await desk.rows("jobs_matches", "listing_id")) == len(NAMES) * OPENINGS
    if not knows:
        reasons = Counter(str(block.reason) for block in await desk.client.blocks(root.tracking_id))
        assert reasons["cycle"], reasons
    await explained(desk, root.tracking_id)


async def test_three_listings_at_once_that_want_one_company_get_one(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk.world, ("Alder",))
    wanted = [(LISTING, {"url": address_of("Alder", number)}) for number in range(3)]
    made = await desk.client.submit_many(wanted, one_lineage=True)
    await drain(pipeline.app, desk.client, kinds=[LISTING])
    [block] = await desk.client.blocks(made[0].tracking_id)
    assert (block.kind, block.key, str(block.reason), block.count) == (COMPANY, "alder.example", "in_flight", 2)
    winner = [task async for task in desk.client.all_tasks(tracking_id=made[0].tracking_id, kind=COMPANY)]
    assert [task.id for task in winner] == [block.winner]
    await explained(desk, made[0].tracking_id)


async def test_three_listings_of_three_runs_that_want_one_company_get_one(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk.world, ("Alder",))
    made = await desk.client.submit_many([(LISTING, {"url": address_of("Alder", number)}) for number in range(3)])
    await drain(pipeline.app, desk.client, kinds=[LISTING])
    blocks = [block for one in made for block in await desk.client.blocks(one.tracking_id)]
    assert [(block.kind, str(block.reason)) for block in blocks] == [(COMPANY, "elsewhere")] * 2
    for one in made:
        await explained(desk, one.tracking_id)
    await drain(pipeline.app, desk.client)
    assert fetched(desk, "Alder") == 1


async def test_a_company_that_always_fails_is_tried_four_times_whoever_wants_it(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk.world, ("Alder",))
    desk.world.behave(site_of("Alder"), trouble(), forever=True)
    task = await desk.company(site_of("Alder"), "Alder")
    assert (task.state, task.attempts) == ("failed", 4)
    assert fetched(desk, "Alder") == 4
    await desk.client.read("SELECT 1")
    for number in range(3):
        await desk.run(LISTING, {"url": address_of("Alder", number)})
    assert fetched(desk, "Alder") == 4


async def test_a_listing_that_leads_to_its_own_company_and_back_is_one_listing(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk.world, ("Alder",))
    root = await desk.run(LISTING, {"url": address_of("Alder", 0)})
    made = await kinds(desk, root.tracking_id)
    assert (made[COMPANY], made[LISTING], made[SCRAPE_SOURCE]) == (1, OPENINGS, 1)
    assert len(desk.world.asked(feed_of("Alder"))) >= 1
    await explained(desk, root.tracking_id)
