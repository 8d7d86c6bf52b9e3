"""Which errors are worth another try, when, and which are the same error again (DESIGN §6)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from enum import StrEnum

from ramet.model.given_numbers import finite_seconds
from ramet.model.limits import BACKOFF_SECONDS_MAX


class ErrorClass(StrEnum):
    """What an error says about another try."""

    TRANSIENT = "transient"
    """The world was busy: try again."""
    PERMANENT = "permanent"
    """Trying again gives the same: fail at once."""
    UNCLASSIFIED = "unclassified"
    """Nobody said: try again, unless it is the same error that ended this work before."""


class Transient(Exception):
    """Raise in a handler for time-outs, busy servers and broken connections: it will be tried again."""


class Permanent(Exception):
    """Raise in a handler when another try cannot help (not found, invalid input, unparsable): it fails at once."""


class RetryAfter(Exception):
    """Raise in a handler when a server named the time to come back. Costs no attempt.

    Args:
        seconds: how long to wait; a finite number.
        resource: what was busy (a host, a provider); named in the reason. Left out, the task's own, if it has one.
    """

    def __init__(self, seconds: float, resource: str = "") -> None:
        seconds = finite_seconds("RetryAfter's seconds", seconds)
        super().__init__(f"retry after {seconds:g} s" + (f" ({resource})" if resource else ""))
        self.seconds = seconds
        self.resource = resource


ErrorTable = Mapping[type[BaseException], ErrorClass]

ERRORS: ErrorTable = {
    Transient: ErrorClass.TRANSIENT,
    Permanent: ErrorClass.PERMANENT,
    TimeoutError: ErrorClass.TRANSIENT,
    ConnectionError: ErrorClass.TRANSIENT,
    UnicodeError: ErrorClass.PERMANENT,
    json.JSONDecodeError: ErrorClass.PERMANENT,
    NotImplementedError: ErrorClass.PERMANENT,
}
"""The engine's own table; an app and a kind add theirs, and the most derived type wins."""

_TRANSIENT_STATUS = frozenset({408, 425, 429})


def classify(error: BaseException, table: ErrorTable = ERRORS) -> ErrorClass:
    """The class of an error: the nearest type in the table, else its HTTP status, else unclassified.

    Any exception that carries ``response.status_code`` (as HTTP clients raise them) is read: 408, 425, 429 and 5xx
    are transient, other 4xx permanent.
    """
    for ancestor in type(error).__mro__:
        found = table.get(ancestor)
        if found is not None:
            return found
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        if status in _TRANSIENT_STATUS or status >= 500:
            return ErrorClass.TRANSIENT
        if status >= 400:
            return ErrorClass.PERMANENT
    return ErrorClass.UNCLASSIFIED


# Every repetition that can begin at many places is bounded, so that the work grows with the message and no faster.
_FOLDS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b[\w.+-]{1,64}@[\w-]+\.[\w.-]+\b"), "<address>"),
    # IPv6 and hardware addresses; the look-ahead leaves qualified names such as ``a::b`` alone.
    (
        re.compile(
            r"(?<![\w:])(?=[0-9a-f:]{0,40}\d|(?:[0-9a-f]{2}:){5})(?:[0-9a-f]{0,4}:){2,7}"
            r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4})?(?![\w:])",
            re.IGNORECASE,
        ),
        "<address>",
    ),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    # Before ids: the digits of a number in scientific notation, with its e, look like one.
    (re.compile(r"(?:(?<![\w.])[-+])?\b\d+(?:\.\d+)?e[-+]\d+\b", re.IGNORECASE), "<n>"),
    (re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{12,}\b", re.IGNORECASE), "<id>"),
    # Letters and digits mixed more than once, as generated names have them (ULIDs, temporary files).
    (
        re.compile(
            r"(?<![a-z0-9])(?=[a-z0-9]*(?:[a-z][0-9]+[a-z]|[0-9][a-z]+[0-9]))[a-z0-9]{10,}(?![a-z0-9])",
            re.IGNORECASE,
        ),
        "<id>",
    ),
    (re.compile(r"(?:(?<![\w.])[-+])?\d+(?:[.,]\d+)*"), "<n>"),
)


FINGERPRINT_CHARACTERS_MAX = 4_000
"""How much of a message is read: the work for it is bounded, however long a message is."""


def fingerprint(error_type: str, message: str) -> str:
    """A short name for "the same error": equal for messages that differ only in numbers, ids, addresses or URLs.

    Messages that are equal in their first ``FINGERPRINT_CHARACTERS_MAX`` characters are equal.

    Returns:
        16 hexadecimal digits.
    """
    folded = message[:FINGERPRINT_CHARACTERS_MAX]
    for pattern, stand_in in _FOLDS:
        folded = pattern.sub(stand_in, folded)
    text = f"{error_type}:{' '.join(folded.split())}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def backoff_seconds(retry_count: int, jitter: float, seconds_max: float = BACKOFF_SECONDS_MAX) -> float:
    """Delay before the next try: full jitter over ``2 ** retry_count`` seconds, at most ``seconds_max``.

    Args:
        retry_count: retries made so far; 0 after the first run.
        jitter: a number in [0, 1) from the caller's source of chance; 1.0 gives the whole delay.
    """
    exponent = min(max(retry_count, 0), 32)
    return min(float(2**exponent), seconds_max) * jitter
