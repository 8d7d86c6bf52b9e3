"""How often a host is asked, over all workers, and what tasks do when it says that this was too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ramet import App, Context, RetryAfter
from ramet.fetch.addresses import WebError
from ramet.fetch.client import plain_url
from ramet.fetch.errors import Busy, Refused
from ramet.fetch.fetcher import Fetcher, LoopFetchers
from ramet.fetch.messages import Request, Response
from ramet.fetch.settings import FetchSettings

REQUESTS_PER_SECOND = 2.0
"""That a host is asked in the long run; what Lever asks for outright. `ramet limit resource` changes it for a host."""
BURST = 4.0
CALL_SECONDS_MIN = 0.5
"""With less than this left, a server is not asked."""


class HostTurnLater(RetryAfter):
    """Others ask this host as well, and our turn is too far off to wait for here. Costs no attempt, pauses no queue."""

    def __init__(self, seconds: float, host: str) -> None:
        super().__init__(seconds)
        self.host = host

    def __str__(self) -> str:
        return f"the turn at {self.host} comes in {self.seconds:.0f} s"


class HostPace:
    """Fetches from tasks, each host at a pace that all workers of a database share."""

    def __init__(self, fetchers: LoopFetchers, prefix: str) -> None:
        """``prefix`` begins the name of each host's resource; the host follows."""
        self._fetchers = fetchers
        self._prefix = prefix

    def declare(self, app: App) -> None:
        """Declare the rate of every host, and close the connections when a worker ends."""
        app.resource(f"{self._prefix}*", rate_per_second=REQUESTS_PER_SECOND, burst=BURST, breaker_failures=0)
        app.at_end(self._fetchers.close)

    def resource_of(self, url: str) -> str:
        """Return the resource of an address' host.

        Raises:
            Refused: it is not an address.
        """
        try:
            return f"{self._prefix}{urlsplit(plain_url(url)).hostname}"
        except WebError as error:
            raise Refused(str(error)) from None

    async def turn(self, ctx: Context, url: str) -> float:
        """Take a turn at an address' host.

        Returns:
            0.0: ask now. Else nothing was taken, and there may be a turn in so many seconds.

        Raises:
            Refused: it is not an address.
        """
        return await ctx.take({self.resource_of(url): 1.0})

    async def ask(
        self,
        ctx: Context,
        request: Request | str,
        settings: FetchSettings,
        *,
        bytes_max: int,
        validators: Mapping[str, str] | None = None,
        robots: bool = False,
        judge: Callable[[str], None] | None = None,
    ) -> Response:
        """Fetch from a task when it is the host's turn; see :meth:`Fetcher.fetch`.

        A host that is busy is left alone by all workers until the time that it named, or the setting's, and asked half
        as often afterwards for a while.

        Args:
            judge: called with each address that a redirect leads to, before it is asked; its error ends the fetch.

        Raises:
            RetryAfter: the server is busy, or (`HostTurnLater`) our turn is too far off: the task comes back, at no
            cost.
            Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        """
        request = Request(request) if isinstance(request, str) else request
        host = self.resource_of(request.url)

        async def hop(url: str) -> None:
            if judge is not None:
                judge(url)
            if self.resource_of(url) != host:
                # The time of the answer runs already.
                await self._wait(ctx, url, min(settings.turn_seconds_max, settings.answer_seconds / 5.0))

        if ctx.call_seconds < CALL_SECONDS_MIN:
            # The task's own time is over, which is not a failure: coming back ends it by its deadline.
            raise HostTurnLater(1.0, host.removeprefix(self._prefix))
        fetcher = self._fetchers.here()
        try:
            if robots:
                await self._heed(ctx, fetcher, request.url, settings)
            await self._wait(ctx, request.url, settings.turn_seconds_max)
            return await fetcher.fetch(
                request, bytes_max=bytes_max, seconds=min(settings.answer_seconds, ctx.call_seconds),
                validators=validators, robots=robots, settings=settings, before=hop,
            )  # fmt: skip
        except Busy as busy:
            seconds = settings.busy_seconds if busy.seconds is None else busy.seconds
            seconds = min(max(1.0, seconds), settings.busy_seconds_max)
            resource = self.resource_of(busy.url or request.url)
            # The others need not find out one by one.
            await ctx.adapt(resource, remaining=0, reset_seconds=seconds)
            raise RetryAfter(seconds, resource) from busy

    async def _wait(self, ctx: Context, url: str, seconds_max: float) -> None:
        """Take a turn at an address' host, and wait for it where that is short.

        Args:
            seconds_max: what is short, unless it is more than a quarter of the time that the task has left.

        Raises:
            HostTurnLater: it is not short.
        """
        while (seconds := await self.turn(ctx, url)) > 0.0:
            if seconds > min(seconds_max, ctx.remaining_seconds / 4.0):
                raise HostTurnLater(seconds, self.resource_of(url).removeprefix(self._prefix))
            await asyncio.sleep(seconds)

    async def _heed(self, ctx: Context, fetcher: Fetcher, url: str, settings: FetchSettings) -> None:
        """Learn a host's robots.txt at a turn of its own, and go as slowly as it asks for."""
        if not fetcher.knows_rules(url, settings):
            await self._wait(ctx, url, settings.turn_seconds_max)
        rules = await fetcher.rules(url, settings)
        delay = min(rules.crawl_delay or 0.0, settings.crawl_delay_seconds_max)
        if delay > 0.0:
            # Said each time: at most one turn is in store then, so that none follows sooner than was asked for.
            await ctx.adapt(self.resource_of(url), limit_per_minute=60.0 / delay, remaining=1)
