"""What the headers of Anthropic's answers tell about rate limits: times of reset are moments, not periods."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from datetime import datetime

from ramet.llm.providers.base import Rate


def rates_from(headers: Mapping[str, str]) -> tuple[Rate, ...]:
    """The limits in ``anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}``; maybe none.

    Of tokens it is the limit that is narrowest just now. A reset is compared with the answer's own ``date``, so that a
    wrong clock here does no harm.
    """
    found = []
    for of in ("requests", "tokens"):
        limit, remaining = (_whole(headers.get(f"anthropic-ratelimit-{of}-{what}", "")) for what in _COUNTS)
        if limit is not None or remaining is not None:
            reset = _moment(headers.get(f"anthropic-ratelimit-{of}-reset", ""))
            found.append(Rate(of, limit, remaining, None if reset is None else max(reset - _now(headers), 0.0)))
    return tuple(found)


_COUNTS = ("limit", "remaining")


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def _now(headers: Mapping[str, str]) -> float:
    try:
        return email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return time.time()
