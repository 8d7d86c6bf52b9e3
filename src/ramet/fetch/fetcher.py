"""What the status of an answer means for who asked."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ramet import Transient
from ramet.fetch import client as web
from ramet.fetch.addresses import AddressRefused, NameUnknown, WebError
from ramet.fetch.client import Question, WebClient
from ramet.fetch.host_map import Mapped
from ramet.fetch.messages import NOT_MODIFIED, Answer, Request
from ramet.fetch.robots import Robots, Rules, token_of
from ramet.jobs.errors import JOBS_EXTRA, Busy, Fetched, Gone, Refused, TooLarge, Trouble
from ramet.jobs.settings import FetchSettings

TRY_AGAIN = frozenset({408, 425})
"""Of the 4xx, those that speak of the moment."""


def failure_of(url: str, status: int, headers: Mapping[str, str], now: float) -> Fetched | None:
    """The error that a status other than 2xx and 304 is; None for those.

    Args:
        headers: by lower-case name.
        now: Unix seconds; a date to come back at is told from it.
    """
    if 200 <= status < 300 or status == 304:
        return None
    said = f"{shown(url)} is answered with status {status}"
    named = "retry-after" in headers
    seconds = retry_after_seconds(headers.get("retry-after", ""), now)
    if status == 429 or (status == 503 and named):
        when = f", to come back in {seconds:g} s" if seconds is not None else ""
        return Busy(f"{said}: the server is busy{when}", seconds, status=status, url=url)
    if status in (404, 410):
        return Gone(f"{said}: there is nothing", status=status, url=url)
    if status >= 500 or status in TRY_AGAIN:
        return Trouble(f"{said}: the server is in trouble", status=status, url=url)
    if status in (401, 403):
        return Refused(f"{said}: the server lets nobody in who asks like this", status=status, url=url)
    return Refused(said, status=status, url=url)


def retry_after_seconds(text: str, now: float) -> float | None:
    """Seconds from now that a ``Retry-After`` names, at least 0; None where it cannot be read."""
    text = text.strip()[:60]
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return max(0.0, at.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def shown(url: str) -> str:
    """An address in a message: without its query, and not long."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}"[:200]


CONNECT_VARIABLE = "RAMET_JOBS_CONNECT"
"""Leads names of hosts elsewhere, to a proxy of one's own or a server of tests: ``HOST[:PORT]=ADDRESS:PORT``, several
with commas between them."""
CONNECTIONS_MAX = 100
"""At once in one process, over all hosts: servers that hang must not keep the others waiting.

How often one host is asked is its turn's matter.
"""
DEFAULTS = FetchSettings()

Before = Callable[[str], Awaitable[None]]
"""Called with each address that a redirect leads to, before it is asked."""


