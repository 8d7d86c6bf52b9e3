"""The fetcher against a web that means well."""

from __future__ import annotations

import gzip
import json

import pytest

from ramet.commands.errors import UserError
from ramet.fetch.decoding import accepted
from ramet.fetch.errors import Gone, Refused, Trouble
from ramet.fetch.messages import Request
from ramet.jobs.app import CONNECT_VARIABLE, fetchers
from ramet.jobs.settings import FetchSettings
from tests.jobs.world.faults import redirect, trouble
from tests.jobs.world.messages import JSON, Reply, html
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [jobs] is not installed")
pytest.importorskip("protego", reason="the extra [jobs] is not installed")

SITE = "https://acme.example"
URL = f"{SITE}/careers"
MAX = 1_000_000


async def test_a_page_comes_as_it_is(world: World) -> None:
    world.page(URL, "<h1>Zürich</h1>")
    answer = await fetchers.here().fetch(URL, bytes_max=MAX)
    assert (answer.url, answer.status, answer.text) == (URL, 200, "<h1>Zürich</h1>")
    [asked] = world.requests
    assert (asked.host, asked.headers["user-agent"]) == ("acme.example", "ramet-jobs")
    assert (asked.headers["accept-encoding"], asked.headers["accept-language"]) == (accepted(), "en, *;q=0.5")
    assert "cookie" not in asked.headers


async def test_what_is_packed_is_unpacked(world: World) -> None:
    packed = gzip.compress(b'{"jobs": []}')
    world.answer(URL, Reply(packed, media_type=JSON, headers={"Content-Encoding": "gzip"}))
    answer = await fetchers.here().fetch(URL, bytes_max=MAX)
    assert (answer.body, answer.media_type) == (b'{"jobs": []}', JSON)


async def test_a_board_is_asked_by_post(world: World) -> None:
    board = world.board("workday", "acme", made_up(25))
    body = json.dumps({"limit": 20, "offset": 20, "searchText": "", "appliedFacets": {}}).encode()
    request = Request(board.list_url, "POST", body, {"Content-Type": "application/json", "Accept": "application/json"})
    answer = await fetchers.here().fetch(request, bytes_max=MAX)
    assert len(json.loads(answer.body)["jobPostings"]) == 5
    assert world.requests[0].headers["content-type"] == "application/json"


async def test_a_user_agent_is_a_setting(world: World) -> None:
    world.page(URL, "")
    await fetchers.here().fetch(URL, bytes_max=MAX, settings=FetchSettings(user_agent="finder/2 (me@x.example)"))
    assert world.requests[0].headers["user-agent"] == "finder/2 (me@x.example)"


async def test_what_has_not_changed_is_not_sent_again(world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(3))
    first = await fetchers.here().fetch(board.list_url, bytes_max=MAX)
    again = await fetchers.here().fetch(board.list_url, bytes_max=MAX, validators=first.validators)
    assert (first.unchanged, again.unchanged, again.body) == (False, True, b"")
    world.board("greenhouse", "acme", made_up(4))
    changed = await fetchers.here().fetch(board.list_url, bytes_max=MAX, validators=first.validators)
    assert not changed.unchanged
    assert changed.validators != first.validators


async def test_a_date_is_a_validator_too(world: World) -> None:
    date = "Tue, 10 Nov 2026 10:00:00 GMT"
    world.page(URL, "old", Last_Modified=date)
    first = await fetchers.here().fetch(URL, bytes_max=MAX)
    assert first.validators == {"last_modified": date}
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, validators=first.validators)).unchanged
    assert world.requests[1].headers["if-modified-since"] == date


async def test_nothing_changed_is_no_answer_to_a_question_without_validators(world: World) -> None:
    world.answer(URL, Reply(status=304))
    with pytest.raises(Trouble, match="not asked for that"):
        await fetchers.here().fetch(URL, bytes_max=MAX)


async def test_redirects_lead_to_other_hosts_and_carry_validators(world: World) -> None:
    world.answer("http://acme.example/jobs", redirect("https://www.acme.example/jobs", 301))
    world.answer("https://www.acme.example/jobs", redirect("https://jobs.lever.co/acme", 308))
    world.page("https://jobs.lever.co/acme", "<h1>Acme</h1>", etag=True)
    first = await fetchers.here().fetch("http://acme.example/jobs", bytes_max=MAX)
    assert (first.url, first.text) == ("https://jobs.lever.co/acme", "<h1>Acme</h1>")
    again = await fetchers.here().fetch("http://acme.example/jobs", bytes_max=MAX, validators=first.validators)
    assert again.unchanged
    assert [asked.host for asked in world.requests] == ["acme.example", "www.acme.example", "jobs.lever.co"] * 2


