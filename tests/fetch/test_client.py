"""The guarded client against a server that means harm. Nothing here may hang or be kept in memory."""

from __future__ import annotations

import gzip
import itertools
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import Transient
from ramet.fetch.addresses import AddressRefused, NameUnknown, WebError
from ramet.fetch.client import (
    AnswerTooLarge,
    ServerTrouble,
    Unreachable,
    WebClient,
    WebRefused,
    plain_url,
)
from tests.fetch.hostile_server import Hostile, answers, bomb, head, in_turn, sends_to, streams

pytestmark = [pytest.mark.network, pytest.mark.process]

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

MAX = 1_000_000
EXTRA = "'ramet[wiki]'"


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[WebClient]:
    client = WebClient(user_agent="tests", extra=EXTRA, private=True, answer_seconds=20.0, answer_bytes_max=MAX)
    yield client
    await client.close()


@pytest.fixture
async def hasty() -> AsyncIterator[WebClient]:
    """For servers that keep a client waiting for ever."""
    client = WebClient(user_agent="tests", extra=EXTRA, private=True, answer_seconds=0.3, answer_bytes_max=MAX)
    yield client
    await client.close()


async def test_an_answer_comes_with_what_was_sent_and_no_more(server: Hostile, client: WebClient) -> None:
    server.play = answers({"a": 1}, Set_Cookie="taken=yes")
    answer = await client.get(server.api, {"titles": "Å|B c"})
    await client.get(server.api)
    assert (answer.status, answer.body, answer.media_type) == (200, b'{"a": 1}', "application/json")
    first, second = server.requests
    assert (first.method, first.parameters) == ("GET", {"titles": "Å|B c"})
    assert first.headers["user-agent"] == "tests"
    assert first.headers["host"] == f"127.0.0.1:{server.port}"
    assert "cookie" not in second.headers


async def test_long_parameters_are_posted(server: Hostile, client: WebClient) -> None:
    titles = "|".join("x" * 200 for _ in range(50))
    await client.get(server.api, {"titles": titles})
    [asked] = server.requests
    assert (asked.method, asked.target, asked.parameters) == ("POST", "/api.php", {"titles": titles})


async def test_packed_answers_are_unpacked(server: Hostile, client: WebClient) -> None:
    server.play = answers(gzip.compress(b"[1, 2]"), Content_Encoding="gzip")
    assert (await client.get(server.api)).body == b"[1, 2]"


async def test_a_decompression_bomb_is_cut_off(server: Hostile, client: WebClient) -> None:
    server.play = answers(bomb(400), Content_Encoding="gzip")
    with pytest.raises(AnswerTooLarge, match="more than 1,000,000 bytes"):
        await client.get(server.api)


async def test_an_endless_answer_is_cut_off(server: Hostile, client: WebClient) -> None:
    server.play = streams(itertools.repeat(b" " * 65_536), head())
    with pytest.raises(AnswerTooLarge):
        await client.get(server.api)


async def test_fifty_megabytes_are_not_read_to_their_end(server: Hostile, client: WebClient) -> None:
    server.play = streams(itertools.repeat(b"x" * 65_536, 800), head(Content_Length=52_428_800))
    with pytest.raises(AnswerTooLarge):
        await client.get(server.api)


async def test_headers_without_end_are_refused(server: Hostile, client: WebClient) -> None:
    server.play = streams((b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in itertools.count()), b"HTTP/1.1 200 OK\r\n")
    with pytest.raises(ServerTrouble, match="proper HTTP"):
        await client.get(server.api)


@pytest.mark.parametrize(
    "begin", [b"", b"HTTP/1.1 200 OK\r\n", head(Content_Length=1000), head(Transfer_Encoding="chunked")]
)
async def test_an_answer_that_drips_for_ever_is_given_up(server: Hostile, hasty: WebClient, begin: bytes) -> None:
    drops = itertools.repeat(b"1\r\n \r\n" if b"chunked" in begin else b"X")
    server.play = streams(drops, begin, pause_seconds=0.02)
    with pytest.raises(ServerTrouble):
        await hasty.get(server.api)


async def test_a_server_that_says_nothing_is_given_up(server: Hostile, hasty: WebClient) -> None:
    server.play = streams(itertools.repeat(b""), b"", pause_seconds=0.02)
    with pytest.raises(ServerTrouble, match="no whole answer"):
        await hasty.get(server.api)


@pytest.mark.parametrize(
    "play",
    [
        answers(b"{", Content_Length=100),
        answers(gzip.compress(b"x" * 100_000)[:60], Content_Encoding="gzip"),
        answers(b"no gzip", Content_Encoding="gzip"),
        streams(iter([b"HTTP/9.9 nonsense\r\n\r\n"]), b""),
        streams(iter([]), b""),
        streams(iter([b"zz\r\n"]), head(Transfer_Encoding="chunked")),
    ],
    ids=["body", "gzip", "no gzip", "version", "nothing", "chunks"],
)
async def test_an_answer_that_breaks_off_or_is_garbled_may_get_better(
    server: Hostile, client: WebClient, play: object
) -> None:
    server.play = play  # type: ignore[assignment]
    with pytest.raises(ServerTrouble) as raised:
        await client.get(server.api)
    assert isinstance(raised.value, Transient)
    assert "\n" not in str(raised.value)


async def test_an_encoding_that_was_not_asked_for_is_refused(server: Hostile, client: WebClient) -> None:
    server.play = answers(b"\x00", Content_Encoding="br")
    with pytest.raises(WebRefused, match="'br'"):
        await client.get(server.api)


