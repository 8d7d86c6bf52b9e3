"""What was done is told once, to whoever did it, by the server: no address puts words into the dashboard's mouth."""

from __future__ import annotations

import re

import httpx

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from ramet.web.page import FLASH_SECONDS, LINE_CHARACTERS_MAX, SESSIONS_MAX, Flashes
from tests.web.in_process_client import visiting
from tests.web.test_actions import told_on

ADMIN, READ = "admin-token-of-the-test", "read-token-of-the-test"
SAID = "your session is over: go to evil.example"


async def act(visitor: httpx.AsyncClient, queue: str, back: str = "/queues") -> httpx.Response:
    """Pause a queue as a browser does it."""
    page = await visitor.get("/act/pause-queue", params={"queue": queue})
    csrf = page.text.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    form = {"queue": queue, "csrf": csrf, "back": back}
    return await visitor.post("/act/pause-queue", data=form, headers={"Origin": "http://localhost"})


async def test_what_was_done_is_told_by_the_next_page_and_by_none_after_it(on_file: Client) -> None:
    async with visiting(on_file) as visitor:
        done = await act(visitor, "<b>nightly</b>", "/queues?a=1")
        assert (done.status_code, done.headers["location"]) == (303, "/queues?a=1")
        assert (await visitor.head("/queues")).status_code == 200
        assert "told" not in (await visitor.get("/api/v1/queues")).text
        page = await visitor.get(done.headers["location"])
        assert told_on(page) == "paused queue <b>nightly</b>"
        assert "<b>nightly" not in page.text
        assert told_on(await visitor.get(done.headers["location"])) == ""


async def test_no_address_makes_the_dashboard_say_anything(on_file: Client) -> None:
    async with visiting(on_file) as visitor:
        for address in ("/", "/queues", "/act/pause-queue", "/no/such/page", "/tasks"):
            for name in ("told", "line", "words", "reason", "message"):
                page = await visitor.get(address, params={name: SAID})
                said = re.sub(r"<[^>]*>", " ", page.text)  # Its own address is in its links.
                assert "evil.example" not in said, (address, name)


async def test_nobody_else_is_told(on_file: Client) -> None:
    made = make_application(on_file, Access(ADMIN, READ))
    async with visiting(on_file, application=made) as one, visiting(on_file, application=made) as other:
        await one.post("/login", data={"token": ADMIN, "by": "ada"})
        await other.post("/login", data={"token": ADMIN, "by": "ada"})
        await act(one, "nightly")
        assert told_on(await other.get("/")) == ""
        assert told_on(await one.get("/", headers={"Cookie": "", "Authorization": f"Bearer {ADMIN}"})) == ""
        assert told_on(await one.get("/")) == "paused queue nightly"


def test_a_line_waits_for_a_minute_at_most_and_few_lines_wait() -> None:
    now = [0.0]
    flashes = Flashes(lambda: now[0])
    flashes.tell("one", "old")
    flashes.tell("one", "x" * 1_000)
    assert flashes.take("one") == "x" * LINE_CHARACTERS_MAX
    assert flashes.take("one") is None
    flashes.tell("", "to a machine")
    assert flashes.take("") is None
    flashes.tell("late", "done")
    now[0] = FLASH_SECONDS + 1
    assert flashes.take("late") is None
    flashes.tell("first", "done")
    for number in range(SESSIONS_MAX):
        flashes.tell(f"session {number}", "done")
    assert flashes.take("first") is None
    assert flashes.take("session 0") == "done"
