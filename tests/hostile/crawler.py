"""A crawler as somebody would write it with ramet: one kind, keyed by URL, bounded by shape. It needs no pytest.

`add_crawler(app, fetch)` registers the kind `KIND` on an app; its payload is a URL. `fetch` says where pages come from:
`OverHttp` asks a server through the guarded client of the pipelines, `from_sites` asks the sites themselves. Workers
that run handlers in child processes take `tests.hostile.crawler_app:app`, which learns from the environment variable
`MAPPING` where the server is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from html.parser import HTMLParser
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

from ramet import App, Context, ErrorClass, InvalidKey, Limits, Permanent, Transient, url_key
from ramet.fetch.addresses import WebError
from ramet.fetch.client import REDIRECTS, HttpRequest, WebClient
from ramet.fetch.host_map import HostMap
from tests.hostile.pages import Site

KIND = "hostile.page"
MAPPING = "RAMET_HOSTILE_SITES"
"""The environment variable with a server's mapping."""
WITHIN = ".example"
"""Links that lead elsewhere are left alone."""
PAGE_BYTES_MAX = 512 * 1024
ANSWER_SECONDS = 1.0
SAME_PAGE_REDIRECTS_MAX = 3
"""From one spelling of an address to another, such as the one with a slash at its end."""


class Fetched(NamedTuple):
    """What came back."""

    url: str
    status: int
    links: tuple[str, ...] = ()
    """As they stand on the page."""
    location: str = ""


Fetch = Callable[[str], Awaitable[Fetched]]


def add_crawler(app: App, fetch: Fetch, *, kind: str = KIND, attempts_max: int = 2) -> None:
    """Register the crawler's kind on an app. A task's result is the number of links that its page had."""

    @app.task(
        kind, key=url_key, trap=True, limits=Limits(max_attempts=attempts_max), errors={WebError: ErrorClass.PERMANENT}
    )
    async def page(ctx: Context, url: str) -> int:
        fetched = await _settled(fetch, url)
        if fetched.status in (408, 429) or fetched.status >= 500:
            raise Transient(f"{url} answered {fetched.status}")
        if fetched.status >= 400:
            raise Permanent(f"{url} answered {fetched.status}")
        links = (fetched.location,) if fetched.location else fetched.links
        for link in followed(fetched.url, links):
            ctx.spawn(kind, link)
        return len(links)


async def _settled(fetch: Fetch, url: str) -> Fetched:
    """The page, or where it sends to: another spelling of its own address is asked for at once.

    The guard would refuse that as a cycle, for it is the same page. Any other target is a page of its own, which the
    guard decides about.
    """
    here = url
    for _ in range(SAME_PAGE_REDIRECTS_MAX + 1):
        fetched = await fetch(here)
        target = next(followed(here, [fetched.location]), None) if fetched.location else None
        if target is None or url_key(target) != url_key(url):
            return fetched
        here = target
    raise Permanent(f"{url} redirects to itself more than {SAME_PAGE_REDIRECTS_MAX} times")


def followed(base: str, links: Iterable[str]) -> Iterator[str]:
    """The links of a page that a crawl goes on with, each page once, as they are to be asked for."""
    seen: set[str] = set()
    for link in links:
        try:
            parts = urlsplit(urljoin(base, link))
            host = (parts.hostname or "").rstrip(".")
            # Whoever has a name and a password in a link gave them to others, not to this crawl.
            plain = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
            key = url_key(plain)
        except (InvalidKey, ValueError):
            continue
        if host.endswith(WITHIN) and key not in seen:
            seen.add(key)
            yield plain


class _Links(HTMLParser):
    """Collects what a page links to. A canonical address is a link like any other: a page may lie about itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if (tag == "a" or (tag == "link" and named.get("rel") == "canonical")) and named.get("href"):
            self.found.append(named["href"] or "")


def links_of(body: bytes) -> tuple[str, ...]:
    """What a page links to."""
    reader = _Links()
    reader.feed(body.decode("utf-8", errors="replace"))
    return tuple(reader.found)


class OverHttp:
    """Asks servers. It belongs to one event loop, from its first request on."""

    def __init__(self, mapping: str, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Connect to nothing yet.

        Args:
            mapping: which names lead where, as `HostileSites.mapping` says.
            answer_seconds: the most that one page may take.
        """
        self._mapped = HostMap.parse(mapping, MAPPING)
        self._answer_seconds = answer_seconds
        self._client: WebClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def __call__(self, url: str) -> Fetched:
        if self._client is None:
            self._client = WebClient(
                user_agent="ramet-hostile-test", extra="ramet[jobs]", answer_seconds=self._answer_seconds,
                answer_bytes_max=PAGE_BYTES_MAX, connections_max=16, mapped=self._mapped,
            )  # fmt: skip
        answer = await self._client.send(HttpRequest(url))
        location = answer.headers.get("location", "") if answer.status in REDIRECTS else ""
        return Fetched(url, answer.status, links_of(answer.body), location)


def from_sites(sites: Iterable[Site]) -> Fetch:
    """Pages without a server: for crawls that are about the engine alone. Only sites whose pages come whole."""
    known = {site.host: site for site in sites}

    async def fetch(url: str) -> Fetched:
        parts = urlsplit(url)
        reply = known[parts.netloc].answer(parts.netloc, parts.path + (f"?{parts.query}" if parts.query else ""))
        assert reply.flow == "whole", url
        links = (*reply.links, *([reply.canonical] if reply.canonical else []))
        return Fetched(url, reply.status, links, reply.location)

    return fetch
