"""What the headers of an OpenAI-like answer tell about rate limits, and when to come back."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any

from ramet.commands.errors import one_line
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.providers.base import RateLimit

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


def rates_from(headers: Mapping[str, str]) -> tuple[RateLimit, ...]:
    """The limits that an answer told, in ``x-ratelimit-{limit,remaining,reset}-{requests,tokens}``; maybe none."""
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


TOLD_CHARACTERS_MAX = 200
"""Of what a provider says about a fault that are repeated."""

NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})
_NO_MODEL = frozenset({"model_not_found", "model_not_available", "unsupported_model"})
_BUSY = frozenset({429, 503, 529})
_LATER = frozenset({408, 409, 425})
_CODES = {413: "too_large", 422: "invalid_request", 400: "invalid_request"}


class NotFound(ProviderError):
    """The provider does not know the id that it was asked about."""


class Conflict(NotSent):
    """What was asked of a submission does not fit the state that it is in: it may have ended."""


class FileNotThere(NotSent):
    """A file that was just uploaded is not there yet."""


def fault_text(body: object, key: str | None) -> str:
    """What a provider said about a fault, in one short line of printable characters, without the key."""
    message = (body.get("message") or body.get("detail")) if isinstance(body, Mapping) else body
    if isinstance(message, Mapping):
        message = message.get("message")
    words = one_line(message) if isinstance(message, str) and not message.lstrip().startswith("<") else ""
    if key:
        words = words.replace(key, "***")
    words = "".join(character for character in words if character.isprintable())[:TOLD_CHARACTERS_MAX]
    return words or "it does not say why"


def code_of(body: object) -> str | None:
    """The provider's short code of a fault, where there is one."""
    if not isinstance(body, Mapping):
        return None
    for name in ("code", "type"):
        code = body.get(name)
        if isinstance(code, str) and code.strip():
            return "".join(c for c in code.strip() if c.isprintable())[:60]
    return None


def fault_of(
    status: int, headers: Mapping[str, str], body: Any, *, host: str, key: str | None, submit: bool, batch: bool = False
) -> ProviderError:
    """What an answer other than 2xx means, by the table above.

    Args:
        status: HTTP's.
        headers: by lower-case name.
        body: the ``error`` object of the answer, else its JSON, else its text.
        host: whom the messages name.
        key: is not repeated.
        submit: whether the call hands a request over.
        batch: whether that request creates a batch.
    """
    code = code_of(body)
    words = fault_text(body, key)
    if code in NO_MONEY or status == 402:
        return NotAllowed(f"{host} says that the account has no quota left ({status}): {words}")
    if status in (401, 403):
        # Some repeat a part of the key that was wrong, so their words are left out.
        return NotAllowed(f"{host} refuses the key, or what it may do ({status}): check the key and its rights")
    after = retry_after_seconds(headers)
    if status in _BUSY:
        return TooBusy(f"{host} is busy ({status}): {words}", after)
    if not submit and status in (400, 409):
        return Conflict(f"{host} answered {status}: {words}")
    if status in _LATER or (status == 500 and not (submit and batch)):
        if after is not None:
            return TooBusy(f"{host} answered {status}: {words}", after)
        return NotSent(f"{host} answered {status}: {words}")
    if 300 <= status < 400:
        return NotAllowed(f"{host} sends elsewhere ({status}), which is not followed: give the address that it ends at")
    if status in (501, 505):
        return NotAllowed(f"{host} cannot do that ({status}): {words}")
    if status >= 500:
        return (Ambiguous if submit else NotSent)(f"{host} answered {status}: {words}")
    if submit:
        return _refusal(status, code, body, words, host=host, batch=batch)
    if status == 404 and isinstance(body, Mapping):
        return NotFound(f"{host} does not know it: {words}")
    return NotSent(f"{host} answered {status}: {words}")


def _refusal(status: int, code: str | None, body: Any, words: str, *, host: str, batch: bool) -> ProviderError:
    """The 4xx that speak of what was handed over."""
    if batch and _speaks_of_file(body):
        return FileNotThere(f"{host} does not find the file that it just took ({status}): {words}")
    if code in _NO_MODEL or status == 404:
        return NotAllowed(f"{host} has no such model or address ({status}): {words}")
    return Refused(f"{host} refused the request ({status}): {words}", code or _CODES.get(status, "refused"))


def _speaks_of_file(body: object) -> bool:
    """A batch of a file that was just uploaded can be refused since the file is not to be seen everywhere yet."""
    if not isinstance(body, Mapping):
        return False
    words = str(body.get("message", "")).lower()
    missing = any(phrase in words for phrase in ("not found", "no such", "not exist", "not find", "not ready"))
    return missing and (body.get("param") == "input_file_id" or "file" in words)
