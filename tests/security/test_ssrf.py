"""Addresses that a page or a stranger gives lead to no host of ours, whatever a name server says, and at any redirect.

Two clients fetch such addresses, both through `ramet.fetch`: the one of the jobs pipeline (companies'
sites, boards, feeds, whatever a page links to) and the one of the wiki pipeline (a MediaWiki's API, its redirects, and
the address of the API that its page states). They are judged here.

What an operator gives is trusted to be where it says, in their own network or not: the llm base URL, the embedding
endpoint, the alert webhook and the services of apprise, the collector of traces, the database. None of these takes its
address from a task, a page or an answer.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import httpcore2
import pytest

from ramet import App, Context
from ramet.engine.worker.loops import declare_limits
from ramet.fetch import FetchSettings, declare_fetching
from ramet.fetch import fetch as library_fetch
from ramet.fetch.addresses import AddressRefused, Resolve, WebError, resolve
from ramet.fetch.client import HttpRequest, WebClient
from ramet.fetch.errors import Refused
from ramet.fetch.fetcher import Fetcher
from ramet.testing import drain, fresh_client
from tests.fetch.hostile_server import Hostile, Play, Request, answers, in_turn, sends_to

pytestmark = pytest.mark.network

PUBLIC = "93.184.215.14"
OTHER_PUBLIC = "93.184.215.15"
INSIDE = [
    "127.0.0.1",
    "10.0.0.7",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "192.0.0.192",
    "0.0.0.0",
    "::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:0:53aa:64c::1",
    "2a00::5efe:7f00:1",
    "fec0::1",
]
"""Loopback, private networks, metadata of clouds; plain, mapped, translated, tunnelled."""


class Names:
    """A name server that gives one answer after the other, and the last again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class Wires:
    """Connects to the server of the test, whatever address it is told, and remembers which."""

    def __init__(self, port: int) -> None:
        self._plain = httpcore2.AnyIOBackend()
        self._port = port
        self.connected: list[str] = []
        self.dead: set[str] = set()
        """Addresses where nobody answers."""

    async def connect_tcp(self, host: str, port: int, *more: Any) -> Any:
        self.connected.append(host)
        if host in self.dead:
            raise httpcore2.ConnectError("nobody answers")
        return await self._plain.connect_tcp("127.0.0.1", self._port, *more)


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as server:
        yield server


