"""A crawl that is polite: every host has a rate of its own, and one that is down is left alone until it answers again.

The limits belong to a resource, here the host, and hold over all workers on the database. Two things happen by
themselves: pages of a busy host wait for their turn while other hosts go on, and after three failures in a row the
breaker of a host opens, so that its other pages wait instead of using up their attempts. After the cool-down one page
tries; its success lets the others follow.
"""

import argparse
import asyncio
import tempfile
import time
from urllib.parse import urlsplit

from ramet import App, Client, Context, Permanent, StoreError, Transient, Worker, url_key

HOSTS = {"calm.example": 6, "shaky.example": 4}
MISSING = "https://shaky.example/2"
DOWN_FOR = 3
"""So many requests in a row are answered with 503 by the shaky host, then it is up again."""
COOLDOWN_SECONDS = 0.5

requests: dict[str, list[float]] = {host: [] for host in HOSTS}
"""When each host was asked, by the monotonic clock."""
app = App()
app.resource(
    "host:*", concurrency=1, rate_per_second=20, burst=2, breaker_failures=3, cooldown_seconds=COOLDOWN_SECONDS
)


def host_of(url: str) -> str:
    """The host of a URL."""
    return urlsplit(url).hostname or ""


def answer(url: str) -> int:
    """A server's status."""
    host = host_of(url)
    requests[host].append(time.monotonic())
    if host == "shaky.example" and len(requests[host]) <= DOWN_FOR:
        return 503
    return 404 if url == MISSING else 200


@app.task("page", key=url_key, resource=lambda url: f"host:{host_of(url)}")
async def page(ctx: Context, url: str) -> int:
    """Fetch one page. A page that is not found says nothing about its host; a busy server does."""
    status = answer(url)
    if status >= 500:
        raise Transient(f"{host_of(url)} answered {status}")
    if status == 404:
        raise Permanent(f"{url} is not there")
    return status


async def report(client: Client, tracking_id: str) -> None:
    """Print what became of the pages, and how the hosts were treated."""
    for task in (await client.tasks(tracking_id=tracking_id)).tasks:
        print(f"{task.kind} {task.key}: {task.state}, attempts: {task.attempts}")
    for resource in await client.resources():
        host = resource.name.removeprefix("host:")
        state = "closed" if resource.opened_at is None else "open"
        print(f"{host}: {len(requests[host])} requests, breaker {state}")
    down = requests["shaky.example"][DOWN_FOR - 1 : DOWN_FOR + 1]
    print(f"shaky.example was left alone after {DOWN_FOR} failures: {down[1] - down[0] >= COOLDOWN_SECONDS}")


async def main(database: str) -> None:
    async with app.client(database) as client:
        urls = [f"https://{host}/{number}" for host, pages in HOSTS.items() for number in range(pages)]
        roots = await client.submit_many([(page, url) for url in urls], one_lineage=True)
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
