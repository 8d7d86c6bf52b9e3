"""Pace of requests to a host over all workers, and what tasks do when that was too much for it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, WeakValueDictionary

from ramet import App, ClaimLost, TransactionRefused
from ramet.fetch.addresses import WebError
from ramet.fetch.client import plain_url
from ramet.fetch.errors import BusyAnswer, HostBusy, HostTurnLater, Refused, Trouble
from ramet.fetch.fetcher import LoopFetchers
from ramet.fetch.host_gate import LOOK_SECONDS, slot_statements
from ramet.fetch.messages import Request, Response
from ramet.fetch.robots import RobotsStore
from ramet.fetch.settings import FetchSettings
from ramet.fetch.tables import HasTables

REQUESTS_PER_SECOND = 2.0
"""That a host is asked in the long run; what Lever asks for outright. `ramet limit resource` changes it for a host."""
BURST = 4.0
CALL_SECONDS_MIN = 0.5
"""Least seconds that must be left for a server to be asked."""
LEASE_MARGIN_SECONDS = 5.0
"""Seconds by which the lease of a place is longer than an answer may take."""
_SLOTS = slot_statements("fetch_host_slots")
_DROP_FREE = "DELETE FROM fetch_host_slots WHERE holder = '' AND host <> ?"


class HasRates(HasTables, Protocol):
    """The part of a handler's context that fetching uses; :class:`ramet.Context` has it."""

    @property
    def key(self) -> str:
        """The task's key."""
        ...

    @property
    def call_seconds(self) -> float:
        """Seconds that one call may take now."""
        ...

    @property
    def remaining_seconds(self) -> float:
        """Seconds left for the handler."""
        ...

    def take(self, amounts: Mapping[str, float], /) -> Awaitable[float]:
        """Take units of rates."""
        ...

    def adapt(
        self,
        name: str,
        /,
        *,
        limit_per_minute: float | None = None,
        remaining: float | None = None,
        reset_seconds: float | None = None,
    ) -> Awaitable[None]:
        """Write down what a server said of its limits."""
        ...


class HostPace:
    """Fetches from tasks, each host at a pace that all workers of a database share."""

    def __init__(self, fetchers: LoopFetchers, prefix: str, *, concurrency: int | None = None) -> None:
        """Ask nothing yet.

        Args:
            prefix: begins the name of each host's resource; the host follows.
            concurrency: requests at once to a host, over all workers; needs the tables of :mod:`ramet.fetch.tables`.
                None for no limit.
        """
        self._fetchers = fetchers
        self._prefix = prefix
        self._slots = None if concurrency is None else HostSlots(concurrency)

    def declare(self, app: App, *, requests_per_second: float = REQUESTS_PER_SECOND, burst: float = BURST) -> None:
        """Declare the rate of every host, and close the connections when a worker ends."""
        app.resource(f"{self._prefix}*", rate_per_second=requests_per_second, burst=burst, breaker_failures=0)
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

    async def turn(self, ctx: HasRates, url: str) -> float:
        """Take a turn at an address' host.

        Returns:
            0.0: ask now. Else nothing was taken, and this is the number of seconds until there may be one.

        Raises:
            Refused: it is not an address.
        """
        return await ctx.take({self.resource_of(url): 1.0})

    async def ask(
        self,
        ctx: HasRates,
        request: Request | str,
        settings: FetchSettings,
        *,
        bytes_max: int,
        validators: Mapping[str, str] | None = None,
        robots: bool = False,
        robots_store: RobotsStore | None = None,
        media_types: Sequence[str] = (),
        judge: Callable[[str], None] | None = None,
    ) -> Response:
        """Fetch from a task when it is the host's turn; see :meth:`Fetcher.fetch`.

        A host that is busy is left alone by all workers until the time that it named, or the setting's, and asked half
        as often afterwards for a while.

        Args:
            judge: called with each address that a redirect leads to, before it is asked; its error ends the fetch.

        Raises:
            HostBusy, HostTurnLater: the server is busy, or our turn is too far off: the task comes back, at no cost.
            Refused, Trouble: see :mod:`ramet.fetch.errors`.
        """
        request = Request(request) if isinstance(request, str) else request
        if ctx.call_seconds < CALL_SECONDS_MIN:
            # Coming back later would end it never: a task's own time does not run while it waits for a turn.
            raise Trouble(f"less than {CALL_SECONDS_MIN:g} s is left of the task's time: {request.url} is not asked")
        visit = _Visit(self, ctx, settings)
        fetcher = self._fetchers.here()

        async def hop(url: str) -> None:
            if judge is not None:
                judge(url)
            await visit.move(url)

        try:
            if robots:
                rules = await fetcher.rules(request.url, settings, store=robots_store, asking=visit.asking)
                delay = min(rules.crawl_delay or 0.0, settings.crawl_delay_seconds_max)
                if delay > 0.0:
                    # Said each time: at most one turn is in store then, so that none follows sooner than was asked for.
                    resource = self.resource_of(request.url)
                    await ctx.adapt(resource, limit_per_minute=60.0 / delay, remaining=1)
            async with visit.asking(request.url):
                return await fetcher.fetch(
                    request, bytes_max=bytes_max, seconds=min(settings.answer_seconds, ctx.call_seconds),
                    validators=validators, robots=robots, robots_store=robots_store, media_types=media_types,
                    settings=settings, before=hop,
                )  # fmt: skip
        except BusyAnswer as busy:
            seconds = settings.busy_seconds if busy.seconds is None else busy.seconds
            seconds = min(max(1.0, seconds), settings.busy_seconds_max)
            resource = self.resource_of(busy.url or request.url)
            # The others need not find out one by one.
            await ctx.adapt(resource, remaining=0, reset_seconds=seconds)
            raise HostBusy(seconds, resource) from busy

    async def wait(self, ctx: HasRates, url: str, seconds_max: float) -> None:
        """Take a turn at an address' host, and wait for it where that is short.

        Args:
            seconds_max: what is short, unless it is more than a quarter of the time that the task has left.

        Raises:
            HostTurnLater: it is not short.
        """
        while (seconds := await self.turn(ctx, url)) > 0.0:
            if seconds > min(seconds_max, ctx.remaining_seconds / 4.0):
                raise HostTurnLater(seconds, self._host_of(url))
            await asyncio.sleep(seconds)

    async def enter(self, ctx: HasRates, url: str, settings: FetchSettings) -> Callable[[], Awaitable[None]]:
        """Take one of the places at an address' host; returns what gives it back.

        Raises:
            HostTurnLater: none was free for as long as a turn is waited for.
        """
        if self._slots is None:
            return _nothing
        return await self._slots.enter(ctx, self._host_of(url), settings)

    def _host_of(self, url: str) -> str:
        return self.resource_of(url).removeprefix(self._prefix)


