"""What the status of an answer means for who asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from ramet.jobs.errors import Busy, Fetched, Gone, Refused, Trouble

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