class Fetcher:
    """Asks servers. Belongs to one event loop."""

    def __init__(self, client: WebClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds that only grow, for how long rules of robots are known."""
        self._client = client
        self._robots = Robots(clock)

    async def fetch(
        self,
        request: Request | str,
        *,
        bytes_max: int,
        seconds: float | None = None,
        validators: Mapping[str, str] | None = None,
        robots: bool = False,
        settings: FetchSettings = DEFAULTS,
        before: Before | None = None,
    ) -> Answer:
        """Ask once, and follow redirects of a GET. Trying again is the caller's.

        Args:
            bytes_max: the most that the answer may have, decoded.
            seconds: the most that all of it may take; None for the setting.
            validators: what :attr:`Answer.validators` of an earlier answer gave; the answer may be ``unchanged`` then.
            robots: whether it is a page, so that robots.txt holds.
            before: see `Before`.

        Raises:
            Refused: it is not given or not to be fetched; `Gone` where there is nothing, `TooLarge` beyond the size.
            Trouble: no whole answer came, or an error of the server's own.
            Busy: the server asks to come back later.
        """
        request = Request(request) if isinstance(request, str) else request
        own = {"User-Agent": settings.user_agent, "Accept-Language": settings.languages}
        headers = {**own, **request.headers, **_conditions(validators)}
        limit = settings.answer_seconds if seconds is None else seconds
        question = Question(request.url, request.method, request.body, headers, limit, bytes_max)
        try:
            async with asyncio.timeout(limit):
                answer = await self._follow(question, settings, before, robots=robots)
        except TimeoutError:
            raise Trouble(f"{_shown(request.url)} gave no whole answer in {limit:g} s", url=request.url) from None
        if answer.status == NOT_MODIFIED and not validators:
            raise Trouble(f"{shown(answer.url)} says that nothing has changed, which nobody asked", status=304)
        return Answer(answer.url, answer.status, answer.headers, answer.body)

    async def rules(self, url: str, settings: FetchSettings = DEFAULTS) -> Rules:
        """What the robots.txt of an address' host says to us. Where it has none, everything is allowed.

        Raises:
            Trouble: it cannot be had just now, which means that nothing is fetched.
            Busy: the server asks to come back later.
            Refused: the address is one that nothing is fetched from.
        """

        async def read(address: str) -> str | None:
            return await self._robots_text(address, settings)

        token = token_of(settings.user_agent)
        return await self._robots.rules(_origin(url), token, settings.robots_seconds, read)

    def knows_rules(self, url: str, settings: FetchSettings = DEFAULTS) -> bool:
        """Whether :meth:`rules` would answer without asking the server."""
        return self._robots.known(_origin(url), token_of(settings.user_agent)) is not None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _follow(
        self, question: Question, settings: FetchSettings, before: Before | None, *, robots: bool
    ) -> web.Answer:
        for hop in range(settings.redirects_max + 1):
            if hop and before is not None:
                await before(question.url)
            if robots and not (await self.rules(question.url, settings)).allow(question.url):
                raise Refused(f"{_shown(question.url)} is not for robots, as its robots.txt says", url=question.url)
            answer = await self._sent(question)
            if answer.status not in web.REDIRECTS:
                failure = failure_of(answer.url, answer.status, answer.headers, time.time())
                if failure is not None:
                    raise failure
                return answer
            if question.method != "GET":
                raise Refused(f"{shown(answer.url)} redirects what was posted", status=answer.status, url=answer.url)
            question = replace(question, url=_redirected(answer))
        raise Refused(f"{_shown(question.url)} ends more than {settings.redirects_max} redirects", url=question.url)

    async def _sent(self, question: Question) -> web.Answer:
        try:
            return await self._client.send(question)
        except (WebError, Transient) as error:
            raise _in_our_words(error, question.url) from None

    async def _robots_text(self, url: str, settings: FetchSettings) -> str | None:
        question = Question(
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
            except (AddressRefused, NameUnknown, Transient) as error:
                raise _in_our_words(error, url) from None
            except WebError:
                return None  # A redirect to where nobody follows is as good as no file (RFC 9309, 2.3.1.2).
            failure = failure_of(url, answer.status, answer.headers, time.time())
            if failure is None:
                return answer.body.decode("utf-8-sig", errors="replace")
            if isinstance(failure, Refused):
                return None
            raise failure
        return None


def _redirected(answer: web.Answer) -> str:
    try:
        return web.redirected(answer.url, answer.headers.get("location", ""), elsewhere=True)
    except WebError as error:
        raise Refused(str(error), status=answer.status, url=answer.url) from None


def _in_our_words(error: Exception, url: str) -> Fetched:
    if isinstance(error, web.AnswerTooLarge):
        return TooLarge(str(error), url=url)
    if isinstance(error, WebError):
        return Refused(str(error), url=url)
    return Trouble(str(error), url=url)


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
    """An address in a message that nobody has looked at yet."""
    try:
        return shown(web.plain_url(url))
    except WebError:
        return ascii(url[:100])


def open_fetcher() -> Fetcher:
    """A fetcher as the environment says.

    Raises:
        UserError: a variable cannot be read, or the extra is not installed.
    """
    mapped = Mapped.parse(os.environ.get(CONNECT_VARIABLE, ""), CONNECT_VARIABLE)
    agent = DEFAULTS.user_agent
    return Fetcher(WebClient(user_agent=agent, extra=JOBS_EXTRA, connections_max=CONNECTIONS_MAX, mapped=mapped))


class Fetching:
    """What fetches in this process: one fetcher in each event loop."""

    def __init__(self) -> None:
        self.opener: Callable[[], Fetcher] = open_fetcher
        """How a fetcher is opened; tests may put their own here."""
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, Fetcher] = WeakKeyDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def here(self) -> Fetcher:
        """The fetcher of the running event loop, opened when it is first asked for."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = self.opener()
        return self._open[loop]

    async def close(self) -> None:
        """Close the fetcher of the running event loop; what comes later opens anew."""
        fetcher = self._open.pop(asyncio.get_running_loop(), None)
        if fetcher is not None:
            await fetcher.close()

    def close_soon(self) -> None:
        """For ``app.at_end``, which does not wait: close as soon as the event loop comes to it."""
        task = asyncio.get_running_loop().create_task(self.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


fetching = Fetching()


def fetcher() -> Fetcher:
    """The fetcher of the running event loop."""
    return fetching.here()
