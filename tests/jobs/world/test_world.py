"""The world answers under the boards' real names, as the boards do."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.jobs.corpus import corpus_file
from tests.jobs.world.faults import busy, cut_off, hang
from tests.jobs.world.openings import made_up, varied
from tests.jobs.world.process import world_process
from tests.jobs.world.world import MAKERS, World

pytestmark = [pytest.mark.network, pytest.mark.process]


class Said(NamedTuple):
    """An answer, as a plain client reads it."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def said(world: dict[str, str], url: str, body: bytes = b"", **headers: str) -> Said:
    """Ask by hand: connect where the environment leads, with the name of the host in TLS and header."""
    parts = urlsplit(url)
    rules = dict(rule.split("=") for rule in world["RAMET_JOBS_CONNECT"].split(","))
    tls = ssl.create_default_context(cafile=world["SSL_CERT_FILE"]) if parts.scheme == "https" else None
    address, _, port = rules["*:80" if tls is None else "*"].partition(":")
    reader, writer = await asyncio.open_connection(
        address, int(port), ssl=tls, server_hostname=parts.hostname if tls else None
    )
    stated = {"Host": parts.netloc, "Connection": "close", "Content-Length": str(len(body)), **headers}
    lines = [f"{'POST' if body else 'GET'} {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in stated.items()]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        first, *more = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        named = {name.lower(): value for name, value in (line.split(": ", 1) for line in more if line)}
        content = await reader.readexactly(int(named["content-length"]))
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return Said(int(first.split(" ")[1]), named, content)


@pytest.mark.parametrize("kind", sorted(MAKERS))
async def test_every_board_has_its_list_and_a_page_for_each_opening(world: World, kind: str) -> None:
    token = "https://ferries.example/jobs.rss" if kind == "rss" else "acme"
    board = world.board(kind, token, made_up(3))
    asked = b"{}" if kind in {"workday", "workable_v3"} else b""
    query = "?mode=json" if kind == "lever" else ""
    listed = await said(world.environment(), board.list_url + query, asked)
    assert listed.status == 200
    for opening in made_up(3):
        assert opening.title.encode() in listed.body
        page = await said(world.environment(), board.urls[opening.id])
        assert page.status == 200
        assert kind == "workday" or opening.title.encode() in page.body
    assert (await said(world.environment(), board.url)).status == 200


async def test_a_lever_board_is_read_by_pages(world: World) -> None:
    board = world.board("lever", "acme", varied(made_up(60), 250))
    sizes = []
    for skip in (0, 100, 200, 300):
        answer = await said(world.environment(), f"{board.list_url}?mode=json&skip={skip}&limit=100")
        sizes.append(len(answer.json()))
    assert sizes == [100, 100, 50, 0]
    assert (await said(world.environment(), board.list_url)).headers["content-type"].startswith("text/html")


async def test_workday_has_its_ways(world: World) -> None:
    board = world.board("workday", "acme", made_up(25), wd=5, site="Jobs")
    url = "https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/Jobs"
    assert board.list_url == f"{url}/jobs"
    pages = [
        (await said(world.environment(), f"{url}/jobs", b'{"limit":20,"offset":%d}' % at)).json() for at in (0, 20)
    ]
    assert [(page["total"], len(page["jobPostings"])) for page in pages] == [(25, 20), (0, 5)]
    assert (await said(world.environment(), f"{url}/jobs", b'{"limit":50}')).status == 400
    detail = await said(world.environment(), url + pages[0]["jobPostings"][0]["externalPath"])
    assert "Requirements" in detail.json()["jobPostingInfo"]["jobDescription"]


async def test_a_recorded_payload_is_answered_as_it_is(world: World) -> None:
    path = corpus_file("payloads/greenhouse_amplitude.json")
    board = world.board("greenhouse", "amplitude", recorded=path)
    assert (await said(world.environment(), f"{board.list_url}?content=true")).body == path.read_bytes()


async def test_what_has_not_changed_is_not_sent_again(world: World) -> None:
    board = world.board("greenhouse", "acme", made_up(1))
    first = await said(world.environment(), board.list_url)
    again = await said(world.environment(), board.list_url, If_None_Match=first.headers["etag"])
    assert (first.status, again.status, again.body) == (200, 304, b"")


async def test_behaviours_come_one_after_the_other(world: World) -> None:
    world.page("http://acme.example/", "<p>home</p>")
    world.behave("http://acme.example/", busy(7), busy("Tue, 24 Nov 2026 10:00:00 GMT", 503))
    answers = [await said(world.environment(), "http://acme.example/") for _ in range(3)]
    assert [answer.status for answer in answers] == [429, 503, 200]
    assert answers[0].headers["retry-after"] == "7"
    assert len(world.asked("http://acme.example")) == 3
    world.behave("http://acme.example/", busy(1), forever=True)
    assert [(await said(world.environment(), "http://acme.example/")).status for _ in range(3)] == [429, 429, 429]


async def test_a_line_that_breaks_and_one_that_hangs(world: World) -> None:
    world.behave("https://acme.example/", cut_off(), hang())
    with pytest.raises(asyncio.IncompleteReadError):
        await said(world.environment(), "https://acme.example/")
    waiting = asyncio.ensure_future(said(world.environment(), "https://acme.example/"))
    await asyncio.to_thread(world.wait_until_asked, "https://acme.example", 2)
    assert not waiting.done()
    world.release()
    with pytest.raises(asyncio.IncompleteReadError):
        await waiting


async def test_a_company_has_pages_that_lead_to_its_board(world: World) -> None:
    careers = world.company("Acme", "https://acme.example/", careers='<a href="https://jobs.lever.co/acme">Jobs</a>')
    world.robots("https://acme.example", "User-agent: *\nDisallow: /private")
    assert b"jobs.lever.co/acme" in (await said(world.environment(), careers)).body
    assert b"Organization" in (await said(world.environment(), "https://acme.example")).body
    assert b"Disallow" in (await said(world.environment(), "https://acme.example/robots.txt")).body
    assert (await said(world.environment(), "https://acme.example/nowhere")).status == 404


async def test_the_world_has_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "asked.jsonl"
    with world_process("--lever", "acme:150", "--build", f"{__name__}:build", "--log", str(log)) as environment:
        answer = await said(environment, "https://api.lever.co/v0/postings/acme?mode=json&skip=100&limit=100")
        assert (await said(environment, "https://built.example/")).body == b"built"
    assert len(answer.json()) == 50
    assert len({row["id"] for row in answer.json()}) == 50
    assert [json.loads(line)["method"] for line in log.read_text().splitlines()] == ["GET", "GET"]


def build(world: World) -> None:
    world.page("https://built.example/", "built")


async def test_real_texts_stand_on_a_board() -> None:
    path = corpus_file("listings/listings_dev.jsonl")
    with world_process("--lever", f"acme:61:{path}") as environment:
        rows = (await said(environment, "https://api.lever.co/v0/postings/acme?mode=json")).json()
    assert len({row["id"] for row in rows}) == len({row["descriptionPlain"] for row in rows}) == 61
    assert rows[60]["text"] == rows[0]["text"] + " (1)"
