"""Fetch an address politely: redirects, robots.txt, conditional requests, and one kind of error for what goes wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ramet.fetch import client as web
from ramet.fetch.addresses import AddressRefused, NameUnknown, WebError
from ramet.fetch.client import HttpRequest
from ramet.fetch.errors import FetchError, Refused, RobotsRefused, Trouble, failure_of, shown
from ramet.fetch.messages import NOT_MODIFIED, Request, Response
from ramet.fetch.robots import Robots, RobotsStore, Rules, token_of
from ramet.fetch.settings import FetchSettings

Before = Callable[[str], Awaitable[None]]
"""Called with each address that a redirect leads to, before it is asked."""
Asking = Callable[[str], AbstractAsyncContextManager[None]]
"""Entered with the address of a robots.txt before it is asked for, left when it is there."""


class Client(Protocol):
    """Client with which a fetcher asks servers: :class:`ramet.fetch.client.WebClient`, or a replacement."""

    extra: str
    """Requirement that installs the packages, as pip takes it."""

    async def send(self, question: HttpRequest, /) -> web.HttpResponse:
        """Ask once; a redirect is an answer like any other."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Fetcher:
    """Asks servers. Belongs to one event loop."""

    def __init__(
        self, client: Client, settings: FetchSettings | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Connect to nothing yet.

        Args:
            settings: of calls that name none.
            clock: monotonic seconds, for how long the rules of a robots.txt are kept.
        """
        self._client = client
        self._settings = settings or FetchSettings()
        self._robots = Robots(clock, client.extra)

    async def fetch(
        self,
        request: Request | str,
        *,
        bytes_max: int,
        seconds: float | None = None,
        validators: Mapping[str, str] | None = None,
        robots: bool = False,
        robots_store: RobotsStore | None = None,
        media_types: Sequence[str] = (),
        settings: FetchSettings | None = None,
        before: Before | None = None,
    ) -> Response:
        """Ask once, and follow redirects of a GET. Trying again is the caller's.

        Args:
            bytes_max: the most that the answer may have, decoded.
            seconds: the most that all of it may take; None for the setting.
            validators: what :attr:`Response.validators` of an earlier answer gave; the answer may be ``unchanged``
            then.
            robots: whether it is a page, so that robots.txt holds.
            robots_store: where the robots.txt of hosts are looked up first.
            media_types: how the content type of the answer may begin; empty for any.
            before: see `Before`.

        Raises:
            Refused: it is not given or not to be fetched; `Gone` where there is nothing, `TooLarge` beyond the
                size, `WrongType` of another type, `RobotsRefused`.
            Trouble: no whole answer came, or an error of the server's own.
            BusyAnswer: the server asks to come back later.
        """
        request = Request(request) if isinstance(request, str) else request
        settings = settings or self._settings
        own = {"User-Agent": settings.user_agent, "Accept-Language": settings.languages}
        headers = {**own, **request.headers, **_conditions(validators)}
        limit = settings.answer_seconds if seconds is None else seconds
        question = HttpRequest(request.url, request.method, request.body, headers, limit, bytes_max, False, media_types)
        try:
            async with asyncio.timeout(limit):
                rules = partial(self.rules, settings=settings, store=robots_store)
                answer = await self._follow(question, settings, before, rules if robots else None)
        except TimeoutError:
            raise Trouble(f"{_shown(request.url)} gave no whole answer in {limit:g} s", url=request.url) from None
        if answer.status == NOT_MODIFIED and not validators:
            raise Trouble(
                f"{shown(answer.url)} says that nothing has changed, although it was not asked for that", status=304
            )
        return Response(answer.url, answer.status, answer.headers, answer.body)

    async def rules(
        self,
        url: str,
        settings: FetchSettings | None = None,
        *,
        store: RobotsStore | None = None,
        asking: Asking | None = None,
    ) -> Rules:
        """Return the rules of the robots.txt of an address' host for us. Where it has none, everything is allowed.

        Raises:
            Trouble: it cannot be had just now, which means that nothing is fetched.
            BusyAnswer: the server asks to come back later.
            Refused: the address is one that nothing is fetched from.
        """
        asked = settings or self._settings

        async def read(address: str) -> str | None:
            async with nullcontext() if asking is None else asking(address):
                return await self._robots_text(address, asked)

        return await self._robots.rules(_origin(url), token_of(asked.user_agent), asked.robots_seconds, read, store)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _follow(
        self,
        question: HttpRequest,
        settings: FetchSettings,
        before: Before | None,
        rules: Callable[[str], Awaitable[Rules]] | None,
    ) -> web.HttpResponse:
        own = {name: value for name, value in question.headers.items() if name in _OWN}
        for hop in range(settings.redirects_max + 1):
            if hop and before is not None:
                await before(question.url)
            if rules is not None and not (await rules(question.url)).allow(question.url):
                raise RobotsRefused(
                    f"{_shown(question.url)} is not for robots, as its robots.txt says", url=question.url
                )
            answer = await self._sent(question)
            if answer.status not in web.REDIRECTS:
                failure = failure_of(answer.url, answer.status, answer.headers, time.time())
                if failure is not None:
                    raise failure
                return answer
            if question.method != "GET":
                raise Refused(f"{shown(answer.url)} redirects what was posted", status=answer.status, url=answer.url)
            target = _redirected(answer)
            if _origin(target) != _origin(question.url):
                # Headers that a caller sent to one origin are not for another: a key, a name, whatever it is.
                question = replace(question, headers=own)
            question = replace(question, url=target)
        raise Refused(f"{_shown(question.url)} ends more than {settings.redirects_max} redirects", url=question.url)

    async def _sent(self, question: HttpRequest) -> web.HttpResponse:
        try:
            return await self._client.send(question)
        except FetchError as error:
            error.url = error.url or question.url
            raise

    async def _robots_text(self, url: str, settings: FetchSettings) -> str | None:
        question = HttpRequest(
            url, headers={"User-Agent": settings.user_agent}, seconds=settings.answer_seconds,
            bytes_max=settings.robots_bytes_max, cut=True,
        )  # fmt: skip
        for _ in range(settings.redirects_max + 1):
            try:
                answer = await self._client.send(question)
                if answer.status in web.REDIRECTS:
                    location = answer.headers.get("location", "")
                    question = replace(question, url=web.redirected(question.url, location, elsewhere=True))
                    continue
            except (AddressRefused, NameUnknown, Trouble) as error:
                error.url = error.url or url
                raise
            except WebError:
                return None  # A redirect that is not followed is as good as no file (RFC 9309, 2.3.1.2).
            failure = failure_of(url, answer.status, answer.headers, time.time())
            if failure is None:
                return answer.body.decode("utf-8-sig", errors="replace")
            if isinstance(failure, Refused):
                return None
            raise failure
        return None


_OWN = frozenset({"User-Agent", "Accept-Language", "Accept", "If-None-Match", "If-Modified-Since"})
"""Headers that follow a redirect to another origin: validators are of the answer at the end of it."""


def _redirected(answer: web.HttpResponse) -> str:
    try:
        return web.redirected(answer.url, answer.headers.get("location", ""), elsewhere=True)
    except WebError as error:
        raise Refused(str(error), status=answer.status, url=answer.url) from None


def _conditions(validators: Mapping[str, str] | None) -> dict[str, str]:
    known = validators or {}
    named = {"If-None-Match": known.get("etag"), "If-Modified-Since": known.get("last_modified")}
    return {header: value for header, value in named.items() if value}


def _origin(url: str) -> str:
    try:
        parts = urlsplit(web.plain_url(url))
    except WebError as error:
        raise Refused(str(error)) from None
    return f"{parts.scheme}://{parts.netloc}"


def _shown(url: str) -> str:
    """Return an address in a message before it was checked."""
    try:
        return shown(web.plain_url(url))
    except WebError:
        return ascii(url[:100])


class LoopFetchers:
    """The fetchers of this process, one for each event loop."""

    def __init__(self, opener: Callable[[], Fetcher]) -> None:
        """Prepare; ``opener`` makes the fetcher of an event loop when it is first needed."""
        self._opener = opener
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, Fetcher] = WeakKeyDictionary()

    def here(self) -> Fetcher:
        """Return the fetcher of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = self._opener()
        return self._open[loop]

    async def close(self) -> None:
        """Close the fetcher of the running event loop; a later fetch opens another. For ``app.at_end``."""
        fetcher = self._open.pop(asyncio.get_running_loop(), None)
        if fetcher is not None:
            await fetcher.close()
