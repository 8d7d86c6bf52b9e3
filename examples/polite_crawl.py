"""A crawl that is polite: every host has a rate of its own, and one that is down is left alone until it answers again.

The limits belong to a resource, here the host, and hold over all workers on the database. Two things happen by
themselves: pages of a busy host wait for their turn while other hosts go on, and after three failures in a row the
breaker of a host opens, so that its other pages wait instead of using up their attempts. After the cool-down one page
tries; its success lets the others follow.

It is careful too, so that it can be copied. ``fetch`` bounds the time, the size and the address of what it asks for. A
redirect is no part of that: its target is a task of its own, about which the guard decides as about any link. And
``trap=True`` bounds the pages that a site makes up. Here all hosts lead to a server in this file; without ``connect=``
they lead to the internet.
"""

import argparse
import asyncio
import ipaddress
import re
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from ramet import App, Client, Context, InvalidKey, Limits, Permanent, StoreError, Transient, Worker, url_key

PAGE_SECONDS_MAX = 30.0
"""From the question to the last byte: a server that sends one byte a second gets no longer."""
PAGE_BYTES_MAX = 2_000_000
HEAD_BYTES_MAX = 65_536
PLAIN = "/?%:=&~+!$,;'@()*"
"""Stands in an address as it is."""
PORTS = {"http": 80, "https": 443}
HOSTS = {"calm.example": 6, "shaky.example": 4}
MISSING = "https://shaky.example/2"
MOVED = "https://calm.example/5"
DOWN_FOR = 3
"""So many requests in a row are answered with 503 by the shaky host, then it is up again."""
COOLDOWN_SECONDS = 0.5

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[str, int, bool], Awaitable[Streams]]
"""Opens a connection to a host and port, with TLS or without."""

requests: dict[str, list[float]] = {host: [] for host in HOSTS}
"""When each host was asked, by the monotonic clock."""
demo_at: list[int] = []
"""The port of the demo's server."""
app = App()
app.resource(
    "host:*", concurrency=1, rate_per_second=20, burst=2, breaker_failures=3, cooldown_seconds=COOLDOWN_SECONDS
)


class Answer(NamedTuple):
    """What a server said."""

    status: int
    location: str
    """Where it sends to; empty when it does not."""
    body: bytes


async def fetch(url: str, connect: Connect | None = None) -> Answer:
    """Ask once for a page; a redirect is an answer like any other.

    Raises:
        Permanent: the address may not be asked, or the answer is larger than a page is.
        Transient: no whole answer came in time.
    """
    host, port, question = question_for(url)
    try:
        async with asyncio.timeout(PAGE_SECONDS_MAX):
            reader, writer = await (connect or connect_to_the_internet)(host, port, url.lower().startswith("https:"))
            try:
                writer.write(question)
                return await read_answer(reader)
            finally:
                writer.close()
    except asyncio.LimitOverrunError:
        raise Permanent(f"{host} answers with more than {HEAD_BYTES_MAX:,} bytes of headers") from None
    except (OSError, EOFError) as error:  # A time-out is an OSError, an answer that breaks off an EOFError.
        raise Transient(f"{host} gave no whole answer: {str(error) or type(error).__name__}") from None


def question_for(url: str) -> tuple[str, int, bytes]:
    """Host, port and what is sent there: without a password in the address, and encoded, so that it adds no header."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
        name = parts.netloc.rpartition("@")[2].encode("idna").decode()
    except (KeyError, ValueError):
        parts, port, name = urlsplit(""), 0, ""
    if not parts.hostname:
        raise Permanent(f"{url.rpartition('@')[2][:200]!a} is no address of a page: give one with http:// or https://")
    target = quote(parts.path or "/", safe=PLAIN)
    if parts.query:
        target += "?" + quote(parts.query, safe=PLAIN)
    lines = [f"GET {target} HTTP/1.0", f"Host: {name}", "User-Agent: polite-crawl", "Connection: close", "", ""]
    return parts.hostname, port, "\r\n".join(lines).encode("ascii")


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Headers and body, each up to its bound; what is beyond is never held in memory."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *lines = head.split("\r\n")
    code = re.match(r"HTTP/1\.[01] ([1-5][0-9][0-9])\b", status)
    if code is None:
        raise Permanent(f"this is no HTTP: {status[:100]!a}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = bytearray()
    while chunk := await reader.read(65_536):
        body += chunk
        if len(body) > PAGE_BYTES_MAX:
            raise Permanent(f"a page of more than {PAGE_BYTES_MAX:,} bytes is not read")
    return Answer(int(code[1]), headers.get("location", ""), bytes(body))


async def connect_to_the_internet(host: str, port: int, tls: bool) -> Streams:
    """A connection to an address that was looked at: a name, or a redirect, could lead into your own network.

    Raises:
        Permanent: an address of the host is of no site on the internet.
        OSError: nobody has this name, or nobody answers there.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(place[4][0]) for place in found]
    for address in addresses:
        if not on_the_internet(address):
            raise Permanent(
                f"{host} has the address {address}, which is no site on the internet: nothing is asked there"
            )
    # To the address itself: asked for a second time, the name could lead elsewhere.
    return await asyncio.open_connection(
        addresses[0], port, ssl=tls or None, server_hostname=host if tls else None, limit=HEAD_BYTES_MAX
    )