async def test_redirects_on_the_same_host_are_followed(server: Hostile, client: WebClient) -> None:
    server.play = in_turn(sends_to("/b"), sends_to("c?x=1", 308), answers({"there": True}))
    answer = await client.get(server.api)
    assert answer.url == f"{server.address}c?x=1"
    assert answer.body == b'{"there": true}'


async def test_a_ring_of_redirects_ends(server: Hostile, client: WebClient) -> None:
    server.play = sends_to("/api.php")
    with pytest.raises(WebRefused, match="more than 3 times"):
        await client.get(server.api)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "location",
    [
        "http://other.example/api.php",
        "//other.example/",
        "http://127.0.0.1:1/",
        "http://localhost/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://user:secret@127.0.0.1/",
        "http://[::1",
        "",
    ],
)
async def test_a_redirect_to_elsewhere_is_refused(server: Hostile, client: WebClient, location: str) -> None:
    server.play = sends_to(location)
    with pytest.raises(WebError) as raised:
        await client.get(server.api)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1


async def test_a_port_that_nobody_listens_on_may_get_better(client: WebClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match="cannot be reached"):
            await client.get(f"http://127.0.0.1:{taken.getsockname()[1]}/api.php")


async def test_addresses_of_this_network_are_refused_without_being_connected_to(server: Hostile) -> None:
    client = WebClient(user_agent="tests", extra=EXTRA)
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1.*own network"):
        await client.get(server.api)
    with pytest.raises(AddressRefused):
        await client.get(f"http://localhost:{server.port}/")
    await client.close()
    assert server.requests == []


async def test_the_address_that_was_judged_is_the_one_connected_to(server: Hostile) -> None:
    """A name that answers with another address the second time reaches nothing by that."""
    asked = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    client = WebClient(user_agent="tests", extra=EXTRA, private=True, resolver=rebinding)
    answer = await client.get(f"http://wiki.example:{server.port}/api.php")
    await client.close()
    assert answer.status == 200
    assert asked == ["wiki.example"]
    assert server.requests[0].headers["host"] == f"wiki.example:{server.port}"


async def test_one_bad_address_among_good_ones_is_enough_to_refuse(server: Hostile) -> None:
    async def mixed(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "169.254.169.254"]

    client = WebClient(user_agent="tests", extra=EXTRA, private=True, resolver=mixed)
    with pytest.raises(AddressRefused, match="no site has"):
        await client.get(f"http://wiki.example:{server.port}/")
    await client.close()
    assert server.requests == []


async def test_a_name_that_nobody_has_is_told_from_a_resolver_in_trouble() -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def in_trouble(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    for resolver, error in ((unknown, NameUnknown), (in_trouble, Transient)):
        client = WebClient(user_agent="tests", extra=EXTRA, resolver=resolver)
        with pytest.raises(error, match=r"wiki\.example"):
            await client.get("http://wiki.example/")
        await client.close()


async def test_the_environment_sends_nothing_through_a_proxy(
    server: Hostile, client: WebClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert (await client.get(server.api)).status == 200


@pytest.mark.parametrize("agent", ["two\r\nlines", "Ümlaut"])
def test_a_user_agent_cannot_break_out_of_its_header(agent: str) -> None:
    with pytest.raises(WebError, match="ASCII"):
        WebClient(user_agent=agent, extra=EXTRA)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for `wiki.example` that nobody has signed, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed (Debian: apt-get install openssl)")
    path = tmp_path / "wiki.pem"
    subject = ["-subj", "/CN=wiki.example", "-addext", "subjectAltName=DNS:wiki.example"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run(
        [*made, "-keyout", str(path), "-out", str(tmp_path / "certificate")], check=True, capture_output=True
    )
    path.write_text(path.read_text() + (tmp_path / "certificate").read_text())
    return path


async def test_a_certificate_is_checked_for_the_name_that_was_asked_for(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with Hostile(tls=context) as server:
        stranger = WebClient(user_agent="tests", extra=EXTRA, private=True, resolver=here)
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            await stranger.get(f"https://wiki.example:{server.port}/")
        await stranger.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        friend = WebClient(user_agent="tests", extra=EXTRA, private=True, resolver=here)
        assert (await friend.get(f"https://wiki.example:{server.port}/")).status == 200
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            await friend.get(f"https://other.example:{server.port}/")
        await friend.close()
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://Wiki.Example", "https://wiki.example/"),
        ("https://bücher.example:8080/wiki/Größe#x", "https://xn--bcher-kva.example:8080/wiki/Gr%C3%B6%C3%9Fe"),
        ("http://[::1]:8080/a b?c=d e", "http://[::1]:8080/a%20b?c=d%20e"),
    ],
)
def test_an_address_is_written_in_ascii(url: str, plain: str) -> None:
    assert plain_url(url) == plain


@pytest.mark.parametrize(
    "url",
    [
        "wiki.example",
        "ftp://wiki.example/",
        "https://",
        "https://a:secret@wiki.example/",
        "ftp://a:secret@wiki.example/",
        "a:secret@wiki.example",
        "http://x:99999/",
        "https://two words.example/",
        "https://\x1f/",
        "https://a%2eb.example/",
        f"https://{'a' * 300}.example/",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(WebError) as raised:
        plain_url(url)
    assert "secret" not in str(raised.value)
