"""Rate limits, and the time to come back, in the headers of an OpenAI-like answer."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, ServerFault, TooBusy
from ramet.llm.providers.base import RateLimit
from ramet.llm.refusals import Meaning, code_of, fault_text, meaning_of

_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def period_seconds(text: str) -> float | None:
    """Seconds in a period such as ``6m0s``, ``20ms``, ``1h2m3.5s`` or a bare number; None when it is none."""
    text = text.strip()
    if not text or len(text) > 40:
        return None
    if (number := _number(text)) is not None:
        return number
    parts = _PERIOD.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def rates_from(headers: Mapping[str, str]) -> tuple[RateLimit, ...]:
    """Return the limits, maybe none, that ``x-ratelimit-{limit,remaining,reset}-{requests,tokens}`` state."""
    found = []
    for of in ("requests", "tokens"):
        limit = _whole(headers.get(f"x-ratelimit-limit-{of}", ""))
        remaining = _whole(headers.get(f"x-ratelimit-remaining-{of}", ""))
        reset = period_seconds(headers.get(f"x-ratelimit-reset-{of}", ""))
        if limit is not None or remaining is not None:
            found.append(RateLimit(of, limit, remaining, reset))
    return tuple(found)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """In how many seconds the provider wants to be asked again, of whatever size; None when it does not say.

    Read in this order: ``retry-after-ms``, ``retry-after`` as a number or as a date, the reset of a limit that is
    used up. A negative number, as any other text that RFC 9110 does not have, counts as absent. A date is compared
    with the answer's own ``date``, so that a wrong clock here does no harm.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000.0
    said = headers.get("retry-after", "").strip()
    seconds = _number(said)
    if seconds is not None:
        return seconds
    if said:
        until = _timestamp(said)
        if until is not None:
            return max(until - (_timestamp(headers.get("date", "")) or time.time()), 0.0)
    resets = [rate.reset_seconds for rate in rates_from(headers) if rate.remaining == 0]
    return max((reset for reset in resets if reset is not None), default=None)


def _number(text: str) -> float | None:
    """Return a number of digits (RFC 9110), or of digits with a fraction, as some servers send; else None."""
    text = text.strip()
    if len(text) > 15 or re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is None:
        return None
    return float(text)


def _whole(text: str) -> int | None:
    text = text.strip()
    # Some servers say -1 for "no limit": that states none.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _timestamp(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


_CODES = {413: "too_large", 422: "invalid_request", 400: "invalid_request"}


class NotFound(ProviderError):
    """The provider does not know the id that it was asked about."""


class Conflict(NotSent):
    """The submission is in another state than the request needs: it may have ended."""


class FileNotThere(NotSent):
    """A file that was just uploaded is not there yet."""


_LATER = frozenset({408, 409, 425})
_NOT_ALLOWED = {
    401: "refuses the key: check it",
    402: "says that the account has no money left",
    429: "says that the account has no quota left",
    403: "does not allow this key to do that: check its rights",
    404: "has no such model or address",
}


def fault_of(
    status: int, headers: Mapping[str, str], body: Any, *, host: str, key: str | None, submit: bool, batch: bool = False
) -> ProviderError:
    """Return the meaning of an answer other than 2xx, by `ramet.llm.refusals` and by whether it may have been accepted.

    Args:
        status: HTTP's.
        headers: by lower-case name.
        body: the ``error`` object of the answer, else its JSON, else its text.
        host: whom the messages name.
        key: is not repeated.
        submit: whether the call hands a request over.
        batch: whether that request creates a batch.
    """
    if isinstance(body, list) and body:  # Google's wraps its errors in one.
        body = body[0].get("error", body[0]) if isinstance(body[0], Mapping) else body[0]
    words = fault_text(body, key)
    if submit and batch and _speaks_of_file(body) and 400 <= status < 500:
        return FileNotThere(f"{host} does not find the file that it just took ({status}): {words}")
    meaning = meaning_of(body, status, batch=submit and batch)
    if meaning is Meaning.ACCOUNT and (submit or status != 404):
        return NotAllowed(f"{host} {_NOT_ALLOWED.get(status, 'does not let this account do it')} ({status}): {words}")
    after = retry_after_seconds(headers)
    if meaning is Meaning.BUSY:
        return TooBusy(f"{host} is busy (HTTP {status}): {words}", after)
    if not submit and status in (400, 409):
        return Conflict(f"{host} answered {status}: {words}")
    if status in _LATER or (status == 500 and not (submit and batch)):
        if after is not None:
            return TooBusy(f"{host} answered {status}: {words}", after)
        return (ServerFault if status == 500 else NotSent)(f"{host} answered {status}: {words}")
    if 300 <= status < 400:
        return NotAllowed(f"{host} sends elsewhere ({status}), which is not followed: give the address that it ends at")
    if status in (501, 505):
        return NotAllowed(f"{host} cannot do that ({status}): {words}")
    if status >= 500:
        return (Ambiguous if submit else NotSent)(f"{host} answered {status}: {words}")
    if submit:
        code = code_of(body) or _CODES.get(status, "refused")
        return Refused(f"{host} refused the request ({status}): {words}", code)
    if status == 404 and isinstance(body, Mapping):
        return NotFound(f"{host} does not know it: {words}")
    return NotSent(f"{host} answered {status}: {words}")


def _speaks_of_file(body: object) -> bool:
    """Return whether a batch was refused since its file, just uploaded, is not visible everywhere yet."""
    if not isinstance(body, Mapping):
        return False
    words = str(body.get("message", "")).lower()
    missing = any(phrase in words for phrase in ("not found", "no such", "not exist", "not find", "not ready"))
    return missing and (body.get("param") == "input_file_id" or "file" in words)
