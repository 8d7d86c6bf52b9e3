"""A crawl that is polite: every host has a pace of its own, and one that is down is left alone until it answers again.

``fetch`` does this. It obeys robots.txt, waits for a host's turn over all workers on the database, and connects to
public addresses only; time, size and redirects are bounded. Pages of a busy host are put off without using an attempt.
The breaker is the engine's: after three failures in a row the other pages of a host wait instead of using up their
attempts; after the cool-down one page tries, and its success lets the others follow.

A page that was redirected is known by both addresses, so that links to the other one are left out. ``trap=True``
bounds the pages that a site makes up. Here all hosts lead to a server in this file; without ``mapped=`` they lead to
the internet. It needs ``pip install 'ramet[fetch]'``.
"""

import argparse
import asyncio
import tempfile
import time
from urllib.parse import urlsplit

from ramet import App, Client, Context, Limits, Outcome, StoreError, Worker, url_key
from ramet.fetch import FetchSettings, HostMap, declare_fetching, fetch

HOSTS = {"calm.example": 6, "shaky.example": 4}
MISSING = "http://shaky.example/2"
MOVED = "http://calm.example/5"
DOWN_FOR = 3
"""Requests in a row that the shaky host answers with 503; then it is up again."""
COOLDOWN_SECONDS = 0.5

requests: dict[str, list[float]] = {host: [] for host in HOSTS}
"""Times of the requests to each host, by the monotonic clock."""
demo = HostMap()
"""Address of the demo's server, to which all hosts lead once it listens."""


def site_of(url: str) -> str:
    """Return the resource that counts a host's failures; its pace is another, ``host:NAME``, which fetch declares."""
    return f"site:{urlsplit(url).hostname}"


app = App()
app.resource("site:*", concurrency=1, breaker_failures=3, cooldown_seconds=COOLDOWN_SECONDS)
declare_fetching(
    app, FetchSettings(user_agent="polite-crawl (you@example.com)"), requests_per_second=20, burst=2, mapped=demo
)


@app.task("page", key=url_key, trap=True, resource=site_of)
async def page(ctx: Context, url: str) -> int | Outcome:
    """Fetch one page, and ask for those that it links to on its host."""
    answer = await fetch(ctx, url, media_types=("text/html",))
    if answer.alias_of is not None:
        return ctx.skip("alias")  # Another page of this crawl led here, and was read.
    for link in answer.links(same_host=True):
        ctx.spawn(page, link)
    return len(answer.content)


async def answer_demo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer for all hosts of the demo: one is down for a while, one page is missing, one has moved."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    host, path = head.partition("Host: ")[2].partition("\r\n")[0], head.split()[1]
    url = f"http://{host}{path}"
    status, more = (404, "") if url == MISSING else (301, "Location: /0\r\n") if url == MOVED else (200, "")
    if path == "/robots.txt":
        status = 404
    else:
        requests[host].append(time.monotonic())
        if host == "shaky.example" and len(requests[host]) <= DOWN_FOR:
            status = 503
    stated = f"HTTP/1.1 {status} Said\r\nContent-Type: text/html\r\nConnection: close\r\n{more}\r\n"
    writer.write(f'{stated}<h1>A page</h1><a href="/0#top">home</a>'.encode())
    await writer.drain()
    writer.close()


async def report(client: Client, tracking_id: str) -> None:
    """Print what became of the pages, and how the hosts were treated."""
    for task in (await client.tasks(tracking_id=tracking_id)).tasks:
        print(f"{task.kind} {task.key}: {task.state}, attempts: {task.attempts}")
    for host in HOSTS:
        [resource] = await client.resources(f"site:{host}")
        state = "closed" if resource.opened_at is None else "open"
        print(f"{host}: {len(requests[host])} requests, breaker {state}")
    down = requests["shaky.example"][DOWN_FOR - 1 : DOWN_FOR + 1]
    print(f"shaky.example was left alone after {DOWN_FOR} failures: {down[1] - down[0] >= COOLDOWN_SECONDS}")


async def main(database: str) -> None:
    server = await asyncio.start_server(answer_demo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    demo.rules = HostMap.parse(f"*=127.0.0.1:{port}", "the demo").rules
    async with server, app.client(database) as client:
        # A lineage ends for certain: its pages are limited, and it has an hour.
        limits = Limits(max_tasks=1_000, max_shape=200, lineage_seconds=3_600.0)
        roots = [(page, f"http://{host}/{number}") for host, pages in HOSTS.items() for number in range(pages)]
        submitted = await client.submit_many(roots, one_lineage=True, limits=limits)
        await Worker(app, client, until_idle=True).run()
        await report(client, submitted[0].tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/crawl.db"))
        except StoreError as error:
            parser.error(str(error))
