"""A batch over sources, what goes first, and when a board has been read far enough."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ramet import Client
from ramet.jobs import records
from ramet.jobs.kinds import LISTING, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY
from ramet.jobs.queries import sources_to_scrape
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.openings import Opening

pytestmark = pytest.mark.network

DAY = 86_400.0
BREAD = (
    "{name} bakes bread in three small towns, every night but Sunday's, and has done so for as long as anybody knows."
)


async def employer(desk: Desk, name: str, **pages: str) -> str:
    """A company with a board, looked at with all that came of it; its source."""
    token = name.lower()
    board = desk.world.board("greenhouse", token, [Opening("1", f"Python Engineer 1 at {name}")], company=name)
    site = f"https://{token}.example/"
    desk.world.company(name, site, careers=f'<a href="{board.url}">Open positions</a>', **pages)
    await desk.company(site, name)
    return f"greenhouse:{token}"


def more(desk: Desk, name: str) -> None:
    """A second opening on a company's board."""
    openings = [Opening(number, f"Python Engineer {number} at {name}") for number in ("1", "2")]
    desk.world.board("greenhouse", name.lower(), openings, company=name)


async def made(desk: Desk, tracking_id: str) -> Counter[str]:
    """How many tasks of each kind a lineage has."""
    return Counter([task.kind async for task in desk.client.all_tasks(tracking_id=tracking_id)])


async def test_sources_of_better_tiers_come_first_then_those_not_scraped_for_the_longest_time(desk: Desk) -> None:
    await desk.set(company__tier_c=20)
    bakery = await employer(desk, "Bakery", about=BREAD)
    desk.clock.advance(60)
    mill = await employer(desk, "Mill", about=BREAD)
    acme = await employer(desk, "Acme")
    tiers = dict(await desk.rows("jobs_companies", "name, tier"))
    assert tiers["Acme"] < tiers["Bakery"] == tiers["Mill"]
    chosen = [source.source_id for source in await sources_to_scrape(desk.client, None, None)]
    assert chosen == [acme, bakery, mill]
    desk.clock.advance(60)
    await desk.scrape(bakery)
    chosen = [source.source_id for source in await sources_to_scrape(desk.client, None, 2)]
    assert chosen == [acme, mill]


async def test_a_batch_takes_no_further_source_on_when_there_are_enough_matches(desk: Desk) -> None:
    await desk.set(**EAGER, run__sources_at_once=1, company__tier_c=20)
    await employer(desk, "Bakery", about=BREAD)
    acme = await employer(desk, "Acme")
    for name in ("Bakery", "Acme"):
        more(desk, name)
    run = await desk.run(SCRAPE, {"target_matches": 1})
    assert run.state == "success"
    assert (run.result["sources"], run.result["matches"]) == (1, 1)
    scraped = [task async for task in desk.client.all_tasks(tracking_id=run.tracking_id, kind=SCRAPE_SOURCE)]
    assert [task.key for task in scraped] == [acme]


async def test_a_batch_takes_on_as_many_sources_as_it_may(desk: Desk) -> None:
    await desk.set(**EAGER)
    for name in ("Bakery", "Acme"):
        await employer(desk, name)
        more(desk, name)
    one = await desk.run(SCRAPE, {"target_matches": None, "max_sources": 1})
    assert (one.result["sources"], (await made(desk, one.tracking_id))[LISTING]) == (1, 1)
    rest = await desk.run(SCRAPE, {"target_matches": None, "max_sources": None})
    assert (rest.result["sources"], (await made(desk, rest.tracking_id))[LISTING]) == (2, 1)


async def test_the_tasks_of_a_company_of_tier_s_go_before_others(desk: Desk) -> None:
    await desk.set(company__tier_s=1)
    await employer(desk, "Acme")
    assert await desk.one("jobs_companies", "tier") == ("S",)
    kinds = (SOURCE_DISCOVERY, SCRAPE_SOURCE, LISTING)
    told = {task.kind: task.priority async for task in desk.client.all_tasks() if task.kind in kinds}
    assert told == dict.fromkeys(kinds, 20)


async def test_a_board_that_is_a_source_already_is_not_discovered_again(desk: Desk) -> None:
    await employer(desk, "Acme")
    desk.clock.advance(31 * DAY)
    again = await desk.company("https://acme.example/", "Acme")
    assert again.state == "success"
    assert await made(desk, again.tracking_id) == {"COMPANY": 1}


async def test_a_listing_has_the_name_of_its_board_where_its_row_has_none(desk: Desk) -> None:
    board = desk.world.board("ashby", "acme", [Opening("1", "Python Engineer")], company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert await desk.one("jobs_listings", "company") == ("Acme",)


@pytest.mark.parametrize(("newest_first", "pages"), [(False, 4), (True, 2)])
async def test_only_a_board_that_shows_the_newest_first_is_left_after_two_known_pages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, newest_first: bool, pages: int
) -> None:
    found = records.source_by_id

    async def as_wanted(client: Client, source_id: str) -> Any:
        row = await found(client, source_id)
        if row is None or row.instruction is None:
            return row
        return replace(row, instruction=row.instruction.model_copy(update={"newest_first": newest_first}))

    monkeypatch.setattr(records, "source_by_id", as_wanted)
    openings = [Opening(str(number), f"Python Engineer {number}") for number in range(1, 351)]
    board = desk.world.board("lever", "acme", openings, company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    board = desk.world.board("lever", "acme", [Opening("351", "Python Engineer 351"), *openings], company="Acme")
    run = await desk.scrape("lever:acme")
    assert (run.result["spawned"], run.result["page"]) == (1, pages)
    assert run.result["ended"] == ("nothing newer" if newest_first else "last page")
