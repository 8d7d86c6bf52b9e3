"""A crawler as somebody would write it with ramet: one kind, keyed by URL, bounded by shape. It needs no pytest.

`add_crawler(app, source)` registers the kind `KIND` on an app; its payload is a URL. The source says where pages come
from: `OverHttp` asks a server through `ramet.fetch`, `FromSites` asks the sites themselves. Workers that run handlers
in child processes take `tests.hostile.crawler_app:app`, which learns from the environment variable `MAPPING` where the
server is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol
from urllib.parse import urljoin, urlsplit, urlunsplit

from ramet import App, Context, InvalidKey, Limits, Permanent, url_key
from ramet.fetch import FetchSettings, HostMap, declare_fetching, fetch
from tests.hostile.pages import Site

KIND = "hostile.page"
MAPPING = "RAMET_HOSTILE_SITES"
"""The environment variable with a server's mapping."""
WITHIN = ".example"
"""Links that lead elsewhere are left alone."""
PAGE_BYTES_MAX = 512 * 1024
ANSWER_SECONDS = 1.0
REDIRECTS_MAX = 3


class Fetched(NamedTuple):
    """A page that came back."""

    url: str
    links: tuple[str, ...] = ()
    alias_of: str | None = None
    """The page of this lineage that it is another address of."""


class Source(Protocol):
    """Where pages come from."""

    def declare(self, app: App) -> None:
        """Tell the app what fetching needs."""
        ...

    async def __call__(self, ctx: Context, url: str) -> Fetched:
        """Fetch a page."""
        ...


def add_crawler(app: App, source: Source, *, kind: str = KIND, attempts_max: int = 2) -> None:
    """Register the crawler's kind on an app. A task's result is the number of links that its page had."""
    source.declare(app)

    @app.task(kind, key=url_key, trap=True, limits=Limits(max_attempts=attempts_max))
    async def page(ctx: Context, url: str) -> Any:
        fetched = await source(ctx, url)
        if fetched.alias_of is not None:
            return ctx.skip("alias")
        for link in followed(fetched.url, fetched.links):
            ctx.spawn(kind, link)
        return len(fetched.links)


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


class OverHttp:
    """Asks servers, as any handler does."""

    def __init__(self, mapping: str, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Connect to nothing yet.

        Args:
            mapping: which names lead where, as `HostileSites.mapping` says.
            answer_seconds: the most that one page may take.
        """
        self._mapped = HostMap.parse(mapping, MAPPING)
        self._settings = FetchSettings(
            user_agent="ramet-hostile-test", answer_seconds=answer_seconds, redirects_max=REDIRECTS_MAX
        )

    def declare(self, app: App) -> None:
        """Without a pace: these sites are of the tests. At most eight requests are under way at each."""
        declare_fetching(
            app, self._settings, mapped=self._mapped, requests_per_second=100_000, burst=100_000, concurrency=8
        )

    async def __call__(self, ctx: Context, url: str) -> Fetched:
        """Ask the server."""
        page = await fetch(ctx, url, bytes_max=PAGE_BYTES_MAX)
        return Fetched(page.url, tuple(page.links()), page.alias_of)


class FromSites:
    """Pages without a server: for crawls that are about the engine alone. Only sites whose pages come whole."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._known = {site.host: site for site in sites}

    def declare(self, app: App) -> None:
        """Nothing is needed."""

    async def __call__(self, ctx: Context, url: str) -> Fetched:
        """Ask the site."""
        parts = urlsplit(url)
        site = self._known[parts.netloc]
        reply = site.answer(parts.netloc, parts.path + (f"?{parts.query}" if parts.query else ""))
        assert (reply.flow, reply.location) == ("whole", ""), url
        if reply.status != 200:
            raise Permanent(f"{url} answered {reply.status}")
        return Fetched(url, reply.links)


class Counted:
    """The same as another source, and every page that came is counted."""

    def __init__(self, source: Source, asked: Counter[str]) -> None:
        self._source, self._asked = source, asked

    def declare(self, app: App) -> None:
        """As the other does."""
        self._source.declare(app)

    async def __call__(self, ctx: Context, url: str) -> Fetched:
        """Count."""
        self._asked[url] += 1
        return await self._source(ctx, url)
