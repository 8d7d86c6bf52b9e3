"""How often a host is asked, over all workers, and what tasks do when it says that this was too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ramet import App, Context, RetryAfter
from ramet.fetch.addresses import WebError
from ramet.fetch.client import plain_url
from ramet.fetch.fetcher import Fetcher, fetcher, fetching
from ramet.fetch.messages import Answer, Request
from ramet.jobs.errors import Busy, Refused
from ramet.jobs.kinds import HOST_RESOURCE
from ramet.jobs.settings import FetchSettings

REQUESTS_PER_SECOND = 2.0
"""That a host is asked in the long run; what Lever asks for outright. `ramet limit resource` changes it for a host."""
BURST = 4.0
CALL_SECONDS_MIN = 0.5
"""With less than this left, a server is not asked."""


class NotYet(RetryAfter):
    """Others ask this host as well, and our turn is too far off to wait for here. Costs no attempt, pauses nobody."""

    def __init__(self, seconds: float, host: str) -> None:
        super().__init__(seconds)
        self.host = host

    def __str__(self) -> str:
        return f"the turn at {self.host} comes in {self.seconds:.0f} s"


def declare(app: App) -> None:
    """Declare what hosts bear, and close connections when a worker ends."""
    app.resource(f"{HOST_RESOURCE}*", rate_per_second=REQUESTS_PER_SECOND, burst=BURST, breaker_failures=0)
    app.at_end(fetching.close_soon)


def resource_of(url: str) -> str:
    """The resource of an address' host.

    Raises:
        Refused: it is no address.
    """
    try:
        return f"{HOST_RESOURCE}{urlsplit(plain_url(url)).hostname}"
    except WebError as error:
        raise Refused(str(error)) from None


async def turn(ctx: Context, url: str) -> float:
    """Take a turn at an address' host.

    Returns:
        0.0: ask now. Else nothing was taken, and there may be a turn in so many seconds.

    Raises:
        Refused: it is no address.
    """
    return await ctx.take({resource_of(url): 1.0})


async def wait_for_turn(ctx: Context, url: str, seconds_max: float) -> None:
    """Take a turn at an address' host; waits for it where that is short.

    Args:
        seconds_max: what is short, unless it is more than a quarter of the time that the task has left.

    Raises:
        NotYet: it is not.
        Refused: it is no address.
    """
    while (seconds := await turn(ctx, url)) > 0.0:
        if seconds > min(seconds_max, ctx.remaining_seconds / 4.0):
            raise NotYet(seconds, resource_of(url).removeprefix(HOST_RESOURCE))
        await asyncio.sleep(seconds)


async def ask(
    ctx: Context,
    request: Request | str,
    settings: FetchSettings,
    *,
    bytes_max: int,
    validators: Mapping[str, str] | None = None,
    robots: bool = False,
    judge: Callable[[str], None] | None = None,
) -> Answer:
    """Fetch from a task when it is the host's turn; see :meth:`Fetcher.fetch`.

    A host that is busy is left alone by all workers until the time that it named, or the setting's, and asked half as
    often afterwards for a while.

    Args:
        judge: called with each address that a redirect leads to; what it raises ends the fetch before that is asked.

    Raises:
        RetryAfter: the server is busy, or (`NotYet`) our turn is too far off: the task comes back, at no cost.
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.jobs.errors`.
    """
    request = Request(request) if isinstance(request, str) else request
    host = resource_of(request.url)

    async def hop(url: str) -> None:
        if judge is not None:
            judge(url)
        if resource_of(url) != host:
            # The time of the answer runs already.
            await wait_for_turn(ctx, url, min(settings.turn_seconds_max, settings.answer_seconds / 5.0))

    _check_time(ctx, host)
    asking = fetcher()
    try:
        if robots:
            await _heed(ctx, asking, request.url, settings)
        await wait_for_turn(ctx, request.url, settings.turn_seconds_max)
        return await asking.fetch(
            request, bytes_max=bytes_max, seconds=min(settings.answer_seconds, ctx.call_seconds),
            validators=validators, robots=robots, settings=settings, before=hop,
        )  # fmt: skip
    except Busy as busy:
        seconds = settings.busy_seconds if busy.seconds is None else busy.seconds
        seconds = min(max(1.0, seconds), settings.busy_seconds_max)
        resource = resource_of(busy.url or request.url)
        # The others need not find out one by one.
        await ctx.adapt(resource, remaining=0, reset_seconds=seconds)
        raise RetryAfter(seconds, resource) from busy


def _check_time(ctx: Context, host: str) -> None:
    """When a task's own time is over, that is nobody's failure: coming back ends it by its deadline.

    Raises:
        NotYet: it is.
    """
    if ctx.call_seconds < CALL_SECONDS_MIN:
        raise NotYet(1.0, host.removeprefix(HOST_RESOURCE))


async def _heed(ctx: Context, asking: Fetcher, url: str, settings: FetchSettings) -> None:
    """Learn a host's robots.txt at a turn of its own, and go as slowly as it asks for."""
    if not asking.knows_rules(url, settings):
        await wait_for_turn(ctx, url, settings.turn_seconds_max)
    rules = await asking.rules(url, settings)
    delay = min(rules.crawl_delay or 0.0, settings.crawl_delay_seconds_max)
    if delay > 0.0:
        # Told each time: at most one turn is in store then, so that none follows another sooner than was asked for.
        await ctx.adapt(resource_of(url), limit_per_minute=60.0 / delay, remaining=1)
