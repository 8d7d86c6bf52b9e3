"""A scheduled run: never beside another, under the ceilings of now, and a digest of each new match once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet import Client, Task
from ramet.jobs import mark_matches
from ramet.jobs.app import bounds_of
from ramet.jobs.kinds import RUN, SCRAPE
from ramet.jobs.pipeline import app
from ramet.jobs.queries import live_run
from ramet.jobs.tasks.digest import BYTES_MAX, LISTED_MAX
from ramet.jobs.tasks.scheduled_run import SCHEDULE, SCHEDULED_RUN
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.openings import Opening

pytestmark = pytest.mark.network

DAY = 86_400.0


async def schedule(client: Client, **payload: Any) -> None:
    await client.schedules.add(SCHEDULED_RUN, payload, name=SCHEDULE, cron="0 7 * * *", replace=True)


async def slot(desk: Desk) -> Task:
    """The run of a slot, worked off; its root."""
    begun = await desk.client.schedules.run(SCHEDULE)
    assert begun.tracking_id is not None
    await drain(app, desk.client)
    [root] = await desk.client.roots(begun.tracking_id)
    return root


async def messages(client: Client) -> list[dict[str, Any]]:
    """What was told through the log, in order."""
    notices = [one for one in reversed(await client.alert_notices(limit=1_000)) if one.event == "message"]
    return [dict(one.body) for one in notices if one.channel == "log"]


async def board(desk: Desk, *openings: Opening) -> None:
    """A board with these openings, which is a source."""
    put_up = desk.world.board("greenhouse", "acme", openings, company="Acme")
    if not await desk.rows("jobs_sources", "source_id"):
        await desk.discover(put_up.url, approved=True)


async def test_a_slot_scrapes_and_tells_of_each_new_match_once(desk: Desk) -> None:
    await desk.set(**EAGER)
    await board(desk)
    await schedule(desk.client)
    await board(desk, Opening("1", "Senior Python Engineer"), Opening("2", "Python Developer"))
    root = await slot(desk)
    assert (root.state, root.result) == ("success", {"told": 2})
    [told] = await messages(desk.client)
    assert told["text"].startswith("2 new matches, the best with ")
    assert {one["title"] for one in told["data"]["matches"]} == {"Senior Python Engineer", "Python Developer"}
    assert len(told["lines"]) == 4
    desk.clock.advance(DAY)
    assert (await slot(desk)).result == {"told": 0}
    assert len(await messages(desk.client)) == 1


async def test_what_a_person_has_seen_is_not_told(desk: Desk) -> None:
    await desk.set(**EAGER)
    await board(desk, Opening("1", "Senior Python Engineer"), Opening("2", "Python Developer"))
    await desk.scrape("greenhouse:acme")
    [(first,), _] = await desk.rows("jobs_matches", "listing_id")
    await mark_matches(desk.client, [first], "dismissed", by="Ana")
    await schedule(desk.client)
    assert (await slot(desk)).result == {"told": 1}
    assert [len(one["data"]["matches"]) for one in await messages(desk.client)] == [1]


async def test_a_slot_begins_no_run_beside_another_and_tells_what_that_has_found(desk: Desk) -> None:
    await desk.set(**EAGER)
    await board(desk, Opening("1", "Senior Python Engineer"))
    await desk.scrape("greenhouse:acme")
    other = await desk.client.submit(SCRAPE, {}, tracking_id=f"{RUN}typed")
    await desk.client.pause_lineage(other.tracking_id)
    await schedule(desk.client)
    root = await slot(desk)
    assert root.state == "skipped"
    assert f"the run {RUN}typed has not ended" in str(root.reason)
    assert [row.kind for row in await desk.client.counts(root.tracking_id)] == [SCHEDULED_RUN]
    assert len(await messages(desk.client)) == 1


async def test_a_typed_run_finds_the_scheduled_one(desk: Desk) -> None:
    await schedule(desk.client)
    begun = await desk.client.schedules.run(SCHEDULE)
    assert await live_run(desk.client) == begun.tracking_id
    assert await live_run(desk.client, but=str(begun.tracking_id)) is None


async def test_without_a_profile_nothing_is_scraped(desk: Desk) -> None:
    await board(desk, Opening("1", "Senior Python Engineer"))
    await desk.set(profile__name="")
    await schedule(desk.client)
    root = await slot(desk)
    assert (root.state, "there is no profile" in str(root.reason)) == ("skipped", True)


async def test_a_ceiling_that_was_lowered_since_holds(desk: Desk) -> None:
    await desk.set(**EAGER)
    await board(desk)
    await schedule(desk.client, everything=True)
    await desk.set(run__max_tasks=4)
    await board(desk, *(Opening(str(number), f"Python Engineer {number}") for number in range(9)))
    root = await slot(desk)
    made = {row.kind: row.tasks for row in await desk.client.counts(root.tracking_id)}
    assert sum(made.values()) == 1 + 4
    assert bounds_of({}).max_tasks > 100


@pytest.mark.parametrize(
    "title", ["<!channel> @here", "[click](https://evil.example)", "line\nforged: line", "é" * 9_000]
)
async def test_hostile_titles_stay_text_on_one_line_of_bounded_length(desk: Desk, title: str) -> None:
    await desk.set(**EAGER)
    await board(desk, Opening("1", f"Python Engineer {title}"))
    await schedule(desk.client)
    await slot(desk)
    [told] = await messages(desk.client)
    for line in (told["text"], *told["lines"]):
        assert line.isprintable()
        assert len(line) < 600
        assert "](" not in line
    assert len(told["lines"]) == 2


async def test_of_many_matches_the_best_are_listed(desk: Desk) -> None:
    await desk.set(**EAGER)
    many = [Opening(str(number), f"Python Engineer {number} {'ü' * 400}") for number in range(LISTED_MAX + 40)]
    await board(desk, *many)
    await schedule(desk.client, everything=True)
    assert (await slot(desk)).result == {"told": len(many)}
    [told] = await messages(desk.client)
    listed = len(told["data"]["matches"])
    assert 1 < listed <= LISTED_MAX
    assert told["lines"][-1] == f"and {len(many) - listed} more: ramet jobs matches --new"
    assert len(json.dumps(told)) < BYTES_MAX + 1_000
