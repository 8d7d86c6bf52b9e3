"""``fetch(ctx, url)`` for any handler: polite, guarded, and the same over all workers of a database.

:func:`declare_fetching` tells an app how it fetches; :func:`fetch` and :func:`fetch_sync` then work in its handlers.
The engine knows nothing of this: rates are resources, what is kept is in tables that the app declares.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from ramet import App, Context, Statement, StatementResult, SyncContext
from ramet.fetch import tables
from ramet.fetch.addresses import Resolve, resolve
from ramet.fetch.client import WebClient
from ramet.fetch.errors import Refused
from ramet.fetch.fetcher import Fetcher, LoopFetchers
from ramet.fetch.host_map import HostMap
from ramet.fetch.host_pace import BURST, REQUESTS_PER_SECOND, HasRates, HostPace
from ramet.fetch.messages import Request
from ramet.fetch.page import Page, key_of
from ramet.fetch.settings import FetchSettings
from ramet.fetch.testing import Recording, active_cassette

PREFIX = "host:"
CONNECTIONS_MAX = 100
"""Connections at once in one process, over all hosts: servers that hang must not keep the others waiting."""
BYTES_MAX = 5 * 1024 * 1024
"""Most bytes of one answer, decoded."""
CONCURRENCY = 2
"""Requests at once to one host, over all workers."""
CANCELLED_LOOK_SECONDS = 1.0
"""Between two looks whether a handler in a thread is to stop."""

Judge = Callable[[str], None]
"""Called with an address before it is asked for; its error ends the fetch."""
Answer = TypeVar("Answer")


class WebAccess:
    """Fetching of an app's handlers. Made by :func:`declare_fetching`."""

    def __init__(
        self, settings: FetchSettings, pace: Callable[[LoopFetchers], HostPace], client: Callable[[], WebClient]
    ) -> None:
        """Connect to nothing yet; ``pace`` and ``client`` make what it asks through."""
        self._settings = settings
        self._fetchers = LoopFetchers(lambda: Fetcher(Recording(client()), settings))
        self.pace = pace(self._fetchers)
        self._thread = _LoopThread()

    async def fetch(
        self,
        ctx: HasRates,
        request: Request,
        *,
        robots: bool,
        bytes_max: int,
        media_types: Sequence[str],
        cache: bool,
        judge: Judge | None,
    ) -> Page:
        """Fetch for a task; see :func:`fetch`."""
        if judge is not None:
            judge(request.url)
        cassette = active_cassette()
        if cassette is not None and not cassette.records:
            # Without a network there is no host to be polite to, and a handler that runs by itself has no database.
            response = await cassette.fetcher(self._settings).fetch(
                request, bytes_max=bytes_max, robots=robots, media_types=media_types, settings=self._settings
            )
            return Page(response, request.url)
        answers = tables.AnswerTable(ctx, request.headers) if cache and request.method == "GET" else None
        kept = await answers.load(request.url) if answers is not None else None
        response = await self.pace.ask(
            ctx, request, self._settings, bytes_max=bytes_max, robots=robots,
            robots_store=tables.RobotsTable(ctx), media_types=media_types, judge=judge,
            validators=kept.response.validators if kept is not None else None,
        )  # fmt: skip
        if kept is not None and answers is not None and response.unchanged:
            answers.used(kept)
            page = Page(kept.response, request.url, unchanged=True)
        else:
            if answers is not None:
                await answers.save(request.url, response)
            page = Page(response, request.url)
        await _note_aliases(ctx, page)
        return page

    def fetch_blocking(self, ctx: SyncContext, request: Request, **options: Any) -> Page:
        """Fetch for a task of a plain handler, in a loop of this process that all of them share."""
        return self._thread.run(ctx, lambda: self.fetch(_InThread(ctx), request, **options))

    async def close(self) -> None:
        """Close the connections that plain handlers used; those of the loop are closed by the pace."""
        await asyncio.to_thread(self._thread.close, self._fetchers.close)


_declared: ContextVar[WebAccess] = ContextVar("ramet_fetching")


def declare_fetching(
    app: App,
    settings: FetchSettings,
    *,
    requests_per_second: float = REQUESTS_PER_SECOND,
    burst: float = BURST,
    concurrency: int | None = CONCURRENCY,
    prefix: str = PREFIX,
    private: bool = False,
    mapped: HostMap | None = None,
    resolver: Resolve = resolve,
) -> None:
    """Let the handlers of an app fetch: declares the pace of hosts, the tables, and what closes the connections.

    Call it before the app opens a database. Where a process runs handlers, connections are opened at the first fetch
    and closed at its end.

    Args:
        settings: bounds, and the ``user_agent`` by which servers know you: say how to reach you.
        requests_per_second: to one host, over all workers; ``ramet limit resource host:NAME --rate`` changes it.
        burst: requests at once after a time without any.
        concurrency: requests at once to one host, over all workers; None for no limit.
        prefix: begins the name of each host's resource.
        private: whether addresses of this machine and its network are fetched too: for tests and an intranet.
        mapped: names of hosts that lead to an address that you say outright.
        resolver: asks for the addresses of a host.

    Raises:
        ValueError: a number is out of range.
    """

    def client() -> WebClient:
        return WebClient(
            user_agent=settings.user_agent, private=private, connections_max=CONNECTIONS_MAX, mapped=mapped,
            resolver=resolver,
        )  # fmt: skip

    access = WebAccess(settings, partial(HostPace, prefix=prefix, concurrency=concurrency), client)
    access.pace.declare(app, requests_per_second=requests_per_second, burst=burst)
    app.tables = (*app.tables, *(made for made in tables.DEFINITIONS if made not in app.tables))
    app.at_end(access.close)

    @app.middleware
    @asynccontextmanager
    async def fetching(_: Any) -> AsyncIterator[None]:
        token = _declared.set(access)
        try:
            yield
        finally:
            _declared.reset(token)


