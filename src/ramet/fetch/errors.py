"""The errors of a fetch, and which of them a status means."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from ramet import Permanent, RetryAfter, Transient

FETCH_EXTRA = "'ramet[fetch]'"
"""The extra that installs what fetching needs, quoted for a shell."""
RETRIED_STATUSES = frozenset({408, 425})
"""Statuses of 4xx that speak of the moment."""


class FetchError(Exception):
    """Base of all errors of a fetch. The message is one line.

    Args:
        status: HTTP's, where the server sent one.
        url: the address that answered, after redirects.
    """

    def __init__(self, message: str, *, status: int | None = None, url: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.url = url


class Refused(Permanent, FetchError):
    """Asking again gives the same: a status of 4xx, robots.txt, an address that is not fetched, an endless redirect."""


class Gone(Refused):
    """There is nothing at this address (404, 410)."""


class RobotsRefused(Refused):
    """The host's robots.txt does not allow it."""


class TooLarge(Refused):
    """The answer is larger than is read."""


class WrongType(Refused):
    """The answer has another content type than was asked for; its body is not read."""


class Trouble(Transient, FetchError):
    """No complete answer came, or one that speaks of an error of the server's own."""


class ComeBackLater(RetryAfter, FetchError):
    """The task comes back after a time, and loses no attempt: it is put off (a snooze), which is not a failure."""


class HostBusy(ComeBackLater):
    """The server asks to come back later (429, or 503 with a time). All workers leave its host alone for that time."""


class HostTurnLater(ComeBackLater):
    """Other tasks ask this host as well, and the turn of this one is too far off to wait for it inside the task.

    Its reason names no resource, so that the host is not paused for the others.
    """

    def __init__(self, seconds: float, host: str) -> None:
        super().__init__(seconds)
        self.host = host

    def __str__(self) -> str:
        return f"the turn at {self.host} comes in {self.seconds:.0f} s"


class BusyAnswer(FetchError):
    """Error that :class:`ramet.fetch.fetcher.Fetcher` raises for a busy server, before it is known which code waits:
    `HostBusy`.
    """

    def __init__(self, message: str, seconds: float | None = None, *, status: int | None = None, url: str = "") -> None:
        super().__init__(message, status=status, url=url)
        self.seconds = seconds
        """The time that the server named; None when it named none."""


def failure_of(url: str, status: int, headers: Mapping[str, str], now: float) -> FetchError | None:
    """Return the error that a status means; None for 2xx and 304.

    Args:
        headers: by lower-case name.
        now: Unix seconds, which a date in `Retry-After` is compared with.
    """
    if 200 <= status < 300 or status == 304:
        return None
    said = f"{shown(url)} is answered with status {status}"
    seconds = retry_after_seconds(headers.get("retry-after", ""), now)
    if status == 429 or (status == 503 and seconds is not None):
        when = f", to come back in {seconds:g} s" if seconds is not None else ""
        return BusyAnswer(f"{said}: the server is busy{when}", seconds, status=status, url=url)
    if status in (404, 410):
        return Gone(f"{said}: there is nothing", status=status, url=url)
    if status >= 500 or status in RETRIED_STATUSES:
        return Trouble(f"{said}: the server is in trouble", status=status, url=url)
    if status in (401, 403):
        return Refused(f"{said}: the server refuses such requests", status=status, url=url)
    return Refused(said, status=status, url=url)


def retry_after_seconds(text: str, now: float) -> float | None:
    """Return the seconds from now that a ``Retry-After`` names, at least 0, whole seconds or a date (RFC 9110, 10.2.3).

    None where it cannot be read: a negative number or a fraction is as good as no header.
    """
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
    """Return an address for a message: without its query, at most 200 characters."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}"[:200]
