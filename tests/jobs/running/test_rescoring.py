"""What is stored is judged again with the settings and companies of now: rules only, and nothing is fetched."""

from __future__ import annotations

import pytest

from ramet.jobs import pipeline
from ramet.jobs.commands.why import find_listings, why_of
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.kinds import COMPANY, LISTING, RESCORE, RescorePayload
from ramet.jobs.tasks import company
from ramet.jobs.tasks.match_status import MARK
from ramet.jobs.tasks.rescore import Rescoring
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import posting_page
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network
EITHER = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)

URL = "https://careers.acme.example/jobs/1"
CLERK = Opening("1", "Senior Office Clerk", text="We keep the books of harbours, and look for a person who does. " * 5)
"""Far from what the sample's profile wants: 100 points are out of reach."""
STRICT = {"match__min_score": 100, "match__preferred_office_min_score": 100}


def put_up(desk: Desk, opening: Opening, url: str = URL, company: str = "Acme") -> None:
    desk.world.page(url, posting_page(opening, url, company))


async def rescore(desk: Desk, cause: str = "a test") -> object:
    root = await desk.run(RESCORE, RescorePayload(cause=cause, asked_by=cause))
    assert root.state == "success", root.why
    return root.result


@EITHER
async def test_a_lowered_threshold_makes_matches_of_what_was_skipped_without_fetching(desk: Desk) -> None:
    await desk.set(**STRICT)
    put_up(desk, CLERK)
    await desk.run(LISTING, {"url": URL})
    assert await desk.one("jobs_listings", "status") == ("skipped",)
    asked = len(desk.world.requests)
    await desk.set(**EAGER)
    assert await rescore(desk) == {"judged": 1, "changed": {"skipped to matched": 1}}
    assert len(desk.world.requests) == asked
    assert await desk.one("jobs_listings", "status, reason") == ("matched", None)
    [(points,)] = await desk.rows("jobs_matches", "match_score")
    [listing] = await find_listings(desk.client, URL)
    [former] = (await why_of(desk.client, listing)).verdicts
    assert (former.status, former.cause) == ("skipped", "a test")
    assert f"score {points:g} is below 100" == former.reason
    assert await rescore(desk, "once more") == {"judged": 1, "changed": {}}
    assert len(await desk.rows("jobs_verdicts", "listing_id")) == 1


@EITHER
async def test_a_match_that_fits_no_more_goes_and_one_that_a_person_marked_stays(desk: Desk) -> None:
    await desk.set(**EAGER)
    other = "https://careers.acme.example/jobs/2"
    put_up(desk, CLERK)
    put_up(desk, Opening("2", "Staff Python Engineer", text="We build ships in Python and Go. " * 20), other)
    for url in (URL, other):
        await desk.run(LISTING, {"url": url})
    await desk.run(MARK, {"listing_ids": [other], "status": "applied", "by": "ana"})
    await desk.set(**STRICT)
    assert await rescore(desk) == {"judged": 1, "changed": {"matched to skipped": 1}}
    assert await desk.rows("jobs_matches", "listing_id") == [(other,)]
    assert await desk.one("jobs_listings", "status", f"listing_id = '{other}'") == ("matched",)


async def test_a_profile_that_comes_later_judges_what_was_unscored(desk: Desk) -> None:
    sample = {one.name: one.value for one in await desk.client.settings.all() if one.stored}
    for name in sample:
        await desk.client.settings.unset(name)
    await desk.set()
    put_up(desk, Opening("1", "Python Engineer"))
    await desk.run(LISTING, {"url": URL})
    assert await desk.one("jobs_listings", "status") == ("unscored",)
    await desk.client.settings.set_many(sample)
    await desk.set(**EAGER)
    assert await rescore(desk) == {"judged": 1, "changed": {"unscored to matched": 1}}


async def test_the_filter_of_now_decides_both_ways(desk: Desk) -> None:
    await desk.set(**EAGER, filter__excluded_seniority=["senior"])
    put_up(desk, CLERK)
    await desk.run(LISTING, {"url": URL})
    assert await desk.one("jobs_listings", "status") == ("filtered",)
    await desk.set(filter__excluded_seniority=[])
    assert await rescore(desk, "lifted") == {"judged": 1, "changed": {"filtered to matched": 1}}
    await desk.set(filter__excluded_seniority=["senior"])
    assert await rescore(desk, "back") == {"judged": 1, "changed": {"matched to filtered": 1}}
    assert await desk.rows("jobs_matches", "listing_id") == []
    assert len(await desk.rows("jobs_verdicts", "listing_id")) == 2


async def test_what_a_stop_list_kept_from_being_read_is_offered_by_its_board_again(desk: Desk) -> None:
    await desk.set(**EAGER, stop__keywords=["python"])
    put_up(desk, Opening("1", "Python Engineer"), "https://careers.acme.example/jobs/python")
    await desk.run(LISTING, {"url": "https://careers.acme.example/jobs/python"})
    assert await desk.one("jobs_listings", "status") == ("filtered",)
    assert await rescore(desk, "still stopped") == {"judged": 1, "changed": {}}
    await desk.set(stop__keywords=[])
    assert await rescore(desk, "lifted") == {"judged": 1, "changed": {"filtered to refused": 1}}
    status, reason = await desk.one("jobs_listings", "status, reason")
    assert status == "refused"
    assert "read when its board shows it again" in reason


