"""An adversarial web server on loopback. It needs neither pytest nor any package.

`TRAPS` are sites without an end by name, `honest()` and `monotonous()` sites that have one. `HostileSites` serves all
of them on one port and tells them apart by the `Host` header: a crawler finds them with `mapping`, the rule in which
`ramet.fetch.host_map` says that every name leads there. As a program it does the same for other
processes, prints the mapping in one line, and ends when its standard input does:

    python -m tests.hostile.site
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat

from tests.fetch.hostile_server import HOST, Hostile, Request, answers, head, sends_to, streams
from tests.hostile.honest import honest, monotonous
from tests.hostile.pages import Reply, Site
from tests.hostile.traps import TRAPS

__all__ = ["TRAPS", "HostileSites", "Reply", "Site", "honest", "monotonous"]

HTML = "text/html; charset=utf-8"
REMEMBERED = 10_000
"""Requests; a server that runs for hours forgets older ones."""
DRIP_SECONDS = 0.05
"""Between two bytes."""


class HostileSites(Hostile):
    """The server of many sites. Use it in ``async with``; `asked` counts the requests for each site."""

    def __init__(self, sites: Iterable[Site]) -> None:
        super().__init__(self._answer)
        self._sites = {site.host: site for site in sites}
        self.asked: Counter[str] = Counter()

    @property
    def mapping(self) -> str:
        """The rule by which every name leads here."""
        return f"*={HOST}:{self.port}"

    def site_of(self, host: str) -> Site | None:
        """The site of a host, which may be one below its own."""
        name = host.lower().partition(":")[0].rstrip(".")
        while name:
            if name in self._sites:
                return self._sites[name]
            name = name.partition(".")[2]
        return None

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if len(self.requests) > REMEMBERED:
            del self.requests[: REMEMBERED // 2]
        host = request.headers.get("host", "")
        site = self.site_of(host)
        if site is None or request.path == "/robots.txt":
            reply = Reply(status=404)
        else:
            self.asked[site.host] += 1
            reply = site.answer(host, request.target)
        await _play(reply, request, writer)


async def _play(reply: Reply, request: Request, writer: asyncio.StreamWriter) -> None:
    if reply.location:
        await sends_to(reply.location, reply.status)(request, writer)
    elif reply.flow != "whole":
        drips = reply.flow == "drip"
        body: Iterator[bytes] = repeat(b"x" if drips else b"<p>" + b"x" * 65_536)
        begin = head(Content_Type=HTML)
        await streams(body, begin, pause_seconds=DRIP_SECONDS if drips else 0.0)(request, writer)
    else:
        await answers(reply.html(), reply.status, Content_Type=HTML)(request, writer)


async def main() -> None:
    """Serve all of them until standard input ends."""
    async with HostileSites([*TRAPS.values(), honest(), monotonous()]) as server:
        sys.stdout.write(f"{server.mapping}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
