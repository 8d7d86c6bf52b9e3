"""One question, one answer: methods, headers, sizes, and where redirects may lead."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest

from ramet.fetch.addresses import AddressRefused, WebError
from ramet.fetch.client import (
    AnswerTooLarge,
    HttpRequest,
    ServerTrouble,
    WebClient,
    WebRefused,
    redirected,
)
from ramet.fetch.host_map import HostMap
from tests.fetch.hostile_server import Hostile, answers, bomb, head, sends_to, streams

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [wiki] or [jobs] is not installed")


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as server:
        yield server


@pytest.fixture
async def client(server: Hostile) -> AsyncIterator[WebClient]:
    """It may connect to public addresses, and to the server by any name on port 80."""
    mapped = HostMap.parse(f"*:80=127.0.0.1:{server.port}", "test")
    client = WebClient(user_agent="tests", extra="'ramet[jobs]'", mapped=mapped)
    yield client
    await client.close()


async def test_a_body_is_posted_with_its_headers(server: Hostile, client: WebClient) -> None:
    server.play = answers({"ok": True}, 201)
    headers = {"Content-Type": "application/json", "accept": "application/json"}
    answer = await client.send(HttpRequest("http://board.example/jobs?a=b", "POST", b'{"limit":20}', headers))
    assert (answer.status, answer.body) == (201, b'{"ok": true}')
    [asked] = server.requests
    assert (asked.method, asked.target) == ("POST", "/jobs?a=b")
    assert asked.headers["content-length"] == "12"
    assert asked.headers["accept"] == "application/json"
    assert asked.headers["host"] == "board.example"


async def test_a_redirect_is_an_answer(server: Hostile, client: WebClient) -> None:
    server.play = sends_to("https://elsewhere.example/", 307)
    answer = await client.send(HttpRequest("http://board.example/"))
    assert (answer.status, answer.headers["location"]) == (307, "https://elsewhere.example/")


async def test_a_number_is_judged_though_every_name_is_mapped(server: Hostile, client: WebClient) -> None:
    for host in ("127.0.0.1", "[::1]", "2130706433", "localhost"):
        with pytest.raises(AddressRefused):
            await client.send(HttpRequest(f"http://{host}/"))
    assert server.requests == []


async def test_a_size_can_be_an_error_or_the_end(server: Hostile, client: WebClient) -> None:
    server.play = streams(itertools.repeat(b"x" * 65_536), head())
    with pytest.raises(AnswerTooLarge, match="more than 1,000 bytes"):
        await client.send(HttpRequest("http://a.example/", bytes_max=1_000))
    cut = await client.send(HttpRequest("http://a.example/", bytes_max=1_000, cut=True))
    assert cut.body == b"x" * 1_000
    server.play = answers(bomb(10), Content_Encoding="gzip")
    assert len((await client.send(HttpRequest("http://a.example/", bytes_max=1_000, cut=True))).body) == 1_000


async def test_a_question_has_a_time_of_its_own(server: Hostile, client: WebClient) -> None:
    server.play = streams(itertools.repeat(b"x"), head(), pause_seconds=0.02)
    with pytest.raises(ServerTrouble, match=r"no whole answer in 0\.2 s"):
        await client.send(HttpRequest("http://a.example/", seconds=0.2))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "b.example"),
        ("content-length", "3"),
        ("X-A\r\nX-B", "1"),
        ("X-A", "1\r\nX-B: 2"),
        ("X-A", "ä"),
        ("", "x"),
    ],
)
async def test_headers_cannot_break_out(server: Hostile, client: WebClient, name: str, value: str) -> None:
    with pytest.raises(WebError, match="is not a header"):
        await client.send(HttpRequest("http://a.example/", headers={name: value}))
    assert server.requests == []


@pytest.mark.parametrize(
    ("url", "location", "target"),
    [
        ("https://a.example/x/y", "../z", "https://a.example/z"),
        ("https://a.example/", "https://b.example:8443/x#y", "https://b.example:8443/x"),
        ("http://a.example/", "https://b.example/", "https://b.example/"),
        ("http://a.example/", "http://b.example/", "http://b.example/"),
    ],
)
def test_redirects_may_lead_to_other_hosts(url: str, location: str, target: str) -> None:
    assert redirected(url, location, elsewhere=True) == target


@pytest.mark.parametrize("location", ["http://a.example/", "", "ftp://b.example/", "https://u:p@b.example/", "//[::1"])
def test_redirects_never_lead_to_plain_text_or_nowhere(location: str) -> None:
    with pytest.raises((WebRefused, WebError)):
        redirected("https://a.example/", location, elsewhere=True)
