"""Sites and pages that do what they should not: how the task ends, what the record says, and what people read."""

from __future__ import annotations

import pytest

from ramet.jobs.kinds import COMPANY, LISTING, SOURCE_DISCOVERY
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.faults import (
    bomb,
    busy,
    cut_off,
    drip,
    empty_jsonld,
    garbled,
    hang,
    huge,
    redirect,
    trouble,
)
from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import posting_page
from tests.jobs.world.world import Action
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

both = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)
DAY = 86_400.0
DAY = 86_400.0
SITE = "https://acme.example/"
PAGE = "https://careers.acme.example/jobs/1"
INSIDE = (
    "http://10.0.0.1/", "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/",
    "http://192.168.1.1/admin", "http://0.0.0.0/", "http://2130706433/", "http://[::ffff:127.0.0.1]/",
    "http://localhost/", "http://[fe80::1]/", "file:///etc/passwd", "gopher://acme.example/",
)  # fmt: skip


@both
async def test_a_home_page_that_is_busy_is_looked_at_later_and_costs_no_attempt(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    await desk.set(run__busy_seconds=7_200)  # Not at the limit: while answers are slow the clock goes on.
    desk.world.behave(SITE, busy(120), busy(60, status=503))
    before = desk.clock.now()
    task = await desk.company()
    assert (task.state, task.attempts) == ("success", 1)
    assert desk.clock.now() - before >= 180
    assert await desk.one("jobs_companies", "status, completeness") == ("active", "good")


@pytest.mark.parametrize(
    "seconds", ["-1", "soon", "99999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT", "1e400", ""]
)
async def test_whatever_time_a_busy_server_names_the_task_comes_back(desk: Desk, seconds: str) -> None:
    await desk.set(run__busy_seconds=7_200)
    desk.world.company("Acme", SITE)
    desk.world.behave(SITE, busy(seconds))
    before = desk.clock.now()
    task = await desk.company()
    assert task.state == "success"
    assert desk.clock.now() - before <= 2 * 3_600


async def test_a_company_whose_pages_are_busy_for_ever_ends_and_says_so(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    for path in ("", "about", "about-us", "company", "careers"):
        desk.world.behave(SITE + path, busy(9), forever=True)
    before = desk.clock.now()
    task = await desk.company()
    assert (task.state, task.attempts) == ("failed", 1)
    assert "acme.example asks to come back in 9 s" in str(task.why)
    assert desk.clock.now() - before < 3_600


@pytest.mark.parametrize(
    ("play", "said"), [(trouble(), "status 500"), (cut_off(), ""), (garbled(), "")], ids=["500", "cut off", "garbled"]
)
async def test_a_site_in_trouble_is_tried_four_times_and_its_record_says_why(
    desk: Desk, play: Action, said: str
) -> None:
    desk.world.behave(SITE, play, forever=True)
    task = await desk.company()
    assert (task.state, task.attempts) == ("failed", 4)
    status, note = await desk.one("jobs_companies", "status, note")
    assert status == "failed"
    assert "acme.example" in note
    assert said in note
    desk.world.behave(SITE)
    desk.world.company("Acme", SITE)
    desk.clock.advance(DAY + 1)
    assert (await desk.company(again="1")).state == "success"


@pytest.mark.parametrize("play", [hang(), drip()], ids=["hangs", "drips"])
async def test_a_site_that_gives_no_whole_answer_is_given_up(desk: Desk, play: Action) -> None:
    await desk.set(fetch__answer_seconds=0.3)
    desk.world.behave(SITE, play, forever=True)
    task = await desk.company()
    desk.world.release()
    assert (task.state, task.attempts) == ("failed", 4)
    status, note = await desk.one("jobs_companies", "status, note")
    assert status == "failed"
    assert "no whole answer" in note


@pytest.mark.parametrize("target", INSIDE)
async def test_a_page_that_leads_into_this_network_is_refused_and_nothing_is_asked_there(
    desk: Desk, target: str
) -> None:
    for path in ("", "about", "about-us", "company", "careers"):
        desk.world.answer(SITE + path, redirect(target))
    task = await desk.company()
    assert (task.state, task.attempts) == ("failed", 1), task.reason
    assert {asked.host for asked in desk.world.requests} == {"acme.example"}
    [(status, note)] = await desk.rows("jobs_companies", "status, note")
    assert (status, note) == ("failed", task.reason)


@pytest.mark.parametrize("target", INSIDE)
async def test_a_posting_that_leads_into_this_network_is_unknown(desk: Desk, target: str) -> None:
    desk.world.answer(PAGE, redirect(target))
    task = await desk.run(LISTING, {"url": PAGE})
    assert (task.state, task.attempts) == ("failed", 1)
    assert {asked.host for asked in desk.world.requests} == {"careers.acme.example"}
    assert await desk.one("jobs_listings", "status, reason") == ("unknown", task.reason)


@pytest.mark.parametrize("target", INSIDE[:10])
async def test_an_address_within_this_network_is_refused_whoever_gives_it(desk: Desk, target: str) -> None:
    found = await desk.run(SOURCE_DISCOVERY, {"url": target})
    listed = await desk.run(LISTING, {"url": target})
    assert (found.state, listed.state) == ("failed", "failed")
    assert desk.world.requests == []
    assert await desk.one("jobs_listings", "status, reason") == ("unknown", listed.reason)


@pytest.mark.parametrize("play", [huge(50), bomb(50)], ids=["huge", "bomb"])
async def test_a_page_of_50_megabytes_is_not_read(desk: Desk, play: Action) -> None:
    desk.world.behave(PAGE, play, forever=True)
    task = await desk.run(LISTING, {"url": PAGE})
    assert (task.state, task.attempts) == ("failed", 1)
    status, reason = await desk.one("jobs_listings", "status, reason")
    assert (status, reason) == ("unknown", task.reason)
    assert "bytes" in reason or "larger" in reason


async def test_a_home_page_of_50_megabytes_hides_no_other_page(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    desk.world.behave(SITE, huge(50), forever=True)
    task = await desk.company()
    assert task.state == "success"
    assert (await desk.one("jobs_companies", "completeness"))[0] in ("good", "minimal")


async def test_an_empty_script_hides_nothing(desk: Desk) -> None:
    await desk.set(**EAGER)
    desk.world.answer(PAGE, empty_jsonld("Python Engineer"))
    task = await desk.run(LISTING, {"url": PAGE})
    assert task.state in ("success", "filtered", "skipped")
    assert (await desk.one("jobs_listings", "title"))[0] == "Python Engineer"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\x00" * 100_000, b"\xff\xfe" + b"\xd8\x00" * 5_000, b"<div>" * 100_000, b"<a " + b"x=1 " * 100_000,
        bytes(range(256)) * 400,
    ],
    ids=["empty", "nul", "halves", "deep", "attributes", "all bytes"],
)  # fmt: skip
async def test_a_page_that_is_no_page_is_no_posting(desk: Desk, body: bytes) -> None:
    desk.world.answer(PAGE, Reply(body))
    task = await desk.run(LISTING, {"url": PAGE})
    assert task.state in ("failed", "skipped", "filtered")
    status, reason = await desk.one("jobs_listings", "status, reason")
    assert status in ("unknown", "skipped", "filtered")
    assert reason == task.reason


async def test_a_company_page_that_links_to_ten_thousand_boards_starts_one(desk: Desk) -> None:
    board = desk.world.board("greenhouse", "acme", [Opening("1", "Engineer")], company="Acme")
    links = [f"https://boards.greenhouse.io/board{number}" for number in range(10_000)]
    desk.world.company("Acme", SITE, careers=f'<a href="{board.url}">Open positions</a>', links=links)
    task = await desk.company()
    assert task.state == "success"
    made = [found async for found in desk.client.all_tasks(tracking_id=task.tracking_id)]
    assert sum(found.kind == SOURCE_DISCOVERY for found in made) <= 1
    assert len(made) < 10


async def test_robots_that_forbid_are_kept_to(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    desk.world.page(PAGE, posting_page(Opening("1", "Engineer"), PAGE, "Acme"))
    for url in (SITE, PAGE):
        desk.world.robots(url, "User-agent: *\nDisallow: /\n")
    company = await desk.company()
    listed = await desk.run(LISTING, {"url": PAGE})
    assert (company.state, listed.state) == ("failed", "failed")
    assert "robots" in str(company.reason)
    assert "robots" in str(listed.reason)
    assert {asked.path for asked in desk.world.requests} == {"/robots.txt"}
    assert (await desk.one("jobs_companies", "status"))[0] == "failed"


async def test_robots_in_trouble_forbid_until_they_are_well(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    robots = f"{SITE}robots.txt"
    desk.world.behave(robots, trouble(), trouble(503))
    task = await desk.company()
    assert (task.state, task.attempts) == ("success", 3)
    desk.world.behave("https://other.example/robots.txt", trouble(), forever=True)
    desk.world.company("Other", "https://other.example/")
    task = await desk.company("https://other.example/", "Other")
    assert (task.state, task.attempts) == ("failed", 4)
    assert {asked.path for asked in desk.world.asked("https://other.example")} == {"/robots.txt"}


async def test_robots_that_redirect_for_ever_or_are_50_megabytes_harm_nobody(desk: Desk) -> None:
    desk.world.company("Acme", SITE)
    desk.world.behave(f"{SITE}robots.txt", redirect(f"{SITE}robots.txt"), forever=True)
    assert (await desk.company()).state == "success"
    desk.world.company("Other", "https://other.example/")
    desk.world.behave("https://other.example/robots.txt", huge(50), forever=True)
    assert (await desk.company("https://other.example/", "Other")).state == "success"


async def test_a_circle_of_redirects_ends(desk: Desk) -> None:
    desk.world.answer(PAGE, redirect(f"{PAGE}?again"))
    desk.world.answer(f"{PAGE}?again", redirect(PAGE))
    task = await desk.run(LISTING, {"url": PAGE})
    assert (task.state, task.attempts) == ("failed", 1)
    assert "redirects" in str(task.reason)


async def test_a_stopped_host_is_asked_for_nothing(desk: Desk) -> None:
    await desk.set(stop__domains=["acme.example"])
    desk.world.company("Acme", SITE)
    listed = await desk.run(LISTING, {"url": PAGE})
    company = await desk.run(COMPANY, {"website": SITE, "name": "Acme"})
    found = await desk.run(SOURCE_DISCOVERY, {"url": f"{SITE}careers"})
    assert (listed.state, company.state, found.state) == ("filtered", "skipped", "failed")
    for task in (listed, company, found):
        assert "stop list: domain acme.example" in str(task.reason)
    assert desk.world.requests == []
    assert await desk.one("jobs_listings", "status, reason") == ("filtered", listed.reason)


async def test_a_redirect_to_a_stopped_host_is_not_followed(desk: Desk) -> None:
    await desk.set(stop__domains=["tracker.example"])
    desk.world.answer(PAGE, redirect("https://tracker.example/jobs/1"))
    desk.world.page("https://tracker.example/jobs/1", posting_page(Opening("1", "Engineer"), PAGE, "Acme"))
    task = await desk.run(LISTING, {"url": PAGE})
    assert task.state == "failed"
    assert "stop list: domain tracker.example" in str(task.reason)
    assert not desk.world.asked("https://tracker.example")


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "not an address", "", "https://", "\x1b[2J"],
)  # fmt: skip
async def test_what_is_no_address_is_a_listing_that_says_so(desk: Desk, url: str) -> None:
    task = await desk.run(LISTING, {"url": url})
    assert (task.state, task.attempts) == ("failed", 1)
    assert desk.world.requests == []
    assert await desk.one("jobs_listings", "status, reason") == ("unknown", task.reason)


async def test_a_password_in_an_address_is_neither_kept_nor_sent(desk: Desk) -> None:
    await desk.set(**EAGER)
    desk.world.page(PAGE, posting_page(Opening("1", "Engineer"), PAGE, "Acme"))
    task = await desk.run(LISTING, {"url": PAGE.replace("https://", "https://jane:secret@")})
    for listing_id, url in await desk.rows("jobs_listings", "listing_id, url"):
        assert "secret" not in listing_id + url
    assert "secret" not in str(task.reason)
    assert all("authorization" not in asked.headers for asked in desk.world.requests)
