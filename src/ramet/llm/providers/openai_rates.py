"""What the headers of an OpenAI-like answer tell about rate limits, and when to come back."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping

from ramet.llm.providers.base import Rate

_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def period_seconds(text: str) -> float | None:
    """Seconds in a period such as ``6m0s``, ``20ms``, ``1h2m3.5s`` or a bare number; None when it is none."""
    text = text.strip()
    if not text or len(text) > 40:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return _finite(text)
    parts = _PERIOD.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def rates_from(headers: Mapping[str, str]) -> tuple[Rate, ...]:
    """The limits that an answer told, in ``x-ratelimit-{limit,remaining,reset}-{requests,tokens}``; maybe none."""
    found = []
    for of in ("requests", "tokens"):
        limit = _whole(headers.get(f"x-ratelimit-limit-{of}", ""))
        remaining = _whole(headers.get(f"x-ratelimit-remaining-{of}", ""))
        reset = period_seconds(headers.get(f"x-ratelimit-reset-{of}", ""))
        if limit is not None or remaining is not None:
            found.append(Rate(of, limit, remaining, reset))
    return tuple(found)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """In how many seconds the provider wants to be asked again, of whatever size; None when it does not say.

    Read in this order: ``retry-after-ms``, ``retry-after`` as a number or as a date, the reset of a limit that is
    used up. A date is compared with the answer's own ``date``, so that a wrong clock here does no harm.
    """
    milliseconds = _finite(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000.0
    told = headers.get("retry-after", "").strip()
    seconds = _finite(told)
    if seconds is not None:
        return seconds
    if told:
        until = _timestamp(told)
        if until is not None:
            return max(until - (_timestamp(headers.get("date", "")) or time.time()), 0.0)
    resets = [rate.reset_seconds for rate in rates_from(headers) if rate.remaining == 0]
    return max((reset for reset in resets if reset is not None), default=None)


def _finite(text: str) -> float | None:
    """A number of at least 0; nothing else."""
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None


def _whole(text: str) -> int | None:
    text = text.strip()
    # Some servers say -1 for "no limit": that is none that was told.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _timestamp(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