def on_the_internet(address: str) -> bool:
    """Whether it is of anybody's site: not of this machine, its network, or one behind a tunnel."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        tunnels = found.sixtofour or found.teredo or found in ipaddress.ip_network("64:ff9b::/96")
        if tunnels or found.ipv4_mapped is not None:
            return False
    return found.is_global and not found.is_multicast


def host_of(url: str) -> str:
    """The host of a URL."""
    return urlsplit(url).hostname or ""


async def connect_to_the_demo(host: str, port: int, tls: bool) -> Streams:
    """Every host leads to the server below."""
    return await asyncio.open_connection("127.0.0.1", demo_at[0], limit=HEAD_BYTES_MAX)


async def demo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All hosts of the demo: one is down for a while, one page is missing, one has moved."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    host = head.partition("Host: ")[2].partition("\r\n")[0]
    url = f"https://{host}{head.split()[1]}"
    requests[host].append(time.monotonic())
    status, more = (404, "") if url == MISSING else (301, "Location: /0\r\n") if url == MOVED else (200, "")
    if host == "shaky.example" and len(requests[host]) <= DOWN_FOR:
        status = 503
    writer.write(f"HTTP/1.0 {status} Said\r\n{more}\r\n<h1>A page</h1>".encode())
    await writer.drain()
    writer.close()


@app.task("page", key=url_key, trap=True, resource=lambda url: f"host:{host_of(url)}")
async def page(ctx: Context, url: str) -> int:
    """Fetch one page. A page that is not found says nothing about its host; a busy server does."""
    answer = await fetch(url, connect_to_the_demo)
    if answer.status == 429 or answer.status >= 500:
        raise Transient(f"{host_of(url)} answered {answer.status}")
    if answer.status >= 400:
        raise Permanent(f"{url} answered {answer.status}")
    if answer.location:
        try:
            ctx.spawn(page, urljoin(url, answer.location))
        except InvalidKey as error:
            raise Permanent(f"{url} leads to no page: {error}") from None
    return len(answer.body)


async def report(client: Client, tracking_id: str) -> None:
    """Print what became of the pages, and how the hosts were treated."""
    for task in (await client.tasks(tracking_id=tracking_id)).tasks:
        print(f"{task.kind} {task.key}: {task.state}, attempts: {task.attempts}")
    for block in await client.blocks(tracking_id):
        print(f"{block.kind} {block.key} was not fetched again: {block.reason}")
    for resource in await client.resources():
        host = resource.name.removeprefix("host:")
        state = "closed" if resource.opened_at is None else "open"
        print(f"{host}: {len(requests[host])} requests, breaker {state}")
    down = requests["shaky.example"][DOWN_FOR - 1 : DOWN_FOR + 1]
    print(f"shaky.example was left alone after {DOWN_FOR} failures: {down[1] - down[0] >= COOLDOWN_SECONDS}")


async def main(database: str) -> None:
    server = await asyncio.start_server(demo, "127.0.0.1", 0)
    demo_at[:] = [server.sockets[0].getsockname()[1]]
    async with server, app.client(database) as client:
        urls = [f"https://{host}/{number}" for host, pages in HOSTS.items() for number in range(pages)]
        # A lineage ends for certain: it has so many pages at most, and an hour.
        limits = Limits(max_tasks=1_000, max_shape=200, lineage_seconds=3_600.0)
        roots = await client.submit_many([(page, url) for url in urls], one_lineage=True, limits=limits)
        await Worker(app, client, until_idle=True).run()
        await report(client, roots[0].tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/crawl.db"))
        except StoreError as error:
            parser.error(str(error))
