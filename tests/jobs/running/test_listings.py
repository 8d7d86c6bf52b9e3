"""A listing's four stages, and each of its ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.jobs import matches, pipeline
from ramet.jobs.commands.why import find_listings, why_of
from ramet.jobs.kinds import LISTING
from ramet.jobs.records import MATCHES
from ramet.model.importing import Rules
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import trouble
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import posting_page

pytestmark = pytest.mark.network

URL = "https://careers.acme.example/jobs/1"


def put_up(desk: Desk, opening: Opening, url: str = URL) -> None:
    desk.world.page(url, posting_page(opening, url, "Acme"))


async def test_an_address_alone_is_fetched_read_and_scored(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk, Opening("1", "Senior Python Engineer", salary=(150_000, 180_000, "USD")))
    task = await desk.run(LISTING, {"url": URL})
    assert task.state == "success"
    row = await desk.one("jobs_listings", "title, company, location, salary_min, salary_max, status, quality")
    assert row == ("Senior Python Engineer", "Acme", "Portland, OR", 150_000, 180_000, "matched", "good")
    score, static, priority, adjustments = await desk.one(
        "jobs_matches", "match_score, static_score, application_priority, adjustments"
    )
    assert score == task.result["match_score"]
    assert priority in ("High", "Medium", "Low")
    assert all({"category", "reason", "points"} <= item.keys() for item in json.loads(adjustments))
    assert static <= 100


async def test_a_filtered_listing_keeps_every_reason(desk: Desk) -> None:
    await desk.set(filter__excluded_seniority=["junior"])
    put_up(desk, Opening("1", "Junior Python Engineer"))
    task = await desk.run(LISTING, {"url": URL})
    assert task.state == "filtered"
    status, result, reason = await desk.one("jobs_listings", "status, filter_result, reason")
    assert status == "filtered"
    [rejection] = json.loads(result)["hard_rejections"]
    assert rejection["filter_name"] == "excluded_seniority"
    assert reason == task.reason
    assert await desk.rows("jobs_matches", "listing_id") == []


async def test_below_the_threshold_it_is_skipped_with_its_score_kept(desk: Desk) -> None:
    await desk.set(match__min_score=100, match__preferred_office_min_score=100)
    put_up(
        desk, Opening("1", "Baker", text="We bake bread, every night, and look for somebody who does it with us. " * 3)
    )
    task = await desk.run(LISTING, {"url": URL})
    assert task.state == "skipped"
    status, score = await desk.one("jobs_listings", "status, score")
    assert status == "skipped"
    assert json.loads(score)["adjustments"]


async def test_a_page_that_cannot_be_fetched_leaves_a_record_as_unknown(desk: Desk) -> None:
    desk.world.behave(URL, trouble(), forever=True)
    task = await desk.run(LISTING, {"url": URL})
    assert (task.state, task.attempts) == ("failed", 4)
    status, url, reason = await desk.one("jobs_listings", "status, url, reason")
    assert (status, url) == ("unknown", URL)
    assert reason


async def test_the_same_address_in_other_words_is_the_same_listing(desk: Desk) -> None:
    await desk.set(**EAGER)
    put_up(desk, Opening("1", "Python Engineer"))
    first = await desk.run(LISTING, {"url": URL})
    again = await desk.client.submit(LISTING, {"url": f"{URL}?utm_source=mail&gh_src=x#apply"})
    assert (again.created, again.id) == (False, first.id)


async def test_one_opening_on_two_boards_is_one_match(desk: Desk) -> None:
    await desk.set(**EAGER)
    opening = Opening("7", "Python Engineer")
    for kind in ("greenhouse", "ashby"):
        board = desk.world.board(kind, "acme", [opening], company="Acme")
        await desk.discover(board.url, approved=True, company_name="Acme")
    # Each is judged by itself, whatever came first; they are folded when they are read.
    assert await desk.rows("jobs_listings", "status, same_as IS NULL") == [("matched", 1), ("matched", 1)]
    [one] = await matches(desk.client, now=desk.clock.now())
    urls = [one.match.url, *(other.url for other in one.others)]
    assert urls == sorted(urls)
    assert len(urls) == 2
    [(tracking_id,)] = set(await desk.rows("jobs_matches", "tracking_id", "listing_id LIKE '%greenhouse%'"))
    assert await desk.client.read(MATCHES, (tracking_id, 0.0)) == [(1,)]


async def test_equal_openings_with_numbers_of_their_own_on_one_board_are_two(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("ashby", "acme", [Opening("a", "Engineer"), Opening("b", "Engineer")], company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert len(await desk.rows("jobs_matches", "listing_id")) == 2


async def test_an_unknown_company_is_asked_for_once(desk: Desk) -> None:
    await desk.set(**EAGER)
    desk.world.company("Acme", "https://acme.example/")
    for number in ("1", "2", "3"):
        url = f"https://careers.acme.example/jobs/{number}"
        put_up(desk, Opening(number, f"Python Engineer {number}"), url)
    roots = [(LISTING, {"url": f"https://careers.acme.example/jobs/{number}"}) for number in ("1", "2", "3")]
    from ramet.jobs import pipeline
    from ramet.testing import drain

    made = await desk.client.submit_many(roots, one_lineage=True)
    await drain(pipeline.app, desk.client)
    counts = await desk.client.counts(made[0].tracking_id)
    assert sum(row.tasks for row in counts if row.kind == "COMPANY") == 1
    assert await desk.one("jobs_companies", "company_id, completeness") == ("acme.example", "good")
    assert len({row[0] for row in await desk.rows("jobs_listings", "company_id")}) == 1


async def test_what_nobody_could_score_is_met_again_once_there_is_a_profile(desk: Desk) -> None:
    sample = {name.name: name.value for name in await desk.client.settings.all() if name.stored}
    for name in sample:
        await desk.client.settings.unset(name)
    await desk.set()
    board = desk.world.board("greenhouse", "acme", [Opening("1", "Python Engineer")], company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    status, reason = await desk.one("jobs_listings", "status, reason")
    assert status == "unscored"
    assert "jobs init" in reason
    await desk.client.settings.set_many(sample)
    await desk.set(**EAGER)
    desk.world.board(
        "greenhouse", "acme", [Opening("1", "Python Engineer"), Opening("2", "Go Engineer")], company="Acme"
    )
    await desk.scrape("greenhouse:acme")
    assert await desk.listings() == {"Python Engineer": "matched", "Go Engineer": "matched"}


async def test_when_two_texts_are_nearly_one_is_a_setting(desk: Desk) -> None:
    await desk.set(**EAGER)
    text = "We write software for bakeries and look for somebody who likes both bread and code. " * 4
    other = "https://careers.acme.example/jobs/2"
    put_up(desk, Opening("1", "Python Engineer", text=text))
    put_up(
        desk,
        Opening("2", "Cobol Engineer", text=text + "Bread is free for all, and so are the evenings and weekends. "),
        other,
    )
    for url in (URL, other):
        await desk.run(LISTING, {"url": url})
    [listing] = await find_listings(desk.client, URL)

    async def near() -> list[str]:
        return [one.listing_id for one in (await why_of(desk.client, listing)).near]

    await desk.set(listing__near_bits=32)
    assert await near() == [other]
    await desk.set(listing__near_bits=0)
    assert await near() == []
    await desk.set(listing__near_text_min=100_000)
    put_up(desk, Opening("3", "Perl Engineer", text=text), f"{other}3")
    await desk.run(LISTING, {"url": f"{other}3"})
    assert await desk.one("jobs_listings", "text_hash", "title = 'Perl Engineer'") == (0,)


async def test_what_another_job_finder_has_read_is_not_fetched_again(desk: Desk, tmp_path: Path) -> None:
    await desk.set(**EAGER)
    text = "We build warehouses' software in Python and PostgreSQL, and look for somebody to lead it. " * 4
    theirs = {
        "job_data": {"title": "Senior Python Engineer", "company": "Acme", "location": "Portland, OR",
                     "description": text, "salary": 7},
        "filter_result": {"passed": True},
    }  # fmt: skip
    odd = {"job_data": {"title": ["no"]}, "match_result": None}
    rows = [
        {"id": "read", "type": "job", "url": URL, "status": "processing", "pipeline_state": theirs},
        {"id": "odd", "type": "job", "url": f"{URL}0", "pipeline_stage": "save", "pipeline_state": odd},
    ]
    path = tmp_path / "queue.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    rules = Rules(kinds=pipeline.app.import_kinds, takeovers=pipeline.app.import_states)
    source = ImportSource(path, "jsonl", rules=rules, strict=True)
    put_up(desk, Opening("2", "Baker"), f"{URL}0")
    await Importer(source, pipeline.app.registry, pipeline.app.limits).fill(desk.client.store, "tester")
    await drain(pipeline.app, desk.client)
    assert [task.state for task in await asyncio.gather(desk.client.get("read"), desk.client.get("odd")) if task] == [
        "success", "success",
    ]  # fmt: skip
    row = await desk.one("jobs_listings", "title, company, location, description, status", "title <> 'Baker'")
    assert row == ("Senior Python Engineer", "Acme", "Portland, OR", text.strip(), "matched")
    assert (desk.world.asked(URL), len(desk.world.asked(f"{URL}0"))) == ([], 1)


async def test_what_rules_drop_ends_in_one_transaction_and_what_fits_stage_by_stage(desk: Desk) -> None:
    await desk.set(match__min_score=40, match__preferred_office_min_score=40, filter__excluded_seniority=["junior"])
    await desk.set(profile__titles=["python"], match__title_penalty=90)
    titles = ("Junior Python Engineer", "Baker", "Senior Python Engineer")
    some = [Opening(str(at), title, text=f"Number {at}. Python.") for at, title in enumerate(titles)]
    board = desk.world.board("greenhouse", "acme", some, company="Acme")
    await desk.discover(board.url, approved=True, company_name="Acme")
    listings = await desk.listings()
    assert (listings["Baker"], listings["Senior Python Engineer"]) == ("skipped", "matched")
    kept = await desk.client.read(
        "SELECT t.key FROM ramet_checkpoints c JOIN ramet_tasks t ON t.seq = c.seq WHERE t.kind = 'LISTING'"
    )
    assert len(kept) == 1
    reason, facts, company = await desk.one("jobs_listings", "reason, facts, company_id", "title = 'Baker'")
    assert reason.startswith("score ")
    assert "python" in facts
    assert company == "name:acme"