async def _nothing() -> None:
    """Give nothing back."""


class _Visit:
    """One fetch of a task, as far as it asks hosts: a turn and a place at each that it comes to."""

    def __init__(self, pace: HostPace, ctx: HasRates, settings: FetchSettings) -> None:
        self._pace, self._ctx, self._settings = pace, ctx, settings
        self._resource = ""
        self._leave: Callable[[], Awaitable[None]] = _nothing

    @asynccontextmanager
    async def asking(self, url: str) -> AsyncIterator[None]:
        """Wait for a turn and a place at a host, and give the place back."""
        await self._enter(url, self._settings.turn_seconds_max)
        try:
            yield
        finally:
            leave, self._leave = self._leave, _nothing
            await leave()

    async def move(self, url: str) -> None:
        """Go on to another host, where a redirect leads; the time of the answer runs already."""
        if self._pace.resource_of(url) != self._resource:
            leave, self._leave = self._leave, _nothing
            await leave()
            await self._enter(url, min(self._settings.turn_seconds_max, self._settings.answer_seconds / 5.0))

    async def _enter(self, url: str, seconds_max: float) -> None:
        await self._pace.wait(self._ctx, url, seconds_max)
        self._leave = await self._pace.enter(self._ctx, url, self._settings)
        self._resource = self._pace.resource_of(url)


_Lines = WeakValueDictionary[str, asyncio.Semaphore]
"""Locks by host; each exists for as long as a fetch holds it or waits for it."""


class HostSlots:
    """At most a fixed number of requests to a host at once, over all workers of a database.

    A place is a row under a lease that is longer than an answer may take, so that a killed worker's comes back.
    """

    def __init__(self, concurrency: int) -> None:
        """At most ``concurrency`` at once, 1 or more."""
        if concurrency < 1:
            raise ValueError(f"concurrency of a host is {concurrency}: give at least 1, or None for no limit")
        self._concurrency = concurrency
        # Of this process only a bounded number look for a place; hundreds of others would look in vain all the time.
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lines] = WeakKeyDictionary()

    async def enter(self, ctx: HasRates, host: str, settings: FetchSettings) -> Callable[[], Awaitable[None]]:
        """Take a place; returns what gives it back.

        Raises:
            HostTurnLater: none was free for as long as a turn is waited for, or the task has time.
        """
        lines = self._lines.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        line, holder = lines.setdefault(host, asyncio.Semaphore(self._concurrency)), uuid.uuid4().hex
        seconds = min(settings.turn_seconds_max, ctx.remaining_seconds / 4.0)
        try:
            async with asyncio.timeout(seconds):
                await line.acquire()
        except TimeoutError:
            raise HostTurnLater(max(1.0, seconds), host) from None

        async def leave() -> None:
            line.release()
            # A task that lost its claim can write no more: the place comes back with its lease.
            with suppress(ClaimLost, TransactionRefused):
                await ctx.transaction([(_SLOTS.give_back, (host, holder))])

        try:
            await self._take(ctx, host, holder, seconds, settings.answer_seconds + LEASE_MARGIN_SECONDS)
        except BaseException:
            await leave()
            raise
        return leave

    async def _take(self, ctx: HasRates, host: str, holder: str, seconds: float, lease_seconds: float) -> None:
        pause, longest = LOOK_SECONDS
        waited = 0.0
        while not await self._taken(ctx, host, holder, lease_seconds):
            if waited >= seconds:
                raise HostTurnLater(max(1.0, seconds), host)
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, longest)

    async def _taken(self, ctx: HasRates, host: str, holder: str, lease_seconds: float) -> bool:
        now = ctx.now
        take = (_SLOTS.take, (holder, now + lease_seconds, host, now, host, now, self._concurrency))
        [found] = await ctx.transaction([take])
        if found.row_count:
            return True
        rows = await ctx.read("SELECT COUNT(*) FROM fetch_host_slots WHERE host = ?", (host,))
        if int(rows[0][0]) < self._concurrency:
            adds = [(_SLOTS.add, (host, slot)) for slot in range(self._concurrency)]
            # One new host in 256 pays for taking away the places of all that are not asked now.
            drops = [(_DROP_FREE, (host,))] if holder.startswith("00") else []
            *_, found = await ctx.transaction([*drops, *adds, take])
        return bool(found.row_count)