async def test_each_host_on_the_way_is_told_before_it_is_asked(world: World) -> None:
    told = []

    async def before(url: str) -> None:
        told.append((url, len(world.requests)))

    world.answer(URL, redirect("https://b.example/x"))
    world.page("https://b.example/x", "there")
    await fetchers.here().fetch(URL, bytes_max=MAX, before=before)
    assert told == [("https://b.example/x", 1)]


async def test_what_was_posted_is_not_redirected(world: World) -> None:
    for status in (302, 303, 307, 308):
        world.answer(URL, redirect("https://b.example/", status))
        with pytest.raises(Refused, match="redirects what was posted"):
            await fetchers.here().fetch(Request(URL, "POST", b"{}"), bytes_max=MAX)
    assert {asked.host for asked in world.requests} == {"acme.example"}


async def test_a_ring_of_redirects_ends(world: World) -> None:
    world.answer(URL, redirect("/a"))
    world.answer(f"{SITE}/a", redirect("/careers"))
    with pytest.raises(Refused, match="more than 5 redirects"):
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert len(world.requests) == 6


async def test_robots_are_kept_to_for_pages_and_asked_for_once(world: World) -> None:
    world.robots(SITE, "User-agent: *\nDisallow: /private\nCrawl-delay: 3")
    for path in ("/careers", "/private/jobs", "/about"):
        world.page(f"{SITE}{path}", path)
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)).text == "/careers"
    with pytest.raises(Refused, match=r"robots\.txt"):
        await fetchers.here().fetch(f"{SITE}/private/jobs", bytes_max=MAX, robots=True)
    await fetchers.here().fetch(f"{SITE}/about", bytes_max=MAX, robots=True)
    assert [asked.path for asked in world.requests] == ["/robots.txt", "/careers", "/about"]
    assert (await fetchers.here().rules(URL)).crawl_delay == 3.0
    # A board's interface is there to be read by programs.
    assert (await fetchers.here().fetch(f"{SITE}/private/jobs", bytes_max=MAX)).status == 200


async def test_robots_hold_where_a_redirect_leads(world: World) -> None:
    world.robots("https://b.example", "User-agent: ramet-jobs\nDisallow: /")
    world.answer(URL, redirect("https://b.example/x"))
    with pytest.raises(Refused, match=r"b\.example/x is not for robots"):
        await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)
    assert [asked.path for asked in world.asked("https://b.example")] == ["/robots.txt"]


async def test_robots_with_a_byte_order_mark_are_read_from_their_first_line(world: World) -> None:
    world.robots(SITE, "\ufeffUser-agent: *\r\nDisallow: /")
    with pytest.raises(Refused, match=r"robots\.txt"):
        await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_without_robots_everything_is_allowed(world: World, status: int) -> None:
    world.page(URL, "there")
    world.robots(SITE, "", status)
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)).text == "there"


async def test_robots_may_be_elsewhere_but_not_nowhere(world: World) -> None:
    world.page(URL, "there")
    world.answer(f"{SITE}/robots.txt", redirect("https://www.acme.example/robots.txt"))
    world.robots("https://www.acme.example", "User-agent: *\nDisallow: /careers")
    with pytest.raises(Refused, match=r"robots\.txt"):
        await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)
    await fetchers.close()
    world.answer(f"{SITE}/robots.txt", redirect("/robots.txt"))
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)).text == "there"


async def test_a_host_whose_robots_cannot_be_had_is_left_alone(world: World) -> None:
    world.page(URL, "there")
    world.behave(f"{SITE}/robots.txt", trouble(500))
    with pytest.raises(Trouble, match="500"):
        await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)
    assert world.asked(URL) == []
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)).text == "there"


async def test_a_page_says_in_what_it_is_written(world: World) -> None:
    page = '<meta charset="windows-1251"><p>Москва'
    world.answer(URL, Reply(page.encode("cp1251"), media_type="text/html"))
    assert (await fetchers.here().fetch(URL, bytes_max=MAX)).text == page


async def test_walls_are_told_by_their_status(world: World) -> None:
    world.answer(URL, html("Just a moment", 202))
    assert (await fetchers.here().fetch(URL, bytes_max=MAX)).status == 202
    world.answer(URL, html("Who are you?", 403))
    with pytest.raises(Refused) as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert (raised.value.status, raised.value.url) == (403, URL)
    world.remove(URL)
    with pytest.raises(Gone, match="404"):
        await fetchers.here().fetch(URL, bytes_max=MAX)


async def test_there_is_one_fetcher_in_a_loop_and_a_new_one_after_the_end(world: World) -> None:
    world.page(URL, "")
    first = fetchers.here()
    assert fetchers.here() is first
    await first.fetch(URL, bytes_max=MAX)
    await fetchers.close()
    assert fetchers.here() is not first
    assert (await fetchers.here().fetch(URL, bytes_max=MAX)).status == 200


async def test_a_mapping_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECT_VARIABLE, "nonsense")
    with pytest.raises(UserError, match=f"{CONNECT_VARIABLE} has 'nonsense'"):
        fetchers.here()
