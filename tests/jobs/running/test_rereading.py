"""A listing that its board changed is read and judged again, once per change; one that could not be read is tried
again while its board shows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ramet.jobs import pipeline, records
from ramet.jobs.commands.why import find_listings, why_of
from ramet.jobs.kinds import LISTING
from ramet.jobs.matching.duplicates import listing_key
from ramet.jobs.posting import PlaceFields, Posting, shown_mark
from ramet.jobs.records import OF_TEXT, TEXT
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import trouble
from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import Opening
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

FIRST = Opening("1", "Java Developer", text="We write Java and COBOL for banks, and look for somebody like us. " * 4)
SECOND = replace(FIRST, title="Senior Python Engineer", text=Opening("0", "").text, salary=(190_000, 230_000, "USD"))
OTHER = Opening("2", "Staff Python Engineer")
EITHER = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)


async def shows(desk: Desk, *openings: Opening, kind: str = "ashby") -> str:
    """The board shows these, and is scraped; its first openings by the test of the board."""
    board = desk.world.board(kind, "acme", openings, company="Acme")
    if await desk.rows("jobs_sources", "source_id"):
        await desk.scrape(f"{kind}:acme")
    else:
        await desk.discover(board.url, approved=True, company_name="Acme")
    return board.urls["1"]


async def tasks(desk: Desk) -> int:
    """Tasks of listings, of all runs."""
    return sum(row.tasks for row in await desk.client.counts() if row.kind == LISTING)


@EITHER
async def test_a_change_on_the_board_is_read_and_judged_once_with_the_former_verdict_kept(desk: Desk) -> None:
    await desk.set(match__min_score=70, match__preferred_office_min_score=70)
    url = await shows(desk, FIRST, OTHER)
    assert await desk.listings() == {"Java Developer": "skipped", "Staff Python Engineer": "matched"}
    desk.clock.advance(3_600.0)
    await shows(desk, SECOND, OTHER)
    assert await desk.listings() == {"Senior Python Engineer": "matched", "Staff Python Engineer": "matched"}
    assert await tasks(desk) == 3
    row = await desk.one("jobs_listings", "salary_min, salary_max", "title = 'Senior Python Engineer'")
    assert row == (190_000, 230_000)
    [listing] = await find_listings(desk.client, url)
    [former] = (await why_of(desk.client, listing)).verdicts
    assert (former.status, former.title, former.cause) == ("skipped", "Java Developer", "its board changed it")
    for _ in range(2):
        desk.clock.advance(3_600.0)
        await shows(desk, SECOND, OTHER)
    assert await tasks(desk) == 3
    desk.clock.advance(3_600.0)
    await shows(desk, FIRST, OTHER)  # A change back is a change.
    assert await desk.listings() == {"Java Developer": "skipped", "Staff Python Engineer": "matched"}
    assert (await tasks(desk), len(await desk.rows("jobs_verdicts", "listing_id"))) == (4, 2)
    assert len(await desk.rows("jobs_matches", "listing_id")) == 1


@EITHER
async def test_a_text_is_stored_once_and_that_of_a_former_reading_goes(desk: Desk) -> None:
    url = await shows(desk, FIRST, OTHER)
    assert [count for (count,) in await desk.rows("jobs_texts", "COUNT(*)")] == [2]
    for task in (await desk.client.tasks(kind=LISTING)).tasks:
        assert isinstance(task.payload, dict)
        assert "description" not in task.payload["posting"] or not task.payload["posting"]["description"]
    desk.clock.advance(3_600.0)
    await shows(desk, SECOND, OTHER)
    texts = dict(await desk.rows("jobs_texts", "listing_id, text"))
    assert len(texts) == 2
    assert texts[listing_key(url)] == SECOND.text.strip()
    [stored] = [text for _, text in await desk.rows(f"jobs_listings l {OF_TEXT}", f"l.url, {TEXT}", f"l.url = '{url}'")]
    assert stored == texts[listing_key(url)]


async def test_a_retry_of_a_former_reading_ends_without_touching_the_later_one(desk: Desk) -> None:
    await desk.set(match__min_score=70, match__preferred_office_min_score=70)
    await shows(desk, FIRST, OTHER)
    [former] = [task for task in (await desk.client.tasks(kind=LISTING)).tasks if task.key.endswith("/1")]
    desk.clock.advance(3_600.0)
    await shows(desk, SECOND, OTHER)
    before = await desk.rows("jobs_listings", "*")
    await desk.client.revive([former.id], reason="a test")
    await drain(pipeline.app, desk.client)
    task = await desk.client.get(former.id)
    assert task is not None
    assert (task.state, task.reason) == ("skipped", "its board shows it otherwise since it was asked for")
    assert await desk.rows("jobs_listings", "*") == before


async def test_a_change_that_a_title_rule_refuses_ends_the_match(desk: Desk) -> None:
    await desk.set(**EAGER, filter__excluded_seniority=["junior"])
    await shows(desk, OTHER, replace(SECOND, id="1"))
    assert len(await desk.rows("jobs_matches", "listing_id")) == 2
    await shows(desk, OTHER, replace(SECOND, title="Junior Python Engineer"))
    assert (await desk.listings())["Junior Python Engineer"] == "filtered"
    assert len(await desk.rows("jobs_matches", "listing_id")) == 1


@pytest.mark.parametrize("answer", [trouble(), trouble(403)], ids=["500", "403"])
async def test_what_could_not_be_read_is_tried_again_by_the_next_run(desk: Desk, answer: Reply) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("bamboohr", "acme", [OTHER, FIRST], company="Acme")
    detail = f"{board.urls['1']}/detail"
    desk.world.behave(detail, answer, forever=True)
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert await desk.listings() == {"Java Developer": "unknown", "Staff Python Engineer": "matched"}
    desk.world.behave(detail)
    run = await desk.scrape("bamboohr:acme")
    assert (run.result["spawned"], run.result["blocked"]) == (1, {})
    assert await desk.listings() == {"Java Developer": "matched", "Staff Python Engineer": "matched"}
    assert (await desk.scrape("bamboohr:acme")).result["spawned"] == 0


async def test_it_is_tried_again_less_and_less_often(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("bamboohr", "acme", [OTHER, FIRST], company="Acme")
    desk.world.behave(f"{board.urls['1']}/detail", trouble(403), forever=True)
    await desk.discover(board.url, approved=True, company_name="Acme")
    tried = []
    for _ in range(12):
        desk.clock.advance(3_600.0)
        tried.append((await desk.scrape("bamboohr:acme")).result.get("spawned"))
    assert tried == [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]


async def test_a_reading_again_that_fails_takes_no_verdict_away(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("bamboohr", "acme", [OTHER, FIRST], company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    detail = f"{board.urls['1']}/detail"
    desk.world.board("bamboohr", "acme", [OTHER, SECOND], company="Acme")
    desk.world.behave(detail, trouble(403), forever=True)
    await desk.scrape("bamboohr:acme")
    assert (await desk.listings())["Java Developer"] == "matched"
    assert len(await desk.rows("jobs_matches", "listing_id")) == 2
    desk.world.behave(detail)
    await desk.scrape("bamboohr:acme")
    assert await desk.listings() == {"Senior Python Engineer": "matched", "Staff Python Engineer": "matched"}


def test_the_mark_of_what_is_shown_is_of_title_text_pay_and_place() -> None:
    one = Posting(url="https://acme.example/1", title="Engineer", description="We build  ships.\n", location="Portland")
    mark = shown_mark(one)
    same = {"posted_at": 1.0, "external_id": "7", "description": "We build ships.", "url": "https://acme.example/2"}
    assert shown_mark(one.model_copy(update=same)) == mark
    for change in (
        {"title": "Engineer II"}, {"description": "We build boats."}, {"location": "Salem"}, {"salary": "$1"},
        {"country": "US"}, {"places": (PlaceFields(city="Portland"),)}, {"workplace": "remote"},
    ):  # fmt: skip
        assert shown_mark(one.model_copy(update=change)) != mark, change


@pytest.mark.parametrize(
    ("stored", "due", "reading"),
    [
        (("matched", "a", 1, "x", 0, 0), False, 2),
        (("matched", "a", 1, "y", 0, 0), True, 2),
        (("matched", "b", 1, "y", 0, 0), False, 2),  # another source has other words for it
        (("matched", "a", None, None, None, None), False, 2),  # of an older version
        (("unknown", "a", None, None, None, None), True, 2),
        (("unknown", "a", 3, "x", 2, 1), False, 4),
        (("matched", "a", 3, "y", 1, 0), True, 4),
        (("analyzing", "a", None, None, None, None), True, 1),
        (("refused", "a", None, None, None, None), True, 1),
        (("unscored", "a", 1, "x", 0, 0), True, 2),
    ],
)
def test_when_a_listing_is_due_and_as_which_reading(stored: tuple[Any, ...], due: bool, reading: int) -> None:
    listing = records.KnownListing("id", *stored)
    assert (listing.is_due("a", "x"), listing.next_reading) == (due, reading)