async def test_a_dry_run_says_what_would_change_and_why_and_writes_nothing(desk: Desk) -> None:
    await desk.set(**STRICT)
    put_up(desk, CLERK)
    await desk.run(LISTING, {"url": URL})
    await desk.set(**EAGER)
    rescoring = Rescoring(desk.client, await settings_in_force(desk.client))
    [change], after, judged = await rescoring.next("")
    assert (change.status, after, judged) == (("skipped", "matched"), None, 1)
    assert any("are needed, not 100" in reason for reason in change.reasons)
    assert await desk.one("jobs_listings", "status") == ("skipped",)


async def test_a_retry_judges_with_the_settings_of_now(desk: Desk) -> None:
    await desk.set(**STRICT)
    put_up(desk, CLERK)
    task = await desk.run(LISTING, {"url": URL})
    assert task.state == "skipped"
    await desk.set(filter__excluded_seniority=["senior"])
    await desk.client.revive([task.id], reason="a test")
    await drain(pipeline.app, desk.client)
    assert await desk.one("jobs_listings", "status") == ("filtered",)
    desk.clock.advance(1.0)
    await desk.set(**EAGER, filter__excluded_seniority=[])
    await desk.client.revive([task.id], reason="a test")
    await drain(pipeline.app, desk.client)
    assert await desk.one("jobs_listings", "status") == ("matched",)
    assert sorted(row[0] for row in await desk.rows("jobs_verdicts", "status")) == ["filtered", "skipped"]


async def test_listings_that_knew_a_company_by_name_alone_are_judged_again_after_the_look_at_it(desk: Desk) -> None:
    await desk.set(**EAGER, match__base=0, match__size_points={"large": 7})
    vendor = "https://jobs.boards.example/acme/1"
    put_up(desk, Opening("1", "Senior Python Engineer"), vendor)
    await desk.run(LISTING, {"url": vendor})
    assert await desk.one("jobs_listings", "company_id") == ("name:acme",)
    [(before,)] = await desk.rows("jobs_matches", "static_score")
    desk.world.company("Acme", "https://acme.example/", about="We are 12,000 employees. {name} builds ships. " * 5)
    assert (await desk.company()).state == "success"
    assert await desk.one("jobs_listings", "company_id, status") == ("acme.example", "matched")
    [(after,)] = await desk.rows("jobs_matches", "static_score")
    assert after > before


async def test_a_further_look_at_a_company_is_made_when_a_person_wants_it(desk: Desk) -> None:
    desk.world.company("Acme", "https://acme.example/")
    first = await desk.company()
    again = await desk.client.submit(COMPANY, {"website": "https://acme.example/", "name": "Acme"})
    assert (again.created, again.id) == (False, first.id)
    looked = await desk.company(again="now")
    assert (looked.state, looked.id == first.id) == ("success", False)
    assert len(await desk.rows("jobs_companies", "company_id")) == 1


@EITHER
async def test_companies_are_rated_by_the_settings_of_now_without_a_look_at_them(desk: Desk) -> None:
    await desk.set(**EAGER, match__base=0, match__size_points={"large": 7, "medium": 3}, match__tier_points={})
    desk.world.company("Acme", "https://acme.example/", about="We are 12,000 employees. {name} builds in Python. " * 5)
    put_up(desk, Opening("1", "Senior Python Engineer"))
    await desk.run(LISTING, {"url": URL})
    before = await desk.one("jobs_companies", "tier, company_size_category, priority_score")
    [(points,)] = await desk.rows("jobs_matches", "static_score")
    asked = len(desk.world.requests)
    await desk.set(company__size_large=50_000, company__tier_s=0, company__technology_points={"required": 31})
    rescoring = Rescoring(desk.client, await settings_in_force(desk.client))
    [change], _, _ = await rescoring.next("")
    assert [one.company_id for one in await rescoring.ratings()] == ["acme.example"]
    assert any("a large company" in reason for reason in change.reasons)
    assert await desk.one("jobs_companies", "tier, company_size_category, priority_score") == before
    told = {"judged": 1, "changed": {"still matched, scored otherwise": 1}, "companies": 1}
    assert await rescore(desk, "one") == told
    assert await desk.one("jobs_companies", "tier, company_size_category") == ("S", "medium")
    assert await desk.rows("jobs_matches", "static_score") == [(points - 4,)]
    assert await rescore(desk, "two") == {"judged": 1, "changed": {}}
    assert len(desk.world.requests) == asked
    await desk.set(
        company__size_large=10_000, company__tier_s=150, company__technology_points={"required": 20, "ok": 5}
    )
    assert await rescore(desk, "three") == told
    assert await desk.one("jobs_companies", "company_size_category") == ("large",)
    assert await desk.rows("jobs_matches", "static_score") == [(points,)]


@EITHER
async def test_a_record_of_an_older_version_keeps_its_tier(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company, "KEEP_SIGNALS", "DELETE FROM jobs_company_signals WHERE company_id = ? AND '' = ?")
    desk.world.company("Acme", "https://acme.example/")
    await desk.company()
    before = await desk.one("jobs_companies", "tier, priority_score")
    await desk.set(company__tier_s=0)
    assert await rescore(desk) == {"judged": 0, "changed": {}}
    assert await desk.one("jobs_companies", "tier, priority_score") == before
