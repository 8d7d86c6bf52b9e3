"""Pages and answers of boards, fetched from tasks: at the host's pace, within the settings, from no stopped host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ramet import Context
from ramet.fetch.errors import ComeBackLater, HostBusy, Refused
from ramet.fetch.messages import Request, Response
from ramet.jobs.app import hosts
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.kinds import HOST_RESOURCE
from ramet.jobs.matching.stop_list import stopped_host
from ramet.jobs.settings import JobsSettings

NO_PAGES = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/octet-stream")
"""Beginnings of media types without text to read."""
HOSTS_MAX = 1_000
"""Busy hosts that a process remembers."""


class StillBusy(Refused):
    """A server was busy for longer than a run waits for it; the next run asks again."""


class _BusySince(NamedTuple):
    """Time since when a host has been busy, as far as this process knows."""

    since: float
    until: float
    """The moment for which it asked last."""


class BusyHosts:
    """Times since when hosts have been busy, so that a run does not wait without end for one that always is."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _BusySince] = {}
        """Busy hosts, by database and host."""

    def answered(self, place: str, host: str) -> None:
        """Note that a host has answered."""
        self._known.pop((place, host), None)

    def may_wait(self, place: str, host: str, later: ComeBackLater, now: float, seconds_max: float) -> bool:
        """Return whether a task waits for a host: not where that makes more than `seconds_max` seconds in all.

        A turn of our own at a host that answers is waited for however often it is put off, unless it is that far off.
        """
        known = self._known.get((place, host))
        if known is not None and now > known.until + seconds_max:
            known = None  # Of an earlier run; what happened since then is not known.
        since = now if known is None else known.since
        if isinstance(later, HostBusy):
            if len(self._known) >= HOSTS_MAX:
                self._known.clear()
            self._known[place, host] = _BusySince(since, now + later.seconds)
        return now + later.seconds - since <= seconds_max


busy_hosts = BusyHosts()


def reads_html(instruction: Instruction) -> bool:
    """Return whether the list is on a page for people."""
    return instruction.type in ("html", "jsonld") or instruction.embedded is not None


def content_type(answer: Response) -> str:
    """Return the media type with its parameters: the encoding may be named there alone."""
    return answer.headers.get("content-type", "")


async def page(ctx: Context, url: str, settings: JobsSettings) -> Response:
    """Return a page that people read; robots.txt is kept to.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    answer = await _asked(ctx, Request(url), settings, settings.fetch.page_bytes_max, None, robots=True)
    if answer.media_type.startswith(NO_PAGES):
        raise Refused(f"{url[:200]} is not a page but {answer.media_type[:60]}")
    return answer


async def board(
    ctx: Context, request: Request, settings: JobsSettings, validators: Mapping[str, str] | None = None, *, html: bool
) -> Response:
    """Return an answer of a board's interface; with ``html`` it is one of its pages, for which robots.txt holds.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    return await _asked(ctx, request, settings, settings.fetch.list_bytes_max, validators, robots=html)


async def _asked(
    ctx: Context,
    request: Request,
    settings: JobsSettings,
    bytes_max: int,
    validators: Mapping[str, str] | None,
    *,
    robots: bool,
) -> Response:
    def judge(url: str) -> None:
        refused = stopped_host(url, settings.stop)
        if refused is not None:
            raise Refused(refused, url=url)

    judge(request.url)
    place, host = ctx.client.place, hosts.resource_of(request.url)
    try:
        answer = await hosts.ask(
            ctx, request, settings.fetch, bytes_max=bytes_max, validators=validators, robots=robots, judge=judge
        )
    except ComeBackLater as later:
        # A task whose own time is over comes back a second later, whatever the host does.
        if busy_hosts.may_wait(place, host, later, ctx.now, settings.run.busy_seconds):
            raise
        raise StillBusy(_busy_words(host, later), url=request.url) from later
    busy_hosts.answered(place, host)
    return answer


def _busy_words(host: str, later: ComeBackLater) -> str:
    name = host.removeprefix(HOST_RESOURCE)
    return f"busy: {name} asks to come back in {later.seconds:.0f} s; the next run asks again"