def _access() -> WebAccess:
    try:
        return _declared.get()
    except LookupError:
        raise Refused(
            "this handler's app does not say how it fetches: call "
            "ramet.fetch.declare_fetching(app, FetchSettings(user_agent=...)) where the app is made"
        ) from None


async def fetch(
    ctx: Context,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: bytes | None = None,
    robots: bool = True,
    bytes_max: int = BYTES_MAX,
    media_types: Sequence[str] = (),
    cache: bool = False,
    judge: Judge | None = None,
) -> Page:
    """Fetch an address from a handler: at the pace of its host over all workers, by its robots.txt, and guarded.

    Only public addresses are connected to, whatever a name or a redirect leads to; the address that was judged is the
    one that is connected to. It takes no longer than the settings say, nor than the task has left. Headers that you
    give do not follow a redirect to another origin, and no cookies are kept. Other addresses of the page (its final
    one, its canonical one) are noted for the lineage, so that ``page.links()`` leaves them out.

    Args:
        url: http or https.
        headers: beside those that every request has, such as ``Accept`` or ``Authorization``.
        method: ``GET`` or ``POST``; a redirect of a POST is not followed.
        body: of a POST.
        robots: whether robots.txt holds. False for an interface that its owner means for programs.
        bytes_max: the most that the answer may have, decoded.
        media_types: how the content type of the answer may begin, such as ``("text/html",)``; empty for any.
        cache: keep the answer in the database where the server names an ETag or a Last-Modified, and ask the next time
            only whether it has changed; then ``page.unchanged`` is true and the body is the kept one.
        judge: called with the address and with each that a redirect leads to, before it is asked for; its error ends
            the fetch.

    Raises:
        Refused: trying again gives the same (`Gone`, `RobotsRefused`, `TooLarge`, `WrongType` and the addresses that
            are not fetched are of this class). Permanent.
        Trouble: no complete answer came. Transient.
        HostBusy, HostTurnLater: the task comes back later, at no attempt: do not catch them. The host is left alone by
            all workers until the time that it named.
    """
    request = Request(url, method, body, headers or {})
    return await _access().fetch(
        ctx, request, robots=robots, bytes_max=bytes_max, media_types=media_types, cache=cache, judge=judge
    )


def fetch_sync(
    ctx: SyncContext,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: bytes | None = None,
    robots: bool = True,
    bytes_max: int = BYTES_MAX,
    media_types: Sequence[str] = (),
    cache: bool = False,
    judge: Judge | None = None,
) -> Page:
    """Fetch an address from a plain handler, which runs in a thread or a process of its own: see :func:`fetch`."""
    request = Request(url, method, body, headers or {})
    return _access().fetch_blocking(
        ctx, request, robots=robots, bytes_max=bytes_max, media_types=media_types, cache=cache, judge=judge
    )


async def _note_aliases(ctx: HasRates, page: Page) -> None:
    key = key_of(page.requested)
    others = [other for other in dict.fromkeys(page.keys()) if other != key]
    if key is None or not (others or page.is_html):
        return
    page.note_known(await tables.aliases_of(ctx, [key, *others, *page.link_keys()]))
    tables.note_aliases(ctx, key, others)


class _InThread:
    """The context of a plain handler, for code that awaits: each verb runs in a thread, as its handler does."""

    def __init__(self, ctx: SyncContext) -> None:
        self._ctx = ctx

    @property
    def key(self) -> str:
        return self._ctx.key

    @property
    def tracking_id(self) -> str:
        return self._ctx.tracking_id

    @property
    def now(self) -> float:
        return self._ctx.now

    @property
    def call_seconds(self) -> float:
        return self._ctx.call_seconds

    @property
    def remaining_seconds(self) -> float:
        return self._ctx.remaining_seconds

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        self._ctx.write(sql, parameters)

    async def take(self, amounts: Mapping[str, float]) -> float:
        return await asyncio.to_thread(self._ctx.take, amounts)

    async def adapt(self, name: str, **said: Any) -> None:
        await asyncio.to_thread(partial(self._ctx.adapt, name, **said))

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(self._ctx.read, sql, parameters)

    async def transaction(self, statements: Iterable[Statement | tuple[str, Sequence[Any]]]) -> list[StatementResult]:
        return await asyncio.to_thread(self._ctx.transaction, statements)


class _LoopThread:
    """An event loop in a thread of its own, for callers in other threads; begun when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: threading.Thread | None = None

    def run(self, ctx: SyncContext, work: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Run a coroutine there and wait for it; it is cancelled when the handler is to stop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._running = threading.Thread(target=self._loop.run_forever, name="ramet-fetch", daemon=True)
                self._running.start()
            future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        while True:
            try:
                return future.result(CANCELLED_LOOK_SECONDS)
            except TimeoutError:
                if future.done():
                    return future.result()
                if ctx.cancelled:
                    future.cancel()
                    raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a last coroutine there, and end the loop."""
        with self._lock:
            loop, self._loop = self._loop, None
            running, self._running = self._running, None
        if loop is None or running is None:
            return
        asyncio.run_coroutine_threadsafe(last(), loop).result()
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        running.join()
        loop.close()
