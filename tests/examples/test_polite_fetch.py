"""What newcomers copy out of `examples/polite_crawl.py` is safe: time, size, redirects and addresses are bounded."""

from __future__ import annotations

import asyncio
import socket
from itertools import repeat
from typing import Any

import pytest

from examples import polite_crawl
from examples.polite_crawl import HEAD_BYTES_MAX, Streams, connect_to_the_internet, fetch
from ramet import Permanent, Transient
from tests.fetch.hostile_server import HOST, Hostile, Play, answers, head, sends_to, streams

URL = "http://site.example/page"


async def fetched(play: Play, url: str = URL) -> tuple[polite_crawl.Answer, Hostile]:
    """Fetch from a server that plays so."""
    async with Hostile(play) as server:

        async def connect(host: str, port: int, tls: bool) -> Streams:
            return await asyncio.open_connection(HOST, server.port, limit=HEAD_BYTES_MAX)

        return await fetch(url, connect), server


@pytest.mark.network
async def test_a_page_comes_whole_and_is_asked_for_by_its_name() -> None:
    answer, server = await fetched(answers(b"x" * 1_000_000), "http://user:secret@site.example:8080/a b?q=é#top")
    assert (answer.status, len(answer.body)) == (200, 1_000_000)
    [request] = server.requests
    assert (request.target, request.headers["host"]) == ("/a%20b?q=%C3%A9", "site.example:8080")
    assert "secret" not in str(request)


@pytest.mark.network
async def test_a_redirect_is_an_answer_and_nothing_is_followed() -> None:
    answer, server = await fetched(sends_to("http://169.254.169.254/latest/"))
    assert (answer.status, answer.location) == (302, "http://169.254.169.254/latest/")
    assert len(server.requests) == 1


@pytest.mark.network
@pytest.mark.parametrize(
    ("play", "error", "said"),
    [
        (streams(repeat(b"x" * 65_536), head()), Permanent, "2,000,000 bytes"),
        (streams(repeat(b"A: b\r\n" * 1_000), b"HTTP/1.1 200 OK\r\n"), Permanent, "bytes of headers"),
        (streams(iter(()), b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), Permanent, "no HTTP"),
        (streams(iter(()), b"HTTP/1.1 200 OK\r\n"), Transient, "no whole answer"),
    ],
    ids=["endless body", "endless headers", "no HTTP", "cut off"],
)
async def test_what_is_no_answer_is_an_error_in_one_line(play: Play, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as found:
        await fetched(play)
    assert len(str(found.value).splitlines()) == 1


@pytest.mark.network
@pytest.mark.parametrize("begin", [b"", head()], ids=["headers", "body"])
async def test_a_server_that_drips_gets_no_more_time(begin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_crawl, "PAGE_SECONDS_MAX", 0.2)
    with pytest.raises(Transient, match="no whole answer"):
        await fetched(streams(repeat(b"x"), begin, pause_seconds=0.02))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "[::1]", "[fe80::1]",
     "[fd00:ec2::254]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::1]", "2130706433", "0x7f.1",
     "224.0.0.1", "100.64.0.1"],
)  # fmt: skip
async def test_nothing_is_asked_within_this_network(host: str) -> None:
    with pytest.raises(Permanent, match="no site on the internet"):
        await fetch(f"http://{host}/")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://site.example/", "http:///a", "http://site.example:x/", "/a"]
)
async def test_what_is_no_address_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(Permanent, match="no address of a page"):
        await fetch(url)


async def test_one_bad_address_of_a_name_is_enough_and_a_name_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A resolver that answers differently the second time gains nothing: the connection goes to what was judged."""
    told = [["93.184.215.14"], ["93.184.215.14", "127.0.0.1"]]
    opened: list[str] = []

    async def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in told.pop(0)]

    async def connection(host: str, port: int, **_: Any) -> tuple[None, None]:
        opened.append(host)
        return None, None

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    monkeypatch.setattr(asyncio, "open_connection", connection)
    await connect_to_the_internet("site.example", 443, True)
    with pytest.raises(Permanent, match=r"127\.0\.0\.1"):
        await connect_to_the_internet("site.example", 443, True)
    assert opened == ["93.184.215.14"]