@pytest.fixture
def wires(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> Wires:
    wires = Wires(server.port)
    monkeypatch.setattr("httpcore2.AnyIOBackend", lambda: wires)
    return wires


async def get(names: Names, url: str) -> None:
    """As the wiki pipeline asks."""
    client = WebClient(user_agent="tests", extra="'ramet[wiki]'", resolver=names)
    try:
        await client.get(url)
    finally:
        await client.close()


async def fetch(names: Names, url: str) -> None:
    """As the jobs pipeline asks, robots.txt included."""
    fetcher = Fetcher(WebClient(user_agent="tests", extra="'ramet[jobs]'", resolver=names))
    try:
        await fetcher.fetch(url, bytes_max=1_000)
    finally:
        await fetcher.close()


Ask = Callable[[Names, str], Awaitable[None]]
CLIENTS = [pytest.param(get, AddressRefused, id="wiki"), pytest.param(fetch, Refused, id="jobs")]


@pytest.mark.parametrize(("ask", "refused"), CLIENTS)
@pytest.mark.parametrize("second", INSIDE)
async def test_a_name_that_flips_at_a_redirect_reaches_nothing(
    server: Hostile, wires: Wires, ask: Ask, refused: type[Exception], second: str
) -> None:
    server.play = sends_to("http://flip.example/again")
    with pytest.raises(refused, match="nothing is fetched there"):
        await ask(Names([PUBLIC], [second]), "http://flip.example/")
    assert wires.connected == [PUBLIC]
    assert len(server.requests) == 1


@pytest.mark.parametrize(("ask", "refused"), CLIENTS)
@pytest.mark.parametrize("hop", [1, 2, 3])
async def test_every_redirect_is_judged_anew(
    server: Hostile, wires: Wires, ask: Ask, refused: type[Exception], hop: int
) -> None:
    server.play = in_turn(*(sends_to(f"http://flip.example/{number}") for number in range(3)), answers("there"))
    with pytest.raises(refused, match="nothing is fetched there"):
        await ask(Names(*[[PUBLIC]] * hop, ["169.254.169.254"]), "http://flip.example/")
    assert len(server.requests) == hop


@pytest.mark.parametrize(("ask", "refused"), CLIENTS)
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_every_address_of_an_answer_is_judged_before_any_is_connected_to(
    server: Hostile, wires: Wires, ask: Ask, refused: type[Exception], place: int
) -> None:
    found = [PUBLIC, OTHER_PUBLIC]
    found.insert(place, "10.0.0.7")
    with pytest.raises(refused, match=r"10\.0\.0\.7"):
        await ask(Names(found), "http://mixed.example/")
    assert wires.connected == []


@pytest.mark.parametrize(("ask", "_"), CLIENTS)
async def test_a_second_look_up_is_never_made_for_one_connection(
    server: Hostile, wires: Wires, ask: Ask, _: type[Exception]
) -> None:
    """The first address does not answer: the next of the same answer is tried, the name is not asked for again."""
    wires.dead.add(PUBLIC)
    names = Names([PUBLIC, OTHER_PUBLIC], ["127.0.0.1"])
    await ask(names, "http://two.example/")
    assert wires.connected == [PUBLIC, OTHER_PUBLIC]
    assert names.asked == ["two.example"]


SPELLINGS = [
    "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "127.0.0.1.", "[::1]", "[::ffff:7f00:1]",
    "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "localhost", "LOCALHOST.",
]  # fmt: skip
"""Of loopback and of the metadata service."""


@pytest.mark.parametrize("host", SPELLINGS)
async def test_a_number_in_any_spelling_is_the_address_that_it_is(server: Hostile, wires: Wires, host: str) -> None:
    """Asked of the system's own resolver, which takes octal, hexadecimal and short forms."""
    client = WebClient(user_agent="tests", extra="'ramet[wiki]'", resolver=resolve)
    with pytest.raises(WebError):
        await client.send(HttpRequest(f"http://{host}/"))
    await client.close()
    assert wires.connected == []


DISGUISED = [
    "http://public.example@127.0.0.1/", "http://public.example:80@127.0.0.1/", "http://127.0.0.1\\@public.example/",
    "http://public.example\\@127.0.0.1/", "http:\\\\127.0.0.1/", "http://public.example%40127.0.0.1/",
    "http://127。0。0。1/", "http://①②⑦.0.0.1/", "http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://public.example%00/",
    "http://public.example\t.evil/", "http://127.0.0.1%2f@public.example/", "//127.0.0.1/", "http:127.0.0.1/",
]  # fmt: skip
"""Where readers of addresses disagree on the host."""


@pytest.mark.parametrize("url", DISGUISED)
async def test_a_disguised_host_is_refused_or_judged_as_what_is_connected_to(
    server: Hostile, wires: Wires, url: str
) -> None:
    async def names(host: str, port: int) -> Sequence[str]:
        if host == "public.example":
            return [PUBLIC]
        if host.isascii() and host.replace(".", "").isdigit():
            return [socket.inet_ntoa(socket.inet_aton(host))]
        return ["127.0.0.1"]

    client = WebClient(user_agent="tests", extra="'ramet[wiki]'", resolver=names)
    with pytest.raises(WebError):
        await client.send(HttpRequest(url))
    server.play = sends_to(url.encode().decode("latin-1"))
    with pytest.raises(WebError):  # As a redirect; where it is a path of the same host, that ends in a ring.
        await client.get("http://public.example/")
    await client.close()
    assert set(wires.connected) <= {PUBLIC}


@pytest.mark.parametrize("scheme", ["http", "ftp", "file", "gopher", "ws", "unix", "data", "javascript"])
async def test_a_redirect_leaves_https_for_no_other_scheme(scheme: str) -> None:
    from ramet.fetch.client import redirected

    for elsewhere in (False, True):
        with pytest.raises(WebError):
            redirected("https://site.example/", f"{scheme}://site.example/", elsewhere=elsewhere)


@pytest.mark.parametrize(("ask", "refused"), CLIENTS)
async def test_no_proxy_of_the_environment_connects_for_us(
    server: Hostile, wires: Wires, ask: Ask, refused: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would connect to addresses that nobody judged."""
    for name, tail in itertools.product(("http", "https", "all"), ("_proxy", "_PROXY")):
        monkeypatch.setenv(name + tail if tail.islower() else name.upper() + tail, "http://127.0.0.1:9")
    await ask(Names([PUBLIC]), "http://site.example/")
    with pytest.raises(refused):
        await ask(Names(["127.0.0.1"]), "http://inside.example/")
    assert wires.connected == [PUBLIC]


async def fetch_in_a_handler(names: Resolve, url: str) -> None:
    """As any handler asks: `ramet.fetch.fetch`, robots.txt included, without a second try."""
    app = App()
    declare_fetching(app, FetchSettings(user_agent="tests"), resolver=names, burst=50)

    @app.task("page")
    async def page(ctx: Context, address: str) -> None:
        await library_fetch(ctx, address)

    async with fresh_client(app) as client:
        await declare_limits(app, client.store)
        await client.submit("page", url)
        await drain(app, client, advance=False)
        [task] = (await client.tasks()).tasks
        history = await client.history(task.id)
    assert history is not None
    if task.state == "failed":
        raise Refused(str(history.attempts[-1].error))


@pytest.mark.parametrize("flipped", INSIDE)
@pytest.mark.parametrize("public_times", [0, 1, 2, 3])
async def test_a_resolver_that_flips_never_leads_a_handler_inside(
    server: Hostile, wires: Wires, flipped: str, public_times: int
) -> None:
    """Whichever look-up it is that gives the address inside: for robots.txt, for the page, after a redirect."""
    server.play = by_path({"/robots.txt": answers("", 404), "/": sends_to("/a"), "/a": sends_to("http://b.example/")})
    names = Names(*[[PUBLIC]] * public_times, [flipped])
    with pytest.raises(Refused, match="nothing is fetched there"):
        await fetch_in_a_handler(names, "http://flip.example/")
    assert set(wires.connected) <= {PUBLIC}
    assert len(wires.connected) <= public_times


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "gopher://127.0.0.1/", "http://[fe80::1%25eth0]/", "http://127.1/", "http://0x7f000001/",
        "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://[2002:7f00:1::]/", "http://[64:ff9b::7f00:1]/",
        "http://user:secret@acme.example/", "http://acme.example:25/", "http://acme.example:6379/", "http://acme.example:0/",
        "http://acme.example:99999/", "http:///path", "http://",
    ],
)  # fmt: skip
async def test_a_handler_is_refused_what_no_site_is(wires: Wires, url: str) -> None:
    names = Names([PUBLIC], ["127.0.0.1"])

    async def resolver(host: str, port: int) -> Sequence[str]:
        return await (names if host.endswith(".example") else resolve)(host, port)

    with pytest.raises(Refused):
        await fetch_in_a_handler(resolver, url)
    assert wires.connected == []


def by_path(plays: dict[str, Play]) -> Play:
    """Each path its own answer."""

    async def play(request: Request, writer: asyncio.StreamWriter) -> None:
        await plays[request.path](request, writer)

    return play
